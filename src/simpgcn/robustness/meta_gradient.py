r"""The gradient of the attack's loss with respect to every possible edge, through the surrogate's whole training.

All the graph does to the loss, it does by :math:`\mathbf{H} = \hat{\mathbf{A}}^2 \mathbf{X}`, and the gradient there
has few terms: of rank c for all nodes, and a row of its own for each labelled node, which comes back through the
training:

.. math:: \boldsymbol\Gamma = \frac{\partial \mathcal{L}}{\partial \mathbf{H}} = \mathbf{U} \mathbf{W}^\top +
          \mathbf{E}_l \mathbf{R}, \qquad
          \frac{\partial \mathcal{L}}{\partial \hat{\mathbf{A}}} =
          \boldsymbol\Gamma (\hat{\mathbf{A}} \mathbf{X})^\top + \hat{\mathbf{A}} \boldsymbol\Gamma \mathbf{X}^\top

with :math:`\mathbf{E}_l` the columns of the identity that belong to labelled nodes. So the ``[n, n]`` gradient is a sum
of products of thin matrices, and is computed block by block where it is looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from simpgcn.nn.sparse_matrix import SparseMatrix
from simpgcn.robustness.surrogate import SurrogateSettings, back_through, train


class Task(NamedTuple):
    """What the attacker knows and wants: ``labelled`` nodes and their classes ``target`` (one and zero), the class that
    each node is to be kept from (``wanted``, one and zero, ``[n, c]``), and what it counts for (``weight``, ``[n]``).
    """

    labelled: Tensor
    target: Tensor
    wanted: Tensor
    weight: Tensor


class Gradient(NamedTuple):
    """How the loss changes with H: ``U W^T + E_l R``, for ``left`` U, ``right`` W and ``rows`` R."""

    left: Tensor
    right: Tensor
    rows: Tensor


class EdgeGradient:
    r"""How the loss changes when both :math:`\mathbf{A}_{ij}` and :math:`\mathbf{A}_{ji}` do.

    With :math:`\hat{\mathbf{G}}` the gradient with respect to :math:`\hat{\mathbf{A}}` and d the degrees with
    self-loops,

    .. math::
        \frac{\hat{\mathbf{G}}_{ij} + \hat{\mathbf{G}}_{ji}}{\sqrt{d_i d_j}} - g_i - g_j, \qquad
        g_i = \frac{1}{2 d_i} \sum_k \hat{\mathbf{A}}_{ik} (\hat{\mathbf{G}}_{ik} + \hat{\mathbf{G}}_{ki})

    where g is what a further edge takes from the weight of all others.

    Args:
        gradient: With respect to H.
        x: Features.
        propagation: :math:`\hat{\mathbf{A}}`, symmetric.
        degree: d.
        labelled: The labelled nodes.

    >>> from simpgcn.nn.propagation import structure_propagation
    >>> ring = structure_propagation(torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]]), 3)
    >>> known, classes = torch.tensor([0, 1]), torch.eye(2)
    >>> task = Task(known, classes, classes[[0, 1, 0]], torch.tensor([0.0, 0.0, 1.0]))
    >>> x, weights = SparseMatrix(torch.eye(3)), (torch.ones(3, 4), torch.ones(4, 2))
    >>> gradient = meta_gradient(x, ring, weights, task, SurrogateSettings(steps=3))
    >>> EdgeGradient(gradient, x, ring, torch.full((3,), 3.0), known).block(slice(0, 2), slice(0, 3)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self, gradient: Gradient, x: SparseMatrix, propagation: SparseMatrix, degree: Tensor, labelled: Tensor
    ) -> None:
        u, w, rows = gradient
        a = propagation
        u1 = a @ u
        q = x @ w
        q1 = a @ q
        v = x @ rows.T.contiguous()
        v1 = a @ v
        hop = _columns(labelled, a.size(0), u)
        hop1 = a @ hop
        own = (u * (a @ q1) + 2 * u1 * q1 + (a @ u1) * q).sum(dim=1)
        own += (2 * hop1 * v1 + (a @ hop1) * v + hop * (a @ v1)).sum(dim=1)
        scale = degree.rsqrt().unsqueeze(1)
        self.pull = own / (2 * degree)
        self.left = scale * torch.cat([u, u1], dim=1)
        self.right = scale * torch.cat([q1, q], dim=1)
        self.near = (scale * torch.cat([hop, hop1], dim=1)).to_sparse_csr()
        self.far = scale * torch.cat([v1, v], dim=1)

    def block(self, rows: slice, columns: slice) -> Tensor:
        """The entries of some rows and columns."""
        found = self.left[rows] @ self.right[columns].T
        found.addmm_(self.right[rows], self.left[columns].T)
        found += _row_block(self.near, rows) @ self.far[columns].T
        found += (_row_block(self.near, columns) @ self.far[rows].T).T
        found -= self.pull[rows].unsqueeze(1)
        found -= self.pull[columns]
        return found


