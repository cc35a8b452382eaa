"""A product with few columns and its two gradients, in the layout of the operators: nodes, runs, columns."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

# Rows that a program multiplies at once, inner places at once, and rows whose gradients it adds up.
ROWS, INNER, SPLIT = 32, 64, 256


@triton.jit
def _tile(x, row, n, run, runs, width, start, BLOCK: tl.constexpr):
    """Entries ``start`` to ``start + BLOCK`` of some rows of a run; 0 outside."""
    c = start + tl.arange(0, BLOCK)
    inside = (row < n)[:, None] & (c < width)[None, :]
    return tl.load(x + (row * runs + run)[:, None] * width + c[None, :], mask=inside, other=0.0)


@triton.jit
def _weights(weight, run, inner, columns, start, INNER: tl.constexpr, COLUMNS: tl.constexpr):
    """Rows ``start`` to ``start + INNER`` of a run's weights; 0 outside."""
    i, c = start + tl.arange(0, INNER), tl.arange(0, COLUMNS)
    inside = (i < inner)[:, None] & (c < columns)[None, :]
    return tl.load(weight + (run * inner + i)[:, None] * columns + c[None, :], mask=inside, other=0.0)


@triton.jit
def _multiply(x, weight, out, n, runs, inner, columns, ROWS: tl.constexpr, INNER: tl.constexpr, COLUMNS: tl.constexpr):
    run = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    found = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
    for start in range(0, inner, INNER):
        left = _tile(x, row, n, run, runs, inner, start, INNER)
        found += tl.dot(left, _weights(weight, run, inner, columns, start, INNER, COLUMNS), input_precision="ieee")
    c = tl.arange(0, COLUMNS)
    inside = (row < n)[:, None] & (c < columns)[None, :]
    tl.store(out + (row * runs + run)[:, None] * columns + c[None, :], found, mask=inside)


@triton.jit
def _of_x(
    gradient, weight, out, n, runs, inner, columns, ROWS: tl.constexpr, INNER: tl.constexpr, COLUMNS: tl.constexpr
):
    run, start = tl.program_id(1).to(tl.int64), tl.program_id(2) * INNER
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    g = _tile(gradient, row, n, run, runs, columns, 0, COLUMNS)
    w = _weights(weight, run, inner, columns, start, INNER, COLUMNS)
    i = start + tl.arange(0, INNER)
    inside = (row < n)[:, None] & (i < inner)[None, :]
    found = tl.dot(g, tl.trans(w), input_precision="ieee")
    tl.store(out + (row * runs + run)[:, None] * inner + i[None, :], found, mask=inside)


@triton.jit
def _of_weight(
    x,
    gradient,
    out,
    n,
    runs,
    inner,
    columns,
    ROWS: tl.constexpr,
    INNER: tl.constexpr,
    COLUMNS: tl.constexpr,
    SPLIT: tl.constexpr,
):
    run, start = tl.program_id(1).to(tl.int64), tl.program_id(2) * INNER
    found = tl.zeros([INNER, COLUMNS], dtype=tl.float32)
    for first in range(0, SPLIT, ROWS):
        row = tl.program_id(0).to(tl.int64) * SPLIT + first + tl.arange(0, ROWS)
        left = _tile(x, row, n, run, runs, inner, start, INNER)
        g = _tile(gradient, row, n, run, runs, columns, 0, COLUMNS)
        found += tl.dot(tl.trans(left), g, input_precision="ieee")
    i, c = start + tl.arange(0, INNER), tl.arange(0, COLUMNS)
    inside = (i < inner)[:, None] & (c < columns)[None, :]
    tl.atomic_add(out + (run * inner + i)[:, None] * columns + c[None, :], found, mask=inside, sem="relaxed")


def multiply(x: Tensor, weight: Tensor) -> Tensor:
    """``x @ weight`` for ``[n, h]`` and ``[h, c]``, or ``[n, runs, h]`` and ``[runs, h, c]``."""
    x, weight = x.contiguous(), weight.contiguous()
    out = x.new_empty(*x.shape[:-1], weight.size(-1))
    n, runs, inner, columns, block = _sizes(x, weight)
    grid = (triton.cdiv(n, ROWS), runs)
    _multiply[grid](x, weight, out, n, runs, inner, columns, ROWS=ROWS, INNER=INNER, COLUMNS=block)
    return out


def gradients(gradient: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of ``x`` and ``weight``."""
    gradient, x, weight = gradient.contiguous(), x.contiguous(), weight.contiguous()
    x_bar, weight_bar = torch.empty_like(x), torch.zeros_like(weight)
    n, runs, inner, columns, block = _sizes(x, weight)
    sizes = {"ROWS": ROWS, "INNER": INNER, "COLUMNS": block}
    blocks = triton.cdiv(inner, INNER)
    _of_x[(triton.cdiv(n, ROWS), runs, blocks)](gradient, weight, x_bar, n, runs, inner, columns, **sizes)
    _of_weight[(triton.cdiv(n, SPLIT), runs, blocks)](
        x, gradient, weight_bar, n, runs, inner, columns, **sizes, SPLIT=SPLIT
    )
    return x_bar, weight_bar


def _sizes(x: Tensor, weight: Tensor) -> tuple[int, ...]:
    columns = weight.size(-1)
    runs = x.size(1) if x.dim() == 3 else 1
    return x.size(0), runs, x.size(-1), columns, max(16, triton.next_power_of_2(columns))
