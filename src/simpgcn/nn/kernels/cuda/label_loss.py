"""The loss of labelled nodes, its gradient and the evaluation, each in one pass over their logits."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

# Labelled nodes of a program.
NODES = 32


@triton.jit
def _labelled(logits, nodes, y, run, runs, classes, count, NODES: tl.constexpr, BLOCK: tl.constexpr):
    """Of a program's labelled nodes: their place, whether there is one, logits, log of the sum, class, logit there."""
    i = tl.program_id(0) * NODES + tl.arange(0, NODES)
    inside = i < count
    c = tl.arange(0, BLOCK)
    node = tl.load(nodes + run * count + i, mask=inside, other=0)
    label = tl.load(y + run * count + i, mask=inside, other=0)
    here = inside[:, None] & (c < classes)[None, :]
    z = tl.load(logits + (node * runs + run)[:, None] * classes + c[None, :], mask=here, other=-float("inf"))
    z = tl.where(inside[:, None], z, 0.0)
    top = tl.max(z, axis=1)
    total = top + tl.log(tl.sum(tl.exp(z - top[:, None]), axis=1))
    mine = tl.sum(tl.where(c[None, :] == label[:, None], z, 0.0), axis=1)
    return i, inside, node, z, top, total, label, mine


@triton.jit
def _label_loss(logits, nodes, y, weight, loss, runs, classes, count, NODES: tl.constexpr, BLOCK: tl.constexpr):
    run = tl.program_id(1).to(tl.int64)
    i, inside, _, _, _, total, _, mine = _labelled(logits, nodes, y, run, runs, classes, count, NODES, BLOCK)
    w = tl.load(weight + run * count + i, mask=inside, other=0.0)
    tl.atomic_add(loss + run, tl.sum(w * (total - mine)), sem="relaxed")


@triton.jit
def _label_loss_backward(
    gradient, logits, nodes, y, weight, out, runs, classes, count, NODES: tl.constexpr, BLOCK: tl.constexpr
):
    run = tl.program_id(1).to(tl.int64)
    i, inside, node, z, _, total, label, _ = _labelled(logits, nodes, y, run, runs, classes, count, NODES, BLOCK)
    w = tl.load(weight + run * count + i, mask=inside, other=0.0) * tl.load(gradient + run)
    c = tl.arange(0, BLOCK)
    found = w[:, None] * (tl.exp(z - total[:, None]) - (c[None, :] == label[:, None]).to(tl.float32))
    here = (inside & (w != 0))[:, None] & (c < classes)[None, :]
    tl.atomic_add(out + (node * runs + run)[:, None] * classes + c[None, :], found, mask=here, sem="relaxed")


@triton.jit
def _label_scores(logits, nodes, y, train, val, scores, runs, classes, count, NODES: tl.constexpr, BLOCK: tl.constexpr):
    run = tl.program_id(1).to(tl.int64)
    i, inside, _, z, top, total, label, mine = _labelled(logits, nodes, y, run, runs, classes, count, NODES, BLOCK)
    t = tl.load(train + run * count + i, mask=inside, other=0.0)
    v = tl.load(val + run * count + i, mask=inside, other=0.0)
    c = tl.arange(0, BLOCK)
    first = tl.min(tl.where(z == top[:, None], c[None, :], BLOCK), axis=1)  # of the largest
    right = first == label
    tl.atomic_add(scores + run, tl.sum((right & (t > 0)).to(tl.float32)), sem="relaxed")
    tl.atomic_add(scores + runs + run, tl.sum(v * (total - mine)), sem="relaxed")
    tl.atomic_add(scores + 2 * runs + run, tl.sum((right & (v > 0)).to(tl.float32)), sem="relaxed")


def label_loss(logits: Tensor, nodes: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """The loss, or one for each run."""
    loss = logits.new_zeros(nodes.shape[:-1])
    grid, sizes = _sizes(logits, nodes)
    _label_loss[grid](logits.contiguous(), nodes.contiguous(), y.contiguous(), weight.contiguous(), loss, **sizes)
    return loss


def label_loss_backward(gradient: Tensor, logits: Tensor, nodes: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    """The gradient of ``logits``."""
    logits = logits.contiguous()
    out = torch.zeros_like(logits)
    grid, sizes = _sizes(logits, nodes)
    labels = nodes.contiguous(), y.contiguous(), weight.contiguous()
    _label_loss_backward[grid](gradient.contiguous(), logits, *labels, out, **sizes)
    return out


def label_scores(logits: Tensor, nodes: Tensor, y: Tensor, train: Tensor, val: Tensor) -> Tensor:
    """Hits of the training set, loss and hits of the validation set, ``[3]`` or ``[3, runs]``."""
    scores = logits.new_zeros(3, *nodes.shape[:-1])
    grid, sizes = _sizes(logits, nodes)
    labels = (x.contiguous() for x in (nodes, y, train, val))
    _label_scores[grid](logits.contiguous(), *labels, scores, **sizes)
    return scores


def _sizes(logits: Tensor, nodes: Tensor) -> tuple[tuple[int, int], dict[str, int]]:
    classes, count = logits.size(-1), nodes.size(-1)
    runs = nodes.size(0) if nodes.dim() == 2 else 1
    sizes = {"runs": runs, "classes": classes, "count": count}
    block = triton.next_power_of_2(classes)
    return (triton.cdiv(count, NODES), runs), sizes | {"NODES": NODES, "BLOCK": block}
