"""Dropout that draws its mask where it is applied, and draws it again for the gradient."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from simpgcn.nn.kernels.cuda.randomness import call_offset, half_keys, hash32


@triton.jit
def _dropout(x, out, key, call, limit, scale, n, runs, width, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    run = tl.program_id(1)
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)[None, :]
    inside = (row < n) & (column < width)
    first, second = half_keys(tl.load(key + run), call)
    e = row * width + column
    z = hash32(e >> 1, first, second)
    lane = tl.where((e & 1) == 0, z & 0xFFFF, z >> 16).to(tl.int32)
    lane = tl.where(lane >= 32768, lane - 65536, lane)
    place = (row * runs + run) * width + column
    value = tl.load(x + place, mask=inside, other=0.0)
    tl.store(out + place, tl.where(lane >= limit, value * scale, 0.0), mask=inside)


def dropout(x: Tensor, key: Tensor, call: int, limit: int, scale: float) -> Tensor:
    """``x``, ``[n, ...]`` or ``[n, runs, ...]``, without the entries whose random 16 bits are below ``limit``."""
    out = torch.empty_like(x)
    n, runs = x.size(0), key.numel()
    width = x.numel() // (n * runs)
    block = min(256, triton.next_power_of_2(width))
    rows = max(1, 1024 // block)
    grid = (triton.cdiv(n, rows), runs, triton.cdiv(width, block))
    _dropout[grid](x, out, key, call_offset(call), limit, scale, n, runs, width, ROWS=rows, BLOCK=block)
    return out
