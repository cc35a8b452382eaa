"""A line of a run's history."""

from __future__ import annotations

from typing import NamedTuple


class Epoch(NamedTuple):
    """A line of the history: the losses of the step, then what evaluation saw after it."""

    epoch: int
    loss: float
    classification_loss: float
    pretext_loss: float
    train_accuracy: float
    val_loss: float
    val_accuracy: float
