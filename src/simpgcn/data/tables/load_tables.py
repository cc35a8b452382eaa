"""The front door for tables: a table of nodes, one of edges and the name of the label in, a graph out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from torch_geometric.data import Data

from simpgcn.data.splits import SplitKind, apply_split
from simpgcn.data.tables.advice import column_warnings
from simpgcn.data.tables.column_kinds import Column, column_kind
from simpgcn.data.tables.edges import no_edges, read_edges
from simpgcn.data.tables.ids import as_ids, find_id_column, sorted_unique
from simpgcn.data.tables.labels import read_labels
from simpgcn.data.tables.preparation import learn_preparation, prepare_features
from simpgcn.data.tables.read_table import Table, read_table
from simpgcn.data.tables.understood import describe
from simpgcn.errors import SimPGCNError, unknown_name


def load_tables(
    nodes: Any,
    edges: Any = None,
    label: str | None = None,
    *,
    id: str | None = None,
    features: Sequence[str] | None = None,
    weights: str | None = None,
    directed: bool = False,
    split: int = 0,
    split_kind: SplitKind = "random",
) -> Data:
    """A graph from tables: paths of CSV (plain or gzipped) or Parquet files, pandas data frames or pyarrow tables.

    Nodes are in the order of their ids, so that the order of the rows changes nothing. Nodes without a label are in
    no mask: they are the ones to predict.

    Args:
        nodes: A row for each node.
        edges: A row for each edge, with the ids of both ends; see :func:`simpgcn.data.tables.edges.read_edges`.
            Without it only look-alikes connect the nodes.
        label: The column of ``nodes`` to learn.
        id: The column of ``nodes`` with the ids; one called id or node, else the first, if left out.
        features: The columns of ``nodes`` to learn from; all others than id and label if left out.
        weights: The column of ``edges`` with weights.
        directed: Keep the direction of edges; otherwise each is taken both ways.
        split: Which random split: 60% of each class train, 20% choose the epoch, 20% test.
        split_kind: ``random`` or ``per-class``; see :mod:`simpgcn.data.splits`.

    Returns:
        The graph, with ``node_ids`` (a pyarrow array), ``class_names``, ``preparation`` (how columns became features,
        plain data) and ``understood`` (what was read, dropped and put right, plain data) beside the usual.

    >>> import pyarrow as pa
    >>> nodes = pa.table({"id": [f"n{i}" for i in range(20)], "age": [5, 1] * 10, "kind": ["x", "y"] * 10})
    >>> edges = pa.table({"from": ["n0", "n2"], "to": ["n1", "n9"]})
    >>> data = load_tables(nodes, edges, "kind")
    >>> data.num_nodes, data.class_names, data.edge_index.size(1), data.node_ids[0].as_py()
    (20, ['x', 'y'], 4, 'n0')
    """
    repairs: list[str] = []
    table = read_table(nodes, "nodes", repairs)
    id_column = find_id_column(table, id)
    label = _label_column(table, label, id_column)
    columns = _feature_columns(table, features, (id_column, label))
    repairs += [column.repair for column in columns if column.repair]
    ids = as_ids(table.content[id_column], from_text=table.is_text)
    content, ids = sorted_unique(table, ids, repairs)
    labels = read_labels(content[label], label)
    learned = learn_preparation(content, columns)
    if not learned:
        raise SimPGCNError(
            f"{table.name} has no column to learn from beside the id {id_column!r} and the label {label!r}: "
            "nodes need features"
        )
    x = prepare_features(content, learned)
    warnings = [*labels.warnings, *column_warnings(content, columns, labels)]
    name, rows = table.name, table.content.num_rows
    del table, content  # the edges need the room
    pa.default_memory_pool().release_unused()
    found = no_edges() if edges is None else read_edges(edges, ids, repairs, weights=weights, directed=directed)
    data = Data(x=x, edge_index=found.edge_index, y=labels.y, num_nodes=len(ids))
    if found.edge_weight is not None:
        data.edge_weight = found.edge_weight
    data = apply_split(data, name, split_kind, split)
    _check_split(data, label)
    data.node_ids = ids
    data.class_names = labels.class_names
    data.preparation = {
        "id": id_column,
        "label": label,
        "columns": learned,
        "weights": weights,
        "weight_scale": found.weight_scale,
        "directed": directed,
    }
    data.understood = describe(
        data,
        found,
        name=name,
        rows=rows,
        id=id_column,
        label=label,
        columns=columns,
        learned=learned,
        weights=weights,
        directed=directed,
        repairs=repairs,
        warnings=warnings,
    )
    return data


def _label_column(table: Table, label: str | None, id_column: str) -> str:
    names = table.content.column_names
    if label is None:
        others = [name for name in names if name != id_column]
        raise SimPGCNError(f"say which column of {table.name} to learn with --label: {', '.join(others)}")
    if label not in names:
        raise unknown_name(f"column of {table.name}", label, names)
    if label == id_column:
        raise SimPGCNError(f"{label!r} cannot be both the label and the id: choose the column of ids with --id")
    return label


def _feature_columns(table: Table, wanted: Sequence[str] | None, taken: tuple[str, str]) -> list[Column]:
    names = table.content.column_names
    for name in wanted or ():
        if name not in names:
            raise unknown_name(f"column of {table.name}", name, names)
        if name in taken:
            raise SimPGCNError(f"{name!r} is the id or the label of {table.name}: it cannot be a feature too")
    chosen = [name for name in names if name not in taken and (wanted is None or name in wanted)]
    return [column_kind(name, table.content[name], asked=wanted is not None) for name in chosen]


def _check_split(data: Data, label: str) -> None:
    for part, mask in (("choose the epoch", data.val_mask), ("test", data.test_mask)):
        if not bool(mask.any()):
            raise SimPGCNError(
                f"there are too few labels in {label!r} to hold some back to {part}: "
                f"{int((data.y >= 0).sum())} nodes have one; label at least 5 of one class"
            )
