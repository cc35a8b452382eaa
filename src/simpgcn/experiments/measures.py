"""What can be measured for a cell of a table: which runs it needs, what is read from them, and how it is judged."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from simpgcn.config import Config, default_config
from simpgcn.data import dataset_statistics, load_dataset
from simpgcn.errors import SimPGCNError, unknown_name
from simpgcn.experiments.compare import run_configs
from simpgcn.experiments.complexity import CostOf, Extra, cost_values, extra_parameters
from simpgcn.experiments.data_faults import count_fault
from simpgcn.experiments.experiment import RUNS, Row
from simpgcn.experiments.layer_scores import At, Of, run_score
from simpgcn.experiments.node_degrees import degree_accuracy, nodes_to_test
from simpgcn.experiments.overlaps import Metric, run_overlap
from simpgcn.experiments.runner import Outcome, run_folder
from simpgcn.experiments.search import MODEL, Grid, Ranges, best_choice, search_configs
from simpgcn.experiments.smoothing import lemma_error, roughness
from simpgcn.experiments.tune import nested
from simpgcn.experiments.verdict import Verdict, judge_accuracy, judge_nothing, judge_setting, judge_value
from simpgcn.training import load_graph

# A number of runs, or one for each dataset; None for as many as is usual.
Runs = int | dict[str, int] | None


@dataclass
class Work:
    """How much is run, where, and what became of it so far."""

    count: int
    base: Path
    device: str | None = None
    done: dict[Config, Outcome] = field(default_factory=dict)

    def runs(self, wish: Runs, dataset: str) -> int:
        """How many runs a cell has whose row wishes for so many; fewer than usual are fewer everywhere.

        >>> Work(10, Path()).runs(30, "cora"), Work(10, Path()).runs(None, "cora"), Work(3, Path()).runs(30, "cora")
        (30, 10, 3)
        >>> Work(10, Path()).runs({"cora": 300}, "cora"), Work(10, Path()).runs({"cora": 300}, "pubmed")
        (300, 10)
        """
        own = wish.get(dataset) if isinstance(wish, dict) else wish
        return min(own or self.count, self.count) if self.count < RUNS else own or self.count

    def changes(self, row: Row, dataset: str) -> dict[str, Any]:
        """The row's settings on a dataset, with the device asked for."""
        found = row.settings(dataset)
        if self.device is not None:
            found["training"] = {**found.get("training", {}), "device": self.device}
        return found


Part = Literal["test", "validation"]


class Values(NamedTuple):
    """What was measured, and, where it is a value a run, the splits of these runs."""

    values: list[float]
    splits: Sequence[int] = ()


class Measure(NamedTuple):
    """A kind of cell.

    Attributes:
        configs: The runs it needs, of those that can be known so far; its arguments are a row, a dataset, the work,
            and the row's options.
        values: What it finds, one value for each run, or a single one; the same arguments.
        judge: The verdict on the values against the paper's number, with the splits of the runs.
        digits: Decimals to show; None for as many as a number has.
    """

    configs: Callable[..., list[Config]]
    values: Callable[..., Values]
    judge: Callable[[Sequence[float], float | None, Sequence[int]], Verdict]
    digits: int | None = 2


def _no_configs(row: Row, dataset: str, work: Work, **options: Any) -> list[Config]:
    return []


def _model_configs(row: Row, dataset: str, work: Work, runs: Runs = None, **options: Any) -> list[Config]:
    if row.model is None:
        raise SimPGCNError(f"the row {row.name} names no model to train")
    return run_configs(dataset, row.model, work.runs(runs, dataset), work.changes(row, dataset))


def _finished(configs: list[Config], work: Work) -> list[Config]:
    return [config for config in configs if config in work.done and work.done[config].metrics is not None]


def _by_run(configs: list[Config], work: Work, read: Callable[[Config], float | None]) -> Values:
    """What is read from each finished run; runs that have none of it are left out."""
    found = [(config.data.split, read(config)) for config in _finished(configs, work)]
    known = [(split, value) for split, value in found if value is not None]
    return Values([value for _, value in known], [split for split, _ in known])


def _accuracies(configs: list[Config], work: Work, part: Part) -> Values:
    return _by_run(configs, work, lambda config: _percent(config, work, part))


