"""The command line: each command a plain function."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from simpgcn import runs
from simpgcn.bench.graphs import chosen_graphs
from simpgcn.bench.scaling import Point, draw_scaling
from simpgcn.bench.suite import count_steps, run_bench
from simpgcn.config import chosen_config, default_config, parse_assignment, read_config_file
from simpgcn.data import CATALOG, data_home, dataset_statistics
from simpgcn.data.catalog import Benchmark, catalog_entry
from simpgcn.data.prognn import ATTACKED, RATES
from simpgcn.data.raw_files import missing_from_mirror
from simpgcn.data.statistics import PAPER
from simpgcn.errors import SimPGCNError
from simpgcn.estimator import check_width
from simpgcn.experiments.compare import chosen_models, draw_comparison, write_comparison
from simpgcn.experiments.compare import compare as run_comparison
from simpgcn.experiments.experiment import experiment_names
from simpgcn.experiments.reproduce import QUICK_RUNS, RUNS, chosen_experiments
from simpgcn.experiments.reproduce import reproduce as run_reproduction
from simpgcn.experiments.robustness import (
    attack_graphs,
    draw_robustness,
    parse_rates,
    published_graphs,
    write_robustness,
)
from simpgcn.experiments.robustness import robustness as run_robustness
from simpgcn.experiments.runner import Outcome
from simpgcn.experiments.tune import draw_tuning
from simpgcn.experiments.tune import tune as run_tuning
from simpgcn.files import replacing
from simpgcn.nn.registry import METHODS, ROBUSTNESS_METHODS
from simpgcn.progress import FlipsProgress, RunsProgress, TrainingProgress
from simpgcn.robustness.attack_run import run_attack
from simpgcn.robustness.attacks import ATTACKS
from simpgcn.screens import (
    bench_table,
    comparison_table,
    growth,
    reproduction_table,
    robustness_table,
    show_dataset,
    show_run,
    show_tuning,
)
from simpgcn.train_run import resume_run, train_run
from simpgcn.training import find_device, load_graph, model_inputs
from simpgcn.training import predict as predict_nodes
from simpgcn.version import VERSION

app = typer.Typer(
    help="Node-similarity-preserving graph convolutional networks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, and only that.")]
Cache = Annotated[bool, typer.Option("--cache/--no-cache", help="Keep neighbour searches on disk.")]
Device = Annotated[str | None, typer.Option(help="auto, cpu, cuda or cuda:N.")]


@app.command()
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
    cache: Cache = True,
    json_output: Json = False,
) -> dict[str, Any]:
    """Train a model on a graph and write a run folder."""
    if resume is not None:
        others = (dataset, model, seed, split, settings, config, out, device)
        if any(option is not None for option in others):
            raise SimPGCNError("--resume goes on with the run's own settings: give it alone")
        epochs = runs.read_config(resume).training.epochs
        with TrainingProgress(epochs) as bars:
            run = resume_run(resume, cache=cache, on_similarity=bars.similarity, on_epoch=bars.epoch)
    else:
        changes = [read_config_file(config)] if config is not None else []
        changes += [parse_assignment(assignment) for assignment in settings or []]
        options = {
            "data": {"name": dataset, "split": split},
            "model_name": model,
            "training": {"seed": seed, "device": device},
        }
        chosen = chosen_config([*changes, _without_none(options)])
        with TrainingProgress(chosen.training.epochs) as bars:
            run = train_run(chosen, out, cache=cache, on_similarity=bars.similarity, on_epoch=bars.epoch)
    if json_output:
        _print_json({**run.metrics, "run": str(run.folder)})
    else:
        show_run(run)
    if run.interrupted:
        print(f"Stopped. Go on with: simpgcn train --resume {run.folder}", file=sys.stderr)
        raise typer.Exit(130)
    return run.metrics


@app.command()
def compare(
    dataset: Annotated[str, typer.Argument(help="A name of the catalogue.")],
    models: Annotated[str, typer.Option(help="A list such as gcn,simpgcn; all; or paper, the paper's.")] = "all",
    count: Annotated[int, typer.Option("--runs", min=1, help="Runs of each: run i has seed i and split i.")] = 10,
    workers: Annotated[int | None, typer.Option(help="Runs at once; as many as cores if left out.", min=1)] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="section.key=value, for every model.")] = None,
    device: Device = None,
    out: Annotated[Path | None, typer.Option(help="Where results go; comparisons/DATASET if left out.")] = None,
    json_output: Json = False,
) -> dict[str, Any]:
    """Compare models on the same splits, and test their difference to SimP-GCN.

    A comparison that was stopped goes on where it was when the same command is given again.
    """
    catalog_entry(dataset)
    names = chosen_models(models)
    changes = _shared_changes(settings, device)
    folder = out or Path("comparisons") / dataset
    with RunsProgress(len(names) * count) as bar:

        def show(outcome: Outcome) -> None:
            result = f"{outcome.metrics['test_accuracy']:.1%}" if outcome.metrics else "failed"
            bar.advance(f"{outcome.config.model_name} {result}")

        rows = run_comparison(dataset, names, count, folder / "runs", workers=workers, changes=changes, on_outcome=show)
    write_comparison(rows, dataset, folder)
    try:
        draw_comparison(rows, dataset, folder / "comparison.png")
    except ImportError:
        print("No picture: install simpgcn[plots] for it.", file=sys.stderr)
    answer = {"dataset": dataset, "folder": str(folder), "models": [row._asdict() for row in rows]}
    table = comparison_table(rows, dataset)
    with replacing(folder / "comparison.txt") as draft, draft.open("w") as file:
        Console(file=file, width=120).print(table)
    if json_output:
        _print_json(answer)
    else:
        Console().print(table)
        Console().print(f"Mean ± sd in percent, p of the difference; files in {escape(str(folder))}", highlight=False)
    if any(row.error for row in rows):
        raise typer.Exit(1)
    return answer


@app.command()
def tune(
    dataset: Annotated[str, typer.Argument(help="A name of the catalogue.")],
    model: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = "simpgcn",
    trials: Annotated[int, typer.Option(min=1, help="Settings to try in all, earlier ones included.")] = 30,
    count: Annotated[int, typer.Option("--runs", min=1, help="Runs of each trial.")] = 3,
    settings: Annotated[list[str] | None, typer.Option("--set", help="section.key=value, held fixed.")] = None,
    seed: Annotated[int, typer.Option(help="Of the search itself.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Where the study is kept; tuning/DATASET-MODEL if left out.")] = None,
    json_output: Json = False,
) -> dict[str, Any]:
    """Search a model's settings by validation accuracy alone.

    A search that was stopped goes on where it was when the same command is given again.
    """
    catalog_entry(dataset)
    changes = _shared_changes(settings, None)
    folder = out or Path("tuning") / default_config(dataset, model).label
    with RunsProgress(trials) as bar:
        result = run_tuning(
            dataset,
            model,
            trials=trials,
            folder=folder,
            count=count,
            seed=seed,
            changes=changes,
            on_trial=lambda number, best: bar.advance(f"best validation {best:.2%}"),
        )
    try:
        draw_tuning(result, folder)
    except ImportError:
        print("No picture: install simpgcn[plots] for it.", file=sys.stderr)
    answer = {"dataset": dataset, "model": model, "folder": str(folder), **result._asdict()}
    if json_output:
        _print_json(answer)
    else:
        show_tuning(result, dataset, model, folder)
    return answer


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help=f"all, or some of {', '.join(experiment_names())}.", show_default="all")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where results, their page and their runs go.")] = Path("results"),
    quick: Annotated[bool, typer.Option("--quick", help=f"{QUICK_RUNS} runs a cell, for a first look.")] = False,
    count: Annotated[
        int | None,
        typer.Option("--runs", min=1, help="Runs a cell: run i has seed i and split i.", show_default=str(RUNS)),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes at once.", min=1)] = None,
    device: Device = None,
    json_output: Json = False,
) -> dict[str, Any]:
    """Run the paper's tables and figures, and say for each cell whether it agrees.

    A reproduction that was stopped goes on where it was when the same command is given again.
    """
    wanted = [experiment.name for experiment in chosen_experiments(names or [])]
    chosen = count or (QUICK_RUNS if quick else RUNS)
    options = [*(names or ["all"]), *(["--quick"] if quick else []), *([f"--runs {count}"] if count else [])]
    with RunsProgress(0) as bar:

        def show(outcome: Outcome) -> None:
            result = f"{outcome.metrics['test_accuracy']:.1%}" if outcome.metrics else "failed"
            bar.advance(f"{outcome.config.label} {result}")

        tables = run_reproduction(
            wanted,
            out,
            count=chosen,
            device=device,
            workers=workers,
            command=f"simpgcn reproduce {' '.join(options)}",
            on_plan=bar.extend,
            on_outcome=show,
        )
    answer = {"folder": str(out), "experiments": tables}
    if json_output:
        _print_json(answer)
    else:
        for table in tables:
            Console().print(reproduction_table(table))
        Console().print(f"The page with all of it: {escape(str(out / 'index.html'))}", highlight=False)
    if any(cell["error"] for table in tables for cell in table["cells"]):
        raise typer.Exit(1)
    return answer


@app.command()
def attack(
    dataset: Annotated[str, typer.Argument(help="A name of the catalogue, or an attacked graph.")],
    rate: Annotated[float, typer.Option(help="Flips as a share of the edges.")] = 0.05,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(ATTACKS)}.")] = "metattack",
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("attacked.npz"),
    split: Annotated[int, typer.Option(help="Which of the dataset's splits; says whose labels are known.")] = 0,
    seed: Annotated[int, typer.Option(help="Of the attack.", min=0)] = 0,
    device: Device = None,
    json_output: Json = False,
) -> dict[str, Any]:
    """Poison a graph and write it as a file that every command takes in the place of a dataset's name.

    An attack that was stopped goes on where it was when the same command is given again.
    """
    try:
        with FlipsProgress(dataset) as bar:
            done = run_attack(
                dataset,
                method,
                rate,
                out,
                split=split,
                seed=seed,
                device=device or "auto",
                on_start=bar.start,
                on_flip=bar.flip,
            )
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from the flips found so far.", file=sys.stderr)
        raise typer.Exit(130) from None
    answer = {"dataset": dataset, "attack": method, "rate": rate, **done._asdict(), "path": str(done.path)}
    if json_output:
        _print_json(answer)
    else:
        fewer = "" if done.flips == done.budget else f" of the {done.budget} allowed"
        Console().print(
            f"{done.flips} flips{fewer} in {done.seconds:.1f} s, written to {escape(str(out))}\n"
            f"Use it with: simpgcn train {escape(str(out))}",
            highlight=False,
        )
    return answer


@app.command()
def robustness(
    dataset: Annotated[str, typer.Argument(help=f"One of {', '.join(ATTACKED)}; any with --attack.")],
    models: Annotated[str, typer.Option(help="A list such as gcn,simpgcn, or all.")] = ",".join(ROBUSTNESS_METHODS),
    rates: Annotated[str, typer.Option(help="Shares of edges flipped.")] = ",".join(("0", *RATES)),
    attack: Annotated[
        str | None,
        typer.Option(help=f"Attack here, by one of {', '.join(ATTACKS)}; the published graphs if left out."),
    ] = None,
    count: Annotated[int, typer.Option("--runs", min=1, help="Runs of each: run i has seed i.")] = 10,
    workers: Annotated[int | None, typer.Option(help="Runs at once; as many as cores if left out.", min=1)] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="section.key=value, for every model.")] = None,
    device: Device = None,
    out: Annotated[Path | None, typer.Option(help="Where results go; robustness/DATASET if left out.")] = None,
    json_output: Json = False,
) -> dict[str, Any]:
    """Run models on ever more poisoned graphs and draw the paper's Figure 2.

    A study that was stopped goes on where it was when the same command is given again.
    """
    names = chosen_models(models)
    folder = out or Path("robustness") / (Path(dataset).stem + (f"-{attack}" if attack else ""))
    if attack is None:
        graphs = published_graphs(dataset, parse_rates(rates))
        attack = "metattack as published"
    else:
        with FlipsProgress(dataset) as flips:
            graphs = attack_graphs(
                dataset,
                attack,
                parse_rates(rates),
                folder / "graphs",
                device=device or "auto",
                on_start=flips.start,
                on_flip=flips.flip,
            )
    with RunsProgress(len(names) * len(graphs) * count) as bar:

        def show(outcome: Outcome) -> None:
            result = f"{outcome.metrics['test_accuracy']:.1%}" if outcome.metrics else "failed"
            bar.advance(f"{outcome.config.label} {result}")

        points = run_robustness(
            graphs,
            names,
            count,
            folder / "runs",
            workers=workers,
            changes=_shared_changes(settings, device),
            on_outcome=show,
        )
    write_robustness(points, dataset, attack, folder)
    try:
        draw_robustness(points, dataset, attack, folder / "robustness.png")
    except ImportError:
        print("No picture: install simpgcn[plots] for it.", file=sys.stderr)
    table = robustness_table(points, dataset, attack)
    with replacing(folder / "robustness.txt") as draft, draft.open("w") as file:
        Console(file=file, width=120).print(table)
    answer = {
        "dataset": dataset,
        "attack": attack,
        "folder": str(folder),
        "points": [point._asdict() for point in points],
    }
    if json_output:
        _print_json(answer)
    else:
        Console().print(table)
        Console().print(f"Mean ± sd in percent; files in {escape(str(folder))}", highlight=False)
    if any(point.error for point in points):
        raise typer.Exit(1)
    return answer


@app.command()
def bench(
    graphs: Annotated[
        list[str] | None,
        typer.Argument(help="Datasets; made-up graphs of Cora's, CiteSeer's and PubMed's size if left out."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A tiny graph, in seconds: to see that it works.")] = False,
    device: Device = None,
    out: Annotated[Path, typer.Option(help="Where results go.")] = Path("bench"),
    json_output: Json = False,
) -> dict[str, Any]:
    """Measure speed here: against plain PyG and scikit-learn, the memory's bandwidth, and as graphs grow."""
    chosen = find_device(device or "auto")
    names = chosen_graphs(graphs or [], quick=quick)
    with RunsProgress(count_steps(names, chosen, quick=quick)) as bar:
        answer = {"folder": str(out), **run_bench(names, chosen, quick=quick, on_step=bar.advance)}
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / "bench.json") as draft:
        draft.write_text(json.dumps(answer, indent=2) + "\n")
    table = bench_table(answer)
    with replacing(out / "bench.txt") as draft, draft.open("w") as file:
        Console(file=file, width=120).print(table, growth(answer), sep="\n", highlight=False)
    try:
        draw_scaling([Point(**point) for point in answer["scaling"]["points"]], out / "scaling.png")
    except ImportError:
        print("No picture: install simpgcn[plots] for it.", file=sys.stderr)
    if json_output:
        _print_json(answer)
    else:
        Console().print(table, growth(answer), f"Files in {escape(str(out))}", sep="\n", highlight=False)
    return answer


