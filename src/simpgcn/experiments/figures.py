"""Pictures of results in the paper's form; they need the ``plots`` extra."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simpgcn.errors import unknown_name
from simpgcn.experiments.attack_curves import curves_figure
from simpgcn.experiments.experiment import Experiment, dataset_title
from simpgcn.experiments.layer_scores import node_scores
from simpgcn.experiments.measures import Work, row_measure
from simpgcn.experiments.panels import panels
from simpgcn.experiments.robustness import Point
from simpgcn.experiments.runner import run_folder
from simpgcn.experiments.study_figures import STUDY_PICTURES
from simpgcn.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE = "#1f77b4", "#ff7f0e"
COLOURS = 128
ASSORTATIVE = ("cora", "citeseer", "pubmed")


def draw(experiment: Experiment, table: dict[str, Any], work: Work, path: Path) -> None:
    """Draw an experiment's picture into ``path``."""
    if experiment.picture not in PICTURES:
        raise unknown_name("picture", str(experiment.picture), PICTURES)
    figure = PICTURES[experiment.picture](experiment, table, work)
    with replacing(path) as draft:
        figure.savefig(draft, dpi=130)
        _with_palette(draft)


def _with_palette(path: Path) -> None:
    """Write a PNG file again with a palette, in about a third of the bytes: the page holds every picture."""
    from PIL import Image

    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(COLOURS)
    small.save(path, format="PNG", optimize=True)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _overlaps(experiment: Experiment, table: dict[str, Any], work: Work) -> Figure:
    """Bars as in the paper's Figure 3: blue between feature and hidden graphs, orange between hidden and original."""
    cells = {(cell["row"], cell["dataset"]): cell for cell in table["cells"]}
    groups = [
        ("Assortative graphs", [d for d in experiment.datasets if d in ASSORTATIVE]),
        ("Disassortative graphs", [d for d in experiment.datasets if d not in ASSORTATIVE]),
    ]
    figure = _figure(10, 3.4)
    axes = figure.subplots(1, 2, width_ratios=[max(1, len(datasets)) for _, datasets in groups])
    for axis, (title, datasets) in zip(axes, groups, strict=True):
        names = [f"{dataset_title(dataset)}\n{model}" for dataset in datasets for model in ("GCN", "Ours")]
        place = np.arange(len(names)) + 0.35 * (np.arange(len(names)) // 2)
        for shift, color, what, label in (
            (-0.2, BLUE, "features", "OL($A_f$, $A_h$)"),
            (0.2, ORANGE, "original", "OL($A_h$, $A$)"),
        ):
            found = [cells[f"{model}-{what}", dataset] for dataset in datasets for model in ("gcn", "simpgcn")]
            axis.bar(
                place + shift,
                [cell["mean"] or 0.0 for cell in found],
                0.38,
                yerr=[cell["sd"] or 0.0 for cell in found],
                error_kw={"lw": 0.8, "capsize": 2},
                color=color,
                label=label,
            )
        axis.set_xticks(place, names, fontsize=6)
        axis.set_title(title, fontsize=10)
        axis.set_ylabel("overlap (%)")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def _scores(experiment: Experiment, table: dict[str, Any], work: Work) -> Figure:
    """Boxes over the nodes of the first run, as in the paper's Figure 4; whiskers reach to the extremes."""
    figure = _figure(10, 3.2)
    axes = figure.subplots(1, len(experiment.datasets), squeeze=False)[0]
    row = experiment.rows[0]
    measure, options = row_measure(row)
    names = ["$s^{(1)}$", "$s^{(2)}$", "$\\gamma D_n^{(1)}$", "$\\gamma D_n^{(2)}$"]
    for axis, dataset in zip(axes, experiment.datasets, strict=True):
        config = measure.configs(row, dataset, work, **options)[0]
        axis.set_title(dataset_title(dataset), fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
        if work.done[config].metrics is None:
            continue
        folder = run_folder(work.base, config)
        values = [node_scores(folder, of, layer) for of in ("structure", "self") for layer in (1, 2)]
        boxes = axis.boxplot(values, whis=(0, 100), widths=0.6, patch_artist=True, medianprops={"color": "black"})
        for box, color in zip(boxes["boxes"], (BLUE, BLUE, ORANGE, ORANGE), strict=True):
            box.set_facecolor(color)
        axis.set_xticks(range(1, 5), names)
        axis.axhline(0, color="#bbbbbb", lw=0.8, zorder=0)
    axes[0].set_ylabel("value at a node")
    return figure


def _attacks(experiment: Experiment, table: dict[str, Any], work: Work) -> Figure:
    """Curves over the rates as in the paper's Figure 2, a panel for each graph."""
    cells = {(cell["row"], cell["dataset"]): cell for cell in table["cells"]}
    rows = [row for row in experiment.rows if row.measure["name"] != "lead"]
    found = {}
    for title, headings in panels(table):
        places = [(row, dataset, cells[row.name, dataset]) for row in rows for dataset in headings]
        found[title] = [
            Point(
                model=row.name,
                rate=float(headings[dataset].removesuffix("%")) / 100,
                graph=dataset,
                runs=cell["runs"],
                test_mean=cell["mean"],
                test_sd=cell["sd"],
                val_mean=None,
                error=cell["error"],
            )
            for row, dataset, cell in places
        ]
    return curves_figure(found, {row.name: row.label for row in rows})


PICTURES: dict[str, Callable[[Experiment, dict[str, Any], Work], Any]] = {
    "overlaps": _overlaps,
    "scores": _scores,
    "attacks": _attacks,
    **STUDY_PICTURES,
}
