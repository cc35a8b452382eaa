"""Faults of the published data, counted: they are kept, because the published numbers were made with them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch_geometric.utils import degree

from simpgcn.data import load_dataset
from simpgcn.errors import unknown_name


def _nodes_without_features(dataset: str) -> int:
    return int((load_dataset(dataset).x.to_dense().abs().sum(dim=1) == 0).sum())


def _nodes_without_edges(dataset: str) -> int:
    data = load_dataset(dataset)
    return int((degree(data.edge_index[0], data.num_nodes) == 0).sum())


def _smallest_class(dataset: str) -> int:
    return int(torch.bincount(load_dataset(dataset).y).min())


def _nodes_of_texas(dataset: str) -> int:
    """Nodes that have the features and the label of the node in the same place of Texas."""
    data, texas = load_dataset(dataset), load_dataset("texas")
    if data.x.shape != texas.x.shape:
        return 0
    return int(((data.x.to_dense() == texas.x.to_dense()).all(dim=1) & (data.y == texas.y)).sum())


FAULTS: dict[str, Callable[[str], int]] = {
    "nodes without features": _nodes_without_features,
    "nodes without edges": _nodes_without_edges,
    "smallest class": _smallest_class,
    "nodes of texas": _nodes_of_texas,
}


def count_fault(dataset: str, fault: str) -> int:
    """How many nodes of a graph a fault concerns.

    >>> count_fault("demo", "nodes without features")
    0
    """
    if fault not in FAULTS:
        raise unknown_name("fault", fault, FAULTS)
    return FAULTS[fault](dataset)
