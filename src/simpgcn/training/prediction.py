"""What a trained model says of every node."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.special import softmax
from torch import nn

from simpgcn.nn import SimPGCN


class Prediction(NamedTuple):
    """Logits ``[n, classes]``, for SimP-GCN trust ``[n, layers, 3]``, and the temperature of the probabilities.

    Trust is how each node weighed, in each layer, the given graph, its look-alikes and itself: s, 1 - s and γK, or
    the weights of a softmax gate.

    >>> found = Prediction(np.log([[1.0, 4.0]]), None, temperature=2.0)
    >>> found.predicted, found.probabilities.round(3)
    (array([1]), array([[0.333, 0.667]]))
    """

    logits: np.ndarray
    trust: np.ndarray | None
    temperature: float = 1.0

    @property
    def probabilities(self) -> np.ndarray:
        """Class probabilities ``[n, classes]``: the softmax of the logits divided by the temperature."""
        found: np.ndarray = softmax(self.logits.astype(np.float64) / self.temperature, axis=1)
        return found.astype(self.logits.dtype)

    @property
    def predicted(self) -> np.ndarray:
        """The number of the most probable class of each node ``[n]``; no temperature changes it."""
        best: np.ndarray = self.logits.argmax(axis=1)
        return best

    @property
    def shares(self) -> np.ndarray | None:
        """How much of its weights each node gave the given graph, its look-alikes and itself ``[n, 3]``.

        In each layer the sizes of the three weights as shares of their sum, then the mean over the layers: every row
        sums to 1. They are shares of weights, not of causes: a heavy branch that carries nothing says nothing.

        >>> Prediction(np.zeros((1, 2)), np.array([[[0.75, 0.25, -1.0], [0.5, 0.5, 0.0]]])).shares
        array([[0.4375, 0.3125, 0.25  ]])
        """
        if self.trust is None:
            return None
        size = np.abs(self.trust, dtype=np.float64)
        shares: np.ndarray = (size / size.sum(axis=2, keepdims=True)).mean(axis=1)
        return shares


def predict(model: nn.Module, inputs: tuple[Any, ...], temperature: float = 1.0) -> Prediction:
    """The prediction of a model for its inputs; see :func:`simpgcn.training.model_inputs`."""
    model.eval()
    trust = None
    device = next((parameter for parameter in model.parameters()), torch.empty(0))
    with torch.no_grad(), torch.cuda.device_of(device):
        if isinstance(model, SimPGCN):
            states = model.states(*inputs)
            logits = states[-1].hidden
            trust = model.trust(states).cpu().numpy()
        else:
            logits = model(*inputs)
        return Prediction(logits.cpu().numpy(), trust, temperature)
