"""GCNII and GCNII* of Chen et al. (ICML 2020), from PyG's layer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GCN2Conv

from simpgcn.nn.baselines.first_layer import drop_features, linear
from simpgcn.nn.baselines.gcn import gcn_inputs, gcn_reach
from simpgcn.nn.dropout import dropout
from simpgcn.nn.method import Method
from simpgcn.nn.reach import by_layer
from simpgcn.nn.sparse_matrix import SparseMatrix


@dataclass(frozen=True)
class GCNIISettings:
    """The settings of ``gcnii`` and ``gcnii*``, in the paper's symbols: α ``alpha``, λ ``theta``.

    ``conv_weight_decay`` is the L2 of the convolutions, where it differs from that of the two linear layers.
    SimP-GCN's paper restricts the depth to 4.
    """

    hidden_channels: int = 64
    num_layers: int = 4
    dropout: float = 0.6
    alpha: float = 0.1
    theta: float = 0.5
    conv_weight_decay: float | None = 0.01
    shared_weights: bool = True


@dataclass(frozen=True)
class GCNIIStarSettings(GCNIISettings):
    """The settings of ``gcnii*``, which has a second weight matrix in each layer."""

    shared_weights: bool = False


class MatrixConv2(GCN2Conv):
    """PyG's layer along a matrix that is normalised already."""

    def forward(self, x: Tensor, x_0: Tensor, structure: SparseMatrix) -> Tensor:
        """The hidden states of the rows of ``structure``; the first rows of ``x_0`` are theirs."""
        alpha, beta = self.alpha, self.beta
        x = structure @ x
        x_0 = x_0[: x.size(0)]
        if self.weight2 is None:
            x = torch.lerp(x, x_0, alpha)
            return torch.addmm(x, x, self.weight1, beta=1 - beta, alpha=beta)
        smooth = torch.addmm(x, x, self.weight1, beta=(1 - beta) * (1 - alpha), alpha=beta * (1 - alpha))
        return smooth + torch.addmm(x_0, x_0, self.weight2, beta=(1 - beta) * alpha, alpha=beta * alpha)


class GCNII(nn.Module):
    """Convolutions with initial residual and identity mapping between two linear layers.

    >>> model = GCNII(4, 2, GCNIISettings())
    >>> model(torch.rand(3, 4), SparseMatrix(torch.eye(3))).shape
    torch.Size([3, 2])
    """

    def __init__(self, in_channels: int, out_channels: int, settings: GCNIISettings) -> None:
        super().__init__()
        hidden = settings.hidden_channels
        self.dropout = settings.dropout
        self.conv_weight_decay = settings.conv_weight_decay
        self.first = nn.Linear(in_channels, hidden)
        self.last = nn.Linear(hidden, out_channels)
        self.convs = nn.ModuleList(
            MatrixConv2(hidden, settings.alpha, settings.theta, layer, settings.shared_weights, normalize=False)
            for layer in range(1, settings.num_layers + 1)
        )

    def forward(self, x: Tensor | SparseMatrix, structure: SparseMatrix | tuple[SparseMatrix, ...]) -> Tensor:
        """The logits of the rows of the last layer's matrix."""
        hidden = start = F.relu(linear(self.first, drop_features(x, self.dropout, self.training)))
        for conv, matrix in zip(self.convs, by_layer(structure, len(self.convs)), strict=True):
            hidden = F.relu(conv(dropout(hidden, self.dropout, self.training), start, matrix))
        return self.last(dropout(hidden, self.dropout, self.training))

    def parameter_groups(self) -> list[dict[str, Any]]:
        """The convolutions have an L2 of their own."""
        linear = [*self.first.parameters(), *self.last.parameters()]
        own = {} if self.conv_weight_decay is None else {"weight_decay": self.conv_weight_decay}
        return [{"params": linear}, {"params": list(self.convs.parameters()), **own}]


METHOD = Method(GCNIISettings, GCNII, gcn_inputs, reach=gcn_reach)
STAR = replace(METHOD, settings=GCNIIStarSettings)
