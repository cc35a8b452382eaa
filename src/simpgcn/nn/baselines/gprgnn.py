"""APPNP (Gasteiger et al., ICLR 2019) and GPR-GNN (Chien et al., ICLR 2021): predict, then propagate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data

from simpgcn.nn.method import Method
from simpgcn.nn.propagation import structure_propagation
from simpgcn.nn.sparse_matrix import SparseMatrix


@dataclass(frozen=True)
class APPNPSettings:
    """The settings of ``appnp``: ``steps`` of personalised PageRank with restart probability ``alpha``."""

    hidden_channels: int = 64
    dropout: float = 0.5
    steps: int = 10
    alpha: float = 0.1
    learn_steps: bool = False


@dataclass(frozen=True)
class GPRGNNSettings(APPNPSettings):
    """The settings of ``gprgnn``, which learns the weight of each step, starting from PageRank's."""

    learn_steps: bool = True


class PropagatedMLP(nn.Module):
    r"""An MLP's outputs mixed over the powers of the graph.

    .. math:: \sum_k \gamma_k \hat{\mathbf{A}}^k \, \mathrm{MLP}(\mathbf{X})

    Dropout is on the MLP alone, not on the graph. With PageRank's fixed :math:`\gamma_k` it is APPNP, with learned
    ones GPR-GNN.

    >>> ring = structure_propagation(torch.tensor([[0, 1, 2], [1, 2, 0]]), 3)
    >>> PropagatedMLP(4, 2, GPRGNNSettings())(torch.rand(3, 4), ring).shape
    torch.Size([3, 2])
    """

    def __init__(self, in_channels: int, out_channels: int, settings: APPNPSettings) -> None:
        super().__init__()
        self.dropout = settings.dropout
        self.first = nn.Linear(in_channels, settings.hidden_channels)
        self.second = nn.Linear(settings.hidden_channels, out_channels)
        weight = settings.alpha * (1 - settings.alpha) ** torch.arange(settings.steps + 1.0)
        weight[-1] = (1 - settings.alpha) ** settings.steps
        self.step_weight = nn.Parameter(weight, requires_grad=settings.learn_steps)

    def forward(self, x: Tensor, structure: SparseMatrix) -> Tensor:
        """The logits ``[n, out_channels]``."""
        x = F.relu(self.first(F.dropout(x, self.dropout, self.training)))
        x = self.second(F.dropout(x, self.dropout, self.training))
        mixed = self.step_weight[0] * x
        for weight in self.step_weight[1:]:
            x = structure @ x
            mixed = mixed + weight * x
        return mixed

    def parameter_groups(self) -> list[dict[str, Any]]:
        """GPR-GNN does not pull its step weights to zero; APPNP pulls only its first layer."""
        first, second = list(self.first.parameters()), list(self.second.parameters())
        if self.step_weight.requires_grad:
            return [{"params": first + second}, {"params": [self.step_weight], "weight_decay": 0.0}]
        return [{"params": first}, {"params": second, "weight_decay": 0.0}]


def matrix_inputs(data: Data, settings: object) -> tuple[Tensor, SparseMatrix]:
    """The features and the propagation matrix with its transpose kept."""
    return data.x.to_dense(), structure_propagation(data.edge_index, data.num_nodes, data.edge_weight)


APPNP = Method(APPNPSettings, PropagatedMLP, matrix_inputs, new_nodes=True)
GPRGNN = replace(APPNP, settings=GPRGNNSettings)
