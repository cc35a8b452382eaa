"""The operators of :mod:`simpgcn.nn`, and Adam, as kernels: in Triton for CUDA, in C for a CPU, each in a module of the
operator's name.

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

from simpgcn.compiled import is_built

# The modules in `cuda`; each needs Triton, and is imported on CUDA only.
Name = Literal[
    "adam", "dropout", "label_loss", "mixing", "narrow_product", "pair_scores", "randomness", "sparse_matrix"
]
# Those in `cpu`.
CPU_KERNELS = ("dropout", "mixing", "pair_scores", "randomness")


def kernels_for(x: Tensor, name: Name) -> ModuleType | None:
    """The kernels of this name for ``x``, where there are some; otherwise torch's own operations serve.

    >>> kernels_for(torch.zeros(1, dtype=torch.float64), "mixing") is None
    True
    """
    if x.dtype != (torch.int64 if name == "randomness" else torch.float32):
        return None
    if x.is_cuda:
        return _kernels("cuda", name) if has_triton() else None
    return _kernels("cpu", name) if x.device.type == "cpu" and name in CPU_KERNELS and is_built() else None


@cache
def has_triton() -> bool:
    """Whether CUDA's kernels can be made.

    >>> has_triton() in (True, False)
    True
    """
    return find_spec("triton") is not None


@cache
def _kernels(place: str, name: Name) -> ModuleType:
    return import_module(f"simpgcn.nn.kernels.{place}.{name}")
