from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from simpgcn.errors import SimPGCNError
from simpgcn.experiments import runner
from simpgcn.experiments.attack_curves import draw_robustness
from simpgcn.experiments.robustness import (
    parse_rates,
    published_graphs,
    robustness,
    write_robustness,
)

QUICK = {"training": {"epochs": 2, "device": "cpu"}, "model": {"hidden_channels": 4}}


def study(tmp_path, **kwargs):
    graphs = published_graphs("citeseer", [0.0, 0.25])
    return robustness(graphs, ["gcn", "simpgcn"], 2, tmp_path / "runs", workers=1, changes=QUICK, **kwargs)


def test_points_are_the_means_of_their_runs(mirror, tmp_path, monkeypatch):
    outcomes = []
    points = study(tmp_path, on_outcome=outcomes.append)
    assert [(point.model, point.rate, point.runs) for point in points] == [
        ("gcn", 0.0, 2),
        ("gcn", 0.25, 2),
        ("simpgcn", 0.0, 2),
        ("simpgcn", 0.25, 2),
    ]
    for point in points:
        name = "citeseer+metattack@0.25" if point.rate else "citeseer-prognn"
        own = [
            100 * o.metrics["test_accuracy"]
            for o in outcomes
            if (o.config.model_name, o.config.data.name) == (point.model, name)
        ]
        assert point.graph == name
        assert (point.test_mean, point.test_sd) == (pytest.approx(np.mean(own)), pytest.approx(np.std(own, ddof=1)))
    assert {
        outcome.config.model.self_loop_weight for outcome in outcomes if outcome.config.model_name == "simpgcn"
    } == {0.01}

    def never(*arguments):
        raise AssertionError("a finished run was repeated")

    monkeypatch.setattr(runner, "train_runs", never)
    assert study(tmp_path) == points

    write_robustness(points, "citeseer", "metattack as published", tmp_path)
    written = json.loads((tmp_path / "robustness.json").read_text())
    assert [tuple(point.values()) for point in written["points"]] == [tuple(point) for point in points]
    with (tmp_path / "robustness.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 4
    draw_robustness(points, "citeseer", "metattack as published", tmp_path / "robustness.png")
    assert (tmp_path / "robustness.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("text", ["", "a", "0.1,-0.1", "1.5", "nan"])
def test_rates_that_are_none(text):
    with pytest.raises(SimPGCNError, match="--rates"):
        parse_rates(text)


def test_graphs_that_were_not_published():
    with pytest.raises(SimPGCNError, match=r"no attacked cora was published at rate 0.3: choose from 0, 0.05"):
        published_graphs("cora", [0.3])
    with pytest.raises(SimPGCNError, match=r"no attacked texas was published: .* --attack metattack"):
        published_graphs("texas", [0.0])
