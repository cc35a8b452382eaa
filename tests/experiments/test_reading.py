from __future__ import annotations

import numpy as np

from simpgcn.experiments.reading import reading
from simpgcn.experiments.verdict import holm


def cell(dataset, p_exact, p_below):
    return {
        "dataset": dataset,
        "label": "SimP-GCN",
        "model": "simpgcn",
        "measure": "accuracy",
        "mean": 80.0,
        "paper": 81.0,
        "error": None,
        "colour": "amber",
        "says": "close",
        "p_exact": p_exact,
        "p_below": p_below,
    }


def sentence(*cells):
    tables = [{"name": "table3", "title": "Table 3", "claims": [], "cells": list(cells)}]
    (found,) = (text for text in reading(tables) if "with and without its parts" in text)
    return found


def test_both_tests_are_told_of():
    found = sentence(cell("cora", 0.01, 0.2), cell("citeseer", 0.0004, 0.04), cell("pubmed", 0.3, 0.4))
    scattered, exact = found.split("as if it were exact: ")
    assert "3 cells" in scattered
    assert scattered.endswith("that it is: SimP-GCN on CiteSeer in Table 3 (p = 0.040); ")
    assert exact == "SimP-GCN on Cora in Table 3 (p = 0.010), SimP-GCN on CiteSeer in Table 3 (p < 0.001)."


def test_no_cell_below_is_none():
    assert "that it is: none; as if it were exact: none." in sentence(cell("cora", 0.3, 0.4))


def corrected(*cells):
    tables = [{"name": f"table{3 + i}", "title": f"Table {3 + i}", "claims": [], "cells": cells} for i in range(2)]
    (found,) = (text for text in reading(tables) if "Holm" in text)
    return found.partition("Corrected for ")[2]


def test_many_tests_are_corrected_for_their_number():
    cells = [cell(f"graph-{i}", 0.3, 0.4) for i in range(9)]
    words = "being 10 (Holm), below are, as the mean of ten runs: {}; as if it were exact: {}."
    for p, left in ((0.006, "none"), (0.004, "SimP-GCN on Cora in Table 3 (p = 0.040)")):
        # The same cells in a second table are the same tests.
        assert corrected(cell("cora", 0.001, p), *cells) == words.format(
            left, "SimP-GCN on Cora in Table 3 (p = 0.010)"
        )
    untested = corrected(cell("cora", None, None), cell("citeseer", 0.2, 0.04))
    assert untested.startswith(
        "being 1 (Holm), below are, as the mean of ten runs: SimP-GCN on CiteSeer in Table 3 (p ="
    )


def test_correction_is_that_of_holm():
    p = np.array([0.2, 0.003, 0.04, 0.02, 0.9])
    order = np.argsort(p)
    for level in (0.01, 0.05, 0.1, 0.3):  # step by step, until a test is not below its share of the level
        stopped = next((i for i, j in enumerate(order) if p[j] > level / (len(p) - i)), len(p))
        assert {i for i, raised in enumerate(holm(list(p))) if raised <= level} == set(order[:stopped])
