"""Made-up attributed graphs with chosen homophily, degrees and feature signal, in near-linear time."""

from __future__ import annotations

from functools import partial
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch_geometric.data import Data

from simpgcn.errors import SimPGCNError

Degrees = Literal["even", "power-law"]
Features = Literal["words", "dense"]


def synthetic_graph(
    num_nodes: int = 1000,
    num_classes: int = 5,
    *,
    homophily: float = 0.5,
    average_degree: float = 10.0,
    degrees: Degrees = "even",
    features: Features = "words",
    num_features: int = 500,
    signal: float = 0.5,
    words_per_node: float = 20.0,
    seed: int = 0,
) -> Data:
    """An undirected graph whose links and features say as much about the classes as asked.

    Args:
        num_nodes, num_classes: Size; classes are equally large up to one node.
        homophily: The share of edges within a class; the others go to the other classes evenly.
        average_degree: Edges per node, counted at both ends.
        degrees: ``even`` (Poisson) or ``power-law`` (exponent 2.5).
        features: ``words``, sparse counts with Zipf's frequencies, or ``dense`` Gaussian vectors.
        num_features: Vocabulary or vector size.
        signal: From 0, features that know nothing of the class, to 1. For words, the chance of a word to
            come from the class's own vocabulary; for vectors, the class's share of the variance.
        words_per_node: Mean length of a node's text.
        seed: Draws everything.

    >>> data = synthetic_graph(200, 4, homophily=0.9, features="dense", num_features=16)
    >>> data.x.shape, data.is_undirected(), data.has_self_loops()
    (torch.Size([200, 16]), True, False)
    """
    for name, value in (("homophily", homophily), ("signal", signal)):
        if not 0 <= value <= 1:
            raise SimPGCNError(f"{name} must be between 0 and 1, not {value}")
    if average_degree < 0:
        raise SimPGCNError(f"average_degree must be 0 or more, not {average_degree}")
    if not 2 <= num_classes <= num_nodes:
        raise SimPGCNError(f"num_classes must be between 2 and the {num_nodes} nodes, not {num_classes}")
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(num_nodes) % num_classes)
    edge_index = _edges(rng, y, num_classes, homophily, round(num_nodes * average_degree / 2), degrees)
    if features == "words":
        x = _words(rng, y, num_classes, num_features, signal, words_per_node)
    elif features == "dense":
        centers = rng.standard_normal((num_classes, num_features), dtype=np.float32)
        noise = rng.standard_normal((num_nodes, num_features), dtype=np.float32)
        x = torch.from_numpy(np.float32(signal**0.5) * centers[y] + np.float32((1 - signal) ** 0.5) * noise)
    else:
        raise SimPGCNError(f"features must be one of {', '.join(get_args(Features))}, not {features!r}")
    return Data(x=x, edge_index=edge_index, y=torch.from_numpy(y))


def demo_graph() -> Data:
    """The built-in example: 2,000 articles in five topics that mostly cite outside their own.

    >>> demo_graph()
    Data(x=[2000, 500], edge_index=[2, 20000], y=[2000])
    """
    data = synthetic_graph(
        2000,
        5,
        homophily=0.15,
        average_degree=10,
        degrees="power-law",
        signal=0.32,
        words_per_node=25,
        seed=2021,
    )
    data.x = data.x.to_dense()
    return data


def homophily_graph(homophily: float) -> Data:
    """1,000 short articles in five topics, of whose links the share ``homophily`` stays within a topic.

    Topics and words are always the same.

    >>> homophily_graph(0.3)
    Data(x=[1000, 500], edge_index=[2, 5000], y=[1000])
    """
    drawn = partial(synthetic_graph, 1000, 5, average_degree=5, signal=0.2, words_per_node=20, seed=2021)
    data = drawn(homophily=homophily)
    data.x = drawn().x  # words are drawn after the links, and so differ from one homophily to the next
    return data


def sized_graph(num_nodes: float) -> Data:
    """A graph of ten links and about twenty words to a node, to see what grows with the number of nodes.

    >>> sized_graph(200)
    Data(x=[200, 500], edge_index=[2, 2000], y=[200])
    """
    return synthetic_graph(round(num_nodes), 5, average_degree=10, words_per_node=25, seed=2021)


