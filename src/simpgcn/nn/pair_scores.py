"""The pretext head's linear map on the absolute difference of two nodes' hidden states."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from simpgcn.data.sparse_product import Rows, rows_product
from simpgcn.nn.batching import Operator, runs_first, runs_second
from simpgcn.nn.kernels import kernels_for

# So many numbers stay in a core's cache between the passes over them.
CACHED = 1 << 17


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
        scores, signs = (torch.stack(parts) for parts in zip(*runs, strict=True))
        return scores, signs

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs, output[1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None, _: None) -> tuple[Tensor | None, None, Tensor | None]:
        if gradient is None:
            return None, None, None
        hidden, nodes, weight, signs = ctx.saved_tensors
        if kernels := kernels_for(hidden, "pair_scores"):
            hidden_bar, weight_bar = kernels.pair_scores_backward(gradient, hidden, nodes, weight)
            return hidden_bar, None, weight_bar
        if hidden.dim() == 2:
            pull = _pull(hidden.size(0), nodes, gradient, signs)
        else:
            runs = zip(nodes, gradient, signs, strict=True)
            pull = torch.stack([_pull(hidden.size(0), *run) for run in runs], dim=1)
        # The sum over pairs of |H_i - H_j| g is that over nodes of H times what pulls at it, which are fewer.
        return pull * weight, None, (pull * hidden).sum(dim=0)

    @staticmethod
    def vmap(info: Any, in_dims: Any, hidden: Tensor, nodes: Tensor, weight: Tensor) -> Any:
        runs = info.batch_size
        args = runs_first(nodes, in_dims[1], runs), runs_first(weight, in_dims[2], runs)
        scores, signs = _PairScores.apply(runs_second(hidden, in_dims[0], runs), *args)
        return (scores, signs), (0, None if signs.dim() == 1 else 0)


def _scores(hidden: Tensor, nodes: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The scores, and the signs of the differences they are made of."""
    count, columns = nodes.size(1), hidden.size(1)
    scores, signs = hidden.new_empty(count), hidden.new_empty(count, columns)
    both = nodes.T.reshape(-1)
    chunk = max(1, min(count, CACHED // max(1, columns)))
    starts, weights = _differences(chunk, nodes.dtype, hidden.dtype, nodes.device)
    for first in range(0, count, chunk):
        last = min(first + chunk, count)
        rows = Rows(
            both[2 * first : 2 * last], starts[: last - first + 1], weights[: 2 * (last - first)], hidden.size(0)
        )
        difference = rows_product(rows, hidden)
        torch.sign(difference, out=signs[first:last])
        torch.mv(difference.abs_(), weight, out=scores[first:last])
    return scores, signs


@lru_cache(4)
def _differences(count: int, index: torch.dtype, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """Where the rows of a matrix of so many differences start, and its values: 1 and -1 in each."""
    starts = torch.arange(0, 2 * count + 1, 2, dtype=index, device=device)
    return starts, torch.tensor([1, -1], dtype=dtype, device=device).repeat(count)


def _pull(n: int, nodes: Tensor, gradient: Tensor, signs: Tensor) -> Tensor:
    """What the pairs pull each node's states to with, were all weights 1: a sum over the pairs the node is in."""
    ends = nodes.T.reshape(-1).cpu().numpy()
    # NumPy sorts numbers of 16 bits ten times as fast as others.
    order = np.argsort(ends.astype(np.uint16) if n <= 1 << 16 else ends, kind="stable")
    starts = np.zeros(n + 1, dtype=order.dtype)
    np.cumsum(np.bincount(ends, minlength=n), out=starts[1:])
    place, bags = (torch.from_numpy(x).to(nodes.device) for x in (order, starts))
    weights = torch.stack([gradient, -gradient], dim=1).view(-1).index_select(0, place)
    return rows_product(Rows(place >> 1, bags, weights, nodes.size(1)), signs)
