"""The scores of pairs of nodes and their gradients; the pairs' differences are never written down."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

# Pairs whose weight gradients a program adds up before it passes them on.
PAIRS = 32


@triton.jit
def _pair_difference(hidden, nodes, p, inside, run, runs, channels, count, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    here = inside[:, None] & (c < channels)[None, :]
    first = tl.load(nodes + (2 * run) * count + p, mask=inside, other=0)
    second = tl.load(nodes + (2 * run + 1) * count + p, mask=inside, other=0)
    first, second = (first * runs + run) * channels, (second * runs + run) * channels
    d = tl.load(hidden + first[:, None] + c[None, :], mask=here, other=0.0)
    d -= tl.load(hidden + second[:, None] + c[None, :], mask=here, other=0.0)
    return d, first, second, here


@triton.jit
def _pair_scores(hidden, nodes, weight, scores, runs, channels, count, BLOCK: tl.constexpr, TILE: tl.constexpr):
    run = tl.program_id(1).to(tl.int64)
    p = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = p < count
    c = tl.arange(0, BLOCK)
    d, _, _, _ = _pair_difference(hidden, nodes, p, inside, run, runs, channels, count, BLOCK)
    w = tl.load(weight + run * channels + c, mask=c < channels, other=0.0)
    tl.store(scores + run * count + p, tl.sum(tl.abs(d) * w[None, :], axis=1), mask=inside)


@triton.jit
def _pair_scores_backward(
    gradient,
    hidden,
    nodes,
    weight,
    hidden_bar,
    weight_bar,
    runs,
    channels,
    count,
    BLOCK: tl.constexpr,
    TILE: tl.constexpr,
    PAIRS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    c = tl.arange(0, BLOCK)
    w = tl.load(weight + run * channels + c, mask=c < channels, other=0.0)
    of_weight = tl.zeros([BLOCK], dtype=tl.float32)
    for tile in range(0, PAIRS, TILE):
        p = tl.program_id(0) * PAIRS + tile + tl.arange(0, TILE)
        inside = p < count
        d, first, second, here = _pair_difference(hidden, nodes, p, inside, run, runs, channels, count, BLOCK)
        g = tl.load(gradient + run * count + p, mask=inside, other=0.0)
        of_weight += tl.sum(tl.abs(d) * g[:, None], axis=0)
        sign = (d > 0).to(tl.float32) - (d < 0).to(tl.float32)
        pull = sign * g[:, None] * w[None, :]
        here = here & (pull != 0)  # dropout has left many of them equal
        tl.atomic_add(hidden_bar + first[:, None] + c[None, :], pull, mask=here, sem="relaxed")
        tl.atomic_add(hidden_bar + second[:, None] + c[None, :], -pull, mask=here, sem="relaxed")
    tl.atomic_add(weight_bar + run * channels + c, of_weight, mask=c < channels, sem="relaxed")


def pair_scores(hidden: Tensor, nodes: Tensor, weight: Tensor) -> Tensor:
    """The scores ``[p]`` or ``[runs, p]``."""
    hidden, nodes, weight = hidden.contiguous(), nodes.contiguous(), weight.contiguous()
    scores = hidden.new_empty(*nodes.shape[:-2], nodes.size(-1))
    runs, channels, count, block, tile = _pair_sizes(hidden, nodes)
    _pair_scores[(triton.cdiv(count, tile), runs)](
        hidden, nodes, weight, scores, runs, channels, count, BLOCK=block, TILE=tile
    )
    return scores


def pair_scores_backward(gradient: Tensor, hidden: Tensor, nodes: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of ``hidden`` and ``weight``."""
    hidden, nodes, weight = hidden.contiguous(), nodes.contiguous(), weight.contiguous()
    hidden_bar, weight_bar = torch.zeros_like(hidden), torch.zeros_like(weight)
    runs, channels, count, block, tile = _pair_sizes(hidden, nodes)
    _pair_scores_backward[(triton.cdiv(count, PAIRS), runs)](
        gradient.contiguous(),
        hidden,
        nodes,
        weight,
        hidden_bar,
        weight_bar,
        runs,
        channels,
        count,
        BLOCK=block,
        TILE=tile,
        PAIRS=PAIRS,
    )
    return hidden_bar, weight_bar


def _pair_sizes(hidden: Tensor, nodes: Tensor) -> tuple[int, ...]:
    channels, count = hidden.size(-1), nodes.size(-1)
    block = triton.next_power_of_2(channels)
    return hidden.size(1) if hidden.dim() == 3 else 1, channels, count, block, max(1, min(16, 4096 // block))
