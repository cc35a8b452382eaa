"""One function for the search: the k most and the m least similar rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor

from simpgcn.data.features import as_csr, is_sparse, stack_rows, stored_values
from simpgcn.errors import SimPGCNError
from simpgcn.similarity.exact import Neighbors, exact_neighbors
from simpgcn.similarity.quicksort import quicksort_farthest

FarTies = Literal["random", "quicksort"]


def nearest_neighbors(
    x: Tensor,
    k: int,
    *,
    farthest: int = 0,
    seed: int = 0,
    far_ties: FarTies = "random",
    among: Tensor | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> Neighbors:
    r"""The ``k`` most and the ``farthest`` least similar rows of ``x``, by cosine similarity.

    .. math:: S_{ij} = \frac{\mathbf{x}_i^\top \mathbf{x}_j}{\lVert\mathbf{x}_i\rVert \lVert\mathbf{x}_j\rVert}

    The search is exact and holds ``O(n·k)`` results and a block of scores a thread. A row is never its own
    neighbour; a zero row has similarity 0 to every other. Equal similarities are ordered at random by
    ``seed``, the same way on every device. Small whole numbers are compared exactly; other features as float32
    unit rows, whose dot products are added up in float64 and rounded to float32.

    With ``among``, neighbours are searched among its rows, and numbered as they are. A row of ``x`` may then find
    its equal, equal similarities are ordered in the same way for every row of ``x``, and what a row finds does not
    depend on the rows beside it.

    Args:
        x: Features ``[n, d]``, dense or sparse CSR, on CPU or CUDA.
        k: Neighbours per row, most similar first.
        farthest: Least similar rows to return as well, least similar first.
        seed: Orders equal similarities.
        far_ties: How those are ordered among the least similar: at ``random``, by the seed, too; or as the published
            code's ``quicksort`` leaves them, which names few rows very often
            (:mod:`simpgcn.similarity.quicksort`) and takes longer.
        among: Features ``[s, d]`` of those to search among; the rows of ``x`` themselves if left out.
        on_progress: Called with the share of rows done.

    >>> x = torch.tensor([[1.0, 0.0], [2.0, 0.1], [1.0, 2.0], [-1.0, 3.0]])
    >>> found = nearest_neighbors(x, k=1, farthest=1)
    >>> found.near.flatten().tolist(), found.far.flatten().tolist()
    ([1, 0, 3, 2], [3, 3, 0, 0])
    >>> nearest_neighbors(torch.tensor([[0.0, 1.0]]), k=1, among=x).near
    tensor([[3]])
    """
    for table in (x, x if among is None else among):
        if table.dim() != 2:
            raise SimPGCNError(f"features must be a table of n rows and d columns, not of shape {tuple(table.shape)}")
    candidates = None if among is None else among.size(0)
    others = max(x.size(0) - 1, 0) if candidates is None else candidates
    for name, count in (("k", k), ("farthest", farthest)):
        if not 0 <= count <= others:
            found = f"each of the {x.size(0)} nodes has {others} others" if among is None else f"there are {others}"
            raise SimPGCNError(
                f"{name} = {count} neighbours were asked for, but {found}: choose {name} between 0 and {others}"
            )
    if far_ties not in get_args(FarTies):
        raise SimPGCNError(f"similarity.far_ties must be random or quicksort, not {far_ties!r}")
    sorted_far = far_ties == "quicksort" and farthest > 0
    if among is not None:
        if sorted_far:
            raise SimPGCNError("far_ties=quicksort sorts the rows themselves: leave among out, or farthest at 0")
        if x.size(1) != among.size(1):
            raise SimPGCNError(f"rows of {x.size(1)} features cannot be compared with rows of {among.size(1)}")
        x = stack_rows(among, x)
    x = as_csr(x) if is_sparse(x) else x
    if not _is_finite(stored_values(x)):
        raise SimPGCNError("the features hold NaN or infinite values: fill or drop them first")
    with torch.cuda.device_of(stored_values(x)):
        if not sorted_far:
            return exact_neighbors(x, k, farthest, seed=seed, candidates=candidates, on_progress=on_progress)
        near = exact_neighbors(x, k, 0, seed=seed, on_progress=_part(on_progress, 0))
        far, similarity = quicksort_farthest(x, farthest, on_progress=_part(on_progress, 1))
        return near._replace(far=far, far_similarity=similarity)


def _part(on_progress: Callable[[float], None] | None, half: int) -> Callable[[float], None] | None:
    return None if on_progress is None else lambda share: on_progress((half + share) / 2)


def _is_finite(values: Tensor) -> bool:
    # NaN and infinity survive into the extremes, which take one reading and no mask.
    return not values.numel() or bool(torch.stack(torch.aminmax(values)).isfinite().all())
