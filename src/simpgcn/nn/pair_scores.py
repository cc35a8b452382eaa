"""The pretext head's linear map on the absolute difference of two nodes' hidden states."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from simpgcn.nn.batching import Operator, runs_first, runs_second
from simpgcn.nn.kernels import kernels_for


def pair_scores(hidden: Tensor, nodes: Tensor, weight: Tensor) -> Tensor:
    r""":math:`\mathbf{w}^\top |\mathbf{H}_i - \mathbf{H}_j|` for each pair (i, j).

    Args:
        hidden: ``[n, c]``.
        nodes: The pairs, ``[2, p]``.
        weight: ``[c]``.

    >>> pair_scores(torch.tensor([[1.0, 2.0], [4.0, 0.0]]), torch.tensor([[0], [1]]), torch.tensor([1.0, 10.0]))
    tensor([23.])
    """
    scores: Tensor = _PairScores.apply(hidden, nodes, weight)[0]
    return scores


class _PairScores(Operator):
    """With several runs, hidden is [n, runs, c], nodes [runs, 2, p], weight [runs, c], the scores [runs, p]."""

    @staticmethod
    def forward(hidden: Tensor, nodes: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        if kernels := kernels_for(hidden):
            return kernels.pair_scores(hidden, nodes, weight), hidden.new_empty(0)
        if hidden.dim() == 2:
            return _scores(hidden, nodes, weight)
        runs = [_scores(*run) for run in zip(hidden.unbind(1), nodes, weight, strict=True)]
        scores, differences = (torch.stack(parts) for parts in zip(*runs, strict=True))
        return scores, differences

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs, output[1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None, _: None) -> tuple[Tensor | None, None, Tensor | None]:
        if gradient is None:
            return None, None, None
        hidden, nodes, weight, difference = ctx.saved_tensors
        if kernels := kernels_for(hidden):
            hidden_bar, weight_bar = kernels.pair_scores_backward(gradient, hidden, nodes, weight)
            return hidden_bar, None, weight_bar
        hidden_bar, weight_bar = torch.zeros_like(hidden), torch.zeros_like(weight)
        if hidden.dim() == 2:
            _accumulate(hidden_bar, weight_bar, gradient, nodes, weight, difference)
        else:
            for run in zip(hidden_bar.unbind(1), weight_bar, gradient, nodes, weight, difference, strict=True):
                _accumulate(*run)
        return hidden_bar, None, weight_bar

    @staticmethod
    def vmap(info: Any, in_dims: Any, hidden: Tensor, nodes: Tensor, weight: Tensor) -> Any:
        runs = info.batch_size
        args = runs_first(nodes, in_dims[1], runs), runs_first(weight, in_dims[2], runs)
        scores, difference = _PairScores.apply(runs_second(hidden, in_dims[0], runs), *args)
        return (scores, difference), (0, None if difference.dim() == 1 else 0)


def _scores(hidden: Tensor, nodes: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The scores, and the differences they are made of."""
    # index_select, because hidden[first] is slower
    difference = hidden.index_select(0, nodes[0]).sub_(hidden.index_select(0, nodes[1]))
    return difference.abs() @ weight, difference


def _accumulate(
    hidden_bar: Tensor, weight_bar: Tensor, gradient: Tensor, nodes: Tensor, weight: Tensor, difference: Tensor
) -> None:
    torch.mv(difference.abs().T, gradient, out=weight_bar)
    pull = difference.sign().mul_(gradient.unsqueeze(1)).mul_(weight)
    hidden_bar.index_add_(0, nodes[0], pull)
    hidden_bar.index_add_(0, nodes[1], pull.neg_())  # alpha=-1 takes three times as long
