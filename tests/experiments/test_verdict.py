from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

from simpgcn.experiments.claims import judge_claim
from simpgcn.experiments.experiment import Claim
from simpgcn.experiments.verdict import Printed, judge_accuracy, judge_setting, judge_value


@pytest.mark.parametrize("seed", range(20))
def test_numbers_are_scipys(seed):
    rng = np.random.default_rng(seed)
    values, paper = rng.normal(80, 2, size=rng.integers(3, 15)), 80 + rng.normal()
    found = judge_accuracy(values, paper)
    test = stats.ttest_1samp(values, paper, alternative="less")
    interval = stats.ttest_1samp(values, paper).confidence_interval(0.95)
    assert found.p_exact == pytest.approx(test.pvalue)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert (found.mean, found.sd) == pytest.approx((values.mean(), values.std(ddof=1)))
    # a paper of endlessly many runs is exact
    assert judge_accuracy(values, paper, paper_runs=10**9).p_below == pytest.approx(test.pvalue)
    assert min(found.p_below, 1 - found.p_below) >= min(test.pvalue, 1 - test.pvalue)


def test_the_second_test_is_the_prediction_of_the_papers_mean():
    """If both are means of runs of one distribution, it says "below" as often as it should: one time in twenty."""
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(80, 2, (4000, 10)), rng.normal(80, 2, (4000, 10)).mean(axis=1)
    found = [judge_accuracy(values, paper) for values, paper in zip(ours, theirs, strict=True)]
    share = np.mean([verdict.p_below < 0.05 for verdict in found])
    assert share == pytest.approx(0.05, abs=4 * (0.05 * 0.95 / 4000) ** 0.5)
    assert np.mean([verdict.p_exact < 0.05 for verdict in found]) > 0.08  # what taking the paper as exact would do


def around(mean, spread=1.0, n=10):
    values = np.linspace(-1, 1, n)
    return list(mean + spread * values / values.std(ddof=1))


@pytest.mark.parametrize(
    ("values", "paper", "colour", "says"),
    [
        (around(80), 80.1, "green", "agrees"),
        (around(80), 80.7, "amber", "close"),  # t is -2.2 against the exact mean, -1.6 with its scatter
        (around(80), 82.0, "red", "below"),
        (around(80), 78.0, "amber", "above"),
        ([76.1, 76.1], 76.1, "green", "agrees"),
        ([76.1, 76.1], 74.6, "amber", "above"),
        ([74.0], 74.6, "amber", "close"),
        ([51.3, 51.3, 51.3], 57.7, "red", "below"),
        ([], 57.7, "none", ""),
        (around(80), None, "none", ""),
    ],
)
def test_words_for_accuracies(values, paper, colour, says):
    assert judge_accuracy(values, paper)[-2:] == (colour, says)


@pytest.mark.parametrize(
    ("values", "paper", "colour"),
    [
        ([5429.0], 5429, "green"),
        ([33391.0], 33544, "amber"),
        (around(3.0, 0.1), 3.15, "green"),
        (around(3.0, 0.01), 3.15, "amber"),
        (around(3.0, 0.01), 9.0, "red"),
        ([0.9111], 0.91, "green"),
        ([0.0395], 0.03, "amber"),
    ],
)
def test_colours_of_other_figures(values, paper, colour):
    assert judge_value(values, paper).colour == colour
    assert judge_value(values, None).colour == "none"


def test_settings():
    assert judge_setting([], 2).colour == "none"
    assert judge_setting([0.0], None).colour == "none"
    assert (judge_setting([2.0], 2).colour, judge_setting([0.0], 2).colour) == ("green", "amber")


def test_claims():
    claim = Claim("a beats b", "a", ("b",))
    noise = np.array(around(0))[[3, 1, 4, 0, 5, 9, 2, 6, 8, 7]]

    def cells(a, b):
        named = {"a": ("A", list(a)), "b": ("B", list(b))}
        return {
            (row, "x"): {"label": label, "values": values, "splits": [i % 10 for i in range(len(values))]}
            for row, (label, values) in named.items()
        }

    assert judge_claim(claim, cells(around(81), around(80)), ("x",))["colour"] == "green"
    close = judge_claim(claim, cells(around(80), 80.2 + noise), ("x",))
    assert close["colour"] == "amber"
    p = stats.ttest_rel(around(80), 80.2 + noise).pvalue
    assert f"not over B on X (80.00 against 80.20, p = {p:.2f})" in close["found"]
    thrice = np.concatenate([np.array(around(80)) + shift for shift in (-0.1, 0, 0.1)])  # three seeds on each split
    assert judge_claim(claim, cells(thrice, 80.2 + noise), ("x",)) == close
    assert judge_claim(claim, cells(thrice, np.tile(80.2 + noise, 3)), ("x",)) == close
    assert judge_claim(claim, cells(around(80), around(85)), ("x",))["colour"] == "red"
    assert judge_claim(claim, cells([80.0], [81.0]), ("x",))["colour"] == "red"
    assert judge_claim(claim, cells([], [81.0]), ("x",))["colour"] == "none"
    across = Claim("x is higher than y", "x", ("y",), row="a")
    both = {("a", "x"): {"label": "A", "values": [2.0]}, ("a", "y"): {"label": "A", "values": [1.0]}}
    found = judge_claim(across, both, ("x", "y"))
    assert found["colour"] == "green"


