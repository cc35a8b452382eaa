"""The links of every node, the strongest first: its neighbours in the graph, or its look-alikes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch_geometric.utils import coalesce, remove_self_loops


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
