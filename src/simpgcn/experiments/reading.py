"""What the results say, in plain words; every number in it comes from the results."""

from __future__ import annotations

from typing import Any

from simpgcn.experiments.experiment import dataset_title, quoted
from simpgcn.experiments.panels import panels
from simpgcn.experiments.verdict import LEVEL, holm

Table = dict[str, Any]
Place = tuple[Table, dict[str, Any]]
ACCURACY_TABLES = ("table3", "table4", "table5")
# What the paper prints; elsewhere its numbers stand beside other settings, or again.
PRINTED = ("table1", "table2", *ACCURACY_TABLES, "figure4")


def reading(tables: list[Table]) -> list[str]:
    """Sentences about what agrees with the paper and what does not.

    >>> reading([])
    []
    """
    sentences = []
    cells = _once([place for place in _places(tables, PRINTED) if place[1]["paper"] is not None])
    if cells:
        counts = {colour: sum(cell["colour"] == colour for _, cell in cells) for colour in ("green", "amber", "red")}
        sentences.append(
            f"{len(cells)} numbers that the paper prints were measured again, each counted once: {counts['green']} "
            f"agree (green), {counts['amber']} are close or on the better side (amber), {counts['red']} differ (red). "
            "Where they stand beside other settings further down, they are not counted again."
        )
    sentences += _about_accuracy(tables)
    sentences += [sentence for table in tables if table["name"] == "figure2" for sentence in _about_attacks(table)]
    claims = [(table["title"], claim) for table in tables for claim in table["claims"] if claim["colour"] != "none"]
    sentences += _about_claims(
        [(t, c) for t, c in claims if not c.get("beyond")], "statements of the paper about its numbers"
    )
    sentences += _about_claims(
        [(t, c) for t, c in claims if c.get("beyond")], "statements beyond the paper that were tested"
    )
    unfilled = [
        f"{cell['label']} on {dataset_title(cell['dataset'])}"
        for table in tables
        for cell in table["cells"]
        if cell["mean"] is None and (cell["paper"] is not None or cell["error"] or cell["measure"] == "accuracy")
    ]
    if unfilled:
        sentences.append(f"Not filled: {', '.join(unfilled)}.")
    return sentences


def _places(tables: list[Table], names: tuple[str, ...]) -> list[Place]:
    return [(table, cell) for table in tables if table["name"] in names for cell in table["cells"]]


def _once(cells: list[Place]) -> list[Place]:
    """The cells without those that stand in an earlier table, too: the same runs against the same number."""
    found = {
        (cell["model"], cell["dataset"], cell["measure"], cell["mean"], cell["paper"]): (table, cell)
        for table, cell in reversed(cells)
    }
    return list(reversed(found.values()))


def _about_claims(claims: list[tuple[str, dict[str, Any]]], whose: str) -> list[str]:
    if not claims:
        return []
    held = sum(claim["colour"] == "green" for _, claim in claims)
    text = f"Of {len(claims)} {whose}, {held} hold throughout."
    for colour, verdict in (("amber", "Too close to tell somewhere"), ("red", "Contradicted somewhere")):
        said = [f"“{claim['says']}” ({title})" for title, claim in claims if claim["colour"] == colour]
        text += f" {verdict}: {', '.join(said)}." if said else ""
    return [text]


def _about_accuracy(tables: list[Table]) -> list[str]:
    cells = [place for place in _once(_places(tables, ACCURACY_TABLES)) if place[1]["mean"] is not None]
    ours = [(table, c) for table, c in cells if c["model"] == "simpgcn" and c["p_below"] is not None]
    others = [(table, c) for table, c in cells if c["model"] != "simpgcn" and c["paper"] is not None]
    sentences = []
    if ours:
        low, still = (
            [_low(some, test) or "none" for test in ("p_below", "p_exact")] for some in (ours, _corrected(ours))
        )
        sentences += [
            f"SimP-GCN, with and without its parts: {len(ours)} different results were tested against the printed mean "
            f"(one-sided, 5%). Significantly below it, as the mean of ten runs that it is: {low[0]}. By that test one "
            "result in twenty is below by chance where nothing differs; corrected for the number of tests (Holm's "
            f"method), below are: {still[0]}.",
            f"If the printed mean were exact, below it would be: {low[1]}; corrected: {still[1]}.",
            *_about_other_settings(tables, ours),
        ]
    if others:
        tested = [(table, c) for table, c in others if c["p_below"] is not None]
        above = [c for _, c in tested if c["says"] == "above"]
        below = [_place(table, c) for table, c in tested if c["colour"] == "red"]
        apart = [_place(table, c) for table, c in others if c["p_below"] is None and c["colour"] == "red"]
        sentences.append(
            f"The methods it is compared with: of {len(tested)} different results, {len(above)} are significantly "
            f"above the paper's and {len(below)} below{': ' + ', '.join(below) if below else ''}."
            + (f" Without randomness to test with, and far below: {', '.join(apart)}." if apart else "")
            + " Where a baseline is stronger here, SimP-GCN's lead is smaller than the paper's."
        )
    return sentences


def _about_other_settings(tables: list[Table], known: list[Place]) -> list[str]:
    """How often SimP-GCN is below the paper's number where it stands again, beside runs that no table has."""
    seen = {(c["dataset"], c["mean"], c["paper"]) for _, c in known}
    found = []
    for table in tables:
        if table["name"] in (*PRINTED, "figure2") or table.get("source"):
            continue
        tested = [
            c
            for c in table["cells"]
            if c["model"] == "simpgcn"
            and c["measure"] in ("accuracy", "searched accuracy")
            and c["p_below"] is not None
            and (c["dataset"], c["mean"], c["paper"]) not in seen
        ]
        if tested:
            found.append(f"{sum(c['colour'] == 'red' for c in tested)} of {len(tested)} in “{table['title']}”")
    if not found:
        return []
    return [
        "Further down the same numbers stand beside SimP-GCN with other settings, ties, edges or forms. Significantly "
        f"below them, by the first of these tests, are: {', '.join(found)}."
    ]


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


def _low(cells: list[Place], test: str) -> str:
    """The cells that are below the paper's by a test, and how surely."""
    found = [(table, cell, cell[test]) for table, cell in cells if cell[test] is not None and cell[test] < LEVEL]
    return ", ".join(f"{_place(table, c)} (p {f'= {p:.3f}' if p >= 0.001 else '< 0.001'})" for table, c, p in found)


def _corrected(cells: list[Place]) -> list[Place]:
    """The cells with p-values corrected for their number."""
    found = [(table, dict(cell)) for table, cell in cells]
    for test in ("p_exact", "p_below"):
        for (_, cell), p in zip(found, holm([cell[test] for _, cell in found]), strict=True):
            cell[test] = p
    return found


def _place(table: Table, cell: dict[str, Any]) -> str:
    return f"{quoted(cell['label'])} on {dataset_title(cell['dataset'])} in {table['title']}"
