"""Products of a sparse matrix's rows, many rows at once and long ones in pieces."""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from simpgcn.nn.sparse_matrix import SparseMatrix

# Measured on an H200: entries of a row read at once, entries a program reads in all before a row is split, columns.
NEIGHBORS = 16
PIECE = 64
COLUMNS = 256


class Rows(NamedTuple):
    """A CSR matrix for the kernels: 32-bit indices, the rows from the longest to the shortest, and pieces of rows.

    With long rows first and no piece much longer than the others, the last programs to run are not the slow ones.
    A piece is (row, first entry, end, whether it is the whole row).
    """

    crow: Tensor
    col: Tensor
    values: Tensor
    order: Tensor
    pieces: Tensor | None


def rows_of(matrix: SparseMatrix, transposed: bool) -> Rows:
    """The matrix, or its transpose; made once and kept with the matrix."""
    kept: dict[bool, Rows] = matrix.kernel_rows
    if transposed not in kept:
        csr = matrix.transpose if transposed else matrix.matrix
        crow, col, order = csr.crow_indices(), csr.col_indices(), csr.crow_indices().diff().argsort(descending=True)
        crow, col, order = (index.to(torch.int32) for index in (crow, col, order))
        kept[transposed] = Rows(crow, col, csr.values(), order, _pieces(csr.crow_indices(), order.long()))
    return kept[transposed]


def _pieces(crow: Tensor, order: Tensor) -> Tensor | None:
    counts = crow.diff()
    if not counts.numel() or int(counts.max()) <= 2 * PIECE:
        return None
    each = ((counts + PIECE - 1) // PIECE).clamp(min=1)[order]
    row = order.repeat_interleave(each)
    number = torch.arange(row.numel(), device=row.device) - (each.cumsum(0) - each).repeat_interleave(each)
    start = crow[row] + number * PIECE
    stop = torch.minimum(start + PIECE, crow[row + 1])
    return torch.stack([row, start, stop, (counts[row] <= PIECE).long()], dim=1).to(torch.int32)


@triton.jit
def gathered(
    col,
    values,
    start,
    stop,
    x,
    scale,
    run,
    runs,
    columns,
    stride,
    SCALED: tl.constexpr,
    INVERTED: tl.constexpr,
    BLOCK: tl.constexpr,
    NEIGHBORS: tl.constexpr,
):
    """Entries of a row times x [n, runs, stride], whose rows may count s-fold, or (1 - s)-fold."""
    c = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for first in range(start, stop, NEIGHBORS):
        e = first + tl.arange(0, NEIGHBORS)
        here = e < stop
        j = tl.load(col + e, mask=here, other=0).to(tl.int64)
        weight = tl.load(values + e, mask=here, other=0.0)
        if SCALED:
            s = tl.load(scale + j * runs + run, mask=here, other=0.0)
            weight = weight * ((1 - s) if INVERTED else s)
        place = (j * runs + run)[:, None] * stride + c[None, :]
        tile = tl.load(x + place, mask=here[:, None] & (c < columns)[None, :], other=0.0)
        total += tl.sum(tile * weight[:, None], axis=0)
    return total


@triton.jit
def _multiply(
    crow,
    col,
    values,
    order,
    pieces,
    x,
    out,
    columns,
    SPLIT: tl.constexpr,
    BLOCK: tl.constexpr,
    NEIGHBORS: tl.constexpr,
):
    shift = tl.program_id(1).to(tl.int64) * BLOCK
    c = tl.arange(0, BLOCK)
    inside = c < columns - shift
    if SPLIT:
        piece = pieces + 4 * tl.program_id(0)
        row, start, stop = tl.load(piece).to(tl.int64), tl.load(piece + 1), tl.load(piece + 2)
    else:
        row = tl.load(order + tl.program_id(0)).to(tl.int64)
        start, stop = tl.load(crow + row), tl.load(crow + row + 1)
    total = gathered(
        col, values, start, stop, x + shift, x, 0, 1, columns - shift, columns, False, False, BLOCK, NEIGHBORS
    )
    target = out + row * columns + shift + c
    if SPLIT:
        whole = (c * 0 + tl.load(pieces + 4 * tl.program_id(0) + 3)) == 1
        tl.store(target, total, mask=inside & whole)
        tl.atomic_add(target, total, mask=inside & ~whole, sem="relaxed")
    else:
        tl.store(target, total, mask=inside)


def multiply(matrix: SparseMatrix, x: Tensor, transposed: bool) -> Tensor:
    """The matrix, or its transpose, times ``x``, ``[n, ...]``."""
    x = x.contiguous()
    rows = rows_of(matrix, transposed)
    n, columns = rows.order.numel(), x[0].numel() if x.size(0) else 0
    split = rows.pieces is not None
    out = (torch.zeros if split else torch.empty)(n, *x.shape[1:], dtype=x.dtype, device=x.device)
    if not out.numel():
        return out
    pieces = rows.pieces if rows.pieces is not None else rows.order
    block = min(COLUMNS, triton.next_power_of_2(columns))
    _multiply[(pieces.size(0), triton.cdiv(columns, block))](
        rows.crow,
        rows.col,
        rows.values,
        rows.order,
        pieces,
        x,
        out,
        columns,
        SPLIT=split,
        BLOCK=block,
        NEIGHBORS=NEIGHBORS,
        num_warps=warps(block),
    )
    return out


def warps(block: int) -> int:
    """How many warps share a row of ``block`` columns."""
    return max(1, block // 128)
