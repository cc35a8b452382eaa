"""Attacks: what changes a graph so that models learn the wrong thing from it."""

from simpgcn.robustness.attack_run import AttackRun, run_attack
from simpgcn.robustness.attacks import ATTACKS, attacked, find_attack
from simpgcn.robustness.metattack import Metattack
from simpgcn.robustness.prbcd import PRBCD
from simpgcn.robustness.surrogate import SurrogateSettings

__all__ = [
    "ATTACKS",
    "PRBCD",
    "AttackRun",
    "Metattack",
    "SurrogateSettings",
    "attacked",
    "find_attack",
    "run_attack",
]
