"""Features as the first layer of a baseline reads them, sparse where that is faster."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from simpgcn.data.features import compact, is_sparse
from simpgcn.nn.dropout import dropout
from simpgcn.nn.sparse_matrix import SparseMatrix


def layer_features(x: Tensor) -> Tensor | SparseMatrix:
    """Features for :func:`linear`: sparse on a CPU where few are non-zero, dense otherwise.

    A GPU lays a sparse matrix out anew whenever its values change, as dropout's do.

    >>> import torch
    >>> layer_features(torch.eye(100)), layer_features(torch.ones(2, 2)).layout
    (SparseMatrix(100, 100, nnz=100), torch.strided)
    """
    if x.is_cuda:
        return x.to_dense()
    x = compact(x)
    return SparseMatrix(x) if is_sparse(x) else x


def drop_features(x: Tensor | SparseMatrix, p: float, training: bool) -> Tensor | SparseMatrix:
    """Dropout that leaves sparse features sparse: of a zero it makes no difference.

    >>> import torch
    >>> drop_features(SparseMatrix(torch.eye(3)), 0.5, training=True)
    SparseMatrix(3, 3, nnz=3)
    """
    if isinstance(x, Tensor):
        return dropout(x, p, training)
    return x.with_values(dropout(x.matrix.values(), p)) if training else x


def linear(layer: nn.Module, x: Tensor | SparseMatrix) -> Tensor:
    """A linear layer of features that may be sparse.

    >>> import torch
    >>> layer = nn.Linear(3, 2)
    >>> torch.equal(linear(layer, SparseMatrix(torch.eye(3))), layer(torch.eye(3)))
    True
    """
    weight: Tensor = layer.weight  # type: ignore[assignment]
    bias: Tensor | None = layer.bias  # type: ignore[assignment]
    if isinstance(x, Tensor):
        return F.linear(x, weight, bias)
    product = x @ weight.t()
    return product if bias is None else product + bias
