"""The pretext head's linear map on the absolute difference of two nodes' hidden states."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from simpgcn.data.sparse_product import sparse_product
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
        if kernels := kernels_for(hidden, "pair_scores"):
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
        if kernels := kernels_for(hidden, "pair_scores"):
            hidden_bar, weight_bar = kernels.pair_scores_backward(gradient, hidden, nodes, weight)
            return hidden_bar, None, weight_bar
        if hidden.dim() == 2:
            pull = _pull(hidden, nodes, gradient, difference)
        else:
            runs = zip(hidden.unbind(1), nodes, gradient, difference, strict=True)
            pull = torch.stack([_pull(*run) for run in runs], dim=1)
        # The sum over pairs of |H_i - H_j| g is that over nodes of H times what pulls at it, which are fewer.
        return pull * weight, None, (pull * hidden).sum(dim=0)

    @staticmethod
    def vmap(info: Any, in_dims: Any, hidden: Tensor, nodes: Tensor, weight: Tensor) -> Any:
        runs = info.batch_size
        args = runs_first(nodes, in_dims[1], runs), runs_first(weight, in_dims[2], runs)
        scores, difference = _PairScores.apply(runs_second(hidden, in_dims[0], runs), *args)
        return (scores, difference), (0, None if difference.dim() == 1 else 0)


def _scores(hidden: Tensor, nodes: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The scores, and the differences they are made of."""
    count, device = nodes.size(1), nodes.device
    signs = torch.tensor([1, -1], dtype=hidden.dtype, device=device).repeat(count)
    ends = torch.arange(0, 2 * count + 1, 2, device=device)
    incidence = torch.sparse_csr_tensor(
        ends, nodes.T.reshape(-1), signs, (count, hidden.size(0)), check_invariants=False
    )
    difference = sparse_product(incidence, hidden)
    return difference.abs() @ weight, difference


def _pull(hidden: Tensor, nodes: Tensor, gradient: Tensor, difference: Tensor) -> Tensor:
    """What the pairs pull each node's states to with, were all weights 1."""
    signs = difference.sign().mul_(gradient.unsqueeze(1))
    firsts, seconds = (torch.zeros_like(hidden).index_add_(0, ends, signs) for ends in nodes)
    return firsts.sub_(seconds)
