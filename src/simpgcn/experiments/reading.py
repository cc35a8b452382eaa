"""What the results say, in plain words; every number in it comes from the results."""

from __future__ import annotations

from typing import Any

from simpgcn.experiments.experiment import dataset_title
from simpgcn.experiments.panels import panels
from simpgcn.experiments.verdict import LEVEL, holm

Table = dict[str, Any]
ACCURACY_TABLES = ("table3", "table4", "table5")


def reading(tables: list[Table]) -> list[str]:
    """Sentences about what agrees with the paper and what does not.

    >>> reading([])
    []
    """
    sentences = []
    own = [table for table in tables if not table.get("source")]
    cells = [cell for table in own for cell in table["cells"] if cell["paper"] is not None]
    if cells:
        counts = {colour: sum(cell["colour"] == colour for cell in cells) for colour in ("green", "amber", "red")}
        sentences.append(
            f"{len(cells)} numbers of the paper were measured again: {counts['green']} agree (green), "
            f"{counts['amber']} are close or on the better side (amber), {counts['red']} differ (red)."
        )
    sentences += _about_accuracy(tables)
    sentences += [sentence for table in tables if table["name"] == "figure2" for sentence in _about_attacks(table)]
    claims = [(table["title"], claim) for table in tables for claim in table["claims"] if claim["colour"] != "none"]
    held = sum(claim["colour"] == "green" for _, claim in claims)
    if claims:
        sentences.append(f"Of {len(claims)} sentences about the numbers, {held} hold in every comparison.")
    for colour, verdict in (("amber", "Too close to tell somewhere"), ("red", "Contradicted somewhere")):
        said = [f"“{claim['says']}” ({title})" for title, claim in claims if claim["colour"] == colour]
        if said:
            sentences.append(f"{verdict}: {', '.join(said)}.")
    unfilled = [
        f"{cell['label']} on {dataset_title(cell['dataset'])}"
        for table in tables
        for cell in table["cells"]
        if cell["mean"] is None and (cell["paper"] is not None or cell["error"] or cell["measure"] == "accuracy")
    ]
    if unfilled:
        sentences.append(f"Not filled: {', '.join(unfilled)}.")
    return sentences


def _about_accuracy(tables: list[Table]) -> list[str]:
    cells = [(table, c) for table in tables if table["name"] in ACCURACY_TABLES for c in table["cells"]]
    ours = [(table, c) for table, c in cells if c["model"] == "simpgcn" and c["mean"] is not None]
    others = [(table, c) for table, c in cells if c["model"] != "simpgcn" and c["mean"] is not None]
    sentences = []
    if ours:
        scattered, exact = (_low(ours, test) or "none" for test in ("p_below", "p_exact"))
        distinct, corrected = _corrected(ours)
        scattered_still, exact_still = (_low(corrected, test) or "none" for test in ("p_below", "p_exact"))
        sentences.append(
            f"SimP-GCN, with and without its parts: {len(ours)} cells were tested against the printed mean (one-sided, "
            f"5%). Significantly below it, as the mean of ten runs that it is: {scattered}; as if "
            f"it were exact: {exact}."
        )
        sentences.append(
            "One such test in twenty comes out significant by chance where nothing differs. Corrected for being "
            f"{distinct} (Holm), below are, as the mean of ten runs: {scattered_still}; as if it were exact: "
            f"{exact_still}."
        )
    if others:
        above = [c for _, c in others if c["says"] == "above"]
        below = [_place(table, c) for table, c in others if c["colour"] == "red"]
        sentences.append(
            f"The methods it is compared with: of {len(others)} cells, {len(above)} are significantly above the "
            f"paper's and {len(below)} below{': ' + ', '.join(below) if below else ''}. Where a baseline is stronger "
            "here, SimP-GCN's lead is smaller than the paper's."
        )
    return sentences


def _about_attacks(table: Table) -> list[str]:
    """For each graph: how far GCN and SimP-GCN fall, and who is best where most edges are flipped."""
    cells = {(cell["row"], cell["dataset"]): cell for cell in table["cells"]}
    labels = {cell["row"]: cell["label"] for cell in table["cells"] if cell["measure"] != "lead"}
    sentences = []
    for title, headings in panels(table):
        first, last = next(iter(headings)), next(reversed(headings))
        known = {row: cells[row, last]["mean"] for row in labels if cells[row, last]["mean"] is not None}
        falls = [
            f"{labels[row]} from {cells[row, first]['mean']:.1f} to {known[row]:.1f}"
            for row in ("gcn", "simpgcn")
            if row in known and cells[row, first]["mean"] is not None
        ]
        if len(falls) < 2:
            continue
        best = max(known, key=lambda row: known[row])
        sentences.append(
            f"Metattacked {title}, {headings[first]} to {headings[last]} of the edges flipped: {', '.join(falls)}, "
            f"{known['simpgcn'] - known['gcn']:+.1f} points at the end; the best is {labels[best]}, {known[best]:.1f}."
        )
    return sentences


def _low(cells: list[tuple[Table, Table]], test: str) -> str:
    """The cells that are below the paper's by a test, and how surely."""
    found = [(table, cell, cell[test]) for table, cell in cells if cell[test] is not None and cell[test] < LEVEL]
    return ", ".join(f"{_place(table, c)} (p {f'= {p:.3f}' if p >= 0.001 else '< 0.001'})" for table, c, p in found)


def _corrected(cells: list[tuple[Table, Table]]) -> tuple[int, list[tuple[Table, Table]]]:
    """The tested cells with p-values corrected for their number; a cell that stands in two tables counts once."""
    tested = {
        (cell["dataset"], cell["mean"], cell["paper"]): (table, cell)
        for table, cell in reversed(cells)
        if cell["p_below"] is not None
    }
    found = [(table, dict(cell)) for table, cell in reversed(tested.values())]
    for test in ("p_exact", "p_below"):
        for (_, cell), p in zip(found, holm([cell[test] for _, cell in found]), strict=True):
            cell[test] = p
    return len(found), found


def _place(table: Table, cell: Table) -> str:
    return f"{cell['label']} on {dataset_title(cell['dataset'])} in {table['title']}"
