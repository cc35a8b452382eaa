"""Options that commands share, and what they do with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from simpgcn.config import parse_assignment
from simpgcn.data.own_graph import is_own
from simpgcn.data.tables.read_table import TABLE_ENDINGS
from simpgcn.errors import SimPGCNError

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, and only that.")]
Cache = Annotated[bool, typer.Option("--cache/--no-cache", help="Keep neighbour searches on disk.")]
Device = Annotated[str | None, typer.Option(help="auto, cpu, cuda or cuda:N.")]

Nodes = Annotated[Path | None, typer.Option(help="Your own data: a table of nodes, .csv, .tsv (also .gz) or .parquet.")]
Edges = Annotated[Path | None, typer.Option(help="A table of edges: the ids of both ends in each row.")]
Label = Annotated[str | None, typer.Option(help="The column of the nodes to learn.")]
Id = Annotated[str | None, typer.Option("--id", help="The column of the nodes' ids.")]
Features = Annotated[str | None, typer.Option(help="The columns to learn from, a,b,c; all others if left out.")]
Weights = Annotated[str | None, typer.Option(help="The column of the edges' weights.")]
Directed = Annotated[bool | None, typer.Option("--directed", help="Keep the direction of edges.")]


def table_changes(
    nodes: Path | None,
    edges: Path | None,
    label: str | None,
    id: str | None,
    features: str | None,
    weights: str | None,
    directed: bool | None,
) -> dict[str, Any]:
    """The settings of the options for a user's own tables, by section.

    >>> table_changes(Path("nodes.csv"), None, "topic", None, None, None, None)
    {'data': {'name': 'nodes.csv'}, 'tables': {'label': 'topic'}}
    """
    if nodes is not None and not is_own(str(nodes)):
        raise SimPGCNError(f"{nodes} is no table: its name must end in {', '.join(TABLE_ENDINGS)}")
    tables = {"edges": edges and str(edges), "label": label, "id": id, "features": features, "weights": weights}
    return without_none({"data": {"name": nodes and str(nodes), "directed": directed}, "tables": tables})


def shared_changes(settings: list[str] | None, device: str | None) -> dict[str, Any]:
    """The settings of ``--set`` and the device, by section.

    >>> shared_changes(["training.lr=0.1"], None)
    {'training': {'lr': 0.1}}
    """
    changes: dict[str, Any] = {"training": {"device": device}} if device else {}
    for assignment in settings or []:
        for section, values in parse_assignment(assignment).items():
            changes.setdefault(section, {}).update(values)
    return changes


def without_none(options: dict[str, Any]) -> dict[str, Any]:
    """Options without those that were not given.

    >>> without_none({"a": 1, "b": {"c": None}})
    {'a': 1, 'b': {}}
    """
    kept = {name: without_none(value) if isinstance(value, dict) else value for name, value in options.items()}
    return {name: value for name, value in kept.items() if value is not None}


def print_json(answer: dict[str, Any]) -> None:
    """One JSON object on standard output.

    >>> print_json({})
    {}
    """
    print(json.dumps(answer, indent=2))
