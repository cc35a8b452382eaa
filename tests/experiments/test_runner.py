from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from filelock import FileLock

from simpgcn import runs, train_run
from simpgcn.experiments import runner
from simpgcn.experiments.compare import compare, run_configs
from simpgcn.experiments.runner import Outcome, default_workers, run_all, run_folder, usable_cores

QUICK = {"training": {"epochs": 3, "device": "cpu"}}


@pytest.fixture
def forked(monkeypatch):
    """Processes that are there at once and know what a test has replaced; none of them may use torch."""
    context = multiprocessing.get_context("fork")
    monkeypatch.setattr(runner.multiprocessing, "get_context", lambda method: context)


@pytest.fixture
def made(monkeypatch):
    """The seeds of the runs that are trained, batch by batch."""
    batches, train = [], runner.train_runs
    monkeypatch.setattr(runner, "train_runs", lambda c, f: batches.append([x.training.seed for x in c]) or train(c, f))
    return batches


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_processes_end_when_the_one_that_started_them_is_killed(tmp_path):
    endless = {"training": {"epochs": 10**6, "patience": 10**6, "device": "cpu"}}
    command = "from pathlib import Path; from simpgcn.experiments.compare import compare; "
    command += f"compare('demo', ['gcn'], 2, Path('runs'), workers=2, changes={endless})"
    parent = subprocess.Popen([sys.executable, "-c", command], cwd=tmp_path, start_new_session=True)
    try:
        wait_for(lambda: len(list(tmp_path.glob("runs/*/*/.lock"))) == 2)
        parent.kill()
        parent.wait()
        for lock in tmp_path.glob("runs/*/*/.lock"):
            with FileLock(lock, timeout=30):
                pass
    finally:
        try:
            os.killpg(parent.pid, signal.SIGKILL)
        except ProcessLookupError:  # all of them are gone
            parent.wait()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_dying_process_is_told(tmp_path, monkeypatch, forked):
    monkeypatch.setattr(runner, "_many", _die)
    told = []
    (row,) = compare("demo", ["mlp"], 2, tmp_path, workers=2, changes=QUICK, on_outcome=told.append)
    assert (row.runs, row.error) == (0, runner.DIED)
    assert len(told) == 2


def _die(job):
    os._exit(9)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_dying_process_does_not_stop_the_others(tmp_path, monkeypatch, forked):
    """Run 1 dies when run 0 is at work beside it: both are tried alone, and then comes what had not begun."""
    monkeypatch.setattr(runner, "_many", _deadly)
    told = []
    outcomes = run_all(run_configs("demo", "gcn", 4, QUICK), tmp_path, workers=2, on_outcome=told.append)
    assert [outcome.error for outcome in outcomes] == [None, runner.DIED, None, None]
    assert sorted(outcome.config.training.seed for outcome in told) == [0, 1, 2, 3]
    begun = (tmp_path / "begun").read_text()
    assert (sorted(begun[:2]), begun[2:4], sorted(begun[4:])) == (["0", "1"], "01", ["2", "3"])


def _deadly(job):
    (config,), base, _ = job
    begun, seed = base / "begun", config.training.seed
    with begun.open("a") as file:
        file.write(str(seed))
    if seed == 1:
        wait_for(lambda: "0" in begun.read_text())
        os._exit(9)
    if seed == 0 and begun.read_text().count("0") == 1:
        time.sleep(600)  # until its process is ended
    return [Outcome(config, {}, 0, None)]


def test_a_run_that_was_finished_before_a_fault_counts(tmp_path, monkeypatch):
    train = runner.train_runs

    def failing(configs, folders):
        train(configs, folders)
        raise RuntimeError("out of luck")

    monkeypatch.setattr(runner, "train_runs", failing)
    (row,) = compare("demo", ["gcn"], 1, tmp_path, workers=1, changes=QUICK)
    assert (row.runs, row.error) == (1, None)


