"""How much of one graph is also in another."""

from __future__ import annotations

import torch
from torch import Tensor


def overlap(a: Tensor, b: Tensor) -> float:
    r"""The share of the edges of graph ``a`` that are edges of graph ``b``.

    .. math:: OL(\mathbf{A}_1, \mathbf{A}_2) = \lVert\mathbf{A}_1 \cap \mathbf{A}_2\rVert \,/\, \lVert\mathbf{A}_1\rVert

    Args:
        a, b: Two ``edge_index`` tensors ``[2, e]`` over the same nodes; repeated edges count once.

    >>> overlap(torch.tensor([[0, 1, 2], [1, 2, 0]]), torch.tensor([[0, 2], [1, 0]]))
    0.6666666666666666
    """
    n = max(int(index.max()) + 1 if index.numel() else 0 for index in (a, b))
    a, b = (torch.unique(index[0] * n + index[1]) for index in (a, b))
    return int(torch.isin(a, b).sum()) / a.numel() if a.numel() else 0.0
