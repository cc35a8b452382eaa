"""The pretext task's head: from two hidden states to how similar the nodes' features are."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from simpgcn.errors import SimPGCNError
from simpgcn.nn.pair_scores import pair_scores
from simpgcn.nn.randomness import current_key, draw
from simpgcn.similarity import Pairs

Task = Literal["regression", "classification"]


class SimilarityHead(nn.Module):
    r"""Predicts the similarity of node pairs and scores the prediction.

    .. math:: \mathcal{L}_{self} = \frac{1}{|\mathcal{T}|} \sum_{(i, j) \in \mathcal{T}}
              \ell\big(f_w(|\mathbf{H}_i - \mathbf{H}_j|),\, t_{ij}\big)

    with a linear :math:`f_w`. ``regression``: :math:`t_{ij} = \mathbf{S}_{ij}` and the squared error;
    ``classification``: whether the pair is a similar one, and the binary cross-entropy.

    The paper writes the plain difference; its published code takes the absolute one, and so does this head.
    Pairs have no order, and a linear map of :math:`\mathbf{H}_i - \mathbf{H}_j` changes its sign with it.

    Args:
        channels: Size of the hidden states.
        task: ``regression`` or ``classification``.

    >>> pairs = Pairs(torch.tensor([[0], [1]]), torch.tensor([0.5]), torch.tensor([True]))
    >>> SimilarityHead(4)(torch.rand(2, 4), pairs).shape
    torch.Size([])
    """

    def __init__(self, channels: int, task: Task = "regression") -> None:
        super().__init__()
        if task not in get_args(Task):
            raise SimPGCNError(f"model.pretext_task must be regression or classification, not {task!r}")
        self.task = task
        self.linear = nn.Linear(channels, 1)

    def forward(self, hidden: Tensor, pairs: Pairs) -> Tensor:
        """The mean loss over ``pairs``."""
        predicted = pair_scores(hidden, pairs.nodes, self.linear.weight.squeeze(0)) + self.linear.bias
        if self.task == "regression":
            return F.mse_loss(predicted, pairs.similarity)
        return F.binary_cross_entropy_with_logits(predicted, pairs.similar.to(predicted.dtype))


def draw_pairs(pairs: Pairs, count: int) -> Pairs:
    """``count`` of the pairs at random without repetition; all if there are no more.

    >>> pairs = Pairs(torch.arange(8).view(2, 4), torch.rand(4), torch.ones(4, dtype=torch.bool))
    >>> draw_pairs(pairs, 3).nodes.shape
    torch.Size([2, 3])
    """
    total = pairs.similarity.numel()
    if total <= count:
        return pairs
    drawn = draw(current_key(pairs.nodes.device), total, count)
    nodes = torch.stack([ends.index_select(0, drawn) for ends in pairs.nodes])  # faster than both at once
    return Pairs(nodes, pairs.similarity.index_select(0, drawn), pairs.similar.index_select(0, drawn))
