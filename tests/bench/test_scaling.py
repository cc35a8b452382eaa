from __future__ import annotations

import os

import pytest
import torch

from simpgcn.bench.measure import alone
from simpgcn.bench.scaling import Point, draw_scaling, measure_point, slope, slopes
from simpgcn.errors import SimPGCNError


def points(time, memory):
    return [Point(n, time(n), 0.01 * n**1.5, memory(n)) for n in (1000, 2000, 4000, 8000)]


def test_slope_is_the_exponent():
    found = slopes(points(lambda n: 3e-6 * n**2, lambda n: 0.02 * n))
    assert found == {"similarity_seconds": 2.0, "epoch_seconds": 1.5, "memory_mb": 1.0}


def test_slope_lies_between_where_growth_is_mixed():
    mixed = slope(points(lambda n: n, lambda n: 10 + 0.02 * n), "memory_mb")
    assert 0 < mixed < 1
    assert slope(points(lambda n: n, lambda n: 0.0), "memory_mb") is None


def test_a_point_has_memory_of_its_own():
    ballast = torch.ones(30_000_000)  # 120 MB that the other process must not count
    point = alone(measure_point, 400, torch.device("cpu"), threads=1)
    assert ballast.numel() * 4e-6 > 100 > point.memory_mb >= 0
    assert point.nodes == 400
    assert min(point.similarity_seconds, point.epoch_seconds) > 0


def test_a_process_that_dies_is_one_sentence():
    with pytest.raises(SimPGCNError, match="died"):
        alone(os._exit, 1)


def test_picture(tmp_path):
    draw_scaling(points(lambda n: 3e-6 * n**2, lambda n: 0.02 * n), tmp_path / "scaling.png")
    assert (tmp_path / "scaling.png").stat().st_size > 10_000