@pytest.mark.parametrize("left", ["nothing", "a checkpoint"])
def test_a_run_at_work_elsewhere_is_waited_for(tmp_path, monkeypatch, left):
    folder = run_folder(tmp_path, *run_configs("demo", "gcn", 1, QUICK))
    folder.mkdir(parents=True)
    if left == "a checkpoint":
        with monkeypatch.context() as patch:
            patch.setattr(train_run, "CHECKPOINT_SECONDS", 0.0)
            patch.setattr(runs, "write_history", _full)
            compare("demo", ["gcn"], 1, tmp_path, workers=1, changes=QUICK)
    assert runs.has_checkpoint(folder) == (left == "a checkpoint")
    other = FileLock(folder / ".lock", thread_local=False)
    other.acquire()
    only_here = runner.only_here

    def waiting(folder, patience):
        threading.Timer(0.1, other.release).start()
        return only_here(folder, patience)

    monkeypatch.setattr(runner, "only_here", waiting)
    (row,) = compare("demo", ["gcn"], 1, tmp_path, workers=1, changes=QUICK)
    assert (row.runs, row.error) == (1, None)


def _full(folder, history):
    raise OSError(28, "No space left on device")


def test_the_others_of_a_batch_do_not_wait_for_a_run_at_work_elsewhere(tmp_path, monkeypatch, made):
    changes = {"model": {"hidden_channels": 4, "pretext_samples": 100}, **QUICK}
    monkeypatch.setattr(runner, "how_many", lambda *sizes: 10)
    monkeypatch.setattr(runner, "PATIENCE", 0.1)
    folder = run_folder(tmp_path, run_configs("demo", "simpgcn", 3, changes)[1])
    folder.mkdir(parents=True)
    with FileLock(folder / ".lock"):
        (row,) = compare("demo", ["simpgcn"], 3, tmp_path, workers=1, changes=changes)
    assert made == [[0, 2]]
    assert (row.runs, row.error) == (2, f"another process is working on {folder}: wait for it to finish")


def test_a_run_finished_elsewhere_meanwhile_is_kept(tmp_path, monkeypatch, made):
    first = compare("demo", ["gcn"], 1, tmp_path, workers=1, changes=QUICK)
    folder = run_folder(tmp_path, *run_configs("demo", "gcn", 1, QUICK))
    figures = (folder / "metrics.json").rename(tmp_path / "metrics.json")
    only_here = runner.only_here

    def finished_elsewhere(folder, patience):
        figures.rename(folder / "metrics.json")
        return only_here(folder, patience)

    monkeypatch.setattr(runner, "only_here", finished_elsewhere)
    assert compare("demo", ["gcn"], 1, tmp_path, workers=1, changes=QUICK) == first
    assert made == [[0]]
    assert not (folder / ".lock").exists()


def test_a_run_begun_elsewhere_meanwhile_is_told(tmp_path, monkeypatch):
    train = runner.train_runs

    def begun_elsewhere(configs, folders):
        folders[0].mkdir(parents=True)
        (folders[0] / "config.yaml").touch()
        return train(configs, folders)

    monkeypatch.setattr(runner, "train_runs", begun_elsewhere)
    (row,) = compare("demo", ["gcn"], 1, tmp_path, workers=1, changes=QUICK)
    assert "another process is working on" in row.error


@pytest.mark.parametrize("name", ["model.safetensors", "metrics.json"])
def test_a_damaged_run_is_told_with_what_to_do(tmp_path, name):
    first = compare("demo", ["gcn"], 1, tmp_path, workers=1, changes=QUICK)
    folder = run_folder(tmp_path, *run_configs("demo", "gcn", 1, QUICK))
    (folder / name).write_bytes(b"\x00" * 50)
    (row,) = compare("demo", ["gcn"], 1, tmp_path, workers=1, changes=QUICK)
    assert f"{folder / name} is damaged" in row.error
    assert row.error.endswith(f"; remove {folder} and give the same command again")
    shutil.rmtree(folder)
    (row,) = compare("demo", ["gcn"], 1, tmp_path, workers=1, changes=QUICK)
    assert (row.test_mean, row.error) == (first[0].test_mean, None)


def test_no_more_processes_than_cores_that_may_be_used(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5}, raising=False)
    assert default_workers(run_configs("demo", "gcn", 10, QUICK)) == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    assert usable_cores() == 64
