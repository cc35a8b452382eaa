"""Whether what the paper says of its numbers holds for ours."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import stats

from simpgcn.experiments.experiment import Claim, dataset_title
from simpgcn.experiments.verdict import LEVEL

Cells = dict[tuple[str, str], dict[str, Any]]


def judge_claim(claim: Claim, cells: Cells, datasets: tuple[str, ...]) -> dict[str, Any]:
    """A claim's colour and what was found.

    Green: it holds everywhere. Amber: somewhere it does not, but nowhere is the opposite significant (two-sided at 5%;
    paired where runs share splits, of which several runs count as their mean). Red: somewhere the opposite is
    significant, or there is no spread to test with. Cells are by row and dataset.

    >>> cells = {("a", "x"): {"label": "A", "values": [2.0]}, ("b", "x"): {"label": "B", "values": [1.0]}}
    >>> judge_claim(Claim("a beats b", "a", ("b",)), cells, ("x",))
    {'says': 'a beats b', 'colour': 'green', 'found': 'holds in 1 of 1 comparisons, by 1.00'}
    """
    held, against, differences = 0, [], []
    significant = False
    for higher, lower in _pairs(claim, datasets):
        a, b = (np.array(cells[place]["values"], dtype=float) for place in (higher, lower))
        if not len(a) or not len(b):
            continue
        difference = float(a.mean() - b.mean())
        differences.append(difference)
        if difference > claim.by:
            held += 1
            continue
        p = _p_value(a - claim.by, b, paired=claim.row is None)
        significant |= p is None or p < LEVEL
        what = dataset_title(lower[1])
        if claim.row is None:
            label = cells[lower]["label"]
            what = f"{f'“{label}”' if ', ' in label else label} on {what}"
        against.append(f"{what} ({a.mean():.2f} against {b.mean():.2f}{_chance(p)})")
    if not differences:
        return {"says": claim.says, "colour": "none", "found": "not measured"}
    colour = "green" if not against else "red" if significant else "amber"
    low, high = min(differences), max(differences)
    by = f"by {low:.2f}" if low == high else f"by {low:.2f} to {high:.2f}"
    found = f"holds in {held} of {len(differences)} comparisons"
    found += f"; not over {', '.join(against)}" if against else f", {by}"
    return {"says": claim.says, "colour": colour, "found": found}


def _chance(p: float | None) -> str:
    return "" if p is None else ", p < 0.01" if p < 0.01 else f", p = {p:.2f}"


def _pairs(claim: Claim, datasets: tuple[str, ...]) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    if claim.row is not None:
        return [((claim.row, claim.higher), (claim.row, other)) for other in claim.than]
    where = claim.datasets or datasets
    return [((claim.higher, dataset), (other, dataset)) for dataset in where for other in claim.than]


def _p_value(a: np.ndarray, b: np.ndarray, paired: bool) -> float | None:
    if min(len(a), len(b)) < 2 or (np.ptp(a) == 0 and np.ptp(b) == 0):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a method without randomness has no variance
        n = min(len(a), len(b))
        if paired and len(a) % n == 0 and len(b) % n == 0:
            a, b = (values.reshape(-1, n).mean(axis=0) for values in (a, b))  # run i and run i + n have the same split
            return float(stats.ttest_rel(a, b).pvalue) if np.ptp(a - b) else float(a[0] == b[0])
        return float(stats.ttest_ind(a, b, equal_var=False).pvalue)
