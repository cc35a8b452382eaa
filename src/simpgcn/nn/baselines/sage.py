"""GraphSAGE of Hamilton et al. (NeurIPS 2017), from PyG's layers, on the whole graph."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn
from torch_geometric.nn import GraphSAGE

from simpgcn.nn.baselines.gat import edge_inputs
from simpgcn.nn.method import Method


@dataclass(frozen=True)
class SAGESettings:
    """The settings of ``sage``."""

    hidden_channels: int = 64
    num_layers: int = 2
    dropout: float = 0.5


def build_sage(in_channels: int, out_channels: int, settings: SAGESettings) -> nn.Module:
    """PyG's GraphSAGE with the mean aggregator.

    >>> build_sage(4, 2, SAGESettings())
    GraphSAGE(4, 2, num_layers=2)
    """
    return GraphSAGE(in_channels, settings.hidden_channels, settings.num_layers, out_channels, dropout=settings.dropout)


SAGE = Method(SAGESettings, build_sage, edge_inputs, new_nodes=True)
