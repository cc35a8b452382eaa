r"""Picking the first few of each row when many keys are equal.

Among equal keys the order is random but reproducible: by a hash of (seed, i, j). It must depend on both,
or every row would pick the same few columns among its many exact zeros.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

_WORD = 0xFFFFFFFF
_FIRST_FACTOR, _SECOND_FACTOR = 0x21F0AAAD, 0x735A2D97
# Ties are counted on every sixteenth column: the count only decides how many of them are worth hashing in full.
_SAMPLE = 16
# The leading bits of a hash that its last step leaves alone.
_LEADING_BITS = 15


def first(
    key: Tensor, count: int, rows: Tensor, seed: int, *, largest: bool, columns: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The ``count`` largest (or smallest) keys of each row and their columns, ties in hash order.

    Args:
        key: Keys ``[b, c]``.
        count: How many to pick of each row.
        rows: The node of each row ``[b]``, for the hash.
        seed: Orders equal keys.
        largest: Largest first, or smallest first.
        columns: The node of each key ``[b, c]``; its column if left out.

    >>> key = torch.tensor([[0.0, 2.0, 1.0, 3.0]])
    >>> first(key, 2, torch.tensor([0]), seed=0, largest=True)
    (tensor([[3., 2.]]), tensor([[3, 1]]))
    """
    n = key.size(1)
    if count == 0:
        return key.new_empty(key.size(0), 0), torch.empty(key.size(0), 0, dtype=torch.long, device=key.device)
    values, places = top(key, min(count + 1, n), largest=largest)
    # A tie that reaches past the last place: which of the equals are in must not be left to topk.
    torn = values[:, count - 1] == values[:, -1] if n > count else torch.zeros_like(rows, dtype=torch.bool)
    values, places = values[:, :count].contiguous(), places[:, :count].contiguous()
    if bool(torn.any()):
        edge = values[:, -1:]
        better = (values != edge).sum(dim=1, keepdim=True)
        place = torch.arange(count, device=key.device) - better
        tied = key == edge.masked_fill(~torn.unsqueeze(1), torch.nan)  # no copy of the torn rows: nothing equals NaN
        drawn = _draw_tied(tied, rows, columns, count, seed).gather(1, place.clamp(min=0))
        places = torch.where(torn.unsqueeze(1) & (place >= 0), drawn, places)
    chosen = places if columns is None else columns.gather(1, places).long()
    # Within the chosen, sort by key, then by hash: a stable sort on the second of the two first.
    by_hash = tie_order(rows.unsqueeze(1), chosen, seed).argsort(dim=1)
    values, chosen = values.gather(1, by_hash), chosen.gather(1, by_hash)
    values, by_key = values.sort(dim=1, descending=largest, stable=True)
    return values, chosen.gather(1, by_key)


