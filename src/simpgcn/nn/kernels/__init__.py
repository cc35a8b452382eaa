"""The operators of :mod:`simpgcn.nn` as Triton kernels for CUDA: each does what the operator's torch code does."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import torch
from torch import Tensor


def kernels_for(x: Tensor) -> ModuleType | None:
    """The kernels if ``x`` is where they run, a CUDA device with Triton; otherwise torch's own operations serve.

    >>> kernels_for(torch.zeros(1)) is None
    True
    """
    return _kernels() if x.is_cuda and x.dtype in (torch.float32, torch.int64) else None


@cache
def _kernels() -> ModuleType | None:
    return import_module("simpgcn.nn.kernels.triton_kernels") if find_spec("triton") else None
