"""The example with tables: the files are those its script makes, and a model learns from them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from simpgcn import load_tables
from simpgcn.config import Config
from simpgcn.training import Trainer, predict, prepare

FOLDER = Path(__file__).parent.parent / "examples" / "own_tables"


def test_the_tables_are_those_the_script_makes(tmp_path):
    spec = importlib.util.spec_from_file_location("make_tables", FOLDER / "make_tables.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.HERE = tmp_path
    script.main()
    for name in ("nodes.csv", "edges.csv", "new_nodes.csv", "new_edges.csv"):
        assert (tmp_path / name).read_text() == (FOLDER / name).read_text()


def test_it_beats_the_most_frequent_group_by_far():
    data = load_tables(FOLDER / "nodes.csv", FOLDER / "edges.csv", "group")
    config = Config().replace({"training": {"epochs": 100, "device": "cpu"}})
    problem = prepare(data, config, cache=False)
    trainer = Trainer(problem, config)
    trainer.run()
    hit = predict(trainer.best_model(), problem.inputs).probabilities.argmax(1) == data.y.numpy()
    accuracy = hit[data.test_mask.numpy()].mean()
    most = data.y[data.test_mask].bincount().max().item() / int(data.test_mask.sum())
    assert most < 0.6
    assert accuracy > most + 0.2
