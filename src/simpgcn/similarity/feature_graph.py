"""The feature graph A_f as a PyG transform."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from simpgcn.data.features import Choice, binarize, compact
from simpgcn.errors import SimPGCNError
from simpgcn.similarity.cache import cached_neighbors, copy_search
from simpgcn.similarity.exact import Neighbors
from simpgcn.similarity.neighbors import FarTies, nearest_neighbors
from simpgcn.similarity.pairs import similarity_pairs


def feature_edges(neighbors: Neighbors) -> tuple[Tensor, Tensor]:
    """The directed edges from each node to its most similar ones, weighted by their cosine.

    Pairs with nothing in common (similarity 0 or below) are no edges, and there are no self-loops.

    >>> neighbors = nearest_neighbors(torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]]), 1)
    >>> feature_edges(neighbors)
    (tensor([[0, 1],
            [1, 0]]), tensor([1., 1.]))
    """
    node = torch.arange(neighbors.near.size(0), device=neighbors.near.device)
    node = node.unsqueeze(1).expand_as(neighbors.near)
    keep = neighbors.near_similarity > 0
    return torch.stack([node[keep], neighbors.near[keep]]), neighbors.near_similarity[keep]


class FeatureGraph(BaseTransform):
    r"""Adds the kNN graph :math:`\mathbf{A}_f` of the features, and the pretext task's pairs.

    Sets ``feature_edge_index`` (``[0]`` a node, ``[1]`` one that looks like it) and ``feature_edge_weight``
    (their cosine); with ``pairs``, also ``pair_index``, ``pair_similarity`` and ``pair_similar``. The
    features themselves are left as they are.

    Args:
        k: Neighbours per node.
        pairs: The paper's m: most and least similar nodes per node for the pretext task; 0 for none.
        binarize: Compare which features are present (``always``), their values (``never``), or what suits
            them (``auto``: presence for word-like features).
        seed: Orders equal similarities.
        far_ties: How those are ordered among the least similar; see
            :func:`simpgcn.similarity.nearest_neighbors`.
        cache: Keep the search on disk; a folder, or True for the data home's.
        on_progress: Called with the share of rows done.

    >>> data = FeatureGraph(k=2, pairs=1, cache=False)(Data(x=torch.rand(10, 4)))
    >>> data.feature_edge_index.shape, data.pair_index.size(0)
    (torch.Size([2, 20]), 2)
    >>> FeatureGraph(k=5)
    FeatureGraph(k=5, pairs=0, binarize='auto')
    """

    def __init__(
        self,
        k: int = 20,
        *,
        pairs: int = 0,
        binarize: Choice = "auto",
        seed: int = 0,
        far_ties: FarTies = "random",
        cache: bool | Path = True,
        on_progress: Callable[[float], None] | None = None,
    ) -> None:
        self.k = k
        self.pairs = pairs
        self.binarize = binarize
        self.seed = seed
        self.far_ties = far_ties
        self.cache = cache
        self.on_progress = on_progress

    def forward(self, data: Data) -> Data:
        """Search, and set the attributes on ``data`` (a shallow copy when called as a transform)."""
        if data.get("x") is None:
            raise SimPGCNError("the graph has no features to compare: data.x is missing")
        n = data.x.size(0)
        if self.pairs >= n:
            raise SimPGCNError(
                f"{self.pairs} most and least similar nodes were asked for the pretext task, but each of the {n} "
                f"nodes has {n - 1} others: choose fewer"
            )
        x, count, options = self._question(data)
        if self.cache is False:
            found = nearest_neighbors(x, count, **options, on_progress=self.on_progress)
        else:
            folder = None if self.cache is True else self.cache
            found = cached_neighbors(x, count, **options, folder=folder, on_progress=self.on_progress)
        near = found._replace(near=found.near[:, : self.k], near_similarity=found.near_similarity[:, : self.k])
        data.feature_edge_index, data.feature_edge_weight = feature_edges(near)
        if self.pairs:
            pairs = similarity_pairs(found, self.pairs)
            data.pair_index, data.pair_similarity, data.pair_similar = pairs
        return data

    def copy_search(self, data: Data, to: Path) -> None:
        """Give a folder of its own the search for this graph that is in the cache; a ``cache`` to use elsewhere."""
        x, count, options = self._question(data)
        copy_search(x, count, **options, to=to)

    def _question(self, data: Data) -> tuple[Tensor, int, dict[str, Any]]:
        options = {"farthest": self.pairs, "seed": self.seed, "far_ties": self.far_ties}
        return binarize(compact(data.x), self.binarize), max(self.k, self.pairs), options

    def __repr__(self) -> str:
        return f"{type(self).__name__}(k={self.k}, pairs={self.pairs}, binarize={self.binarize!r})"
