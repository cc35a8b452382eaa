"""Poisoned graphs: ``attack`` and ``robustness``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from simpgcn.cli.options import Device, Json, print_json, shared_changes
from simpgcn.data.prognn import ATTACKED, RATES
from simpgcn.experiments.attack_curves import draw_robustness
from simpgcn.experiments.compare import chosen_models
from simpgcn.experiments.robustness import (
    attack_graphs,
    parse_rates,
    published_graphs,
    write_robustness,
)
from simpgcn.experiments.robustness import robustness as run_robustness
from simpgcn.experiments.runner import Outcome
from simpgcn.files import replacing
from simpgcn.nn.registry import ROBUSTNESS_METHODS
from simpgcn.progress import FlipsProgress, RunsProgress
from simpgcn.robustness.attack_run import run_attack
from simpgcn.robustness.attacks import ATTACKS
from simpgcn.screens import (
    robustness_table,
)


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
                on_search=bar.search,
            )
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from the flips found so far.", file=sys.stderr)
        raise typer.Exit(130) from None
    answer = {"dataset": dataset, "attack": method, "rate": rate, **done._asdict(), "path": str(done.path)}
    if json_output:
        print_json(answer)
    else:
        fewer = "" if done.flips == done.budget else f" of the {done.budget} allowed"
        Console().print(
            f"{done.flips} flips{fewer} in {done.seconds:.1f} s, written to {escape(str(out))}\n"
            f"Use it with: simpgcn train {escape(str(out))}",
            highlight=False,
        )
    return answer


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
                on_search=flips.search,
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
            changes=shared_changes(settings, device),
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
        print_json(answer)
    else:
        Console().print(table)
        Console().print(f"Mean ± sd in percent; files in {escape(str(folder))}", highlight=False)
    if any(point.error for point in points):
        raise typer.Exit(1)
    return answer