def meta_gradient(
    x: SparseMatrix, propagation: SparseMatrix, weights: tuple[Tensor, Tensor], task: Task, settings: SurrogateSettings
) -> Gradient:
    """With respect to H, exactly: by its use after training, and by what training makes of it.

    Args:
        x: Features.
        propagation: The normalised graph, symmetric.
        weights: The surrogate's initial W1 ``[d, h]`` and W2 ``[h, c]``.
        task: What the attacker wants.
        settings: How the surrogate is trained.

    >>> from simpgcn.nn.propagation import structure_propagation
    >>> ring = structure_propagation(torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]]), 3)
    >>> known, classes = torch.tensor([0, 1]), torch.eye(2)
    >>> task = Task(known, classes, classes[[0, 1, 0]], torch.tensor([0.0, 0.0, 1.0]))
    >>> x, weights = SparseMatrix(torch.eye(3)), (torch.ones(3, 4), torch.ones(4, 2))
    >>> meta_gradient(x, ring, weights, task, SurrogateSettings(steps=3)).left.shape
    torch.Size([3, 2])
    """
    first, second = weights
    rows = labelled_rows(x, propagation, task.labelled)
    kernel = rows @ rows.T
    path = train(kernel, rows @ first, second, task.target, settings)
    c, w2 = path.c[-1], path.w2[-1]
    w1 = first + rows.T @ c
    w = w1 @ w2
    probability = torch.softmax(propagation @ (propagation @ (x @ w)), dim=1)
    error = task.weight.unsqueeze(1) * (probability - task.wanted)
    of_w = _transposed(x, propagation @ (propagation @ error))
    adjoint = back_through(path, kernel, task.target, (rows @ of_w) @ w2.T, w1.T @ of_w, settings)
    of_rows = (adjoint.kernel + adjoint.kernel.T) @ rows + adjoint.start @ first.T + (c @ w2) @ of_w.T
    return Gradient(error, w, of_rows)


def approximate_meta_gradient(
    x: SparseMatrix, propagation: SparseMatrix, weights: tuple[Tensor, Tensor], task: Task, settings: SurrogateSettings
) -> Gradient:
    r"""A-Meta's: the sum over the steps of the gradients by use, as if each step's weights were given.

    .. math:: \sum_t \mathbf{U}_t \mathbf{W}_{2,t}^\top (\mathbf{W}_1^{(0)} + \mathbf{H}_l^\top \mathbf{C}_t)^\top

    >>> from simpgcn.nn.propagation import structure_propagation
    >>> ring = structure_propagation(torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]]), 3)
    >>> known, classes = torch.tensor([0, 1]), torch.eye(2)
    >>> task = Task(known, classes, classes[[0, 1, 0]], torch.tensor([0.0, 0.0, 1.0]))
    >>> x, weights = SparseMatrix(torch.eye(3)), (torch.ones(3, 4), torch.ones(4, 2))
    >>> approximate_meta_gradient(x, ring, weights, task, SurrogateSettings(steps=3)).left.shape
    torch.Size([3, 6])
    """
    first, second = weights
    rows = labelled_rows(x, propagation, task.labelled)
    path = train(rows @ rows.T, rows @ first, second, task.target, settings)
    right = torch.cat([first, rows.T], dim=1)
    base, others = (propagation @ (propagation @ (x @ right))).split([first.size(1), len(rows)], dim=1)
    weight = task.weight.unsqueeze(1)
    hidden = []
    for c, w2 in zip(path.c[1:], path.w2[1:], strict=True):
        probability = torch.softmax(torch.addmm(base, others, c) @ w2, dim=1)
        hidden.append((weight * (probability - task.wanted)) @ w2.T)
    along = torch.cat(hidden, dim=1) @ path.c[1:].transpose(1, 2).reshape(-1, len(rows))
    left = torch.cat([torch.stack(hidden).sum(dim=0), along], dim=1)
    return Gradient(left, right, rows.new_zeros(rows.shape))


def surrogate_logits(
    x: SparseMatrix, propagation: SparseMatrix, weights: tuple[Tensor, Tensor], task: Task, settings: SurrogateSettings
) -> Tensor:
    """What the trained surrogate says of every node, ``[n, c]``.

    >>> from simpgcn.nn.propagation import structure_propagation
    >>> ring = structure_propagation(torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]]), 3)
    >>> known, classes = torch.tensor([0, 1]), torch.eye(2)
    >>> task = Task(known, classes, classes[[0, 1, 0]], torch.tensor([0.0, 0.0, 1.0]))
    >>> x, weights = SparseMatrix(torch.eye(3)), (torch.ones(3, 4), torch.ones(4, 2))
    >>> surrogate_logits(x, ring, weights, task, SurrogateSettings(steps=3)).shape
    torch.Size([3, 2])
    """
    first, second = weights
    rows = labelled_rows(x, propagation, task.labelled)
    path = train(rows @ rows.T, rows @ first, second, task.target, settings)
    return propagation @ (propagation @ (x @ ((first + rows.T @ path.c[-1]) @ path.w2[-1])))


def labelled_rows(x: SparseMatrix, propagation: SparseMatrix, labelled: Tensor) -> Tensor:
    r"""The labelled nodes' rows of :math:`\mathbf{H} = \hat{\mathbf{A}}^2 \mathbf{X}`, ``[l, d]``.

    >>> loops = SparseMatrix(torch.eye(2))
    >>> labelled_rows(SparseMatrix(torch.tensor([[1.0, 2.0], [3.0, 4.0]])), loops, torch.tensor([1]))
    tensor([[3., 4.]])
    """
    hop = _columns(labelled, propagation.size(0), x.matrix.values())
    return _transposed(x, propagation @ (propagation @ hop)).T.contiguous()


def _columns(nodes: Tensor, count: int, like: Tensor) -> Tensor:
    hop = like.new_zeros(count, len(nodes))
    hop[nodes, torch.arange(len(nodes), device=nodes.device)] = 1
    return hop


def _transposed(matrix: SparseMatrix, x: Tensor) -> Tensor:
    return matrix.transpose @ x


def _row_block(matrix: Tensor, rows: slice) -> Tensor:
    start = matrix.crow_indices()[rows.start : rows.stop + 1]
    first, last = int(start[0]), int(start[-1])
    return torch.sparse_csr_tensor(
        start - first,
        matrix.col_indices()[first:last],
        matrix.values()[first:last],
        (rows.stop - rows.start, matrix.size(1)),
        check_invariants=False,
    )
