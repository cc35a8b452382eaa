"""Where trust lies: how much nodes lean on the graph, on their look-alikes and on themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from simpgcn.report.run_record import SOURCES

NAMES = dict(zip(SOURCES, ("the graph", "look-alikes", "itself"), strict=True))
BINS = 20


def lean_distribution(leans: np.ndarray) -> list[dict[str, Any]]:
    """For each source, the share of nodes in each of twenty equal bins of its weight.

    >>> rows = lean_distribution(np.array([[0.12, 0.88, 0.0]]))
    >>> [(row["source"], row["weight"]) for row in rows if row["nodes"]]
    [('the graph', 0.125), ('look-alikes', 0.875), ('itself', 0.025)]
    """
    rows = []
    for source, column in zip(SOURCES, leans.T, strict=True):
        counts, edges = np.histogram(column, bins=BINS, range=(0, 1))
        rows += [
            {
                "source": NAMES[source],
                "weight": round(float(low) + 0.5 / BINS, 4),
                "nodes": round(count / len(column), 5),
            }
            for low, count in zip(edges, counts.tolist(), strict=False)
        ]
    return rows


def leans_by_outcome(leans: np.ndarray, hits: np.ndarray) -> list[dict[str, Any]]:
    """The mean weight on each source of the nodes that were classified right, and of those that were not.

    >>> leans_by_outcome(np.array([[0.5, 0.25, 0.25]]), np.array([True]))[0]
    {'outcome': 'right', 'count': 1, 'source': 'the graph', 'weight': 0.5}
    """
    return [
        {
            "outcome": outcome,
            "count": int(chosen.sum()),
            "source": NAMES[source],
            "weight": round(float(leans[chosen, place].mean()), 4),
        }
        for outcome, chosen in (("right", hits), ("wrong", ~hits))
        if chosen.any()
        for place, source in enumerate(SOURCES)
    ]


def layer_scores(scores: np.ndarray) -> list[dict[str, Any]]:
    """The median score of each source in each layer, and what nine of ten nodes lie between.

    >>> layer_scores(np.ones((4, 1, 3)))[0]
    {'layer': 1, 'source': 'the graph', 'low': 1.0, 'median': 1.0, 'high': 1.0}
    """
    rows = []
    for layer in range(scores.shape[1]):
        for place, source in enumerate(SOURCES):
            low, median, high = np.quantile(scores[:, layer, place], (0.05, 0.5, 0.95)).round(4).tolist()
            rows.append({"layer": layer + 1, "source": NAMES[source], "low": low, "median": median, "high": high})
    return rows
