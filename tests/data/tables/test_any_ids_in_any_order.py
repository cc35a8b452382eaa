"""Ids of any type come back as they were given, and the order of rows changes nothing."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simpgcn.data.tables import load_tables
from simpgcn.data.tables.edges import read_edges
from simpgcn.data.tables.ids import IdIndex, as_ids

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=8)
ANY_IDS = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=12, max_size=30, unique=True),
    st.lists(TEXT, min_size=12, max_size=30, unique=True),
    st.lists(st.integers(0, 999).map("{:03d}".format), min_size=12, max_size=30, unique=True),
    st.lists(st.uuids().map(str), min_size=12, max_size=30, unique=True),
    st.lists(st.dates(), min_size=12, max_size=30, unique=True),
)
ORDINARY = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def tables(ids, draw):
    """Nodes with these ids, a number, a category, a text and a label, and edges between them."""
    count = len(ids)
    words = np.array(["red", "car", "blue", "sky", "old", "tree"])
    nodes = pa.table(
        {
            "id": pa.array(ids),
            "size": draw.normal(size=count) * 10.0 ** draw.integers(-3, 4, count),
            "city": draw.choice(["Rome", "Oslo", "Bonn"], count),
            "note": [" ".join(draw.choice(words, 4)) + f" {place}" for place in range(count)],
            "kind": pa.array([None if place % 6 == 5 else "ab"[place % 2] for place in range(count)]),
        }
    )
    ends = draw.integers(0, count, (2, 3 * count))
    ends = np.concatenate([ends, [[0], [1]]], axis=1)  # at least one edge that is none to itself
    pick = pa.array(ids)
    edges = {"from": pick.take(pa.array(ends[0])), "to": pick.take(pa.array(ends[1])), "w": draw.random(ends.shape[1])}
    return nodes, pa.table(edges)


@ORDINARY
@given(ids=ANY_IDS)
def test_round_trip_of_ids(ids):
    nodes, edges = tables(ids, np.random.default_rng(0))
    data = load_tables(nodes, edges, "kind")
    shown = [str(value) if isinstance(value, datetime.date) else value for value in ids]
    assert data.node_ids.to_pylist() == sorted(
        shown, key=lambda value: value.encode() if isinstance(value, str) else value
    )
    kind = dict(zip(shown, nodes["kind"].to_pylist(), strict=True))
    for node, label in zip(data.node_ids.to_pylist(), data.y.tolist(), strict=True):
        assert kind[node] == (None if label < 0 else data.class_names[label])
    given_ends = zip(edges["from"].to_pylist(), edges["to"].to_pylist(), strict=True)
    wanted = {frozenset(map(str, ends)) for ends in given_ends if ends[0] != ends[1]}
    found = {frozenset(str(data.node_ids[end].as_py()) for end in edge) for edge in data.edge_index.T.tolist()}
    assert found == wanted


@ORDINARY
@given(ids=st.lists(st.one_of(TEXT, st.integers(-(10**18), 10**18).map(str)), min_size=12, max_size=30, unique=True))
def test_round_trip_of_ids_through_a_file(ids, tmp_path):
    nodes, edges = tables(ids, np.random.default_rng(0))
    for name, table in (("nodes.csv", nodes), ("edges.csv", edges)):
        pyarrow.csv.write_csv(table, tmp_path / name)
    stripped = [text.strip() for text in ids]
    if len(set(stripped)) < len(ids) or "" in stripped:
        return  # told apart by spaces alone: said to be the same id
    data = load_tables(tmp_path / "nodes.csv", tmp_path / "edges.csv", "kind", id="id")
    assert sorted(map(str, data.node_ids.to_pylist())) == sorted(stripped)
    straight = load_tables(nodes.set_column(0, "id", pa.array(stripped)), None, "kind")
    by_name = dict(zip(straight.node_ids.to_pylist(), straight.y.tolist(), strict=True))
    assert [by_name[str(node)] for node in data.node_ids.to_pylist()] == data.y.tolist()


@ORDINARY
@given(ids=ANY_IDS, seed=st.integers(0, 2**32 - 1), weights=st.sampled_from([None, "w"]), directed=st.booleans())
def test_the_order_of_rows_changes_nothing(ids, seed, weights, directed):
    draw = np.random.default_rng(seed)
    nodes, edges = tables(ids, draw)
    options = {"label": "kind", "weights": weights, "directed": directed, "split": seed % 5}
    one = load_tables(nodes, edges, **options)
    other = load_tables(
        nodes.take(pa.array(draw.permutation(len(nodes)))),
        edges.take(pa.array(draw.permutation(len(edges)))),
        **options,
    )
    assert one.node_ids.equals(other.node_ids)
    for name in ("edge_index", "edge_weight", "y", "train_mask", "val_mask", "test_mask"):
        assert (one.get(name) is None) == (other.get(name) is None)
        assert one.get(name) is None or one[name].equal(other[name]), name
    assert one.x.to_dense().equal(other.x.to_dense())
    assert json.dumps(one.preparation) == json.dumps(other.preparation)
    assert json.dumps(one.understood) == json.dumps(other.understood)


@pytest.mark.parametrize(
    ("known", "given_ids", "rows"),
    [
        (pa.array([7, 12]), pa.array(["7", "012", "12.0", " 7", "8"]), [0, 1, 1, 0, -1]),
        (pa.array(["007", "012"]), pa.array([7, 12, 8]), [0, 1, -1]),
        (pa.array(["7", "007"]), pa.array(["7", "007", "07"]), [0, 1, -1]),  # 07 may mean either
        (pa.array([1, 2]), pa.array([1.0, 2.0, 2.5]), [0, 1, -1]),
        (pa.array(["a", "b"]), pa.array(["b ", "A"]), [1, -1]),
        (pa.array(["0", "-5"]), pa.array(["00", "-05", "5"]), [0, 1, -1]),
    ],
)
def test_ids_written_otherwise(known, given_ids, rows):
    from_text = pa.types.is_string(given_ids.type)
    assert IdIndex(known).rows(as_ids(given_ids, from_text=from_text)).tolist() == rows


def test_edges_are_the_same_as_a_literal_reading():
    nodes, edges = tables(list(range(20)), np.random.default_rng(3))
    data = load_tables(nodes, edges, "kind", weights="w")
    dense = torch.zeros(20, 20, dtype=torch.float64)
    for source, target, weight in zip(*(edges[name].to_pylist() for name in ("from", "to", "w")), strict=True):
        if source != target:
            dense[source, target] += weight
            dense[target, source] += weight
    dense /= dense[dense > 0].mean()
    found = torch.zeros(20, 20)
    found[data.edge_index[0], data.edge_index[1]] = data.edge_weight
    torch.testing.assert_close(found, dense.float())


def test_ends_of_two_types_are_looked_up_as_one():
    ids = pa.array([7, 12, 30])
    edges = read_edges(pa.table({"from": [7, 12, None], "to": ["12", "30", "7"]}), ids, [])
    assert edges.edge_index.tolist() == [[0, 1, 1, 2], [1, 2, 0, 1]]
    assert edges.dropped == {"missing id": 1}
    with_unknown = []
    read_edges(pa.table({"from": [7, 12], "to": ["12", "x"]}), ids, with_unknown)
    assert with_unknown == ["the table of edges: edges with an id that no node has are dropped (1, first 'x' in row 2)"]
