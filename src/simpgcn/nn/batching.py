"""How the operators see several runs at once: dimension 1 of what belongs to nodes, dimension 0 of all else.

Side by side in dimension 1, the runs of a node are one wide row, and a sparse product reads its structure once
for all of them. :func:`torch.vmap` writes the models' code for several runs; the operators' ``vmap`` rules bring
their arguments into this layout, and keep it.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor


class Operator(torch.autograd.Function):
    """A differentiable operator that works on one run or several.

    Torch looks up the signature of ``forward`` at every call, which takes longer than small operators do; here it is
    found once.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.forward.__signature__ = inspect.signature(cls.forward)  # type: ignore[attr-defined]


def runs_second(x: Tensor, dim: int | None, count: int) -> Tensor:
    """``x`` with its runs in dimension 1; one for all runs is repeated.

    >>> runs_second(torch.zeros(3, 5, 4), 0, 3).shape, runs_second(torch.zeros(5, 4), None, 3).shape
    (torch.Size([5, 3, 4]), torch.Size([5, 3, 4]))
    """
    return x.movedim(dim, 1) if dim is not None else x.unsqueeze(1).expand(-1, count, *x.shape[1:])


def runs_first(x: Tensor, dim: int | None, count: int) -> Tensor:
    """``x`` with its runs in dimension 0; one for all runs is repeated.

    >>> runs_first(torch.zeros(5), None, 3).shape
    torch.Size([3, 5])
    """
    return x.movedim(dim, 0) if dim is not None else x.expand(count, *x.shape)
