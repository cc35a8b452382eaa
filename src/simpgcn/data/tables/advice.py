"""What a colleague would say on seeing the tables. It is said, and nothing is chosen by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from sklearn.metrics.cluster import contingency_matrix
from torch_geometric.data import Data

from simpgcn.data.tables.column_kinds import Column
from simpgcn.data.tables.labels import LabelColumn
from simpgcn.data.tables.values import whole, without_missing_marks

_GIVES_AWAY = 0.99
_FEW_VALUES = 50
_MOSTLY = 0.5
# How much a share of edges may be below that of chance before it means anything.
_BELOW = 0.05
_HEAVY = 1000


def column_warnings(table: pa.Table, columns: Sequence[Column], labels: LabelColumn) -> list[str]:
    """Columns that tell the label outright, as those do that were filled in after the fact.

    >>> labels = LabelColumn(torch.arange(40) % 2, ["no", "yes"], [])
    >>> table = pa.table({"closed": ["n", "y"] * 20, "colour": ["red", "red", "blue", "blue"] * 10})
    >>> columns = [Column("closed", "category"), Column("colour", "category")]
    >>> [sentence.partition(":")[0] for sentence in column_warnings(table, columns, labels)]
    ["the column 'closed' alone tells the label of 100% of the nodes"]
    """
    found = []
    known = labels.y.numpy() >= 0
    y = labels.y.numpy()[known]
    usual = np.bincount(y).max() / y.size
    for column in columns:
        if column.kind not in ("category", "number") or y.size < 20:
            continue
        values = without_missing_marks(whole(table[column.name])).dictionary_encode()
        if len(values.dictionary) > min(_FEW_VALUES, y.size / 5):
            continue
        codes = values.indices.fill_null(len(values.dictionary)).to_numpy()[known]
        told = contingency_matrix(codes, y).max(axis=1).sum() / y.size
        if told >= _GIVES_AWAY > usual:
            found.append(
                f"the column {column.name!r} alone tells the label of {told:.0%} of the nodes: if it is only known "
                "afterwards, leave it out with --features"
            )
    return found


def graph_warnings(found: dict[str, Any]) -> list[str]:
    """Too few edges, too many dropped, and edges that say less than chance; of what was understood of the tables."""
    edges, nodes, isolated = found["edges"], found["nodes"]["used"], found["isolated_nodes"]
    if edges["listed"] == 0:
        return ["there are no edges: only look-alikes connect the nodes"]
    said = []
    unknown = edges["dropped"].get("unknown id", 0) / edges["listed"]
    if unknown > _MOSTLY:
        said.append(f"{unknown:.0%} of the edges have an id that no node has: is a part of the nodes missing?")
    if isolated > _MOSTLY * nodes:
        said.append(f"{isolated / nodes:.0%} of the nodes have no edge: only look-alikes help there")
    same, chance = found["homophily"], found["homophily_by_chance"]
    if same is not None and same < chance - _BELOW:
        said.append(
            f"edges join unlike nodes: {same:.0%} stay within a class, where chance would have {chance:.0%}; a method "
            "that trusts edges will suffer, and this one leans on look-alikes"
        )
    if (edges["heaviest"] or 0) > _HEAVY:
        said.append(f"the heaviest edge weighs {edges['heaviest']:,.0f} times the mean: take the weights' logarithm")
    return said


def isolated_nodes(data: Data) -> int:
    """How many nodes have no edge.

    >>> isolated_nodes(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=3))
    1
    """
    linked = torch.zeros(data.num_nodes, dtype=torch.bool)
    for ends in data.edge_index:
        linked[ends] = True
    return data.num_nodes - int(linked.sum())


def homophily_and_chance(data: Data) -> tuple[float | None, float]:
    """The share of edges between labelled nodes that stay within a class, and that of random pairs.

    >>> data = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]), y=torch.tensor([0, 0, 1, -1]))
    >>> homophily_and_chance(data)
    (0.5, 0.5555555555555556)
    """
    known = same = 0
    for part in data.edge_index.split(1 << 18, dim=1):  # nothing of the edges' size twice
        ends = data.y[part]
        labelled = (ends >= 0).all(dim=0)
        known += int(labelled.sum())
        same += int((labelled & (ends[0] == ends[1])).sum())
    shares = torch.bincount(data.y[data.y >= 0]).double() / int((data.y >= 0).sum())
    return same / known if known else None, float((shares**2).sum())
