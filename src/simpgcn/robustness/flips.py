"""Undirected edges as pairs, each once, and what flipping some of them makes of a graph."""

from __future__ import annotations

import torch
from torch import Tensor


def single_edges(edge_index: Tensor) -> Tensor:
    """Every undirected edge once, the smaller end first, in order; self-loops are left out.

    >>> single_edges(torch.tensor([[0, 1, 2, 2], [1, 0, 1, 2]]))
    tensor([[0, 1],
            [1, 2]])
    """
    ends = edge_index.sort(dim=0).values
    return _pairs(_keys(ends[:, ends[0] != ends[1]]).unique())


def flip_edges(edges: Tensor, pairs: Tensor) -> Tensor:
    """The edges after each of the ``pairs`` was added if it was missing and removed if it was there.

    Both are as :func:`single_edges` has them, but for their order; no pair occurs twice.

    >>> flip_edges(torch.tensor([[0, 1], [1, 2]]), torch.tensor([[0, 0], [1, 2]]))
    tensor([[0, 1],
            [2, 2]])
    """
    both, count = _keys(torch.cat([edges, pairs], dim=1)).unique(return_counts=True)
    return _pairs(both[count == 1])


def _keys(pairs: Tensor) -> Tensor:
    return (pairs[0] << 32) + pairs[1]


def _pairs(keys: Tensor) -> Tensor:
    return torch.stack([keys >> 32, keys & 0xFFFFFFFF])
