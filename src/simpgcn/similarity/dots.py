"""Dot products between rows of features, dense or sparse, that rank as cosine similarities do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from simpgcn.data.features import compact, csr_rows, is_sparse, stored_values, with_values
from simpgcn.data.sparse_product import sparse_product

# Dot products up to this have squares that float32 holds exactly.
EXACT_NORM2 = 2**12
# Entries of gathered rows held at once, in :func:`pair_dots`.
PAIR_ENTRIES = 1 << 20


class Comparable(NamedTuple):
    """Rows to multiply, ``x``, and their squared lengths; ``whole`` numbers as they are, others at unit length.

    The first ``candidates`` of them can be neighbours. If that is not all, neighbours of the others are searched.
    """

    x: Tensor
    norm2: Tensor
    whole: bool
    candidates: int

    def tie_rows(self, rows: Tensor) -> Tensor:
        """The numbers that order equals for some rows: their own, and the same one for all that are no candidates.

        What such a row finds does then not depend on the others it is searched with.
        """
        return rows.clamp(max=self.candidates)

    @property
    def own(self) -> bool:
        """Whether the rows searched for are candidates themselves, and must not find themselves."""
        return self.candidates == self.x.size(0)


def comparable(x: Tensor, candidates: int | None = None) -> Comparable:
    """``x`` in the form whose dot products are compared; all rows are candidates if not said otherwise.

    >>> comparable(torch.tensor([[3.0, 4.0]])).norm2, comparable(torch.tensor([[0.3, 0.4]])).x
    (tensor([25.]), tensor([[0.6000, 0.8000]]))
    """
    x = compact(x)
    candidates = x.size(0) if candidates is None else candidates
    values = stored_values(x)
    norm2 = _row_sums(with_values(x, values.double().square()))
    if bool((values == values.round()).all()) and float(norm2.max()) <= EXACT_NORM2:
        return Comparable(with_values(x, values.to(torch.float32)), norm2.to(torch.float32), True, candidates)
    length = norm2.sqrt()
    length.masked_fill_(length == 0, 1)
    per_value = length[csr_rows(x)] if is_sparse(x) else length.unsqueeze(1)
    # Unit by construction: the rounding of their lengths must not rank rows.
    unit = with_values(x, (values.double() / per_value).to(torch.float32))
    return Comparable(unit, (norm2 > 0).to(torch.float32), False, candidates)


def _row_sums(x: Tensor) -> Tensor:
    if not is_sparse(x):
        return x.sum(dim=1)
    return torch.zeros(x.size(0), dtype=x.dtype, device=x.device).index_add_(0, csr_rows(x), x.values())


def dots(x: Tensor, rows: Tensor, others: Tensor) -> Tensor:
    """The dot products ``[b, n]`` of some rows with ``others``; of sparse ones on a CPU, the transpose is contiguous.

    >>> eye = torch.eye(3).to_sparse_csr()
    >>> dots(eye, torch.tensor([1]), eye)
    tensor([[0., 1., 0.]])
    """
    if not is_sparse(x):
        return x[rows] @ others.T
    if x.device.type != "cpu" or x.dtype != torch.float32:
        return (others @ dense_rows(x, rows).T).T.contiguous()
    row, entry = _entries(x, rows)
    block = torch.zeros(x.size(1), rows.numel())
    block[x.col_indices()[entry], row] = x.values()[entry]
    return sparse_product(others, block).T


def dense_rows(x: Tensor, rows: Tensor) -> Tensor:
    """Some rows of ``x``, dense.

    >>> dense_rows(torch.eye(3).to_sparse_csr(), torch.tensor([2, 0]))
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    if not is_sparse(x):
        return x[rows]
    row, entry = _entries(x, rows)
    out = torch.zeros(rows.numel(), x.size(1), dtype=x.dtype, device=x.device)
    out[row, x.col_indices()[entry]] = x.values()[entry]
    return out


def pair_dots(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """The dot products ``[b, c]`` of rows with chosen ones, ``columns[b, c]``, added up in float64.

    >>> pair_dots(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([0]), torch.tensor([[1, 0]]))
    tensor([[11.,  5.]], dtype=torch.float64)
    """
    width = columns.size(1) * (_longest(x) if is_sparse(x) else x.size(1))
    step = max(1, PAIR_ENTRIES // max(1, width))
    parts = [_pair_dots(x, *part) for part in zip(rows.split(step), columns.split(step), strict=True)]
    return torch.cat(parts)


def _pair_dots(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    own = dense_rows(x, rows).double()
    if not is_sparse(x):
        theirs = x.index_select(0, columns.flatten()).double().view(*columns.shape, -1)
        return theirs.mul_(own.unsqueeze(1)).sum(dim=2)
    pair, entry = _entries(x, columns.flatten())
    products = x.values()[entry].double() * own[pair // columns.size(1), x.col_indices()[entry]]
    out = torch.zeros(columns.numel(), dtype=torch.float64, device=x.device)
    return out.index_add_(0, pair, products).view_as(columns)


def _entries(x: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """The stored entries of some rows of a CSR tensor: their place in ``rows``, and in the values."""
    crow = x.crow_indices()
    counts = crow[rows + 1] - crow[rows]
    row = torch.repeat_interleave(torch.arange(rows.numel(), device=x.device), counts)
    start = crow[rows] - (counts.cumsum(0) - counts)
    return row, torch.arange(row.numel(), device=x.device) + start[row]


def _longest(x: Tensor) -> int:
    return int(x.crow_indices().diff().max())


def rounding_bound(x: Tensor, bits: int) -> float:
    """What rounding to ``bits`` bits can change a dot product of two unit rows by, in whatever order it is summed.

    Twice the textbook bound, which takes in the roundings of whoever compares with it.
    """
    terms = _longest(x) if is_sparse(x) else x.size(1)
    return (terms + 8) * 2.0 ** (1 - bits)


@contextmanager
def full_precision() -> Iterator[None]:
    """Float32 products in float32, whatever faster formats the process allows them elsewhere."""
    allowed = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(allowed)
