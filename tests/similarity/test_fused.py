"""The fused search against the blocked one: on CUDA where there is one, else in Triton's interpreter on the CPU."""

from __future__ import annotations

import importlib
import os

import pytest
import torch

from simpgcn.similarity import exact, nearest_neighbors
from simpgcn.similarity.dots import comparable

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
pytest.importorskip("triton")
needs_kernels = pytest.mark.skipif(not (CUDA or INTERPRETED), reason="needs CUDA or Triton's interpreter")
needs_cuda = pytest.mark.skipif(not CUDA, reason="needs CUDA")


@pytest.fixture(scope="module")
def fused():
    with pytest.MonkeyPatch.context() as patch:
        module = importlib.import_module("simpgcn.similarity.fused")
        # Tiles small enough for the interpreter, and more than one of each kind.
        patch.setattr(module, "GROUP", 32)
        patch.setattr(module, "TILE", 64)
        patch.setattr(module, "WALK", 2)
        patch.setattr(module, "BLOCK_ROWS", 150)
        yield module


def words(n: int, d: int) -> torch.Tensor:
    return (torch.rand(n, d) < 0.05).float()


FEATURES = {
    "real": lambda: torch.randn(200, 20),
    "real and deep": lambda: torch.randn(150, 150),
    "sparse real": lambda: (torch.randn(150, 40) * (torch.rand(150, 40) < 0.12)).to_sparse_csr(),
    "words": lambda: words(200, 40),
    "sparse and deep words": lambda: words(150, 140).to_sparse_csr(),
    "signed whole": lambda: torch.randint(-2, 3, (150, 6)).float(),
}


@needs_kernels
@pytest.mark.parametrize("kind", FEATURES)
def test_what_is_proved_is_right(fused, kind):
    torch.manual_seed(0)
    x = FEATURES[kind]()
    expected = nearest_neighbors(x, 2, farthest=1, seed=3)
    search = fused.Fused(comparable(x.to(DEVICE))).search
    proved = 0
    for block in search(torch.arange(x.size(0), device=DEVICE), 2, 1, 3, slack=1):
        rows = block.rows[block.proved].cpu()
        proved += rows.numel()
        for whole, part in zip(expected, block.found, strict=True):
            assert torch.equal(whole[rows], part[block.proved].cpu())
    assert proved > 0.7 * x.size(0)


@needs_kernels
def test_equals_beyond_the_candidates_are_not_proved(fused):
    x = torch.randn(40, 8).repeat(5, 1)  # four equals of each row
    for block in fused.Fused(comparable(x.to(DEVICE))).search(torch.arange(200, device=DEVICE), 2, 0, 0, slack=0):
        assert not block.proved.any()


@needs_kernels
def test_a_row_that_float16_misplaces_is_not_proved(fused):
    """Columns that differ by less than float16 can tell, in more groups than are looked at."""
    base = torch.nn.functional.normalize(torch.randn(1, 16), dim=1)
    x = base + 1e-5 * torch.randn(256, 16)
    proved = [
        block.proved
        for block in fused.Fused(comparable(x.to(DEVICE))).search(torch.arange(256, device=DEVICE), 2, 0, 0, slack=1)
    ]
    assert not torch.cat(proved).any()


@needs_cuda
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["words", "signed whole", "real", "duplicates", "zeros"])
def test_cuda_equals_cpu(kind, sparse):
    torch.manual_seed(1)
    n = 20_000
    x = {
        "words": lambda: words(n, 300),
        "signed whole": lambda: torch.randint(-3, 4, (n, 20)).float() * words(n, 20),
        "real": lambda: torch.randn(n, 64),
        "duplicates": lambda: torch.randn(n // 50, 32).repeat(50, 1),
        "zeros": lambda: torch.randn(n, 32) * (torch.rand(n, 1) < 0.9),
    }[kind]()
    x = x.to_sparse_csr() if sparse else x
    expected = nearest_neighbors(x, 20, farthest=5, seed=1)
    found = nearest_neighbors(x.cuda(), 20, farthest=5, seed=1)
    for a, b in zip(expected, found, strict=True):
        assert torch.equal(a, b.cpu())


@needs_cuda
def test_cuda_without_triton_is_the_same(monkeypatch):
    x = torch.randn(20_000, 64, device="cuda")
    fast = nearest_neighbors(x, 20, farthest=5)
    monkeypatch.setattr(exact, "_fused", lambda *args: [])
    for a, b in zip(fast, nearest_neighbors(x, 20, farthest=5), strict=True):
        assert torch.equal(a, b)
