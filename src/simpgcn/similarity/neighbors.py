"""One function for the search: the k most and the m least similar rows."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from simpgcn.data.features import is_sparse, stored_values
from simpgcn.errors import SimPGCNError
from simpgcn.similarity.exact import Neighbors, exact_neighbors


def nearest_neighbors(
    x: Tensor,
    k: int,
    *,
    farthest: int = 0,
    seed: int = 0,
    on_progress: Callable[[float], None] | None = None,
) -> Neighbors:
    r"""The ``k`` most and the ``farthest`` least similar rows of ``x``, by cosine similarity.

    .. math:: S_{ij} = \frac{\mathbf{x}_i^\top \mathbf{x}_j}{\lVert\mathbf{x}_i\rVert \lVert\mathbf{x}_j\rVert}

    The search is exact and holds ``O(n·k)`` results and a block of scores a thread. A row is never its own
    neighbour; a zero row has similarity 0 to every other. Equal similarities are ordered at random by
    ``seed``, the same way on every device. Small whole numbers are compared exactly; other features as float32
    unit rows, whose dot products are added up in float64 and rounded to float32.

    Args:
        x: Features ``[n, d]``, dense or sparse CSR, on CPU or CUDA.
        k: Neighbours per row, most similar first.
        farthest: Least similar rows to return as well, least similar first.
        seed: Orders equal similarities.
        on_progress: Called with the share of rows done.

    >>> x = torch.tensor([[1.0, 0.0], [2.0, 0.1], [1.0, 2.0], [-1.0, 3.0]])
    >>> found = nearest_neighbors(x, k=1, farthest=1)
    >>> found.near.flatten().tolist(), found.far.flatten().tolist()
    ([1, 0, 3, 2], [3, 3, 0, 0])
    """
    if x.dim() != 2:
        raise SimPGCNError(f"features must be a table of n rows and d columns, not of shape {tuple(x.shape)}")
    n = x.size(0)
    for name, count in (("k", k), ("farthest", farthest)):
        if not 0 <= count < max(n, 1):
            raise SimPGCNError(
                f"{name} = {count} neighbours were asked for, but each of the {n} nodes has {max(n - 1, 0)} "
                f"others: choose {name} between 0 and {max(n - 1, 0)}"
            )
    if is_sparse(x) and x.layout != torch.sparse_csr:
        x = x.coalesce().to_sparse_csr()
    if not _is_finite(stored_values(x)):
        raise SimPGCNError("the features hold NaN or infinite values: fill or drop them first")
    with torch.cuda.device_of(stored_values(x)):
        return exact_neighbors(x, k, farthest, seed=seed, on_progress=on_progress)


def _is_finite(values: Tensor) -> bool:
    # NaN and infinity survive into the extremes, which take one reading and no mask.
    return not values.numel() or bool(torch.stack(torch.aminmax(values)).isfinite().all())
