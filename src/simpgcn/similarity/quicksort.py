r"""The least similar rows as a quicksort leaves them, which is how the published code of SimP-GCN chose among equals.

Most rows have hundreds of others that share nothing with them, so which m of them are the least similar is a matter
of how equals are ordered. The published code sorts each row of similarities with NumPy's quicksort (median of three,
short runs by insertion), which moves equals about as its comparisons have it. What it leaves first is much the same
from row to row: a few rows are the least similar to very many others. :mod:`simpgcn.similarity.ties` draws them
evenly instead.

NumPy sorts float32 with vector instructions where the processor has them, and those order equals otherwise. It has
none for ``longdouble``, whose comparisons are the same: so the order is that of the quicksort on every machine.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from simpgcn.similarity.dots import comparable
from simpgcn.similarity.exact import block_rows, exact_keys, side_by_side, similarities


def quicksort_farthest(
    x: Tensor, count: int, *, on_progress: Callable[[float], None] | None = None
) -> tuple[Tensor, Tensor]:
    """The ``count`` rows that a quicksort of all similarities leaves first, ``[n, count]``, and theirs.

    The rows are sorted on the CPU, by all its threads; what is held is a block of them a thread.

    Args:
        x: Features, dense or sparse CSR, on CPU or CUDA.
        count: Least similar rows per row, which is never its own.
        on_progress: Called with the share of rows done.

    >>> x = torch.tensor([[1.0, 0.0], [2.0, 0.1], [1.0, 2.0], [-1.0, 3.0]])
    >>> quicksort_farthest(x, 1)[0].flatten().tolist()
    [3, 3, 0, 0]
    """
    features = comparable(x.cpu())
    keys = exact_keys(features)

    def search(rows: Tensor) -> tuple[Tensor, Tensor]:
        key = keys(rows)
        order = np.argsort(key.numpy().astype(np.longdouble), axis=1, kind="quicksort")
        far = torch.from_numpy(_without_itself(order[:, : count + 1], rows.numpy()))
        return far, similarities(features, key.gather(1, far), rows)

    blocks = torch.arange(x.size(0)).split(block_rows(features.x))
    found, done = [], 0
    for block, answer in zip(blocks, side_by_side(search, blocks), strict=True):
        found.append(answer)
        done += len(block)
        if on_progress is not None:
            on_progress(done / x.size(0))
    far, similarity = (torch.cat(parts).to(x.device) for parts in zip(*found, strict=True))
    return far, similarity


def _without_itself(order: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """All but one column: a row's own number, or the last where it is not there."""
    own = order == rows[:, None]
    own[:, -1] |= ~own.any(axis=1)
    return order[~own].reshape(len(order), -1)
