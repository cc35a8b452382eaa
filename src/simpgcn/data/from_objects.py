"""Graphs that other libraries hold: NetworkX's and SciPy's. PyG's own are taken as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from scipy import sparse
from torch import Tensor
from torch_geometric.data import Data

from simpgcn.data.features import from_scipy_csr
from simpgcn.data.splits import apply_split
from simpgcn.data.tables.edges import no_edges, read_edges
from simpgcn.data.tables.labels import read_labels
from simpgcn.data.tables.load_tables import load_tables
from simpgcn.data.tables.understood import describe
from simpgcn.errors import SimPGCNError


def from_networkx(
    graph: Any,
    label: str,
    *,
    features: Sequence[str] | None = None,
    weights: str | None = None,
    directed: bool = False,
    split: int = 0,
) -> Data:
    """A graph from NetworkX: the nodes' attributes become features as columns of a table do.

    Args:
        graph: Any kind of NetworkX graph; parallel edges are taken once.
        label: The attribute to learn; nodes without it are the ones to predict.
        features: The attributes to learn from; all others if left out.
        weights: The attribute of edges with their weights.
        directed: Keep the direction of edges; otherwise each is taken both ways.
        split: See :func:`simpgcn.load_tables`.

    >>> import networkx
    >>> graph = networkx.karate_club_graph()
    >>> for node, degree in graph.degree():
    ...     graph.nodes[node]["friends"] = degree
    >>> data = from_networkx(graph, "club", weights="weight")
    >>> data.num_nodes, data.class_names, data.edge_index.size(1)
    (34, ['Mr. Hi', 'Officer'], 156)
    """
    nodes = dict(graph.nodes(data=True))
    if not nodes:
        raise SimPGCNError("the graph has no nodes")
    names = dict.fromkeys(str(name) for attributes in nodes.values() for name in attributes)
    if "node" in names:
        raise SimPGCNError("the nodes have an attribute called 'node', which is the name of their own: rename it")
    # Ids of several types, or tuples, are known by what they print.
    plain = any(all(type(node) is kind for node in nodes) for kind in (int, str))
    shown = (lambda node: node) if plain else str
    table = {"node": pa.array([shown(node) for node in nodes])}
    table |= {name: _column([attributes.get(name) for attributes in nodes.values()]) for name in names}
    ends = list(graph.edges(data=weights or True))
    edges = {name: pa.array([shown(end[place]) for end in ends]) for place, name in enumerate(("source", "target"))}
    if weights is not None:
        edges["weight"] = _column([end[2] for end in ends])
    return load_tables(
        pa.table(table),
        pa.table(edges) if ends else None,
        label,
        id="node",
        features=features,
        weights="weight" if ends and weights is not None else None,
        directed=directed,
        split=split,
    )


def _column(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError):
        return pa.array([None if value is None else str(value) for value in values])


def from_scipy(
    adjacency: Any,
    x: Any,
    labels: Sequence[Any],
    *,
    node_ids: Sequence[Any] | None = None,
    directed: bool = False,
    split: int = 0,
) -> Data:
    """A graph from a SciPy sparse matrix, with features that are taken as they are.

    Args:
        adjacency: ``[n, n]``, row to column; entries other than 1 are weights.
        x: ``[n, d]``: an array, a sparse matrix or a tensor.
        labels: A value for each node; None, NaN or a negative number for the ones to predict.
        node_ids: Ids of any type; 0 to n - 1 if left out.
        directed: Keep the direction of edges; otherwise each is taken both ways.
        split: See :func:`simpgcn.load_tables`.

    >>> ring = sparse.eye_array(20, k=1, format="csr")
    >>> data = from_scipy(ring, np.arange(40.0).reshape(20, 2), ["a", "b"] * 9 + [None, None])
    >>> data.num_nodes, data.edge_index.size(1), data.class_names, int((data.y < 0).sum())
    (20, 38, ['a', 'b'], 2)
    """
    matrix = sparse.coo_array(adjacency)
    features = _features(x)
    count = features.size(0)
    if matrix.shape != (count, count):
        raise SimPGCNError(f"the adjacency matrix is {matrix.shape[0]} × {matrix.shape[1]}, but x has {count} rows")
    if len(labels) != count or (node_ids is not None and len(node_ids) != count):
        raise SimPGCNError(f"labels and node_ids must have one value for each of the {count} nodes")
    found = read_labels(_label_values(labels), "labels")
    table = pa.table({"source": matrix.row, "target": matrix.col, "weight": np.asarray(matrix.data, dtype=float)})
    weights = "weight" if bool((matrix.data != 1).any()) else None
    repairs: list[str] = []
    edges = no_edges()
    if matrix.nnz:
        edges = read_edges(table, pa.array(np.arange(count)), repairs, weights=weights, directed=directed)
    data = Data(x=features, edge_index=edges.edge_index, y=found.y, num_nodes=count)
    if edges.edge_weight is not None:
        data.edge_weight = edges.edge_weight
    data = apply_split(data, "the graph", "random", split)
    data.node_ids = pa.array(np.arange(count)) if node_ids is None else _column(list(node_ids))
    data.class_names = found.class_names
    data.understood = describe(
        data, edges, name="the graph", rows=count, directed=directed, repairs=repairs, warnings=found.warnings
    )
    return data


def _features(x: Any) -> Tensor:
    if isinstance(x, Tensor):
        return x
    if sparse.issparse(x):
        return from_scipy_csr(sparse.csr_array(x))
    return torch.from_numpy(np.asarray(x, dtype=np.float32))


def _label_values(labels: Sequence[Any]) -> pa.Array:
    values = _column(labels.tolist() if hasattr(labels, "tolist") else list(labels))
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        numbers = values.to_numpy(zero_copy_only=False).astype(float)
        return pa.array(values.to_pylist(), mask=np.isnan(numbers) | (numbers < 0))
    return values
