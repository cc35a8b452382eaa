"""Settings to start with, from the paper's ranges, each with its reason."""

from __future__ import annotations

from typing import NamedTuple

from simpgcn.config import SimilaritySettings
from simpgcn.diagnosis.checks import Checks
from simpgcn.diagnosis.facts import Facts

# The published settings with a heavy pretext task, Cora's and CiteSeer's, and those that all but leave out a node's own
# features, PubMed's too, are for 5% of the nodes or fewer.
FEW_LABELS = 0.1


class Choice(NamedTuple):
    """A setting by the name that ``--set`` takes, its value, and why."""

    setting: str
    value: float
    why: str


def start_settings(facts: Facts, checks: Checks | None, poisoned: bool) -> tuple[Choice, ...]:
    """What to begin with; without ``checks``, what works on graphs that nothing is known of.

    >>> from simpgcn.diagnosis.facts import Agreement
    >>> import numpy as np
    >>> some = Agreement(10, 0.8, 0.5, 0.6)
    >>> facts = Facts(100, 50, 9, 2, 1.0, 1.0, 3, 5, 50, 0.05, 40, 60, some, some, 0.01, 20, 100)
    >>> right = {"graph": np.arange(50) < 40, "look-alikes": np.arange(50) < 20, "mlp": np.arange(50) < 15}
    >>> {choice.setting: choice.value for choice in start_settings(facts, Checks(50, right), poisoned=False)}
    {'model.structure_bias': 2, 'model.self_loop_weight': 0.01, 'model.pretext_weight': 50}
    """
    trusted = checks is not None and checks.lead("graph", "look-alikes").clear and not poisoned
    choices = [_structure_bias(trusted, poisoned), _self_loop_weight(checks, facts), _pretext_weight(trusted, facts)]
    if facts.k < SimilaritySettings().k:
        choices.append(Choice("similarity.k", facts.k, f"there are only {facts.nodes} nodes"))
    return tuple(choices)


def _structure_bias(trusted: bool, poisoned: bool) -> Choice:
    name = "model.structure_bias"
    if trusted:
        return Choice(name, 2, "links alone are clearly ahead of look-alikes alone: begin close to the graph")
    if poisoned:
        return Choice(name, 0, "some links look like noise or an attack: begin half-way between links and look-alikes")
    return Choice(name, 0, "links alone are not clearly ahead of look-alikes alone: begin half-way between them")


def _self_loop_weight(checks: Checks | None, facts: Facts) -> Choice:
    name = "model.self_loop_weight"
    if checks is None:
        return Choice(name, 0.1, "the middle of the paper's range, as nothing could be checked")
    best = max("graph", "look-alikes", key=checks.accuracy)
    if checks.lead(best, "mlp").clear:
        if facts.label_rate < FEW_LABELS:
            return Choice(name, 0.01, "neighbours say clearly more than a node's own features: let them speak")
        return Choice(
            name, 0.1, "neighbours say more than a node's own features, but labels are enough to learn how much"
        )
    own = checks.lead("mlp", best)
    if own.ahead > own.error:
        return Choice(name, 1, "a node's own features say more than its neighbours: let it keep them")
    return Choice(name, 0.1, "a node's own features say about as much as its neighbours")


def _pretext_weight(trusted: bool, facts: Facts) -> Choice:
    name = "model.pretext_weight"
    if not trusted:
        return Choice(name, 1, "the layers see look-alikes themselves: the pretext task need only assist")
    if facts.label_rate < FEW_LABELS:
        return Choice(
            name, 50, "labels are few and the layers close to the graph: the pretext task keeps look-alikes alike"
        )
    return Choice(name, 1, "there are labels enough to learn from: the pretext task need only assist")
