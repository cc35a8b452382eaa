"""The doctor's note: ``diagnose``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from simpgcn.cli.options import Cache, Json, print_json, without_none
from simpgcn.config import chosen_config, parse_assignment
from simpgcn.diagnosis import diagnose as diagnose_graph
from simpgcn.progress import TrainingProgress
from simpgcn.screens import show_diagnosis
from simpgcn.training import load_graph


def diagnose(
    dataset: Annotated[
        str | None, typer.Argument(help="A name of the catalogue or a graph file; demo if left out.")
    ] = None,
    split: Annotated[int | None, typer.Option(help="Which of the dataset's splits.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="section.key=value, such as data.directed=true.")
    ] = None,
    cache: Cache = True,
    json_output: Json = False,
) -> dict[str, Any]:
    """Say before any training whether SimP-GCN should help on a graph, and what settings to start with.

    Labels of test nodes are never read.
    """
    changes = [parse_assignment(assignment) for assignment in settings or []]
    config = chosen_config([*changes, without_none({"data": {"name": dataset, "split": split}})])
    arguments = [config.data.name or "demo"]
    arguments += ["--split", str(split)] if split is not None else []
    for assignment in settings or []:
        arguments += ["--set", assignment]
    data = load_graph(config)
    with TrainingProgress(config.training.epochs) as bars:
        note = diagnose_graph(data, cache=cache, on_progress=bars.similarity)
    answer = {"dataset": config.data.name, **note.to_dict(), "command": note.command(arguments)}
    if json_output:
        print_json(answer)
    else:
        show_diagnosis(answer)
    return answer
