"""What surrounds the nodes: their neighbours in the graph beside their look-alikes, and how far the two agree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch_geometric.utils import coalesce, remove_self_loops

from simpgcn.report.run_record import RunRecord
from simpgcn.similarity import overlap


class Surrounding(NamedTuple):
    """The links from every node, its strongest first: ``others[start[i]:start[i + 1]]``, with their weights."""

    start: np.ndarray
    others: np.ndarray
    weights: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """How many links each node has."""
        return np.diff(self.start)

    def classes(self, of: np.ndarray, num_classes: int) -> np.ndarray:
        """How many of each node's links lead to each class, ``[n, classes]``; class -1 is not counted.

        >>> surrounding(torch.tensor([[0, 0, 1], [1, 2, 0]]), None, 3).classes(np.array([0, 1, 1]), 2).tolist()
        [[0, 2], [1, 0], [0, 0]]
        """
        n = len(self.start) - 1
        node = np.repeat(np.arange(n), self.counts)
        known = of[self.others] >= 0
        place = (node[known], of[self.others[known]])
        return scipy.sparse.coo_array((np.ones(known.sum(), dtype=np.int32), place), (n, num_classes)).toarray()

    def first(self, most: int) -> Surrounding:
        """The same with at most ``most`` links a node.

        >>> surrounding(torch.tensor([[0, 0, 1], [1, 2, 0]]), torch.tensor([0.1, 0.9, 1.0]), 3).first(1).others
        array([2, 0])
        """
        rank = np.arange(len(self.others)) - np.repeat(self.start[:-1], self.counts)
        start = np.concatenate([[0], np.cumsum(np.minimum(self.counts, most))])
        return Surrounding(start, self.others[rank < most], self.weights[rank < most])


def surrounding(edge_index: Tensor, edge_weight: Tensor | None, num_nodes: int) -> Surrounding:
    """The links of a graph by node, each once, without self-loops; equal weights in the order of the nodes.

    >>> surrounding(torch.tensor([[0, 0, 1], [2, 1, 1]]), None, 3)
    Surrounding(start=array([0, 2, 2, 2]), others=array([1, 2]), weights=array([1., 1.], dtype=float32))
    """
    weight = torch.ones(edge_index.size(1)) if edge_weight is None else edge_weight.float()
    edge_index, weight = coalesce(*remove_self_loops(edge_index, weight), num_nodes)
    source, target, weights = edge_index[0].numpy(), edge_index[1].numpy(), weight.numpy()
    order = np.lexsort((target, -weights, source))
    start = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=num_nodes))])
    return Surrounding(start, target[order], weights[order])


def neighbours(run: RunRecord) -> Surrounding:
    """Every node's neighbours in the graph: on a directed graph, the nodes it points to, as the models read it."""
    return surrounding(run.data.edge_index, run.data.get("edge_weight"), run.num_nodes)


def look_alikes(run: RunRecord) -> Surrounding:
    """Every node's look-alikes, the most similar first."""
    return surrounding(run.data.feature_edge_index, run.data.feature_edge_weight, run.num_nodes)


def similarity_facts(run: RunRecord) -> dict[str, Any]:
    """Homophily of the graph and of the look-alikes, their overlap, and what chance would give."""
    labels = run.labels
    counts = np.bincount(labels[labels >= 0])
    return {
        "k": min(run.config.similarity.k, run.num_nodes - 1),
        "links": int(run.data.edge_index.size(1)),
        "directed": bool(run.data.is_directed()),
        "homophily": _homophily(run.data.edge_index, labels),
        "look_alike_homophily": _homophily(run.data.feature_edge_index, labels),
        "chance_homophily": round(float(np.square(counts / counts.sum()).sum()), 4),
        "overlap": round(overlap(run.data.feature_edge_index, run.data.edge_index), 4),
        "same_class": _same_class(labels, {"neighbours": neighbours(run), "look-alikes": look_alikes(run)}),
    }


def _homophily(edge_index: Tensor, labels: np.ndarray) -> float | None:
    """The share of links within a class, of those whose both ends are labelled."""
    source, target = labels[edge_index[0].numpy()], labels[edge_index[1].numpy()]
    known = (source >= 0) & (target >= 0)
    return round(float((source == target)[known].mean()), 4) if known.any() else None


def _same_class(labels: np.ndarray, around: dict[str, Surrounding]) -> list[dict[str, Any]]:
    """The share of labelled nodes by the share of their labelled surrounding that is of their own class."""
    rows = []
    for name, links in around.items():
        counts = links.classes(labels, int(labels.max()) + 1)
        total = counts.sum(axis=1)
        chosen = np.flatnonzero((labels >= 0) & (total > 0))
        own = counts[chosen, labels[chosen]] / total[chosen]
        histogram, _ = np.histogram(own, bins=10, range=(0, 1))
        rows += [
            {"around": name, "from": b / 10, "to": (b + 1) / 10, "nodes": round(count / max(1, len(chosen)), 5)}
            for b, count in enumerate(histogram.tolist())
        ]
    return rows
