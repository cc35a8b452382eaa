from __future__ import annotations

import re

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


def low(*cells):
    """What is told to be below, as a mean of ten runs and as if exact, each without and with correction."""
    # The same cells in a second table are the same tests.
    tables = [{"name": f"table{3 + i}", "title": f"Table {3 + i}", "claims": [], "cells": cells} for i in range(2)]
    text = " ".join(reading(tables))
    pattern = (
        r"(\d+) different results were tested .* as the mean of ten runs that it is: (.*)\. By that test .* "
        r"below are: (.*)\. If the printed mean were exact, below it would be: (.*); corrected: (.*)\.$"
    )
    found = re.search(pattern, text)
    assert found is not None
    return int(found[1]), *found.groups()[1:]


def test_both_tests_are_told_of():
    cells = cell("cora", 0.01, 0.2), cell("citeseer", 0.0004, 0.04), cell("pubmed", 0.3, 0.4)
    both = "SimP-GCN on Cora in Table 3 (p = {}), SimP-GCN on CiteSeer in Table 3 (p {})"
    assert low(*cells) == (
        3,
        "SimP-GCN on CiteSeer in Table 3 (p = 0.040)",
        "none",
        both.format("0.010", "< 0.001"),
        both.format("0.020", "= 0.001"),
    )


def test_no_cell_below_is_none():
    assert low(cell("cora", 0.3, 0.4)) == (1, "none", "none", "none", "none")


def test_many_tests_are_corrected_for_their_number():
    cells = [cell(f"graph-{i}", 0.3, 0.4) for i in range(9)]
    for p, left in ((0.006, "none"), (0.004, "SimP-GCN on Cora in Table 3 (p = 0.040)")):
        count, _, corrected, _, exact = low(cell("cora", 0.001, p), *cells)
        assert (count, corrected, exact) == (10, left, "SimP-GCN on Cora in Table 3 (p = 0.010)")
    assert low(cell("cora", None, None), cell("citeseer", 0.2, 0.04))[0] == 1


def test_other_settings_are_told_of_beside_the_same_numbers():
    known, other = cell("cora", 0.01, 0.01), {**cell("cora", 0.01, 0.01), "mean": 79.0, "colour": "red"}
    sentences = [
        reading(
            [
                {"name": "table3", "title": "Table 3", "claims": [], "cells": [known]},
                {"name": name, "title": "Ties", "source": source, "claims": [], "cells": [known, other, other]},
            ]
        )
        for name, source in (("ties", None), ("lift", "the best"))
    ]
    assert sentences[0][-1].endswith("by the first of these tests, are: 2 of 2 in “Ties”.")
    assert not any("Further down the same" in sentence for sentence in sentences[1])


def test_numbers_are_counted_once():
    cells = cell("cora", 0.3, 0.4), cell("citeseer", 0.3, 0.4)
    tables = [{"name": name, "title": name, "claims": [], "cells": cells} for name in ("table4", "table5", "search")]
    assert reading(tables)[0].startswith("2 numbers that the paper prints")


def test_the_papers_sentences_are_told_apart_from_others():
    claims = [
        {"says": "Ours is best.", "colour": "green", "beyond": False, "found": ""},
        {"says": "Ours is always best.", "colour": "red", "beyond": False, "found": ""},
        {"says": "So it is.", "colour": "amber", "beyond": True, "found": ""},
    ]
    paper, beyond = reading([{"name": "table3", "title": "Table 3", "claims": claims, "cells": []}])
    assert paper.startswith("Of 2 statements of the paper about its numbers, 1 hold throughout.")
    assert paper.endswith("Contradicted somewhere: “Ours is always best.” (Table 3).")
    assert beyond.endswith("0 hold throughout. Too close to tell somewhere: “So it is.” (Table 3).")


def test_correction_is_that_of_holm():
    p = np.array([0.2, 0.003, 0.04, 0.02, 0.9])
    order = np.argsort(p)
    for level in (0.01, 0.05, 0.1, 0.3):  # step by step, until a test is not below its share of the level
        stopped = next((i for i, j in enumerate(order) if p[j] > level / (len(p) - i)), len(p))
        assert {i for i, raised in enumerate(holm(list(p))) if raised <= level} == set(order[:stopped])
