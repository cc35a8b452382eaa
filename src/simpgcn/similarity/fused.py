r"""The neighbour search on CUDA, with tensor cores and without ever writing the scores down.

One kernel multiplies float16 rows tile by tile and keeps only the largest and the smallest score of each group of
columns. The groups with the best of these are then scored again, in float32 or, for whole numbers, exactly; what was
passed over is bounded by its group's score and the rounding error of that product,

.. math:: |\hat{\mathbf{x}}_i^\top \hat{\mathbf{x}}_j - \mathbf{h}_i^\top \mathbf{h}_j|
          \le \delta_i + \delta_{\max} (1 + \delta_i) + \text{accumulation}, \qquad
          \delta_i = \lVert \hat{\mathbf{x}}_i - \mathbf{h}_i \rVert,

which proves most rows' answers. For whole numbers float16 is exact, but most scores are equal, so the groups keep
the extremes of (key, hash) packed into one integer.

A row's own score and the rows that fill up the last group, zeros or what is no candidate, are left in: a group's
extreme is then still a bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
import triton
import triton.language as tl
from torch import Tensor

from simpgcn.data.features import csr_rows, is_sparse
from simpgcn.similarity.dots import Comparable, rounding_bound
from simpgcn.similarity.exact import Block, Neighbors, Pass, cosine
from simpgcn.similarity.ties import first, ranked, row_hash, tie_order, top

# Columns that share one extreme.
GROUP = 64
# Columns of a tile of scores; they are filled up with zero rows to whole tiles.
TILE = 128
# The depth of a tile's products: all of it up to the first, in steps of the second beyond.
RESIDENT_DEPTH, DEPTH_STEP = 128, 64
# Groups scored again beyond those that k neighbours and the row itself can lie in: first few, then, for the rows
# that this does not prove, many. Whole numbers only need to tell a tie of hashes.
SLACKS = (8, 64)
WHOLE_SLACKS = (1,)
# Candidates ranked in float64 beyond the k best by float32.
RANKED_SLACK = 4
# Tiles that one program walks through.
WALK = 64
# Rows searched at once, at most; fewer where their extremes and candidates would take over an eighth of the memory.
BLOCK_ROWS = 1 << 15
MEMORY_SHARE = 8


def passes(features: Comparable, k: int, farthest: int) -> list[Pass]:
    """The searches to try first: none where the dense tables do not fit or too few groups can be passed over."""
    x = features.x
    slacks = WHOLE_SLACKS if features.whole else SLACKS
    entry_bytes = 2 if features.whole or not is_sparse(x) else 6
    free, _ = torch.cuda.mem_get_info(x.device)
    fits = x.size(0) * _padded_depth(x.size(1)) * entry_bytes <= free // 4
    if not fits or features.candidates < 4 * GROUP * (max(k, farthest) + 1 + slacks[0]):
        return []
    fused = Fused(features)
    return [partial(fused.search, slack=slack) for slack in slacks]


class Fused:
    """The tables of one set of features, and the search over them."""

    def __init__(self, features: Comparable) -> None:
        x, norm2, self.whole, self.n = features
        self.tie_rows = features.tie_rows
        rows, d = x.shape
        self.groups = triton.cdiv(self.n, TILE) * (TILE // GROUP)
        self.depth = _padded_depth(d)
        filled = max(rows, self.groups * GROUP)
        self.half = torch.zeros(filled, self.depth, dtype=torch.float16, device=x.device)
        if is_sparse(x):
            self.half[csr_rows(x), x.col_indices()] = x.values().half()
        else:
            self.half[:rows, :d] = x
        self.table = self.half if self.whole else (x.to_dense() if is_sparse(x) else x).contiguous()
        self.norm2 = norm2
        self.divisor = torch.ones(self.groups * GROUP, device=x.device)
        self.divisor[: self.n] = norm2[: self.n].masked_fill(norm2[: self.n] == 0, 1)
        if not self.whole:
            parts = zip(self.table.split(BLOCK_ROWS), self.half[:rows, :d].split(BLOCK_ROWS), strict=True)
            delta = torch.cat([(row - half).norm(dim=1) for row, half in parts]) * (1 + 2**-10)
            # The tensor cores may truncate where float32 arithmetic would round.
            self.error = delta + delta.max() * (1 + delta) + rounding_bound(self.table, bits=22)
            self.bound = rounding_bound(self.table, bits=24)

    def search(self, rows: Tensor, k: int, farthest: int, seed: int, slack: int) -> Iterator[Block]:
        """The neighbours of some rows, block by block."""
        for block in rows.split(self._block_rows(max(k, farthest) + 1 + slack)):
            high, low = self._extremes(block, seed)
            near = self._pick(block, high, k, slack, seed, largest=True)
            del high
            far = self._pick(block, low, farthest, slack, seed, largest=False)
            yield Block(block, Neighbors(near[0], near[1], far[0], far[1]), near[2] & far[2])

    def _block_rows(self, chosen: int) -> int:
        free, _ = torch.cuda.mem_get_info(self.half.device) if self.half.is_cuda else (1 << 30, 0)
        each = 16 * self.groups + 32 * min(chosen, self.groups) * GROUP
        return max(1, min(BLOCK_ROWS, free // MEMORY_SHARE // each))

    def _extremes(self, rows: Tensor, seed: int) -> tuple[Tensor, Tensor]:
        """The largest and the smallest score of each row in each group, both ``[b, groups]``."""
        dtype = torch.int64 if self.whole else torch.float32
        high, low = torch.empty(2, rows.numel(), self.groups, dtype=dtype, device=rows.device)
        tiles = self.groups * GROUP // TILE
        tile_rows = 64 if self.whole else 128  # packed scores take twice the registers
        grid = (triton.cdiv(rows.numel(), tile_rows), triton.cdiv(tiles, WALK))
        _group_extremes[grid](
            self.half,
            rows,
            row_hash(self.tie_rows(rows), seed).int(),
            self.divisor,
            high,
            low,
            rows.numel(),
            tiles,
            DEPTH=self.depth,
            K=self.depth if self.depth <= RESIDENT_DEPTH else DEPTH_STEP,
            M=tile_rows,
            N=TILE,
            G=GROUP,
            WALK=WALK,
            WHOLE=self.whole,
            num_warps=8,
            num_stages=2 if self.depth <= RESIDENT_DEPTH else 3,
        )
        return high, low

    def _pick(
        self, rows: Tensor, extremes: Tensor, count: int, slack: int, seed: int, *, largest: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The columns and similarities of the ``count`` first, and whether they are proved."""
        if count == 0:
            none = rows.new_empty(rows.numel(), 0)
            return none, none.float(), torch.ones_like(rows, dtype=torch.bool)
        kept = min(count + 1 + slack, self.groups)
        extreme, chosen = top(extremes, kept, largest=largest)
        nothing_passed_over = kept == self.groups
        within = torch.arange(GROUP, dtype=torch.int32, device=rows.device)
        columns = (chosen.int().sort(dim=1).values.unsqueeze(2) * GROUP + within).flatten(1)
        score = self._dots(rows, columns, torch.float32, largest=largest)
        names = self.tie_rows(rows)
        passed_over = extreme[:, -1]
        if self.whole:
            score = score.mul_(score.abs()).div_(self.divisor[columns.long()])
            key, picked = first(score, count, names, seed, largest=largest, columns=columns)
            last = ranked(key[:, -1], tie_order(names, picked[:, -1], seed) >> 32, largest=largest)
            similarity = cosine(key, self.norm2[rows])
            proved = (last < (~passed_over if largest else passed_over)) | nothing_passed_over
        else:
            rough, places = top(score, min(count + RANKED_SLACK, score.size(1)), largest=largest)
            columns = columns.gather(1, places).sort(dim=1).values
            exact = self._dots(rows, columns, torch.float64, largest=largest).float()
            similarity, picked = first(exact, count, names, seed, largest=largest, columns=columns)
            sign = 1 if largest else -1
            proved = (sign * (similarity[:, -1] - passed_over) > self.error[rows]) | nothing_passed_over
            proved &= sign * (similarity[:, -1] - rough[:, -1]) > self.bound
        return picked, similarity, proved

    def _dots(self, rows: Tensor, columns: Tensor, dtype: torch.dtype, *, largest: bool) -> Tensor:
        """The dot products of rows with columns ``[b, w]``; what is no neighbour comes last."""
        out = torch.empty(columns.shape, dtype=dtype, device=rows.device)
        d = self.table.size(1)
        depth = triton.next_power_of_2(min(d, 128))
        _pair_dots[(rows.numel(),)](
            self.table,
            rows,
            columns,
            out,
            self.n,
            columns.size(1),
            -torch.inf if largest else torch.inf,
            D=d,
            K=depth,
            J=64,
            ACC=tl.float64 if dtype == torch.float64 else tl.float32,
            num_warps=4,
        )
        return out


