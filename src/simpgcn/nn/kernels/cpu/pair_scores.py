"""The scores of node pairs, and their gradients, with no difference of two nodes ever written down."""

from __future__ import annotations

import torch
from torch import Tensor

from simpgcn.compiled import call


def pair_scores(hidden: Tensor, nodes: Tensor, weight: Tensor) -> Tensor:
    """The scores ``[p]`` or ``[runs, p]``."""
    hidden, nodes, weight = hidden.contiguous(), nodes.contiguous(), weight.contiguous()
    scores = hidden.new_empty(*nodes.shape[:-2], nodes.size(-1))
    call("pair_scores", hidden, nodes, weight, scores, *_sizes(hidden, nodes, weight))
    return scores


def pair_scores_backward(gradient: Tensor, hidden: Tensor, nodes: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of ``hidden`` and ``weight``."""
    gradient, hidden, nodes, weight = (x.contiguous() for x in (gradient, hidden, nodes, weight))
    hidden_bar, weight_bar = torch.zeros_like(hidden), torch.zeros_like(weight)
    call(
        "pair_scores_backward",
        gradient,
        hidden,
        nodes,
        weight,
        hidden_bar,
        weight_bar,
        hidden.size(0),
        *_sizes(hidden, nodes, weight),
    )
    return hidden_bar, weight_bar


def _sizes(hidden: Tensor, nodes: Tensor, weight: Tensor) -> tuple[int, ...]:
    """Runs, channels, pairs, threads; of arguments that fit together, which the library does not ask."""
    if (nodes.dtype, weight.dtype, weight.size(-1)) != (torch.int64, hidden.dtype, hidden.size(-1)):
        raise ValueError(f"pairs are int64 numbers of nodes, and weights {hidden.size(-1)} of {hidden.dtype}")
    if nodes.numel():
        least, greatest = nodes.aminmax()
        if least < 0 or greatest >= hidden.size(0):
            raise IndexError(f"pairs name nodes from {int(least)} to {int(greatest)}, but there are {hidden.size(0)}")
    runs = hidden.size(1) if hidden.dim() == 3 else 1
    return runs, hidden.size(-1), nodes.size(-1), torch.get_num_threads()
