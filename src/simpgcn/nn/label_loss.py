r"""What logits say of labelled nodes: a weighted cross-entropy, and how many of them they get right.

.. math:: \mathcal{L} = \sum_i w_i \big(\log \textstyle\sum_k e^{z_{ik}} - z_{i y_i}\big), \qquad
          \bar{\mathbf{z}}_i = w_i (\mathrm{softmax}(\mathbf{z}_i) - \mathbf{e}_{y_i})
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn import functional as F

from simpgcn.nn.batching import Operator, runs_first, runs_second
from simpgcn.nn.kernels import kernels_for


def label_loss(logits: Tensor, nodes: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """The sum over the labelled nodes of their cross-entropies, each times its weight.

    Args:
        logits: ``[n, c]``.
        nodes: The labelled nodes, ``[l]``; one of them may come twice.
        y: Their classes, ``[l]``.
        weight: What each counts for, ``[l]``; it gets no gradient.

    >>> import torch
    >>> round(float(label_loss(torch.zeros(3, 2), torch.tensor([1]), torch.tensor([0]), torch.ones(1))), 4)
    0.6931
    """
    if kernels_for(logits, "label_loss"):
        loss: Tensor = _LabelLoss.apply(logits, nodes, y, weight)
        return loss
    return (weight * F.cross_entropy(logits.index_select(0, nodes), y, reduction="none")).sum()


def label_scores(logits: Tensor, nodes: Tensor, y: Tensor, train: Tensor, val: Tensor) -> tuple[Tensor, ...]:
    """How many labelled nodes of the training set are right, the loss of the validation set, and how many of it are.

    Arguments as in :func:`label_loss`, with a weight for each set; a node without weight is not of the set. Nothing
    here has a gradient.

    >>> import torch
    >>> logits, y = torch.tensor([[0.0, 2.0], [3.0, 0.0]]), torch.tensor([1, 1])
    >>> label_scores(logits, torch.tensor([0, 1]), y, torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]))
    (tensor(1.), tensor(3.0486), tensor(0.))
    """
    if kernels_for(logits, "label_loss"):
        scores: Tensor = _LabelScores.apply(logits, nodes, y, train, val)
        return scores.unbind()
    rows = logits.detach().index_select(0, nodes)
    right = rows.argmax(dim=1) == y
    loss = (val * F.cross_entropy(rows, y, reduction="none")).sum()
    return (right & (train > 0)).sum().to(loss.dtype), loss, (right & (val > 0)).sum().to(loss.dtype)


class _LabelLoss(Operator):
    """With several runs, logits is [n, runs, c], the others [runs, l], the loss [runs]."""

    @staticmethod
    def forward(logits: Tensor, nodes: Tensor, y: Tensor, weight: Tensor) -> Tensor:
        loss: Tensor = _kernels(logits).label_loss(logits, nodes, y, weight)
        return loss

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        logits, *labels = ctx.saved_tensors
        return _kernels(logits).label_loss_backward(gradient, logits, *labels), None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, logits: Tensor, *labels: Tensor) -> tuple[Tensor, int]:
        return _LabelLoss.apply(*_by_run(info, in_dims, logits, labels)), 0


class _LabelScores(Operator):
    """Shapes as above, the scores [3] or [3, runs]."""

    @staticmethod
    def forward(logits: Tensor, nodes: Tensor, y: Tensor, train: Tensor, val: Tensor) -> Tensor:
        scores: Tensor = _kernels(logits).label_scores(logits, nodes, y, train, val)
        return scores

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(info: Any, in_dims: Any, logits: Tensor, *labels: Tensor) -> tuple[Tensor, int]:
        return _LabelScores.apply(*_by_run(info, in_dims, logits, labels)), 1


def _by_run(info: Any, in_dims: Any, logits: Tensor, labels: tuple[Tensor, ...]) -> list[Tensor]:
    runs = info.batch_size
    by_run = [runs_first(x, dim, runs) for x, dim in zip(labels, in_dims[1:], strict=True)]
    return [runs_second(logits, in_dims[0], runs), *by_run]


def _kernels(logits: Tensor) -> Any:
    kernels = kernels_for(logits, "label_loss")
    assert kernels is not None
    return kernels
