"""What was understood of a user's tables, as plain data, with the warnings a colleague would give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch_geometric.data import Data

from simpgcn.data.features import is_sparse
from simpgcn.data.tables.advice import graph_warnings, homophily_and_chance, isolated_nodes
from simpgcn.data.tables.column_kinds import Column
from simpgcn.data.tables.edges import Edges
from simpgcn.data.tables.preparation import feature_names


def describe(
    data: Data,
    edges: Edges,
    *,
    name: str,
    rows: int,
    id: str | None = None,
    label: str | None = None,
    columns: Sequence[Column] = (),
    learned: Sequence[dict[str, Any]] = (),
    weights: str | None = None,
    directed: bool = False,
    repairs: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Rows, columns by kind, edges kept and dropped, homophily, label balance, repairs and warnings."""
    made = {column["name"]: len(feature_names([column])) for column in learned}
    counts = torch.bincount(data.y[data.y >= 0], minlength=len(data.class_names)).tolist()
    same, chance = homophily_and_chance(data)
    weight = data.get("edge_weight")
    found = {
        "nodes": {"table": name, "rows": rows, "used": data.num_nodes},
        "id": id,
        "label": label,
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "features": made.get(column.name, 0),
                "missing": column.missing,
                **({"why": column.why} if column.why else {}),
            }
            for column in columns
        ],
        "features": {"count": data.x.size(1), "sparse": is_sparse(data.x)},
        "edges": {
            "listed": edges.listed,
            "kept": data.edge_index.size(1) // (1 if directed else 2),
            "dropped": edges.dropped,
            "directed": directed,
            "weights": weights,
            "heaviest": float(weight.max()) if weight is not None and weight.numel() else None,
        },
        "isolated_nodes": isolated_nodes(data),
        "labels": {
            "labelled": int((data.y >= 0).sum()),
            "unlabelled": int((data.y < 0).sum()),
            "classes": dict(zip(data.class_names, counts, strict=True)),
        },
        "homophily": same,
        "homophily_by_chance": chance,
        "repairs": list(repairs),
    }
    return {**found, "warnings": [*warnings, *graph_warnings(found)]}
