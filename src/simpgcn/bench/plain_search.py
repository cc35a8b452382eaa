"""Neighbours and pairs as one would find them with scikit-learn, to compare with."""

from __future__ import annotations

import numpy as np
from torch_geometric.data import Data

from simpgcn.config import Config
from simpgcn.data import binarize


def scikit_nearest(data: Data, config: Config) -> np.ndarray:
    """The k most similar nodes of each by ``NearestNeighbors``, ``[n, k]``.

    It has no way to find the least similar ones, so there are no pairs: less than the whole work.

    >>> from simpgcn.bench.graphs import bench_graph
    >>> scikit_nearest(*bench_graph("tiny")).shape
    (400, 20)
    """
    from sklearn.neighbors import NearestNeighbors

    x = _compared(data, config)
    search = NearestNeighbors(n_neighbors=config.similarity.k, metric="cosine", algorithm="brute").fit(x)
    found: np.ndarray = search.kneighbors()[1]
    return found


def scikit_argsort(data: Data, config: Config) -> tuple[np.ndarray, np.ndarray]:
    """The k most similar nodes of each, and the pairs of the pretext task, by sorting all similarities.

    >>> from simpgcn.bench.graphs import bench_graph
    >>> nearest, pairs = scikit_argsort(*bench_graph("tiny"))
    >>> nearest.shape, pairs.shape[0]
    ((400, 20), 2)
    """
    from sklearn.metrics.pairwise import cosine_similarity

    similarity = cosine_similarity(_compared(data, config))
    np.fill_diagonal(similarity, -np.inf)
    order = np.argsort(similarity, axis=1)[:, ::-1]
    n, m = len(order), config.model.pretext_neighbors
    # The node itself comes last.
    other = np.hstack([order[:, :m], order[:, -1 - m : -1]])
    node = np.broadcast_to(np.arange(n)[:, None], other.shape)
    codes = np.unique(np.minimum(node, other) * n + np.maximum(node, other))
    return order[:, : config.similarity.k], np.stack([codes // n, codes % n])


def argsort_bytes(num_nodes: int) -> int:
    """What :func:`scikit_argsort` holds at once: a float32 and an int64 for every two nodes.

    >>> argsort_bytes(1000)
    12000000
    """
    return 12 * num_nodes**2


def _compared(data: Data, config: Config) -> np.ndarray:
    # dense, for which scikit-learn calls a matrix product
    x = binarize(data.x.to_dense(), config.similarity.binarize).cpu().numpy()
    return x.astype(np.float32, copy=False)
