"""Columns that are not what they seemed."""

from __future__ import annotations

import datetime

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
import torch

from simpgcn.data import from_networkx, load_new_nodes, load_tables
from simpgcn.data.tables.preparation import prepare_features
from simpgcn.errors import SimPGCNError


def table(n=12, **columns):
    return pa.table({"id": [f"n{i}" for i in range(n)], "kind": ["a", "b"] * (n // 2), **columns})


def test_a_column_whose_values_stand_in_rows_without_an_id():
    nodes = pa.table(
        {
            "id": [None, None, *(f"n{i}" for i in range(12))],
            "kind": ["a", "b"] * 7,
            "age": [1.0, 2.0, *[None] * 12],
            "size": [3.0, 4.0, *[5.0] * 12],
            "weight": np.arange(14.0),
        }
    )
    data = load_tables(nodes, None, "kind")
    assert data.num_nodes == 12
    assert bool(torch.isfinite(data.x.to_dense()).all())


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("date", pa.array([20200101] * 2)),
        ("number", pa.array([[1.0], [2.0]])),
        ("number", pa.array([datetime.date(2020, 1, 1)] * 2)),
        ("category", pa.array([[1], [2]])),
    ],
)
def test_new_rows_of_another_type_are_told(kind, given):
    how = {"mean": 0.0, "std": 1.0, "median": 0.0, "missing": False, "decimal": ".", "date_format": "iso"}
    learned = [{"name": "c", "kind": kind, "values": ["x"], "other": False, **how}]
    with pytest.raises(SimPGCNError, match=f"column 'c' has values of type .* trained with a {kind} there"):
        prepare_features(pa.table({"c": given}), learned)
    empty = prepare_features(pa.table({"c": pa.nulls(2, pa.float64())}), learned)
    assert empty.shape[0] == 2


@pytest.mark.parametrize("name", ["source", "target", "weight"])
def test_weights_of_networkx_may_have_any_name(name):
    graph = nx.path_graph(12)
    for node in graph:
        graph.nodes[node].update(kind="ab"[node % 2], size=float(node))
    nx.set_edge_attributes(graph, 2.0, name)
    plain, weighted = from_networkx(graph, "kind"), from_networkx(graph, "kind", weights=name)
    assert torch.equal(plain.edge_index, weighted.edge_index)
    with pytest.raises(SimPGCNError, match="no edge has a weight above 0"):
        from_networkx(graph, "kind", weights="nope")


def test_labels_of_any_number():
    kinds = pa.array([1e300, 2.0] * 6)
    assert len(load_tables(table(size=np.arange(12.0)).set_column(1, "kind", kinds), None, "kind").class_names) == 2
    odd = pa.array([b"\xff", b"\xfe"] * 6)
    with pytest.raises(SimPGCNError, match="the labels are of type binary, which has no names"):
        load_tables(table(size=np.arange(12.0)).set_column(1, "kind", odd), None, "kind")


def test_values_that_training_did_not_know_are_said():
    nodes = pa.table(
        {
            "id": [f"n{i}" for i in range(40)],
            "age": [str(i % 15) for i in range(40)],
            "city": ["Oslo", "Rome"] * 20,
            "kind": ["a", "a", "b", "b"] * 10,
        }
    )
    known = load_tables(nodes, None, "kind")
    new = load_new_nodes(pa.table({"id": ["x", "y"], "age": ["7", "seven"], "city": ["Bonn", "Rome"]}), None, known)
    assert new.understood["repairs"] == [
        "1 values of 'age' such as 'seven' are no number, and taken as missing",
        "1 values of 'city' such as 'Bonn' were not there in training",
    ]


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_text_as_long_as_a_book_is_read(tmp_path, quote):
    texts = [f"plain words number {i} here and now {'xyz'[i % 3] * 3}" for i in range(12)]
    texts[3] = "a very long book " * 20_000
    rows = [f"n{i},{quote}{text}{quote},{'ab'[i % 2]}\n" for i, text in enumerate(texts)]
    (tmp_path / "nodes.csv").write_text("id,note,kind\n" + "".join(rows))
    found = load_tables(tmp_path / "nodes.csv", None, "kind")
    same = load_tables(
        pa.table({"id": [f"n{i}" for i in range(12)], "note": texts, "kind": ["a", "b"] * 6}), None, "kind"
    )
    torch.testing.assert_close(found.x, same.x)
    assert found.preparation["columns"][0]["kind"] == "text"


def test_weights_that_cannot_be_added_up_are_named():
    edges = pa.table({"a": ["n0", "n0", "n3"], "b": ["n1", "n2", "n4"], "w": [1.0, 1.7e308, 1.7e308]})
    with pytest.raises(SimPGCNError, match=r"the weight in row 2 is 1.7e\+308, too large .* the column 'w' or"):
        load_tables(table(age=np.arange(12.0) ** 2), edges, "kind", weights="w")
    edges = edges.set_column(2, "w", pa.array([1.0, 9e29, 9e29]))
    known = load_tables(table(age=np.arange(12.0) ** 2), edges, "kind", weights="w")
    assert known.edge_weight.sum().isfinite()
    small = edges.set_column(2, "w", pa.array([1e-200, 3e-200, 2e-200]))
    known = load_tables(table(age=np.arange(12.0) ** 2), small, "kind", weights="w")
    assert known.edge_weight.max() == 1.5
    new = pa.table({"id": ["m"], "age": [3.0]})
    with pytest.raises(SimPGCNError, match="the weight in row 1 is 5, too large"):
        load_new_nodes(new, pa.table({"a": ["m"], "b": ["n1"], "w": [5.0]}), known)
