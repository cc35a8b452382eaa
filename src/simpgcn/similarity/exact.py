r"""The exact k most and m least similar rows, block by block: nothing of size :math:`n \times n` exists.

Rows are ranked by cosine similarity. For whole-number features (words, small counts) with squared lengths up to
:math:`2^{12}` the dot products and their squares are exact in float32 whatever the order of summation, so for a
fixed row :math:`i` the key

.. math:: r_{ij} = \frac{d_{ij} |d_{ij}|}{\lVert \mathbf{x}_j \rVert^2}, \qquad
          d_{ij} = \mathbf{x}_i^\top \mathbf{x}_j, \qquad S_{ij} = \pm\sqrt{|r_{ij}|} \,/\, \lVert \mathbf{x}_i \rVert

is one correctly rounded division: equal similarities give equal keys on every machine and with every
backend. Other features are scaled to unit rows first, and equal means equal after rounding.

Among equal keys the order is random but reproducible: by a hash of (seed, i, j). It must depend on both,
or every row would pick the same few columns among its many exact zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from simpgcn.data.features import compact, csr_rows, is_sparse, stored_values, with_values

# Scores held at once, in entries: 16 MB of float32 and a few temporaries of that size.
BLOCK_ENTRIES = 1 << 22
# A GPU needs larger blocks to be busy; their temporaries take at most about this many bytes per entry.
CUDA_BLOCK_ENTRIES = 1 << 27
CUDA_BYTES_PER_ENTRY = 64
# Dot products up to this have squares that float32 holds exactly.
EXACT_NORM2 = 2**12


class Neighbors(NamedTuple):
    """The rows most and least similar to each row, best first.

    ``near`` and ``near_similarity`` are ``[n, k]``; ``far`` and ``far_similarity`` are ``[n, m]``.
    """

    near: Tensor
    near_similarity: Tensor
    far: Tensor
    far_similarity: Tensor


def exact_neighbors(
    x: Tensor,
    k: int,
    farthest: int,
    *,
    seed: int,
    on_progress: Callable[[float], None] | None = None,
) -> Neighbors:
    """The exact neighbours of every row of ``x``; see :func:`simpgcn.similarity.nearest_neighbors`."""
    x = compact(x)
    x, norm2 = _comparable(x)
    n = x.size(0)
    scale = torch.where(norm2 > 0, 1 / norm2, 0)  # only where a zero row would divide 0 by 0
    divisor = norm2.masked_fill(norm2 == 0, 1)
    row_scale = scale.sqrt().unsqueeze(1)
    block = max(1, _block_entries(x.device) // max(n, x.size(1)))  # sparse rows are made dense a block at a time
    parts: list[Neighbors] = []
    for start in range(0, n, block):
        rows = torch.arange(start, min(start + block, n), device=x.device)
        key = _dots(x, start, start + rows.numel())
        key.mul_(key.abs()).div_(divisor)
        itself = (rows - start, rows)
        key[itself] = -torch.inf
        near_key, near = _first(key, k, rows, seed, largest=True)
        key[itself] = torch.inf
        far_key, far = _first(key, farthest, rows, seed, largest=False)
        own = row_scale[rows]
        parts.append(Neighbors(near, _root(near_key) * own, far, _root(far_key) * own))
        if on_progress is not None:
            on_progress((start + rows.numel()) / n)
    return Neighbors(*(torch.cat(column) for column in zip(*parts, strict=True)))


def _block_entries(device: torch.device) -> int:
    if device.type != "cuda":
        return BLOCK_ENTRIES
    free, _ = torch.cuda.mem_get_info(device)
    return max(BLOCK_ENTRIES, min(CUDA_BLOCK_ENTRIES, free // CUDA_BYTES_PER_ENTRY))


def _comparable(x: Tensor) -> tuple[Tensor, Tensor]:
    """Rows to multiply, and their squared lengths: small whole numbers as they are, others at unit length."""
    values = stored_values(x)
    norm2 = _row_sums(with_values(x, values.double().square()))
    if bool((values == values.round()).all()) and float(norm2.max()) <= EXACT_NORM2:
        return with_values(x, values.to(torch.float32)), norm2.to(torch.float32)
    length = norm2.sqrt()
    length.masked_fill_(length == 0, 1)
    per_value = length[csr_rows(x)] if is_sparse(x) else length.unsqueeze(1)
    # Unit by construction: the rounding of their lengths must not rank rows.
    return with_values(x, (values.double() / per_value).to(torch.float32)), (norm2 > 0).to(torch.float32)


def _row_sums(x: Tensor) -> Tensor:
    if not is_sparse(x):
        return x.sum(dim=1)
    return torch.zeros(x.size(0), dtype=x.dtype, device=x.device).index_add_(0, csr_rows(x), x.values())


def _dots(x: Tensor, start: int, stop: int) -> Tensor:
    if not is_sparse(x):
        return x[start:stop] @ x.T
    crow = x.crow_indices()
    first, last = int(crow[start]), int(crow[stop])
    rows = torch.sparse_csr_tensor(
        crow[start : stop + 1] - crow[start],
        x.col_indices()[first:last],
        x.values()[first:last],
        (stop - start, x.size(1)),
        check_invariants=False,
    )
    return (x @ rows.to_dense().T.contiguous()).T.contiguous()


def _first(key: Tensor, count: int, rows: Tensor, seed: int, *, largest: bool) -> tuple[Tensor, Tensor]:
    """The ``count`` largest (or smallest) keys of each row and their columns, ties in hash order."""
    n = key.size(1)
    if count == 0:
        return key.new_empty(key.size(0), 0), torch.empty(key.size(0), 0, dtype=torch.long, device=key.device)
    values, columns = key.topk(min(count + 1, n), largest=largest)
    # A tie that reaches past the last place: which of the equals are in must not be left to topk.
    torn = (values[:, count - 1] == values[:, -1]).nonzero().squeeze(1) if n > count else rows[:0]
    values, columns = values[:, :count].contiguous(), columns[:, :count].contiguous()
    if torn.numel():
        edge = values[torn, -1:]
        better = (values[torn] != edge).sum(dim=1, keepdim=True)
        place = torch.arange(count, device=key.device) - better
        drawn = _draw_tied(key[torn] == edge, rows[torn], count, seed).gather(1, place.clamp(min=0))
        columns[torn] = torch.where(place < 0, columns[torn], drawn)
    # Within the chosen, sort by key, then by hash: a stable sort on the second of the two first.
    by_hash = tie_order(rows.unsqueeze(1), columns, seed).argsort(dim=1)
    values, columns = values.gather(1, by_hash), columns.gather(1, by_hash)
    values, by_key = values.sort(dim=1, descending=largest, stable=True)
    return values, columns.gather(1, by_key)


def _draw_tied(tied: Tensor, rows: Tensor, count: int, seed: int) -> Tensor:
    """The first ``count`` tied columns of each row in hash order (what lies past its last one is unused)."""
    where, column = tied.nonzero(as_tuple=True)
    ties = tied.sum(dim=1)
    offset = torch.arange(where.numel(), device=rows.device) - (ties.cumsum(0) - ties)[where]
    padded = torch.full((rows.numel(), max(count, int(ties.max()))), torch.iinfo(torch.int64).max, device=rows.device)
    padded[where, offset] = tie_order(rows[where], column, seed)
    return padded.topk(count, dim=1, largest=False).values & 0xFFFFFFFF


def tie_order(i: Tensor, j: Tensor, seed: int) -> Tensor:
    """A number for each pair that orders equal similarities: pseudo-random, unique in j, never negative.

    >>> i, j = torch.tensor([[0], [1]]), torch.arange(4)
    >>> tie_order(i, j, seed=0).argsort(dim=1).tolist()
    [[0, 2, 1, 3], [1, 0, 3, 2]]
    """
    row = _mix(_mix(torch.full_like(i, (seed ^ 0x5BD1E995) & 0xFFFFFFFF)) ^ i)
    mixed = _mix(row ^ ((j * 0x9E3779B9) & 0xFFFFFFFF))
    return mixed.bitwise_right_shift_(1).bitwise_left_shift_(32).bitwise_or_(j)


def _mix(z: Tensor) -> Tensor:
    """Scramble 32-bit numbers held in int64, in place: each bit of the input moves about half of the output's."""
    z ^= z >> 16
    z.mul_(0x21F0AAAD).bitwise_and_(0xFFFFFFFF)
    z ^= z >> 15
    z.mul_(0x735A2D97).bitwise_and_(0xFFFFFFFF)
    z ^= z >> 15
    return z


def _root(key: Tensor) -> Tensor:
    return key.abs().sqrt().copysign(key)
