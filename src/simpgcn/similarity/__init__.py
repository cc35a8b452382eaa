"""Which nodes look alike: exact neighbours, the feature graph, the pretext task's pairs, overlap."""

from simpgcn.similarity.cache import cached_neighbors
from simpgcn.similarity.exact import Neighbors
from simpgcn.similarity.feature_graph import FeatureGraph, feature_edges
from simpgcn.similarity.neighbors import nearest_neighbors
from simpgcn.similarity.overlap import overlap
from simpgcn.similarity.pairs import Pairs, similarity_pairs

__all__ = [
    "FeatureGraph",
    "Neighbors",
    "Pairs",
    "cached_neighbors",
    "feature_edges",
    "nearest_neighbors",
    "overlap",
    "similarity_pairs",
]
