"""The graphs and splits of Pro-GNN, clean and as metattack left them.

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

# Graphs that were published attacked, and the shares of their edges that were flipped.
ATTACKED = ("cora", "citeseer", "pubmed")
RATES = ("0.05", "0.1", "0.15", "0.2", "0.25")


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


def metattacked_edges(name: str, rate: str) -> Tensor:
    """The edges of the graph ``name`` after metattack flipped the share ``rate`` of them, as published."""
    adjacency = sparse.load_npz(find_raw(f"prognn/meta/{name}_meta_adj_{rate}.npz"))
    return from_scipy_sparse_matrix(adjacency)[0]


def prognn_split(name: str, *, attacker: bool = False) -> dict[str, Tensor]:
    """The 10/10/80 split of ``cora``, ``citeseer`` or ``pubmed``: node numbers by ``train``, ``val``, ``test``.

    PubMed has two that conflict: the one that the published accuracies were measured with, and the one that the
    ``attacker`` most likely had, since only under that one the added edges fall unevenly on its parts.
    """
    file = f"nettack/{name}_nettacked_nodes.json" if attacker else f"splits/{name}_prognn_splits.json"
    parts = json.loads(find_raw(f"prognn/{file}").read_text())
    return {part: torch.tensor(parts[f"idx_{part}"]) for part in ("train", "val", "test")}