def top(key: Tensor, count: int, *, largest: bool) -> tuple[Tensor, Tensor]:
    """``key.topk``, reading most keys only once: the best lie in the groups of columns with the best maxima.

    >>> values, columns = top(torch.arange(100.0).view(1, 100), 2, largest=True)
    >>> values.tolist(), columns.tolist()
    ([[99.0, 98.0]], [[99, 98]])
    """
    n = key.size(1)
    size = math.isqrt(n // count)
    groups = n // max(size, 1)
    if size < 4:
        return key.topk(count, largest=largest)
    # A group is every groups-th column, so that the reduction runs along memory.
    members = key[:, : groups * size].unflatten(1, (size, groups))
    best = members.amax(dim=1) if largest else members.amin(dim=1)
    chosen = best.topk(count, largest=largest, sorted=False).indices
    places = chosen.unsqueeze(1) + groups * torch.arange(size, device=key.device).unsqueeze(1)
    left_over = torch.arange(groups * size, n, device=key.device).expand(key.size(0), -1)
    places = torch.cat([places.flatten(1), left_over], dim=1)
    values, best_places = key.gather(1, places).topk(count, largest=largest)
    return values, places.gather(1, best_places)


def _draw_tied(tied: Tensor, rows: Tensor, columns: Tensor | None, count: int, seed: int) -> Tensor:
    """The places of the first ``count`` tied columns of each row in hash order (past its last one: unused)."""
    estimate = tied[:, ::_SAMPLE].sum(dim=1) * _SAMPLE
    bits = (estimate / (8 * count + 64)).clamp(min=1).log2().long().clamp(max=_LEADING_BITS)
    many = bits.nonzero().squeeze(1)
    if not many.numel():
        return _smallest(tied, rows, columns, count, seed)
    # Of very many, those whose hash begins with zeros are enough, and that much of a hash is cheap.
    every = tied[many]
    tied[many] = every & _begins_with_zeros(
        rows[many], torch.arange(tied.size(1), device=rows.device) if columns is None else columns[many], bits[many], seed
    )
    drawn = _smallest(tied, rows, columns, count, seed)
    short = (drawn[many, -1] < 0).nonzero().squeeze(1)
    if short.numel():
        again = many[short]
        drawn[again] = _smallest(every[short], rows[again], None if columns is None else columns[again], count, seed)
    return drawn


def _smallest(tied: Tensor, rows: Tensor, columns: Tensor | None, count: int, seed: int) -> Tensor:
    """As :func:`_draw_tied`, hashing every tied column; -1 past the last one."""
    where, place = tied.nonzero(as_tuple=True)
    ties = torch.bincount(where, minlength=rows.numel())
    offset = torch.arange(where.numel(), device=rows.device) - (ties.cumsum(0) - ties)[where]
    width = max(count, int(ties.max()))
    order = torch.full((rows.numel(), width), torch.iinfo(torch.int64).max, device=rows.device)
    order[where, offset] = tie_order(rows[where], place if columns is None else columns[where, place], seed)
    places = torch.full_like(order, -1)
    places[where, offset] = place
    return places.gather(1, order.topk(count, dim=1, largest=False).indices)


def tie_order(i: Tensor, j: Tensor, seed: int) -> Tensor:
    """A number for each pair that orders equal similarities: pseudo-random, unique in j, never negative.

    >>> i, j = torch.tensor([[0], [1]]), torch.arange(4)
    >>> tie_order(i, j, seed=0).argsort(dim=1).tolist()
    [[0, 2, 1, 3], [1, 0, 3, 2]]
    """
    mixed = _mix(row_hash(i, seed) ^ _scatter(j))
    return mixed.bitwise_right_shift_(1).bitwise_left_shift_(32).bitwise_or_(j)


def row_hash(i: Tensor, seed: int) -> Tensor:
    """The part of the hash that a row has to itself, 32 bits in an int64."""
    return _mix(_mix(torch.full_like(i, (seed ^ 0x5BD1E995) & _WORD)) ^ i)


def _begins_with_zeros(i: Tensor, j: Tensor, bits: Tensor, seed: int) -> Tensor:
    """Whether the hashes of rows ``i`` and columns ``j`` begin with that many zero bits: ``_mix`` up to its last step."""
    row, column = row_hash(i, seed), _scatter(j)
    # The first step of the mixing is linear, so each side can take it alone; int32 overflows as 32-bit words do.
    z = (row ^ (row >> 16)).int().unsqueeze(1) ^ (column ^ (column >> 16)).int()
    z.mul_(_FIRST_FACTOR)
    z ^= (z >> 15).bitwise_and_(0x1FFFF)  # without the sign that >> brings in
    z.mul_(_SECOND_FACTOR)
    return z.bitwise_and_((-1 << (32 - bits)).int().unsqueeze(1)) == 0


def _scatter(j: Tensor) -> Tensor:
    return (j.long() * 0x9E3779B9) & _WORD


def _mix(z: Tensor) -> Tensor:
    """Scramble 32-bit numbers held in int64, in place: each bit of the input moves about half of the output's."""
    z ^= z >> 16
    z.mul_(_FIRST_FACTOR).bitwise_and_(_WORD)
    z ^= z >> 15
    z.mul_(_SECOND_FACTOR).bitwise_and_(_WORD)
    z ^= z >> 15
    return z
