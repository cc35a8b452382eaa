"""A GCN along a matrix that is not a list of edges: dense, or known by its factors alone."""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn.inits import glorot

from simpgcn.nn.baselines.gcn import GCNSettings
from simpgcn.nn.sparse_matrix import SparseMatrix


class Filter(Protocol):
    """What multiplies the hidden states of all nodes."""

    def __matmul__(self, x: Tensor) -> Tensor:
        """The product with ``[n, h]`` hidden states."""
        ...


class FilteredGCN(nn.Module):
    r"""Layers :math:`\mathbf{P}\mathbf{H}\mathbf{W} + \mathbf{b}` with a ReLU and dropout between them.

    >>> FilteredGCN(4, 2, GCNSettings(hidden_channels=8))(torch.rand(3, 4), torch.eye(3)).shape
    torch.Size([3, 2])
    """

    def __init__(self, in_channels: int, out_channels: int, settings: GCNSettings) -> None:
        super().__init__()
        self.dropout = settings.dropout
        sizes = [in_channels, *[settings.hidden_channels] * (settings.num_layers - 1), out_channels]
        self.weights = nn.ParameterList(torch.empty(a, b) for a, b in pairwise(sizes))
        self.biases = nn.ParameterList(torch.zeros(size) for size in sizes[1:])
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights anew and set the biases to 0."""
        for weight in self.weights:
            glorot(weight)
        for bias in self.biases:
            nn.init.zeros_(bias)

    def forward(self, x: Tensor | SparseMatrix, propagation: Filter) -> Tensor:
        """The logits ``[n, out_channels]``."""
        hidden = propagation @ (x @ self.weights[0]) + self.biases[0]
        # Not slices of the lists: those would be made of new parameters, which no gradient of a functional call reaches.
        for weight, bias in list(zip(self.weights, self.biases, strict=True))[1:]:
            hidden = F.dropout(torch.relu(hidden), self.dropout, self.training)
            hidden = propagation @ (hidden @ weight) + bias
        return hidden
