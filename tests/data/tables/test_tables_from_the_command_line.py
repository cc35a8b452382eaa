"""What a person with tables meets: one sentence for what is wrong, or a stated repair, and never a traceback."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow.parquet
import pytest

from simpgcn import cli

QUICK = ("--set", "training.epochs=3", "--set", "model.hidden_channels=8", "--set", "similarity.k=5", "--device", "cpu")
NODES = "id,age,city,kind\n" + "".join(
    f"{i},{20 + i % 7},{'Rome' if i % 3 else 'Oslo'},{'' if i % 9 == 8 else 'ab'[i % 2]}\n" for i in range(40)
)
EDGES = "from,to\n" + "".join(f"{i},{(i * 7 + 2) % 40}\n" for i in range(40))


@pytest.fixture
def train(tmp_path, monkeypatch, capsys):
    """Train on the texts of two tables; returns (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def run(*options, nodes=NODES, edges=EDGES, label="kind"):
        for name, content in (("nodes.csv", nodes), ("edges.csv", edges)):
            Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
        tables = ("--nodes", "nodes.csv", "--edges", "edges.csv", "--label", label)
        monkeypatch.setattr(sys, "argv", ["simpgcn", "train", *tables, *QUICK, *options])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_tables_in_a_run_folder_out(train):
    code, out, err = train("--json", "--out", "run")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["understood"]["nodes"] == {"table": "nodes.csv", "rows": 40, "used": 40}
    assert answer["understood"]["labels"] == {"labelled": 36, "unlabelled": 4, "classes": {"a": 18, "b": 18}}
    assert {"graph.npz", "nodes.parquet", "preparation.json"} < {path.name for path in Path("run").iterdir()}
    assert pyarrow.parquet.read_table("run/nodes.parquet")["id"].to_pylist() == list(range(40))


def test_what_was_understood_is_printed_first(train):
    code, out, _ = train("--out", "run")
    assert code == 0
    assert out.index("What was understood") < out.index("test accuracy")
    words = " ".join(out.split())
    assert "age (1)" in words
    assert "city (2)" in words
    assert "4 nodes without a label" in words
