"""The paper's tables and figures, run and laid beside the paper's own."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from simpgcn.data import load_dataset
from simpgcn.errors import SimPGCNError, unknown_name
from simpgcn.experiments.claims import judge_claim
from simpgcn.experiments.experiment import RUNS, Experiment, Row, experiment_names, load_experiment
from simpgcn.experiments.figures import draw
from simpgcn.experiments.measures import Work, row_measure
from simpgcn.experiments.results_page import write_page
from simpgcn.experiments.runner import Outcome, is_finished, run_all
from simpgcn.files import replacing
from simpgcn.provenance import git_revision, machine, versions
from simpgcn.training import find_device

QUICK_RUNS = 3


def chosen_experiments(names: Sequence[str]) -> list[Experiment]:
    """The experiments called by name, each once; ``all`` of them, or none named, is every one there is.

    >>> [experiment.title for experiment in chosen_experiments(["table2", "table5"])]
    ['Table 2', 'Table 5']
    """
    if not names or "all" in names:
        names = experiment_names()
    return [load_experiment(name) for name in dict.fromkeys(names)]


def reproduce(
    names: Sequence[str],
    out: Path,
    *,
    count: int = RUNS,
    rows: Sequence[str] = (),
    device: str | None = None,
    workers: int | None = None,
    command: str = "simpgcn.experiments.reproduce",
    on_plan: Callable[[int], None] | None = None,
    on_outcome: Callable[[Outcome], None] | None = None,
) -> list[dict[str, Any]]:
    """Run experiments and write their results, pictures and page into ``out``.

    The runs are kept below ``out/runs``, addressed by their configuration: what several experiments need is trained
    once, and what is finished is not trained again. Without the ``plots`` extra there are no pictures.

    Args:
        names: Of the experiments; see :func:`chosen_experiments`.
        out: Where results go. Those of other experiments that are there stay, and stay on the page.
        count: Runs of each cell whose row does not say otherwise; below ten, of every cell.
        rows: Which rows to measure, by the names in the experiments' files; the others keep the results that are in
            ``out``, and pictures are not drawn again. All if left out.
        device: Where to train.
        workers: Processes at once.
        command: What the page says the results were made with.
        on_plan: Called with the number of runs whenever it is known of more.
        on_outcome: Called after every run.
    """
    start = time.perf_counter()
    experiments = chosen_experiments(names)
    stored = {experiment.name: _stored(experiment, out, rows) for experiment in experiments} if rows else {}
    if rows:
        experiments = [
            replace(e, rows=tuple(row for row in e.rows if row.name in rows), claims=(), picture=None)
            for e in experiments
        ]
    chosen = find_device(device or "auto")
    out.mkdir(parents=True, exist_ok=True)
    work = Work(count, out / "runs", device)
    for dataset in {dataset for experiment in experiments for dataset in experiment.datasets}:
        load_dataset(dataset)  # installed once, before many processes ask for it
    trained = 0
    while wanted := _wanted(experiments, work):  # what a search finds asks for more runs
        trained += sum(not is_finished(work.base, config) for config in wanted)
        if on_plan is not None:
            on_plan(len(wanted))
        outcomes = run_all(wanted, work.base, workers=workers, on_outcome=on_outcome)
        work.done |= {outcome.config: outcome for outcome in outcomes}
    tables = [_table(experiment, work) for experiment in experiments]
    made = {
        "command": command,
        "quick": count < RUNS,
        "seconds": round(time.perf_counter() - start, 1),
        "trained": trained,
        "found": len(work.done) - trained,
        "machine": machine(chosen),
        "versions": versions(),
        "git": git_revision(),
    }
    for experiment, table in zip(experiments, tables, strict=True):
        table["made"] = made
        if rows:
            table.update(_with_stored(table, stored[experiment.name]))
        elif made["found"] and (out / f"{experiment.name}.json").is_file():  # made by earlier commands in part
            earlier = _goes(_read_table(out / f"{experiment.name}.json"))
            table["made_before"] = [go for go in earlier if go["trained"]]
        if experiment.picture is not None:
            try:
                draw(experiment, table, work, out / table["picture"])
            except ImportError:
                table["picture"] = None
        with replacing(out / f"{experiment.name}.json") as draft:
            draft.write_text(json.dumps(table, indent=1) + "\n")
    write_page(out, read_tables(out))
    return tables


def _stored(experiment: Experiment, out: Path, rows: Sequence[str]) -> dict[str, Any]:
    """The results that some rows are to be measured again for."""
    known = [row.name for row in experiment.rows]
    for row in rows:
        if row not in known:
            raise unknown_name(f"row of {experiment.name}", row, known)
    path = out / f"{experiment.name}.json"
    if not path.is_file():
        raise SimPGCNError(f"there are no results in {path} to keep the other rows of: leave --rows out")
    return _read_table(path)


def _with_stored(table: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    """Stored results with the cells that were measured again in their places."""
    new = {(cell["row"], cell["dataset"]): cell for cell in table["cells"]}
    cells = [new.pop((cell["row"], cell["dataset"]), cell) for cell in stored["cells"]]
    cells += [cell for cell in new.values() if cell["dataset"] in stored["datasets"]]
    made = {**table["made"], "quick": table["made"]["quick"] or stored["made"]["quick"]}
    whole = {**stored, "cells": cells, "made": made, "made_before": _goes(stored)}
    return _reworded(whole, load_experiment(stored["name"]))


def _goes(stored: dict[str, Any]) -> list[dict[str, Any]]:
    """What the commands took that these results are from."""
    return [stored["made"], *stored.get("made_before", [])]


def _read_table(path: Path) -> dict[str, Any]:
    try:
        table: dict[str, Any] = json.loads(path.read_text())
        return table
    except ValueError as error:
        raise SimPGCNError(f"{path} is damaged ({error}): remove it and run {path.stem} again") from error


def read_tables(out: Path) -> list[dict[str, Any]]:
    """The results of every experiment that were written into ``out``, in today's words.

    Numbers are as they were measured; the paper's, titles, notes and claims are those of the experiment's file, and
    verdicts are given anew by the stored values.
    """
    tables = []
    for name in experiment_names():
        path = out / f"{name}.json"
        if path.is_file():
            tables.append(_reworded(_read_table(path), load_experiment(name)))
    return tables


def _reworded(table: dict[str, Any], experiment: Experiment) -> dict[str, Any]:
    stored = {(cell["row"], cell["dataset"]): cell for cell in table["cells"]}
    datasets = tuple(table["datasets"])
    places = [(row, dataset) for row in experiment.rows for dataset in datasets]
    known = all((row.name, dataset) in stored for row, dataset in places)
    if not known or not set(datasets) <= set(experiment.datasets):  # of another form of the experiment
        return table
    cells = {}
    for row, dataset in places:
        cell = stored[row.name, dataset]
        cells[row.name, dataset] = {**cell, **_judged(row, dataset, experiment, cell)}
    claims = [
        replace(claim, datasets=tuple(d for d in claim.datasets or datasets if d in datasets))
        for claim in experiment.claims
        if claim.row is None or {claim.higher, *claim.than} <= set(datasets)
    ]
    return {
        **table,
        "title": experiment.title,
        "what": experiment.what,
        "where": experiment.where,
        "cells": list(cells.values()),
        "claims": [judge_claim(claim, cells, datasets) for claim in claims if claim.datasets],
        "departures": list(experiment.departures),
        "missing": [dataset for dataset in experiment.datasets if dataset not in datasets],
    }


def _judged(row: Row, dataset: str, experiment: Experiment, cell: dict[str, Any]) -> dict[str, Any]:
    """What the experiment's file and the verdict add to what was measured."""
    measure, _ = row_measure(row)
    paper = row.paper[experiment.datasets.index(dataset)]
    verdict = measure.judge(cell["values"], paper, cell.get("splits", []))
    return {"label": row.label, "digits": measure.digits, "paper": paper, **verdict._asdict()}


