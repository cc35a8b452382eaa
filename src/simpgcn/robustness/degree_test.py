r"""Whether a flip would show in the graph's degrees: the likelihood-ratio test of Zügner et al. (KDD 2018).

Degrees d of at least 2 are taken to follow a power law, whose exponent and log-likelihood are, with
:math:`S = \sum \log d` over the N such degrees,

.. math:: \alpha = 1 + \frac{N}{S - N \log 1.5}, \qquad
          \ell = N \log \alpha + N \alpha \log 2 - (\alpha + 1) S.

A flip is unnoticeable if two power laws, one for the clean degrees and one for the new, are hardly likelier than one
for both: :math:`-2 (\ell_{both} - \ell_{clean} - \ell_{new}) < 0.004`.
"""

from __future__ import annotations

import torch
from torch import Tensor

SMALLEST = 2
CUTOFF = 0.004


class DegreeTest:
    """The test against a clean graph.

    Args:
        degree: Its degrees, without self-loops.

    >>> test = DegreeTest(torch.tensor([3, 3, 2, 2, 2]))
    >>> [bool(test.ratio(torch.tensor([first, 3, 2, 2, 2])) < CUTOFF) for first in (3, 99)]
    [True, False]
    """

    def __init__(self, degree: Tensor) -> None:
        self.clean = _sums(degree.double())

    def ratio(self, degree: Tensor) -> Tensor:
        """The test statistic of a graph with these degrees."""
        return self._statistic(*_sums(degree.double()))

    def allowed(self, degree: Tensor, change: int) -> tuple[Tensor, Tensor]:
        """Which flips pass, by the degrees of the two ends.

        Args:
            degree: The graph's degrees now.
            change: 1 for new edges, -1 for lost ones.

        Returns:
            The different degrees ``[k]``, in order, and for every two of them whether the flip passes, ``[k, k]``.
        """
        kinds = degree.unique()
        count, logs = _sums(degree.double())
        before, after = kinds.double(), (kinds + change).double()
        more = (after >= SMALLEST).double() - (before >= SMALLEST).double()
        longer = _logs(after) - _logs(before)
        new_count = count + more.unsqueeze(1) + more
        new_logs = logs + longer.unsqueeze(1) + longer
        return kinds, self._statistic(new_count, new_logs) < CUTOFF

    def _statistic(self, count: Tensor, logs: Tensor) -> Tensor:
        both = _likelihood(count + self.clean[0], logs + self.clean[1])
        return -2 * (both - _likelihood(*self.clean) - _likelihood(count, logs))


def _sums(degree: Tensor) -> tuple[Tensor, Tensor]:
    return (degree >= SMALLEST).double().sum(), _logs(degree).sum()


def _logs(degree: Tensor) -> Tensor:
    return torch.where(degree >= SMALLEST, degree.clamp(min=1).log(), 0.0)


def _likelihood(count: Tensor, logs: Tensor) -> Tensor:
    alpha = 1 + count / (logs - count * torch.log(torch.tensor(SMALLEST - 0.5, dtype=torch.float64)))
    smallest = torch.log(torch.tensor(float(SMALLEST), dtype=torch.float64))
    return count * alpha.log() + count * alpha * smallest - (alpha + 1) * logs
