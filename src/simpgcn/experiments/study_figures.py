"""Pictures of what goes further than the paper's own; they need the ``plots`` extra."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from simpgcn.experiments.experiment import Experiment, dataset_title
from simpgcn.experiments.measures import Work

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Table = dict[str, Any]
Cell = dict[str, Any]
COLORS = {"MLP": "#999999", "GCN": "#1f77b4", "GCNII": "#2a9d5c", "SimP-GCN": "#d1495b", "softmax": "#7b3fa0"}


def draw_degree(experiment: Experiment, table: Table, work: Work) -> Figure:
    """Accuracy over the number of links, a panel for each graph."""
    ticks = [_tick(row.measure["low"], row.measure.get("high")) for row in _rows_of(experiment, "gcn")]
    return _panels(experiment, table, ticks, "links of the node")


def draw_depth(experiment: Experiment, table: Table, work: Work) -> Figure:
    """Accuracy over the number of layers, a panel for each graph."""
    ticks = [str(row.changes["model"]["num_layers"]) for row in _rows_of(experiment, "gcn")]
    return _panels(experiment, table, ticks, "layers")


def draw_homophily(experiment: Experiment, table: Table, work: Work) -> Figure:
    """Accuracy over the share of links within a class."""
    figure = _figure(7, 3.8)
    axis = figure.subplots()
    shares = [float(dataset.rpartition("-")[2]) for dataset in experiment.datasets]
    cells = _cells(table)
    for row in experiment.rows:
        color = COLORS["softmax" if "softmax" in row.label else row.label]
        _line(axis, shares, [cells[row.name, dataset] for dataset in experiment.datasets], row.label, color)
    axis.set_xlabel("share of links within a class")
    axis.set_ylabel("test accuracy (%)")
    axis.legend(frameon=False, fontsize=9)
    return figure


def draw_gate(experiment: Experiment, table: Table, work: Work) -> Figure:
    """Both forms with their spread, and the gain run by run with the 95% interval of its mean."""
    cells = _cells(table)
    figure = _figure(10, 3.6)
    left, right = figure.subplots(1, 2, width_ratios=[1.3, 1])
    place = np.arange(len(experiment.datasets))
    for shift, name, label, color in (
        (-0.2, "paper", "s, 1 - s and γK, the paper's", COLORS["SimP-GCN"]),
        (0.0, "same", "the same, searched like the softmax", "#e9a6ae"),
        (0.2, "softmax", "one softmax", COLORS["softmax"]),
    ):
        found = [cells[name, dataset] for dataset in experiment.datasets]
        _points(left, place + shift, found, [cell["sd"] or 0.0 for cell in found], label, color)
    gains = [cells["gain", dataset] for dataset in experiment.datasets]
    _points(right, place, gains, [_half_interval(cell["values"]) for cell in gains], "", COLORS["softmax"])
    right.axhline(0, color="#bbbbbb", lw=1, zorder=0)
    left.set_ylabel("test accuracy (%), mean ± sd")
    right.set_ylabel("gain of the softmax, 95% interval")
    left.legend(frameon=False, fontsize=8, loc="center left")
    for axis in (left, right):
        axis.set_xticks(place, [dataset_title(dataset) for dataset in experiment.datasets], fontsize=8)
        _tidy(axis)
    return figure


def draw_cost(experiment: Experiment, table: Table, work: Work) -> Figure:
    """A step of either model and the search over the number of nodes, and their ratio."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    cells = _cells(table)
    nodes = np.array([int(dataset.rpartition("-")[2]) for dataset in experiment.datasets])
    figure = _figure(10, 3.4)
    axes = figure.subplots(1, 3)
    panels = (
        ("a training step (ms)", [("gcn", "GCN"), ("simpgcn", "SimP-GCN")]),
        ("SimP-GCN's step over GCN's", [("times", "SimP-GCN")]),
        ("seconds", [("search", "look-alikes and pairs"), ("extra", "what 200 epochs take more")]),
    )
    for axis, (title, names) in zip(axes, panels, strict=True):
        for number, (name, label) in enumerate(names):
            color = COLORS.get(label, "#555555" if number else COLORS["softmax"])
            _line(axis, nodes, [cells[name, dataset] for dataset in experiment.datasets], label, color)
        axis.set_xscale("log")
        if name == "times":
            axis.set_ylim(bottom=0)
        else:
            axis.set_yscale("log")
            axis.set_ylim(top=3 * axis.get_ylim()[1])  # room for the legend
            axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.yaxis.set_minor_formatter(NullFormatter())
            axis.legend(frameon=False, fontsize=8)
        axis.set_xticks(nodes, [f"{n / 1000:g}k" for n in nodes], minor=False)
        axis.set_xticks([], minor=True)
        axis.set_xlabel("nodes")
        axis.set_title(title, loc="left", fontsize=10)
    return figure


STUDY_PICTURES: dict[str, Callable[[Experiment, Table, Work], Any]] = {
    "degree": draw_degree,
    "depth": draw_depth,
    "homophily": draw_homophily,
    "gate": draw_gate,
    "cost": draw_cost,
}


def _panels(experiment: Experiment, table: Table, ticks: Sequence[str], what: str) -> Figure:
    cells = _cells(table)
    figure = _figure(3.2 * len(experiment.datasets), 3.2)
    axes = np.atleast_1d(figure.subplots(1, len(experiment.datasets)))
    for axis, dataset in zip(axes, experiment.datasets, strict=True):
        for model in dict.fromkeys(row.model for row in experiment.rows if row.model):
            rows = _rows_of(experiment, model)
            label = rows[0].label.partition(",")[0]
            _line(axis, range(len(rows)), [cells[row.name, dataset] for row in rows], label, COLORS[label])
        axis.set_xticks(range(len(ticks)), ticks)
        axis.set_xlabel(what)
        axis.set_title(dataset_title(dataset), loc="left", fontsize=10)
    axes[0].set_ylabel("test accuracy (%)")
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def _rows_of(experiment: Experiment, model: str | None) -> list[Any]:
    return [row for row in experiment.rows if row.model == model]


def _tick(low: int, high: int | None) -> str:
    if high is None:
        return f"≥ {low}"
    return f"≤ {high}" if low == 0 else str(low) if low == high else f"{low}–{high}"


def _line(axis: Axes, x: Any, cells: Sequence[Cell], label: str, color: str) -> None:
    """The means, and a band of a standard deviation on either side."""
    mean = np.array([np.nan if cell["mean"] is None else cell["mean"] for cell in cells])
    sd = np.array([cell["sd"] or 0.0 for cell in cells])
    axis.plot(x, mean, "o-", color=color, label=label, markersize=4)
    axis.fill_between(x, mean - sd, mean + sd, color=color, alpha=0.15, lw=0)
    _tidy(axis)


def _points(axis: Axes, x: Any, cells: Sequence[Cell], half: Sequence[float], label: str, color: str) -> None:
    mean = [np.nan if cell["mean"] is None else cell["mean"] for cell in cells]
    axis.errorbar(x, mean, yerr=half, fmt="o", color=color, capsize=3, markersize=5, label=label)


def _half_interval(values: Sequence[float]) -> float:
    n = len(values)
    return 0.0 if n < 2 else float(stats.t.ppf(0.975, n - 1) * np.std(values, ddof=1) / n**0.5)


def _cells(table: Table) -> dict[tuple[str, str], Cell]:
    return {(cell["row"], cell["dataset"]): cell for cell in table["cells"]}


def _tidy(axis: Axes) -> None:
    axis.grid(color="#e4e4e4")
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")
