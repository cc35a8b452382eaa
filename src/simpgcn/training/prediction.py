"""What a trained model says of every node."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from simpgcn.nn import SimPGCN


class Prediction(NamedTuple):
    """Class probabilities ``[n, classes]`` and, for SimP-GCN, trust ``[n, layers, 3]``.

    Trust is how each node weighed, in each layer, the given graph, its look-alikes and itself: s, 1 - s and γK, or
    the weights of a softmax gate.
    """

    probabilities: np.ndarray
    trust: np.ndarray | None


def predict(model: nn.Module, inputs: tuple[Any, ...]) -> Prediction:
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
        probabilities = torch.softmax(logits, dim=1).cpu().numpy()
    return Prediction(probabilities, trust)
