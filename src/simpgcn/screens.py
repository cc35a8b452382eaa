"""What the commands show a person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from simpgcn.experiments.compare import Row
from simpgcn.experiments.panels import panels
from simpgcn.experiments.results_page import cell_text
from simpgcn.experiments.robustness import Point
from simpgcn.experiments.tune import Tuned
from simpgcn.train_run import FinishedRun


def show_dataset(answer: dict[str, Any]) -> None:
    """Print a dataset's statistics beside the paper's."""
    table = Table("", "here", "in the paper", title=f"{answer['dataset']}: {answer['title']}", title_justify="left")
    for row in ("nodes", "edges", "features", "classes"):
        table.add_row(row, f"{answer[row]:,}", f"{answer['paper'][row]:,}" if answer["paper"] else "")
    table.add_row("edges within a class", f"{answer['homophily']:.1%}", "")
    table.add_row("usual split", answer["split_kind"], "")
    Console().print(table)
    for note in answer["notes"]:
        Console().print(f"Note: {note}.", highlight=False)


def show_understood(found: dict[str, Any]) -> None:
    """Print what was understood of a user's tables."""
    table = Table(show_header=False, title="What was understood", title_justify="left")
    nodes, edges, labels = found["nodes"], found["edges"], found["labels"]
    id_column = f", id in {escape(repr(found['id']))}" if found["id"] else ""
    table.add_row("nodes", f"{nodes['used']:,} of {nodes['rows']:,} rows" + id_column)
    for kind in ("number", "category", "text", "date"):
        named = [f"{column['name']} ({column['features']})" for column in found["columns"] if column["kind"] == kind]
        if named:
            table.add_row(kind, escape(", ".join(named)))
    filled = [
        f"{column['name']} {column['missing']:,}"
        for column in found["columns"]
        if column["missing"] and column["features"]
    ]
    if filled:
        table.add_row("missing values filled", escape(", ".join(filled)))
    left_out = [f"{column['name']}: {column['why']}" for column in found["columns"] if column["kind"] == "ignored"]
    if left_out:
        table.add_row("left out", escape("\n".join(left_out)))
    table.add_row("features", f"{found['features']['count']:,}")
    dropped = ", ".join(f"{reason} {count:,}" for reason, count in edges["dropped"].items())
    table.add_row(
        "edges", f"{edges['kept']:,} of {edges['listed']:,} rows" + (f"; dropped: {dropped}" if dropped else "")
    )
    table.add_row("nodes without edges", f"{found['isolated_nodes']:,}")
    if found["homophily"] is not None:
        within = f"{found['homophily']:.1%} (by chance {found['homophily_by_chance']:.1%})"
        table.add_row("edges within a class", within)
    shares = ", ".join(f"{name} {count:,}" for name, count in labels["classes"].items())
    table.add_row(f"label {escape(repr(found['label']))}" if found["label"] else "labels", escape(shares))
    table.add_row("to predict", f"{labels['unlabelled']:,} nodes without a label")
    Console().print(table)
    for kind, sentences in (("Put right", found["repairs"]), ("Note", found["warnings"])):
        for sentence in sentences:
            Console().print(f"{kind}: {escape(sentence)}.", highlight=False)


def show_run(run: FinishedRun) -> None:
    """Print what came out of a training."""
    metrics = run.metrics
    table = Table(show_header=False, title=f"{metrics['model']} on {metrics['dataset']}", title_justify="left")
    table.add_row("test accuracy", f"[bold]{metrics['test_accuracy']:.1%}[/bold]")
    table.add_row("validation accuracy", f"{metrics['val_accuracy']:.1%}")
    table.add_row("kept epoch", f"{metrics['best_epoch']} of {metrics['epochs']}")
    spent = metrics["seconds"]
    table.add_row("time", f"{spent['total']:.1f} s, of which training {spent['training']:.1f} s")
    trust = run.prediction.trust
    if trust is not None:
        for layer in range(trust.shape[1]):
            graph, alike, own = trust[:, layer].mean(axis=0)
            table.add_row(
                f"layer {layer + 1} leans on",
                f"graph {graph:.2f}, look-alikes {alike:.2f}, node itself {own:+.2f}",
            )
    table.add_row("run folder", escape(str(run.folder)))
    Console().print(table)


