"""What :func:`simpgcn.nn.kernels.kernels_for` hands out. Imported on CUDA only.

Each kernel does in one pass what the torch code of its operator does in several; the operators' modules have the
equations. With several runs, what belongs to nodes is ``[n, runs, ...]`` and everything else ``[runs, ...]``.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from simpgcn.nn.randomness import CALL_STEP, MULTIPLIERS_32, MULTIPLIERS_64, ROUNDS, SHIFTS_32, feistel_sides
from simpgcn.nn.sparse_matrix import SparseMatrix

_M1, _M2 = (tl.constexpr(value) for value in MULTIPLIERS_64)
_N1, _N2 = (tl.constexpr(value) for value in MULTIPLIERS_32)
_S1, _S2, _S3 = (tl.constexpr(value) for value in SHIFTS_32)
_ROUNDS = tl.constexpr(ROUNDS)
# Measured on an H200: entries of a row read at once, entries a program reads in all before a row is split, columns.
NEIGHBORS = 16
PIECE = 64
COLUMNS = 256
PAIRS = 32


class _Rows(NamedTuple):
    """A CSR matrix for the kernels: 32-bit indices, the rows from the longest to the shortest, and pieces of rows.

    With long rows first and no piece much longer than the others, the last programs to run are not the slow ones.
    A piece is (row, first entry, end, whether it is the whole row).
    """

    crow: Tensor
    col: Tensor
    values: Tensor
    order: Tensor
    pieces: Tensor | None


def _rows(matrix: SparseMatrix, transposed: bool) -> _Rows:
    """The matrix, or its transpose; made once and kept with the matrix."""
    kept: dict[bool, _Rows] = matrix.kernel_rows
    if transposed not in kept:
        csr = matrix.transpose if transposed else matrix.matrix
        crow, col, order = csr.crow_indices(), csr.col_indices(), csr.crow_indices().diff().argsort(descending=True)
        crow, col, order = (index.to(torch.int32) for index in (crow, col, order))
        kept[transposed] = _Rows(crow, col, csr.values(), order, _pieces(csr.crow_indices(), order.long()))
    return kept[transposed]


def _pieces(crow: Tensor, order: Tensor) -> Tensor | None:
    counts = crow.diff()
    if not counts.numel() or int(counts.max()) <= 2 * PIECE:
        return None
    each = ((counts + PIECE - 1) // PIECE).clamp(min=1)[order]
    row = order.repeat_interleave(each)
    number = torch.arange(row.numel(), device=row.device) - (each.cumsum(0) - each).repeat_interleave(each)
    start = crow[row] + number * PIECE
    stop = torch.minimum(start + PIECE, crow[row + 1])
    return torch.stack([row, start, stop, (counts[row] <= PIECE).long()], dim=1).to(torch.int32)


@triton.jit
def _half_keys(key, call):
    """The two 32-bit keys of one use of a key; ``call`` is its number times the step between calls."""
    z = (key + call).to(tl.uint64)
    z = (z ^ (z >> 30)) * _M1
    z = (z ^ (z >> 27)) * _M2
    z = z ^ (z >> 31)
    return (z & 0xFFFFFFFF).to(tl.uint32), (z >> 32).to(tl.uint32)


@triton.jit
def _hash32(place, first, second):
    z = place.to(tl.uint32) ^ first
    z = ((z ^ (z >> _S1)) * _N1) ^ second
    z = (z ^ (z >> _S2)) * _N2
    return z ^ (z >> _S3)


@triton.jit
def _gathered(
    col,
    values,
    start,
    stop,
    x,
    scale,
    run,
    runs,
    columns,
    stride,
    SCALED: tl.constexpr,
    INVERTED: tl.constexpr,
    BLOCK: tl.constexpr,
    NEIGHBORS: tl.constexpr,
):
    """Entries of a row times x [n, runs, stride], whose rows may count s-fold, or (1 - s)-fold."""
    c = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for first in range(start, stop, NEIGHBORS):
        e = first + tl.arange(0, NEIGHBORS)
        here = e < stop
        j = tl.load(col + e, mask=here, other=0).to(tl.int64)
        weight = tl.load(values + e, mask=here, other=0.0)
        if SCALED:
            s = tl.load(scale + j * runs + run, mask=here, other=0.0)
            weight = weight * ((1 - s) if INVERTED else s)
        place = (j * runs + run)[:, None] * stride + c[None, :]
        tile = tl.load(x + place, mask=here[:, None] & (c < columns)[None, :], other=0.0)
        total += tl.sum(tile * weight[:, None], axis=0)
    return total


@triton.jit
def _multiply(
    crow,
    col,
    values,
    order,
    pieces,
    x,
    out,
    columns,
    SPLIT: tl.constexpr,
    BLOCK: tl.constexpr,
    NEIGHBORS: tl.constexpr,
):
    shift = tl.program_id(1).to(tl.int64) * BLOCK
    c = tl.arange(0, BLOCK)
    inside = c < columns - shift
    if SPLIT:
        piece = pieces + 4 * tl.program_id(0)
        row, start, stop = tl.load(piece).to(tl.int64), tl.load(piece + 1), tl.load(piece + 2)
    else:
        row = tl.load(order + tl.program_id(0)).to(tl.int64)
        start, stop = tl.load(crow + row), tl.load(crow + row + 1)
    total = _gathered(
        col, values, start, stop, x + shift, x, 0, 1, columns - shift, columns, False, False, BLOCK, NEIGHBORS
    )
    target = out + row * columns + shift + c
    if SPLIT:
        whole = (c * 0 + tl.load(pieces + 4 * tl.program_id(0) + 3)) == 1
        tl.store(target, total, mask=inside & whole)
        tl.atomic_add(target, total, mask=inside & ~whole, sem="relaxed")
    else:
        tl.store(target, total, mask=inside)


def multiply(matrix: SparseMatrix, x: Tensor, transposed: bool) -> Tensor:
    """The matrix, or its transpose, times ``x``, ``[n, ...]``."""
    x = x.contiguous()
    rows = _rows(matrix, transposed)
    n, columns = rows.order.numel(), x[0].numel() if x.size(0) else 0
    split = rows.pieces is not None
    out = (torch.zeros if split else torch.empty)(n, *x.shape[1:], dtype=x.dtype, device=x.device)
    if not out.numel():
        return out
    pieces = rows.pieces if rows.pieces is not None else rows.order
    block = min(COLUMNS, triton.next_power_of_2(columns))
    _multiply[(pieces.size(0), triton.cdiv(columns, block))](
        rows.crow,
        rows.col,
        rows.values,
        rows.order,
        pieces,
        x,
        out,
        columns,
        SPLIT=split,
        BLOCK=block,
        NEIGHBORS=NEIGHBORS,
        num_warps=_warps(block),
    )
    return out


@triton.jit
def _mix(
    product,
    order,
    a_crow,
    a_col,
    a_values,
    f_crow,
    f_col,
    f_values,
    score_bias,
    loop_bias,
    loop_weight,
    bias,
    hidden,
    s_out,
    k_out,
    difference,
    runs,
    columns,
    LOOPS: tl.constexpr,
    BLOCK: tl.constexpr,
    NEIGHBORS: tl.constexpr,
):
    row, run = tl.load(order + tl.program_id(0)).to(tl.int64), tl.program_id(1)
    stride = columns + 1 + LOOPS
    c = tl.arange(0, BLOCK)
    inside = c < columns
    place = row * runs + run
    mine = product + place * stride
    s = tl.sigmoid(tl.load(mine + columns) + tl.load(score_bias + run))
    start, stop = tl.load(a_crow + row), tl.load(a_crow + row + 1)
    from_structure = _gathered(
        a_col, a_values, start, stop, product, product, run, runs, columns, stride, False, False, BLOCK, NEIGHBORS
    )
    start, stop = tl.load(f_crow + row), tl.load(f_crow + row + 1)
    from_features = _gathered(
        f_col, f_values, start, stop, product, product, run, runs, columns, stride, False, False, BLOCK, NEIGHBORS
    )
    d = from_structure - from_features
    h = from_features + s * d
    k = s * 0
    own = s * 0
    if LOOPS:
        k = tl.load(mine + columns + 1) + tl.load(loop_bias + run)
        own = tl.load(loop_weight + run) * k
        h += own * tl.load(mine + c, mask=inside, other=0.0)
    h += (1 + own) * tl.load(bias + run * columns + c, mask=inside, other=0.0)
    tl.store(hidden + place * columns + c, h, mask=inside)
    tl.store(difference + place * columns + c, d, mask=inside)
    tl.store(s_out + place, s)
    tl.store(k_out + place, k)


def mix(
    product: Tensor,
    structure: SparseMatrix,
    features: SparseMatrix,
    score_bias: Tensor,
    loop_bias: Tensor,
    loop_weight: Tensor,
    bias: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """H', s, K and the difference of the two branches."""
    product = product.contiguous()
    columns = bias.size(-1)
    shape = product.shape[:-1]
    hidden, difference = (product.new_empty(*shape, columns) for _ in range(2))
    s, k = (product.new_empty(shape) for _ in range(2))
    a, f = _rows(structure, False), _rows(features, False)
    block = triton.next_power_of_2(columns)
    runs = shape[1] if len(shape) == 2 else 1
    _mix[(shape[0], runs)](
        product,
        a.order,
        *a[:3],
        *f[:3],
        *(x.contiguous() for x in (score_bias, loop_bias, loop_weight, bias)),
        hidden,
        s,
        k,
        difference,
        runs,
        columns,
        LOOPS=product.size(-1) - columns - 1,
        BLOCK=block,
        NEIGHBORS=NEIGHBORS,
        num_warps=_warps(block),
    )
    return hidden, s, k, difference


