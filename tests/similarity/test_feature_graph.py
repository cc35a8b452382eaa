from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from simpgcn.data import binarize
from simpgcn.errors import SimPGCNError
from simpgcn.similarity import FeatureGraph, nearest_neighbors, overlap, similarity_pairs


def test_edges_are_directed_weighted_and_without_loops():
    x = torch.tensor([[1.0, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 0]])
    data = FeatureGraph(k=2, binarize="always", cache=False)(Data(x=x))
    edges = {(i, j): w for (i, j), w in zip(data.feature_edge_index.T.tolist(), data.feature_edge_weight, strict=True)}
    # node 0 and 2 share nothing, node 3 has nothing: no edges of similarity 0
    assert sorted(edges) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert edges[0, 1] == pytest.approx(2 / 6**0.5)
    assert edges[1, 2] == pytest.approx(1 / 6**0.5)


def test_negative_similarities_are_no_edges():
    data = FeatureGraph(k=1, cache=False)(Data(x=torch.tensor([[1.0, 0.1], [-1.0, 0.0]])))
    assert data.feature_edge_index.shape == (2, 0)


@pytest.mark.parametrize("sparse", [False, True])
def test_binarising_makes_a_copy(sparse):
    x = torch.tensor([[0.0, 3.0, 0, 0, 0], [0.5, 0.0, 0, 0, 0]])
    x = x.to_sparse_csr() if sparse else x
    before = x.to_dense().clone()
    assert binarize(x, "always").to_dense().unique().tolist() == [0, 1]
    data = Data(x=x)
    seen = FeatureGraph(k=1, binarize="always", cache=False)(data)
    assert torch.equal(x.to_dense(), before)
    assert torch.equal(seen.x.to_dense(), before)


def test_binarise_auto_by_what_the_features_are():
    tf_idf = torch.rand(50, 40) * (torch.rand(50, 40) < 0.1)
    assert set(binarize(tf_idf).unique().tolist()) == {0.0, 1.0}
    for real in (torch.randn(50, 40), torch.rand(50, 40), -tf_idf):
        assert binarize(real) is real
    assert binarize(tf_idf, "never") is tf_idf
    with pytest.raises(SimPGCNError, match="auto, always or never"):
        binarize(tf_idf, "sometimes")


def test_binarising_changes_the_neighbours():
    x = torch.tensor([[9.0, 1, 0], [9, 0, 1], [1, 9, 0]])
    assert nearest_neighbors(x, 1).near[0].item() == 1
    assert nearest_neighbors(binarize(x, "always"), 1).near[0].item() == 2


def test_transform_is_repeatable_and_leaves_the_original(small):
    transform = FeatureGraph(k=4, pairs=2, cache=False)
    first, second = transform(small), transform(small)
    assert "feature_edge_index" not in small
    assert torch.equal(first.feature_edge_index, second.feature_edge_index)
    assert torch.equal(first.pair_index, second.pair_index)
    assert str(transform) == "FeatureGraph(k=4, pairs=2, binarize='auto')"


def test_more_pairs_than_neighbours(small):
    data = FeatureGraph(k=2, pairs=6, cache=False)(small)
    assert torch.bincount(data.feature_edge_index[0]).max() == 2
    degree = torch.bincount(data.pair_index.flatten())
    assert degree.min() >= 12


def test_pairs_are_unordered_unique_and_right():
    x = torch.randn(40, 5)
    found = nearest_neighbors(x, 6, farthest=3)
    pairs = similarity_pairs(found, 3)
    expected = {(min(i, j), max(i, j)) for i in range(40) for j in found.near[i, :3].tolist() + found.far[i].tolist()}
    assert sorted(map(tuple, pairs.nodes.T.tolist())) == sorted(expected)
    unit = torch.nn.functional.normalize(x, dim=1)
    first, second = pairs.nodes
    torch.testing.assert_close(pairs.similarity, (unit[first] * unit[second]).sum(1), atol=1e-5, rtol=0)
    similar = {(min(i, j), max(i, j)) for i in range(40) for j in found.near[i, :3].tolist()}
    assert [tuple(p) in similar for p in pairs.nodes.T.tolist()] == pairs.similar.tolist()


def test_overlap_counts_entries_of_the_first():
    a = torch.tensor([[0, 0, 1, 2, 2], [1, 1, 2, 0, 3]])  # (0, 1) twice
    b = torch.tensor([[0, 1, 3], [1, 2, 2]])
    assert overlap(a, b) == 2 / 4
    assert overlap(b, a) == 2 / 3
    assert overlap(a, a) == 1
    assert overlap(torch.empty(2, 0, dtype=torch.long), a) == 0
