r"""Picking the first few of each row when many keys are equal.

Among equal keys the order is random but reproducible: by a hash of (seed, i, j). It must depend on both,
or every row would pick the same few columns among its many exact zeros.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

_WORD = 0xFFFFFFFF
_FIRST_FACTOR, _SECOND_FACTOR = 0x21F0AAAD, 0x735A2D97
# Ties are counted on every sixteenth column: the count only decides how much of their hashes to look at.
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
        columns: The node of each key ``[b, c]``, ascending in each row; its column if left out.

    >>> key = torch.tensor([[0.0, 2.0, 1.0, 3.0]])
    >>> first(key, 2, torch.tensor([0]), seed=0, largest=True)
    (tensor([[3., 2.]]), tensor([[3, 1]]))
    """
    if count == 0:
        return key.new_empty(key.size(0), 0), torch.empty(key.size(0), 0, dtype=torch.long, device=key.device)
    floor = _floor(key, count, largest=largest)
    reach = _reaches(key, floor, largest=largest)
    thinned = _thin(reach, key, floor, rows, columns, count, seed)
    flat, row, counts = _places(reach)
    if thinned and bool((counts < count).any()):
        # Too much was thinned out somewhere: take all of them.
        flat, row, counts = _places(_reaches(key, floor, largest=largest))
    node = flat - row * key.size(1) if columns is None else columns.take(flat).long()
    found = key.take(flat)
    width = int(counts.max())
    cell = row * width + torch.arange(row.numel(), device=key.device) - (counts.cumsum(0) - counts)[row]
    order = torch.full((rows.numel() * width,), torch.iinfo(torch.int64).max, device=key.device)
    order[cell] = ranked(found, tie_order(rows[row], node, seed) >> 32, largest=largest)
    # Stable, for then equal hashes stay in the order of their columns.
    chosen = _stable_order(order.view(-1, width))[:, :count]
    chosen = chosen + torch.arange(rows.numel(), device=key.device).unsqueeze(1) * width
    source = torch.empty(order.numel(), dtype=torch.long, device=key.device)
    source[cell] = torch.arange(cell.numel(), device=key.device)
    picked = source[chosen]
    return found[picked], node[picked]


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
    members = key[:, : groups * size].unflatten(1, (size, groups))
    return members.amax(dim=1) if largest else members.amin(dim=1), size, groups


def _floor(key: Tensor, count: int, *, largest: bool) -> Tensor:
    """A key ``[b, 1]`` that at least ``count`` of each row reach, and few more unless they equal it."""
    best, _, groups = _group_extremes(key, count, largest=largest)
    if best.device.type != "cpu":
        return best.topk(count, largest=largest).values[:, -1:]
    place = groups - count if largest else count - 1
    return torch.from_numpy(np.partition(best.numpy(), place, axis=1)[:, place : place + 1])


# NumPy compares, searches and sorts several times faster than PyTorch on a CPU: the functions below.


def _reaches(key: Tensor, floor: Tensor, *, largest: bool) -> Tensor:
    if key.device.type != "cpu":
        return key >= floor if largest else key <= floor
    compare = np.greater_equal if largest else np.less_equal
    return torch.from_numpy(compare(key.numpy(), floor.numpy()))


def _differs(key: Tensor, floor: Tensor) -> Tensor:
    return key != floor if key.device.type != "cpu" else torch.from_numpy(np.not_equal(key.numpy(), floor.numpy()))


def _places(mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The place of every true entry in the flattened mask, its row, and how many each row has."""
    if mask.device.type == "cpu":
        flat = torch.from_numpy(np.flatnonzero(mask.numpy()))
        ends = torch.searchsorted(flat, mask.size(1) * torch.arange(1, mask.size(0) + 1))
        counts = ends.diff(prepend=ends.new_zeros(1))
        return flat, torch.repeat_interleave(counts), counts
    row, column = mask.nonzero(as_tuple=True)
    return row * mask.size(1) + column, row, torch.bincount(row, minlength=mask.size(0))


def _stable_order(codes: Tensor) -> Tensor:
    if codes.device.type == "cpu":
        return torch.from_numpy(np.argsort(codes.numpy(), axis=1, kind="stable"))
    return codes.sort(dim=1, stable=True).indices


def _thin(
    reach: Tensor, key: Tensor, floor: Tensor, rows: Tensor, columns: Tensor | None, count: int, seed: int
) -> bool:
    """Where very many keys equal the floor, leave those whose hash begins with zeros: so much of it is cheap.

    What is left begins the hash order, so if it is enough, it is right.
    """
    estimate = reach[:, ::_SAMPLE].sum(dim=1) * _SAMPLE
    bits = (estimate / (4 * count + 24)).clamp(min=1).log2().long().clamp(max=_LEADING_BITS)
    many = bits.nonzero().squeeze(1)
    if not many.numel():
        return False
    node = torch.arange(reach.size(1), device=rows.device) if columns is None else columns[many]
    early = _begins_with_zeros(rows[many], node, bits[many], seed)
    if many.numel() == rows.numel():
        reach &= early.logical_or_(_differs(key, floor))
    else:
        reach[many] &= early.logical_or_(_differs(key[many], floor[many]))
    return True


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
    """Whether the hashes of rows ``i`` and columns ``j`` begin with so many zero bits: ``_mix`` up to its last step."""
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
