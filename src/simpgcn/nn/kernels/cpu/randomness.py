"""The draws of numbers without repetition."""

from __future__ import annotations

import torch
from torch import Tensor

from simpgcn.compiled import call
from simpgcn.nn.randomness import feistel_sides, half_keys


def keys_of(key: Tensor, use: int) -> Tensor:
    """The two 32-bit keys of each run, for one use of its key, ``[runs, 2]``."""
    return torch.tensor([half_keys(one, use) for one in key.flatten().tolist()], dtype=torch.int32)


def draw(key: Tensor, use: int, total: int, count: int) -> Tensor:
    """The images of the first numbers under each run's permutation, ``[count]`` or ``[runs, count]``."""
    out = torch.empty(*key.shape, count, dtype=torch.int64)
    for keys, numbers in zip(keys_of(key, use), out.view(key.numel(), count), strict=True):
        call("draw", keys, numbers, total, count, *feistel_sides(total))
    return out
