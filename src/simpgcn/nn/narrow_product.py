"""The product of many rows with few columns, the way BLAS libraries do it fast."""

from __future__ import annotations

from torch import Tensor

from simpgcn.nn.sparse_matrix import SparseMatrix

# Below about this many columns a CPU's matrix product is up to five times faster on the transposes.
NARROW = 32


def multiply(x: Tensor | SparseMatrix, weight: Tensor) -> Tensor:
    """``x @ weight``.

    >>> import torch
    >>> multiply(torch.ones(2, 3), torch.ones(3, 1)).tolist()
    [[3.0], [3.0]]
    """
    if isinstance(x, Tensor) and weight.size(1) < NARROW and not x.is_cuda:
        return (weight.T.contiguous() @ x.T).T  # contiguous, or the gradient is slow
    return x @ weight
