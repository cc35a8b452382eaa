"""Accuracy over the share of edges flipped, as in the paper's Figure 2; pictures need the ``plots`` extra."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simpgcn.experiments.compare import REFERENCE
from simpgcn.experiments.robustness import Point
from simpgcn.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#555555", "#8d6cab", "#edae49", "#30638e", "#00798c", "#a3b18a", "#c97b84")


def curves_figure(panels: Mapping[str, Sequence[Point]], names: dict[str, str] | None = None) -> Figure:
    """A panel for each title, side by side, with a curve for each model of its points.

    Args:
        panels: The points by title.
        names: How the legend calls a model, if not by its name.
    """
    from matplotlib.figure import Figure

    width = 6 if len(panels) == 1 else 3.8 * len(panels)
    figure = Figure(figsize=(width, 4.2), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, (title, points) in zip(axes, panels.items(), strict=True):
        _curves(axis, points, names or {})
        axis.set_title(title)
    axes[0].set_ylabel("test accuracy, %")
    axes[0].legend(frameon=False)
    return figure


def draw_robustness(points: list[Point], dataset: str, attack: str, path: Path) -> None:
    """Draw each model's mean over the rates, with its standard deviation."""
    figure = curves_figure({f"{dataset} under {attack}": points})
    with replacing(path) as draft:
        figure.savefig(draft, dpi=160, format=path.suffix.removeprefix("."))


def _curves(axis: Axes, points: Sequence[Point], names: dict[str, str]) -> None:
    colors = iter(COLORS * len(points))
    for model in dict.fromkeys(point.model for point in points):
        known = [point for point in points if point.model == model and point.test_mean is not None]
        color = "#d1495b" if model == REFERENCE else next(colors)
        axis.errorbar(
            [100 * point.rate for point in known],
            [point.test_mean or 0.0 for point in known],
            [point.test_sd or 0.0 for point in known],
            color=color,
            marker="o",
            markersize=4,
            capsize=2,
            linewidth=2.4 if model == REFERENCE else 1.4,
            label=names.get(model, model),
        )
    axis.set_xlabel("edges flipped, % of the graph's")
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", alpha=0.3)
