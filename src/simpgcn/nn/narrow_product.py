"""The product of many rows with few columns, the way BLAS libraries do it fast, and without them on CUDA."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from simpgcn.nn.batching import Operator, runs_first, runs_second
from simpgcn.nn.kernels import kernels_for
from simpgcn.nn.sparse_matrix import SparseMatrix

# Below about this many columns a CPU's matrix product is up to five times faster on the transposes.
NARROW = 32


def multiply(x: Tensor | SparseMatrix, weight: Tensor) -> Tensor:
    """``x @ weight``.

    >>> import torch
    >>> multiply(torch.ones(2, 3), torch.ones(3, 1)).tolist()
    [[3.0], [3.0]]
    """
    if isinstance(x, SparseMatrix) or weight.size(-1) >= NARROW:
        return x @ weight
    if kernels_for(x, "narrow_product"):
        product: Tensor = _Narrow.apply(x, weight)
        return product
    return (weight.T.contiguous() @ x.T).T  # contiguous, or the gradient is slow


class _Narrow(Operator):
    """On CUDA, where BLAS libraries leave most of a GPU idle in the sum over the rows that the gradient of the weights
    is: x is [n, h] or [n, runs, h], weight [h, c] or [runs, h, c].
    """

    @staticmethod
    def forward(x: Tensor, weight: Tensor) -> Tensor:
        kernels = kernels_for(x, "narrow_product")
        assert kernels is not None
        product: Tensor = kernels.multiply(x, weight)
        return product

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        kernels = kernels_for(x, "narrow_product")
        assert kernels is not None
        x_bar, weight_bar = kernels.gradients(gradient, x, weight)
        return x_bar, weight_bar

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, weight: Tensor) -> tuple[Tensor, int]:
        runs = info.batch_size
        return _Narrow.apply(runs_second(x, in_dims[0], runs), runs_first(weight, in_dims[1], runs)), 1
