"""What reaches some nodes through a model's layers: of the last their own rows, of each before it a hop more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from simpgcn.data.features import csr_rows, take_rows
from simpgcn.nn.sparse_matrix import SparseMatrix

# Below this share of all layers' rows the smaller matrices are worth their making.
WORTHWHILE = 0.8


class Reach(NamedTuple):
    """Nodes by their distance from some of them.

    ``order`` has these nodes first, in their own order, then those one hop away, and so on; ``sizes`` counts the
    nodes at most 0, 1, 2 … hops away.
    """

    order: Tensor
    sizes: list[int]


def reach(hearer: Tensor, heard: Tensor, nodes: Tensor, num_nodes: int, depth: int) -> Reach:
    """The nodes that ``nodes`` hear of, directly or through others, in ``depth`` layers.

    >>> path = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    >>> reach(path[0], path[1], torch.tensor([2]), 5, 2)
    Reach(order=tensor([2, 3, 4]), sizes=[1, 2, 3])
    """
    order, sizes = nodes, [len(nodes)]
    known = torch.zeros(num_nodes, dtype=torch.bool, device=nodes.device)
    known[nodes] = True
    for _ in range(depth):
        fresh = torch.zeros_like(known)
        fresh[heard[known[hearer]]] = True
        fresh &= ~known
        known |= fresh
        order = torch.cat([order, fresh.nonzero().squeeze(1)])
        sizes.append(len(order))
    return Reach(order, sizes)


def by_layer(structure: Any, depth: int) -> Sequence[Any]:
    """What each layer propagates along: the same in every layer, or what :func:`matrices_in_reach` made.

    >>> len(by_layer(SparseMatrix(torch.eye(2)), 3))
    3
    """
    return structure if isinstance(structure, tuple) else [structure] * depth


def is_worthwhile(found: Reach, num_nodes: int) -> bool:
    """Whether the layers together have notably fewer rows than with all nodes in each.

    >>> is_worthwhile(Reach(torch.arange(10), [9, 10]), 10), is_worthwhile(Reach(torch.arange(10), [1, 10]), 10)
    (False, True)
    """
    rows = found.sizes[:-1]
    return sum(rows) < WORTHWHILE * len(rows) * num_nodes


def matrices_in_reach(structure: SparseMatrix, found: Reach) -> tuple[SparseMatrix, ...]:
    """Of a propagation matrix what each layer needs, first to last, in the nodes' new order.

    >>> ring = SparseMatrix(torch.eye(5).roll(1, dims=1) + torch.eye(5))
    >>> rows = ring.matrix
    >>> around = reach(csr_rows(rows), rows.col_indices(), torch.tensor([2]), 5, 2)
    >>> matrices_in_reach(ring, around)
    (SparseMatrix(2, 3, nnz=4), SparseMatrix(1, 2, nnz=2))
    """
    matrix = structure.matrix
    place = torch.full((matrix.size(0),), matrix.size(0), device=matrix.device)
    place[found.order] = torch.arange(len(found.order), device=matrix.device)
    index, values = place[torch.stack([csr_rows(matrix), matrix.col_indices()])], matrix.values()
    layers = []
    for rows, columns in zip(found.sizes[-2::-1], found.sizes[:0:-1], strict=True):
        kept = index[0] < rows
        shape = (rows, columns)
        layers.append(
            SparseMatrix(torch.sparse_coo_tensor(index[:, kept], values[kept], shape, check_invariants=False))
        )
    return tuple(layers)


def inputs_in_reach(inputs: tuple[Any, ...], nodes: Tensor, depth: int) -> tuple[Any, ...] | None:
    """Features and propagation matrix of a model of ``depth`` layers, cut down to what gives the rows of ``nodes``.

    None where that is hardly less than the whole.
    """
    x, structure = inputs
    matrix = structure.matrix
    found = reach(csr_rows(matrix), matrix.col_indices(), nodes, matrix.size(0), depth)
    if not is_worthwhile(found, matrix.size(0)):
        return None
    rows = take_rows(x.matrix if isinstance(x, SparseMatrix) else x, found.order)
    return SparseMatrix(rows) if isinstance(x, SparseMatrix) else rows, matrices_in_reach(structure, found)
