"""The graphs and splits of Pro-GNN, on which the attacks of the literature were computed.

They are the largest connected components of other copies of Cora and CiteSeer, whose nodes are not in
Planetoid's order, so that their splits fit no other graph. PubMed's is Planetoid's.
"""

from __future__ import annotations

import json

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import from_scipy_sparse_matrix

from simpgcn.data.raw_files import find_raw


def clean_graph(name: str) -> Data:
    """The unattacked graph ``cora`` or ``citeseer``: undirected, no loops, the largest component in node order."""
    # The files also hold pickled name tables, which are never opened.
    with np.load(find_raw(f"prognn/clean/{name}.npz"), allow_pickle=False) as parts:
        adjacency, features = (
            sparse.csr_matrix(
                (parts[f"{what}_data"], parts[f"{what}_indices"], parts[f"{what}_indptr"]),
                parts[f"{what}_shape"],
            )
            for what in ("adj", "attr")
        )
        labels = parts["labels"]
    adjacency = ((adjacency + adjacency.T) > 0).astype(np.float32)
    _, component = connected_components(adjacency, directed=False)
    keep = np.flatnonzero(component == np.bincount(component).argmax())
    adjacency = adjacency[keep][:, keep].tolil()
    adjacency.setdiag(0)
    edge_index, _ = from_scipy_sparse_matrix(adjacency.tocsr())
    return Data(
        x=torch.from_numpy(features[keep].toarray().astype(np.float32)),
        edge_index=edge_index,
        y=torch.from_numpy(labels[keep].astype(np.int64)),
    )


def prognn_split(name: str) -> dict[str, Tensor]:
    """The 10/10/80 split of ``cora``, ``citeseer`` or ``pubmed``: node numbers by ``train``, ``val``, ``test``."""
    parts = json.loads(find_raw(f"prognn/splits/{name}_prognn_splits.json").read_text())
    return {part: torch.tensor(parts[f"idx_{part}"]) for part in ("train", "val", "test")}
