"""The graph attention network of Veličković et al. (ICLR 2018), from PyG's layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GATConv

from simpgcn.data.features import as_csr, density, is_sparse, take_rows, with_values
from simpgcn.nn.dropout import dropout
from simpgcn.nn.method import Method
from simpgcn.nn.reach import by_layer, is_worthwhile, reach

# Above this, torch's own sparse product, whose gradient sorts the matrix anew in every step, loses to the dense one:
# on a CPU, CiteSeer's (1%) takes a tenth of the dense time, PubMed's (10%) twice as long. PyG's layer knows no other.
SPARSE_DENSITY = 0.03


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

    def forward(self, x: Tensor, edges: Tensor | tuple[Tensor, ...]) -> Tensor:
        """The logits ``[n, out_channels]``; of edges by layer, the first rows are those that were asked for."""
        first, second = by_layer(edges, 2)
        x = F.elu(self.first(_dropped(x, self.dropout, self.training), first))
        return self.second(dropout(x, self.dropout, self.training), second)


def _dropped(x: Tensor, p: float, training: bool) -> Tensor:
    if not is_sparse(x):
        return dropout(x, p, training)
    return with_values(x, dropout(x.values(), p)) if training else x


def edge_inputs(data: Data, settings: object) -> tuple[Tensor, Tensor]:
    """The features and the edges for PyG's message passing, which hears along them from first to second."""
    return data.x.to_dense(), data.edge_index.flip(0)


def _inputs(data: Data, settings: GATSettings) -> tuple[Tensor, Tensor]:
    x = data.x
    return as_csr(x) if not x.is_cuda and density(x) < SPARSE_DENSITY else x.to_dense(), data.edge_index.flip(0)


def _reach(inputs: tuple[Any, ...], nodes: Tensor, settings: GATSettings) -> tuple[Any, ...] | None:
    x, (heard, hearer) = inputs
    found = reach(hearer, heard, nodes, x.size(0), 2)
    if not is_worthwhile(found, x.size(0)):
        return None
    place = torch.full((x.size(0),), x.size(0), device=nodes.device)
    place[found.order] = torch.arange(len(found.order), device=nodes.device)
    edges = place[torch.stack([heard, hearer])]
    return take_rows(x, found.order), tuple(edges[:, edges[1] < size] for size in found.sizes[1::-1])


METHOD = Method(GATSettings, GAT, _inputs, reach=_reach, new_nodes=True)
