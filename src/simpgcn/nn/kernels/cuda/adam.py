"""Adam's update of all runs' parameters at once."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor


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
