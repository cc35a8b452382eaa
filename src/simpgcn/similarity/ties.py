r"""Picking the first few of each row when many keys are equal.

Among equal keys the order is random but reproducible: by a hash of (seed, i, j). It must depend on both,
or every row would pick the same few columns among its many exact zeros.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from simpgcn.compiled import call, is_built

_WORD = 0xFFFFFFFF
_FIRST_FACTOR, _SECOND_FACTOR = 0x21F0AAAD, 0x735A2D97
# Ties are counted on every sixteenth column: the count only decides how much of their hashes to look at.
_SAMPLE = 16
# The leading bits of a hash that its last step leaves alone.
_LEADING_BITS = 15
# Where at least one key in so many is tied, hashing all of them beats listing the tied ones first.
_MANY = 16


def first(
    key: Tensor, count: int, rows: Tensor, seed: int, *, largest: bool, columns: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The ``count`` largest (or smallest) keys of each row and their columns, ties in hash order.

    Args:
        key: Keys ``[b, c]``, stored by rows or by columns.
        count: How many to pick of each row.
        rows: The node of each row ``[b]``, for the hash.
        seed: Orders equal keys.
        largest: Largest first, or smallest first.
        columns: The node of each key ``[b, c]``, ascending in each row; its column if left out.

    >>> key = torch.tensor([[0.0, 2.0, 1.0, 3.0]])
    >>> first(key, 2, torch.tensor([0]), seed=0, largest=True)
    (tensor([[3., 2.]]), tensor([[3, 1]]))
    """
    if count == 0:
        return key.new_empty(key.size(0), 0), torch.empty(key.size(0), 0, dtype=torch.long, device=key.device)
    if not key.T.is_contiguous():
        key = key.contiguous()
    if columns is None and key.device.type == "cpu" and key.dtype == torch.float32 and is_built():
        return _first_in_one_go(key, count, rows, seed, largest=largest)
    floor = _floor(key, count, largest=largest)
    reach = _reaches(key, floor, largest=largest)
    hashes = row_hash(rows, seed)
    found = _earliest(key, floor, reach, hashes, columns, count)
    counts = torch.bincount(found.row, minlength=rows.numel())
    if int(counts.min()) < count:
        # Too much was passed over somewhere: take all of them.
        found = _entries(key, reach, hashes, columns)
        counts = torch.bincount(found.row, minlength=rows.numel())
    start, width = counts.cumsum(0) - counts, int(counts.max())
    shift = width * torch.arange(rows.numel(), device=key.device) - start
    cell = torch.arange(found.row.numel(), device=key.device) + shift.index_select(0, found.row)
    codes = torch.full((rows.numel() * width,), torch.iinfo(torch.int64).max, device=key.device)
    codes[cell] = ranked(found.key, found.order, largest=largest)
    # Stable, for then equal hashes stay in the order of their columns.
    chosen = _stable_order(codes.view(-1, width))[:, :count] + start.unsqueeze(1)
    return found.key[chosen], found.node[chosen]


def _first_in_one_go(key: Tensor, count: int, rows: Tensor, seed: int, *, largest: bool) -> tuple[Tensor, Tensor]:
    """The same by compiled code, which keeps the best of each row while it reads the keys once."""
    shape = key.size(0), count
    values, nodes = torch.empty(shape), torch.empty(shape, dtype=torch.long)
    orders = torch.empty(shape, dtype=torch.int32)
    hashes = row_hash(rows, seed).to(torch.int32)
    sizes = *key.shape, *((key.size(1), 1) if key.is_contiguous() else (1, key.size(0)))
    call("first", key, hashes, values, nodes, orders, *sizes, count, int(largest), torch.get_num_threads())
    return values, nodes


def ranked(key: Tensor, order: Tensor, *, largest: bool) -> Tensor:
    """One integer that ranks by ``key``, best lowest, then by the 31 bits of ``order``.

    >>> ranked(torch.tensor([2.0, 2.0, -1.0]), torch.tensor([7, 3, 0]), largest=True).argsort().tolist()
    [1, 0, 2]
    """
    bits = (key + 0.0).view(torch.int32)  # + 0.0 makes -0.0 the 0.0 it equals
    bits = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).long()
    return ((~bits if largest else bits) << 31) | order


def top(key: Tensor, count: int, *, largest: bool) -> tuple[Tensor, Tensor]:
    """``key.topk``, reading most keys only once: the best lie in the groups of columns with the best maxima.

    >>> values, columns = top(torch.arange(100.0).view(1, 100), 2, largest=True)
    >>> values.tolist(), columns.tolist()
    ([[99.0, 98.0]], [[99, 98]])
    """
    n = key.size(1)
    best, size, groups = _group_extremes(key, count, largest=largest)
    chosen = best.topk(count, largest=largest, sorted=False).indices
    places = chosen.unsqueeze(1) + groups * torch.arange(size, device=key.device).unsqueeze(1)
    left_over = torch.arange(groups * size, n, device=key.device).expand(key.size(0), -1)
    places = torch.cat([places.flatten(1), left_over], dim=1)
    values, best_places = key.gather(1, places).topk(count, largest=largest)
    return values, places.gather(1, best_places)


