"""ACM-GCN of Luan et al. (NeurIPS 2022): each node mixes a low-pass, a high-pass and an identity channel."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn.inits import glorot

from simpgcn.nn.baselines.gprgnn import matrix_inputs
from simpgcn.nn.method import Method
from simpgcn.nn.sparse_matrix import SparseMatrix

TEMPERATURE = 3.0


@dataclass(frozen=True)
class ACMGCNSettings:
    """The settings of ``acm-gcn``."""

    hidden_channels: int = 64
    dropout: float = 0.5


class ACMConv(nn.Module):
    r"""Adaptive channel mixing, per node.

    .. math::
        \mathbf{H}_L = \sigma(\hat{\mathbf{A}}\mathbf{H}\mathbf{W}_L), \quad
        \mathbf{H}_H = \sigma((\mathbf{I} - \hat{\mathbf{A}})\mathbf{H}\mathbf{W}_H), \quad
        \mathbf{H}_I = \sigma(\mathbf{H}\mathbf{W}_I)

    mixed with :math:`3\,\mathrm{softmax}(\mathrm{sigmoid}([\mathbf{H}_c \mathbf{w}_c]_c)\,\mathbf{W}_{mix} / T)`.
    """

    def __init__(self, in_channels: int, out_channels: int, *, activate: bool) -> None:
        super().__init__()
        self.activate = activate
        self.weight = nn.Parameter(torch.empty(3, in_channels, out_channels))
        self.score = nn.Parameter(torch.empty(3, out_channels, 1))
        self.mix = nn.Parameter(torch.empty(3, 3))
        for parameter in (*self.weight, *self.score, self.mix):
            glorot(parameter)

    def forward(self, x: Tensor, structure: SparseMatrix) -> Tensor:
        """The mixed channels ``[n, out_channels]``."""
        low, high, own = (x @ weight for weight in self.weight)
        channels = torch.stack([structure @ low, high - structure @ high, own])
        channels = F.relu(channels) if self.activate else channels
        scores = torch.sigmoid(torch.bmm(channels, self.score)).squeeze(2).T
        share = torch.softmax(scores @ self.mix / TEMPERATURE, dim=1)
        return 3 * torch.einsum("nc,cnd->nd", share, channels)


class ACMGCN(nn.Module):
    """Two layers of adaptive channel mixing; the second's channels go to the softmax without a ReLU.

    >>> from simpgcn.nn.propagation import structure_propagation
    >>> ring = structure_propagation(torch.tensor([[0, 1, 2], [1, 2, 0]]), 3)
    >>> ACMGCN(4, 2, ACMGCNSettings())(torch.rand(3, 4), ring).shape
    torch.Size([3, 2])
    """

    def __init__(self, in_channels: int, out_channels: int, settings: ACMGCNSettings) -> None:
        super().__init__()
        self.dropout = settings.dropout
        self.first = ACMConv(in_channels, settings.hidden_channels, activate=True)
        self.second = ACMConv(settings.hidden_channels, out_channels, activate=False)

    def forward(self, x: Tensor, structure: SparseMatrix) -> Tensor:
        """The logits ``[n, out_channels]``."""
        x = self.first(F.dropout(x, self.dropout, self.training), structure)
        return self.second(F.dropout(x, self.dropout, self.training), structure)


METHOD = Method(ACMGCNSettings, ACMGCN, matrix_inputs, new_nodes=True)
