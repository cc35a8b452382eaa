r"""Whether a number of ours agrees with the paper's: the tests, and what they are called.

The paper prints means without their spread. Against a mean :math:`\mu` of the paper, ``n`` runs of ours with mean
:math:`\bar x` and spread ``s`` are tested twice, both one-sided:

.. math::
    t_{\text{exact}} = \frac{\bar x - \mu}{s \sqrt{1/n}}, \qquad t = \frac{\bar x - \mu}{s \sqrt{1/n + 1/m}}

The first is Student's test of one sample and takes the printed number as exact. But it is itself the mean of ``m``
runs (ten for accuracies, one where the paper names no number of runs), which scatter, too: the second allows for that,
with our spread for theirs, as none is printed. With ``m = 1`` it asks whether one more run of ours could be theirs.

The spread ``s`` is that of runs which share their split, with ``n`` less the number of splits degrees of freedom: the
paper's ten splits are ours, so that what makes one split harder than another is in both means alike. Where there is
one run a split, the spread over all runs is taken, which is larger.

Accuracies, where higher is better:

* green, "agrees": not below by the first test, not above by the second;
* amber, "above": above by the second; "close": below by the first test, but not by the second;
* red, "below": below by both.

Other figures, which are neither good nor bad high:

* green, "agrees": equal in the digits printed, or not different by the second test, two-sided;
* amber, "close": within a stated share of the paper's, or one in the last digit printed;
* red, "differs".

All at 5%. Where there is no spread to test with (a method without randomness, a single run), accuracies within one
point are "close" and others are judged by the shares above.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy import stats

LEVEL = 0.05
POINT = 1.0
ROUNDING = 1e-9

Colour = Literal["green", "amber", "red", "none"]


class Printed(float):
    """A number of the paper with the digits it was printed in.

    >>> Printed("36.20") + 0, Printed("36.20").text
    (36.2, '36.20')
    """

    text: str

    def __new__(cls, text: str) -> Printed:
        """A number from its text."""
        number = super().__new__(cls, text)
        number.text = text
        return number


def printed(value: float) -> str:
    """A number of the paper as it was printed.

    >>> printed(Printed("36.20")), printed(3327), printed(82.8)
    ('36.20', '3,327', '82.8')
    """
    if isinstance(value, Printed):
        return value.text
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


class Verdict(NamedTuple):
    """A cell's numbers, its colour and the word for it.

    ``sd`` is that of all runs; ``low`` and ``high`` bound the 95% confidence interval of our mean on these splits;
    ``p_exact`` and ``p_below`` are those of the two tests that ours is lower. What cannot be had is None.
    """

    runs: int
    mean: float | None
    sd: float | None
    low: float | None
    high: float | None
    difference: float | None
    p_exact: float | None
    p_below: float | None
    colour: Colour
    says: str


def judge_accuracy(
    values: Sequence[float], paper: float | None, splits: Sequence[int] = (), *, paper_runs: int = 10
) -> Verdict:
    """The verdict on accuracies in percent against a mean of the paper; ``splits`` are those of the runs, if known.

    >>> judge_accuracy([82.0, 82.4, 82.9, 82.2], 82.8).says
    'agrees'
    >>> judge_accuracy([80.0, 80.1, 79.9, 80.2], 82.8)[-2:]
    ('red', 'below')
    """
    found = _measured(values, paper, splits, paper_runs)
    if found.difference is None:
        return found
    if found.p_exact is None or found.p_below is None:
        if abs(found.difference) <= _rounding(paper):
            return found._replace(colour="green", says="agrees")
        if found.difference > 0:
            return found._replace(colour="amber", says="above")
        near = -found.difference <= POINT
        return found._replace(colour="amber" if near else "red", says="close" if near else "below")
    if found.p_below < LEVEL:
        return found._replace(colour="red", says="below")
    if found.p_exact < LEVEL:
        return found._replace(colour="amber", says="close")
    if 1 - found.p_below < LEVEL:
        return found._replace(colour="amber", says="above")
    return found._replace(colour="green", says="agrees")


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values of several tests, raised so that the chance of any false one below a level is at most that level.

    Holm's method: the smallest counts as often as there are tests, the next once less, and so on.

    >>> [round(p, 3) for p in holm([0.04, 0.01, 0.5])]
    [0.08, 0.03, 0.5]
    """
    raised, highest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(np.argsort(p_values)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        raised[place] = highest
    return raised


def judge_value(
    values: Sequence[float], paper: float | None, splits: Sequence[int] = (), *, share: float = 0.25
) -> Verdict:
    """The verdict on a figure that the paper gives once; ``share`` of it is what counts as close.

    >>> judge_value([3.93], 3.88)[-2:], judge_value([5429], 5429)[-2:], judge_value([13.4], 3.88)[-2:]
    (('amber', 'close'), ('green', 'agrees'), ('red', 'differs'))
    """
    found = _measured(values, paper, splits, 1)
    if found.difference is None or paper is None:
        return found
    same = abs(found.difference) <= _rounding(paper)
    if same or (found.p_below is not None and min(found.p_below, 1 - found.p_below) >= LEVEL / 2):
        return found._replace(colour="green", says="agrees")
    near = abs(found.difference) <= max(share * abs(paper), 2 * _rounding(paper))
    return found._replace(colour="amber" if near else "red", says="close" if near else "differs")


def judge_setting(values: Sequence[float], paper: float | None, splits: Sequence[int] = ()) -> Verdict:
    """The verdict on a setting that was picked: the published one, or another.

    >>> judge_setting([0.1], 0.1).says, judge_setting([10.0], 0.1).says
    ('the same', 'another')
    """
    found = _measured(values, paper, splits, 1)
    if found.difference is None:
        return found
    return found._replace(
        colour="amber" if found.difference else "green", says="another" if found.difference else "the same"
    )


def judge_nothing(values: Sequence[float], paper: float | None, splits: Sequence[int] = ()) -> Verdict:
    """The verdict on what should be nothing but the rounding of float64.

    >>> judge_nothing([1e-16], None).says, judge_nothing([0.1], None).says
    ('holds', 'fails')
    """
    found = _measured(values, None, splits, 1)
    if found.mean is None:
        return found
    holds = max(values) < ROUNDING
    return found._replace(colour="green" if holds else "red", says="holds" if holds else "fails")


def _measured(values: Sequence[float], paper: float | None, splits: Sequence[int], paper_runs: int) -> Verdict:
    """Everything but the word."""
    n = len(values)
    if n == 0:
        return Verdict(0, None, None, None, None, None, None, None, "none", "")
    mean = float(np.mean(values))
    difference = None if paper is None else mean - paper
    if n == 1 or np.ptp(values) == 0:
        return Verdict(n, mean, None if n == 1 else 0.0, None, None, difference, None, None, "none", "")
    sd = float(np.std(values, ddof=1))
    spread, freedom = _spread(np.asarray(values, dtype=float), splits)
    half = float(stats.t.ppf(0.975, freedom)) * spread / n**0.5
    p_exact = p_below = None
    if difference is not None and spread > 0:
        p_exact = float(stats.t.cdf(difference / (spread * (1 / n) ** 0.5), freedom))
        p_below = float(stats.t.cdf(difference / (spread * (1 / n + 1 / paper_runs) ** 0.5), freedom))
    return Verdict(n, mean, sd, mean - half, mean + half, difference, p_exact, p_below, "none", "")


def _spread(values: np.ndarray, splits: Sequence[int]) -> tuple[float, int]:
    """The standard deviation of runs that share their split, and its degrees of freedom; of all runs where few do."""
    count = len(set(splits))
    if len(splits) != len(values) or len(values) < 2 * count:
        return float(values.std(ddof=1)), len(values) - 1
    means = split_means(values, splits)
    around = values - np.array([means[split] for split in splits])
    freedom = len(values) - count
    return float(np.sqrt((around**2).sum() / freedom)), freedom


def split_means(values: Sequence[float] | np.ndarray, splits: Sequence[int]) -> dict[int, float]:
    """The mean of the values on each split.

    >>> split_means([1.0, 2.0, 5.0], [0, 1, 1])
    {0: 1.0, 1: 3.5}
    """
    both = list(zip(splits, values, strict=True))
    return {split: float(np.mean([v for s, v in both if s == split])) for split in dict.fromkeys(splits)}


def _rounding(paper: float | None) -> float:
    """Half of the last digit that was printed."""
    text = paper.text if isinstance(paper, Printed) else repr(float(paper or 0)).rstrip("0")
    return 0.5 * 10.0 ** -len(text.partition(".")[2]) + 1e-9
