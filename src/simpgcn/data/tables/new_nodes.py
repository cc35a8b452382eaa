"""Tables of nodes that come after training, read as those of the training were."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import torch
from torch_geometric.data import Data

from simpgcn.data.tables.edges import Edges, no_edges, read_edges
from simpgcn.data.tables.ids import IdIndex, as_ids, examples, find_id_column, sorted_unique
from simpgcn.data.tables.preparation import prepare_features, unknown_values
from simpgcn.data.tables.read_table import Table, read_table
from simpgcn.errors import SimPGCNError


def load_new_nodes(nodes: Any, edges: Any, known: Data, *, id: str | None = None, weights: str | None = None) -> Data:
    """New nodes for a graph that :func:`load_tables` made, for :func:`simpgcn.training.predict_new_nodes`.

    Columns become features as ``known.preparation`` says; what it does not know of is left out, and said.

    Args:
        nodes: A row for each new node, with the columns of the training's table; a label is not looked at.
        edges: A row for each edge of a new node, to known or new ones; None if there are none.
        known: The graph that was trained on.
        id: The column of ``nodes`` with the ids; called as in training if left out.
        weights: The column of ``edges`` with weights; called as in training if left out.

    Returns:
        ``x``, ``edge_index`` (numbers go on from those of the known nodes; only edges from new ones), ``edge_weight``
        if the known graph has weights, ``node_ids``, ``class_names``, and in ``understood`` what was left out and put
        right, plain data.

    >>> from simpgcn.data.tables import load_tables
    >>> kinds = pa.table({"id": range(20), "age": [5, 1] * 10, "kind": ["x", "y"] * 10})
    >>> known = load_tables(kinds, None, "kind")
    >>> new = load_new_nodes(pa.table({"id": [77], "age": [3]}), pa.table({"from": [77], "to": [2]}), known)
    >>> new.x.to_dense().tolist(), new.edge_index.tolist(), new.node_ids.to_pylist()
    ([[0.0]], [[20], [2]], [77])
    """
    learned = known.get("preparation")
    if learned is None or known.get("node_ids") is None:
        raise SimPGCNError("the graph was not made of tables, so new rows cannot be prepared as its own were")
    repairs: list[str] = []
    table = read_table(nodes, "new nodes", repairs)
    names = table.content.column_names
    id_column = find_id_column(table, id or learned["id"])
    content, ids = sorted_unique(table, as_ids(table.content[id_column], from_text=table.is_text), repairs)
    known_ids = known.node_ids
    _check_new(table, ids, known_ids)
    if ids.type != known_ids.type:
        ids, known_ids = ids.cast(pa.string()), known_ids.cast(pa.string())
    x = prepare_features(content, learned["columns"])
    repairs += unknown_values(content, learned["columns"])
    used = {id_column, *(column["name"] for column in learned["columns"])}
    found = no_edges()
    if edges is not None:
        found = read_edges(
            edges,
            pa.concat_arrays([known_ids, ids]),
            repairs,
            weights=_weight_column(weights, learned),
            weight_scale=learned["weight_scale"],
            directed=learned["directed"],
        )
        found = _from_new(found, len(known_ids), directed=learned["directed"])
    new = Data(x=x, edge_index=found.edge_index, num_nodes=len(ids), node_ids=ids, class_names=known.class_names)
    new.y = torch.full((len(ids),), -1)
    if known.get("edge_weight") is not None:
        new.edge_weight = torch.empty(0) if found.edge_weight is None else found.edge_weight
    new.understood = {
        "nodes": {"table": table.name, "rows": table.content.num_rows, "used": len(ids)},
        "columns_left_out": [name for name in names if name not in used],
        "edges": {"listed": found.listed, "dropped": found.dropped},
        "repairs": repairs,
    }
    return new


def _check_new(table: Table, ids: pa.Array, known_ids: pa.Array) -> None:
    again = ids.filter(pa.array(IdIndex(known_ids).rows(ids) >= 0))
    if len(again):
        raise SimPGCNError(
            f"{table.name} has ids of nodes that were there in training, such as {examples(again)}: leave "
            "these rows out, their predictions are those of simpgcn predict without --nodes"
        )


def _weight_column(weights: str | None, learned: dict[str, Any]) -> str | None:
    if learned["weights"] is None and weights is not None:
        raise SimPGCNError(f"the model was trained on edges without weights: leave out --weights {weights}")
    return weights or learned["weights"]


def _from_new(found: Edges, n: int, *, directed: bool) -> Edges:
    """The edges from new nodes alone; the others are dropped, and counted as such."""
    source, target = found.edge_index
    kept = source >= n
    known = int(((source < n) & (target < n)).sum())
    reasons = {"between known nodes": known // (1 if directed else 2)}
    if directed:
        reasons["from a known node to a new one"] = int(((source < n) & (target >= n)).sum())
    weight = None if found.edge_weight is None else found.edge_weight[kept]
    dropped = {**found.dropped, **{reason: count for reason, count in reasons.items() if count}}
    return found._replace(edge_index=found.edge_index[:, kept], edge_weight=weight, dropped=dropped)
