"""The GCN of Kipf and Welling from PyG's layers, on the given graph, on the feature graph, and on both."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCN as PyGGCN

from simpgcn.nn.baselines.first_layer import layer_features
from simpgcn.nn.method import Method
from simpgcn.nn.propagation import structure_propagation


@dataclass(frozen=True)
class GCNSettings:
    """The settings of ``gcn``, ``knn-gcn`` and ``a+knn-gcn``."""

    hidden_channels: int = 128
    num_layers: int = 2
    dropout: float = 0.5


def build_gcn(in_channels: int, out_channels: int, settings: GCNSettings, jk: str | None = None) -> nn.Module:
    """A GCN on an already normalised matrix; ``jk`` says how its layers' outputs are combined, if at all.

    >>> build_gcn(4, 2, GCNSettings(hidden_channels=8))
    GCN(4, 2, num_layers=2)
    """
    return PyGGCN(
        in_channels,
        settings.hidden_channels,
        settings.num_layers,
        out_channels,
        dropout=settings.dropout,
        jk=jk,
        normalize=False,
    )


def gcn_inputs(data: Data, settings: object) -> tuple[Tensor, Tensor]:
    """The features, and the same propagation matrix that SimP-GCN's structure branch uses."""
    return layer_features(data.x), structure_propagation(data.edge_index, data.num_nodes, data.edge_weight).matrix


def _feature_graph_inputs(data: Data, settings: GCNSettings) -> tuple[Tensor, Tensor]:
    graph = structure_propagation(data.feature_edge_index, data.num_nodes, data.feature_edge_weight)
    return layer_features(data.x), graph.matrix


def _both_inputs(data: Data, settings: GCNSettings) -> tuple[Tensor, Tensor]:
    weight = data.edge_weight
    weight = torch.ones(data.num_edges, device=data.edge_index.device) if weight is None else weight
    both = structure_propagation(
        torch.cat([data.edge_index, data.feature_edge_index], dim=1),
        data.num_nodes,
        torch.cat([weight, data.feature_edge_weight]),
    )
    return layer_features(data.x), both.matrix


GCN = Method(GCNSettings, build_gcn, gcn_inputs, new_nodes=True)
KNN_GCN = Method(GCNSettings, build_gcn, _feature_graph_inputs, feature_graph=True, new_nodes=True)
BOTH_GCN = Method(GCNSettings, build_gcn, _both_inputs, feature_graph=True, new_nodes=True)
