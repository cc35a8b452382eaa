"""The product of a sparse matrix and a dense one."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Rows(NamedTuple):
    """The rows of a sparse matrix, laid out for :func:`rows_product`: as CSR has them, ``width`` columns in all."""

    columns: Tensor
    starts: Tensor
    values: Tensor
    width: int


def rows_of(matrix: Tensor) -> Rows:
    """The rows of a CSR matrix. On a CPU the indices have 32 bits where that suffices: they are read faster.

    >>> rows_of(torch.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse_csr()).columns
    tensor([1], dtype=torch.int32)
    """
    columns, starts, values = matrix.col_indices(), matrix.crow_indices(), matrix.values()
    if matrix.device.type == "cpu" and max(values.numel(), *matrix.shape) < 1 << 31:
        columns, starts = columns.to(torch.int32), starts.to(torch.int32)
    return Rows(columns, starts, values, matrix.size(1))


def rows_product(rows: Rows, x: Tensor) -> Tensor:
    """The matrix of these rows times ``x``; not differentiable.

    A row of it is a weighted sum of rows of ``x``, as in a bag of embeddings. In float32 on a CPU the kernel for these
    keeps the sum in registers, and is some three times faster than the library for sparse matrices.
    """
    if x.device.type != "cpu" or x.dtype != torch.float32 or not x.size(1):
        shape = rows.starts.numel() - 1, rows.width
        matrix = torch.sparse_csr_tensor(rows.starts, rows.columns, rows.values, shape, check_invariants=False)
        return matrix @ x
    x = x.detach() if x.requires_grad else x
    x = x if x.stride(1) == 1 else x.contiguous()  # the fast kernel takes whole rows only
    # Its other arguments: no scaling by frequency, sums, a dense gradient, weighted, and the end among the starts.
    return torch.embedding_bag(x, rows.columns, rows.starts, False, 0, False, rows.values, True)[0]


def sparse_product(matrix: Tensor, x: Tensor) -> Tensor:
    """``matrix @ x`` for a CSR matrix; not differentiable.

    >>> sparse_product(torch.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse_csr(), torch.ones(2, 1))
    tensor([[2.],
            [0.]])
    """
    return rows_product(rows_of(matrix), x)
