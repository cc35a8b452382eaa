"""GCN-Jaccard of Wu et al. (IJCAI 2019): edges between nodes that have next to no feature in common are dropped."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch_geometric.data import Data

from simpgcn.data.features import as_csr, csr_rows
from simpgcn.nn.baselines.gcn import GCN, GCNSettings, gcn_inputs, gcn_reach
from simpgcn.nn.method import Method
from simpgcn.nn.sparse_matrix import SparseMatrix

# Edges compared at once: their rows are two blocks of memory.
_BLOCK = 65_536


@dataclass(frozen=True)
class GCNJaccardSettings(GCNSettings):
    """The settings of ``gcn-jaccard``: a GCN's, and the similarity from which an edge is kept."""

    hidden_channels: int = 16
    threshold: float = 0.01


def jaccard_similarity(x: Tensor, edge_index: Tensor) -> Tensor:
    r"""The share of features that both ends of an edge have among those that either has.

    .. math:: J_{uv} = \frac{|\mathbf{x}_u \wedge \mathbf{x}_v|}{|\mathbf{x}_u \vee \mathbf{x}_v|}

    A feature is had where it is not zero. Two nodes without features have nothing in common.

    >>> x = torch.tensor([[1.0, 1.0, 0.0], [0.0, 2.0, 2.0], [0.0, 0.0, 0.0]])
    >>> jaccard_similarity(x, torch.tensor([[0, 0], [1, 2]]))
    tensor([0.3333, 0.0000])
    """
    csr = as_csr(x).cpu()
    stored = csr.values().numpy() != 0
    rows, columns = csr_rows(csr).numpy()[stored], csr.col_indices().numpy()[stored]
    has = sparse.csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=tuple(x.shape))
    count = np.asarray(has.sum(axis=1)).ravel()
    ends = edge_index.cpu().numpy()
    both = np.zeros(ends.shape[1], dtype=np.float32)
    for start in range(0, ends.shape[1], _BLOCK):
        u, v = ends[:, start : start + _BLOCK]
        both[start : start + _BLOCK] = np.asarray(has[u].multiply(has[v]).sum(axis=1)).ravel()
    either = count[ends[0]] + count[ends[1]] - both
    return torch.from_numpy(both / np.maximum(either, 1)).to(edge_index.device)


def drop_dissimilar(data: Data, threshold: float) -> Data:
    """The graph without the edges whose ends are less similar than ``threshold``.

    >>> x = torch.tensor([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> drop_dissimilar(Data(x=x, edge_index=torch.tensor([[0, 0], [1, 2]])), 0.01).edge_index.tolist()
    [[0], [1]]
    """
    kept = jaccard_similarity(data.x, data.edge_index) >= threshold
    data = copy.copy(data)
    data.edge_index = data.edge_index[:, kept]
    if data.get("edge_weight") is not None:
        data.edge_weight = data.edge_weight[kept]
    return data


def _inputs(data: Data, settings: GCNJaccardSettings) -> tuple[Tensor | SparseMatrix, SparseMatrix]:
    return gcn_inputs(drop_dissimilar(data, settings.threshold), settings)


GCN_JACCARD = Method(GCNJaccardSettings, GCN, _inputs, reach=gcn_reach)
