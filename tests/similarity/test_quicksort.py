"""The least similar rows as a quicksort leaves them, against the algorithm written out."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from simpgcn.errors import SimPGCNError
from simpgcn.similarity import FeatureGraph, cached_neighbors, nearest_neighbors

SHORT = 15


def written_out(values: list[float]) -> list[int]:
    """The places of the values in the order of NumPy's quicksort: median of three, short runs by insertion."""
    place = list(range(len(values)))

    def less(a: int, b: int) -> bool:
        return values[a] < values[b]

    def swap(a: int, b: int) -> None:
        place[a], place[b] = place[b], place[a]

    left = [(0, len(values) - 1)]
    while left:
        low, high = left.pop()
        while high - low > SHORT:
            middle = (low + high) // 2
            if less(place[middle], place[low]):
                swap(middle, low)
            if less(place[high], place[middle]):
                swap(high, middle)
            if less(place[middle], place[low]):
                swap(middle, low)
            pivot, i, j = place[middle], low, high - 1
            swap(middle, j)
            while True:
                i += 1
                while less(place[i], pivot):
                    i += 1
                j -= 1
                while less(pivot, place[j]):
                    j -= 1
                if i >= j:
                    break
                swap(i, j)
            swap(i, high - 1)
            if i - low < high - i:
                left.append((i + 1, high))
                high = i - 1
            else:
                left.append((low, i - 1))
                low = i + 1
        for i in range(low + 1, high + 1):
            moved, j = place[i], i
            while j > low and less(moved, place[j - 1]):
                place[j] = place[j - 1]
                j -= 1
            place[j] = moved
    return place


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(2, 150),
    words=st.integers(1, 12),
    share=st.sampled_from([0.05, 0.2, 0.5]),
    m=st.integers(1, 5),
    sparse=st.booleans(),
    real=st.booleans(),
    draw=st.integers(0, 10_000),
)
def test_equals_the_quicksort_written_out(n, words, share, m, sparse, real, draw):
    generator = torch.Generator().manual_seed(draw)
    x = (torch.rand(n, words, generator=generator) < share).float()
    if real:
        x *= torch.rand(n, 1, generator=generator)  # the same directions, other lengths
    m = min(m, n - 1)
    given_x = x.to_sparse_csr() if sparse else x
    found = nearest_neighbors(given_x, 1, farthest=m, far_ties="quicksort")
    # Of real values that are equal but for their rounding one order is as good as another.
    assert torch.equal(found.far_similarity, nearest_neighbors(given_x, 1, farthest=m).far_similarity)
    assert found.far.ne(torch.arange(n)[:, None]).all()
    length = x.double().norm(dim=1)
    unit = x.double() / length.masked_fill(length == 0, 1).unsqueeze(1)
    assert torch.allclose(found.far_similarity, (unit @ unit.T).float().gather(1, found.far.long()), atol=1e-6)
    whole = (x > 0).float()
    products = whole @ whole.T
    keys = products.square() / whole.sum(dim=1).clamp(min=1)
    found = nearest_neighbors(whole.to_sparse_csr() if sparse else whole, 1, farthest=m, far_ties="quicksort")
    for i in range(n):
        assert found.far[i].tolist() == [j for j in written_out(keys[i].tolist()) if j != i][:m]


def test_few_rows_are_named_very_often(words):
    """Why it is an option: at random equals are spread evenly."""
    at_random, sorted_out = (
        nearest_neighbors(words, 1, farthest=5, far_ties=ties).far.flatten().bincount(minlength=len(words)).max().item()
        for ties in ("random", "quicksort")
    )
    assert sorted_out > 5 * at_random


@pytest.fixture
def words():
    return (torch.rand(600, 200, generator=torch.Generator().manual_seed(0)) < 0.02).float()


def test_neighbours_are_the_same_in_either_order(words):
    at_random, sorted_out = (nearest_neighbors(words, 7, farthest=5, far_ties=ties) for ties in ("random", "quicksort"))
    assert torch.equal(at_random.near, sorted_out.near)
    assert torch.equal(at_random.far_similarity, sorted_out.far_similarity)


def test_blocks_and_threads_do_not_matter(words, monkeypatch):
    whole = nearest_neighbors(words, 1, farthest=5, far_ties="quicksort").far
    monkeypatch.setattr("simpgcn.similarity.exact.BLOCK_ENTRIES", 5000)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        in_blocks = nearest_neighbors(words, 1, farthest=5, far_ties="quicksort").far
    finally:
        torch.set_num_threads(before)
    assert torch.equal(whole, in_blocks)


def test_progress_ends_at_one(words):
    seen = []
    nearest_neighbors(words, 1, farthest=5, far_ties="quicksort", on_progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1


def test_it_is_another_question_to_the_cache(words, tmp_path):
    cached_neighbors(words, 3, farthest=5, folder=tmp_path)
    found = cached_neighbors(words, 3, farthest=5, far_ties="quicksort", folder=tmp_path)
    assert torch.equal(found.far, nearest_neighbors(words, 3, farthest=5, far_ties="quicksort").far)
    assert len(list(tmp_path.iterdir())) == 2
    for ties in ("random", "quicksort"):  # without the least similar there are none to order
        cached_neighbors(words, 3, far_ties=ties, folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


def test_pairs_of_the_feature_graph_change_and_its_edges_do_not(small):
    first, second = (FeatureGraph(3, pairs=2, far_ties=ties, cache=False)(small) for ties in ("random", "quicksort"))
    assert torch.equal(first.feature_edge_index, second.feature_edge_index)
    assert not torch.equal(first.pair_index, second.pair_index)


def test_what_cannot_be(words):
    with pytest.raises(SimPGCNError, match="random or quicksort"):
        nearest_neighbors(words, 1, far_ties="merge")
    with pytest.raises(SimPGCNError, match="leave among out"):
        nearest_neighbors(words[:3], 1, farthest=1, far_ties="quicksort", among=words)
