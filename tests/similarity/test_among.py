"""Neighbours among other rows, against brute force in exact arithmetic, and what they must not depend on."""

from __future__ import annotations

import importlib
import os
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from simpgcn.errors import SimPGCNError
from simpgcn.similarity import exact, nearest_neighbors
from simpgcn.similarity.dots import comparable
from simpgcn.similarity.ties import tie_order


def brute_force(row: list[int], stored: list[list[int]], count: int, seed: int, *, largest: bool) -> list[int]:
    """Rank by the exact signed squared cosine, then by the hash that all new rows share; whole numbers only."""
    s = len(stored)
    hashes = tie_order(torch.full((s,), s), torch.arange(s), seed).tolist()

    def key(j: int) -> tuple[Fraction, int]:
        dot = sum(a * b for a, b in zip(row, stored[j], strict=True))
        norms = sum(a * a for a in row) * sum(b * b for b in stored[j])
        cosine = Fraction(dot * abs(dot), norms) if norms else Fraction(0)
        return (-cosine if largest else cosine, hashes[j])

    return sorted(range(s), key=key)[:count]


@settings(max_examples=60, deadline=None)
@given(
    s=st.integers(1, 30),
    n=st.integers(1, 8),
    d=st.integers(1, 6),
    high=st.integers(1, 4),
    negative=st.booleans(),
    layouts=st.tuples(st.booleans(), st.booleans()),
    seed=st.integers(0, 2**31 - 1),
    draw=st.integers(0, 10_000),
    data=st.data(),
)
def test_equals_brute_force_with_ties(s, n, d, high, negative, layouts, seed, draw, data):
    generator = torch.Generator().manual_seed(draw)
    both = torch.randint(-high if negative else 0, high + 1, (s + n, d), generator=generator).float()
    stored, x = both[:s], both[s:]
    k, m = data.draw(st.integers(0, s)), data.draw(st.integers(0, s))
    laid_out = [part.to_sparse_csr() if sparse else part for part, sparse in zip((stored, x), layouts, strict=True)]
    found = nearest_neighbors(laid_out[1], k, farthest=m, seed=seed, among=laid_out[0])
    rows = [[int(v) for v in row] for row in stored.tolist()]
    for i, row in enumerate(x.int().tolist()):
        assert found.near[i].tolist() == brute_force(row, rows, k, seed, largest=True)
        assert found.far[i].tolist() == brute_force(row, rows, m, seed, largest=False)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("alike", [False, True])
def test_real_values_equal_float64_in_blocks(monkeypatch, sparse, alike):
    """Also where all are so alike that float32 products cannot order them."""
    monkeypatch.setattr(exact, "BLOCK_ENTRIES", 3000)
    torch.manual_seed(3)
    both = torch.randn(280, 50) * (torch.rand(280, 50) < (0.1 if sparse else 1))
    both = both[:1] * (1 + 3e-6 * torch.randn(280, 50)) if alike else both
    unit = torch.nn.functional.normalize(both.double(), dim=1).float().double()
    score = (unit[200:] @ unit[:200].T).float()
    order = tie_order(torch.full((80, 1), 200), torch.arange(200), 2).argsort(dim=1)
    laid_out = both.to_sparse_csr() if sparse else both
    stored, x = (laid_out[:200], laid_out[200:]) if not sparse else (both[:200].to_sparse_csr(), both[200:])
    shares: list[float] = []
    found = nearest_neighbors(x, 10, farthest=4, seed=2, among=stored, on_progress=shares.append)
    near = score.gather(1, order).sort(dim=1, descending=True, stable=True)
    far = score.gather(1, order).sort(dim=1, stable=True)
    assert torch.equal(found.near_similarity, near.values[:, :10])
    assert torch.equal(found.near, order.gather(1, near.indices)[:, :10])
    assert torch.equal(found.far, order.gather(1, far.indices)[:, :4])
    assert shares[-1] == 1.0


@pytest.mark.parametrize("words", [False, True])
def test_what_a_row_finds_does_not_depend_on_the_others(words):
    torch.manual_seed(0)
    both = (torch.rand(150, 40) < 0.08).float() if words else torch.randn(150, 8)
    stored, x = both[:100], both[100:]
    together = nearest_neighbors(x, 5, among=stored, seed=4)
    order = torch.randperm(50)
    shuffled = nearest_neighbors(x[order], 5, among=stored, seed=4)
    assert torch.equal(shuffled.near, together.near[order])
    for i in range(0, 50, 9):
        assert torch.equal(nearest_neighbors(x[i : i + 1], 5, among=stored, seed=4).near[0], together.near[i])


def test_a_row_finds_its_equal_and_a_zero_row_finds_nothing_alike():
    stored = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    found = nearest_neighbors(torch.tensor([[0.0, 4.0], [0.0, 0.0]]), 3, among=stored)
    assert found.near[0, 0] == 1
    assert found.near_similarity[0, 0] == 1
    assert found.near_similarity[1].tolist() == [0, 0, 0]


def test_no_rows_to_search_for():
    assert nearest_neighbors(torch.empty(0, 3), 2, among=torch.eye(3)).near.shape == (0, 2)


def test_mistakes_are_told():
    with pytest.raises(SimPGCNError, match="k = 4 neighbours were asked for, but there are 3"):
        nearest_neighbors(torch.eye(3), 4, among=torch.eye(3))
    with pytest.raises(SimPGCNError, match="2 features cannot be compared with rows of 3"):
        nearest_neighbors(torch.eye(2), 1, among=torch.eye(3))
    with pytest.raises(SimPGCNError, match="NaN"):
        nearest_neighbors(torch.full((1, 3), torch.nan), 1, among=torch.eye(3))


@pytest.mark.skipif(
    not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1", reason="needs CUDA or an interpreter"
)
@pytest.mark.parametrize("kind", ["real", "words"])
def test_the_fused_search_agrees(monkeypatch, kind):
    pytest.importorskip("triton")
    fused = importlib.import_module("simpgcn.similarity.fused")
    for name, value in {"GROUP": 32, "TILE": 64, "WALK": 2, "BLOCK_ROWS": 40}.items():
        monkeypatch.setattr(fused, name, value)
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    both = torch.randn(190, 20) if kind == "real" else (torch.rand(190, 40) < 0.05).float()
    expected = nearest_neighbors(both[130:], 2, farthest=1, seed=3, among=both[:130])
    search = fused.Fused(comparable(both.to(device), 130)).search
    proved = 0
    for block in search(torch.arange(130, 190, device=device), 2, 1, 3, slack=1):
        rows = block.rows[block.proved].cpu() - 130
        proved += rows.numel()
        for whole, part in zip(expected, block.found, strict=True):
            assert torch.equal(whole[rows], part[block.proved].cpu())
    assert proved > 30


@pytest.mark.parametrize("sparse", [False, True])
def test_nothing_larger_than_a_block_is_made(monkeypatch, sparse):
    monkeypatch.setattr(exact, "BLOCK_ENTRIES", 20_000)
    made = []
    dots = exact.dots

    def spy(x, rows, others):
        product = dots(x, rows, others)
        made.append(product.numel())
        return product

    monkeypatch.setattr(exact, "dots", spy)
    stored = (torch.rand(1000, 30) < 0.1).float()
    nearest_neighbors(torch.ones(300, 30), 3, among=stored.to_sparse_csr() if sparse else stored + torch.rand(1000, 30))
    assert max(made) <= 20_000
    assert sum(made) >= 300_000
