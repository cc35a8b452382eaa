r"""The exact k most and m least similar rows, block by block: nothing of size :math:`n \times n` exists.

Rows are ranked by cosine similarity. For whole-number features (words, small counts) with squared lengths up to
:math:`2^{12}` the dot products and their squares are exact in float32 whatever the order of summation, so for a
fixed row :math:`i` the key

.. math:: r_{ij} = \frac{d_{ij} |d_{ij}|}{\lVert \mathbf{x}_j \rVert^2}, \qquad
          d_{ij} = \mathbf{x}_i^\top \mathbf{x}_j, \qquad S_{ij} = \pm\sqrt{|r_{ij}|} \,/\, \lVert \mathbf{x}_i \rVert

is one correctly rounded division: equal similarities give equal keys on every machine and with every
backend. Other features are scaled to unit rows first, and the similarity of two is their dot product added up in
float64 and rounded to float32: equal means equal after rounding.

The search goes from fast to slow. Each pass returns, for each row, whether its answer is proved: whether what it
passed over is farther, by more than its rounding errors, than what it kept. The rows left go to the next pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from simpgcn.data.features import first_rows, is_sparse, stored_values, with_values
from simpgcn.similarity.dots import Comparable, comparable, dots, full_precision, pair_dots, rounding_bound
from simpgcn.similarity.ties import first

# Scores held at once, in entries: 8 MB of float32 and a few temporaries stay within a cache's reach.
BLOCK_ENTRIES = 1 << 21
# Dense products gain from larger blocks; sparse ones, on a CPU, from a table of a block's rows that stays in its cache.
SPARSE_ROWS = 128
# Sparse blocks searched at once, at most: each holds a block of scores, and Python runs one thread at a time.
MOST_THREADS = 8
# A GPU needs larger blocks to be busy; their temporaries take at most about this many bytes per entry.
CUDA_BLOCK_ENTRIES = 1 << 27
CUDA_BYTES_PER_ENTRY = 64
# Rows kept beyond the k best by float32, to be ranked with them in float64.
SLACK = 4


class Neighbors(NamedTuple):
    """The rows most and least similar to each row, best first.

    ``near`` and ``near_similarity`` are ``[n, k]``; ``far`` and ``far_similarity`` are ``[n, m]``.
    """

    near: Tensor
    near_similarity: Tensor
    far: Tensor
    far_similarity: Tensor


class Block(NamedTuple):
    """The answer for some rows, and for which of them it is proved."""

    rows: Tensor
    found: Neighbors
    proved: Tensor


Pass = Callable[[Tensor, int, int, int], Iterator[Block]]
Found = TypeVar("Found")


def exact_neighbors(
    x: Tensor,
    k: int,
    farthest: int,
    *,
    seed: int,
    candidates: int | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> Neighbors:
    """The exact neighbours of every row of ``x``; see :func:`simpgcn.similarity.nearest_neighbors`.

    With ``candidates``, those of the rows after the first so many, among the first so many.
    """
    features = comparable(x, candidates)
    start, device = candidates or 0, x.device
    n = x.size(0) - start
    found = Neighbors(
        torch.empty(n, k, dtype=torch.long, device=device),
        torch.empty(n, k, device=device),
        torch.empty(n, farthest, dtype=torch.long, device=device),
        torch.empty(n, farthest, device=device),
    )
    left = torch.arange(start, x.size(0), device=device)
    for search in _passes(features, k, farthest):
        if not left.numel():
            break
        unproved = []
        for block in search(left, k, farthest, seed):
            for whole, part in zip(found, block.found, strict=True):
                whole[block.rows - start] = part
            unproved.append(block.rows[~block.proved])
            n -= block.rows.numel() - unproved[-1].numel()
            if on_progress is not None:
                on_progress(1 - n / (x.size(0) - start))
        left = torch.cat(unproved)
    return found


def _passes(features: Comparable, k: int, farthest: int) -> list[Pass]:
    blocked = [_all] if features.whole else [_single, _all]
    return _fused(features, k, farthest) + [partial(search, features) for search in blocked]


def _fused(features: Comparable, k: int, farthest: int) -> list[Pass]:
    if features.x.device.type != "cuda":
        return []
    try:
        from simpgcn.similarity import fused
    except ImportError:  # a CUDA build of PyTorch without Triton
        return []
    return fused.passes(features, k, farthest)


def _all(features: Comparable, rows: Tensor, k: int, farthest: int, seed: int) -> Iterator[Block]:
    """Every candidate by its exact key."""
    keys = exact_keys(features)

    def search(block: Tensor) -> Block:
        key = keys(block)
        near_key, near = _others(features, key, k, block, seed, largest=True)
        far_key, far = _others(features, key, farthest, block, seed, largest=False)
        found = Neighbors(near, similarities(features, near_key, block), far, similarities(features, far_key, block))
        return Block(block, found, torch.ones_like(block, dtype=torch.bool))

    x, step = features.x, block_rows(features.x)
    blocks = rows.split(step if features.whole else max(1, step // 2))
    short = features.whole and is_sparse(x) and x.device.type == "cpu"
    return side_by_side(search, blocks) if short else map(search, blocks)


def exact_keys(features: Comparable) -> Callable[[Tensor], Tensor]:
    """What gives some rows their keys ``[b, candidates]``, which rank the candidates exactly as similarities do.

    >>> features = comparable(torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]))
    >>> exact_keys(features)(torch.tensor([1]))
    tensor([[1., 2., 0.]])
    """
    x, norm2, whole, candidates = features
    if not whole:
        x = with_values(x, stored_values(x).double())
        others = first_rows(x, candidates)
        return lambda block: dots(x, block, others).float()
    others = first_rows(x, candidates)
    divisor = norm2[:candidates].masked_fill(norm2[:candidates] == 0, 1)  # only where a zero row would divide 0 by 0
    signed = bool((stored_values(x) < 0).any())

    def keys(block: Tensor) -> Tensor:
        key = dots(x, block, others)
        key = key.mul_(key.abs()) if signed else key.square_()
        return key.div_(divisor)

    return keys


def similarities(features: Comparable, key: Tensor, rows: Tensor) -> Tensor:
    """The similarities that some rows have by their exact keys ``[b, c]``."""
    return cosine(key, features.norm2[rows]) if features.whole else key


def side_by_side(search: Callable[[Tensor], Found], blocks: Sequence[Tensor]) -> Iterator[Found]:
    """The answers for all blocks, in order, each found on one thread: for steps too short to be shared."""
    threads = torch.get_num_threads()
    if threads == 1:
        yield from map(search, blocks)
        return
    try:
        with ThreadPoolExecutor(min(threads, MOST_THREADS), initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield from pool.map(search, blocks)
    finally:
        torch.set_num_threads(threads)  # what a thread sets holds for all those that start later


def _others(
    features: Comparable, score: Tensor, count: int, rows: Tensor, seed: int, *, largest: bool
) -> tuple[Tensor, Tensor]:
    """:func:`first` of each row's columns but its own."""
    if features.own:
        _mask_itself(score, rows, largest=largest)
    return first(score, count, features.tie_rows(rows), seed, largest=largest)


