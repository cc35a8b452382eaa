"""What goes further than the paper: its measures, and a picture of each from made-up cells."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from torch_geometric.utils import degree

from simpgcn import runs
from simpgcn.config import DataSettings
from simpgcn.data import load_dataset
from simpgcn.experiments import measures
from simpgcn.experiments.experiment import load_experiment, parse_experiment
from simpgcn.experiments.figures import draw
from simpgcn.experiments.measures import Work, row_measure
from simpgcn.experiments.node_degrees import degree_accuracy, nodes_to_test
from simpgcn.experiments.runner import Outcome, run_all, run_folder
from simpgcn.training import load_graph

QUICK = {"training": {"epochs": 2}, "model": {"hidden_channels": 4, "pretext_weight": 0, "gate": "softmax"}}


def row_of(measure, model="simpgcn"):
    content = {
        "metadata": {"title": "T", "what": "w", "where": "s"},
        "datasets": ["demo"],
        "rows": {"row": {"model": model, "measure": measure, "changes": QUICK}},
    }
    return parse_experiment("t", content).rows[0]


def test_accuracy_by_degree_adds_up(tmp_path):
    row = row_of({"name": "degree accuracy", "low": 0})
    work = Work(1, tmp_path, "cpu")
    measure, options = row_measure(row)
    (config,) = measure.configs(row, "demo", work, **options)
    work.done = {outcome.config: outcome for outcome in run_all([config], tmp_path, workers=1)}
    folder = run_folder(tmp_path, config)
    whole = 100 * runs.read_metrics(folder)["test_accuracy"]
    assert measure.values(row, "demo", work, **options).values == pytest.approx([whole])
    data = load_dataset("demo")
    links = degree(data.edge_index[0], data.num_nodes)
    parts = [(0, 3), (4, 9), (10, None)]
    nodes = [nodes_to_test(config.data, low, high) for low, high in parts]
    assert torch.equal(torch.from_numpy(np.sort(np.concatenate(nodes))), data.test_mask.nonzero().squeeze(1))
    counted = [measures.MEASURES["degree nodes"].values(row, "demo", work, *part).values for part in parts]
    assert counted == [[len(part)] for part in nodes]
    assert links[nodes[1]].min() >= 4
    assert links[nodes[1]].max() <= 9
    found = [degree_accuracy(folder, config, low, high) for low, high in parts]
    assert np.average(found, weights=[len(part) for part in nodes]) == pytest.approx(whole)
    assert degree_accuracy(folder, config, 10_000, None) is None


def test_directed_degrees_are_those_the_models_see():
    both, one = (
        sum(degree(load_graph_of(directed).edge_index[0], 251)[nodes_to_test(settings(directed), 0, None)].tolist())
        for directed in (False, True)
    )
    assert both > one


def settings(directed):
    return DataSettings(name="wisconsin", directed=directed)


def load_graph_of(directed):
    return load_graph(measures.Config(data=settings(directed)))


def faked(configs, accuracy):
    return {
        config: Outcome(config, dict(zip(("val_accuracy", "test_accuracy"), accuracy(config), strict=True)), 1, None)
        for config in configs
    }


def test_the_gate_is_picked_by_validation_and_compared_run_by_run(tmp_path):
    ranges = {"demo": {"model.dropout": [0.1, 0.2], "training.lr": [0.5]}}
    row = row_of({"name": "gain", "runs": 2, "ranges": ranges})
    measure, options = row_measure(row)
    work = Work(3, tmp_path)

    def accuracy(config):
        seed = config.training.seed
        if config.model.gate == "scores":
            return 0.5, 0.6 + 0.01 * seed
        # the better validation has the worse test accuracy
        return (0.9, 0.7 + 0.02 * seed) if config.model.dropout == 0.2 else (0.8, 0.99)

    searched = measure.configs(row, "demo", work, **options)
    assert sum(config.model.gate == "softmax" for config in searched) == 4
    work.done = faked(searched, accuracy)
    assert len(measure.configs(row, "demo", work, **options)) == 6
    work.done |= faked(measure.configs(row, "demo", work, **options), accuracy)
    assert measure.values(row, "demo", work, **options).values == pytest.approx([10, 11, 12])
    setting = row_of({"name": "searched setting", "setting": "model.dropout", "runs": 2, "ranges": ranges})
    assert measures.MEASURES["searched setting"].values(setting, "demo", work, **_options(setting)).values == [0.2]


def test_without_ranges_of_its_own_a_dataset_has_one_choice(tmp_path):
    row = row_of({"name": "searched accuracy", "runs": 2, "ranges": {"cora": {"model.dropout": [0.1, 0.2]}}})
    measure, options = row_measure(row)
    assert len(measure.configs(row, "demo", Work(3, tmp_path), **options)) == 2


@pytest.mark.parametrize(("count", "expected"), [(10, 12), (3, 3)])
def test_a_search_has_the_runs_it_asks_for_and_so_has_what_it_finds(tmp_path, count, expected):
    row = row_of({"name": "searched accuracy", "runs": 12, "ranges": {"demo": {"model.dropout": [0.1, 0.2]}}})
    measure, options = row_measure(row)
    work = Work(count, tmp_path)
    searched = measure.configs(row, "demo", work, **options)
    assert len(searched) == 2 * expected
    work.done = faked(searched, lambda config: (config.model.dropout, 0.5))
    assert len(measure.configs(row, "demo", work, **options)) == expected


def _options(row):
    return {key: value for key, value in row.measure.items() if key != "name"}


def test_a_row_may_have_fewer_runs(tmp_path):
    row = row_of({"name": "accuracy", "runs": 2}, "gcn")
    row = dataclasses.replace(row, changes={})
    measure, options = row_measure(row)
    assert [len(measure.configs(row, "demo", Work(n, tmp_path), **options)) for n in (1, 5)] == [1, 2]


@pytest.mark.parametrize("name", ["degree", "depth", "homophily", "gate", "cost"])
def test_pictures(name, tmp_path):
    experiment = load_experiment(name)
    rng = np.random.default_rng(0)
    cells = []
    for row in experiment.rows:
        for dataset in experiment.datasets:
            values = (5 + rng.random(3)).tolist()
            cells.append({"row": row.name, "dataset": dataset, "values": values, "mean": 5.5, "sd": 0.3})
    cells[0] |= {"values": [], "mean": None, "sd": None}  # one that failed
    draw(experiment, {"cells": cells}, Work(3, tmp_path), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes()[:4] == b"\x89PNG"
