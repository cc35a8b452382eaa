"""Metattack's gradient in dense matrices, by torch's autograd through every step: literal, slow, and large."""

from __future__ import annotations

import torch
from torch.nn import functional as F


def normalized(adjacency):
    looped = adjacency + torch.eye(len(adjacency), dtype=adjacency.dtype)
    scale = looped.sum(1).rsqrt()
    return scale[:, None] * looped * scale


def attack_loss(adjacency, x, y, train, wanted, weight, weights, settings, *, approximate=False):
    """The attacker's loss after the surrogate's training, as a function of the adjacency matrix."""
    first, second = (w.clone().requires_grad_() for w in weights)
    speed = [torch.zeros_like(first), torch.zeros_like(second)]
    a = normalized(adjacency)
    total = 0.0

    def use():
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
