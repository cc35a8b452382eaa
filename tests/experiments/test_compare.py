from __future__ import annotations

import csv
import json
import os
import signal

import numpy as np
import pytest
import torch
from filelock import FileLock
from scipy import stats

from simpgcn import runs
from simpgcn.errors import SimPGCNError
from simpgcn.experiments import runner
from simpgcn.experiments.compare import chosen_models, compare, draw_comparison, run_configs, write_comparison
from simpgcn.nn.registry import METHODS
from simpgcn.training import replicas

QUICK = {"training": {"epochs": 3, "device": "cpu"}}


def quick_compare(tmp_path, models, count=3, **kwargs):
    return compare("demo", models, count, tmp_path, workers=1, changes=QUICK, **kwargs)


def test_rows_hold_means_differences_and_paired_tests(tmp_path):
    outcomes = []
    gcn, simpgcn = quick_compare(tmp_path, ["gcn", "simpgcn"], on_outcome=outcomes.append)
    a, b = (
        np.array([100 * o.metrics["test_accuracy"] for o in outcomes if o.config.model_name == m])
        for m in ("gcn", "simpgcn")
    )
    assert (gcn.runs, gcn.test_mean, gcn.test_sd) == (3, pytest.approx(a.mean()), pytest.approx(a.std(ddof=1)))
    assert gcn.difference == pytest.approx((a - b).mean())
    assert gcn.p_value == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert simpgcn.difference is None
    assert gcn.parameters == 500 * 64 + 64 + 64 * 5 + 5


def test_runs_share_splits_and_the_seed_is_the_run(mirror):
    chosen = [(c.data.split, c.training.seed) for c in run_configs("texas", "gcn", 12)]
    assert chosen == [(i % 10, i) for i in range(12)]
    assert [(c.data.split, c.training.seed) for c in run_configs("cora", "gcn", 3)] == [(0, 0), (0, 1), (0, 2)]


def test_finished_runs_are_not_repeated_and_others_are(tmp_path, monkeypatch):
    first = quick_compare(tmp_path, ["gcn"])
    made = []
    train = runner.train_runs

    def counting(configs, folders):
        made.extend(config.training.seed for config in configs)
        return train(configs, folders)

    monkeypatch.setattr(runner, "train_runs", counting)
    assert quick_compare(tmp_path, ["gcn"]) == first
    assert made == []
    killed = runner.run_folder(tmp_path, run_configs("demo", "gcn", 3, QUICK)[1])
    (killed / "metrics.json").unlink()
    assert quick_compare(tmp_path, ["gcn"])[0].test_mean == first[0].test_mean
    assert made == [1]
    compare("demo", ["gcn"], 1, tmp_path, workers=1, changes={"training": {"epochs": 2, "device": "cpu"}})
    assert made == [1, 0]  # other settings are other runs


def test_one_failing_model_does_not_stop_the_others(tmp_path, monkeypatch):
    train = runner.train_runs

    def failing(configs, folders):
        if configs[0].model_name == "mlp":
            raise RuntimeError("out of luck")
        return train(configs, folders)

    monkeypatch.setattr(runner, "train_runs", failing)
    mlp, gcn = quick_compare(tmp_path, ["mlp", "gcn"], 2)
    assert (mlp.runs, mlp.error) == (0, "RuntimeError: out of luck")
    assert gcn.runs == 2


def test_ctrl_c_ends_the_comparison_and_the_same_command_goes_on(tmp_path, monkeypatch):
    whole = quick_compare(tmp_path / "whole", ["gcn"], 3)
    advance = replicas._Replicas.advance
    seen = []

    def interrupting(self, on_epoch):
        seen.append(self.trainers[0].config.training.seed)
        if len(seen) == 7:  # the second epoch of the second run; a run of three has a step more, to evaluate the last
            os.kill(os.getpid(), signal.SIGINT)
        return advance(self, on_epoch)

    monkeypatch.setattr(replicas._Replicas, "advance", interrupting)
    with pytest.raises(KeyboardInterrupt):
        quick_compare(tmp_path / "stopped", ["gcn"], 3)
    assert seen == [0, 0, 0, 0, 1, 1, 1]
    assert quick_compare(tmp_path / "stopped", ["gcn"], 3)[0].test_mean == whole[0].test_mean
    assert seen == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]


def test_runs_side_by_side_are_those_alone(tmp_path, monkeypatch):
    """SimP-GCN's runs of several splits in one go."""
    changes = {"model": {"hidden_channels": 4, "pretext_samples": 100}, **QUICK}
    monkeypatch.setattr(runner, "how_many", lambda *sizes: 1)
    alone = compare("demo", ["simpgcn"], 4, tmp_path / "alone", workers=1, changes=changes)
    monkeypatch.setattr(runner, "how_many", lambda *sizes: 10)
    sizes = []
    train = runner.train_runs
    monkeypatch.setattr(runner, "train_runs", lambda c, f: sizes.append(len(c)) or train(c, f))
    together = compare("demo", ["simpgcn"], 4, tmp_path / "together", workers=1, changes=changes)
    assert sizes == [4]
    assert together[0].test_mean == pytest.approx(alone[0].test_mean, abs=1.0)
    for config in run_configs("demo", "simpgcn", 4, changes):
        here, there = (
            json.loads((runner.run_folder(tmp_path / base, config) / "metrics.json").read_text())
            for base in ("alone", "together")
        )
        assert (here["together"], there["together"]) == (1, 4)
        assert here["val_accuracy"] == pytest.approx(there["val_accuracy"], abs=0.01)


