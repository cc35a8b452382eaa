"""Node features, dense or sparse: what kind they are, and the two copies the paper makes of them.

Features are a dense ``[n, d]`` tensor or a ``torch.sparse_csr`` one; every function here takes either and
returns the same layout, never touching its input.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from simpgcn.errors import SimPGCNError

# torch announces its sparse layouts as beta and unchecked once per process; users can do nothing about it.
for _message in ("Sparse CSR tensor support is in beta state", "Sparse invariant checks are implicitly disabled"):
    warnings.filterwarnings("ignore", message=_message)

Choice = Literal["auto", "always", "never"]

# Bags of words are mostly zeros (PubMed, the densest of the benchmarks' tf-idf sets, has 10% non-zeros).
_WORDS_DENSITY = 0.25
# Below this share of non-zeros a sparse product beats a dense one on CPU and GPU alike.
_SPARSE_DENSITY = 0.15


def is_sparse(x: Tensor) -> bool:
    """Whether ``x`` is stored sparse.

    >>> is_sparse(torch.eye(3).to_sparse_csr()), is_sparse(torch.eye(3))
    (True, False)
    """
    return x.layout != torch.strided


def stored_values(x: Tensor) -> Tensor:
    """The numbers that are stored: all of a dense tensor, the non-zeros of a sparse one.

    >>> stored_values(torch.eye(2).to_sparse_csr())
    tensor([1., 1.])
    """
    return x.values() if is_sparse(x) else x


def density(x: Tensor) -> float:
    """The share of entries that are not zero.

    >>> density(torch.eye(4))
    0.25
    """
    return _share(stored_values(x).bool(), x)


def _share(nonzero: Tensor, x: Tensor) -> float:
    count = int(np.count_nonzero(nonzero.numpy()) if x.device.type == "cpu" else nonzero.count_nonzero())
    return count / max(1, x.size(0) * x.size(1))


def as_csr(x: Tensor) -> Tensor:
    """``x`` in CSR layout.

    >>> as_csr(torch.eye(2)).layout
    torch.sparse_csr
    """
    if x.layout == torch.sparse_csr:
        return x
    if x.layout == torch.sparse_coo:
        return x.coalesce().to_sparse_csr()
    return _csr(x, x.bool())


def from_scipy_csr(matrix: sparse.csr_array) -> Tensor:
    """A SciPy matrix as a CSR tensor of float32.

    >>> from_scipy_csr(sparse.eye_array(2, format="csr")).to_dense().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    matrix.sort_indices()
    rows, columns = (torch.from_numpy(part.astype(np.int64)) for part in (matrix.indptr, matrix.indices))
    values = torch.from_numpy(matrix.data.astype(np.float32))
    return torch.sparse_csr_tensor(rows, columns, values, matrix.shape, check_invariants=False)


def _csr(x: Tensor, nonzero: Tensor) -> Tensor:
    if x.device.type != "cpu":
        return x.to_sparse_csr()
    # NumPy finds the non-zeros several times faster than PyTorch.
    n, d = x.shape
    place = torch.from_numpy(np.flatnonzero(nonzero.numpy()))
    crow = torch.searchsorted(place, d * torch.arange(n + 1))
    values = x.flatten().index_select(0, place)
    return torch.sparse_csr_tensor(crow, place % max(d, 1), values, (n, d), check_invariants=False)


def compact(x: Tensor) -> Tensor:
    """``x`` in the layout that multiplies faster: CSR where few entries are non-zero, dense otherwise.

    >>> compact(torch.eye(100)).layout, compact(torch.ones(2, 2).to_sparse_csr()).layout
    (torch.sparse_csr, torch.strided)
    """
    if is_sparse(x):
        return as_csr(x) if density(x) < _SPARSE_DENSITY else x.to_dense()
    nonzero = x.bool()
    return _csr(x, nonzero) if _share(nonzero, x) < _SPARSE_DENSITY else x


def with_values(x: Tensor, values: Tensor) -> Tensor:
    """A tensor with the sparsity of ``x`` and other stored numbers."""
    if not is_sparse(x):
        return values
    return torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(), values, x.shape, check_invariants=False)


def stack_rows(above: Tensor, below: Tensor) -> Tensor:
    """The rows of two tables of features as one, in the layout of the first.

    >>> stack_rows(torch.eye(2).to_sparse_csr(), torch.ones(1, 2)).to_dense().tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    """
    if not is_sparse(above):
        return torch.cat([above, below.to_dense().to(above.dtype)])
    above, below = as_csr(above), as_csr(below)
    crow = torch.cat([above.crow_indices(), below.crow_indices()[1:] + above.values().numel()])
    columns = torch.cat([above.col_indices(), below.col_indices()])
    values = torch.cat([above.values(), below.values().to(above.dtype)])
    shape = (above.size(0) + below.size(0), above.size(1))
    return torch.sparse_csr_tensor(crow, columns, values, shape, check_invariants=False)