def test_claims_pair_splits_that_both_have():
    """A run that failed shifts the others' places, not their splits."""
    rng = np.random.default_rng(0)
    splits = [i % 10 for i in range(30)]
    hard = 4 * rng.normal(size=10)
    a, b = (80 + mean + hard[splits] + rng.normal(size=30) for mean in (1.5, 0))
    ours, theirs = (
        {"label": "", "values": list(np.delete(values, gone)), "splits": list(np.delete(splits, gone))}
        for values, gone in ((a, 4), (b, [0, 10, 20]))
    )
    found = judge_claim(Claim("", "b", ("a",)), {("a", "x"): ours, ("b", "x"): theirs}, ("x",))["found"]
    means = [
        [
            np.mean([v for v, s in zip(cell["values"], cell["splits"], strict=True) if s == split])
            for split in range(1, 10)
        ]
        for cell in (ours, theirs)
    ]
    p = stats.ttest_rel(*means).pvalue
    assert p < 0.05  # which shifted lists, or independent samples, do not see
    assert stats.ttest_ind(a, b).pvalue > 0.1
    assert (f"p = {p:.2f}" if p >= 0.01 else "p < 0.01") in found


def test_a_claim_about_most_graphs():
    cells = {
        (row, dataset): {"label": row, "values": [80.0 + (row == "a") * sign + noise for noise in (-0.1, 0.0, 0.1)]}
        for dataset, sign in (("x", 1), ("y", 1), ("z", -1))
        for row in ("a", "b")
    }
    for datasets, colour in ((("x", "y", "z"), "green"), (("x", "z"), "red")):
        found = judge_claim(Claim("", "a", ("b",), most=True), cells, datasets)
        assert found["colour"] == colour
        assert judge_claim(Claim("", "a", ("b",)), cells, datasets)["colour"] == "red"
    assert found["found"].startswith(
        "holds on 1 of 2 graphs, and holds in 1 of 2 comparisons (significantly in 1); not"
    )


def test_the_scatter_is_that_of_runs_on_one_split():
    """Where the paper's splits are ours, what makes a split hard is in both means, and no reason for a difference."""
    rng = np.random.default_rng(0)
    splits, below, alone = [i % 10 for i in range(30)], [], []
    for _ in range(2000):
        hard = 5 * rng.normal(size=10)
        ours, paper = 80 + hard[splits] + rng.normal(size=30), 80 + (hard + rng.normal(size=10)).mean()
        below.append(judge_accuracy(ours, paper, splits).p_below < 0.05)
        alone.append(judge_accuracy(ours, paper).p_below < 0.05)
    assert np.mean(below) == pytest.approx(0.05, abs=4 * (0.05 * 0.95 / 2000) ** 0.5)
    assert np.mean(alone) < 0.01  # all runs' scatter would hide a difference
    # with one run a split there is no telling, and all of it is taken
    assert judge_accuracy(ours[:10], paper, splits[:10]) == judge_accuracy(ours[:10], paper)


@pytest.mark.parametrize(
    ("value", "text", "colour"), [(0.996, "1.00", "green"), (0.9, "1.00", "amber"), (0.9, "1", "green")]
)
def test_a_printed_zero_counts_as_a_digit(value, text, colour):
    assert judge_value([value], Printed(text)).colour == colour


def test_a_sentence_that_the_papers_own_numbers_contradict_says_so():
    claim = Claim("a is above b", "a", ("b",))
    cells = {
        ("a", "x"): {"label": "A", "values": [80.0], "paper": Printed("79.10")},
        ("b", "x"): {"label": "B", "values": [81.0], "paper": 80.8},
    }
    assert judge_claim(claim, cells, ("x",))["found"].endswith(
        "(80.00 against 81.00; so in the paper: 79.10 against 80.8)"
    )
    cells["a", "x"]["paper"] = 82.0
    assert judge_claim(claim, cells, ("x",))["found"].endswith("(80.00 against 81.00)")
    asked = dataclasses.replace(claim, beyond=True)
    cells["a", "x"]["paper"] = 79.0
    assert judge_claim(asked, cells, ("x",))["found"].endswith("(80.00 against 81.00)")
