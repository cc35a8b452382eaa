"""What was understood of a user's tables, as plain data, with the warnings a colleague would give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import torch
from torch_geometric.data import Data
from torch_geometric.utils import degree

from simpgcn.data.features import is_sparse
from simpgcn.data.tables.column_kinds import Column
from simpgcn.data.tables.edges import Edges
from simpgcn.data.tables.preparation import feature_names
from simpgcn.data.tables.read_table import Table


def describe(
    data: Data,
    table: Table,
    columns: Sequence[Column],
    edges: Edges,
    content: pa.Table,
    repairs: list[str],
    warnings: list[str],
) -> dict[str, Any]:
    """Rows, columns by kind, edges kept and dropped, homophily, label balance, repairs and warnings."""
    learned = {column["name"]: column for column in data.preparation["columns"]}
    counts = torch.bincount(data.y[data.y >= 0], minlength=len(data.class_names)).tolist()
    links = int(degree(data.edge_index[0], data.num_nodes).count_nonzero())
    same, chance = homophily_and_chance(data)
    return {
        "nodes": {"table": table.name, "rows": table.content.num_rows, "used": data.num_nodes},
        "id": data.preparation["id"],
        "label": data.preparation["label"],
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "features": len(feature_names([learned[column.name]])) if column.name in learned else 0,
                **({"why": column.why} if column.why else {}),
            }
            for column in columns
        ],
        "features": {"count": data.x.size(1), "sparse": is_sparse(data.x)},
        "edges": {
            "listed": edges.listed,
            "kept": data.edge_index.size(1) // (1 if data.preparation["directed"] else 2),
            "dropped": edges.dropped,
            "directed": data.preparation["directed"],
            "weights": data.preparation["weights"],
        },
        "isolated_nodes": data.num_nodes - links,
        "labels": {
            "labelled": int((data.y >= 0).sum()),
            "unlabelled": int((data.y < 0).sum()),
            "classes": dict(zip(data.class_names, counts, strict=True)),
        },
        "homophily": same,
        "homophily_by_chance": chance,
        "repairs": repairs,
        "warnings": warnings,
    }


def homophily_and_chance(data: Data) -> tuple[float | None, float]:
    """The share of edges between labelled nodes that stay within a class, and that of random pairs.

    >>> data = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]), y=torch.tensor([0, 0, 1, -1]))
    >>> homophily_and_chance(data)
    (0.5, 0.5555555555555556)
    """
    ends = data.y[data.edge_index]
    known = (ends >= 0).all(dim=0)
    same = float((ends[0] == ends[1])[known].double().mean()) if bool(known.any()) else None
    shares = torch.bincount(data.y[data.y >= 0]).double() / int((data.y >= 0).sum())
    return same, float((shares**2).sum())
