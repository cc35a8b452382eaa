"""The GCN of Kipf and Welling, the model SimP-GCN is built on, from PyG's layers."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCN as PyGGCN

from simpgcn.nn.method import Method
from simpgcn.nn.propagation import structure_propagation


@dataclass(frozen=True)
class GCNSettings:
    """The settings of ``gcn``."""

    hidden_channels: int = 128
    num_layers: int = 2
    dropout: float = 0.5


def build_gcn(in_channels: int, out_channels: int, settings: GCNSettings) -> nn.Module:
    """A GCN on an already normalised matrix.

    >>> build_gcn(4, 2, GCNSettings(hidden_channels=8))
    GCN(4, 2, num_layers=2)
    """
    return PyGGCN(
        in_channels,
        settings.hidden_channels,
        settings.num_layers,
        out_channels,
        dropout=settings.dropout,
        normalize=False,
    )


def gcn_inputs(data: Data, settings: GCNSettings) -> tuple[Tensor, Tensor]:
    """The features, and the same propagation matrix that SimP-GCN's structure branch uses."""
    return data.x.to_dense(), structure_propagation(data.edge_index, data.num_nodes, data.edge_weight).matrix


GCN = Method(GCNSettings, build_gcn, gcn_inputs)