def _percent(config: Config, work: Work, part: Part = "test") -> float:
    key = {"test": "test_accuracy", "validation": "val_accuracy"}[part]
    return float(100 * (work.done[config].metrics or {})[key])


def _accuracy(row: Row, dataset: str, work: Work, part: Part = "test", runs: Runs = None) -> Values:
    return _accuracies(_model_configs(row, dataset, work, runs), work, part)


def _lead_configs(row: Row, dataset: str, work: Work, over: str) -> list[Config]:
    return _model_configs(row, dataset, work) + _model_configs(replace(row, model=over), dataset, work)


def _lead(row: Row, dataset: str, work: Work, over: str) -> Values:
    """Run by run, the same seed in both, the row's model against another."""
    own, other = (_model_configs(replace(row, model=model), dataset, work) for model in (row.model, over))
    return _differences(own, other, work)


def _differences(own: list[Config], other: list[Config], work: Work) -> Values:
    """Between runs of the same seed and split, where both are finished."""
    place = {(config.training.seed, config.data.split): config for config in _finished(other, work)}

    def gain(config: Config) -> float | None:
        rival = place.get((config.training.seed, config.data.split))
        return None if rival is None else _percent(config, work) - _percent(rival, work)

    return _by_run(own, work, gain)


def _degree_accuracy(row: Row, dataset: str, work: Work, low: int, high: int | None = None) -> Values:
    configs = _model_configs(row, dataset, work)
    return _by_run(configs, work, lambda c: degree_accuracy(run_folder(work.base, c), c, low, high))


def _degree_nodes(row: Row, dataset: str, work: Work, low: int, high: int | None = None) -> Values:
    return Values([float(len(nodes_to_test(default_config(dataset, MODEL).data, low, high)))])


def _lemma(row: Row, dataset: str, work: Work) -> Values:
    return Values([lemma_error(load_dataset(dataset))])


def _roughness(row: Row, dataset: str, work: Work, times: int) -> Values:
    return Values([roughness(load_dataset(dataset), times)])


def _extra(row: Row, dataset: str, work: Work) -> Extra:
    config = run_configs(dataset, MODEL, 1, work.changes(row, dataset))[0]
    data = load_graph(config)
    return extra_parameters(data.x.size(1), int(data.y.max()) + 1, config.model)


def _extra_parameters(row: Row, dataset: str, work: Work) -> Values:
    return Values([float(_extra(row, dataset, work).counted)])


def _extra_share(row: Row, dataset: str, work: Work) -> Values:
    extra = _extra(row, dataset, work)
    return Values([100 * extra.counted / extra.gcn])


def _uncounted(row: Row, dataset: str, work: Work) -> Values:
    extra = _extra(row, dataset, work)
    return Values([float(abs(extra.counted - extra.paper))])


def _time(row: Row, dataset: str, work: Work, of: CostOf, since: str | None = None) -> Values:
    return Values(cost_values(dataset, of, since))


def _statistic(row: Row, dataset: str, work: Work, of: str) -> Values:
    found = dataset_statistics(dataset)._asdict()
    if of not in found:
        raise unknown_name("statistic", of, found)
    return Values([float(found[of])])


def _fault(row: Row, dataset: str, work: Work, of: str) -> Values:
    return Values([float(count_fault(dataset, of))])


def _overlap(row: Row, dataset: str, work: Work, between: list[str], k: int, metric: Metric) -> Values:
    configs = _model_configs(row, dataset, work)
    if "hidden" not in between:  # of the data, the same for every run
        configs = _finished(configs, work)[:1]
    return _by_run(configs, work, lambda c: run_overlap(run_folder(work.base, c), c, between, k, metric))


def _score(row: Row, dataset: str, work: Work, of: Of, layer: int, at: At) -> Values:
    configs = _model_configs(row, dataset, work)
    return _by_run(configs, work, lambda c: run_score(run_folder(work.base, c), of, layer, at))


def _grid(row: Row, dataset: str, work: Work, runs: int, ranges: dict[str, Ranges] | None) -> Grid:
    """The search of a row: in the paper's ranges, or in its own, by dataset; without any there is one choice."""
    own = None if ranges is None else ranges.get(dataset, {})
    return search_configs(dataset, work.runs(runs, dataset), work.changes(row, dataset), own)


