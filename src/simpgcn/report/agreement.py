"""How far the graph, the look-alikes and the labels agree."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from simpgcn.report.run_record import RunRecord
from simpgcn.report.surroundings import Surrounding
from simpgcn.similarity import overlap


def similarity_facts(run: RunRecord) -> dict[str, Any]:
    """Homophily of the graph and of the look-alikes, their overlap, and what chance would give."""
    labels = run.labels
    counts = np.bincount(labels[labels >= 0])
    return {
        "k": min(run.config.similarity.k, run.num_nodes - 1),
        "links": int(run.data.edge_index.size(1)),
        "directed": bool(run.data.is_directed()),
        "homophily": _homophily(run.data.edge_index, labels),
        "look_alike_homophily": _homophily(run.data.feature_edge_index, labels),
        "chance_homophily": round(float(np.square(counts / counts.sum()).sum()), 4),
        "overlap": round(overlap(run.data.feature_edge_index, run.data.edge_index), 4),
        "same_class": _same_class(labels, {"neighbours": run.neighbours, "look-alikes": run.look_alikes}),
    }


def _homophily(edge_index: Tensor, labels: np.ndarray) -> float | None:
    """The share of links within a class, of those whose both ends are labelled."""
    source, target = labels[edge_index[0].numpy()], labels[edge_index[1].numpy()]
    known = (source >= 0) & (target >= 0)
    return round(float((source == target)[known].mean()), 4) if known.any() else None


def _same_class(labels: np.ndarray, around: dict[str, Surrounding]) -> list[dict[str, Any]]:
    """The share of labelled nodes by the share of their labelled surrounding that is of their own class."""
    rows = []
    for name, links in around.items():
        counts = links.classes(labels, int(labels.max()) + 1)
        total = counts.sum(axis=1)
        chosen = np.flatnonzero((labels >= 0) & (total > 0))
        own = counts[chosen, labels[chosen]] / total[chosen]
        histogram, _ = np.histogram(own, bins=10, range=(0, 1))
        rows += [
            {"around": name, "from": b / 10, "to": (b + 1) / 10, "nodes": round(count / max(1, len(chosen)), 5)}
            for b, count in enumerate(histogram.tolist())
        ]
    return rows
