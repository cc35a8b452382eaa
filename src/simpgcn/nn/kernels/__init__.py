"""The operators of :mod:`simpgcn.nn`, and Adam, as Triton kernels for CUDA, each in a module of the operator's name.

A kernel does in one pass what the torch code of its operator does in several; the operators' modules have the
equations. With several runs, what belongs to nodes is ``[n, runs, ...]`` and everything else ``[runs, ...]``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Literal

import torch
from torch import Tensor

# The modules of this package; each needs Triton, and is imported on CUDA only.
Name = Literal[
    "adam", "dropout", "label_loss", "mixing", "narrow_product", "pair_scores", "randomness", "sparse_matrix"
]


def kernels_for(x: Tensor, name: Name) -> ModuleType | None:
    """The kernels of this name if ``x`` is where they run; otherwise torch's own operations serve.

    >>> kernels_for(torch.zeros(1), "mixing") is None
    True
    """
    return _kernels(name) if kernels_run_on(x) else None


def kernels_run_on(x: Tensor) -> bool:
    """Whether ``x`` is where the kernels run: a CUDA device with Triton.

    >>> kernels_run_on(torch.zeros(1))
    False
    """
    return x.is_cuda and x.dtype in (torch.float32, torch.int64) and _has_triton()


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None


@cache
def _kernels(name: Name) -> ModuleType:
    return import_module(f"simpgcn.nn.kernels.{name}")
