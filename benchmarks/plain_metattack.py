"""Metattack in dense matrices, by torch's autograd through every step of the training: literal, slow, and large.

What ``simpgcn.robustness`` is tested against, and measured against by benchmarks/metattack.py.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from simpgcn.robustness.degree_test import DegreeTest
from simpgcn.robustness.surrogate import SurrogateSettings


def normalized(adjacency: Tensor) -> Tensor:
    looped = adjacency + torch.eye(len(adjacency), dtype=adjacency.dtype)
    scale = looped.sum(1).rsqrt()
    return scale[:, None] * looped * scale


def attack_loss(
    adjacency: Tensor,
    x: Tensor,
    y: Tensor,
    train: Tensor,
    wanted: Tensor,
    weight: Tensor,
    weights: tuple[Tensor, Tensor],
    settings: SurrogateSettings,
    *,
    approximate: bool = False,
) -> Tensor:
    """The attacker's loss after the surrogate's training, as a function of the adjacency matrix."""
    first, second = (w.clone().requires_grad_() for w in weights)
    speed = [torch.zeros_like(first), torch.zeros_like(second)]
    a = normalized(adjacency)
    total = torch.zeros((), dtype=x.dtype)

    def use() -> Tensor:
        logits = a @ (a @ (x @ first)) @ second
        return (weight * F.cross_entropy(logits, wanted, reduction="none")).sum()

    for _ in range(settings.steps):
        logits = a @ (a @ (x @ first)) @ second
        loss = F.cross_entropy(logits[train], y[train])
        gradients = torch.autograd.grad(loss, (first, second), create_graph=not approximate, retain_graph=True)
        speed = [settings.momentum * v + g for v, g in zip(speed, gradients, strict=True)]
        first, second = (w - settings.lr * v for w, v in zip((first, second), speed, strict=True))
        if approximate:
            first, second = (w.detach().requires_grad_() for w in (first, second))
            total = total + use()
    return total if approximate else use()


def best_flip(
    adjacency: Tensor, gradient: Tensor, taboo: list[tuple[int, int]], test: DegreeTest | None
) -> tuple[int, int]:
    """The flip with the steepest gradient that the degrees do not show, over all pairs at once."""
    scores = (gradient + gradient.T) * (1 - 2 * adjacency)
    degree = adjacency.sum(1).long()
    lonely = (adjacency > 0) & ((degree == 1)[:, None] | (degree == 1))
    scores[lonely] = -torch.inf
    for change in (1, -1) if test is not None else ():
        kinds, allowed = test.allowed(degree, change)
        place = torch.searchsorted(kinds, degree)
        scores[(adjacency == (change < 0)) & ~allowed[place][:, place]] = -torch.inf
    for u, v in taboo:
        scores[u, v] = -torch.inf
    scores[torch.ones_like(scores, dtype=torch.bool).tril()] = -torch.inf
    place = int(scores.argmax())
    return place // len(adjacency), place % len(adjacency)
