r"""The two matrices a SimP-GCN layer propagates along, each computed once per graph.

Row :math:`i` holds what node :math:`i` takes from others: :math:`\mathbf{A}_{ij}` is the edge ``(i, j)`` of
``edge_index``, so on a directed graph a node aggregates from the nodes it points to.
"""

from __future__ import annotations

import torch
from torch import Tensor

from simpgcn.nn.sparse_matrix import SparseMatrix


def structure_propagation(
    edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None = None, dtype: torch.dtype | None = None
) -> SparseMatrix:
    r"""The given graph's :math:`\tilde{\mathbf{D}}^{-1/2} \tilde{\mathbf{A}} \tilde{\mathbf{D}}^{-1/2}`.

    :math:`\tilde{\mathbf{A}}` is :math:`\mathbf{A} + \mathbf{I}`. Degrees are row sums. A self-loop that the graph
    already has is kept and gets the added one on top.

    >>> structure_propagation(torch.tensor([[0, 1], [1, 0]]), 2).matrix.to_dense()
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]])
    """
    loops = torch.arange(num_nodes, device=edge_index.device).expand(2, -1)
    weight = _weights(edge_index, edge_weight, dtype)
    return _normalized(
        torch.cat([edge_index, loops], dim=1), torch.cat([weight, weight.new_ones(num_nodes)]), num_nodes
    )


def feature_propagation(
    edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None = None, dtype: torch.dtype | None = None
) -> SparseMatrix:
    r"""The feature graph's :math:`\mathbf{D}_f^{-1/2} \mathbf{A}_f \mathbf{D}_f^{-1/2}`: no self-loops are added.

    Nodes without look-alikes have an empty row.

    >>> feature_propagation(torch.tensor([[0, 1], [1, 0]]), 3).matrix.to_dense()[0].tolist()
    [0.0, 1.0, 0.0]
    """
    return _normalized(edge_index, _weights(edge_index, edge_weight, dtype), num_nodes)


def propagations(
    edge_index: Tensor | SparseMatrix,
    feature_edge_index: Tensor | SparseMatrix,
    edge_weight: Tensor | None = None,
    feature_edge_weight: Tensor | None = None,
    *,
    num_nodes: int,
    dtype: torch.dtype | None = None,
) -> tuple[SparseMatrix, SparseMatrix]:
    """Both matrices; what is a :class:`SparseMatrix` is one of them already.

    >>> edges = torch.tensor([[0, 1], [1, 0]])
    >>> propagations(edges, feature_propagation(edges, 2), num_nodes=2)
    (SparseMatrix(2, 2, nnz=4), SparseMatrix(2, 2, nnz=2))
    """
    if isinstance(edge_index, Tensor):
        edge_index = structure_propagation(edge_index, num_nodes, edge_weight, dtype)
    if isinstance(feature_edge_index, Tensor):
        feature_edge_index = feature_propagation(feature_edge_index, num_nodes, feature_edge_weight, dtype)
    return edge_index, feature_edge_index


def _weights(edge_index: Tensor, edge_weight: Tensor | None, dtype: torch.dtype | None) -> Tensor:
    if edge_weight is None:
        return torch.ones(edge_index.size(1), dtype=dtype, device=edge_index.device)
    return edge_weight if dtype is None else edge_weight.to(dtype)


def _normalized(index: Tensor, weight: Tensor, num_nodes: int) -> SparseMatrix:
    degree = weight.new_zeros(num_nodes).index_add_(0, index[0], weight)
    scale = torch.where(degree > 0, degree.rsqrt(), 0.0)
    return SparseMatrix.from_edges(index, scale[index[0]] * weight * scale[index[1]], num_nodes)
