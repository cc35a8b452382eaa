"""A search over all combinations of some ranges, such as the paper's, for the best validation accuracy."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

from simpgcn.config import Config
from simpgcn.experiments.compare import run_configs
from simpgcn.experiments.runner import Outcome
from simpgcn.experiments.tune import search_ranges, with_settings, without_test_set
from simpgcn.training import load_graph

MODEL = "simpgcn"
Choice = dict[str, Any]
Ranges = dict[str, list[Any]]
Grid = list[tuple[Choice, list[Config]]]


@cache
def _choices(dataset: str) -> tuple[Choice, ...]:
    """All combinations of the paper's ranges for a graph."""
    graph = without_test_set(load_graph(run_configs(dataset, MODEL, 1)[0]))
    return _combinations(search_ranges(MODEL, graph))


def _combinations(ranges: Ranges) -> tuple[Choice, ...]:
    return tuple(dict(zip(ranges, values, strict=True)) for values in itertools.product(*ranges.values()))


def search_configs(dataset: str, count: int, changes: dict[str, Any], ranges: Ranges | None = None) -> Grid:
    """Every choice of settings with its ``count`` runs; from the paper's ranges if no others are given.

    >>> len(search_configs("demo", 3, {})), len(search_configs("demo", 3, {})[0][1])
    (54, 3)
    """
    configs = run_configs(dataset, MODEL, count, changes)
    choices = _choices(dataset) if ranges is None else _combinations(ranges)
    return [(choice, [with_settings(config, choice) for config in configs]) for choice in choices]


def best_choice(grid: Grid, done: dict[Config, Outcome]) -> Choice | None:
    """The choice with the best mean validation accuracy, the first of equals; None until all of its runs are done.

    A run writes its test accuracy down as every run does; nothing here reads it.
    """
    best: tuple[float, Choice] | None = None
    for choice, configs in grid:
        outcomes = [done.get(config) for config in configs]
        if any(outcome is None for outcome in outcomes):
            return None
        found = [o.metrics["val_accuracy"] for o in outcomes if o is not None and o.metrics is not None]
        if len(found) == len(configs):
            mean = sum(found) / len(found)
            if best is None or mean > best[0]:
                best = (mean, choice)
    return best[1] if best is not None else None
