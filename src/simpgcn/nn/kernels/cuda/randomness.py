"""The hash of a key and a place, and the draws made with it."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from simpgcn.nn.randomness import CALL_STEP, MULTIPLIERS_32, MULTIPLIERS_64, ROUNDS, SHIFTS_32, feistel_sides

_M1, _M2 = (tl.constexpr(value) for value in MULTIPLIERS_64)
_N1, _N2 = (tl.constexpr(value) for value in MULTIPLIERS_32)
_S1, _S2, _S3 = (tl.constexpr(value) for value in SHIFTS_32)
_ROUNDS = tl.constexpr(ROUNDS)


def call_offset(call: int) -> int:
    """What a call adds to a key, as a signed number."""
    offset = call * CALL_STEP & ((1 << 64) - 1)
    return offset - (1 << 64) if offset >> 63 else offset


@triton.jit
def half_keys(key, call):
    """The two 32-bit keys of one use of a key; ``call`` is its number times the step between calls."""
    z = (key + call).to(tl.uint64)
    z = (z ^ (z >> 30)) * _M1
    z = (z ^ (z >> 27)) * _M2
    z = z ^ (z >> 31)
    return (z & 0xFFFFFFFF).to(tl.uint32), (z >> 32).to(tl.uint32)


@triton.jit
def hash32(place, first, second):
    """A pseudo-random number of 32 bits for each place."""
    z = place.to(tl.uint32) ^ first
    z = ((z ^ (z >> _S1)) * _N1) ^ second
    z = (z ^ (z >> _S2)) * _N2
    return z ^ (z >> _S3)


@triton.jit
def _permuted(x, first, second, rows, columns):
    left, right = x // columns, x % columns
    for number in tl.static_range(_ROUNDS):
        if number % 2 == 0:
            left = _round(left, right, first, second, number, rows)
        else:
            right = _round(right, left, first, second, number, columns)
    return left * columns + right


@triton.jit
def _round(half, other, first, second, number, size):
    z = hash32(other + (number << 28), first, second)
    step = (z.to(tl.int64) * size) >> 32
    moved = half + step
    return tl.where(moved >= size, moved - size, moved)


@triton.jit
def _draw(key, call, out, total, count, rows, columns, BLOCK: tl.constexpr):
    run = tl.program_id(1)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    first, second = half_keys(tl.load(key + run), call)
    x = _permuted(place.to(tl.int64), first, second, rows, columns)
    outside = inside & (x >= total)
    while tl.max(outside.to(tl.int32), axis=0) > 0:
        x = tl.where(outside, _permuted(x, first, second, rows, columns), x)
        outside = inside & (x >= total)
    tl.store(out + run.to(tl.int64) * count + place, x, mask=inside)


def draw(key: Tensor, call: int, total: int, count: int) -> Tensor:
    """The images of the first numbers under each run's permutation, ``[count]`` or ``[runs, count]``."""
    key = key.contiguous()
    out = torch.empty(*key.shape, count, dtype=torch.int64, device=key.device)
    grid = (triton.cdiv(count, 256), key.numel())
    _draw[grid](key, call_offset(call), out, total, count, *feistel_sides(total), BLOCK=256)
    return out