def _mask_itself(score: Tensor, rows: Tensor, *, largest: bool) -> None:
    score[torch.arange(rows.numel(), device=rows.device), rows] = -torch.inf if largest else torch.inf


def _single(features: Comparable, rows: Tensor, k: int, farthest: int, seed: int) -> Iterator[Block]:
    """Candidates by float32 products, ranked in float64."""
    x = features.x
    others = first_rows(x, features.candidates)
    bound = rounding_bound(x, bits=24)
    for block in rows.split(block_rows(x)):
        with full_precision():
            score = dots(x, block, others)
        near_score, near, near_proved = _ranked(features, score, k, block, seed, bound, largest=True)
        far_score, far, far_proved = _ranked(features, score, farthest, block, seed, bound, largest=False)
        yield Block(block, Neighbors(near, near_score, far, far_score), near_proved & far_proved)


def _ranked(
    features: Comparable, score: Tensor, count: int, rows: Tensor, seed: int, bound: float, *, largest: bool
) -> tuple[Tensor, Tensor, Tensor]:
    if features.own:
        _mask_itself(score, rows, largest=largest)
    names, others = features.tie_rows(rows), score.size(1) - int(features.own)
    width = min(count + SLACK, others)
    rough, columns = first(score, width, names, seed, largest=largest)
    columns = columns.sort(dim=1).values
    value = pair_dots(features.x, rows, columns).float()
    value, chosen = first(value, count, names, seed, largest=largest, columns=columns)
    if count == 0 or width == others:
        return value, chosen, torch.ones_like(rows, dtype=torch.bool)
    gap = value[:, -1] - rough[:, -1]
    return value, chosen, (gap if largest else -gap) > bound


def block_rows(x: Tensor) -> int:
    """How many rows to score at once."""
    entries = _block_entries(x.device)
    rows = max(1, entries // max(x.shape))  # sparse rows are made dense a block at a time
    if is_sparse(x) and x.device.type == "cpu":
        rows = min(rows, SPARSE_ROWS)
    return rows


def _block_entries(device: torch.device) -> int:
    if device.type != "cuda":
        return BLOCK_ENTRIES
    free, _ = torch.cuda.mem_get_info(device)
    return max(BLOCK_ENTRIES, min(CUDA_BLOCK_ENTRIES, free // CUDA_BYTES_PER_ENTRY))


def cosine(key: Tensor, norm2: Tensor) -> Tensor:
    """The similarities that rows of squared length ``norm2`` have by their keys ``[b, c]``.

    >>> cosine(torch.tensor([[4.0, -1.0]]), torch.tensor([4.0]))
    tensor([[ 1.0000, -0.5000]])
    """
    # In float64, whose last bits, in which devices differ, rounding takes away.
    square = key.double().abs() / norm2.masked_fill(norm2 == 0, 1).unsqueeze(1)
    return square.sqrt().float().copysign(key)
