r"""The paper's lemma, to be computed: graph convolution is one step of descent towards a smooth signal.

With :math:`\mathbf{L} = \mathbf{I} - \hat{\mathbf{A}}`, a signal :math:`\mathbf{f}` is the smoother over an undirected
graph the smaller :math:`\mathbf{f}^\top\mathbf{L}\mathbf{f}`, and to recover one from a noisy :math:`\mathbf{f}_0` is
to minimise :math:`g(\mathbf{f}) = \|\mathbf{f} - \mathbf{f}_0\|^2 + c\,\mathbf{f}^\top\mathbf{L}\mathbf{f}`. The lemma:
for :math:`c = 1/2`, a step of gradient descent from :math:`\mathbf{f}_0` with learning rate 1 ends at
:math:`\hat{\mathbf{A}}\mathbf{f}_0`. Here the gradient is torch's, not the paper's.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from simpgcn.nn import SparseMatrix, structure_propagation

C = 0.5


def smoothness(f: Tensor, structure: SparseMatrix) -> Tensor:
    r""":math:`\mathbf{f}^\top\mathbf{L}\mathbf{f}`, summed over the columns of ``f`` ``[n, d]``.

    >>> pair = structure_propagation(torch.tensor([[0, 1], [1, 0]]), 2)
    >>> smoothness(torch.tensor([[0.0], [1.0]]), pair)
    tensor(0.5000)
    """
    return (f * (f - structure @ f)).sum()


def descent_step(f0: Tensor, structure: SparseMatrix, c: float = C) -> Tensor:
    r"""Where a step of gradient descent on :math:`g` leads from ``f0``, with learning rate 1.

    >>> pair = structure_propagation(torch.tensor([[0, 1], [1, 0]]), 2)
    >>> descent_step(torch.tensor([[0.0], [1.0]]), pair).T
    tensor([[0.5000, 0.5000]])
    """
    f = f0.detach().requires_grad_()
    objective = (f - f0).square().sum() + c * smoothness(f, structure)
    (gradient,) = torch.autograd.grad(objective, f)
    return f0 - gradient


def lemma_error(data: Data, c: float = C) -> float:
    """How far that step from the graph's features is from their graph convolution, as a share of its length.

    >>> from simpgcn.data import load_dataset
    >>> lemma_error(load_dataset("demo")) < 1e-12 < 0.1 < lemma_error(load_dataset("demo"), c=1.0)
    True
    """
    x, structure = _signal(data)
    convolved = structure @ x
    return float((descent_step(x, structure, c) - convolved).norm() / convolved.norm())


def roughness(data: Data, times: int) -> float:
    r""":math:`\mathbf{f}^\top\mathbf{L}\mathbf{f} / \mathbf{f}^\top\mathbf{f}` of the features after so many
    convolutions; by their length, as a signal that only shrinks is not the smoother for it.

    >>> from simpgcn.data import load_dataset
    >>> roughness(load_dataset("demo"), 0) > roughness(load_dataset("demo"), 1) > 0
    True
    """
    x, structure = _signal(data)
    f = x
    for _ in range(times):
        f = structure @ f
    return float(smoothness(f, structure) / f.square().sum())


def _signal(data: Data) -> tuple[Tensor, SparseMatrix]:
    return data.x.to_dense().double(), structure_propagation(data.edge_index, data.num_nodes, dtype=torch.float64)
