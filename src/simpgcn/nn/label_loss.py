r"""What logits say of labelled nodes: a weighted cross-entropy, and how many of them they get right.

.. math:: \mathcal{L} = \sum_i w_i \big(\log \textstyle\sum_k e^{z_{ik}} - z_{i y_i}\big), \qquad
          \bar{\mathbf{z}}_i = w_i (\mathrm{softmax}(\mathbf{z}_i) - \mathbf{e}_{y_i})
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from simpgcn.nn.batching import Operator, runs_first, runs_second
from simpgcn.nn.kernels import kernels_for


def label_loss(logits: Tensor, nodes: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """The sum over the labelled nodes of their cross-entropies, each times its weight.

    Args:
        logits: ``[n, c]``.
        nodes: The labelled nodes, ``[l]``; one of them may come twice.
        y: Their classes, ``[l]``.
        weight: What each counts for, ``[l]``; it gets no gradient.

    >>> round(float(label_loss(torch.zeros(3, 2), torch.tensor([1]), torch.tensor([0]), torch.ones(1))), 4)
    0.6931
    """
    loss: Tensor = _LabelLoss.apply(logits, nodes, y, weight)
    return loss


def label_scores(logits: Tensor, nodes: Tensor, y: Tensor, train: Tensor, val: Tensor) -> tuple[Tensor, ...]:
    """How many labelled nodes of the training set are right, the loss of the validation set, and how many of it are.

    Arguments as in :func:`label_loss`, with a weight for each set; a node without weight is not of the set. Nothing
    here has a gradient.

    >>> logits, y = torch.tensor([[0.0, 2.0], [3.0, 0.0]]), torch.tensor([1, 1])
    >>> label_scores(logits, torch.tensor([0, 1]), y, torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]))
    (tensor(1.), tensor(3.0486), tensor(0.))
    """
    scores: Tensor = _LabelScores.apply(logits, nodes, y, train, val)
    return scores.unbind()


class _LabelLoss(Operator):
    """With several runs, logits is [n, runs, c], the others [runs, l], the loss [runs]."""

    @staticmethod
    def forward(logits: Tensor, nodes: Tensor, y: Tensor, weight: Tensor) -> Tensor:
        if kernels := kernels_for(logits, "label_loss"):
            loss: Tensor = kernels.label_loss(logits, nodes, y, weight)
            return loss
        chosen = torch.log_softmax(_rows(logits, nodes), dim=-1).gather(-1, y.unsqueeze(-1)).squeeze(-1)
        return -(weight * chosen).sum(dim=-1)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        logits, nodes, y, weight = ctx.saved_tensors
        if kernels := kernels_for(logits, "label_loss"):
            return kernels.label_loss_backward(gradient, logits, nodes, y, weight), None, None, None
        rows = torch.softmax(_rows(logits, nodes), dim=-1)
        rows.scatter_add_(-1, y.unsqueeze(-1), rows.new_full((), -1).expand(*y.shape, 1))
        rows *= (weight * gradient.unsqueeze(-1)).unsqueeze(-1)
        found = torch.zeros_like(logits)
        if logits.dim() == 2:
            return found.index_add_(0, nodes, rows), None, None, None
        for run in range(logits.size(1)):
            found[:, run].index_add_(0, nodes[run], rows[run])
        return found, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, logits: Tensor, *labels: Tensor) -> tuple[Tensor, int]:
        runs = info.batch_size
        by_run = (runs_first(x, dim, runs) for x, dim in zip(labels, in_dims[1:], strict=True))
        return _LabelLoss.apply(runs_second(logits, in_dims[0], runs), *by_run), 0


class _LabelScores(Operator):
    """Shapes as above, the scores [3] or [3, runs]."""

    @staticmethod
    def forward(logits: Tensor, nodes: Tensor, y: Tensor, train: Tensor, val: Tensor) -> Tensor:
        if kernels := kernels_for(logits, "label_loss"):
            scores: Tensor = kernels.label_scores(logits, nodes, y, train, val)
            return scores
        rows = _rows(logits, nodes)
        right = rows.argmax(dim=-1) == y
        chosen = torch.log_softmax(rows, dim=-1).gather(-1, y.unsqueeze(-1)).squeeze(-1)
        hits = ((right & (weight > 0)).sum(dim=-1).to(rows.dtype) for weight in (train, val))
        return torch.stack([next(hits), -(val * chosen).sum(dim=-1), next(hits)])

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(info: Any, in_dims: Any, logits: Tensor, *labels: Tensor) -> tuple[Tensor, int]:
        runs = info.batch_size
        by_run = (runs_first(x, dim, runs) for x, dim in zip(labels, in_dims[1:], strict=True))
        return _LabelScores.apply(runs_second(logits, in_dims[0], runs), *by_run), 1


def _rows(logits: Tensor, nodes: Tensor) -> Tensor:
    """The labelled nodes' logits, ``[l, c]`` or ``[runs, l, c]``."""
    if logits.dim() == 2:
        return logits.index_select(0, nodes)
    return torch.stack([logits[:, run].index_select(0, nodes[run]) for run in range(logits.size(1))])
