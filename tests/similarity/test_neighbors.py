"""Neighbours against brute force in exact arithmetic, over layouts, ties and seeds."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from simpgcn.errors import SimPGCNError
from simpgcn.similarity import exact, nearest_neighbors, ties
from simpgcn.similarity.dots import EXACT_NORM2
from simpgcn.similarity.ties import tie_order


def brute_force(x: torch.Tensor, i: int, count: int, seed: int, *, largest: bool) -> list[int]:
    """Rank by the exact signed squared cosine, then by the hash; whole-number features only."""
    rows = [[int(v) for v in row] for row in x.tolist()]
    n = len(rows)
    hashes = tie_order(torch.full((n,), i), torch.arange(n), seed).tolist()

    def key(j: int) -> tuple[Fraction, int]:
        dot = sum(a * b for a, b in zip(rows[i], rows[j], strict=True))
        norms = sum(a * a for a in rows[i]) * sum(b * b for b in rows[j])
        cosine = Fraction(dot * abs(dot), norms) if norms else Fraction(0)
        return (-cosine if largest else cosine, hashes[j])

    return sorted((j for j in range(n) if j != i), key=key)[:count]


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 30),
    d=st.integers(1, 6),
    high=st.integers(1, 4),
    negative=st.booleans(),
    sparse=st.booleans(),
    seed=st.integers(0, 2**31 - 1),
    draw=st.integers(0, 10_000),
    data=st.data(),
)
def test_equals_brute_force_with_ties(n, d, high, negative, sparse, seed, draw, data):
    generator = torch.Generator().manual_seed(draw)
    x = torch.randint(-high if negative else 0, high + 1, (n, d), generator=generator).float()
    k, m = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    found = nearest_neighbors(x.to_sparse_csr() if sparse else x, k, farthest=m, seed=seed)
    for i in range(n):
        assert found.near[i].tolist() == brute_force(x, i, k, seed, largest=True)
        assert found.far[i].tolist() == brute_force(x, i, m, seed, largest=False)


@pytest.mark.parametrize("sparse", [False, True])
def test_similarities_are_cosines(sparse):
    x = torch.randn(50, 8, dtype=torch.float64)
    x[7] = 0
    norms = x.norm(dim=1).clamp(min=1e-300)
    cosine = (x @ x.T) / norms[:, None] / norms[None, :]
    found = nearest_neighbors(x.to_sparse_csr() if sparse else x, 49, farthest=49)
    expected = cosine.gather(1, found.near)
    torch.testing.assert_close(found.near_similarity.double(), expected, atol=1e-6, rtol=0)
    cosine.fill_diagonal_(torch.inf)
    torch.testing.assert_close(found.far_similarity.double(), cosine.sort(dim=1).values[:, :49], atol=1e-6, rtol=0)


def test_real_valued_neighbours_equal_brute_force():
    x = torch.randn(300, 16)
    unit = torch.nn.functional.normalize(x.double(), dim=1)
    cosine = (unit @ unit.T).fill_diagonal_(-torch.inf)
    assert torch.equal(nearest_neighbors(x, 10).near, cosine.topk(10).indices)


def test_blocks_do_not_change_the_result(monkeypatch):
    x = torch.randint(0, 2, (97, 5)).float()
    whole = nearest_neighbors(x, 9, farthest=4, seed=3)
    monkeypatch.setattr(exact, "BLOCK_ENTRIES", 97 * 10)
    for a, b in zip(whole, nearest_neighbors(x, 9, farthest=4, seed=3), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize(("n", "d"), [(3000, 40), (500, 50_000)])
def test_nothing_larger_than_a_block_is_made(monkeypatch, n, d):
    """Neither scores of n × n nor, for many columns, dense rows of block × d."""
    monkeypatch.setattr(exact, "BLOCK_ENTRIES", 100_000)
    made = []
    dots = exact.dots

    def spy(x, rows, others):
        made.append(rows.numel() * max(x.shape))
        return dots(x, rows, others)

    monkeypatch.setattr(exact, "dots", spy)
    x = torch.sparse_coo_tensor(torch.stack([torch.arange(n), torch.randint(d, (n,))]), torch.ones(n), (n, d))
    nearest_neighbors(x.coalesce().to_sparse_csr(), 2, farthest=2)
    assert max(made) <= 100_000


@pytest.mark.parametrize("high", [30, 60])
def test_multiples_of_a_row_tie_exactly(high):
    """Rows that are multiples of each other have equal similarities, which must count as equal."""
    generator = torch.Generator().manual_seed(high)
    base = torch.randint(0, 3, (12, 3), generator=generator)
    x = (base.repeat(4, 1) * torch.randint(1, high // 4, (48, 1), generator=generator)).clamp(max=high).float()
    assert x.square().sum(1).max() <= EXACT_NORM2
    found = nearest_neighbors(x, 20, farthest=20, seed=1)
    for i in range(48):
        assert found.near[i].tolist() == brute_force(x, i, 20, 1, largest=True)
        assert found.far[i].tolist() == brute_force(x, i, 20, 1, largest=False)


def test_dense_and_sparse_agree_exactly_on_words():
    x = (torch.rand(200, 400) < 0.02).float()
    for a, b in zip(
        nearest_neighbors(x, 20, farthest=5), nearest_neighbors(x.to_sparse_csr(), 20, farthest=5), strict=True
    ):
        assert torch.equal(a, b)


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_sparse_blocks_equal_brute_force_on_any_number_of_threads(monkeypatch, negative, threads):
    monkeypatch.setattr(exact, "SPARSE_ROWS", 32)
    generator = torch.Generator().manual_seed(4)
    x = torch.randint(-2 if negative else 1, 3, (150, 60), generator=generator)
    x = (x * (torch.rand(150, 60, generator=generator) < 0.05)).float()
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = nearest_neighbors(x.to_sparse_csr(), 9, farthest=4, seed=6)
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    for i in range(0, 150, 7):
        assert found.near[i].tolist() == brute_force(x, i, 9, 6, largest=True)
        assert found.far[i].tolist() == brute_force(x, i, 4, 6, largest=False)


def test_ties_are_random_by_row_and_by_seed():
    x = torch.eye(400)  # every similarity is exactly 0
    far = nearest_neighbors(x, 1, farthest=5, seed=0).far
    chosen = torch.bincount(far.flatten(), minlength=400)
    # 2,000 uniform draws over 400 nodes: a node named by more than 25 has probability below 1e-9
    assert chosen.max() < 25
    assert chosen.count_nonzero() > 380
    assert not torch.equal(far, nearest_neighbors(x, 1, farthest=5, seed=1).far)
    assert torch.equal(far, nearest_neighbors(x, 1, farthest=5, seed=0).far)


def test_tie_order_is_uniform():
    order = tie_order(torch.arange(2000).unsqueeze(1), torch.arange(64), seed=5)
    first = torch.bincount(order.argmin(dim=1), minlength=64).double()
    statistic = float(((first - 2000 / 64) ** 2 / (2000 / 64)).sum())
    assert statistic < 120  # chi-squared with 63 degrees of freedom: p = 2e-5
    assert order.min() >= 0
    assert all(len(set(row)) == 64 for row in order[:50].tolist())


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("by_column", [True, False])
@pytest.mark.parametrize("tied", ["most", "the sampled", "few"])
def test_first_of_many_ties_equals_a_full_sort(tied, by_column, largest):
    """Few of a great many equals are hashed in full; "the sampled" fools the estimate of how many there are."""
    key = torch.rand(40, 3000).add(0.1)
    equal = {"most": torch.rand(40, 3000) < 0.9, "few": torch.rand(40, 3000) < 0.01}.get(tied, torch.zeros(1) > 0)
    key = key.masked_fill(equal, 0.0 if not largest else 2.0)
    if tied == "the sampled":
        key[:, ::16] = 2.0 if largest else -0.0
        key[:, ::32] = 2.0 if largest else 0.0
    rows = torch.arange(100, 140)
    stored = key.T.contiguous().T if by_column else key
    values, columns = ties.first(stored, 7, rows, 5, largest=largest)
    order = tie_order(rows.unsqueeze(1), torch.arange(3000), 5).argsort(dim=1)
    by_key = key.gather(1, order).sort(dim=1, descending=largest, stable=True)
    assert torch.equal(values, by_key.values[:, :7])
    assert torch.equal(columns, order.gather(1, by_key.indices)[:, :7])


@pytest.mark.parametrize("sparse", [False, True])
def test_real_values_rank_by_float64_rounded_to_float32(sparse):
    """Rows so alike that float32 products cannot order them, and some that are equal."""
    base = torch.rand(1, 60) * (torch.rand(1, 60) < (0.12 if sparse else 1))
    x = base.repeat(120, 1) * (1 + 3e-6 * torch.randn(120, 60))
    x[60:80] = x[40:60]
    unit = torch.nn.functional.normalize(x.double(), dim=1).float().double()
    cosine = (unit @ unit.T).float()
    found = nearest_neighbors(x.to_sparse_csr() if sparse else x, 10, farthest=10, seed=2)
    for near, chosen, value in ((True, found.near, found.near_similarity), (False, found.far, found.far_similarity)):
        score = cosine.clone().fill_diagonal_(-torch.inf if near else torch.inf)
        order = tie_order(torch.arange(120).unsqueeze(1), torch.arange(120), 2).argsort(dim=1)
        by_score = score.gather(1, order).sort(dim=1, descending=near, stable=True)
        assert torch.equal(value, by_score.values[:, :10])
        assert torch.equal(chosen, order.gather(1, by_score.indices)[:, :10])


def test_faster_products_elsewhere_do_not_reach_the_search():
    x = torch.randn(100, 8)
    expected = nearest_neighbors(x, 5)
    torch.set_float32_matmul_precision("medium")
    try:
        assert torch.equal(nearest_neighbors(x, 5).near_similarity, expected.near_similarity)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")


def test_zero_rows_are_harmless():
    x = torch.tensor([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [2.0, 0.5]])
    found = nearest_neighbors(x, 3, farthest=3)
    assert all(torch.isfinite(part.float()).all() for part in found)
    assert found.near_similarity[0].tolist() == [0, 0, 0]
    assert 0 not in found.near[0]


def test_large_counts_and_tiny_values_rank_by_cosine():
    x = torch.tensor([[1e-20, 2e-20], [3e18, 6.1e18], [5e-3, -1.0], [70000.0, 150001.0]])
    unit = torch.nn.functional.normalize(x.double(), dim=1, eps=1e-300)
    expected = (unit @ unit.T).fill_diagonal_(-2).argmax(dim=1)
    assert nearest_neighbors(x, 1).near.flatten().tolist() == expected.tolist()


@pytest.mark.parametrize(("k", "farthest"), [(4, 0), (1, 4), (-1, 0)])
def test_more_neighbours_than_nodes(k, farthest):
    with pytest.raises(SimPGCNError, match="4 nodes has 3 others"):
        nearest_neighbors(torch.eye(4), k, farthest=farthest)


def test_nan_is_refused():
    with pytest.raises(SimPGCNError, match="NaN"):
        nearest_neighbors(torch.tensor([[1.0], [float("nan")]]), 1)


def test_input_is_left_alone_and_progress_reaches_one():
    x = torch.rand(30, 4)
    before, shares = x.clone(), []
    nearest_neighbors(x, 3, on_progress=shares.append)
    assert torch.equal(x, before)
    assert shares[-1] == 1.0
