"""Dropout that draws its mask where it is applied, and draws it again for the gradient."""

from __future__ import annotations

import torch
from torch import Tensor

from simpgcn.compiled import call
from simpgcn.nn.kernels.cpu.randomness import keys_of


def dropout(x: Tensor, key: Tensor, use: int, limit: int, scale: float) -> Tensor:
    """``x``, ``[n, ...]`` or ``[n, runs, ...]``, without the entries whose random 16 bits are below ``limit``."""
    out = torch.empty_like(x)
    n, runs = x.size(0), key.numel()
    width = x.numel() // max(1, n * runs)
    call("dropout", x, out, keys_of(key, use), limit, float(scale), n, runs, width, torch.get_num_threads())
    return out
