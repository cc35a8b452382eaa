"""The flip that raises the attacker's loss most among those that do not show, found block by block."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from simpgcn.robustness.degree_test import DegreeTest
from simpgcn.robustness.meta_gradient import EdgeGradient

# Rows and columns of a block: a few of them are in memory at once.
BLOCK = {"cpu": 1024, "cuda": 8192}


def best_flip(
    gradient: EdgeGradient, edges: Tensor, taboo: Tensor, degree: Tensor, test: DegreeTest | None
) -> tuple[int, int] | None:
    """The pair ``(u, v)``, u < v, whose flip has the steepest gradient; None where no flip is allowed.

    No node loses its last edge, and degrees stay such that the ``test`` does not tell.

    Args:
        gradient: Of the loss.
        edges: The graph's edges now, ``[2, e]``, each once, the smaller end first.
        taboo: Pairs never to flip, in the same form.
        degree: The nodes' degrees now, without self-loops.
        test: Against the clean graph; None to let degrees show.

    >>> class Given:
    ...     def block(self, rows, columns):
    ...         return torch.tensor([[0.0, 1.0, 5.0], [1.0, 0.0, 2.0], [5.0, 2.0, 0.0]])[rows, columns]
    >>> edges, degree = torch.tensor([[0, 0], [1, 2]]), torch.tensor([2, 1, 1])
    >>> best_flip(Given(), edges, edges[:, :0], degree, None)
    (1, 2)
    """
    gained, lost = (None if test is None else _Allowed(test, degree, change) for change in (1, -1))
    best, found = -torch.inf, None
    for rows, columns in _blocks(degree.numel(), BLOCK[degree.device.type]):
        scores = gradient.block(rows, columns)
        u, v = _inside(edges, rows, columns)
        removal = -scores[u, v]
        u_all, v_all = u + rows.start, v + columns.start
        removal[(degree[u_all] == 1) | (degree[v_all] == 1)] = -torch.inf
        if lost is not None:
            removal[~lost.table[lost.place[u_all], lost.place[v_all]]] = -torch.inf
        scores[u, v] = removal
        if gained is not None and not bool(gained.table.all()):
            passes = gained.table[gained.place[rows]][:, gained.place[columns]]
            passes[u, v] = True
            scores.masked_fill_(~passes, -torch.inf)
        u, v = _inside(taboo, rows, columns)
        scores[u, v] = -torch.inf
        if rows.start == columns.start:
            scores.masked_fill_(torch.ones_like(scores, dtype=torch.bool).tril_(), -torch.inf)
        place = int(scores.argmax())
        value = float(scores.view(-1)[place])
        if value > best:
            best = value
            width = columns.stop - columns.start
            found = rows.start + place // width, columns.start + place % width
    return found


def _blocks(n: int, size: int) -> Iterator[tuple[slice, slice]]:
    for row in range(0, n, size):
        for column in range(row, n, size):
            yield slice(row, min(n, row + size)), slice(column, min(n, column + size))


def _inside(pairs: Tensor, rows: slice, columns: slice) -> tuple[Tensor, Tensor]:
    """The pairs that lie in a block, counted from its corner."""
    u, v = pairs
    here = (u >= rows.start) & (u < rows.stop) & (v >= columns.start) & (v < columns.stop)
    return u[here] - rows.start, v[here] - columns.start


class _Allowed:
    """Which flips pass the test: ``table[place[u], place[v]]``."""

    def __init__(self, test: DegreeTest, degree: Tensor, change: int) -> None:
        kinds, self.table = test.allowed(degree, change)
        self.place = torch.searchsorted(kinds, degree)
