"""Graphs laid out in the plane, the three ways of Geom-GCN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
from scipy.linalg import eigh
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import dijkstra
from torch import Tensor
from torch.nn import functional as F

from simpgcn.nn.baselines.struc2vec import struc2vec

Embedding = Literal["isomap", "poincare", "struc2vec"]

# Up to this many nodes Isomap is exact; larger graphs are placed by their distances to as many landmarks.
LANDMARKS = 1000
# Nodes that a layout puts on one spot (the leaves of one hub) are told apart by noise of this share of its size.
_JITTER = 1e-6
_BORDER = 1 - 1e-5


def plane_embedding(edge_index: Tensor, num_nodes: int, embedding: Embedding, seed: int = 0) -> np.ndarray:
    """The position ``[num_nodes, 2]`` of every node of an undirected graph; no two nodes share one.

    >>> ring = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
    >>> plane_embedding(ring, 4, "isomap").shape
    (4, 2)
    """
    index = edge_index.cpu().numpy()
    ones = np.ones(index.shape[1])
    adjacency = coo_matrix((ones, (index[0], index[1])), shape=(num_nodes, num_nodes)).tocsr()
    layouts: dict[Embedding, Callable[[csr_matrix, int], np.ndarray]] = {
        "isomap": isomap,
        "poincare": poincare,
        "struc2vec": struc2vec,
    }
    position = layouts[embedding](adjacency, seed)
    noise = np.random.default_rng(seed).standard_normal(position.shape)
    # shrunk a little, so that the noise leads no node out of the Poincaré disc
    return position * (1 - 10 * _JITTER) + noise * _JITTER * (position.std() or 1.0)


def isomap(adjacency: csr_matrix, seed: int = 0, landmarks: int = LANDMARKS) -> np.ndarray:
    """Isomap: distances in the plane follow the lengths of shortest paths.

    With no more nodes than ``landmarks`` it is the same as scikit-learn's ``Isomap`` on the graph. Beyond, as many
    nodes drawn by ``seed`` are embedded so, and the others placed by their distances to them (de Silva and
    Tenenbaum, 2002), because the distances of all pairs would not fit into memory. Parts that no path joins lie one
    step more than the longest path apart.

    >>> isomap(csr_matrix(np.eye(3, k=1) + np.eye(3, k=-1)))[:, 0].round(6).tolist() in ([-1, 0, 1], [1, 0, -1])
    True
    """
    n = adjacency.shape[0]
    chosen = np.sort(np.random.default_rng(seed).permutation(n)[:landmarks])
    distance = dijkstra(adjacency, directed=False, unweighted=True, indices=chosen)
    reached = np.isfinite(distance)
    distance[~reached] = distance[reached].max() + 1
    squared = distance**2
    mean = squared[:, chosen].mean(axis=1)
    gram = -(squared[:, chosen] - mean - mean[:, None] + mean.mean()) / 2
    values, vectors = eigh(gram, subset_by_index=[max(0, len(gram) - 2), len(gram) - 1])
    position = np.zeros((n, 2))
    for axis, (value, vector) in enumerate(zip(values[::-1], vectors.T[::-1], strict=True)):
        if value > 1e-9 * len(gram):
            vector = vector * np.sign(vector[np.abs(vector).argmax()])
            position[:, axis] = -(squared - mean[:, None]).T @ vector / (2 * np.sqrt(value))
    return position


def poincare(
    adjacency: csr_matrix, seed: int = 0, *, epochs: int = 100, burn_in: int = 10, negatives: int = 10, lr: float = 0.3
) -> np.ndarray:
    r"""The `Poincaré embedding <https://arxiv.org/abs/1705.08039>`_: positions in the hyperbolic disc.

    Linked nodes are drawn closer than ``negatives`` random ones, by Riemannian gradient descent on

    .. math:: -\sum_{(u, v)} \log \frac{e^{-d(u, v)}}{e^{-d(u, v)} + \sum_{w} e^{-d(u, w)}}, \qquad
              d(u, v) = \operatorname{arcosh}\Big(1 + \frac{2 |u - v|^2}{(1 - |u|^2)(1 - |v|^2)}\Big)

    with a tenth of the learning rate for the first ``burn_in`` epochs.

    >>> bool((np.linalg.norm(poincare(csr_matrix(np.ones((5, 5)) - np.eye(5)), epochs=3), axis=1) < 1).all())
    True
    """
    n = adjacency.shape[0]
    generator = torch.Generator().manual_seed(seed)
    edges = torch.from_numpy(np.stack(adjacency.nonzero()).astype(np.int64))
    position = (2e-3 * (torch.rand(n, 2, generator=generator, dtype=torch.float64) - 0.5)).requires_grad_()
    batch = max(32, edges.size(1) // 32)
    for epoch in range(epochs):
        step = lr / 10 if epoch < burn_in else lr
        for part in torch.randperm(edges.size(1), generator=generator).split(batch):
            u, v = edges[:, part]
            others = torch.cat([v[:, None], torch.randint(n, (len(u), negatives), generator=generator)], dim=1)
            # F.embedding, because its gradient is summed in a fixed order
            distance = _hyperbolic_distance(F.embedding(u, position)[:, None], F.embedding(others, position))
            known = (others == u[:, None]) | (others == v[:, None])
            known[:, 0] = False
            loss = -torch.log_softmax(-distance.masked_fill(known, torch.inf), dim=1)[:, 0].sum()
            (gradient,) = torch.autograd.grad(loss, position)
            with torch.no_grad():
                norm = position.square().sum(dim=1, keepdim=True)
                move = step * (1 - norm).square() / 4 * gradient
                position -= move / move.norm(dim=1, keepdim=True).div(0.1).clamp_(min=1.0)
                position *= (_BORDER / position.norm(dim=1, keepdim=True).clamp_(min=1e-12)).clamp_(max=1.0)
    result: np.ndarray = position.detach().numpy()
    return result


def _hyperbolic_distance(u: Tensor, v: Tensor) -> Tensor:
    space = (1 - u.square().sum(dim=-1)) * (1 - v.square().sum(dim=-1))
    # kept above 1, where the gradient of arcosh is finite
    return torch.acosh(1 + 2 * (u - v).square().sum(dim=-1) / space + 1e-9)
