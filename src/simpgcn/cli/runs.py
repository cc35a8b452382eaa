"""One run: ``train`` and ``predict``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from simpgcn import runs
from simpgcn.cli.options import (
    Cache,
    Device,
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
from simpgcn.config import chosen_config, parse_assignment, read_config_file
from simpgcn.data.own_graph import is_own
from simpgcn.errors import SimPGCNError
from simpgcn.estimator import check_width
from simpgcn.nn.registry import METHODS
from simpgcn.progress import TrainingProgress
from simpgcn.screens import (
    show_run,
    show_understood,
)
from simpgcn.train_run import resume_run, train_run
from simpgcn.training import find_device, load_graph, model_inputs
from simpgcn.training import predict as predict_nodes


def train(
    dataset: Annotated[str | None, typer.Argument(help="A name of the catalogue; demo if left out.")] = None,
    model: Annotated[str | None, typer.Option(help=f"One of {', '.join(METHODS)}.", show_default="simpgcn")] = None,
    seed: Annotated[int | None, typer.Option(help="Initial values, dropout, pretext samples.")] = None,
    split: Annotated[int | None, typer.Option(help="Which of the dataset's splits.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="section.key=value, such as training.lr=0.02.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A YAML file of settings, or a run's config.yaml.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder; a free name below runs/ if left out.")] = None,
    device: Device = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with this interrupted run; takes no other settings.")
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
    """Train a model on a graph of the catalogue or on your own tables, and write a run folder."""
    tables = (nodes, edges, label, id, features, weights, directed)
    understood = None
    if resume is not None:
        others = (dataset, model, seed, split, settings, config, out, device, *tables)
        if any(option is not None for option in others):
            raise SimPGCNError("--resume goes on with the run's own settings: give it alone")
        epochs = runs.read_config(resume).training.epochs
        with TrainingProgress(epochs) as bars:
            run = resume_run(resume, cache=cache, on_similarity=bars.similarity, on_epoch=bars.epoch)
    else:
        changes = [read_config_file(config)] if config is not None else []
        changes += [parse_assignment(assignment) for assignment in settings or []]
        if dataset is not None and nodes is not None:
            raise SimPGCNError(f"train on {dataset} or on --nodes {nodes}: give one of them")
        options = {
            "data": {"name": dataset, "split": split},
            "model_name": model,
            "training": {"seed": seed, "device": device},
        }
        chosen = chosen_config([*changes, without_none(options), table_changes(*tables)])
        graph = None
        if is_own(chosen.data.name or ""):
            graph = load_graph(chosen)
            understood = graph.understood
            if not json_output:
                show_understood(understood)
        with TrainingProgress(chosen.training.epochs) as bars:
            run = train_run(chosen, out, graph=graph, cache=cache, on_similarity=bars.similarity, on_epoch=bars.epoch)
    if json_output:
        found = {} if understood is None else {"understood": understood}
        print_json({**run.metrics, "run": str(run.folder), **found})
    else:
        show_run(run)
    if run.interrupted:
        print(f"Stopped. Go on with: simpgcn train --resume {run.folder}", file=sys.stderr)
        raise typer.Exit(130)
    return run.metrics


def predict(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    out: Annotated[Path, typer.Option(help="Where to write: .csv or .parquet.")] = Path("predictions.csv"),
    device: Device = None,
    cache: Cache = True,
    json_output: Json = False,
) -> dict[str, Any]:
    """Write a trained model's prediction for every node: class, probabilities, trust."""
    config = runs.read_config(run)
    chosen = find_device(device or config.training.device)
    data = runs.run_graph(run)
    saved = runs.read_model(run, config)
    check_width(data, saved.num_features)
    inputs, _ = model_inputs(data, config, chosen, cap_k=True, cache=cache)
    table = runs.prediction_table(predict_nodes(saved.model.to(chosen), inputs), data.y)
    runs.write_table(table, out)
    answer = {"run": str(run), "predictions": str(out), "nodes": table.num_rows}
    if json_output:
        print_json(answer)
    else:
        Console().print(f"{table.num_rows} predictions written to {escape(str(out))}", highlight=False)
    return answer
