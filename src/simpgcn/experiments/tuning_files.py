"""The files of a search for settings: the best of them, all trials, and a picture."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from simpgcn.files import replacing

if TYPE_CHECKING:
    import optuna

    from simpgcn.experiments.tune import Tuned


def write_tuning(
    result: Tuned, study: optuna.Study, best: dict[str, Any], parts: list[dict[str, Any]], folder: Path
) -> None:
    """Write ``best.yaml``, which is ``best`` with the settings of ``parts``, ``tuning.json`` and ``trials.csv``."""
    named = {"dataset": best["data"]["name"], "model": best["model_name"]}
    for part in parts:
        for section, values in part.items():
            best[section] = {**best.get(section, {}), **values}
    with replacing(folder / "best.yaml") as draft:
        note = f"# Mean validation accuracy {result.val_accuracy:.4f}; use with simpgcn train --config\n"
        draft.write_text(note + yaml.safe_dump(best, sort_keys=False))
    with replacing(folder / "tuning.json") as draft:
        draft.write_text(json.dumps({**named, **result._asdict()}, indent=2) + "\n")
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    keys = list(result.settings)
    writer.writerow(["trial", "state", "val_accuracy", *keys])
    for trial in study.get_trials(deepcopy=False):
        writer.writerow([trial.number, trial.state.name.lower(), trial.value, *(trial.params.get(k) for k in keys)])
    with replacing(folder / "trials.csv") as draft:
        draft.write_text(text.getvalue())


def draw_tuning(result: Tuned, folder: Path) -> None:
    """Draw the trials in their order and what mattered; needs the ``plots`` extra."""
    from matplotlib.figure import Figure

    with (folder / "trials.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["state"] == "complete"]
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    values = [100 * float(row["val_accuracy"]) for row in rows]
    left.plot([int(row["trial"]) for row in rows], values, "o", color="#555555", markersize=4)
    best = [max(values[: i + 1]) for i in range(len(values))]
    left.step([int(row["trial"]) for row in rows], best, where="post", color="#d1495b")
    left.set(xlabel="trial", ylabel="mean validation accuracy (%)", title="Trials, and the best so far")
    names = list(reversed(result.importance))
    right.barh(names, [100 * result.importance[name] for name in names], color="#d1495b")
    right.set(xlabel="share of the variation explained (%)", title="What mattered")
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    with replacing(folder / "tuning.png") as draft:
        figure.savefig(draft, dpi=130)
