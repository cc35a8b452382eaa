from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from simpgcn.similarity import FeatureGraph, cache, cached_neighbors, nearest_neighbors


@pytest.fixture
def searches(monkeypatch):
    """Count the searches that the cache could not answer."""
    made = []

    def counting(*args, **kwargs):
        made.append(args)
        return nearest_neighbors(*args, **kwargs)

    monkeypatch.setattr(cache, "nearest_neighbors", counting)
    return made


def test_same_question_is_answered_from_disk(tmp_path, searches):
    x = torch.rand(20, 3)
    first = cached_neighbors(x, 4, farthest=2, folder=tmp_path)
    again = cached_neighbors(x.clone(), 4, farthest=2, folder=tmp_path)
    assert len(searches) == 1
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


def test_another_graph_k_m_seed_or_layout_is_another_question(tmp_path, searches):
    x = torch.rand(20, 3)
    changed = x.clone()
    changed[3, 1] += 1  # same shape, other features
    cached_neighbors(x, 4, folder=tmp_path)
    cached_neighbors(changed, 4, folder=tmp_path)
    cached_neighbors(x, 5, folder=tmp_path)
    cached_neighbors(x, 4, farthest=1, folder=tmp_path)
    cached_neighbors(x, 4, seed=1, folder=tmp_path)
    cached_neighbors(x.double(), 4, folder=tmp_path)
    cached_neighbors(x.to_sparse_csr(), 4, folder=tmp_path)
    assert len(searches) == 7


def test_changed_features_give_a_changed_feature_graph(tmp_path, small):
    transform = FeatureGraph(k=3, cache=tmp_path)
    before = transform(small).feature_edge_index
    other = small.clone()
    other.x = other.x.to_dense().roll(1, dims=0)
    after = transform(other).feature_edge_index
    expected = FeatureGraph(k=3, cache=False)(other).feature_edge_index
    assert torch.equal(after, expected)
    assert not torch.equal(before, after)


def test_damaged_file_is_searched_anew(tmp_path, searches):
    x = torch.rand(20, 3)
    first = cached_neighbors(x, 4, folder=tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:40])
    again = cached_neighbors(x, 4, folder=tmp_path)
    assert torch.equal(first.near, again.near)
    assert len(searches) == 2
    cached_neighbors(x, 4, folder=tmp_path)
    assert len(searches) == 2


def test_bounded_and_least_recently_used_goes_first(tmp_path):
    features = [torch.rand(50, 3) for _ in range(3)]
    for age, x in enumerate(features[:2]):
        cached_neighbors(x, 4, folder=tmp_path)
        for file in tmp_path.iterdir():
            if file.stat().st_mtime > 1e9:
                os.utime(file, (age, age))
    size = max(file.stat().st_size for file in tmp_path.iterdir())
    oldest, newer = sorted(tmp_path.iterdir(), key=lambda file: file.stat().st_mtime)
    cached_neighbors(features[2], 4, folder=tmp_path, max_bytes=2 * size)
    assert not oldest.exists()
    assert newer.exists()
    assert len(list(tmp_path.iterdir())) == 2


def test_read_only_folder_costs_nothing_but_time(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "replacing", _refuse)
    assert cached_neighbors(torch.rand(5, 2), 1, folder=tmp_path).near.shape == (5, 1)


def _refuse(path):
    raise PermissionError(path)


_SEARCH = """
import sys, pathlib, torch
from simpgcn.similarity import cached_neighbors
x = torch.rand(200, 5, generator=torch.Generator().manual_seed(0))
for i in range(60):
    found = cached_neighbors(x, 3 + i % 3, folder=pathlib.Path(sys.argv[1]), max_bytes=20_000)
    print(found.near.sum().item())
"""


def test_two_processes_share_a_folder(tmp_path):
    # The bound holds two files of three, so that each process also removes what the other is reading.
    command = [sys.executable, "-c", _SEARCH, str(tmp_path)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    first, second = (process.communicate(timeout=120)[0].split() for process in both)
    assert [process.returncode for process in both] == [0, 0]
    x = torch.rand(200, 5, generator=torch.Generator().manual_seed(0))
    sums = [str(nearest_neighbors(x, 3 + i).near.sum().item()) for i in range(3)]
    assert first == second == sums * 20
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_a_file_that_goes_as_it_is_opened_is_made_anew(tmp_path, monkeypatch):
    """Another process may remove it in between; torch calls that a RuntimeError."""
    x = torch.rand(20, 5)
    expected = cached_neighbors(x, 3, folder=tmp_path)

    def gone(path, device):
        raise RuntimeError(f"unable to open file <{path}> in read-only mode: No such file or directory (2)")

    monkeypatch.setattr(cache.safetensors.torch, "load_file", gone)
    assert torch.equal(cached_neighbors(x, 3, folder=tmp_path).near, expected.near)