@triton.jit
def _mix_backward(
    hidden,
    product,
    order,
    a_crow,
    a_col,
    a_values,
    f_crow,
    f_col,
    f_values,
    s_in,
    k_in,
    difference,
    loop_weight,
    bias,
    gradient,
    runs,
    columns,
    LOOPS: tl.constexpr,
    BLOCK: tl.constexpr,
    NEIGHBORS: tl.constexpr,
):
    row, run = tl.load(order + tl.program_id(0)).to(tl.int64), tl.program_id(1)
    stride = columns + 1 + LOOPS
    c = tl.arange(0, BLOCK)
    inside = c < columns
    place = row * runs + run
    h = tl.load(hidden + place * columns + c, mask=inside, other=0.0)
    s = tl.load(s_in + place)
    start, stop = tl.load(a_crow + row), tl.load(a_crow + row + 1)
    z = _gathered(
        a_col, a_values, start, stop, hidden, s_in, run, runs, columns, columns, True, False, BLOCK, NEIGHBORS
    )
    start, stop = tl.load(f_crow + row), tl.load(f_crow + row + 1)
    z += _gathered(
        f_col, f_values, start, stop, hidden, s_in, run, runs, columns, columns, True, True, BLOCK, NEIGHBORS
    )
    ds = tl.sum(h * tl.load(difference + place * columns + c, mask=inside, other=0.0), axis=0)
    tl.store(gradient + place * stride + columns, ds * s * (1 - s))
    if LOOPS:
        weight = tl.load(loop_weight + run)
        z += weight * tl.load(k_in + place) * h
        mine = tl.load(product + place * stride + c, mask=inside, other=0.0)
        b = tl.load(bias + run * columns + c, mask=inside, other=0.0)
        tl.store(gradient + place * stride + columns + 1, weight * tl.sum(h * (mine + b), axis=0))
    tl.store(gradient + place * stride + c, z, mask=inside)


