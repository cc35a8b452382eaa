"""Many runs: ``compare``, ``tune`` and ``reproduce``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from simpgcn.cli.options import Device, Json, print_json, shared_changes
from simpgcn.config import default_config
from simpgcn.data.catalog import catalog_entry
from simpgcn.experiments.compare import chosen_models, draw_comparison, write_comparison
from simpgcn.experiments.compare import compare as run_comparison
from simpgcn.experiments.experiment import experiment_names
from simpgcn.experiments.reproduce import QUICK_RUNS, RUNS, chosen_experiments
from simpgcn.experiments.reproduce import reproduce as run_reproduction
from simpgcn.experiments.runner import Outcome
from simpgcn.experiments.tune import tune as run_tuning
from simpgcn.experiments.tuning_files import draw_tuning
from simpgcn.files import replacing
from simpgcn.nn.registry import METHODS
from simpgcn.progress import RunsProgress
from simpgcn.screens import (
    comparison_table,
    reproduction_tables,
    show_tuning,
)


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
    changes = shared_changes(settings, device)
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
        print_json(answer)
    else:
        Console().print(table)
        Console().print(f"Mean ± sd in percent, p of the difference; files in {escape(str(folder))}", highlight=False)
    if any(row.error for row in rows):
        raise typer.Exit(1)
    return answer


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
    changes = shared_changes(settings, None)
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
        print_json(answer)
    else:
        show_tuning(result, dataset, model, folder)
    return answer


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
    rows: Annotated[
        str | None, typer.Option(help="Measure these rows alone, such as simpgcn,gcn, and keep the others' results.")
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
    options += [f"--rows {rows}"] if rows else []
    options += [f"--device {device}"] if device else []
    with RunsProgress(0) as bar:

        def show(outcome: Outcome) -> None:
            result = f"{outcome.metrics['test_accuracy']:.1%}" if outcome.metrics else "failed"
            bar.advance(f"{outcome.config.label} {result}")

        tables = run_reproduction(
            wanted,
            out,
            count=chosen,
            rows=rows.split(",") if rows else (),
            device=device,
            workers=workers,
            command=f"simpgcn reproduce {' '.join(options)}",
            on_plan=bar.extend,
            on_outcome=show,
        )
    answer = {"folder": str(out), "experiments": tables}
    if json_output:
        print_json(answer)
    else:
        for table in tables:
            Console().print(*reproduction_tables(table), sep="\n")
        Console().print(f"The page with all of it: {escape(str(out / 'index.html'))}", highlight=False)
    if any(cell["error"] for table in tables for cell in table["cells"]):
        raise typer.Exit(1)
    return answer
