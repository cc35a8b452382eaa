"""The layer, the model and the pretext head, as ordinary modules for anyone's own training loop."""

from simpgcn.nn.pretext import SimilarityHead, draw_pairs
from simpgcn.nn.propagation import feature_propagation, structure_propagation
from simpgcn.nn.simp_conv import LayerState, SimPConv
from simpgcn.nn.simp_gcn import SimPGCN
from simpgcn.nn.sparse_matrix import SparseMatrix

__all__ = [
    "LayerState",
    "SimPConv",
    "SimPGCN",
    "SimilarityHead",
    "SparseMatrix",
    "draw_pairs",
    "feature_propagation",
    "structure_propagation",
]
