"""What :func:`simpgcn.nn.kernels.kernels_for` hands out. Imported on CUDA only.

Each kernel does in one pass what the torch code of its operator does in several; the operators' modules have the
equations. With several runs, what belongs to nodes is ``[n, runs, ...]`` and everything else ``[runs, ...]``.
"""

from __future__ import annotations

from typing import Any

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
# Neighbours read at once.
_NEIGHBORS = 16


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
    crow,
    col,
    values,
    x,
    scale,
    row,
    run,
    runs,
    columns,
    use_scale: tl.constexpr,
    invert: tl.constexpr,
    stride,
    BLOCK: tl.constexpr,
    NEIGHBORS: tl.constexpr,
):
    """A row of the matrix times x [n, runs, stride], whose rows count s-fold, or (1 - s)-fold if inverted."""
    c = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    start, stop = tl.load(crow + row), tl.load(crow + row + 1)
    for first in range(start, stop, NEIGHBORS):
        e = first + tl.arange(0, NEIGHBORS)
        here = e < stop
        j = tl.load(col + e, mask=here, other=0).to(tl.int64)
        weight = tl.load(values + e, mask=here, other=0.0)
        if use_scale:
            s = tl.load(scale + j * runs + run, mask=here, other=0.0)
            weight = weight * ((1 - s) if invert else s)
        tile = tl.load(
            x + (j * runs + run)[:, None] * stride + c[None, :], mask=here[:, None] & (c < columns)[None, :], other=0.0
        )
        total += tl.sum(tile * weight[:, None], axis=0)
    return total


@triton.jit
def _multiply(crow, col, values, x, out, columns, BLOCK: tl.constexpr, NEIGHBORS: tl.constexpr):
    row, shift = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64) * BLOCK
    total = _gathered(
        crow, col, values, x + shift, x, row, 0, 1, columns - shift, False, False, columns, BLOCK, NEIGHBORS
    )
    c = tl.arange(0, BLOCK)
    tl.store(out + row * columns + shift + c, total, mask=c < columns - shift)


def multiply(matrix: Tensor, x: Tensor) -> Tensor:
    """A CSR matrix times ``x``, ``[n, ...]``."""
    x = x.contiguous()
    rows, columns = matrix.size(0), x[0].numel() if x.size(0) else 0
    out = x.new_empty(rows, *x.shape[1:])
    block = min(128, triton.next_power_of_2(max(columns, 1)))
    if out.numel():
        grid = (rows, triton.cdiv(columns, block))
        _multiply[grid](
            matrix.crow_indices(),
            matrix.col_indices(),
            matrix.values(),
            x,
            out,
            columns,
            BLOCK=block,
            NEIGHBORS=_NEIGHBORS,
            num_warps=_warps(block),
        )
    return out


