"""How time and memory grow with the graph: made-up graphs of constant degree and features per node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from simpgcn.bench.graphs import Size, made_up
from simpgcn.bench.measure import alone, per_epoch, seconds
from simpgcn.config import Config
from simpgcn.files import replacing
from simpgcn.provenance import peak_memory_mb
from simpgcn.training import Trainer, prepare

CPU_NODES = (4_000, 8_000, 16_000, 32_000, 64_000)
CUDA_NODES = (16_000, 32_000, 64_000, 128_000, 256_000)
QUICK_NODES = (500, 1_000, 2_000)
EPOCHS = 10
CUDA_EPOCHS = 200


class Point(NamedTuple):
    """What a graph of some size took. Memory is what came on top of the process before it had a graph."""

    nodes: int
    similarity_seconds: float
    epoch_seconds: float
    memory_mb: float


def scaling(nodes: Sequence[int], device: torch.device, on_point: Callable[[int], None] | None = None) -> list[Point]:
    """A point for each number of nodes, each measured in a process of its own; ``on_point`` hears of it after."""
    points = []
    for n in nodes:
        points.append(alone(measure_point, n, device))
        if on_point is not None:
            on_point(n)
    return points


def measure_point(nodes: int, device: torch.device) -> Point:
    """One point, in this process."""
    config = Config().replace({"training": {"device": str(device)}})
    # One training of a small graph, so that what is loaded and kept on first use is not taken for the graph's.
    _train(config, 200)
    before = peak_memory_mb(device)
    if device.type == "cuda":
        _train(config, nodes)  # kernels are compiled for the sizes they meet
    similarity, epoch = _train(config, nodes)
    return Point(nodes, similarity, epoch, peak_memory_mb(device) - before)


def slope(points: Sequence[Point], what: str) -> float | None:
    """The exponent of growth: the slope of a straight line through the points on logarithmic axes.

    None where a value is too small to be measured.

    >>> slope([Point(n, n**2.0, 1.0, 3.0 * n) for n in (10, 20, 40)], "similarity_seconds")
    2.0
    """
    values = [getattr(point, what) for point in points]
    if min(values) <= 0:
        return None
    fit = np.polyfit(np.log([point.nodes for point in points]), np.log(values), 1)
    return round(float(fit[0]), 3)


def slopes(points: Sequence[Point]) -> dict[str, float | None]:
    """The slope of everything that was measured.

    >>> slopes([Point(n, n**2.0, n, 3.0 * n) for n in (10, 20)])
    {'similarity_seconds': 2.0, 'epoch_seconds': 1.0, 'memory_mb': 1.0}
    """
    return {what: slope(points, what) for what in Point._fields[1:]}


def draw_scaling(points: Sequence[Point], path: Path) -> None:
    """Draw the three curves on logarithmic axes; needs the ``plots`` extra."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    nodes = np.array([point.nodes for point in points])
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    titles = ("look-alikes and pairs (s)", "an epoch with evaluation (s)", "peak memory (MB)")
    for axis, what, title in zip(figure.subplots(1, 3), Point._fields[1:], titles, strict=True):
        values = np.array([getattr(point, what) for point in points])
        power = slope(points, what)
        fitted = "measured" if power is None else f"measured, about $n^{{{power:.2f}}}$"
        axis.loglog(nodes, values, "o-", color="#d1495b", label=fitted)
        axis.loglog(nodes, values[-1] * nodes / nodes[-1], "--", color="#999999", label="$n$, for comparison")
        axis.set_title(title, loc="left", fontsize=11)
        axis.set_xlabel("nodes")
        axis.set_xticks(nodes, [f"{n / 1000:g}k" for n in nodes])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.yaxis.set_minor_formatter(NullFormatter())
        axis.grid(color="#dddddd")
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(frameon=False, fontsize=9, loc="lower right")
    with replacing(path) as draft:
        figure.savefig(draft, dpi=130)


def _train(config: Config, nodes: int) -> tuple[float, float]:
    problem = prepare(made_up(Size(nodes, 5, 500, 25, 10)), config, cache=False)
    device = problem.labels.nodes.device

    def train(epochs: int) -> float:
        trainer = Trainer(problem, config.replace({"training": {"epochs": epochs, "patience": epochs}}))
        return seconds(trainer.run, device)

    return problem.similarity_seconds, per_epoch(train, CUDA_EPOCHS if device.type == "cuda" else EPOCHS)
