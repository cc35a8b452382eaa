"""The choice of the best keys of each row, compiled and by torch's operations, against a literal sort."""

from __future__ import annotations

import pytest
import torch

from simpgcn.compiled import is_built
from simpgcn.similarity.ties import first, tie_order


@pytest.fixture(params=["compiled", "torch"], autouse=True)
def with_and_without_the_library(request, monkeypatch):
    if request.param == "torch":
        monkeypatch.setattr("simpgcn.similarity.ties.is_built", lambda: False)
    elif not is_built():
        pytest.skip("needs the library that a C compiler makes")


def literally(key, count, rows, seed, largest):
    order = tie_order(rows.unsqueeze(1), torch.arange(key.size(1)).expand_as(key), seed)
    found = []
    for keys, orders in zip(key.tolist(), order.tolist(), strict=True):
        ranked = sorted(range(len(keys)), key=lambda j, k=keys, o=orders: (-k[j] if largest else k[j], o[j]))
        found.append(ranked[:count])
    return torch.tensor(found)


@pytest.mark.parametrize("by_columns", [True, False])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize(("rows", "columns"), [(1, 40), (3, 1000), (70, 333), (300, 64)])
@pytest.mark.parametrize("tied", [0.0, 0.6, 1.0])
def test_the_first_of_each_row(rows, columns, tied, largest, by_columns):
    generator = torch.Generator().manual_seed(rows + columns)
    key = torch.randn(rows, columns, generator=generator)
    key *= torch.rand(rows, columns, generator=generator) >= tied
    key[:, ::7] *= -1  # also zeros below 0
    names = torch.randperm(1000, generator=generator)[:rows]
    stored = key.T.contiguous().T if by_columns else key
    values, chosen = first(stored, 9, names, 5, largest=largest)
    assert torch.equal(chosen, literally(key, 9, names, 5, largest))
    assert torch.equal(values, key.gather(1, chosen))


def test_keys_that_no_row_may_choose_come_last():
    key = torch.full((2, 12), 0.5)
    key[0, 3] = key[1, 4] = -torch.inf
    _, chosen = first(key, 11, torch.arange(2), 0, largest=True)
    assert 3 not in chosen[0]
    assert 4 not in chosen[1]


def test_any_number_of_threads_chooses_the_same():
    key, before = torch.randn(500, 300).round(), torch.get_num_threads()
    try:
        found = []
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found.append(first(key.T, 6, torch.arange(300), 0, largest=False))
        assert all(torch.equal(x, y) for x, y in zip(*found, strict=True))
    finally:
        torch.set_num_threads(before)
