"""A constant sparse matrix that multiplies fast, forwards and backwards."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from simpgcn.data.features import as_csr, with_values
from simpgcn.data.sparse_product import Rows, rows_of, rows_product
from simpgcn.nn.batching import Operator, runs_second
from simpgcn.nn.kernels import kernels_for


class SparseMatrix:
    r"""A constant sparse matrix :math:`\mathbf{M}` whose transpose is kept for the backward pass.

    ``M @ x`` is differentiable in ``x``, and only in ``x``: the scores of SimP-GCN scale rows of the
    product, so no gradient with respect to the entries is ever needed.

    >>> m = SparseMatrix(torch.tensor([[0.0, 2.0], [0.0, 0.0]]))
    >>> x = torch.ones(2, 1, requires_grad=True)
    >>> (m @ x).sum().backward()
    >>> x.grad.flatten().tolist(), m
    ([0.0, 2.0], SparseMatrix(2, 2, nnz=1))
    """

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = as_csr(matrix)
        self.transpose = _transposed(self.matrix)
        self._forget()

    def _forget(self) -> None:
        self.rows: dict[bool, Rows] = {}  # of the matrix and of its transpose, as the products read them
        self.kernel_rows: dict[bool, Any] = {}  # for the kernels to lay out what they need of it, once
        self.stepped: set[Any] = set()  # for the trainer to note what it has done with it on a GPU
        self._order: Tensor | None = None  # where the transpose's values are among the matrix's own

    @classmethod
    def from_edges(cls, index: Tensor, values: Tensor, num_nodes: int) -> SparseMatrix:
        """The square matrix with ``values`` at the positions ``index``; repeated positions add up."""
        shape = (num_nodes, num_nodes)
        return cls(torch.sparse_coo_tensor(index, values, shape, check_invariants=True))

    @property
    def shape(self) -> torch.Size:
        """Rows and columns."""
        return self.matrix.shape

    def size(self, dim: int) -> int:
        """Rows (0) or columns (1)."""
        return self.matrix.size(dim)

    def to(self, device: torch.device | str) -> SparseMatrix:
        """The same matrix on another device."""
        moved = object.__new__(SparseMatrix)
        moved.matrix = self.matrix.to(device)
        moved.transpose = self.transpose.to(device)
        moved._forget()
        return moved

    def with_values(self, values: Tensor) -> SparseMatrix:
        """A matrix with the same places and other values, in the order of ``matrix.values()``.

        >>> SparseMatrix(torch.eye(2)).with_values(torch.tensor([3.0, 4.0])).transpose.values()
        tensor([3., 4.])
        """
        if self._order is None:
            numbers = torch.arange(self.matrix.values().numel(), device=values.device)
            self._order = _transposed(with_values(self.matrix, numbers)).values()
        other = object.__new__(SparseMatrix)
        other.matrix = with_values(self.matrix, values)
        other.transpose = with_values(self.transpose, values.index_select(0, self._order))
        other._forget()
        other._order = self._order
        other.rows = {
            transposed: self.laid_out(transposed)._replace(
                values=(other.transpose if transposed else other.matrix).values()
            )
            for transposed in (False, True)
        }
        return other

    def times(self, x: Tensor, *, transposed: bool = False) -> Tensor:
        """The product with ``[n, c]`` as it is, for operators that write their own gradient.

        >>> SparseMatrix(torch.tensor([[0.0, 2.0]])).times(torch.ones(1, 1), transposed=True).flatten().tolist()
        [0.0, 2.0]
        """
        return rows_product(self.laid_out(transposed), x)

    def laid_out(self, transposed: bool) -> Rows:
        """The rows of the matrix, or of its transpose, as products on a CPU read them.

        >>> SparseMatrix(torch.eye(2)).laid_out(transposed=False).columns.tolist()
        [0, 1]
        """
        if transposed not in self.rows:
            self.rows[transposed] = rows_of(self.transpose if transposed else self.matrix)
        return self.rows[transposed]

    def __matmul__(self, x: Tensor) -> Tensor:
        product: Tensor = _Product.apply(self, x)
        return product

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"SparseMatrix({rows}, {columns}, nnz={self.matrix.values().numel()})"


class _Product(Operator):
    """x is [n, ...]: what follows the first dimension is one wide row."""

    @staticmethod
    def forward(matrix: SparseMatrix, x: Tensor) -> Tensor:
        return _multiply(matrix, x, transposed=False)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[SparseMatrix, Tensor], output: Tensor) -> None:
        ctx.matrix = inputs[0]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        return None, _multiply(ctx.matrix, gradient, transposed=True)

    @staticmethod
    def vmap(info: Any, in_dims: Any, matrix: SparseMatrix, x: Tensor) -> tuple[Tensor, int]:
        return _Product.apply(matrix, runs_second(x, in_dims[1], info.batch_size)), 1


def _multiply(matrix: SparseMatrix, x: Tensor, *, transposed: bool) -> Tensor:
    if kernels := kernels_for(x, "sparse_matrix"):
        product: Tensor = kernels.multiply(matrix, x, transposed)
        return product
    return matrix.times(x.reshape(x.size(0), -1), transposed=transposed).view(-1, *x.shape[1:])


def _transposed(matrix: Tensor) -> Tensor:
    columns_first = matrix.to_sparse_csc()
    return torch.sparse_csr_tensor(
        columns_first.ccol_indices(),
        columns_first.row_indices(),
        columns_first.values(),
        (matrix.size(1), matrix.size(0)),
        check_invariants=False,
    )
