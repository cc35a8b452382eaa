"""Dropout whose mask is a function of a key: cheap to draw, and not kept for the backward pass by the kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from simpgcn.nn.batching import Operator, runs_second
from simpgcn.nn.kernels import kernels_for
from simpgcn.nn.randomness import current_key, half_keys, hash32


def dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    """Zero each entry of ``x`` with probability ``p`` and scale the others by 1 / (1 - p).

    ``p`` is rounded to 16 bits, 0.5 is exact. Inside :func:`simpgcn.nn.randomness.drawing_from`
    the mask comes from its key, otherwise from torch's global generator.

    >>> dropout(torch.ones(4), 0.5, training=False)
    tensor([1., 1., 1., 1.])
    >>> sorted(set(dropout(torch.ones(100), 0.5).tolist()))
    [0.0, 2.0]
    """
    if not training or p == 0:
        return x
    if p >= 1:
        return x * 0
    key = current_key(x.device)
    if kernels_for(x, "dropout"):
        dropped: Tensor = _Fused.apply(x, key.value, key.next_call(), p)
        return dropped
    return x * _Mask.apply(key.value, key.next_call(), p, x.shape, x.dtype)


def threshold(p: float) -> int:
    """The signed 16-bit number below which an entry is dropped.

    >>> threshold(0.5)
    0
    """
    return min(round(p * 65536), 65535) - 32768


def scale(p: float) -> float:
    """What the others are multiplied with, so that the mean stays.

    >>> scale(0.5)
    2.0
    """
    return 65536 / (32768 - threshold(p))


class _Mask(Operator):
    """0 or 1 / (1 - p) for each entry of a shape; for several runs they lie side by side in dimension 1."""

    @staticmethod
    def forward(key: Tensor, call: int, p: float, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        if key.dim() == 0:
            return _mask(int(key), call, p, shape, dtype).to(key.device)
        return torch.stack([_mask(one, call, p, shape, dtype) for one in key.tolist()], dim=1).to(key.device)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> tuple[Tensor, int]:
        return _Mask.apply(*inputs), 1


def _mask(key: int, call: int, p: float, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    size = math.prod(shape)
    pairs = np.arange((size + 1) // 2, dtype=np.uint32)  # 32 random bits serve two entries
    lanes = hash32(pairs, half_keys(key, call)).view(np.int16)[:size]
    kept = np.multiply(lanes >= threshold(p), np.float32(scale(p)))
    return torch.from_numpy(kept).to(dtype).view(shape)


class _Fused(Operator):
    """The same by kernels, where the mask is drawn again for the backward pass: x is [n, ...] or [n, runs, ...]."""

    @staticmethod
    def forward(x: Tensor, key: Tensor, call: int, p: float) -> Tensor:
        return _fused(x, key, call, p)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        _, key, ctx.call, ctx.p = inputs
        ctx.save_for_backward(key)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (key,) = ctx.saved_tensors
        return _Fused.apply(gradient, key, ctx.call, ctx.p), None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, key: Tensor, call: int, p: float) -> tuple[Tensor, int]:
        return _Fused.apply(runs_second(x, in_dims[0], info.batch_size), key, call, p), 1


def _fused(x: Tensor, key: Tensor, call: int, p: float) -> Tensor:
    kernels = kernels_for(x, "dropout")
    assert kernels is not None
    dropped: Tensor = kernels.dropout(x.contiguous(), key, call, threshold(p), scale(p))
    return dropped
