"""How the operators see several runs at once: dimension 1 of what belongs to nodes, dimension 0 of all else.

Side by side in dimension 1, the runs of a node are one wide row, and a sparse product reads its structure once
for all of them. :func:`torch.vmap` writes the models' code for several runs; the operators' ``vmap`` rules bring
their arguments into this layout, and keep it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class Operator(torch.autograd.Function):
    """A differentiable operator that works on one run or several.

    Torch binds the arguments to the signature of ``forward`` at every call, for defaults that no operator has, and
    that takes longer than small operators do. Outside of :func:`torch.vmap` it is left out.
    """

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Call the operator."""
        if torch._C._are_functorch_transforms_active():
            return super().apply(*args)
        return super(torch.autograd.Function, cls).apply(*args)  # type: ignore[misc]


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
