"""The results page: ``README.md`` and a self-contained ``index.html`` with the same content."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from simpgcn.experiments.experiment import dataset_title, quoted
from simpgcn.experiments.making import how_made
from simpgcn.experiments.page_format import (
    Block,
    Folded,
    Heading,
    Items,
    Marked,
    Picture,
    Table,
    Text,
    to_html,
    to_markdown,
)
from simpgcn.experiments.panels import panels
from simpgcn.experiments.reading import reading
from simpgcn.experiments.verdict import printed
from simpgcn.files import replacing

KEY = (
    Marked("agrees: no significant difference, or equal in the digits printed", "green"),
    Marked("close to the paper's, or significantly above it", "amber"),
    Marked("significantly below the paper's, or another figure altogether", "red"),
)


def write_page(out: Path, tables: list[dict[str, Any]]) -> None:
    """Write both forms of the page about the results of experiments into ``out``."""
    blocks = page(tables)
    with replacing(out / "README.md") as draft:
        draft.write_text(to_markdown(blocks))
    with replacing(out / "index.html") as draft:
        draft.write_text(to_html(blocks, out))


def page(tables: list[dict[str, Any]]) -> list[Block]:
    """The content of the page.

    >>> page([])[0]
    Heading(text="SimP-GCN's paper, measured again", level=1)
    """
    blocks: list[Block] = [
        Heading("SimP-GCN's paper, measured again", 1),
        Text(
            "The tables and figures of SimP-GCN (Jin et al., WSDM 2021), each cell from runs of this software, with "
            "the paper's number in brackets. Mean ± standard deviation; accuracies in percent."
        ),
        Heading("What holds and what does not", 2),
        Items(reading(tables)),
        Items(list(KEY)),
        Text(
            "Accuracies are tested one-sided at 5%, once with the printed mean as exact and once as the mean of ten "
            "runs that scatter as ours do (of a single one in Figure 2); red is below by both. The scatter is that of "
            "runs on the same split, as the paper's splits are ours, where there are several runs a split. Other "
            "figures agree unless a single further run of ours would hardly come out so, two-sided; they are close "
            "within a quarter of the paper's, counts within a hundredth."
        ),
        Text(
            "A sentence is green where it holds in every comparison, however narrowly; how many of them are "
            "significant by themselves, two-sided, stands beside it. It is red where the opposite is "
            "significant somewhere."
        ),
    ]
    for table in tables:
        blocks += _experiment(table)
    return [*blocks, *how_made(tables)]


def _experiment(table: dict[str, Any]) -> list[Block]:
    made, runs = table["made"], _runs(table)
    cells = {(cell["row"], cell["dataset"]): cell for cell in table["cells"]}
    rows = list(dict.fromkeys(cell["row"] for cell in table["cells"]))
    blocks: list[Block] = [
        Heading(table["title"], 2),
        Text(
            f"{table['what']} ({table['where']})."
            + (f" {runs}." if runs else "")
            + (" A quick look, not the full number of runs." if runs and made["quick"] else "")
            + (f" In brackets: {table['source']}." if table.get("source") else "")
        ),
    ]
    for title, headings in panels(table):
        first = next(iter(headings))
        lines = [[Marked(cells[row, first]["label"])] + [_cell(cells[row, d]) for d in headings] for row in rows]
        blocks += [Heading(title, 3)] if title else []
        blocks.append(Table(["", *headings.values()] if title else _header(list(headings)), lines))
    if table["picture"] is not None:
        blocks.append(Picture(table["picture"], f"{table['title']}: {table['what']}"))
    failed = [_failure(cell) for cell in table["cells"] if cell["error"]]
    if failed:
        blocks += [Text("Red cells without a number of the paper lack runs that failed:"), Items(failed)]
    if table["claims"]:
        blocks.append(
            Items([Marked(f"{claim['says']} Here it {_lowered(claim)}.", claim["colour"]) for claim in table["claims"]])
        )
    if any(cell["p_exact"] is not None for cell in table["cells"]):
        blocks.append(Folded("Differences, intervals and p-values", _details(table)))
    notes = list(table["departures"])
    if table.get("missing"):
        notes.append(f"Not run here: {', '.join(dataset_title(name) for name in table['missing'])}.")
    if notes:
        blocks += [Text("Notes:"), Items(notes)]
    return blocks


def _header(datasets: list[str]) -> list[str]:
    """The columns' titles; of made-up graphs, such as homophily-0.3, what they have in common stands once."""
    kinds = {name.rpartition("-")[0] for name in datasets}
    if len(datasets) > 1 and len(kinds) == 1 and "" not in kinds:
        return [kinds.pop(), *(name.rpartition("-")[2] for name in datasets)]
    return ["", *(dataset_title(name) for name in datasets)]


