r"""struc2vec: nodes with alike surroundings lie close, however far apart they are in the graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor
from torch.nn import functional as F

MAX_HOPS = 3
# Probability of a step to another node; otherwise the walk changes its layer.
_STEP = 0.3
# Numbers that stand for the sorted degrees of a ring.
_SAMPLES = 16
_BLOCK = 512


class _Context(NamedTuple):
    """The layered graph: candidates ``[n, c]``, their cumulated weights ``[layers, n, c]``, the chance to go up."""

    candidates: np.ndarray
    cumulated: np.ndarray
    up: np.ndarray


def struc2vec(
    adjacency: csr_matrix,
    seed: int = 0,
    *,
    walks: int = 10,
    length: int = 20,
    window: int = 5,
    negatives: int = 5,
    steps: int = 400,
) -> np.ndarray:
    r"""A compact `struc2vec <https://arxiv.org/abs/1704.03165>`_ in two dimensions.

    Nodes :math:`u, v` differ by :math:`f_k(u, v) = f_{k-1}(u, v) + g(s_k(u), s_k(v))`, where :math:`s_k(u)` are
    the sorted degrees of the nodes k hops away and g compares them by :math:`\max(a, b) / \min(a, b) - 1`. In layer
    k each node is linked with weight :math:`e^{-f_k}` to the :math:`O(\log n)` nodes of most similar degree; biased
    walks through the layers are the sentences of a skip-gram model with negative sampling.

    Two departures keep it compact. Sequences of different lengths are aligned by stretching them evenly, not by
    dynamic time warping, which like it charges nothing for repetition. And rings end at ``MAX_HOPS``.

    >>> struc2vec(csr_matrix(np.eye(6, k=1) + np.eye(6, k=-1)), walks=2, steps=20).shape
    (6, 2)
    """
    rng = np.random.default_rng(seed)
    n = adjacency.shape[0]
    if n < 3:
        return rng.standard_normal((n, 2))
    sentences = _walk(_context(_rings(adjacency), rng), walks, length, rng)
    return _skip_gram(torch.from_numpy(sentences), n, window, negatives, steps, seed)


def _rings(adjacency: csr_matrix) -> np.ndarray:
    """The sorted degrees of every node's rings, as ``[layers, n, samples]``; an empty ring is all 0."""
    n = adjacency.shape[0]
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    rings = np.zeros((MAX_HOPS + 1, n, _SAMPLES))
    for start in range(0, n, _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, n))
        ring = csr_matrix((np.ones(len(rows)), (np.arange(len(rows)), rows)), shape=(len(rows), n))
        seen = np.zeros((len(rows), n), dtype=bool)
        for hop in range(MAX_HOPS + 1):
            member = ring.tocoo()
            fresh = ~seen[member.row, member.col]
            row, column = member.row[fresh], member.col[fresh]
            seen[row, column] = True
            order = np.lexsort((degree[column], row))
            count = np.bincount(row, minlength=len(rows))
            first = np.cumsum(count) - count
            place = first[:, None] + (np.arange(_SAMPLES) + 0.5) / _SAMPLES * count[:, None]
            filled = count > 0
            # +1, as a node without edges has degree 0
            rings[hop, rows[filled]] = 1 + degree[column[order]][place[filled].astype(int)]
            ring = csr_matrix((np.ones(len(row)), (row, column)), shape=ring.shape) @ adjacency
    return rings


def _context(rings: np.ndarray, rng: np.random.Generator) -> _Context:
    n = rings.shape[1]
    means = rings.mean(axis=2)
    # by degree, then by the rings' mean degrees; what is left equal, at random
    order = np.lexsort((rng.permutation(n), *means[:0:-1], means[0]))
    reach = min(int(np.ceil(np.log2(n))), (n - 1) // 2)
    shift = np.concatenate([np.arange(-reach, 0), np.arange(1, reach + 1)])
    candidates = np.empty((n, 2 * reach), dtype=np.int64)
    candidates[order] = order[(np.arange(n)[:, None] + shift) % n]
    weights = np.zeros((len(rings), *candidates.shape))
    difference = np.zeros(candidates.shape)
    for layer, ring in enumerate(rings):
        a, b = ring[:, None], ring[candidates]
        low = np.minimum(a, b)
        both = low[..., 0] > 0
        difference += np.where(both, (np.maximum(a, b) / np.maximum(low, 1) - 1).sum(axis=2), np.inf)
        weights[layer] = np.exp(-difference)
    average = np.array([layer[layer > 0].mean() if (layer > 0).any() else 0.0 for layer in weights])
    similar = (weights > average[:, None, None]).sum(axis=2)
    rise = np.log(similar + np.e)
    up = rise / (rise + 1)
    up[:-1][~(weights[1:] > 0).any(axis=2)] = 0  # no such layer for this node
    up[-1] = 0
    return _Context(candidates, weights.cumsum(axis=2), up)


def _walk(context: _Context, walks: int, length: int, rng: np.random.Generator) -> np.ndarray:
    n = len(context.candidates)
    node = np.tile(np.arange(n), walks)
    layer = np.zeros(len(node), dtype=np.int64)
    sentences = np.empty((len(node), length), dtype=np.int64)
    for step in range(length):
        sentences[:, step] = node
        changes = rng.geometric(_STEP, len(node)) - 1
        for change in range(changes.max()):
            active = changes > change
            rises = rng.random(len(node)) < context.up[layer, node]
            layer = np.where(active, np.where(rises, layer + 1, np.maximum(layer - 1, 0)), layer)
        weights = context.cumulated[layer, node]
        drawn = rng.random(len(node)) * weights[:, -1]
        place = np.minimum((weights <= drawn[:, None]).sum(axis=1), weights.shape[1] - 1)
        # a node may be linked to none of its candidates in the layer in which it was reached
        node = np.where(weights[:, -1] > 0, context.candidates[node, place], node)
    return sentences


def _skip_gram(sentences: Tensor, n: int, window: int, negatives: int, steps: int, seed: int) -> np.ndarray:
    """Word2vec on sentences of node numbers; each step draws about one pair of words a node."""
    generator = torch.Generator().manual_seed(seed)
    count, length = sentences.shape
    batch = max(256, n)
    inner = (torch.rand(n, 2, generator=generator) - 0.5).requires_grad_()
    outer = torch.zeros(n, 2, requires_grad=True)
    optimizer = torch.optim.Adam([inner, outer], lr=0.05)
    for _ in range(steps):
        sentence = sentences[torch.randint(count, (batch,), generator=generator)]
        first = torch.randint(length, (batch, 1), generator=generator)
        shift = torch.randint(1, window + 1, (batch, 1), generator=generator)
        second = torch.where(first + shift < length, first + shift, first - shift).clamp_(min=0)
        center, context = sentence.gather(1, first).squeeze(1), sentence.gather(1, second).squeeze(1)
        others = torch.randint(n, (batch, negatives), generator=generator)
        # F.embedding, because its gradient is summed in a fixed order
        vector = F.embedding(center, inner)
        good = F.logsigmoid((vector * F.embedding(context, outer)).sum(dim=1))
        bad = F.logsigmoid(-(F.embedding(others, outer) * vector[:, None]).sum(dim=2)).sum(dim=1)
        optimizer.zero_grad()
        (-(good + bad) * (center != context)).mean().backward()
        optimizer.step()
    result: np.ndarray = inner.detach().double().numpy()
    return result