def _group_extremes(key: Tensor, count: int, *, largest: bool) -> tuple[Tensor, int, int]:
    """The best key of each of at least ``count`` groups, and how large and how many these are."""
    n = key.size(1)
    size = math.isqrt(n // count)
    groups = n // size
    # A group is every groups-th column, so that the reduction runs along memory; a few columns are in none.
    stored, dim = (key, 1) if key.is_contiguous() else (key.T, 0)
    members = stored.narrow(dim, 0, groups * size).unflatten(dim, (size, groups))
    best = members.amax(dim) if largest else members.amin(dim)
    return best if dim == 1 else best.T, size, groups


def _floor(key: Tensor, count: int, *, largest: bool) -> Tensor:
    """A key ``[b, 1]`` that at least ``count`` of each row reach, and few more unless they equal it."""
    best, _, groups = _group_extremes(key, count, largest=largest)
    if best.device.type != "cpu":
        return best.topk(count, largest=largest).values[:, -1:]
    place = groups - count if largest else count - 1
    return torch.from_numpy(np.partition(best.contiguous().numpy(), place, axis=1)[:, place : place + 1])


# NumPy compares, searches and sorts several times faster than PyTorch on a CPU: the functions below.


def _reaches(key: Tensor, floor: Tensor, *, largest: bool) -> Tensor:
    if key.device.type != "cpu":
        return key >= floor if largest else key <= floor
    compare = np.greater_equal if largest else np.less_equal
    return torch.from_numpy(compare(key.numpy(), floor.numpy()))


def _differs(key: Tensor, floor: Tensor) -> Tensor:
    return key != floor if key.device.type != "cpu" else torch.from_numpy(np.not_equal(key.numpy(), floor.numpy()))


def _places(mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The place in memory, the row and the column of every true entry, row by row."""
    stored = _stored(mask)
    if mask.device.type != "cpu":
        place = stored.flatten().nonzero().squeeze(1)
    else:
        place = torch.from_numpy(np.flatnonzero(stored.numpy()))
    major = place // stored.size(1)
    minor = place - major * stored.size(1)
    if mask.is_contiguous():
        return place, major, minor
    # Few bits are sorted fast.
    by_row = _stable_order(minor.to(torch.uint8 if mask.size(0) <= 256 else torch.int64))
    return place.index_select(0, by_row), minor.index_select(0, by_row), major.index_select(0, by_row)


def _stored(x: Tensor) -> Tensor:
    """``x`` or its transpose, whichever is contiguous."""
    return x if x.is_contiguous() else x.T


def _stable_order(codes: Tensor) -> Tensor:
    if codes.device.type == "cpu":
        return torch.from_numpy(np.argsort(codes.numpy(), axis=-1, kind="stable"))
    return codes.sort(dim=-1, stable=True).indices


class _Entries(NamedTuple):
    """Keys chosen of a block, row by row: the row in the block, the node of the column, and the hash of both."""

    row: Tensor
    node: Tensor
    key: Tensor
    order: Tensor


def _entries(key: Tensor, mask: Tensor, hashes: Tensor, columns: Tensor | None) -> _Entries:
    place, row, column = _places(mask)
    node = column if columns is None else columns[row, column].long()
    return _Entries(row, node, _stored(key).flatten().index_select(0, place), _order(hashes.index_select(0, row), node))


def _earliest(
    key: Tensor, floor: Tensor, reach: Tensor, hashes: Tensor, columns: Tensor | None, count: int
) -> _Entries:
    """What reaches the floor, but where very many equal it, only those of them whose hash begins with zeros.

    These begin the hash order, so if they are enough, they are right.
    """
    estimate = reach[:, ::_SAMPLE].sum(dim=1) * _SAMPLE
    bits = (estimate / (2 * count + 16)).clamp(min=1).log2().long().clamp(max=_LEADING_BITS)
    if not bool(bits.any()):
        return _entries(key, reach, hashes, columns)
    if int(estimate.sum()) * _MANY > reach.numel():
        node = torch.arange(reach.size(1), device=key.device) if columns is None else columns
        reach = reach & _begins_with_zeros(hashes, node, bits, like=reach).bitwise_or_(_differs(key, floor))
    found = _entries(key, reach, hashes, columns)
    early = found.order < (1 << 31 - bits).index_select(0, found.row)
    early |= found.key != floor.squeeze(1).index_select(0, found.row)
    kept = early.nonzero().squeeze(1)
    return _Entries(*(part.index_select(0, kept) for part in found))


def tie_order(i: Tensor, j: Tensor, seed: int) -> Tensor:
    """A number for each pair that orders equal similarities: pseudo-random, unique in j, never negative.

    >>> i, j = torch.tensor([[0], [1]]), torch.arange(4)
    >>> tie_order(i, j, seed=0).argsort(dim=1).tolist()
    [[0, 2, 1, 3], [1, 0, 3, 2]]
    """
    return _order(row_hash(i, seed), j).bitwise_left_shift_(32).bitwise_or_(j)


def _order(row_hash: Tensor, j: Tensor) -> Tensor:
    return _mix(row_hash ^ _scatter(j)).bitwise_right_shift_(1)


def row_hash(i: Tensor, seed: int) -> Tensor:
    """The part of the hash that a row has to itself, 32 bits in an int64."""
    return _mix(_mix(torch.full_like(i, (seed ^ 0x5BD1E995) & _WORD)) ^ i)


def _begins_with_zeros(row: Tensor, j: Tensor, bits: Tensor, like: Tensor) -> Tensor:
    """Whether the hashes of rows and columns ``j`` begin with so many zero bits: ``_mix`` up to its last step.

    Stored by rows or by columns, as ``like``.
    """
    column = _scatter(j)
    # The first step of the mixing is linear, so each side can take it alone; int32 overflows as 32-bit words do.
    z = torch.empty_like(like, dtype=torch.int32)
    torch.bitwise_xor((row ^ (row >> 16)).int().unsqueeze(1), (column ^ (column >> 16)).int(), out=z)
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