@triton.jit
def _mix(
    product,
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
    row, run = tl.program_id(0).to(tl.int64), tl.program_id(1)
    stride = columns + 1 + LOOPS
    c = tl.arange(0, BLOCK)
    inside = c < columns
    mine = product + (row * runs + run) * stride
    s = tl.sigmoid(tl.load(mine + columns) + tl.load(score_bias + run))
    from_structure = _gathered(
        a_crow, a_col, a_values, product, product, row, run, runs, columns, False, False, stride, BLOCK, NEIGHBORS
    )
    from_features = _gathered(
        f_crow, f_col, f_values, product, product, row, run, runs, columns, False, False, stride, BLOCK, NEIGHBORS
    )
    d = from_structure - from_features
    h = from_features + s * d
    b = tl.load(bias + run * columns + c, mask=inside, other=0.0)
    k = s * 0
    own = s * 0
    if LOOPS:
        k = tl.load(mine + columns + 1) + tl.load(loop_bias + run)
        own = tl.load(loop_weight + run) * k
        h += own * tl.load(mine + c, mask=inside, other=0.0)
    h += (1 + own) * b
    place = row * runs + run
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
    columns, loops = bias.size(-1), product.size(-1) - bias.size(-1) - 1
    shape = product.shape[:-1]
    n, runs = shape[0], shape[1] if len(shape) == 2 else 1
    hidden, difference = (product.new_empty(*shape, columns) for _ in range(2))
    s, k = (product.new_empty(shape) for _ in range(2))
    block = triton.next_power_of_2(columns)
    _mix[(n, runs)](
        product,
        *_csr(structure.matrix),
        *_csr(features.matrix),
        score_bias.contiguous(),
        loop_bias.contiguous(),
        loop_weight.contiguous(),
        bias.contiguous(),
        hidden,
        s,
        k,
        difference,
        runs,
        columns,
        LOOPS=loops,
        BLOCK=block,
        NEIGHBORS=_NEIGHBORS,
        num_warps=_warps(block),
    )
    return hidden, s, k, difference


@triton.jit
def _mix_backward(
    hidden,
    product,
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
    row, run = tl.program_id(0).to(tl.int64), tl.program_id(1)
    stride = columns + 1 + LOOPS
    c = tl.arange(0, BLOCK)
    inside = c < columns
    place = row * runs + run
    h = tl.load(hidden + place * columns + c, mask=inside, other=0.0)
    s = tl.load(s_in + place)
    z = _gathered(
        a_crow, a_col, a_values, hidden, s_in, row, run, runs, columns, True, False, columns, BLOCK, NEIGHBORS
    )
    z += _gathered(
        f_crow, f_col, f_values, hidden, s_in, row, run, runs, columns, True, True, columns, BLOCK, NEIGHBORS
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
    block = triton.next_power_of_2(columns)
    n, runs = hidden.size(0), hidden.size(1) if hidden.dim() == 3 else 1
    _mix_backward[(n, runs)](
        hidden,
        product,
        *_csr(structure.transpose),
        *_csr(features.transpose),
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
        NEIGHBORS=_NEIGHBORS,
        num_warps=_warps(block),
    )
    if s_bar is not None:
        gradient[..., columns] += s_bar * s * (1 - s)
    if k_bar is not None and loops:
        gradient[..., columns + 1] += k_bar
    return gradient


@triton.jit
def _dropout(x, out, key, call, limit, scale, size, runs, width, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < size
    row, run = place // (runs * width), place // width % runs
    e = row * width + place % width
    first, second = _half_keys(tl.load(key + run, mask=inside, other=0), call)
    z = _hash32(e >> 1, first, second)
    lane = tl.where(e % 2 == 0, z & 0xFFFF, z >> 16).to(tl.int32)
    lane = tl.where(lane >= 32768, lane - 65536, lane)
    value = tl.load(x + place, mask=inside, other=0.0)
    tl.store(out + place, tl.where(lane >= limit, value * scale, 0.0), mask=inside)


def dropout(x: Tensor, key: Tensor, call: int, limit: int, scale: float) -> Tensor:
    """``x``, ``[n, ...]`` or ``[n, runs, ...]``, without the entries whose random 16 bits are below ``limit``."""
    out = torch.empty_like(x)
    runs = key.numel()
    width = x.numel() // (x.size(0) * runs)
    _dropout[(triton.cdiv(x.numel(), 1024),)](
        x, out, key, _offset(call), limit, scale, x.numel(), runs, width, BLOCK=1024
    )
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
    # What torch's code adds 2^31 to is signed: the same as turning the topmost bit.
    step = ((z ^ 0x80000000).to(tl.int64) * size) >> 32
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
def _pair_scores(hidden, nodes, weight, scores, runs, channels, count, BLOCK: tl.constexpr, PAIRS: tl.constexpr):
    run = tl.program_id(1).to(tl.int64)
    p = tl.program_id(0) * PAIRS + tl.arange(0, PAIRS)
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
    PAIRS: tl.constexpr,
):
    run = tl.program_id(1).to(tl.int64)
    p = tl.program_id(0) * PAIRS + tl.arange(0, PAIRS)
    inside = p < count
    c = tl.arange(0, BLOCK)
    d, first, second, here = _pair_difference(hidden, nodes, p, inside, run, runs, channels, count, BLOCK)
    w = tl.load(weight + run * channels + c, mask=c < channels, other=0.0)
    g = tl.load(gradient + run * count + p, mask=inside, other=0.0)
    tl.atomic_add(weight_bar + run * channels + c, tl.sum(tl.abs(d) * g[:, None], axis=0), mask=c < channels)
    sign = (d > 0).to(tl.float32) - (d < 0).to(tl.float32)
    pull = sign * g[:, None] * w[None, :]
    here = here & (pull != 0)
    tl.atomic_add(hidden_bar + first[:, None] + c[None, :], pull, mask=here)
    tl.atomic_add(hidden_bar + second[:, None] + c[None, :], -pull, mask=here)


def pair_scores(hidden: Tensor, nodes: Tensor, weight: Tensor) -> Tensor:
    """The scores ``[p]`` or ``[runs, p]``."""
    hidden, nodes, weight = hidden.contiguous(), nodes.contiguous(), weight.contiguous()
    scores = hidden.new_empty(*nodes.shape[:-2], nodes.size(-1))
    grid, sizes, options = _pair_launch(hidden, nodes)
    _pair_scores[grid](hidden, nodes, weight, scores, *sizes, **options)
    return scores


def pair_scores_backward(gradient: Tensor, hidden: Tensor, nodes: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of ``hidden`` and ``weight``."""
    hidden, nodes, weight = hidden.contiguous(), nodes.contiguous(), weight.contiguous()
    hidden_bar, weight_bar = torch.zeros_like(hidden), torch.zeros_like(weight)
    grid, sizes, options = _pair_launch(hidden, nodes)
    _pair_scores_backward[grid](gradient.contiguous(), hidden, nodes, weight, hidden_bar, weight_bar, *sizes, **options)
    return hidden_bar, weight_bar


def _pair_launch(hidden: Tensor, nodes: Tensor) -> tuple[Any, ...]:
    channels, count = hidden.size(-1), nodes.size(-1)
    runs = hidden.size(1) if hidden.dim() == 3 else 1
    block = triton.next_power_of_2(channels)
    pairs = max(1, min(16, 4096 // block))
    return (triton.cdiv(count, pairs), runs), (runs, channels, count), {"BLOCK": block, "PAIRS": pairs}


def _csr(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return matrix.crow_indices(), matrix.col_indices(), matrix.values()


def _offset(call: int) -> int:
    """What a call adds to a key, as a signed number."""
    offset = call * CALL_STEP & ((1 << 64) - 1)
    return offset - (1 << 64) if offset >> 63 else offset


def _warps(block: int) -> int:
    return 1 if block <= 16 else 2 if block <= 64 else 4
