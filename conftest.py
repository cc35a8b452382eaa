"""Doctests of the kernels are left out where Triton is missing: they cannot be imported."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = (
    [] if find_spec("triton") else ["src/simpgcn/nn/kernels/cuda/[!_]*.py", "src/simpgcn/similarity/fused.py"]
)
