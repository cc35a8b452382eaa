"""Named tensors as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor


def flatten(tensors: Iterable[Tensor]) -> Tensor:
    """Tensors as one vector.

    >>> flatten([torch.ones(1, 2), torch.zeros(1)])
    tensor([1., 1., 0.])
    """
    return torch.cat([torch.empty(0), *(tensor.detach().reshape(-1) for tensor in tensors)])


def unflatten(vector: Tensor, shapes: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The inverse of :func:`flatten`: views of a vector, or of several, ``[runs, p]``, in the named tensors' shapes.

    >>> unflatten(torch.arange(3), {"a": torch.zeros(1, 2), "b": torch.zeros(1)})["a"]
    tensor([[0, 1]])
    """
    parts = vector.split([shape.numel() for shape in shapes.values()], dim=-1)
    runs = vector.shape[:-1]
    return {name: part.view(*runs, *shape.shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}
