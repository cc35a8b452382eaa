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

import numpy as np
import torch
from torch import Tensor

from simpgcn.nn.batching import Operator
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


def hash32(z: np.ndarray, keys: tuple[int, int]) -> np.ndarray:
    """A pseudo-random uint32 for each uint32 place, computed in place.

    In NumPy, which has unsigned numbers and whose calls are shorter than torch's.
    """
    first, second, third = (np.uint32(shift) for shift in SHIFTS_32)
    z ^= np.uint32(keys[0] & 0xFFFFFFFF)
    z ^= z >> first
    z *= np.uint32(MULTIPLIERS_32[0])
    z ^= np.uint32(keys[1] & 0xFFFFFFFF)
    z ^= z >> second
    z *= np.uint32(MULTIPLIERS_32[1])
    z ^= z >> third
    return z


class _Draw(Operator):
    @staticmethod
    def forward(key: Tensor, call: int, total: int, count: int) -> Tensor:
        if kernels := kernels_for(key, "randomness"):
            drawn: Tensor = kernels.draw(key, call, total, count)
            return drawn
        runs = [_permuted(np.arange(count), half_keys(one, call), total) for one in key.flatten().tolist()]
        return torch.from_numpy(np.stack(runs)).view(*key.shape, count).to(key.device)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(info: Any, in_dims: Any, key: Tensor, call: int, total: int, count: int) -> tuple[Tensor, int]:
        return _Draw.apply(key, call, total, count), 0


def _permuted(x: np.ndarray, keys: tuple[int, int], total: int) -> np.ndarray:
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
    outside = np.flatnonzero(x >= total)
    if outside.size:
        x[outside] = _permuted(x[outside], keys, total)
    return x


def _round(half: np.ndarray, other: np.ndarray, keys: tuple[int, int], number: int, size: int) -> np.ndarray:
    """``half`` moved on by a hash of the other half, around a circle of ``size``."""
    z = other.astype(np.uint32)
    z += np.uint32(number << 28)
    step = hash32(z, keys).astype(np.int64)
    step *= size
    step >>= 32
    step += half
    step -= (step >= size) * size
    return step


@cache
def feistel_sides(total: int) -> tuple[int, int]:
    """The sides of a near-square that holds ``total`` numbers and few more.

    >>> feistel_sides(10), feistel_sides(23)
    ((5, 2), (4, 6))
    """
    root = math.isqrt(max(total, 1))
    rows = min(range(root, 2 * root + 1), key=lambda side: -(-total // side) * side)
    return rows, max(1, -(-total // rows))


def _mix64(z: int) -> int:
    z &= _MASK64
    for shift, multiplier in zip((30, 27), MULTIPLIERS_64, strict=True):
        z = ((z ^ (z >> shift)) * multiplier) & _MASK64
    return z ^ (z >> 31)


def _signed(z: int, bits: int) -> int:
    return z - (1 << bits) if z >> (bits - 1) else z
