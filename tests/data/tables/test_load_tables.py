from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

from simpgcn.config import chosen_config
from simpgcn.data.own_graph import read_own_graph
from simpgcn.data.tables import load_tables
from simpgcn.runs import run_graph
from simpgcn.train_run import resume_run, train_run
from simpgcn.training import load_graph


def people(count=60, seed=0):
    """Customers of two kinds: age says most of it, the city a little."""
    draw = np.random.default_rng(seed)
    kind = draw.integers(0, 2, count)
    city = np.where(draw.random(count) < 0.3, "Rome", np.where(kind == 1, "Oslo", "Bonn"))
    return pa.table(
        {
            "id": [f"c{i:03d}" for i in range(count)],
            "age": np.round(30 + 20 * kind + draw.normal(0, 4, count)),
            "city": city,
            "kind": pa.array([("gold" if k else "basic") if i % 5 else None for i, k in enumerate(kind)]),
        }
    )


def transfers(count=60, seed=0):
    draw = np.random.default_rng(seed)
    ends = draw.integers(0, count, (2, 3 * count))
    return pa.table({"from": [f"c{i:03d}" for i in ends[0]], "to": [f"c{i:03d}" for i in ends[1]]})


def write_csv(table, path):
    pa.csv.write_csv(table, path)
    return str(path)


@pytest.fixture
def files(tmp_path):
    return write_csv(people(), tmp_path / "nodes.csv"), write_csv(transfers(), tmp_path / "edges.csv")


def test_features_labels_and_masks():
    data = load_tables(people(), transfers(), "kind")
    assert data.class_names == ["basic", "gold"]
    assert data.node_ids.to_pylist()[:2] == ["c000", "c001"]
    age = people()["age"].to_numpy()
    torch.testing.assert_close(data.x[:, 0], torch.tensor((age - age.mean()) / age.std(), dtype=torch.float32))
    cities = ["Bonn", "Oslo", "Rome"]
    assert data.preparation["columns"][1]["values"] == cities
    assert [cities[place] for place in data.x[:, 1:].argmax(1).tolist()] == people()["city"].to_pylist()
    unlabelled = torch.arange(60) % 5 == 0
    assert (data.y[unlabelled] == -1).all()
    assert (data.train_mask | data.val_mask | data.test_mask).equal(~unlabelled)
    kinds = people()["kind"].to_pylist()
    assert all(data.class_names[label] == kinds[node] for node, label in enumerate(data.y.tolist()) if label >= 0)


def test_files_say_the_same_as_tables_in_memory(files, tmp_path):
    from_memory = load_tables(people(), transfers(), "kind")
    pa.parquet.write_table(people(), tmp_path / "nodes.parquet")
    for nodes in (files[0], tmp_path / "nodes.parquet", people().to_pandas()):
        data = load_tables(nodes, files[1], "kind")
        assert data.x.equal(from_memory.x)
        assert data.edge_index.equal(from_memory.edge_index)
        assert data.y.equal(from_memory.y)
        assert data.node_ids.equals(from_memory.node_ids)


def test_a_configuration_loads_tables(files):
    config = chosen_config(
        [{"data": {"name": files[0], "split": 1}, "tables": {"edges": files[1], "label": "kind", "features": "age"}}]
    )
    data = load_graph(config)
    assert data.x.size(1) == 1
    assert config.label == "nodes-simpgcn"
    assert data.train_mask.equal(load_tables(*files, "kind", split=1).train_mask)


def test_a_run_keeps_its_graph_and_resumes_from_it(files, tmp_path, monkeypatch):
    config = chosen_config(
        [
            {"data": {"name": files[0]}, "tables": {"edges": files[1], "label": "kind"}},
            {"training": {"epochs": 6, "device": "cpu"}, "similarity": {"k": 5}},
        ]
    )
    whole = train_run(config, tmp_path / "whole", cache=False)
    data = load_graph(config)
    kept = read_own_graph(tmp_path / "whole")
    for name in ("x", "edge_index", "y", "train_mask", "val_mask", "test_mask"):
        assert kept[name].equal(data[name]), name
    assert kept.node_ids.equals(data.node_ids)
    assert kept.class_names == data.class_names
    assert kept.preparation == data.preparation
    assert kept.understood == data.understood

    monkeypatch.setattr("simpgcn.train_run.CHECKPOINT_SECONDS", -1.0)

    def stop(epoch):
        if epoch.epoch == 2:
            raise MemoryError("a stop in the middle")

    with pytest.raises(MemoryError):
        train_run(config, tmp_path / "broken", cache=False, on_epoch=stop)
    for path in files:
        (tmp_path / path).unlink()
    resumed = resume_run(tmp_path / "broken", cache=False)
    assert np.array_equal(resumed.prediction.probabilities, whole.prediction.probabilities)
    assert run_graph(tmp_path / "broken").node_ids.equals(data.node_ids)
