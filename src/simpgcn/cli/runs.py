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
from simpgcn.data.tables import load_new_nodes
from simpgcn.errors import SimPGCNError
from simpgcn.estimator import check_width
from simpgcn.nn.registry import METHODS
from simpgcn.progress import TrainingProgress
from simpgcn.report import has_chart_library, write_report
from simpgcn.screens import (
    show_new_nodes,
    show_run,
    show_understood,
)
from simpgcn.train_run import resume_run, train_run
from simpgcn.training import find_device, load_graph, model_inputs, predict_new_nodes, pretext_pairs
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
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write report.html into the run folder (simpgcn\\[report]).")
    ] = True,
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
    page = run.folder / "report.html" if report and has_chart_library() and not run.interrupted else None
    if page is not None:
        write_report([run.folder], page, cache=cache)
    if json_output:
        found = {"understood": understood, "report": None if page is None else str(page)}
        print_json({**run.metrics, "run": str(run.folder), **without_none(found)})
    else:
        show_run(run, page)
    if run.interrupted:
        print(f"Stopped. Go on with: simpgcn train --resume {run.folder}", file=sys.stderr)
        raise typer.Exit(130)
    return run.metrics


def predict(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    nodes: Annotated[
        Path | None, typer.Option(help="A table of nodes that were not there in training: predict for these.")
    ] = None,
    edges: Annotated[Path | None, typer.Option(help="A table of the new nodes' edges, to known or new ones.")] = None,
    id: Id = None,
    weights: Weights = None,
    out: Annotated[Path, typer.Option(help="Where to write: .csv or .parquet.")] = Path("predictions.csv"),
    device: Device = None,
    cache: Cache = True,
    json_output: Json = False,
) -> dict[str, Any]:
    """Write a trained model's prediction for every node: class, probabilities, trust."""
    if nodes is None and any(option is not None for option in (edges, id, weights)):
        raise SimPGCNError("--edges, --id and --weights are for new nodes: give their table with --nodes")
    config = runs.read_config(run)
    chosen = find_device(device or config.training.device)
    data = runs.run_graph(run)
    saved = runs.read_model(run, config)
    check_width(data, saved.num_features)
    model = saved.model.to(chosen)
    answer: dict[str, Any] = {"run": str(run), "predictions": str(out)}
    kept = cache and runs.search_cache(run)
    if nodes is None:
        pairs = pretext_pairs(config)  # as in training, whose search may be kept
        inputs, _ = model_inputs(data, config, chosen, pairs=pairs, cap_k=True, cache=kept)
        table = runs.prediction_table(predict_nodes(model, inputs, saved.temperature), data)
    else:
        if data.get("preparation") is None:
            raise SimPGCNError(
                f"{run} was trained on {config.data.name}, not on tables, so rows of {nodes} cannot be prepared as its "
                "nodes were: use SimPGCNClassifier.predict_new in Python"
            )
        new = load_new_nodes(nodes, edges, data, id=id, weights=weights)
        found = predict_new_nodes(model, data, new, config, chosen, temperature=saved.temperature, cache=kept)
        table = runs.prediction_table(found, new)
        answer["understood"] = new.understood
        if not json_output:
            show_new_nodes(new.understood)
    runs.write_table(table, out)
    answer["nodes"] = table.num_rows
    if json_output:
        print_json(answer)
    else:
        Console().print(f"{table.num_rows} predictions written to {escape(str(out))}", highlight=False)
    return answer
