"""Whether SimP-GCN should beat a GCN here, and how sure that is."""

from __future__ import annotations

from typing import Literal, NamedTuple

from simpgcn.diagnosis.checks import Checks
from simpgcn.diagnosis.facts import Agreement, Facts

Words = Literal["should help", "may help", "little to gain"]
Sureness = Literal["sure", "fairly sure", "unsure"]

# A gain worth having: one node in a hundred.
WORTH = 0.01
# A gain that must not be missed: where it cannot be ruled out, the verdict is unsure.
MUCH = 0.05


class Verdict(NamedTuple):
    """The verdict in words, how sure it is, the gain over a GCN that the checks found, and why.

    ``gain`` and ``error``, its standard error, are shares of the validation nodes; None without such nodes.
    """

    words: Words
    sure: Sureness
    gain: float | None
    error: float | None
    reasons: tuple[str, ...]


def judge(facts: Facts, checks: Checks | None) -> Verdict:
    """What the checks say, and homophily as a second opinion where the validation nodes are too few to tell.

    * ``should help``: links and look-alikes together are a point or more ahead of links alone, by more than two
      standard errors, or by more than one if look-alikes also know the class better than links;
    * ``may help``: ahead by a point or more, but not clearly;
    * ``little to gain``: not ahead by a point.

    >>> from simpgcn.diagnosis.checks import Checks
    >>> import numpy as np
    >>> known, alike = Agreement(10, 0.2, 0.5, -0.6), Agreement(10, 0.8, 0.5, 0.6)
    >>> facts = Facts(100, 50, 9, 2, 1.0, 1.0, 3, 50, 50, 0.5, 40, 60, known, alike, 0.01, 20, 100)
    >>> checks = Checks(50, {"graph": np.arange(50) < 20, "together": np.arange(50) < 40, "mlp": np.arange(50) < 30})
    >>> judge(facts, checks)[:2]
    ('should help', 'sure')
    """
    better = knows_better(facts.look_alikes, facts.homophily)
    reasons = [_about_classes(facts)]
    if checks is None:
        words: Words = "may help" if better else "little to gain"
        reasons.append("There are no validation nodes to score the quick checks on, so only the links were weighed.")
        return Verdict(words, "unsure", None, None, tuple(reasons))
    gain, error = checks.lead("together", "graph")
    reasons.insert(
        0,
        f"A quick check that sees links and look-alikes gets {checks.accuracy('together'):.1%} of "
        f"{checks.scored_on:,} validation nodes right, one that sees links alone {checks.accuracy('graph'):.1%}.",
    )
    if checks.lead("mlp", "together").ahead > 0:
        reasons.append(
            f"A node's own features alone get {checks.accuracy('mlp'):.1%} right: also try --model mlp, which needs no "
            "graph at all."
        )
    sure: Sureness
    if gain < WORTH:
        most = gain + 2 * error
        words, sure = "little to gain", ("sure" if most < WORTH else "fairly sure" if most < MUCH else "unsure")
    elif gain > 2 * error or (better and gain > error):
        words, sure = "should help", ("sure" if gain > 3 * error else "fairly sure")
    else:
        words, sure = "may help", "unsure"
    return Verdict(words, sure, gain, error, tuple(reasons))


def knows_better(one: Agreement, other: Agreement) -> bool:
    """Whether the edges of one graph say more about the class than those of another, chance aside.

    >>> knows_better(Agreement(10, 0.8, 0.5, 0.6), Agreement(10, 0.9, 0.9, 0.0))
    True
    >>> knows_better(Agreement(10, 0.8, 0.5, 0.6), Agreement(0, None, None, None))
    True
    """
    return one.adjusted is not None and one.adjusted > (other.adjusted if other.adjusted is not None else 0.0)


def _about_classes(facts: Facts) -> str:
    links, alike = facts.homophily, facts.look_alikes
    if links.share is None:
        first = "No link joins two nodes whose labels are known"
    else:
        first = f"{links.share:.0%} of the links stay within a class, {links.chance:.0%} would by chance"
    if alike.share is None:
        return f"{first}, and no two look-alikes have known labels."
    return f"{first}; of look-alikes {alike.share:.0%} do, {alike.chance:.0%} would by chance."
