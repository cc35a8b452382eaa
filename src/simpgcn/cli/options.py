"""Options that commands share, and what they do with them."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from simpgcn.config import parse_assignment

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, and only that.")]
Cache = Annotated[bool, typer.Option("--cache/--no-cache", help="Keep neighbour searches on disk.")]
Device = Annotated[str | None, typer.Option(help="auto, cpu, cuda or cuda:N.")]


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