def stack_columns(blocks: Sequence[np.ndarray | sparse.csr_array]) -> Tensor:
    """Blocks of columns side by side as float32, at once in the layout that :func:`compact` would choose.

    >>> stack_columns([np.ones((2, 1)), sparse.eye_array(2, format="csr")])
    tensor([[1., 1., 0.],
            [1., 0., 1.]])
    """
    shape = blocks[0].shape[0], sum(block.shape[1] for block in blocks)
    stored = sum(int(np.count_nonzero(block)) if isinstance(block, np.ndarray) else block.nnz for block in blocks)
    if stored / max(1, shape[0] * shape[1]) < _SPARSE_DENSITY:
        return from_scipy_csr(sparse.hstack([sparse.csr_array(block) for block in blocks], format="csr"))
    x = np.empty(shape, np.float32)
    start = 0
    for block in blocks:
        end = start + block.shape[1]
        x[:, start:end] = block if isinstance(block, np.ndarray) else block.toarray()
        start = end
    return torch.from_numpy(x)


def first_rows(x: Tensor, count: int) -> Tensor:
    """The first rows of a table of features, without a copy.

    >>> first_rows(torch.eye(3).to_sparse_csr(), 1).to_dense()
    tensor([[1., 0., 0.]])
    """
    if count == x.size(0):
        return x
    if not is_sparse(x):
        return x[:count]
    crow = x.crow_indices()[: count + 1]
    stored = int(crow[-1])
    shape = (count, x.size(1))
    return torch.sparse_csr_tensor(crow, x.col_indices()[:stored], x.values()[:stored], shape, check_invariants=False)


def is_word_like(x: Tensor) -> bool:
    """Whether ``x`` looks like words: nothing negative, and mostly zeros.

    >>> is_word_like(torch.eye(10)), is_word_like(torch.randn(10, 10))
    (True, False)
    """
    return bool((stored_values(x) >= 0).all()) and density(x) < _WORDS_DENSITY


def binarize_choice(x: Tensor, mode: Choice = "auto") -> Choice:
    """What ``auto`` comes to for these features, to be kept for rows that are added to them; see :func:`binarize`.

    >>> binarize_choice(torch.eye(10)), binarize_choice(torch.randn(10, 10))
    ('always', 'never')
    """
    _check_choice("binarize", mode)
    if mode != "auto":
        return mode
    return "always" if is_word_like(x) else "never"


def binarize(x: Tensor, mode: Choice = "auto") -> Tensor:
    """Features whose similarity the paper compares: non-zero becomes 1.

    ``auto`` binarises what looks like words (counts, tf-idf) and leaves real-valued features alone.

    >>> binarize(torch.tensor([[0.0, 3.0], [0.2, 0.0]]), "always")
    tensor([[0., 1.],
            [1., 0.]])
    """
    if binarize_choice(x, mode) == "never":
        return x
    return with_values(x, (stored_values(x) != 0).to(torch.float32))


def normalize_choice(x: Tensor, mode: Choice = "auto") -> Choice:
    """What ``auto`` comes to for these features, to be kept for rows that are added to them; see :func:`row_normalize`.

    >>> normalize_choice(torch.ones(1, 2)), normalize_choice(-torch.ones(1, 2))
    ('always', 'never')
    """
    _check_choice("normalize_features", mode)
    if mode != "auto":
        return mode
    return "never" if bool((stored_values(x) < 0).any()) else "always"


def row_normalize(x: Tensor, mode: Choice = "auto") -> Tensor:
    """Features fed to the model: each row divided by the sum of its absolute values; zero rows stay zero.

    ``auto`` normalises features without negative entries and leaves the others alone.

    >>> row_normalize(torch.tensor([[1.0, 3.0], [0.0, 0.0]]))
    tensor([[0.2500, 0.7500],
            [0.0000, 0.0000]])
    """
    if normalize_choice(x, mode) == "never":
        return x
    values = stored_values(x)
    if not is_sparse(x):
        total = x.abs().sum(dim=1, keepdim=True)
        return x / total.masked_fill_(total == 0, 1.0)
    rows = csr_rows(x)
    total = torch.zeros(x.size(0), dtype=values.dtype, device=x.device).index_add_(0, rows, values.abs())
    total.masked_fill_(total == 0, 1.0)
    return with_values(x, values / total[rows])


def csr_rows(x: Tensor) -> Tensor:
    """The row of every stored entry of a CSR tensor.

    >>> csr_rows(torch.tensor([[1.0, 1.0], [0.0, 1.0]]).to_sparse_csr())
    tensor([0, 0, 1])
    """
    counts = x.crow_indices().diff()
    return torch.repeat_interleave(torch.arange(x.size(0), device=x.device), counts)


def take_rows(x: Tensor, rows: Tensor) -> Tensor:
    """Some rows of ``x``, in their order.

    >>> take_rows(torch.eye(3).to_sparse_csr(), torch.tensor([2, 0])).to_dense()
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    if not is_sparse(x):
        return x.index_select(0, rows)
    start = x.crow_indices()
    counts = start.diff()[rows]
    ends = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    shift = torch.repeat_interleave(start[rows] - ends[:-1], counts)
    place = shift + torch.arange(len(shift), device=x.device)
    shape = (len(rows), x.size(1))
    return torch.sparse_csr_tensor(ends, x.col_indices()[place], x.values()[place], shape, check_invariants=False)


def _check_choice(name: str, mode: str) -> None:
    if mode not in get_args(Choice):
        raise SimPGCNError(f"{name} must be auto, always or never, not {mode!r}")
