from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from simpgcn.experiments.claims import judge_claim
from simpgcn.experiments.experiment import Claim
from simpgcn.experiments.verdict import judge_accuracy, judge_setting, judge_value


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
        return {("a", "x"): {"label": "A", "values": list(a)}, ("b", "x"): {"label": "B", "values": list(b)}}

    assert judge_claim(claim, cells(around(81), around(80)), ("x",))["colour"] == "green"
    close = judge_claim(claim, cells(around(80), 80.2 + noise), ("x",))
    assert close["colour"] == "amber"
    p = stats.ttest_rel(around(80), 80.2 + noise).pvalue
    assert f"not over B on X (80.00 against 80.20, p = {p:.2f})" in close["found"]
    thrice = np.concatenate([np.array(around(80)) + shift for shift in (-0.1, 0, 0.1)])  # three seeds on each split
    assert judge_claim(claim, cells(thrice, 80.2 + noise), ("x",)) == close
    assert judge_claim(claim, cells(around(80), around(85)), ("x",))["colour"] == "red"
    assert judge_claim(claim, cells([80.0], [81.0]), ("x",))["colour"] == "red"
    assert judge_claim(claim, cells([], [81.0]), ("x",))["colour"] == "none"
    across = Claim("x is higher than y", "x", ("y",), row="a")
    both = {("a", "x"): {"label": "A", "values": [2.0]}, ("a", "y"): {"label": "A", "values": [1.0]}}
    found = judge_claim(across, both, ("x", "y"))
    assert found["colour"] == "green"