def mix_backward(
    hidden: Tensor,
    product: Tensor,
    structure: SparseMatrix,
    features: SparseMatrix,
    s: Tensor,
    k: Tensor,
    difference: Tensor,
    loop_weight: Tensor,
    bias: Tensor,
    s_bar: Tensor | None,
    k_bar: Tensor | None,
) -> Tensor:
    """The gradient of the product, for that of H', of s and of K."""
    hidden, product = hidden.contiguous(), product.contiguous()
    columns, loops = bias.size(-1), product.size(-1) - bias.size(-1) - 1
    gradient = torch.empty_like(product)
    a, f = _rows(structure, True), _rows(features, True)
    block = triton.next_power_of_2(columns)
    runs = hidden.size(1) if hidden.dim() == 3 else 1
    _mix_backward[(hidden.size(0), runs)](
        hidden,
        product,
        f.order,
        *a[:3],
        *f[:3],
        s,
        k,
        difference,
        loop_weight.contiguous(),
        bias.contiguous(),
        gradient,
        runs,
        columns,
        LOOPS=loops,
        BLOCK=block,
        NEIGHBORS=NEIGHBORS,
        num_warps=_warps(block),
    )
    if s_bar is not None:
        gradient[..., columns] += s_bar * s * (1 - s)
    if k_bar is not None and loops:
        gradient[..., columns + 1] += k_bar
    return gradient


@triton.jit
def _dropout(x, out, key, call, limit, scale, n, runs, width, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    run = tl.program_id(1)
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)[None, :]
    inside = (row < n) & (column < width)
    first, second = _half_keys(tl.load(key + run), call)
    e = row * width + column
    z = _hash32(e >> 1, first, second)
    lane = tl.where((e & 1) == 0, z & 0xFFFF, z >> 16).to(tl.int32)
    lane = tl.where(lane >= 32768, lane - 65536, lane)
    place = (row * runs + run) * width + column
    value = tl.load(x + place, mask=inside, other=0.0)
    tl.store(out + place, tl.where(lane >= limit, value * scale, 0.0), mask=inside)


