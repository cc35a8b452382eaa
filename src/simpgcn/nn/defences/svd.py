"""GCN-SVD of Entezari et al. (WSDM 2020): a GCN along the part of the graph that few singular vectors hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse.linalg import svds
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_scipy_sparse_matrix

from simpgcn.data.features import compact, is_sparse
from simpgcn.errors import SimPGCNError
from simpgcn.nn.baselines.gcn import GCNSettings
from simpgcn.nn.defences.filtered_gcn import FilteredGCN
from simpgcn.nn.method import Method
from simpgcn.nn.sparse_matrix import SparseMatrix


@dataclass(frozen=True)
class GCNSVDSettings(GCNSettings):
    """The settings of ``gcn-svd``: a GCN's, and how many singular vectors are kept."""

    hidden_channels: int = 16
    rank: int = 50


class LowRankPropagation:
    r"""A few singular vectors of a graph, with self-loops and normalised.

    .. math:: \mathbf{D}^{-1/2} (\mathbf{U} \boldsymbol\Sigma \mathbf{V}^\top + \mathbf{I}) \mathbf{D}^{-1/2}

    It multiplies by its factors and is never written out. Degrees are row sums; a node whose degree is not above 0,
    which the truncation can do, hears nothing.

    Args:
        left: :math:`\mathbf{U}\boldsymbol\Sigma`, ``[n, rank]``.
        right: :math:`\mathbf{V}`, ``[n, rank]``.

    >>> pair = LowRankPropagation(torch.tensor([[0.0], [1.0]]), torch.tensor([[1.0], [0.0]]))
    >>> pair @ torch.tensor([[2.0], [0.0]])
    tensor([[2.0000],
            [1.4142]])
    """

    def __init__(self, left: Tensor, right: Tensor) -> None:
        degree = left @ right.sum(dim=0) + 1
        scale = torch.where(degree > 0, degree.clamp(min=1e-12).rsqrt(), 0.0).unsqueeze(1)
        self.left, self.right, self.loops = scale * left, scale * right, scale.square()

    def __matmul__(self, x: Tensor) -> Tensor:
        return self.left @ (self.right.T @ x) + self.loops * x


def low_rank_propagation(data: Data, rank: int) -> LowRankPropagation:
    """The propagation along the ``rank`` largest singular values of the graph's adjacency matrix.

    >>> ring = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    >>> low_rank_propagation(Data(edge_index=ring, num_nodes=4), 2).left.shape
    torch.Size([4, 2])
    """
    n = data.num_nodes
    if not 0 < rank < n:
        raise SimPGCNError(f"model.rank must be at least 1 and below the number of nodes, {n}, not {rank}")
    adjacency = to_scipy_sparse_matrix(data.edge_index, data.get("edge_weight"), n).tocsr().astype(np.float64)
    # A start of its own, for two runs to find the same vectors.
    left, values, right = svds(adjacency, k=rank, v0=np.random.default_rng(0).standard_normal(n))
    device = data.edge_index.device
    return LowRankPropagation(
        torch.from_numpy((left * values).astype(np.float32)).to(device),
        torch.from_numpy(right.T.astype(np.float32)).contiguous().to(device),
    )


def _inputs(data: Data, settings: GCNSVDSettings) -> tuple[Tensor | SparseMatrix, LowRankPropagation]:
    x = compact(data.x)
    return SparseMatrix(x) if is_sparse(x) else x, low_rank_propagation(data, settings.rank)


GCN_SVD = Method(GCNSVDSettings, FilteredGCN, _inputs)