@app.command()
def predict(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    out: Annotated[Path, typer.Option(help="Where to write: .csv or .parquet.")] = Path("predictions.csv"),
    device: Device = None,
    cache: Cache = True,
    json_output: Json = False,
) -> dict[str, Any]:
    """Write a trained model's prediction for every node: class, probabilities, trust."""
    config = runs.read_config(run)
    if config.data.name is None:
        raise SimPGCNError(f"{run} was trained from Python on data of its own: use SimPGCNClassifier.load there")
    saved = runs.read_model(run, config)
    chosen = find_device(device or config.training.device)
    data = load_graph(config)
    check_width(data, saved.num_features)
    inputs, _ = model_inputs(data, config, chosen, cap_k=True, cache=cache)
    table = runs.prediction_table(predict_nodes(saved.model.to(chosen), inputs), data.y)
    runs.write_table(table, out)
    answer = {"run": str(run), "predictions": str(out), "nodes": table.num_rows}
    if json_output:
        _print_json(answer)
    else:
        Console().print(f"{table.num_rows} predictions written to {escape(str(out))}", highlight=False)
    return answer


@app.command()
def datasets(
    name: Annotated[str | None, typer.Argument(help="Show one dataset's statistics.")] = None,
    json_output: Json = False,
) -> dict[str, Any]:
    """List the datasets, or show the statistics of one."""
    answer = _one_dataset(name) if name else {key: _at_a_glance(key) for key in CATALOG}
    if json_output:
        _print_json(answer)
    elif name:
        show_dataset(answer)
    else:
        table = Table("dataset", "nodes and edges", "usual split", "data")
        for key, row in answer.items():
            table.add_row(key, row["title"], row["split_kind"], row["data"])
        Console().print(table)
        Console().print(
            f"simpgcn datasets NAME shows the statistics of one.\nPublished attacked graphs: {', '.join(ATTACKED)} "
            f"with +metattack@RATE, {', '.join(RATES)}.",
            highlight=False,
        )
    return answer


