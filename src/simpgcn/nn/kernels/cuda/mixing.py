"""The mixing of the three branches and its gradient, each in one pass over the rows of both graphs."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from simpgcn.nn.kernels.cuda.sparse_matrix import NEIGHBORS, gathered, rows_of, warps
from simpgcn.nn.mixing import Saved
from simpgcn.nn.sparse_matrix import SparseMatrix


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
    from_structure = gathered(
        a_col, a_values, start, stop, product, product, run, runs, columns, stride, False, False, BLOCK, NEIGHBORS
    )
    start, stop = tl.load(f_crow + row), tl.load(f_crow + row + 1)
    from_features = gathered(
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
    a, f = rows_of(structure, False), rows_of(features, False)
    runs, options = _launch(product, columns)
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
        **options,
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
    z = gathered(a_col, a_values, start, stop, hidden, s_in, run, runs, columns, columns, True, False, BLOCK, NEIGHBORS)
    start, stop = tl.load(f_crow + row), tl.load(f_crow + row + 1)
    z += gathered(f_col, f_values, start, stop, hidden, s_in, run, runs, columns, columns, True, True, BLOCK, NEIGHBORS)
    ds = tl.sum(h * tl.load(difference + place * columns + c, mask=inside, other=0.0), axis=0)
    tl.store(gradient + place * stride + columns, ds * s * (1 - s))
    if LOOPS:
        weight = tl.load(loop_weight + run)
        z += weight * tl.load(k_in + place) * h
        mine = tl.load(product + place * stride + c, mask=inside, other=0.0)
        b = tl.load(bias + run * columns + c, mask=inside, other=0.0)
        tl.store(gradient + place * stride + columns + 1, weight * tl.sum(h * (mine + b), axis=0))
    tl.store(gradient + place * stride + c, z, mask=inside)


def mix_backward(hidden: Tensor, saved: Saved, s_bar: Tensor | None, k_bar: Tensor | None) -> Tensor:
    """The gradient of the product, for that of H', of s and of K."""
    hidden, product, s = hidden.contiguous(), saved.product.contiguous(), saved.s
    columns = saved.bias.size(-1)
    gradient = torch.empty_like(product)
    a, f = rows_of(saved.structure, True), rows_of(saved.features, True)
    runs, options = _launch(product, columns)
    _mix_backward[(hidden.size(0), runs)](
        hidden,
        product,
        f.order,
        *a[:3],
        *f[:3],
        s,
        saved.k,
        saved.difference,
        saved.loop_weight.contiguous(),
        saved.bias.contiguous(),
        gradient,
        runs,
        columns,
        **options,
    )
    if s_bar is not None:
        gradient[..., columns] += s_bar * s * (1 - s)
    if k_bar is not None and options["LOOPS"]:
        gradient[..., columns + 1] += k_bar
    return gradient


def _launch(product: Tensor, columns: int) -> tuple[int, dict[str, int]]:
    """How many runs there are, and what both kernels are compiled for."""
    block = triton.next_power_of_2(columns)
    loops = product.size(-1) - columns - 1
    options = {"LOOPS": loops, "BLOCK": block, "NEIGHBORS": NEIGHBORS, "num_warps": warps(block)}
    return product.size(1) if product.dim() == 3 else 1, options
