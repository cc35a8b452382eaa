"""When to stop, and which epoch to keep."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class EarlyStopping:
    """Keeps the epoch with the best validation accuracy; of equals, the latest.

    Training stops when ``patience`` epochs have passed since the epoch to keep.

    >>> rule = EarlyStopping(patience=2)
    >>> [rule.update(epoch, accuracy) for epoch, accuracy in enumerate([0.5, 0.6, 0.6, 0.4, 0.1], start=1)]
    [True, True, True, False, False]
    >>> rule.best_epoch, rule.exhausted(4), rule.exhausted(5)
    (3, False, True)
    """

    patience: int
    best: float = -math.inf
    best_epoch: int = 0

    def update(self, epoch: int, value: float) -> bool:
        """Take note of an epoch's value; True if it is the one to keep so far."""
        if value < self.best or math.isnan(value):
            return False
        self.best, self.best_epoch = value, epoch
        return True

    def exhausted(self, epoch: int) -> bool:
        """Whether training should stop after ``epoch``."""
        return epoch - self.best_epoch >= self.patience
