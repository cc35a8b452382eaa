"""Whether what the paper says of its numbers holds for ours."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import stats

from simpgcn.experiments.experiment import Claim, dataset_title, quoted
from simpgcn.experiments.verdict import LEVEL, printed, split_means

Cells = dict[tuple[str, str], dict[str, Any]]


def judge_claim(claim: Claim, cells: Cells, datasets: tuple[str, ...]) -> dict[str, Any]:
    """A claim's colour and what was found.

    Green: it holds everywhere, or on most graphs if that is what it says. Amber: somewhere it does not, but nowhere is
    the opposite significant. Red: somewhere the opposite is significant, or there is no spread to test with. Tests are
    two-sided, at 5%: split by split where runs have splits of their own, several runs on one as their mean; otherwise
    of two samples (Welch's). Cells are by row and dataset.

    >>> cells = {("a", "x"): {"label": "A", "values": [2.0]}, ("b", "x"): {"label": "B", "values": [1.0]}}
    >>> judge_claim(Claim("a beats b", "a", ("b",)), cells, ("x",))["found"]
    'holds in 1 of 1 comparisons, by 1.00'
    """
    held, sure, against, differences = 0, 0, [], []
    best: dict[str, bool] = {}  # whether it holds in all of a dataset's comparisons
    contradicted = False
    for higher, lower in _pairs(claim, datasets):
        a, b = (np.array(cells[place]["values"], dtype=float) for place in (higher, lower))
        if not len(a) or not len(b):
            continue
        difference = float(a.mean() - b.mean())
        differences.append(difference)
        p = _p_value(cells[higher], cells[lower], claim)
        holds = bool(a.mean() > claim.times * b.mean() + claim.by)
        best[lower[1]] = best.get(lower[1], True) and holds
        if holds:
            held += 1
            sure += p is not None and p < LEVEL
            continue
        contradicted |= p is None or p < LEVEL
        what = dataset_title(lower[1])
        if claim.row is None:
            what = f"{quoted(cells[lower]['label'])} on {what}"
        said = _papers(cells[higher], cells[lower], claim)
        against.append(f"{what} ({a.mean():.2f} against {b.mean():.2f}{_chance(p)}{said})")
    result = {"says": claim.says, "beyond": claim.beyond}
    if not differences:
        return {**result, "colour": "none", "found": "not measured"}
    found = f"holds in {held} of {len(differences)} comparisons"
    if sure:
        found += f" (significantly in {sure})"
    low, high = min(differences), max(differences)
    by = f"by {low:.2f}" if low == high else f"by {low:.2f} to {high:.2f}"
    found += f"; not over {', '.join(against)}" if against else f", {by}"
    if claim.most:
        found = f"holds on {sum(best.values())} of {len(best)} graphs, and {found}"
        against = [] if 2 * sum(best.values()) > len(best) else against
    return {**result, "colour": "green" if not against else "red" if contradicted else "amber", "found": found}


def _papers(higher: dict[str, Any], lower: dict[str, Any], claim: Claim) -> str:
    """The paper's own numbers, where they contradict its claim."""
    ours, theirs = (cell.get("paper") for cell in (higher, lower))
    if claim.beyond or ours is None or theirs is None or ours > claim.times * theirs + claim.by:
        return ""
    return f"; so in the paper: {printed(ours)} against {printed(theirs)}"


def _chance(p: float | None) -> str:
    return "" if p is None else ", p < 0.01" if p < 0.01 else f", p = {p:.2f}"


def _pairs(claim: Claim, datasets: tuple[str, ...]) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    if claim.row is not None:
        return [((claim.row, claim.higher), (claim.row, other)) for other in claim.than]
    where = claim.datasets or datasets
    return [((claim.higher, dataset), (other, dataset)) for dataset in where for other in claim.than]


def _p_value(higher: dict[str, Any], lower: dict[str, Any], claim: Claim) -> float | None:
    a, b = (_by_split(cell) for cell in (higher, lower))
    common = [split for split in a if split in b] if claim.row is None else []
    paired = len(common) > 1
    if paired:
        ours, theirs = (np.array([means[split] for split in common]) for means in (a, b))
    else:
        ours, theirs = (np.array([*means.values()] or cell["values"]) for means, cell in ((a, higher), (b, lower)))
    ours, theirs = ours - claim.by, claim.times * theirs
    if min(len(ours), len(theirs)) < 2 or (np.ptp(ours) == 0 and np.ptp(theirs) == 0):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a method without randomness has no variance
        if not paired:
            return float(stats.ttest_ind(ours, theirs, equal_var=False).pvalue)
        return float(stats.ttest_rel(ours, theirs).pvalue) if np.ptp(ours - theirs) else float(ours[0] == theirs[0])


def _by_split(cell: dict[str, Any]) -> dict[int, float]:
    """The means on each split, where there are several."""
    splits = cell.get("splits") or []
    return split_means(cell["values"], splits) if len(set(splits)) > 1 else {}
