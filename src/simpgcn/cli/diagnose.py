"""The doctor's note: ``diagnose``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from simpgcn.cli.options import (
    Cache,
    Directed,
    Edges,
    Features,
    Id,
    Json,
    Label,
    Nodes,
    Weights,
    print_json,
    table_changes,
    without_none,
)
from simpgcn.config import Config, chosen_config, default_config, parse_assignment
from simpgcn.diagnosis import diagnose as diagnose_graph
from simpgcn.errors import SimPGCNError
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
    nodes: Nodes = None,
    edges: Edges = None,
    label: Label = None,
    id: Id = None,
    features: Features = None,
    weights: Weights = None,
    directed: Directed = None,
    cache: Cache = True,
    json_output: Json = False,
) -> dict[str, Any]:
    """Say before any training whether SimP-GCN should help on a graph, and what settings to start with.

    Labels of test nodes are never read.
    """
    if dataset is not None and nodes is not None:
        raise SimPGCNError(f"diagnose {dataset} or --nodes {nodes}: give one of them")
    changes = [parse_assignment(assignment) for assignment in settings or []]
    options = without_none({"data": {"name": dataset, "split": split}})
    tables = table_changes(nodes, edges, label, id, features, weights, directed)
    config = chosen_config([*changes, options, tables])
    data = load_graph(config)
    with TrainingProgress(config.training.epochs) as bars:
        note = diagnose_graph(data, cache=cache, on_progress=bars.similarity)
    # The same graph for train, in the words it was given in.
    arguments = [] if nodes is not None else [str(config.data.name)]
    given = {"nodes": nodes, "edges": edges, "label": label, "id": id, "features": features, "weights": weights}
    for name, value in {**given, "split": split}.items():
        arguments += [f"--{name}", str(value)] if value is not None else []
    arguments += ["--directed"] if directed else []
    for assignment in settings or []:
        arguments += ["--set", assignment]
    answer = {
        "dataset": config.data.name,
        **note.to_dict(),
        "command": note.command(arguments),
        "has_shipped_settings": default_config(str(config.data.name)).model != Config().model,
    }
    if json_output:
        print_json(answer)
    else:
        show_diagnosis(answer)
    return answer
