"""Two runs on the same nodes: who is right where, and whether the difference is more than luck."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import binomtest

from simpgcn.report.run_record import RunRecord


def same_nodes(a: RunRecord, b: RunRecord) -> bool:
    """Whether two runs speak of the same nodes: as many, with the same ids, labels and classes."""
    if a.num_nodes != b.num_nodes or a.class_names != b.class_names or not np.array_equal(a.labels, b.labels):
        return False
    if a.node_ids is None or b.node_ids is None:
        return a.node_ids is b.node_ids
    return bool(a.node_ids.equals(b.node_ids))


def paired_test(first: np.ndarray, second: np.ndarray) -> dict[str, Any]:
    """McNemar's exact test of two models' hits on the same nodes.

    >>> paired_test(np.array([True, True, True, False]), np.array([False, False, True, False]))
    {'nodes': 4, 'only_first': 2, 'only_second': 0, 'p': 0.5}
    """
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    differing = only_first + only_second
    p = float(binomtest(only_first, differing).pvalue) if differing else 1.0
    return {"nodes": len(first), "only_first": only_first, "only_second": only_second, "p": p}


def comparison_facts(runs: list[RunRecord]) -> list[dict[str, Any]]:
    """Every run against the first: tested on the nodes that are test nodes of both, or why it cannot be."""
    first, rows = runs[0], []
    for run in runs[1:]:
        row: dict[str, Any] = {"first": first.name, "second": run.name, "test": None, "why_not": None}
        if not same_nodes(first, run):
            row["why_not"] = "the two runs are not on the same nodes and labels"
        else:
            row["differ"] = int((first.predicted != run.predicted).sum())
            common = np.intersect1d(first.test, run.test)
            if len(common):
                hits = (one.predicted[common] == one.labels[common] for one in (first, run))
                row["test"] = paired_test(*hits)
            else:
                row["why_not"] = "the two runs have no test node in common"
        rows.append(row)
    return rows