def _padded_depth(d: int) -> int:
    if d <= RESIDENT_DEPTH:
        return max(16, triton.next_power_of_2(d))
    return triton.cdiv(d, DEPTH_STEP) * DEPTH_STEP


@triton.jit
def _group_extremes(
    half,
    rows,
    hashes,
    divisor,
    high,
    low,
    count,
    tiles,
    DEPTH: tl.constexpr,
    K: tl.constexpr,
    M: tl.constexpr,
    N: tl.constexpr,
    G: tl.constexpr,
    WALK: tl.constexpr,
    WHOLE: tl.constexpr,
) -> None:
    """Scores of M rows with WALK tiles of N columns, reduced to each row's extremes in each group of G columns."""
    P: tl.constexpr = N // G
    place = tl.program_id(0) * M + tl.arange(0, M)
    inside = place < count
    row = tl.load(rows + place, mask=inside, other=0)
    k = tl.arange(0, K)
    own = half + row[:, None] * DEPTH + k[None, :]
    out = place.to(tl.int64)[:, None] * (tiles * P) + tl.arange(0, P)[None, :]
    if WHOLE:
        row_hash = tl.load(hashes + place, mask=inside, other=0).to(tl.uint32, bitcast=True)
    if DEPTH == K:
        a = tl.load(own)
    start = tl.program_id(1) * WALK
    for tile in range(start, tl.minimum(start + WALK, tiles)):
        column = tile * N + tl.arange(0, N)
        theirs = half + column.to(tl.int64)[None, :] * DEPTH + k[:, None]
        if DEPTH == K:
            score = tl.dot(a, tl.load(theirs))
        else:
            score = tl.zeros((M, N), dtype=tl.float32)
            for depth in range(0, DEPTH, K):
                score = tl.dot(tl.load(own + depth), tl.load(theirs + depth), score)
        if WHOLE:
            # One division, rounded correctly, as in float32 anywhere else.
            key = tl.div_rn(score * tl.abs(score), tl.load(divisor + column)[None, :])
            bits = key.to(tl.int32, bitcast=True)
            bits = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64) << 31
            z = row_hash[:, None] ^ (column.to(tl.uint32) * 0x9E3779B9)[None, :]
            z = (z ^ (z >> 16)) * 0x21F0AAAD
            z = (z ^ (z >> 15)) * 0x735A2D97
            order = ((z ^ (z >> 15)) >> 1).to(tl.int64)
            # As simpgcn.similarity.ties.ranked, best lowest; for the nearest that is the largest of its complement.
            highest = tl.max(tl.reshape(bits | (0x7FFFFFFF - order), (M, P, G)), axis=2)
            lowest = tl.min(tl.reshape(bits | order, (M, P, G)), axis=2)
        else:
            score = tl.reshape(score, (M, P, G))
            highest = tl.max(score, axis=2)
            lowest = tl.min(score, axis=2)
        tl.store(high + out + tile * P, highest, mask=inside[:, None])
        tl.store(low + out + tile * P, lowest, mask=inside[:, None])


@triton.jit
def _pair_dots(
    table,
    rows,
    columns,
    out,
    n,
    width,
    last,
    D: tl.constexpr,
    K: tl.constexpr,
    J: tl.constexpr,
    ACC: tl.constexpr,
) -> None:
    """Dot products of one row with its ``width`` columns, without tensor cores; ``last`` for itself and for no row."""
    place = tl.program_id(0).to(tl.int64)
    row = tl.load(rows + place)
    k = tl.arange(0, K)
    for start in range(0, width, J):
        j = start + tl.arange(0, J)
        column = tl.load(columns + place * width + j, mask=j < width, other=n)
        valid = column < n
        total = tl.zeros((J,), dtype=ACC)
        for depth in range(0, D, K):
            own = tl.load(table + row * D + depth + k, mask=depth + k < D, other=0).to(ACC)
            theirs = table + column.to(tl.int64)[:, None] * D + depth + k[None, :]
            value = tl.load(theirs, mask=valid[:, None] & (depth + k < D)[None, :], other=0).to(ACC)
            total += tl.sum(value * own[None, :], axis=1)
        total = tl.where(valid & (column != row), total, last)
        tl.store(out + place * width + j, total, mask=j < width)
