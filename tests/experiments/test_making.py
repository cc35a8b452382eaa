"""What the results took: every second once, and nothing that was not measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simpgcn.experiments.making import how_made
from simpgcn.experiments.page_format import Folded, Table

CPU = {"processor": "Slow", "cores": 2, "memory_gb": 25}
GPU = {"processor": "Fast", "cores": 16, "memory_gb": 135, "gpu": "H200"}


def go(seconds, trained, machine, found=0, git=None):
    made = {"command": f"simpgcn reproduce {seconds}", "seconds": seconds, "trained": trained, "found": found}
    return {**made, "machine": machine, "versions": {"torch": "2"}, "git": git}


def table(title, made, *before):
    return {"title": title, "made": made, "made_before": list(before)}


def lines(blocks):
    (found,) = [block for block in blocks if isinstance(block, Table)]
    return [[cell.text for cell in row] for row in found.rows]


def test_pieces_are_added_up_and_shared_goes_counted_once():
    shared = go(100, 7, GPU)
    tables = [table("A", shared), table("B", go(30, 2, GPU, 5), shared, go(50, 3, GPU), go(600, 4, CPU))]
    gpu, cpu = "H200, 16 cores", "Slow, 2 cores"
    assert lines(how_made(tables)) == [
        ["A, B", "7", "", "100 s", gpu],
        ["B (in 2 commands)", "5", "5", "80 s", gpu],
        ["B", "4", "", "10 min", cpu],
        ["total (in 4 commands)", "16", "5", "13 min", "3 min on H200; 10 min on Slow"],
    ]


def test_commands_and_versions_are_kept():
    blocks = how_made([table("A", go(1, 3, GPU, git="0123456789abcdef-dirty"))])
    (folded,) = [block for block in blocks if isinstance(block, Folded)]
    hardware, source = "H200, Fast, 16 cores, 135 GB", "0123456789ab-dirty"
    (row,) = folded.table.rows
    assert [cell.text for cell in row] == ["simpgcn reproduce 1", "3", "1 s", hardware, "torch 2", source]


def test_nothing_made_nothing_said():
    assert how_made([]) == []


def test_the_shipped_page_tells_every_measured_second():
    folder = Path(__file__).parents[2] / "results"
    tables = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    goes = {json.dumps(made) for t in tables for made in [t["made"], *t.get("made_before", [])]}
    *_, total = lines(how_made(tables))
    assert total[1] == f"{sum(json.loads(made)['trained'] for made in goes):,}"
    hours = sum(json.loads(made)["seconds"] for made in goes) / 3600
    value, unit = total[3].split()
    assert float(value) * {"s": 1 / 3600, "min": 1 / 60, "h": 1}[unit] == pytest.approx(hours, rel=0.05)
