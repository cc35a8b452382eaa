"""Signs of noise or an attack: links of nodes that look nothing alike and, unlike other links, cross classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

# Pairs compared at most, of links and of random nodes.
MOST_PAIRS = 50_000
_BLOCK = 4096
# As few links cannot say how many of them stay within a class.
_FEWEST = 20


class Poisoning(NamedTuple):
    """Links between unlike nodes.

    Unlike are two nodes no more similar than the least similar quarter of random pairs: for most bags of words, those
    with nothing in common, which ``nothing_in_common`` says. ``unlike_links`` is their share among links,
    ``unlike_random`` among random pairs. ``unlike_homophily`` and ``alike_homophily`` are adjusted for chance, over
    links with known labels, ``unlike_known`` of them between unlike nodes.
    """

    unlike_links: float
    unlike_random: float
    nothing_in_common: bool
    unlike_known: int
    unlike_homophily: float | None
    alike_homophily: float | None
    signs: bool


def signs_of_poisoning(
    x: sparse.csr_matrix, links: np.ndarray, y: np.ndarray, chance: float | None
) -> Poisoning | None:
    """Compare links with random pairs; None without links.

    There are ``signs`` if links of alike nodes stay within a class more than by ``chance``, and those of unlike nodes
    less than half as much more, each by more than two standard errors. Links that an attack put in are such; so are
    links between classes that were always there, where features tell the classes apart well.

    Args:
        x: Features as similarity compares them.
        links: Node numbers ``[2, e]``, each link once.
        y: Class numbers, -1 where unknown.
        chance: The homophily of links that know nothing of classes.

    >>> x = sparse.csr_matrix(np.repeat(np.eye(2), 3, axis=0))
    >>> found = signs_of_poisoning(x, np.array([[0, 1, 0], [1, 2, 3]]), np.array([0, 0, 0, 1, 1, 1]), 0.5)
    >>> round(found.unlike_links, 2), found.nothing_in_common, found.signs
    (0.33, True, False)
    """
    n = x.shape[0]
    if not links.shape[1]:
        return None
    rng = np.random.default_rng(0)
    unit = normalize(x).astype(np.float64)
    pairs = rng.integers(0, n, (2, min(MOST_PAIRS, 20 * n)))
    random = _cosines(unit, pairs[:, pairs[0] != pairs[1]])
    bound = float(np.quantile(random, 0.25)) + 1e-9
    shown = _cosines(unit, _some(rng, links))
    known = _some(rng, links[:, (y[links] >= 0).all(axis=0)])
    unlike = _cosines(unit, known) <= bound
    same = y[known[0]] == y[known[1]]
    few, many = _above_chance(same[unlike], chance), _above_chance(same[~unlike], chance)
    unlike_links, unlike_random = float((shown <= bound).mean()), float((random <= bound).mean())
    signs = False
    if few is not None and many is not None:
        gap = many[0] / 2 - few[0]
        error = float(np.hypot(many[1] / 2, few[1]))
        signs = many[0] > 2 * many[1] and gap > 2 * error
    return Poisoning(
        unlike_links=unlike_links,
        unlike_random=unlike_random,
        nothing_in_common=bool(abs(bound) < 1e-6),
        unlike_known=int(unlike.sum()),
        unlike_homophily=None if few is None else few[0],
        alike_homophily=None if many is None else many[0],
        signs=signs,
    )


def _some(rng: np.random.Generator, links: np.ndarray) -> np.ndarray:
    if links.shape[1] <= MOST_PAIRS:
        return links
    return links[:, rng.choice(links.shape[1], MOST_PAIRS, replace=False)]


def _cosines(unit: sparse.csr_matrix, pairs: np.ndarray) -> np.ndarray:
    found = np.empty(pairs.shape[1])
    for start in range(0, pairs.shape[1], _BLOCK):
        u, v = pairs[:, start : start + _BLOCK]
        found[start : start + _BLOCK] = np.asarray(unit[u].multiply(unit[v]).sum(axis=1)).ravel()
    return found


def _above_chance(same: np.ndarray, chance: float | None) -> tuple[float, float] | None:
    """The homophily of some links adjusted for chance, and its standard error."""
    if len(same) < _FEWEST or chance is None or chance >= 1:
        return None
    share = float(same.mean())
    error = (max(share * (1 - share), 1 / len(same)) / len(same)) ** 0.5
    return (share - chance) / (1 - chance), error / (1 - chance)