def _edges(
    rng: np.random.Generator, y: np.ndarray, num_classes: int, homophily: float, count: int, degrees: Degrees
) -> Tensor:
    n = len(y)
    if degrees == "even":
        weight = np.ones(n)
    elif degrees == "power-law":
        # Inverse of the tail of a power law with exponent 2.5, cut where one node would be named by sqrt(n) others.
        weight = np.minimum(rng.random(n) ** (-1 / 1.5), n**0.5)
    else:
        raise SimPGCNError(f"degrees must be one of {', '.join(get_args(Degrees))}, not {degrees!r}")
    # Nodes sorted by class: drawing within a class is drawing within a stretch of the cumulative weights.
    by_class = np.argsort(y, kind="stable")
    cumulative = np.concatenate([[0.0], np.cumsum(weight[by_class])])
    bounds = cumulative[np.searchsorted(y[by_class], np.arange(num_classes + 1))]
    # Links within and between classes fill quotas of their own: repeats, which are dropped, are more frequent
    # within, and would otherwise lower the homophily.
    within = round(homophily * count)
    parts = []
    for same, quota in ((True, within), (False, count - within)):
        codes = np.empty(0, dtype=np.int64)
        for _ in range(200):
            missing = quota - len(codes)
            if missing <= 0:
                break
            source = _draw(rng, cumulative, 0.0, cumulative[-1], missing + missing // 8 + 8)
            label = y[by_class[source]]
            if not same:
                label = (label + rng.integers(1, num_classes, len(source))) % num_classes
            target = _draw(rng, cumulative, bounds[label], bounds[label + 1], len(source))
            low, high = np.minimum(source, target), np.maximum(source, target)
            codes = np.unique(np.concatenate([codes, (low * n + high)[low != high]]))
        if len(codes) < quota:
            raise SimPGCNError(
                f"{n} nodes in {num_classes} classes have no room for {quota} links "
                f"{'within' if same else 'between'} classes: lower average_degree"
            )
        parts.append(rng.choice(codes, quota, replace=False) if len(codes) > quota else codes)
    codes = np.concatenate(parts)
    low, high = by_class[codes // n], by_class[codes % n]
    index = np.stack([np.concatenate([low, high]), np.concatenate([high, low])])
    return torch.from_numpy(index[:, np.lexsort((index[1], index[0]))])


def _draw(
    rng: np.random.Generator, cumulative: np.ndarray, low: npt.ArrayLike, high: npt.ArrayLike, size: int
) -> np.ndarray:
    point = rng.uniform(np.asarray(low), np.asarray(high), size)
    return np.clip(np.searchsorted(cumulative, point, side="right") - 1, 0, len(cumulative) - 2)


def _words(
    rng: np.random.Generator, y: np.ndarray, num_classes: int, num_words: int, signal: float, length: float
) -> Tensor:
    if num_words < num_classes:
        raise SimPGCNError(f"num_features must be at least the {num_classes} classes, not {num_words}")
    lengths = 1 + rng.poisson(max(length - 1, 0), len(y))
    node = np.repeat(np.arange(len(y)), lengths)
    label = y[node]
    # Word w belongs to class w modulo the number of classes; frequencies fall as 1 / rank within each.
    own_words = (num_words - 1 - label) // num_classes + 1
    own = rng.random(len(node)) < signal
    rank = _zipf(rng, np.where(own, own_words, num_words))
    word = np.where(own, rank * num_classes + label, rank)
    codes, counts = np.unique(node * num_words + word, return_counts=True)
    rows = np.zeros(len(y) + 1, dtype=np.int64)
    np.cumsum(np.bincount(codes // num_words, minlength=len(y)), out=rows[1:])
    return torch.sparse_csr_tensor(
        torch.from_numpy(rows),
        torch.from_numpy(codes % num_words),
        torch.from_numpy(counts.astype(np.float32)),
        (len(y), num_words),
        check_invariants=False,
    )


def _zipf(rng: np.random.Generator, size: np.ndarray) -> np.ndarray:
    """Ranks 0 to size - 1 with frequency about 1 / (rank + 1)."""
    rank = np.exp(rng.random(len(size)) * np.log(size + 1.0)).astype(np.int64) - 1
    return np.minimum(rank, size - 1)
