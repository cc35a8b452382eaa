"""``simpgcn report``, and the page that ``simpgcn train`` writes by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simpgcn import runs

QUICK = ("--set", "training.epochs=3", "--set", "model.hidden_channels=8", "--device", "cpu")


def test_train_writes_a_page_and_says_where(simpgcn, monkeypatch):
    code, out, err = simpgcn("train", *QUICK, "--out", "run")
    assert (code, err) == (0, "")
    assert "run/report.html" in out
    assert "<title>simpgcn on demo</title>" in Path("run/report.html").read_text()
    assert json.loads(simpgcn("train", *QUICK, "--out", "b", "--json")[1])["report"] == "b/report.html"
    assert "report" not in json.loads(simpgcn("train", *QUICK, "--out", "c", "--no-report", "--json")[1])
    assert not Path("c/report.html").exists()
    monkeypatch.setattr("simpgcn.report.chart_library.find_spec", lambda name: None)
    code, out, err = simpgcn("train", *QUICK, "--out", "d")
    assert (code, err) == (0, "")
    assert "report.html" not in out
    assert not Path("d/report.html").exists()


def test_report_of_a_run_and_of_two(simpgcn):
    simpgcn("train", *QUICK, "--out", "one/run", "--no-report")
    simpgcn("train", *QUICK, "--out", "two/run", "--model", "mlp", "--no-report")
    code, out, err = simpgcn("report", "two/run")
    assert (code, out, err) == (0, "Report written to two/run/report.html\n", "")
    code, out, err = simpgcn("report", "one/run", "two/run", "--json")
    answer = json.loads(out)
    assert (code, err, answer["report"]) == (0, "", "report.html")
    assert [run["run"] for run in answer["runs"]] == ["one/run", "two/run"]
    for run in answer["runs"]:
        metrics = runs.read_metrics(Path(run["run"]))
        assert run["test"]["accuracy"] == pytest.approx(metrics["test_accuracy"], abs=1e-4)
        assert run["calibration"]["error_after"] == metrics["calibration"]["error_after"]
    assert answer["comparisons"][0]["test"]["nodes"] == 400
    assert "2 runs compared" in Path("report.html").read_text()


def test_tables_to_a_page(simpgcn):
    rows = "".join(f"p<{i}>,{'ab'[i % 2]},{i % 7 + 10 * (i % 2)}\n" for i in range(40))
    Path("nodes.csv").write_text("id,topic,size\n" + rows)
    Path("edges.csv").write_text("source,target\n" + "".join(f"p<{i}>,p<{(i + 2) % 40}>\n" for i in range(40)))
    tables = ("--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "topic")
    code, _, err = simpgcn("train", *tables, *QUICK, "--out", "run")
    assert (code, err) == (0, "")
    Path("nodes.csv").unlink()
    code, out, _ = simpgcn("report", "run", "--out", "page.html", "--json")
    assert code == 0
    facts = json.loads(out)["runs"][0]
    assert (facts["dataset"], facts["classes"], facts["nodes"]) == ("nodes.csv", ["a", "b"], 40)
    assert "What was understood of the tables" in Path("page.html").read_text()


def test_mistakes_end_in_a_sentence(simpgcn):
    simpgcn("train", *QUICK, "--out", "run", "--no-report")
    for arguments, said in (
        (["nowhere"], "nowhere is not a run folder"),
        (["run", "--out", "run"], "run is a folder: name a file to write"),
        (["run", "--out", "no/where.html"], "the folder no does not exist"),
    ):
        code, out, err = simpgcn("report", *arguments)
        assert (code, out) == (2, "")
        assert said in err
        assert err.count("\n") == 1


def test_a_damaged_or_unfinished_run_is_named(simpgcn):
    simpgcn("train", *QUICK, "--out", "run", "--no-report")
    Path("run/predictions.parquet").write_bytes(b"nothing")
    assert "run/predictions.parquet is damaged" in simpgcn("report", "run")[2]
    Path("run/predictions.parquet").unlink()
    assert "run/predictions.parquet is missing" in simpgcn("report", "run")[2]
    Path("run/metrics.json").unlink()
    assert "run is unfinished" in simpgcn("report", "run")[2]