def test_a_fault_in_writing_one_keeps_the_others(tmp_path, monkeypatch):
    changes = {"model": {"hidden_channels": 4, "pretext_samples": 100}, **QUICK}
    monkeypatch.setattr(runner, "how_many", lambda *sizes: 10)
    made = []
    write, train = runs.write_metrics, runner.train_runs

    def full(folder, metrics):
        if metrics["seed"] == 2:
            raise OSError(28, "No space left on device")
        write(folder, metrics)

    monkeypatch.setattr(runs, "write_metrics", full)
    monkeypatch.setattr(runner, "train_runs", lambda c, f: made.append([x.training.seed for x in c]) or train(c, f))
    (row,) = compare("demo", ["simpgcn"], 3, tmp_path, workers=1, changes=changes)
    assert row.runs == 2
    assert "No space left" in row.error
    assert made == [[0, 1, 2], [2]]  # what was finished is not trained again


def test_a_fault_in_company_is_told_of_the_run_that_has_it(tmp_path, monkeypatch):
    changes = {"model": {"hidden_channels": 4, "pretext_samples": 100}, **QUICK}
    monkeypatch.setattr(runner, "how_many", lambda *sizes: 10)
    train = runner.train_runs

    def failing(configs, folders):
        if any(config.training.seed == 1 for config in configs):
            raise RuntimeError("out of luck")
        return train(configs, folders)

    monkeypatch.setattr(runner, "train_runs", failing)
    (row,) = compare("demo", ["simpgcn"], 3, tmp_path, workers=1, changes=changes)
    assert (row.runs, row.error) == (2, "RuntimeError: out of luck")


def test_processes_give_the_same_as_none(tmp_path):
    alone = quick_compare(tmp_path / "a", ["mlp"], 2)
    beside = compare("demo", ["mlp"], 2, tmp_path / "b", workers=2, changes=QUICK)
    assert alone[0].test_mean == pytest.approx(beside[0].test_mean, abs=0.5)


def test_files_and_picture(tmp_path):
    rows = quick_compare(tmp_path / "runs", ["gcn", "lp"], 2)
    write_comparison(rows, "demo", tmp_path)
    draw_comparison(rows, "demo", tmp_path / "comparison.png")
    answer = json.loads((tmp_path / "comparison.json").read_text())
    assert [row["model"] for row in answer["models"]] == ["gcn", "lp"]
    with (tmp_path / "comparison.csv").open(newline="") as file:
        assert [float(row["test_mean"]) for row in csv.DictReader(file)] == [row.test_mean for row in rows]
    assert (tmp_path / "comparison.png").read_bytes()[:4] == b"\x89PNG"


def test_a_setting_goes_to_the_models_that_have_it(tmp_path):
    changes = {"model": {"hidden_channels": 8}, **QUICK}
    gcn, lp = compare("demo", ["gcn", "lp"], 1, tmp_path, workers=1, changes=changes)
    assert gcn.parameters == 500 * 8 + 8 + 8 * 5 + 5
    assert lp.error is None
    with pytest.raises(SimPGCNError, match=r"none of the models has a setting model\.heads"):
        compare("demo", ["gcn", "lp"], 1, tmp_path, changes={"model": {"heads": 8}})
    with pytest.raises(SimPGCNError, match=r"data\.split cannot be set here"):
        compare("demo", ["gcn"], 1, tmp_path, changes={"data": {"split": 3}})


def test_a_run_at_work_elsewhere_is_not_cleared(tmp_path, monkeypatch):
    (config,) = run_configs("demo", "gcn", 1, QUICK)
    folder = runner.run_folder(tmp_path, config)
    folder.mkdir(parents=True)
    monkeypatch.setattr(runner, "PATIENCE", 0.1)
    with FileLock(folder / ".lock"):
        (row,) = compare("demo", ["gcn"], 1, tmp_path, workers=1, changes=QUICK)
    assert "another process is working on" in row.error
    assert folder.is_dir()


def test_processes_share_a_gpu_only_for_runs_that_cannot_be_trained_side_by_side(monkeypatch):
    monkeypatch.setattr(runner, "find_device", lambda name: torch.device("cuda"))
    monkeypatch.setattr(runner, "usable_cores", lambda: 16)
    ours, others = run_configs("demo", "simpgcn", 10), run_configs("demo", "gcn", 10)
    for memory, wanted in ((140 << 30, 10), (24 << 30, 3), (4 << 30, 1)):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device, memory=memory: (memory, memory))
        assert runner.default_workers(ours) == 1
        assert runner.default_workers(ours + others) == wanted
    monkeypatch.setattr(runner, "how_many", lambda *sizes: 100)
    assert [len(batch) for batch in runner._batches(ours + others, 8)] == [10] + [1] * 10


def test_names():
    assert chosen_models("all") == list(METHODS)
    assert len(chosen_models("paper")) == 12
    with pytest.raises(SimPGCNError, match="unknown model 'gnc'"):
        chosen_models("gcn,gnc")
    with pytest.raises(SimPGCNError, match="no model was named"):
        chosen_models(" , ")
