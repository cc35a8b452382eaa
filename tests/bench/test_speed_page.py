"""The page says when a goal was missed, and when a measurement was not left alone."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

PLACE = Path(__file__).parents[2] / "benchmarks/speed_page.py"


@pytest.fixture
def page():
    spec = importlib.util.spec_from_file_location("speed_page", PLACE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def line(contestant, seconds, task="epoch", threads=1, busy=1.0):
    took = {"median": seconds, "low": 0.9 * seconds, "high": 1.2 * seconds}
    times = {key: 100 * value for key, value in took.items()}
    about = {"graph": "cora", "task": task, "threads": threads, "counts": [20], "contestant": contestant}
    return {**about, "seconds": took, "times_ours": times, "peak_mb": 640.4, "busy": busy}


def test_goals_are_for_deeprobust_alone(page):
    assert page.goal(line("DeepRobust", 0.05)) == "5 reached"
    assert page.goal(line("DeepRobust", 0.049)) == "5 missed"
    assert page.goal(line("DeepRobust", 0.09, task="search")) == "10 missed"
    assert page.goal(line("PyG, sparse matrices", 0.09)) == ""


def test_a_process_kept_waiting_is_named(page):
    assert page.disturbed([line("simpgcn", 0.01), line("simpgcn", 0.01, threads=2, busy=0.5)]) == []
    (text, _) = page.disturbed([line("simpgcn", 0.01), line("DeepRobust", 1.9, busy=0.04)])
    assert "DeepRobust on cora (4%)" in text


def test_a_row_has_spread_and_ratio(page):
    assert page.table([line("DeepRobust", 0.05)])[-1] == (
        "| cora | 1 | DeepRobust | 50.0 (45.0 to 60.0) | 5.00 (4.50 to 6.00) | 5 reached | 640 MB |"
    )
    assert page.find({"lines": [line("simpgcn", 1.0), line("simpgcn", 2.0, threads=2)]}, graph="cora")["threads"] == 2
    assert page.find({"lines": []}, graph="cora") is None


def test_memory_is_also_given_per_node(page):
    point = {"nodes": 4000, "similarity_seconds": 0.5, "epoch_seconds": 0.02, "memory_mb": 100.0}
    assert page.points({"scaling": {"points": [point]}})[-1] == "| 4,000 | 0.50 s | 20.0 ms | 100 MB | 25.0 kB |"


def test_whole_page_and_table(page):
    lines = [line(name, 0.05 if name == "DeepRobust" else 0.01) for name in ("simpgcn", "DeepRobust")]
    lines += [line("simpgcn", 0.2, task="search", threads=2), line("DeepRobust", 0.4, task="search", threads=2)]
    point = {"nodes": 4000, "similarity_seconds": 0.5, "epoch_seconds": 0.02, "memory_mb": 100.0}
    slopes = {"similarity_seconds": 2.0, "epoch_seconds": 1.0, "memory_mb": None}
    result = {
        "device": "cpu",
        "cores": 2,
        "rounds": 3,
        "versions": {"torch": "2"},
        "git": "abc",
        "lines": [{**one, "graph": graph} for graph in page.GRAPHS for one in lines],
        "scaling": {"points": [point], "slopes": slopes},
    }
    text = page.page({"speed_cpu": result})
    assert "## cpu\n\n2 cores, 3 rounds, torch 2, revision abc." in text
    assert "(speed_cpu.png)" in text
    table = page.readme_table({"speed_cpu": result}).splitlines()
    assert table[2] == "| cora | 10.0 ms | not measured | 5.0 times | 0.20 s | 40.0 times | 640 MB (640 MB) |"
    assert len(table) == 5
    assert "Not measured yet" in page.readme_table({})
