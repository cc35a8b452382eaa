"""The graph attention network of Veličković et al. (ICLR 2018), from PyG's layer."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GATConv

from simpgcn.nn.baselines.first_layer import drop_features, layer_features
from simpgcn.nn.method import Method


@dataclass(frozen=True)
class GATSettings:
    """The settings of ``gat``: ``heads`` of ``hidden_channels`` each, ``output_heads`` averaged at the end."""

    hidden_channels: int = 8
    heads: int = 8
    output_heads: int = 1
    dropout: float = 0.6


class GAT(nn.Module):
    """Two attention layers, dropout on the inputs and the attention, ELU in between.

    >>> import torch
    >>> GAT(4, 2, GATSettings())(torch.rand(3, 4), torch.tensor([[0, 1, 2], [1, 2, 0]])).shape
    torch.Size([3, 2])
    """

    def __init__(self, in_channels: int, out_channels: int, settings: GATSettings) -> None:
        super().__init__()
        hidden, dropout = settings.hidden_channels * settings.heads, settings.dropout
        self.dropout = dropout
        self.first = GATConv(in_channels, settings.hidden_channels, settings.heads, dropout=dropout)
        self.second = GATConv(hidden, out_channels, settings.output_heads, concat=False, dropout=dropout)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """The logits ``[n, out_channels]``."""
        x = F.elu(self.first(drop_features(x, self.dropout, self.training), edge_index))
        return self.second(F.dropout(x, self.dropout, self.training), edge_index)


def edge_inputs(data: Data, settings: object) -> tuple[Tensor, Tensor]:
    """The features and the edges for PyG's message passing, which hears along them from first to second."""
    return data.x.to_dense(), data.edge_index.flip(0)


def _gat_inputs(data: Data, settings: GATSettings) -> tuple[Tensor, Tensor]:
    return layer_features(data.x), data.edge_index.flip(0)


METHOD = Method(GATSettings, GAT, _gat_inputs, new_nodes=True)
