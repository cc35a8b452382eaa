from __future__ import annotations

from importlib import resources

import pytest
import torch

from simpgcn.config import default_config, parse_yaml
from simpgcn.data import load_dataset
from simpgcn.errors import SimPGCNError
from simpgcn.experiments import tune as tuning
from simpgcn.experiments.tune import search_ranges, tune, with_settings, without_test_set
from simpgcn.experiments.tuning_files import draw_tuning
from simpgcn.nn.registry import METHODS

QUICK = {"training": {"epochs": 4, "device": "cpu"}}


@pytest.mark.parametrize("model", METHODS)
def test_declared_ranges_are_settings_of_the_model(model):
    ranges = parse_yaml(resources.files("simpgcn.experiments").joinpath("ranges.yaml").read_text(), "ranges")
    for name in (model, f"{model} disassortative"):
        for key, values in ranges.get(name, {}).items():
            for value in values:
                with_settings(default_config("demo", model), {key: value})
    assert model in ranges


def test_simpgcn_searches_the_papers_ranges(mirror):
    cora, texas = search_ranges("simpgcn", load_dataset("cora")), search_ranges("simpgcn", load_dataset("texas"))
    assert cora["model.pretext_weight"] == [0.1, 0.5, 1, 5, 10, 50, 100]
    assert set(cora) == {"model.pretext_weight", "model.self_loop_weight", "model.structure_bias"}
    assert texas["model.hidden_channels"] == [16, 32, 48]
    assert texas["training.weight_decay"] == [5e-4, 5e-5]


def test_the_test_set_is_not_there_to_read(tmp_path, monkeypatch):
    """The search is handed graphs without test mask and test labels, and other test labels change nothing."""
    data = load_dataset("demo")
    hidden = without_test_set(data)
    assert "test_mask" not in hidden
    assert (hidden.y[data.test_mask] == -1).all()
    assert torch.equal(hidden.y[~data.test_mask], data.y[~data.test_mask])

    seen = []
    prepare = tuning.prepare

    def spy(graph, config):
        seen.append(graph)
        return prepare(graph, config)

    monkeypatch.setattr(tuning, "prepare", spy)
    first = tune("demo", "simpgcn", trials=3, folder=tmp_path / "a", count=1, changes=QUICK)
    assert seen
    assert all("test_mask" not in graph and (graph.y[data.test_mask] == -1).all() for graph in seen)

    def other_labels(*args, **kwargs):
        graph = load_dataset(*args, **kwargs)
        graph.y = torch.where(graph.test_mask, (graph.y + 1) % 5, graph.y)
        return graph

    monkeypatch.setattr("simpgcn.training.problem.load_dataset", other_labels)
    assert tune("demo", "simpgcn", trials=3, folder=tmp_path / "b", count=1, changes=QUICK) == first


def test_a_study_goes_on_where_it_was(tmp_path, monkeypatch):
    tune("demo", "mlp", trials=2, folder=tmp_path, count=1, changes=QUICK)
    told = []
    result = tune(
        "demo", "mlp", trials=5, folder=tmp_path, count=1, changes=QUICK, on_trial=lambda n, best: told.append(n)
    )
    assert told == [3, 4, 5]
    tried = [line.split(",")[3:] for line in (tmp_path / "trials.csv").read_text().splitlines()[1:]]
    assert tried[2:4] != tried[:2]  # a search that goes on does not begin again
    assert result.trials == 5
    monkeypatch.setattr(tuning, "prepare", lambda *a: pytest.fail("nothing is left to try"))
    assert tune("demo", "mlp", trials=5, folder=tmp_path, count=1, changes=QUICK).settings == result.settings


def test_results_are_files_to_use(tmp_path):
    result = tune("demo", "mlp", trials=6, folder=tmp_path, count=2, changes=QUICK)
    assert 0 < result.val_accuracy <= 1
    assert sum(result.importance.values()) == pytest.approx(1)
    draw_tuning(result, tmp_path)
    assert (tmp_path / "tuning.png").read_bytes()[:4] == b"\x89PNG"
    best = parse_yaml((tmp_path / "best.yaml").read_text(), "best.yaml")
    assert (best["data"]["name"], best["model_name"]) == ("demo", "mlp")
    assert best["model"]["hidden_channels"] == result.settings["model.hidden_channels"]
    lines = (tmp_path / "trials.csv").read_text().splitlines()
    assert len(lines) == 7


def test_what_is_held_fixed_stays_and_is_part_of_the_study(tmp_path):
    changes = {"model": {"hidden_channels": 7}, **QUICK}
    result = tune("demo", "mlp", trials=2, folder=tmp_path, count=1, changes=changes)
    assert "model.hidden_channels" not in result.settings
    best = parse_yaml((tmp_path / "best.yaml").read_text(), "best.yaml")
    assert (best["model"]["hidden_channels"], best["training"]["epochs"]) == (7, 4)
    told = []
    other = {"training": {"epochs": 2, "device": "cpu"}}
    tune("demo", "mlp", trials=2, folder=tmp_path, count=1, changes=other, on_trial=lambda n, best: told.append(n))
    assert told == [1, 2]  # another question, another study
    with pytest.raises(SimPGCNError, match="nothing left to search"):
        tune("demo", "lp", trials=1, folder=tmp_path, count=1, changes={"model": {"num_layers": 5}})


def test_trials_that_are_all_alike(tmp_path):
    result = tune("demo", "lp", trials=5, folder=tmp_path, count=1)
    assert result.importance == {} or sum(result.importance.values()) == pytest.approx(1)
    assert (tmp_path / "best.yaml").exists()


def test_hopeless_trials_are_pruned(tmp_path):
    slow = {"training": {"epochs": 60, "device": "cpu"}}
    result = tune("demo", "mlp", trials=14, folder=tmp_path, count=1, changes=slow)
    assert result.pruned > 0


def test_without_optuna(monkeypatch, tmp_path):
    import builtins

    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "optuna":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(SimPGCNError, match=r"needs Optuna: pip install 'simpgcn\[tune\]'"):
        tune("demo", "mlp", trials=1, folder=tmp_path)