def _at_a_glance(name: str) -> dict[str, Any]:
    entry = CATALOG[name]
    where = "built in"
    if isinstance(entry, Benchmark):
        if (data_home() / entry.folder).is_dir():
            where = "installed"
        else:
            where = "to download" if missing_from_mirror(entry.folder) else "in the mirror"
    elif entry.split_kind == "pro-gnn":
        where = "from the mirror"
    return {"title": entry.title, "split_kind": entry.split_kind, "data": where}


def _one_dataset(name: str) -> dict[str, Any]:
    entry = catalog_entry(name)
    found = dataset_statistics(name)
    paper = dict(zip(("nodes", "edges", "features", "classes"), PAPER[name], strict=True)) if name in PAPER else None
    return {
        "dataset": name,
        "title": entry.title,
        "split_kind": entry.split_kind,
        **found._asdict(),
        "paper": paper,
        "notes": list(entry.notes),
    }


def _shared_changes(settings: list[str] | None, device: str | None) -> dict[str, Any]:
    changes: dict[str, Any] = {"training": {"device": device}} if device else {}
    for assignment in settings or []:
        for section, values in parse_assignment(assignment).items():
            changes.setdefault(section, {}).update(values)
    return changes


def _without_none(options: dict[str, Any]) -> dict[str, Any]:
    kept = {name: _without_none(value) if isinstance(value, dict) else value for name, value in options.items()}
    return {name: value for name, value in kept.items() if value is not None}


def _print_json(answer: dict[str, Any]) -> None:
    print(json.dumps(answer, indent=2))


def _version(wanted: bool) -> None:
    if wanted:
        print(VERSION)
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; what a user can put right ends in one sentence and exit code 2."""
    try:
        app()
    except SimPGCNError as error:
        print(f"simpgcn: {error}", file=sys.stderr)
        sys.exit(2)
    except (MemoryError, torch.OutOfMemoryError):
        print("simpgcn: there is not enough memory: try a smaller model or graph", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        print(f"simpgcn: {error.strerror or error}{where}", file=sys.stderr)
        sys.exit(2)
