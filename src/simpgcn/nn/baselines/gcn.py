"""The GCN of Kipf and Welling from PyG's layers, on the given graph, on the feature graph, and on both."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from simpgcn.nn.baselines.first_layer import layer_features, linear
from simpgcn.nn.dropout import dropout
from simpgcn.nn.method import Method
from simpgcn.nn.propagation import structure_propagation
from simpgcn.nn.reach import by_layer, inputs_in_reach
from simpgcn.nn.sparse_matrix import SparseMatrix


@dataclass(frozen=True)
class GCNSettings:
    """The settings of ``gcn``, ``knn-gcn`` and ``a+knn-gcn``."""

    hidden_channels: int = 128
    num_layers: int = 2
    dropout: float = 0.5


class MatrixConv(GCNConv):
    """PyG's layer along a matrix that is normalised already; its features may be sparse.

    >>> MatrixConv(4, 2)(torch.rand(3, 4), SparseMatrix(torch.eye(3))).shape
    torch.Size([3, 2])
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, out_channels, normalize=False)

    def forward(self, x: Tensor | SparseMatrix, structure: SparseMatrix) -> Tensor:
        """The hidden states of the rows of ``structure``."""
        return structure @ linear(self.lin, x) + cast("Tensor", self.bias)


class GCN(nn.Module):
    """Graph convolutions with a ReLU and dropout between them, as PyG's model of that name has them.

    With ``jump`` every layer's output is kept for a linear layer at the end, as in JK-Net.

    >>> GCN(4, 2, GCNSettings())(torch.rand(3, 4), SparseMatrix(torch.eye(3))).shape
    torch.Size([3, 2])
    """

    def __init__(self, in_channels: int, out_channels: int, settings: GCNSettings, jump: bool = False) -> None:
        super().__init__()
        self.dropout = settings.dropout
        hidden, depth = settings.hidden_channels, settings.num_layers
        sizes = [in_channels, *[hidden] * (depth if jump else depth - 1), *([] if jump else [out_channels])]
        self.convs = nn.ModuleList(MatrixConv(a, b) for a, b in pairwise(sizes))
        self.lin = nn.Linear(depth * hidden, out_channels) if jump else None

    def forward(self, x: Tensor | SparseMatrix, structure: SparseMatrix | tuple[SparseMatrix, ...]) -> Tensor:
        """The logits of the rows of the last layer's matrix."""
        states: list[Tensor] = []
        for conv, matrix in zip(self.convs, by_layer(structure, len(self.convs)), strict=True):
            hidden = conv(x, matrix)
            if self.lin is not None or len(states) + 1 < len(self.convs):
                hidden = dropout(torch.relu(hidden), self.dropout, self.training)
            states.append(hidden)
            x = hidden
        if self.lin is None:
            return states[-1]
        rows = states[-1].size(0)
        return self.lin(torch.cat([state[:rows] for state in states], dim=1))


def gcn_inputs(data: Data, settings: object) -> tuple[Tensor | SparseMatrix, SparseMatrix]:
    """The features, and the same propagation matrix that SimP-GCN's structure branch uses."""
    return layer_features(data.x), structure_propagation(data.edge_index, data.num_nodes, data.edge_weight)


def gcn_reach(inputs: tuple[Any, ...], nodes: Tensor, settings: Any) -> tuple[Any, ...] | None:
    """What decides the rows of some nodes in a model of ``num_layers`` convolutions."""
    return inputs_in_reach(inputs, nodes, settings.num_layers)


def _feature_graph_inputs(data: Data, settings: GCNSettings) -> tuple[Tensor | SparseMatrix, SparseMatrix]:
    graph = structure_propagation(data.feature_edge_index, data.num_nodes, data.feature_edge_weight)
    return layer_features(data.x), graph


def _both_inputs(data: Data, settings: GCNSettings) -> tuple[Tensor | SparseMatrix, SparseMatrix]:
    weight = data.edge_weight
    weight = torch.ones(data.num_edges, device=data.edge_index.device) if weight is None else weight
    both = structure_propagation(
        torch.cat([data.edge_index, data.feature_edge_index], dim=1),
        data.num_nodes,
        torch.cat([weight, data.feature_edge_weight]),
    )
    return layer_features(data.x), both


METHOD = Method(GCNSettings, GCN, gcn_inputs, reach=gcn_reach)
KNN_GCN = Method(GCNSettings, GCN, _feature_graph_inputs, feature_graph=True, reach=gcn_reach)
BOTH_GCN = Method(GCNSettings, GCN, _both_inputs, feature_graph=True, reach=gcn_reach)
