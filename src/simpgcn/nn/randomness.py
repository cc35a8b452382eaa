r"""Random numbers that are functions of a key and a place: the same on every device, alone or side by side.

Dropout and the pretext task's samples do not consume a stream. Number :math:`e` drawn with a key is a hash of
the two, so a run's randomness depends on its seed and its epoch alone: not on the device, not on the runs
trained beside it, not on where it was interrupted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import torch
from torch import Tensor

from simpgcn.nn.kernels import kernels_for

_MASK64 = (1 << 64) - 1
# Odd multipliers with well-spread bits; the kernels have the same.
CALL_STEP = 0x9E3779B97F4A7C15
MULTIPLIERS_64 = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
MULTIPLIERS_32 = (0x21F0AAAD, 0x735A2D97)
SHIFTS_32 = (16, 15, 15)
ROUNDS = 4


class Key:
    """What random numbers are drawn from: an int64 tensor, one number per run, and how often it was used.

    >>> key = Key(torch.tensor(7))
    >>> sorted(draw(key, 5, 5).tolist()), key.calls
    ([0, 1, 2, 3, 4], 1)
    """

    def __init__(self, value: Tensor) -> None:
        self.value = value
        self.calls = 0

    def next_call(self) -> int:
        """The number of this use of the key."""
        self.calls += 1
        return self.calls


_current: ContextVar[Key | None] = ContextVar("simpgcn_key", default=None)


@contextmanager
def drawing_from(value: Tensor) -> Iterator[None]:
    """Take the random numbers of the block from a key instead of torch's global generator."""
    token = _current.set(Key(value))
    try:
        yield
    finally:
        _current.reset(token)


def current_key(device: torch.device) -> Key:
    """The key of the surrounding :func:`drawing_from`, or a fresh one from torch's global generator."""
    key = _current.get()
    if key is None:
        key = Key(torch.randint(1 << 62, (), device=device))
    return key


def seed_key(seed: int) -> int:
    """A seed's first key; the epochs' follow it. Neighbouring seeds are far apart.

    >>> seed_key(1) - seed_key(0) > 1 << 32
    True
    """
    return _signed(_mix64((seed + 1) * CALL_STEP), 64)


def draw(key: Key, total: int, count: int) -> Tensor:
    """``count`` of the numbers below ``total`` at random, without repetition, in random order.

    They are the images of the first ``count`` numbers under a keyed permutation (a Feistel network), so nothing
    of size ``total`` is shuffled.
    """
    drawn: Tensor = _Draw.apply(key.value, key.next_call(), total, count)
    return drawn


def half_keys(key: int, call: int) -> tuple[int, int]:
    """The two 32-bit keys of one use of a key."""
    mixed = _mix64(key + call * CALL_STEP)
    return _signed(mixed & 0xFFFFFFFF, 32), _signed(mixed >> 32, 32)


def hash32(place: Tensor, keys: tuple[int, int]) -> Tensor:
    """A pseudo-random int32 for each int32 place, computed in place."""
    first, second, third = SHIFTS_32
    z = place.bitwise_xor_(keys[0])
    z.bitwise_xor_(_shifted(z, first)).mul_(MULTIPLIERS_32[0]).bitwise_xor_(keys[1])
    z.bitwise_xor_(_shifted(z, second)).mul_(MULTIPLIERS_32[1])
    return z.bitwise_xor_(_shifted(z, third))


def _shifted(z: Tensor, by: int) -> Tensor:
    """A logical shift to the right: the sign is not drawn in."""
    return (z >> by).bitwise_and_((1 << (32 - by)) - 1)


class _Draw(torch.autograd.Function):
    @staticmethod
    def forward(key: Tensor, call: int, total: int, count: int) -> Tensor:
        if kernels := kernels_for(key):
            return kernels.draw(key, call, total, count)
        runs = [_permuted(torch.arange(count), half_keys(k, call), total) for k in key.flatten().tolist()]
        return torch.stack(runs).view(*key.shape, count).to(key.device)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(info: Any, in_dims: Any, key: Tensor, call: int, total: int, count: int) -> tuple[Tensor, int]:
        return _Draw.apply(key, call, total, count), 0


def _permuted(x: Tensor, keys: tuple[int, int], total: int) -> Tensor:
    """A permutation of the numbers below rows · columns, applied until ``x`` is back below ``total``."""
    rows, columns = feistel_sides(total)
    left = x // columns
    right = x - left * columns
    for number in range(ROUNDS):
        if number % 2 == 0:
            left = _round(left, right, keys, number, rows)
        else:
            right = _round(right, left, keys, number, columns)
    x = left * columns + right
    outside = (x >= total).nonzero().squeeze(1)
    if outside.numel():
        x[outside] = _permuted(x[outside], keys, total)
    return x


@cache
def feistel_sides(total: int) -> tuple[int, int]:
    """The sides of a near-square that holds ``total`` numbers and few more.

    >>> feistel_sides(10), feistel_sides(23)
    ((5, 2), (4, 6))
    """
    root = math.isqrt(max(total, 1))
    rows = min(range(root, 2 * root + 1), key=lambda side: -(-total // side) * side)
    return rows, max(1, -(-total // rows))


def _round(half: Tensor, other: Tensor, keys: tuple[int, int], number: int, size: int) -> Tensor:
    """``half`` moved on by a hash of the other half, around a circle of ``size``."""
    place = other.to(torch.int32).add_(number << 28)
    step = (hash32(place, keys).to(torch.int64) + (1 << 31)).mul_(size).bitwise_right_shift_(32)
    moved = step.add_(half)
    return moved.sub_((moved >= size).to(torch.int64), alpha=size)


def _mix64(z: int) -> int:
    z &= _MASK64
    for shift, multiplier in zip((30, 27), MULTIPLIERS_64, strict=True):
        z = ((z ^ (z >> shift)) * multiplier) & _MASK64
    return z ^ (z >> 31)


def _signed(z: int, bits: int) -> int:
    return z - (1 << bits) if z >> (bits - 1) else z
