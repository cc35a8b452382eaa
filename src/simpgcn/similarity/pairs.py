"""The pretext task's pairs: each node with its m most and its m least similar others."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from simpgcn.similarity.exact import Neighbors


class Pairs(NamedTuple):
    """Unordered pairs of nodes and what the pretext task should say of them.

    ``nodes`` is ``[2, p]``, ``similarity`` ``[p]`` the cosine (regression), ``similar`` ``[p]`` whether the
    pair was found among the most similar rather than the least similar ones (classification).
    """

    nodes: Tensor
    similarity: Tensor
    similar: Tensor


def similarity_pairs(neighbors: Neighbors, m: int) -> Pairs:
    """The set T of the paper: every node with its ``m`` most and ``m`` least similar, each pair once.

    >>> from simpgcn.similarity import nearest_neighbors
    >>> x = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    >>> pairs = similarity_pairs(nearest_neighbors(x, 1, farthest=1), m=1)
    >>> pairs.nodes.tolist(), pairs.similarity.tolist(), pairs.similar.tolist()
    ([[0, 0, 1], [1, 2, 2]], [1.0, 0.0, 0.0], [True, False, True])
    """
    n = neighbors.near.size(0)
    other = torch.cat([neighbors.near[:, :m], neighbors.far[:, :m]], dim=1)
    similarity = torch.cat([neighbors.near_similarity[:, :m], neighbors.far_similarity[:, :m]], dim=1)
    similar = torch.zeros_like(other, dtype=torch.bool)
    similar[:, : neighbors.near[:, :m].size(1)] = True
    node = torch.arange(n, device=other.device).unsqueeze(1).expand_as(other)
    code, place = torch.unique(
        (torch.minimum(node, other) * n + torch.maximum(node, other)).flatten(), return_inverse=True
    )
    # Both ends may have named the pair; the larger value is the same on every device.
    best = torch.full((code.numel(),), -torch.inf, device=code.device)
    best.scatter_reduce_(0, place, similarity.flatten(), "amax")
    found_similar = torch.zeros(code.numel(), dtype=torch.long, device=code.device)
    found_similar.scatter_reduce_(0, place, similar.flatten().long(), "amax")
    return Pairs(torch.stack([code // n, code % n]), best, found_similar.bool())