def _failure(cell: dict[str, Any]) -> str:
    return f"{cell['label']} on {dataset_title(cell['dataset'])}, {cell['runs']} runs left: {cell['error']}."


def _runs(table: dict[str, Any]) -> str:
    """How many runs the cells have: as most of them, and which rows, or cells of a row, have another number."""
    by_row: dict[str, dict[int, list[str]]] = {}
    for cell in table["cells"]:
        if cell["runs"] > 1 and not cell["error"]:
            by_row.setdefault(cell["label"], {}).setdefault(cell["runs"], []).append(dataset_title(cell["dataset"]))
    counts = Counter(count for own in by_row.values() for count in own if len(own) == 1)
    parts: list[str] = []
    for count in sorted(counts, key=lambda count: (-counts[count], count)):
        rows = ", ".join(quoted(label) for label, own in by_row.items() if list(own) == [count])
        parts.append(f"{count} for {rows}" if parts else f"{count} runs a cell")
    for label, own in by_row.items():
        if len(own) > 1:
            graphs = ", ".join(f"{count} on {' and '.join(datasets)}" for count, datasets in own.items())
            parts.append(f"{quoted(label)} {graphs}")
    return "; ".join(parts) if counts or not parts else f"Runs: {'; '.join(parts)}"


def _lowered(claim: dict[str, Any]) -> str:
    return claim["found"] if claim["colour"] != "none" else f"was {claim['found']}"


def cell_text(cell: dict[str, Any]) -> str:
    """A cell as its page shows it: ours, and the paper's in brackets.

    >>> cell_text({"mean": 82.345, "sd": 0.8, "digits": 2, "paper": 82.8})
    '82.34 ± 0.80 (82.8)'
    """
    if cell["mean"] is None:
        return "failed" if cell["error"] else ""
    text = _number(cell["mean"], cell["digits"])
    if cell["sd"] is not None:
        text += f" ± {_number(cell['sd'], cell['digits'])}"
    if cell["paper"] is not None:
        text += f" ({printed(cell['paper'])})"
    return text


def _cell(cell: dict[str, Any]) -> Marked:
    return Marked(cell_text(cell), "red" if cell["error"] else cell["colour"])


def _details(table: dict[str, Any]) -> Table:
    rows = []
    for cell in table["cells"]:
        if cell["paper"] is None or cell["mean"] is None:
            continue
        digits = cell["digits"]
        interval = "" if cell["low"] is None else f"{_number(cell['low'], digits)} to {_number(cell['high'], digits)}"
        rows.append(
            [
                Marked(f"{cell['label']}, {dataset_title(cell['dataset'])}"),
                Marked(f"{cell['difference']:+.{digits}f}" if digits is not None else f"{cell['difference']:+g}"),
                Marked(interval),
                Marked(_chance(cell["p_exact"])),
                Marked(_chance(cell["p_below"])),
                Marked(cell["says"], cell["colour"]),
            ]
        )
    header = [
        "cell",
        "difference",
        "95% interval of ours",
        "p below, paper exact",
        "p below, paper scatters",
        "verdict",
    ]
    return Table(header, rows)


def _chance(p: float | None) -> str:
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _number(value: float, digits: int | None) -> str:
    if digits is None:
        return f"{value:.1e}" if 0 < abs(value) < 1e-6 else f"{value:g}"
    return f"{value:,.{digits}f}"