def comparison_table(rows: list[Row], dataset: str) -> Table:
    """The rows of a comparison, best in bold."""
    best = max((row.test_mean for row in rows if row.test_mean is not None), default=None)
    table = Table("model", "test accuracy", "to simpgcn", "p", "training", "parameters", title=dataset)
    for row in rows:
        if row.test_mean is None:
            table.add_row(row.model, f"[red]failed[/red]: {escape(row.error or '')}", "", "", "", "")
            continue
        accuracy = f"{row.test_mean:.2f} ± {row.test_sd:.2f}" if row.test_sd is not None else f"{row.test_mean:.2f}"
        table.add_row(
            row.model + (f" [red]({row.runs} runs: {escape(row.error)})[/red]" if row.error else ""),
            f"[bold]{accuracy}[/bold]" if row.test_mean == best else accuracy,
            "" if row.difference is None else f"{row.difference:+.2f}",
            "" if row.p_value is None else f"{row.p_value:.3f}",
            f"{row.seconds:.1f} s",
            f"{row.parameters:,}",
        )
    return table


def reproduction_tables(found: dict[str, Any]) -> list[Table]:
    """An experiment's cells with the paper's numbers in brackets, in the colours of their verdicts."""
    colours = {"green": "green", "amber": "yellow", "red": "red", "none": "default"}
    tables = []
    for title, headings in panels(found):
        name = f"{found['title']}, {title}" if title else found["title"]
        table = Table("", *headings.values(), title=f"{name}: {found['what']}", title_justify="left")
        lines: dict[str, list[str]] = {}
        for cell in (cell for cell in found["cells"] if cell["dataset"] in headings):
            shown = cell_text(cell)
            lines.setdefault(cell["label"], []).append(f"[{colours[cell['colour']]}]{escape(shown)}[/]")
        for column in table.columns:
            column.overflow = "fold"
        for label, texts in lines.items():
            table.add_row(escape(label), *texts)
        tables.append(table)
    return tables


def robustness_table(points: list[Point], dataset: str, attack: str) -> Table:
    """Models by rates of flipped edges, the best of each rate in bold."""
    rates = list(dict.fromkeys(point.rate for point in points))
    best = {rate: max((p.test_mean or 0.0 for p in points if p.rate == rate), default=0.0) for rate in rates}
    table = Table("model", *(f"{rate:.0%}" for rate in rates), title=f"{dataset} under {attack}")
    for model in dict.fromkeys(point.model for point in points):
        cells = []
        for point in (point for point in points if point.model == model):
            if point.test_mean is None:
                cells.append(f"[red]failed[/red]: {escape(point.error or '')}")
                continue
            text = f"{point.test_mean:.1f}" + (f" ± {point.test_sd:.1f}" if point.test_sd is not None else "")
            cells.append(f"[bold]{text}[/bold]" if point.test_mean == best[point.rate] else text)
        table.add_row(model, *cells)
    return table


def show_tuning(result: Tuned, dataset: str, model: str, folder: Path) -> None:
    """Print the best settings of a search and what mattered."""
    table = Table("setting", "best", "mattered", title=f"{model} on {dataset}", title_justify="left")
    for key, value in result.settings.items():
        table.add_row(key, str(value), f"{result.importance[key]:.0%}" if key in result.importance else "")
    Console().print(table)
    pruned = f", {result.pruned} of them ended early" if result.pruned else ""
    Console().print(
        f"Validation accuracy {result.val_accuracy:.2%} after {result.trials} trials{pruned}.\n"
        f"Use it with: simpgcn train --config {escape(str(folder / 'best.yaml'))}",
        highlight=False,
    )


def bench_table(answer: dict[str, Any]) -> Table:
    """The contestants of a benchmark, graph by graph: medians, and least to greatest in brackets."""
    table = Table("graph", "task", "contestant", "milliseconds", "times simpgcn's", title=f"on {answer['device']}")
    before = None
    for line in answer["lines"]:
        place = (line["graph"], line["task"])
        if before not in (None, place):
            table.add_section()
        took = {key: 1000 * value for key, value in line["seconds"].items()}
        table.add_row(
            *(("", "") if place == before else place),
            line["contestant"],
            "{median:,.1f} ({low:,.1f} to {high:,.1f})".format(**took),
            ""
            if line["contestant"] == "simpgcn"
            else "{median:.2f} ({low:.2f} to {high:.2f})".format(**line["times_ours"]),
        )
        before = place
    return table


def growth(answer: dict[str, Any]) -> str:
    """How time and memory grow with the number of nodes, in a sentence."""
    found = answer["scaling"]
    nodes = [point["nodes"] for point in found["points"]]
    powers = ["unmeasurably little" if power is None else f"as n^{power:.2f}" for power in found["slopes"].values()]
    return (
        f"From {nodes[0]:,} to {nodes[-1]:,} nodes the search grows {powers[0]}, an epoch {powers[1]} "
        f"and peak memory {powers[2]}."
    )
