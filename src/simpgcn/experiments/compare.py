"""Models on the same data, splits and stopping rule, and whether they differ from SimP-GCN."""

from __future__ import annotations

import csv
import io
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from simpgcn.config import Config, default_config
from simpgcn.data import load_dataset
from simpgcn.data.catalog import catalog_entry
from simpgcn.errors import SimPGCNError
from simpgcn.experiments.runner import Outcome, run_all
from simpgcn.files import replacing
from simpgcn.nn.registry import METHODS, PAPER_METHODS, find_method

REFERENCE = "simpgcn"


class Row(NamedTuple):
    """A model's line: accuracies in percent, the difference to SimP-GCN and its p-value, or why it failed."""

    model: str
    runs: int
    test_mean: float | None
    test_sd: float | None
    val_mean: float | None
    difference: float | None
    p_value: float | None
    seconds: float | None
    parameters: int
    error: str | None


def chosen_models(wish: str) -> list[str]:
    """The models of a comma-separated list; ``all`` of them, or those of the ``paper``.

    >>> chosen_models("gcn, simpgcn")
    ['gcn', 'simpgcn']
    """
    if wish in ("all", "paper"):
        return list(METHODS if wish == "all" else PAPER_METHODS)
    names = [name.strip() for name in wish.split(",") if name.strip()]
    if not names:
        raise SimPGCNError("no model was named: give a list such as gcn,simpgcn, or all, or paper")
    for name in names:
        find_method(name)
    return list(dict.fromkeys(names))


def run_configs(dataset: str, model: str, count: int, changes: dict[str, Any] | None = None) -> list[Config]:
    """The configurations of ``count`` runs: run i has seed i, and split i where there are several."""
    for section, key in (("data", "name"), ("data", "split"), ("training", "seed")):
        if key in (changes or {}).get(section, {}):
            raise SimPGCNError(f"{section}.{key} cannot be set here: it is what tells the runs apart")
    config = default_config(dataset, model).replace(changes or {})
    kind = config.data.split_kind or catalog_entry(dataset).split_kind
    several = {"published": 10, "random": count, "per-class": count}.get(kind, 1)
    return [config.replace({"data": {"split": i % several}, "training": {"seed": i}}) for i in range(count)]


def compare(
    dataset: str,
    models: Sequence[str],
    count: int,
    base: Path,
    *,
    workers: int | None = None,
    changes: dict[str, Any] | None = None,
    on_outcome: Callable[[Outcome], None] | None = None,
) -> list[Row]:
    """Run every model ``count`` times and lay the results side by side, in the order of ``models``.

    Args:
        dataset: A name of the catalogue.
        models: Names of models.
        count: Runs of each.
        base: Where the runs are kept; finished ones are not repeated.
        workers: Processes at once.
        changes: Settings to use instead of the shipped ones, for every model.
        on_outcome: Called after every run.
    """
    load_dataset(dataset)  # installed once, before many processes ask for it
    shared = changes_by_model(models, changes or {})
    configs = [config for model in models for config in run_configs(dataset, model, count, shared[model])]
    outcomes = run_all(configs, base, workers=workers, on_outcome=on_outcome)
    by_model = {model: [o for o in outcomes if o.config.model_name == model] for model in models}
    reference = by_model.get(REFERENCE, [])
    return [_row(model, found, reference) for model, found in by_model.items()]


def changes_by_model(models: Sequence[str], changes: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The changes for each model: a setting of models goes to those that have it."""
    known = {model: {field.name for field in fields(find_method(model).settings)} for model in models}
    wished = changes.get("model", {})
    for key in wished:
        if not any(key in names for names in known.values()):
            raise SimPGCNError(f"none of the models has a setting model.{key}")
    return {
        model: {**changes, "model": {key: value for key, value in wished.items() if key in names}}
        for model, names in known.items()
    }


def _row(model: str, found: list[Outcome], reference: list[Outcome]) -> Row:
    done = [outcome for outcome in found if outcome.metrics is not None]
    error = next((outcome.error for outcome in found if outcome.error), None)
    if not done:
        return Row(model, 0, None, None, None, None, None, None, 0, error)
    test = _accuracies(done, "test_accuracy")
    difference, p_value = _difference(done, reference) if model != REFERENCE else (None, None)
    return Row(
        model,
        len(done),
        float(test.mean()),
        float(test.std(ddof=1)) if len(test) > 1 else None,
        float(_accuracies(done, "val_accuracy").mean()),
        difference,
        p_value,
        float(np.median([outcome.metrics["seconds"]["training"] for outcome in done if outcome.metrics])),
        done[0].parameters,
        error,
    )


def _accuracies(outcomes: list[Outcome], which: str) -> np.ndarray:
    return np.array([100 * outcome.metrics[which] for outcome in outcomes if outcome.metrics])


def _difference(found: list[Outcome], reference: list[Outcome]) -> tuple[float | None, float | None]:
    """The mean difference to the reference and its p-value, paired where the runs have splits of their own."""
    own = {o.config.training.seed: o for o in found}
    other = {o.config.training.seed: o for o in reference if o.metrics is not None}
    shared = sorted(own.keys() & other.keys())
    if not shared:
        return None, None
    a, b = (_accuracies([group[seed] for seed in shared], "test_accuracy") for group in (own, other))
    difference = float((a - b).mean())
    if len(shared) < 2 or np.ptp(a - b) == 0:
        return difference, None
    paired = len({own[seed].config.data.split for seed in shared}) > 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a method without randomness has no variance
        test = stats.ttest_rel(a, b) if paired else stats.ttest_ind(a, b, equal_var=False)
    return difference, float(test.pvalue)


def write_comparison(rows: list[Row], dataset: str, folder: Path) -> None:
    """Write ``comparison.json`` and ``comparison.csv``."""
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / "comparison.json") as draft:
        draft.write_text(json.dumps({"dataset": dataset, "models": [row._asdict() for row in rows]}, indent=2) + "\n")
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(Row._fields)
    writer.writerows(rows)
    with replacing(folder / "comparison.csv") as draft:
        draft.write_text(text.getvalue())


def draw_comparison(rows: list[Row], dataset: str, path: Path) -> None:
    """Draw means and standard deviations, best on top; needs the ``plots`` extra."""
    from matplotlib.figure import Figure

    known = sorted((row for row in rows if row.test_mean is not None), key=lambda row: row.test_mean or 0.0)
    figure = Figure(figsize=(7, 1 + 0.32 * len(known)), layout="constrained")
    axis = figure.subplots()
    for place, row in enumerate(known):
        color = "#d1495b" if row.model == REFERENCE else "#555555"
        axis.errorbar(row.test_mean or 0.0, place, xerr=row.test_sd or 0.0, fmt="o", color=color, capsize=3)
    axis.set_yticks(range(len(known)), [row.model for row in known])
    axis.set_xlabel("test accuracy (%), mean and standard deviation")
    axis.set_title(dataset, loc="left")
    axis.grid(axis="x", color="#dddddd")
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    with replacing(path) as draft:
        figure.savefig(draft, dpi=130)
