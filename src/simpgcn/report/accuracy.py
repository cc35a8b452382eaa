"""How often a run was right: over all, by class and by number of links, and what it took for what."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import binomtest

MOST_CLASSES = 20
DEGREES = ("0", "1", "2", "3–4", "5–8", "9–16", "17+")


def share(hits: np.ndarray) -> dict[str, Any]:
    """How many of how many, and the 95% Wilson interval of the share.

    >>> share(np.array([True, True, False, True]))
    {'count': 4, 'right': 3, 'accuracy': 0.75, 'low': 0.301, 'high': 0.954}
    """
    count, right = len(hits), int(np.count_nonzero(hits))
    if not count:
        return {"count": 0, "right": 0, "accuracy": None, "low": None, "high": None}
    interval = binomtest(right, count).proportion_ci(method="wilson")
    low, high = (round(float(bound), 3) for bound in interval)
    return {"count": count, "right": right, "accuracy": round(right / count, 4), "low": low, "high": high}


def by_class(labels: np.ndarray, predicted: np.ndarray, names: list[str]) -> list[dict[str, Any]]:
    """The share of each class's nodes that were recognised, for classes that occur.

    >>> [(row["class"], row["accuracy"]) for row in by_class(np.array([0, 0, 1]), np.array([0, 1, 1]), ["a", "b"])]
    [('a', 0.5), ('b', 1.0)]
    """
    labels, predicted, names = fewer_classes(labels, predicted, names)
    return [
        {"class": name, **share(predicted[labels == c] == c)} for c, name in enumerate(names) if (labels == c).any()
    ]


def by_degree(degree: np.ndarray, hits: np.ndarray) -> list[dict[str, Any]]:
    """Accuracy by number of links, in bins that double.

    >>> [(row["links"], row["count"]) for row in by_degree(np.array([0, 1, 3, 4, 99]), np.ones(5, bool))]
    [('0', 1), ('1', 1), ('3–4', 2), ('17+', 1)]
    """
    bins = np.searchsorted([1, 2, 3, 5, 9, 17], degree, side="right")
    return [{"links": DEGREES[b], **share(hits[bins == b])} for b in np.unique(bins)]


def confusion(labels: np.ndarray, predicted: np.ndarray, names: list[str]) -> dict[str, Any]:
    """How many nodes of each class (rows) were taken for each (columns).

    >>> confusion(np.array([0, 0, 1]), np.array([0, 1, 1]), ["a", "b"])
    {'classes': ['a', 'b'], 'counts': [[1, 1], [0, 1]]}
    """
    labels, predicted, names = fewer_classes(labels, predicted, names)
    counts = np.zeros((len(names), len(names)), dtype=int)
    np.add.at(counts, (labels, predicted), 1)
    return {"classes": names, "counts": counts.tolist()}


def fewer_classes(
    labels: np.ndarray, predicted: np.ndarray, names: list[str]
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The same with the rarest classes taken as one where there are more than a page can show.

    >>> labels = np.repeat(np.arange(30), np.arange(30, 0, -1))
    >>> _, _, names = fewer_classes(labels, labels, [str(c) for c in range(30)])
    >>> len(names), names[-1]
    (20, '11 others')
    """
    if len(names) <= MOST_CLASSES:
        return labels, predicted, names
    order = np.argsort(-np.bincount(labels, minlength=len(names)), kind="stable")
    kept = np.sort(order[: MOST_CLASSES - 1])
    place = np.full(len(names), MOST_CLASSES - 1)
    place[kept] = np.arange(len(kept))
    others = f"{len(names) - len(kept)} others"
    return place[labels], place[predicted], [*(names[c] for c in kept), others]