def _searched_configs(
    row: Row, dataset: str, work: Work, runs: int, ranges: dict[str, Ranges] | None = None, **options: Any
) -> list[Config]:
    return [config for _, configs in _grid(row, dataset, work, runs, ranges) for config in configs]


def _searched(
    row: Row, dataset: str, work: Work, runs: int, setting: str, ranges: dict[str, Ranges] | None = None
) -> Values:
    choice = best_choice(_grid(row, dataset, work, runs, ranges), work.done) or {}
    return Values([float(choice[setting])] if setting in choice else [])


def _picked_configs(
    row: Row, dataset: str, work: Work, runs: int, ranges: dict[str, Ranges] | None = None, **options: Any
) -> list[Config]:
    grid = _grid(row, dataset, work, runs, ranges)
    choice = best_choice(grid, work.done)
    if choice is None:
        return [config for _, configs in grid for config in configs]
    count = max(work.runs(runs, dataset), work.count)
    configs = run_configs(dataset, MODEL, count, work.changes(row, dataset))
    return [config.replace(nested(choice)) for config in configs]


def _picked(
    row: Row,
    dataset: str,
    work: Work,
    runs: int,
    part: Part = "test",
    ranges: dict[str, Ranges] | None = None,
) -> Values:
    return _accuracies(_picked_configs(row, dataset, work, runs, ranges), work, part)


def _shipped_configs(dataset: str, work: Work) -> list[Config]:
    return run_configs(dataset, MODEL, work.count, {"training": {"device": work.device}} if work.device else {})


def _gain_configs(row: Row, dataset: str, work: Work, **options: Any) -> list[Config]:
    return _picked_configs(row, dataset, work, **options) + _shipped_configs(dataset, work)


def _gain(row: Row, dataset: str, work: Work, runs: int, ranges: dict[str, Ranges] | None = None) -> Values:
    """Run by run, the same seed and split in both, what was picked against the shipped settings."""
    picked, shipped = _picked_configs(row, dataset, work, runs, ranges), _shipped_configs(dataset, work)
    return _differences(picked, shipped, work)


MEASURES = {
    "accuracy": Measure(_model_configs, _accuracy, judge_accuracy),
    "accuracy against one run": Measure(_model_configs, _accuracy, partial(judge_accuracy, paper_runs=1)),
    "lead": Measure(_lead_configs, _lead, judge_value),
    "statistic": Measure(_no_configs, _statistic, partial(judge_value, share=0.01), digits=0),
    "fault": Measure(_no_configs, _fault, judge_value, digits=0),
    "overlap": Measure(_model_configs, _overlap, judge_value),
    "score": Measure(_model_configs, _score, judge_value),
    "searched setting": Measure(_searched_configs, _searched, judge_setting, digits=None),
    "searched accuracy": Measure(_picked_configs, _picked, judge_accuracy),
    "gain": Measure(_gain_configs, _gain, judge_value),
    "degree accuracy": Measure(_model_configs, _degree_accuracy, judge_accuracy),
    "degree nodes": Measure(_no_configs, _degree_nodes, judge_value, digits=0),
    "lemma": Measure(_no_configs, _lemma, judge_nothing, digits=None),
    "roughness": Measure(_no_configs, _roughness, judge_value, digits=3),
    "extra parameters": Measure(_no_configs, _extra_parameters, judge_value, digits=0),
    "extra parameters in percent": Measure(_no_configs, _extra_share, judge_value),
    "uncounted parameters": Measure(_no_configs, _uncounted, judge_nothing, digits=0),
    "time": Measure(_no_configs, _time, judge_value),
}


def row_measure(row: Row) -> tuple[Measure, dict[str, Any]]:
    """The measure of a row and its options; an error if it has no such option or lacks one.

    >>> from simpgcn.experiments.experiment import load_experiment
    >>> row_measure(load_experiment("table3").rows[0])[1]
    {}
    """
    options = dict(row.measure)
    name = options.pop("name", None)
    if name not in MEASURES:
        raise unknown_name("measure", str(name), MEASURES)
    try:
        inspect.signature(MEASURES[name].values).bind(row, "", None, **options)
    except TypeError as error:
        raise SimPGCNError(f"the row {row.name} does not fit the measure {name}: {error}") from None
    return MEASURES[name], options