def dropout(x: Tensor, key: Tensor, call: int, limit: int, scale: float) -> Tensor:
    """``x``, ``[n, ...]`` or ``[n, runs, ...]``, without the entries whose random 16 bits are below ``limit``."""
    out = torch.empty_like(x)
    n, runs = x.size(0), key.numel()
    width = x.numel() // (n * runs)
    block = min(256, triton.next_power_of_2(width))
    rows = max(1, 1024 // block)
    grid = (triton.cdiv(n, rows), runs, triton.cdiv(width, block))
    _dropout[grid](x, out, key, _offset(call), limit, scale, n, runs, width, ROWS=rows, BLOCK=block)
    return out


@triton.jit
def _permuted(x, first, second, rows, columns):
    left, right = x // columns, x % columns
    for number in tl.static_range(_ROUNDS):
        if number % 2 == 0:
            left = _round(left, right, first, second, number, rows)
        else:
            right = _round(right, left, first, second, number, columns)
    return left * columns + right


@triton.jit
def _round(half, other, first, second, number, size):
    z = _hash32(other + (number << 28), first, second)
    step = (z.to(tl.int64) * size) >> 32
    moved = half + step
    return tl.where(moved >= size, moved - size, moved)


@triton.jit
def _draw(key, call, out, total, count, rows, columns, BLOCK: tl.constexpr):
    run = tl.program_id(1)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    first, second = _half_keys(tl.load(key + run), call)
    x = _permuted(place.to(tl.int64), first, second, rows, columns)
    outside = inside & (x >= total)
    while tl.max(outside.to(tl.int32), axis=0) > 0:
        x = tl.where(outside, _permuted(x, first, second, rows, columns), x)
        outside = inside & (x >= total)
    tl.store(out + run.to(tl.int64) * count + place, x, mask=inside)


def draw(key: Tensor, call: int, total: int, count: int) -> Tensor:
    """The images of the first numbers under each run's permutation, ``[count]`` or ``[runs, count]``."""
    key = key.contiguous()
    out = torch.empty(*key.shape, count, dtype=torch.int64, device=key.device)
    grid = (triton.cdiv(count, 256), key.numel())
    _draw[grid](key, _offset(call), out, total, count, *feistel_sides(total), BLOCK=256)
    return out


@triton.jit
def _pair_difference(hidden, nodes, p, inside, run, runs, channels, count, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    here = inside[:, None] & (c < channels)[None, :]
    first = tl.load(nodes + (2 * run) * count + p, mask=inside, other=0)
    second = tl.load(nodes + (2 * run + 1) * count + p, mask=inside, other=0)
    first, second = (first * runs + run) * channels, (second * runs + run) * channels
    d = tl.load(hidden + first[:, None] + c[None, :], mask=here, other=0.0)
    d -= tl.load(hidden + second[:, None] + c[None, :], mask=here, other=0.0)
    return d, first, second, here


@triton.jit
def _pair_scores(hidden, nodes, weight, scores, runs, channels, count, BLOCK: tl.constexpr, TILE: tl.constexpr):
    run = tl.program_id(1).to(tl.int64)
    p = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = p < count
    c = tl.arange(0, BLOCK)
    d, _, _, _ = _pair_difference(hidden, nodes, p, inside, run, runs, channels, count, BLOCK)
    w = tl.load(weight + run * channels + c, mask=c < channels, other=0.0)
    tl.store(scores + run * count + p, tl.sum(tl.abs(d) * w[None, :], axis=1), mask=inside)


@triton.jit
def _pair_scores_backward(
    gradient,
    hidden,
    nodes,
    weight,
    hidden_bar,
    weight_bar,
    runs,
    channels,
    count,
    BLOCK: tl.constexpr,
    TILE: tl.constexpr,
    PAIRS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    c = tl.arange(0, BLOCK)
    w = tl.load(weight + run * channels + c, mask=c < channels, other=0.0)
    of_weight = tl.zeros([BLOCK], dtype=tl.float32)
    for tile in range(0, PAIRS, TILE):
        p = tl.program_id(0) * PAIRS + tile + tl.arange(0, TILE)
        inside = p < count
        d, first, second, here = _pair_difference(hidden, nodes, p, inside, run, runs, channels, count, BLOCK)
        g = tl.load(gradient + run * count + p, mask=inside, other=0.0)
        of_weight += tl.sum(tl.abs(d) * g[:, None], axis=0)
        sign = (d > 0).to(tl.float32) - (d < 0).to(tl.float32)
        pull = sign * g[:, None] * w[None, :]
        here = here & (pull != 0)  # dropout has left many of them equal
        tl.atomic_add(hidden_bar + first[:, None] + c[None, :], pull, mask=here, sem="relaxed")
        tl.atomic_add(hidden_bar + second[:, None] + c[None, :], -pull, mask=here, sem="relaxed")
    tl.atomic_add(weight_bar + run * channels + c, of_weight, mask=c < channels, sem="relaxed")


def pair_scores(hidden: Tensor, nodes: Tensor, weight: Tensor) -> Tensor:
    """The scores ``[p]`` or ``[runs, p]``."""
    hidden, nodes, weight = hidden.contiguous(), nodes.contiguous(), weight.contiguous()
    scores = hidden.new_empty(*nodes.shape[:-2], nodes.size(-1))
    runs, channels, count, block, tile = _pair_sizes(hidden, nodes)
    _pair_scores[(triton.cdiv(count, tile), runs)](
        hidden, nodes, weight, scores, runs, channels, count, BLOCK=block, TILE=tile
    )
    return scores


def pair_scores_backward(gradient: Tensor, hidden: Tensor, nodes: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of ``hidden`` and ``weight``."""
    hidden, nodes, weight = hidden.contiguous(), nodes.contiguous(), weight.contiguous()
    hidden_bar, weight_bar = torch.zeros_like(hidden), torch.zeros_like(weight)
    runs, channels, count, block, tile = _pair_sizes(hidden, nodes)
    _pair_scores_backward[(triton.cdiv(count, PAIRS), runs)](
        gradient.contiguous(),
        hidden,
        nodes,
        weight,
        hidden_bar,
        weight_bar,
        runs,
        channels,
        count,
        BLOCK=block,
        TILE=tile,
        PAIRS=PAIRS,
    )
    return hidden_bar, weight_bar


def _pair_sizes(hidden: Tensor, nodes: Tensor) -> tuple[int, ...]:
    channels, count = hidden.size(-1), nodes.size(-1)
    block = triton.next_power_of_2(channels)
    return hidden.size(1) if hidden.dim() == 3 else 1, channels, count, block, max(1, min(16, 4096 // block))


@triton.jit
def _adam(
    parameters,
    gradient,
    mean,
    square,
    lr,
    decay,
    number,
    size,
    decay_size,
    BETA_1: tl.constexpr,
    BETA_2: tl.constexpr,
    EPSILON: tl.constexpr,
    BLOCK: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    e = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = e < size
    place = run * size + e
    step = tl.load(number + run).to(tl.float32)
    first, second = 1 - tl.exp2(step * tl.log2(BETA_1)), 1 - tl.exp2(step * tl.log2(BETA_2))
    p = tl.load(parameters + place, mask=inside, other=0.0)
    l2 = tl.load(decay + run * decay_size + tl.where(decay_size > 1, e, 0), mask=inside, other=0.0)
    g = tl.load(gradient + place, mask=inside, other=0.0) + l2 * p
    m = tl.load(mean + place, mask=inside, other=0.0)
    v = tl.load(square + place, mask=inside, other=0.0)
    m += (g - m) * (1 - BETA_1)
    v = v * BETA_2 + g * g * (1 - BETA_2)
    p -= tl.load(lr + run) / first * m / (tl.sqrt(v) / tl.sqrt(second) + EPSILON)
    tl.store(parameters + place, p, mask=inside)
    tl.store(mean + place, m, mask=inside)
    tl.store(square + place, v, mask=inside)


def adam(
    parameters: Tensor,
    gradient: Tensor,
    mean: Tensor,
    square: Tensor,
    lr: Tensor,
    decay: Tensor,
    number: Tensor,
    betas: tuple[float, float],
    epsilon: float,
) -> None:
    """One update of ``[runs, p]`` parameters in place, in each run the update of this ``number``."""
    runs, size = parameters.shape
    _adam[(triton.cdiv(size, 1024), runs)](
        parameters,
        gradient.contiguous(),
        mean,
        square,
        lr,
        decay,
        number,
        size,
        decay.size(1),
        BETA_1=betas[0],
        BETA_2=betas[1],
        EPSILON=epsilon,
        BLOCK=1024,
    )


def _offset(call: int) -> int:
    """What a call adds to a key, as a signed number."""
    offset = call * CALL_STEP & ((1 << 64) - 1)
    return offset - (1 << 64) if offset >> 63 else offset


def _warps(block: int) -> int:
    return max(1, block // 128)
