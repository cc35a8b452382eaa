from __future__ import annotations

from simpgcn.experiments.reading import reading


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
    assert sentence(cell("cora", 0.3, 0.4)).endswith("that it is: none; as if it were exact: none.")
