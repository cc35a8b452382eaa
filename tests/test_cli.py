"""The command line as a person meets it: what it writes, what it says, what it leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
import torch
from filelock import FileLock

from simpgcn import SimPGCNClassifier, runs, train_run
from simpgcn.data import load_dataset
from simpgcn.training.calibration import calibration_error

METRICS = {
    "dataset",
    "model",
    "seed",
    "split",
    "test_accuracy",
    "val_accuracy",
    "best_epoch",
    "together",
    "epochs",
    "calibration",
    "seconds",
    "peak_memory_mb",
    "versions",
    "git",
}


# On the CPU, where results are bit-identical.
QUICK = ("--set", "training.epochs=3", "--set", "model.hidden_channels=8", "--device", "cpu")


def test_train_writes_a_run_folder(simpgcn):
    code, out, err = simpgcn("train", "demo", *QUICK, "--seed", 5, "--split", 2, "--out", "run", "--json")
    assert (code, err) == (0, "")
    folder = Path("run")
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.yaml",
        "history.csv",
        "metrics.json",
        "model.safetensors",
        "predictions.parquet",
        "report.html",
    ]
    metrics = json.loads((folder / "metrics.json").read_text())
    assert set(metrics) == METRICS
    assert set(metrics["seconds"]) == {"similarity", "training", "total"}
    assert json.loads(out) == {**metrics, "run": "run", "report": "run/report.html"}
    assert (metrics["dataset"], metrics["model"], metrics["seed"], metrics["split"]) == ("demo", "simpgcn", 5, 2)
    assert metrics["epochs"] == 3 == len(runs.read_history(folder))
    assert metrics["val_accuracy"] == max(epoch.val_accuracy for epoch in runs.read_history(folder))

    data = load_dataset("demo", split=2)
    table = pyarrow.parquet.read_table(folder / "predictions.parquet").to_pydict()
    assert list(table)[:3] == ["node", "label", "predicted"]
    assert list(table)[3:] == [
        *(f"probability_{c}" for c in range(5)),
        *("leans_on_graph", "leans_on_look_alikes", "leans_on_itself"),
        *(f"trust_{s}_{layer}" for layer in (1, 2) for s in ("structure", "features", "self")),
    ]
    assert table["label"] == data.y.tolist()
    hit = np.array(table["predicted"]) == data.y.numpy()
    test = data.test_mask.numpy()
    assert metrics["test_accuracy"] == hit[test].mean()
    probabilities = np.array([table[f"probability_{c}"] for c in range(5)], dtype=np.float32).T
    assert set(metrics["calibration"]) == {"temperature", "error_before", "error_after", "measured_on"}
    assert metrics["calibration"]["measured_on"] == "test"
    assert metrics["calibration"]["error_after"] == calibration_error(probabilities[test], data.y.numpy()[test])
    assert runs.read_model(folder, runs.read_config(folder)).temperature == metrics["calibration"]["temperature"]


def test_nothing_in_a_run_folder_is_pickled(simpgcn):
    simpgcn("train", *QUICK, "--out", "run")
    for path in Path("run").iterdir():
        start = path.read_bytes()[:2]
        assert start[:1] != b"\x80"  # a pickle's first byte
        assert start != b"PK"  # the archive torch.save writes


def test_config_in_the_folder_runs_it_again(simpgcn):
    simpgcn("train", *QUICK, "--seed", 3, "--out", "first")
    simpgcn("train", "--config", "first/config.yaml", "--out", "second")
    assert Path("first/history.csv").read_text() == Path("second/history.csv").read_text()
    assert Path("first/model.safetensors").read_bytes() == Path("second/model.safetensors").read_bytes()


def test_settings_win_in_order_file_then_set_then_option(simpgcn):
    Path("some.yaml").write_text("training: {epochs: 9, lr: 0.5, seed: 9}\nmodel: {hidden_channels: 4}\n")
    code, out, _ = simpgcn(
        "train",
        "--config",
        "some.yaml",
        "--set",
        "training.epochs=2",
        "--set",
        "training.seed=7",
        "--seed",
        1,
        "--json",
    )
    config = runs.read_config(Path(json.loads(out)["run"]))
    assert (code, config.training.epochs, config.training.lr, config.training.seed) == (0, 2, 0.5, 1)
    assert config.model.hidden_channels == 4


def test_what_is_typed_wins_and_brings_its_own_settings(simpgcn):
    Path("some.yaml").write_text("data: {name: cora}\nmodel_name: simpgcn\n")
    _, out, _ = simpgcn("train", "demo", "--model", "gcn", "--config", "some.yaml", "--json", "--device", "cpu")
    answer = json.loads(out)
    assert (answer["dataset"], answer["model"]) == ("demo", "gcn")
    assert runs.read_config(Path(answer["run"])).model.hidden_channels == 64


def test_direction_reaches_training_and_prediction(simpgcn, mirror, monkeypatch):
    asked = []

    def spy(name, **kwargs):
        asked.append(kwargs["directed"])
        return load_dataset(name, **kwargs)

    monkeypatch.setattr("simpgcn.training.problem.load_dataset", spy)
    for directed in (True, False):
        choice = f"data.directed={str(directed).lower()}"
        simpgcn("train", "texas", *QUICK, "--set", choice, "--out", choice, "--no-report")
        simpgcn("predict", choice)
    assert asked == [True, True, False, False]
    written = [Path(f"data.directed={d}/predictions.parquet") for d in ("true", "false")]
    assert not pyarrow.parquet.read_table(written[0]).equals(pyarrow.parquet.read_table(written[1]))


def test_default_folders_never_collide(simpgcn):
    folders = [json.loads(simpgcn("train", *QUICK, "--json")[1])["run"] for _ in range(2)]
    assert folders == ["runs/demo-simpgcn-split0-seed0", "runs/demo-simpgcn-split0-seed0-2"]


def test_train_shows_a_table(simpgcn):
    code, out, err = simpgcn("train", *QUICK)
    assert (code, err) == (0, "")
    for words in ("simpgcn on demo", "test accuracy", "kept epoch", "calibration error", "look-alikes", "run folder"):
        assert words in out
    code, out, _ = simpgcn("train", *QUICK, "--model", "gcn", "--json")
    assert json.loads(out)["model"] == "gcn"


def test_predict_from_a_run(simpgcn):
    simpgcn("train", *QUICK, "--out", "run")
    code, out, _ = simpgcn("predict", "run")
    assert (code, out) == (0, "2000 predictions written to predictions.csv\n")
    code, out, _ = simpgcn("predict", "run", "--out", "p.parquet", "--json")
    assert json.loads(out) == {"run": "run", "predictions": "p.parquet", "nodes": 2000}
    assert pyarrow.parquet.read_table("p.parquet").equals(pyarrow.parquet.read_table("run/predictions.parquet"))
    assert len(Path("predictions.csv").read_text().splitlines()) == 2001
    data = load_dataset("demo")
    loaded = SimPGCNClassifier.load("run")
    assert loaded.predict(data).tolist() == pyarrow.parquet.read_table("p.parquet")["predicted"].to_pylist()


def test_datasets(simpgcn):
    code, out, _ = simpgcn("datasets", "--json")
    assert code == 0
    assert {"demo", "cora", "actor", "coauthor-physics"} <= set(json.loads(out))
    code, out, _ = simpgcn("datasets", "demo", "--json")
    assert json.loads(out)["nodes"] == 2000
    assert "usual split" in simpgcn("datasets")[1]
    assert "edges within a class" in simpgcn("datasets", "demo")[1]


def test_datasets_beside_the_paper(simpgcn, mirror):
    _, out, _ = simpgcn("datasets", "cora", "--json")
    answer = json.loads(out)
    assert answer["edges"] == answer["paper"]["edges"] == 5429
    assert "carries the features and labels of texas" in simpgcn("datasets", "cornell")[1]


def test_attack_writes_a_graph_that_every_command_takes(simpgcn):
    code, out, err = simpgcn("attack", "demo", "--method", "random", "--rate", 0.01, "--out", "a.npz", "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert (answer["flips"], answer["budget"], answer["path"]) == (100, 100, "a.npz")
    assert "100 flips in" in simpgcn("attack", "demo", "--method", "random", "--rate", 0.01, "--out", "a.npz")[1]
    code, out, _ = simpgcn("train", "a.npz", *QUICK, "--json")
    assert (code, json.loads(out)["run"]) == (0, "runs/a-simpgcn-split0-seed0")
    assert simpgcn("predict", "runs/a-simpgcn-split0-seed0")[0] == 0
    assert json.loads(simpgcn("datasets", "a.npz", "--json")[1])["edges"] == 10_100
    assert simpgcn("compare", "a.npz", "--models", "mlp", "--runs", 1, "--workers", 1, *QUICK)[0] == 0


def test_robustness_over_attacks_made_here(simpgcn):
    arguments = ("demo", "--attack", "dice", "--rates", "0,0.02", "--models", "gcn,mlp", "--runs", 2, "--workers", 1)
    code, out, err = simpgcn("robustness", *arguments, *QUICK, "--json")
    assert (code, err) == (0, "")
    points = json.loads(out)["points"]
    assert [(point["model"], point["rate"], point["runs"]) for point in points] == [
        ("gcn", 0.0, 2),
        ("gcn", 0.02, 2),
        ("mlp", 0.0, 2),
        ("mlp", 0.02, 2),
    ]
    assert points[2]["test_mean"] == points[3]["test_mean"]  # it does not look at edges
    folder = Path("robustness/demo-dice")
    assert {path.name for path in folder.iterdir()} == {
        "graphs",
        "runs",
        "robustness.csv",
        "robustness.json",
        "robustness.png",
        "robustness.txt",
    }
    code, _, err = simpgcn("robustness", "texas")
    assert (code, err.startswith("simpgcn: no attacked texas was published")) == (2, True)
    assert "--attack metattack" in err


def test_bench(simpgcn):
    code, out, err = simpgcn("bench", "--quick", "--device", "cpu", "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer == json.loads(Path("bench/bench.json").read_text())
    assert set(answer) == {"folder", "device", "cores", "threads", "versions", "git", "epochs", "lines", "scaling"}
    assert [(line["graph"], line["task"], line["contestant"]) for line in answer["lines"]] == [
        ("tiny", "epoch", "simpgcn"),
        ("tiny", "epoch", "PyG, edge_index"),
        ("tiny", "epoch", "PyG, sparse matrices"),
        ("tiny", "epoch", "memory floor"),
        ("tiny", "search", "simpgcn"),
        ("tiny", "search", "scikit-learn, nearest only"),
        ("tiny", "search", "scikit-learn, argsort"),
    ]
    for line in answer["lines"]:
        # An epoch is the difference of two trainings: a single one may be lost in the noise of a busy machine.
        assert line["seconds"]["low"] <= line["seconds"]["median"] <= line["seconds"]["high"]
        assert line["seconds"]["high"] > 0
        assert line["contestant"] != "simpgcn" or set(line["times_ours"].values()) == {1.0}
    assert [point["nodes"] for point in answer["scaling"]["points"]] == [500, 1000, 2000]
    assert set(answer["scaling"]["slopes"]) == {"similarity_seconds", "epoch_seconds", "memory_mb"}
    assert {path.name for path in Path("bench").iterdir()} == {"bench.json", "bench.txt", "scaling.png"}
    shown = Path("bench/bench.txt").read_text()
    assert "PyG, sparse matrices" in shown
    assert "and peak memory" in shown
    code, out, err = simpgcn("bench", "core")
    assert (code, out, len(err.splitlines())) == (2, "", 1)


def test_compare(simpgcn):
    quick = ("--set", "training.epochs=2", "--device", "cpu", "--runs", 2, "--workers", 1)
    code, out, err = simpgcn("compare", "demo", "--models", "gcn,simpgcn", *quick, "--json")
    assert (code, err) == (0, "")
    assert [row["model"] for row in json.loads(out)["models"]] == ["gcn", "simpgcn"]
    files = {path.name for path in Path("comparisons/demo").iterdir()}
    assert files == {"comparison.csv", "comparison.json", "comparison.png", "comparison.txt", "runs"}
    assert "to simpgcn" in Path("comparisons/demo/comparison.txt").read_text()
    code, out, _ = simpgcn("compare", "demo", "--models", "gcn,simpgcn", *quick)
    assert code == 0
    assert "±" in out
    assert_one_sentence(*simpgcn("compare", "demo", "--models", "gnc"), "unknown model 'gnc': did you mean gcn")


def test_a_failing_model_is_told_and_ends_in_a_non_zero_exit(simpgcn):
    code, out, _ = simpgcn(
        "compare",
        "demo",
        "--models",
        "mlp,simpgcn",
        "--set",
        "similarity.k=5000",
        "--set",
        "training.epochs=2",
        "--runs",
        1,
        "--workers",
        1,
    )
    assert code == 1
    assert "failed" in out
    assert "mlp" in out


def test_tune(simpgcn):
    code, out, err = simpgcn(
        "tune", "demo", "--model", "mlp", "--trials", 4, "--runs", 1, "--set", "training.epochs=2", "--json"
    )
    assert (code, err) == (0, "")
    assert json.loads(out)["trials"] == 4
    assert {path.name for path in Path("tuning/demo-mlp").iterdir()} >= {"best.yaml", "study.log", "tuning.png"}
    code, out, _ = simpgcn("train", "--config", "tuning/demo-mlp/best.yaml", "--set", "training.epochs=2", "--json")
    assert (code, json.loads(out)["model"]) == (0, "mlp")


def test_version(simpgcn):
    assert simpgcn("--version")[:2] == (0, "0.1.0\n")


def spoiled(what):
    """Break the run folder 'run' in one way."""

    def spoil():
        folder = Path("run")
        if what == "empty":
            shutil.rmtree(folder)
            folder.mkdir()
        elif what == "version":
            path = folder / "config.yaml"
            path.write_text(path.read_text().replace("run_format: 1", "run_format: 99"))
        elif what == "no version":
            path = folder / "config.yaml"
            path.write_text(path.read_text().replace("run_format: 1\n", ""))
        elif what == "binary":
            (folder / "config.yaml").write_bytes(b"\xff\xfe\x00")
        elif what == "no model":
            (folder / "model.safetensors").unlink()
        elif what == "cut model":
            path = folder / "model.safetensors"
            path.write_bytes(path.read_bytes()[:100])
        elif what == "other model":
            path = folder / "config.yaml"
            path.write_text(path.read_text().replace("hidden_channels: 8", "hidden_channels: 9"))

    return spoil


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("empty", "run is not a run folder: it has no config.yaml"),
        ("version", "run has run format 99, but this version of simpgcn reads format 1"),
        ("no version", "run is not a run folder: its config.yaml names no run_format"),
        ("binary", "run/config.yaml is not a text file"),
        ("no model", "run/model.safetensors is missing"),
        ("cut model", "run/model.safetensors is damaged"),
        ("other model", "run/model.safetensors does not fit the config.yaml beside it"),
    ],
)
def test_bad_run_folders(simpgcn, what, message):
    simpgcn("train", *QUICK, "--out", "run")
    spoiled(what)()
    code, out, err = simpgcn("predict", "run")
    assert_one_sentence(code, out, err, message)
    assert not Path("predictions.csv").exists()


def assert_one_sentence(code, out, err, message):
    assert code == 2
    assert out == ""
    assert err.startswith("simpgcn: ")
    assert err.count("\n") == 1
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "corra"], "unknown dataset 'corra': did you mean cora"),
        (["train", "--model", "simgcn"], "unknown model 'simgcn': did you mean simpgcn"),
        (["train", "--set", "similarity.k=2000"], "k = 2000 neighbours were asked for"),
        (["train", "--set", "training.lrr=1"], "unknown setting 'training.lrr': did you mean training.lr"),
        (["train", "--set", "training.lr=1e30", "--set", "training.epochs=9"], "lower training.lr"),
        (["train", "--config", "missing.yaml"], "the configuration file missing.yaml could not be read"),
        (["train", "--set", "data.split_kind=public"], "demo has no public split"),
        (["train", "--split", "-1"], "data.split must be at least 0"),
        (["train", "--device", "tpu9"], "unknown device 'tpu9'"),
        (["train", "--device", "meta"], "the device 'meta' is not supported"),
        (["train", "--set", "data.name=null"], "data.name and model_name must be texts"),
        (["train", "--split", "99999999999999999999"], "data.split must be at least 0"),
        (["train", "--set", f"training.lr=1{'0' * 400}"], "training.lr must be of type float"),
        (["train", "--set", "model.hidden_channels=10000000000"], "model.hidden_channels must be at least 1"),
        (["train", "--set", "model.self_loop_weight=.nan"], "model.self_loop_weight must be at least 0"),
        (["train", "--set", "model.pretext_neighbors=2000"], "2000 most and least similar nodes"),
        (["train", "--resume", "nowhere"], "nowhere is not a run folder"),
        (["train", "demo", "--resume", "nowhere"], "--resume goes on with the run's own settings"),
        (["train", "--resume", "nowhere", "--seed", "1"], "--resume goes on with the run's own settings"),
        (["predict", "nowhere"], "nowhere is not a run folder"),
        (["datasets", "coro"], "unknown dataset 'coro'"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(simpgcn, tmp_path, arguments, message):
    assert_one_sentence(*simpgcn(*arguments), message)
    left = [path for path in tmp_path.rglob("*") if path.name != "runs"]
    assert left == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_no_cuda_where_it_was_asked_for(simpgcn):
    assert_one_sentence(*simpgcn("train", "--device", "cuda"), "finds no CUDA device: use --device cpu or auto")


def test_unusable_graphs_reach_the_user_as_one_sentence(simpgcn, monkeypatch, tmp_path):
    def broken(*args, **kwargs):
        data = load_dataset("demo")
        data.x[5, 5] = torch.nan
        return data

    monkeypatch.setattr(train_run, "load_graph", broken)
    assert_one_sentence(*simpgcn("train"), "NaN or infinite values, first in node 5")
    assert not list(tmp_path.iterdir())


def test_out_folder_in_use_is_not_touched(simpgcn):
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("years of work")
    assert_one_sentence(*simpgcn("train", *QUICK, "--out", "mine"), "mine already exists")
    assert Path("mine/thesis.txt").read_text() == "years of work"
    assert_one_sentence(*simpgcn("train", *QUICK, "--out", "mine/thesis.txt"), "already exists")


def test_integer_keys_in_a_file(simpgcn):
    Path("odd.yaml").write_text("1: 2\n")
    assert_one_sentence(*simpgcn("train", "--config", "odd.yaml"), "unknown setting '1'")


def test_a_folder_claimed_meanwhile_is_not_touched(simpgcn, monkeypatch):
    """Another process takes --out while this one still prepares."""
    prepare = train_run.prepare

    def slow(*args, **kwargs):
        Path("run").mkdir()
        Path("run/config.yaml").write_text("another process's")
        return prepare(*args, **kwargs)

    monkeypatch.setattr(train_run, "prepare", slow)
    assert_one_sentence(*simpgcn("train", *QUICK, "--out", "run"), "run already exists")
    assert Path("run/config.yaml").read_text() == "another process's"


def test_a_run_at_work_cannot_be_resumed(simpgcn):
    simpgcn("train", *QUICK, "--out", "run")
    Path("run/metrics.json").unlink()
    with FileLock("run/.lock"):
        assert_one_sentence(*simpgcn("train", "--resume", "run"), "another process is working on run")
    assert simpgcn("train", "--resume", "run")[0] == 0


def test_ctrl_c_after_the_last_epoch_loses_nothing(simpgcn, monkeypatch):
    predict = train_run.predict

    def interrupted(*args):
        os.kill(os.getpid(), signal.SIGINT)
        return predict(*args)

    monkeypatch.setattr(train_run, "predict", interrupted)
    code, _, _ = simpgcn("train", *QUICK, "--out", "run")
    assert code == 0
    assert runs.read_metrics(Path("run"))["epochs"] == 3


def test_bad_prediction_targets(simpgcn):
    simpgcn("train", *QUICK, "--out", "run")
    assert_one_sentence(*simpgcn("predict", "run", "--out", "p.xlsx"), "p.xlsx must end in .csv or .parquet")
    Path("d.csv").mkdir()
    assert_one_sentence(*simpgcn("predict", "run", "--out", "d.csv"), "d.csv is a folder")
    assert_one_sentence(*simpgcn("predict", "run", "--out", "no/p.csv"), "the folder no does not exist")


def test_a_full_disk_is_told(simpgcn, monkeypatch, tmp_path):
    def full(*args):
        raise OSError(28, "No space left on device", "run/model.safetensors")

    monkeypatch.setattr(runs, "write_model", full)
    assert_one_sentence(*simpgcn("train", *QUICK, "--out", "run"), "No space left on device (run/model.safetensors)")
    assert not (tmp_path / "run").exists()


def test_a_finished_run_has_nothing_to_resume(simpgcn):
    simpgcn("train", *QUICK, "--out", "run")
    assert_one_sentence(*simpgcn("train", "--resume", "run"), "run is finished: there is nothing to resume")


def test_an_estimators_folder_is_for_python(simpgcn, small):
    SimPGCNClassifier(epochs=2, k=5, cache=False).fit(small).save("own")
    assert_one_sentence(*simpgcn("predict", "own"), "own was trained from Python on data of its own")
    assert_one_sentence(*simpgcn("train", "--resume", "own"), "own was trained from Python on data of its own")


LONG = [
    "train",
    "demo",
    "--out",
    "run",
    "--device",
    "cpu",
    "--set",
    "training.epochs=40",
    "--set",
    "training.patience=1000",
]


@pytest.fixture
def without_break(simpgcn):
    """The history and the model of the same run, never stopped."""
    simpgcn(*[word if word != "run" else "whole" for word in LONG])
    return Path("whole/history.csv").read_text(), Path("whole/model.safetensors").read_bytes()


def start(*arguments, **variables):
    command = [sys.executable, "-c", "from simpgcn.cli import main; main()", *arguments]
    environment = {**os.environ, **variables}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_ctrl_c_keeps_the_best_so_far_and_resumes_to_the_same_result(simpgcn, without_break):
    slow = "import simpgcn.training.replicas as t, time; old = t._Replicas.advance\n"
    slow += "def epoch(self, on_epoch):\n    time.sleep(0.1)\n    return old(self, on_epoch)\n"
    slow += "t._Replicas.advance = epoch\nfrom simpgcn.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", slow, *LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for(Path("run/config.yaml").exists)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "simpgcn train --resume run" in err
    assert "test accuracy" in out
    stopped = runs.read_metrics(Path("run"))["epochs"]
    assert 0 < stopped < 40
    assert simpgcn("predict", "run")[0] == 0  # the best state so far is there to use
    assert simpgcn("train", "--resume", "run")[0] == 0
    assert (Path("run/history.csv").read_text(), Path("run/model.safetensors").read_bytes()) == without_break
    assert not Path("run/checkpoint.safetensors").exists()


def test_killed_run_resumes_to_the_same_result(simpgcn, without_break):
    kill = "import simpgcn.train_run as t, os; t.CHECKPOINT_SECONDS = 0.0; old = t.runs.write_checkpoint\n"
    kill += "def write(folder, trainer, seconds):\n    old(folder, trainer, seconds)\n"
    kill += "    if len(trainer.history) == 11: os.kill(os.getpid(), 9)\n"
    kill += "t.runs.write_checkpoint = write\nfrom simpgcn.cli import main; main()"
    assert subprocess.run([sys.executable, "-c", kill, *LONG], capture_output=True).returncode == -9
    assert sorted(path.name for path in Path("run").iterdir()) == [".lock", "checkpoint.safetensors", "config.yaml"]
    assert simpgcn("train", "--resume", "run")[0] == 0
    assert (Path("run/history.csv").read_text(), Path("run/model.safetensors").read_bytes()) == without_break


def test_damaged_checkpoint_is_told(simpgcn):
    simpgcn(*LONG)
    Path("run/metrics.json").unlink()
    Path("run/checkpoint.safetensors").write_bytes(b"\x00" * 50)
    assert_one_sentence(*simpgcn("train", "--resume", "run"), "run/checkpoint.safetensors is damaged")
    assert Path("run/model.safetensors").exists()


def test_console_script_prints_no_progress_into_a_pipe(tmp_path):
    process = start("train", "demo", *QUICK, "--out", str(tmp_path / "run"), "--json")
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["epochs"] == 3


def test_reproduce(simpgcn, mirror, tmp_path):
    code, out, err = simpgcn("reproduce", "table2", "--json", "--device", "cpu")
    assert (code, err) == (0, "")
    (table,) = json.loads(out)["experiments"]
    assert len(table["cells"]) == 28
    assert {(cell["row"], cell["dataset"]) for cell in table["cells"] if cell["colour"] != "green"} == {
        ("edges", "actor"),
        ("features", "actor"),
    }
    assert "simpgcn reproduce table2" in (tmp_path / "results" / "README.md").read_text()
    code, out, err = simpgcn("reproduce", "tabel2")
    assert code == 2
    assert err.startswith("simpgcn: unknown experiment 'tabel2': did you mean table2")
