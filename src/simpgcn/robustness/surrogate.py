r"""The attacker's stand-in for the model it attacks: a linear GCN trained by gradient descent, and the way back.

.. math:: \mathbf{Z} = \mathbf{H} \mathbf{W}_1 \mathbf{W}_2, \qquad \mathbf{H} = \hat{\mathbf{A}}^2 \mathbf{X}

Its training reads :math:`\mathbf{H}_l`, the rows of the labelled nodes, alone, and every gradient with respect to
:math:`\mathbf{W}_1` is :math:`\mathbf{H}_l^\top` times something small. So :math:`\mathbf{W}_1 = \mathbf{W}_1^{(0)} +
\mathbf{H}_l^\top \mathbf{C}`, and all steps happen in :math:`\mathbf{C}`, by way of the ``[l, l]`` matrix
:math:`\mathbf{K} = \mathbf{H}_l \mathbf{H}_l^\top`: they never touch the graph nor the features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


@dataclass(frozen=True)
class SurrogateSettings:
    """How the surrogate is trained; the settings of Metattack's paper, but for fewer steps.

    The paper has 100 steps. They fit a surrogate that has learned the training labels by heart, and so an attack on a
    model trained as long; users stop by validation accuracy, long before. With 40, a GCN that is stopped so validates
    about seven points lower on Cora with a fifth of its edges flipped.
    """

    hidden_channels: int = 16
    steps: int = 40
    lr: float = 0.1
    momentum: float = 0.9


class Path(NamedTuple):
    """The states of a training, one more than it has steps: ``C`` ``[T + 1, l, h]`` and ``W2`` ``[T + 1, h, c]``.

    ``hidden`` ``[T, l, h]`` and ``probabilities`` ``[T, l, c]`` are what each step saw.
    """

    c: Tensor
    w2: Tensor
    hidden: Tensor
    probabilities: Tensor


class Adjoints(NamedTuple):
    """How the attack's loss changes with ``kernel`` (K) and with ``start``, the labelled rows of H W1 at the start."""

    kernel: Tensor
    start: Tensor


def train(kernel: Tensor, start: Tensor, w2: Tensor, target: Tensor, settings: SurrogateSettings) -> Path:
    r"""Train by gradient descent with momentum on the mean cross-entropy of the labelled nodes.

    Args:
        kernel: K, ``[l, l]``.
        start: :math:`\mathbf{H}_l \mathbf{W}_1^{(0)}`, ``[l, h]``.
        w2: The second layer's initial weights, ``[h, c]``.
        target: Labels of one and zero, ``[l, c]``.
        settings: The steps.

    >>> path = train(torch.eye(2), torch.zeros(2, 3), torch.ones(3, 2), torch.eye(2), SurrogateSettings(steps=4))
    >>> path.c.shape
    torch.Size([5, 2, 3])
    """
    steps, (labelled, hidden), classes = settings.steps, start.shape, w2.size(1)
    c = start.new_zeros(steps + 1, labelled, hidden)
    second = w2.new_empty(steps + 1, hidden, classes)
    second[0] = w2
    seen, probabilities = start.new_empty(steps, labelled, hidden), start.new_empty(steps, labelled, classes)
    speed_c, speed_2 = torch.zeros_like(start), torch.zeros_like(w2)
    for t in range(steps):
        torch.addmm(start, kernel, c[t], out=seen[t])
        torch.softmax(seen[t] @ second[t], dim=1, out=probabilities[t])
        error = (probabilities[t] - target) / labelled
        speed_c = torch.addmm(speed_c, error, second[t].T, beta=settings.momentum)
        speed_2 = torch.addmm(speed_2, seen[t].T, error, beta=settings.momentum)
        torch.sub(c[t], speed_c, alpha=settings.lr, out=c[t + 1])
        torch.sub(second[t], speed_2, alpha=settings.lr, out=second[t + 1])
    return Path(c, second, seen, probabilities)


def back_through(
    path: Path, kernel: Tensor, target: Tensor, c: Tensor, w2: Tensor, settings: SurrogateSettings
) -> Adjoints:
    """From how a loss changes with the last ``c`` and ``w2`` to how it changes with what the training was given.

    Reverse differentiation of :func:`train`, step by step, in the memory of the path itself.

    >>> kernel, target, settings = torch.eye(2), torch.eye(2), SurrogateSettings(steps=4)
    >>> path = train(kernel, torch.zeros(2, 3), torch.ones(3, 2), target, settings)
    >>> back_through(path, kernel, target, torch.ones(2, 3), torch.ones(3, 2), settings).kernel.shape
    torch.Size([2, 2])
    """
    labelled = target.size(0)
    of_hidden = torch.empty_like(path.hidden)
    speed_c, speed_2 = torch.zeros_like(c), torch.zeros_like(w2)
    for t in reversed(range(settings.steps)):
        hidden, probability, second = path.hidden[t], path.probabilities[t], path.w2[t]
        error = (probability - target) / labelled
        speed_c = speed_c.sub(c, alpha=settings.lr)
        speed_2 = speed_2.sub(w2, alpha=settings.lr)
        of_error = probability * torch.addmm(speed_c @ second, hidden, speed_2)
        logits = (of_error - probability * of_error.sum(dim=1, keepdim=True)) / labelled
        torch.addmm(logits @ second.T, error, speed_2.T, out=of_hidden[t])
        w2 = torch.addmm(torch.addmm(w2, speed_c.T, error), hidden.T, logits)
        c = torch.addmm(c, kernel.T, of_hidden[t])
        speed_c, speed_2 = settings.momentum * speed_c, settings.momentum * speed_2
    # the sum over all steps of [l, h] [h, l] products, as one
    of_kernel = _side_by_side(of_hidden) @ _side_by_side(path.c[:-1]).T
    return Adjoints(of_kernel, of_hidden.sum(dim=0))


def _side_by_side(steps: Tensor) -> Tensor:
    return steps.transpose(0, 1).reshape(steps.size(1), -1)