def _wanted(experiments: Sequence[Experiment], work: Work) -> list[Any]:
    wanted = {}
    for experiment in experiments:
        for row in experiment.rows:
            measure, options = row_measure(row)
            for dataset in experiment.datasets:
                wanted.update(dict.fromkeys(measure.configs(row, dataset, work, **options)))
    return [config for config in wanted if config not in work.done]


def _table(experiment: Experiment, work: Work) -> dict[str, Any]:
    cells = {}
    for row in experiment.rows:
        measure, options = row_measure(row)
        for dataset in experiment.datasets:
            configs = measure.configs(row, dataset, work, **options)
            error = next((work.done[c].error for c in configs if c in work.done and work.done[c].error), None)
            try:
                values, splits = measure.values(row, dataset, work, **options)
            except SimPGCNError as problem:  # a damaged run must not lose the other cells
                values, splits, error = [], [], str(problem)
            cell = {
                "row": row.name,
                "dataset": dataset,
                "model": row.model,
                "measure": row.measure["name"],
                "values": values,
                "splits": list(splits),
                "error": error,
            }
            cells[row.name, dataset] = {**cell, **_judged(row, dataset, experiment, cell)}
    return {
        "name": experiment.name,
        "title": experiment.title,
        "what": experiment.what,
        "where": experiment.where,
        "source": experiment.source,
        "panels": experiment.panels,
        "datasets": list(experiment.datasets),
        "cells": list(cells.values()),
        "claims": [judge_claim(claim, cells, experiment.datasets) for claim in experiment.claims],
        "departures": list(experiment.departures),
        "picture": f"{experiment.name}.png" if experiment.picture else None,
    }
