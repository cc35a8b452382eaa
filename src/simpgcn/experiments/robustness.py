"""How accuracy falls as more of a graph is poisoned: models over rates, the paper's Figure 2."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from simpgcn.data import load_dataset
from simpgcn.data.prognn import ATTACKED, RATES
from simpgcn.errors import SimPGCNError
from simpgcn.experiments.compare import changes_by_model, run_configs
from simpgcn.experiments.runner import Outcome, run_all
from simpgcn.files import replacing
from simpgcn.robustness.attack_run import run_attack


class Point(NamedTuple):
    """A model at a rate of flipped edges: accuracies in percent, or why it failed."""

    model: str
    rate: float
    graph: str
    runs: int
    test_mean: float | None
    test_sd: float | None
    val_mean: float | None
    error: str | None


def parse_rates(text: str) -> list[float]:
    """The rates of a comma-separated list, in order and without repetition.

    >>> parse_rates("0.1, 0, 0.05")
    [0.0, 0.05, 0.1]
    """
    try:
        rates = sorted({float(part) for part in text.split(",") if part.strip()})
    except ValueError:
        raise SimPGCNError(f"--rates takes numbers such as 0,0.05,0.1, not {text!r}") from None
    if not rates or not all(0 <= rate <= 1 for rate in rates):
        raise SimPGCNError(f"--rates must be one or more numbers from 0 to 1, not {text!r}")
    return rates


def published_graphs(dataset: str, rates: Sequence[float]) -> dict[float, str]:
    """The names of a dataset's published metattacked graphs by their rate; 0 is the clean one.

    >>> published_graphs("cora", [0.0, 0.1])
    {0.0: 'cora-prognn', 0.1: 'cora+metattack@0.1'}
    """
    if dataset not in ATTACKED:
        raise SimPGCNError(
            f"no attacked {dataset} was published: choose from {', '.join(ATTACKED)}, or attack it here with --attack "
            "metattack"
        )
    known = {0.0: f"{dataset}-prognn"} | {float(rate): f"{dataset}+metattack@{rate}" for rate in RATES}
    for rate in rates:
        if rate not in known:
            raise SimPGCNError(f"no attacked {dataset} was published at rate {rate}: choose from 0, {', '.join(RATES)}")
    return {rate: known[rate] for rate in rates}


def attack_graphs(
    dataset: str,
    attack: str,
    rates: Sequence[float],
    folder: Path,
    *,
    seed: int = 0,
    device: str = "auto",
    on_start: Callable[[int, int], None] | None = None,
    on_flip: Callable[[int], None] | None = None,
    on_search: Callable[[float], None] | None = None,
) -> dict[float, str]:
    """A dataset attacked here at each rate, as graph files in ``folder``; those that are there are kept.

    Each rate goes on from the one below it where the attack finds its flips one by one.
    """
    graphs: dict[float, str] = {}
    before: Path | None = None
    for rate in rates:
        path = folder / f"{Path(dataset).stem}-{attack}-{rate:g}.npz"
        run_attack(
            dataset,
            attack,
            rate,
            path,
            seed=seed,
            device=device,
            start=before,
            on_start=on_start,
            on_flip=on_flip,
            on_search=on_search,
        )
        graphs[rate], before = str(path), path
    return graphs


def robustness(
    graphs: Mapping[float, str],
    models: Sequence[str],
    count: int,
    base: Path,
    *,
    workers: int | None = None,
    changes: dict[str, Any] | None = None,
    on_outcome: Callable[[Outcome], None] | None = None,
) -> list[Point]:
    """Run every model ``count`` times on every graph, with the same settings at every rate.

    Args:
        graphs: Names of graphs by their rate of flipped edges.
        models: Names of models.
        count: Runs of each.
        base: Where the runs are kept; finished ones are not repeated.
        workers: Processes at once.
        changes: Settings to use instead of the shipped ones.
        on_outcome: Called after every run.
    """
    for name in graphs.values():
        load_dataset(name)  # installed, checked, before hours of work
    shared = changes_by_model(models, changes or {})
    groups = {
        (model, rate): run_configs(name, model, count, shared[model])
        for model in models
        for rate, name in graphs.items()
    }
    every = [config for configs in groups.values() for config in configs]
    done = {outcome.config: outcome for outcome in run_all(every, base, workers=workers, on_outcome=on_outcome)}
    return [
        _point(model, rate, graphs[rate], [done[config] for config in configs])
        for (model, rate), configs in groups.items()
    ]


def _point(model: str, rate: float, graph: str, outcomes: list[Outcome]) -> Point:
    metrics = [outcome.metrics for outcome in outcomes if outcome.metrics is not None]
    error = next((outcome.error for outcome in outcomes if outcome.error), None)
    if not metrics:
        return Point(model, rate, graph, 0, None, None, None, error)
    test, val = (100 * np.array([one[which] for one in metrics]) for which in ("test_accuracy", "val_accuracy"))
    sd = float(test.std(ddof=1)) if len(test) > 1 else None
    return Point(model, rate, graph, len(test), float(test.mean()), sd, float(val.mean()), error)


def write_robustness(points: list[Point], dataset: str, attack: str, folder: Path) -> None:
    """Write ``robustness.json`` and ``robustness.csv``."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"dataset": dataset, "attack": attack, "points": [point._asdict() for point in points]}
    with replacing(folder / "robustness.json") as draft:
        draft.write_text(json.dumps(content, indent=2) + "\n")
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(Point._fields)
    writer.writerows(points)
    with replacing(folder / "robustness.csv") as draft:
        draft.write_text(text.getvalue())
