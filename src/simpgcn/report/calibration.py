"""Whether probabilities mean what they say: of the nodes called 80% sure, are 80% right?"""

from __future__ import annotations

from typing import Any

import numpy as np

BINS = 10


def reliability(confidence: np.ndarray, hits: np.ndarray) -> list[dict[str, Any]]:
    """Nodes by how sure the model was, in ten equal bins: mean confidence and accuracy of each that has any.

    >>> reliability(np.array([0.91, 0.99, 0.5]), np.array([True, False, True]))
    [{'sure': 0.5, 'accuracy': 1.0, 'count': 1}, {'sure': 0.95, 'accuracy': 0.5, 'count': 2}]
    """
    bins = _bins(confidence)
    return [
        {
            "sure": round(float(confidence[bins == b].mean()), 4),
            "accuracy": round(float(hits[bins == b].mean()), 4),
            "count": int((bins == b).sum()),
        }
        for b in np.unique(bins)
    ]


def outcomes(confidence: np.ndarray, hits: np.ndarray) -> list[dict[str, Any]]:
    """How many right and wrong predictions there are in each of the ten bins.

    >>> [row for row in outcomes(np.array([0.91, 0.99]), np.array([True, False])) if row["nodes"]]
    [{'from': 0.9, 'to': 1.0, 'outcome': 'right', 'nodes': 1}, {'from': 0.9, 'to': 1.0, 'outcome': 'wrong', 'nodes': 1}]
    """
    bins = _bins(confidence)
    return [
        {"from": b / BINS, "to": (b + 1) / BINS, "outcome": outcome, "nodes": int((chosen & (bins == b)).sum())}
        for b in range(BINS)
        for outcome, chosen in (("right", hits), ("wrong", ~hits))
    ]


def _bins(confidence: np.ndarray) -> np.ndarray:
    return np.clip(np.ceil(confidence * BINS).astype(int) - 1, 0, BINS - 1)


def uncalibrated(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """The probabilities before they were divided by a temperature.

    >>> uncalibrated(np.array([[0.6, 0.4]]), 2.0).round(4)
    array([[0.6923, 0.3077]])
    """
    with np.errstate(divide="ignore"):
        logits = np.log(probabilities.astype(np.float64)) * temperature
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
