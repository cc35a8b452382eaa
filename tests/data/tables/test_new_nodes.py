"""From two tables of new nodes to their predictions: what comes out, what is said, and what must not matter."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from simpgcn import SimPGCNClassifier, runs
from simpgcn.data.tables import load_new_nodes, load_tables
from simpgcn.errors import SimPGCNError
from simpgcn.similarity import cache, nearest_neighbors

QUICK = ("--set", "training.epochs=3", "--set", "model.hidden_channels=8", "--set", "similarity.k=5", "--device", "cpu")
ROWS = [(f"c{i}", 20 + i % 7, "Rome" if i % 3 else "Oslo", "" if i % 9 == 8 else "ab"[i % 2]) for i in range(40)]
LINKS = [(f"c{i}", f"c{(i * 7 + 2) % 40}", 1 + i % 3) for i in range(40)]
NEW = "id,city,age,kind,note\nnew2,Rome,21,a,x\nnew1,Paris,,,y\nnew3,Oslo,24,b,z\n"
NEW_EDGES = "from,to\nnew1,new2\nc1,new1\nc1,c2\nnew2,c7\nnew2,nobody\n"


def write(name: str, header: str, rows: list[tuple]) -> None:
    Path(name).write_text(header + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))


@pytest.fixture(autouse=True)
def _tables(tmp_path, monkeypatch):
    """A graph's two tables and those of new nodes."""
    monkeypatch.chdir(tmp_path)
    write("nodes.csv", "id,age,city,kind", ROWS)
    write("edges.csv", "from,to,w", LINKS)
    Path("new.csv").write_text(NEW)
    Path("new_edges.csv").write_text(NEW_EDGES)


TRAIN = ("train", "--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "kind", *QUICK, "--out", "run")


def test_new_nodes_from_tables(simpgcn):
    assert simpgcn(*TRAIN)[0] == 0
    before = Path("run/predictions.parquet").read_bytes()
    for name in ("nodes.csv", "edges.csv"):
        Path(name).unlink()  # the run folder has all that is needed
    code, out, err = simpgcn("predict", "run", "--nodes", "new.csv", "--edges", "new_edges.csv", "--out", "p.parquet")
    assert (code, err) == (0, "")
    words = " ".join(out.split())
    assert "Columns not looked at: kind, note." in words
    assert "between known nodes 1" in words
    assert "unknown id 1" in words
    assert "3 predictions written to p.parquet" in words
    table = pyarrow.parquet.read_table("p.parquet")
    assert table.column_names == pyarrow.parquet.read_table("run/predictions.parquet").column_names
    assert table["node"].to_pylist() == ["new1", "new2", "new3"]
    assert table["label"].to_pylist() == [None, None, None]
    assert set(table["predicted"].to_pylist()) <= {"a", "b"}
    np.testing.assert_allclose(np.add(table["probability_a"], table["probability_b"]), 1, rtol=1e-6)
    shares = [table[f"leans_on_{name}"] for name in ("graph", "look_alikes", "itself")]
    np.testing.assert_allclose(np.sum(shares, axis=0), 1, rtol=1e-6)
    assert Path("run/predictions.parquet").read_bytes() == before
    simpgcn("predict", "run", "--out", "known.parquet")
    assert pyarrow.parquet.read_table("known.parquet").equals(pyarrow.parquet.read_table("run/predictions.parquet"))


@pytest.mark.parametrize("nodes", [(), ("--nodes", "new.csv")])
def test_the_look_alikes_of_training_are_not_searched_again(simpgcn, monkeypatch, nodes):
    simpgcn(*TRAIN)

    def fail(*_, **__):
        raise AssertionError("searched again")

    monkeypatch.setattr("simpgcn.similarity.cache.nearest_neighbors", fail)
    assert simpgcn("predict", "run", *nodes)[0] == 0


def test_json_says_what_was_understood(simpgcn):
    simpgcn(*TRAIN)
    code, out, _ = simpgcn("predict", "run", "--nodes", "new.csv", "--edges", "new_edges.csv", "--json")
    answer = json.loads(out)
    assert (code, answer["nodes"], answer["predictions"]) == (0, 3, "predictions.csv")
    assert answer["understood"]["edges"] == {"listed": 5, "dropped": {"unknown id": 1, "between known nodes": 1}}
    assert answer["understood"]["columns_left_out"] == ["kind", "note"]


def test_without_edges_and_in_any_order(simpgcn):
    simpgcn(*TRAIN)
    simpgcn("predict", "run", "--nodes", "new.csv", "--out", "first.csv")
    lines = NEW.splitlines()
    Path("new.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    assert simpgcn("predict", "run", "--nodes", "new.csv", "--out", "second.csv")[0] == 0
    assert Path("first.csv").read_text() == Path("second.csv").read_text()


@pytest.mark.parametrize(
    ("new", "options", "words"),
    [
        ("id,age\nn1,3\n", (), "no column 'city', which the model was trained with"),
        ("name,age,city\nn1,3,Rome\n", (), "'id'"),
        ("id,age,city\nc3,3,Rome\nn1,2,Oslo\n", (), "has ids of nodes that were there in training, such as 'c3'"),
        ("id,age,city\nn1,3,Rome\nn1,4,Rome\n", (), "has the id 'n1' in rows 1 and 2"),
        (NEW, ("--weights", "w"), "trained on edges without weights"),
    ],
)
def test_what_is_wrong_ends_in_a_sentence(simpgcn, new, options, words):
    simpgcn(*TRAIN)
    Path("new.csv").write_text(new)
    code, out, err = simpgcn("predict", "run", "--nodes", "new.csv", "--edges", "new_edges.csv", *options)
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1
    assert not Path("predictions.csv").exists()


def test_options_that_need_new_nodes_or_tables(simpgcn):
    assert "give their table with --nodes" in simpgcn("predict", "run", "--edges", "new_edges.csv")[2]
    simpgcn("train", "demo", *QUICK, "--out", "demo")
    assert "trained on demo, not on tables" in simpgcn("predict", "demo", "--nodes", "new.csv")[2]
    simpgcn(*TRAIN[:-1], "filtered", "--model", "gcn-jaccard")
    assert "gcn-jaccard cannot predict for new nodes" in simpgcn("predict", "filtered", "--nodes", "new.csv")[2]


def known(**options) -> pa.Table:
    columns = dict(zip(("id", "age", "city", "kind"), map(list, zip(*ROWS, strict=True)), strict=True))
    links = dict(zip(("from", "to", "w"), map(list, zip(*LINKS, strict=True)), strict=True))
    return load_tables(pa.table(columns), pa.table(links), "kind", **options)


def test_new_rows_are_prepared_as_the_known_ones():
    graph = known()
    again = pa.table({"id": ["n1", "n0"], "age": ["21", "20"], "city": ["Rome", "Oslo"]})
    new = load_new_nodes(again, None, graph)
    rows = [graph.node_ids.to_pylist().index(name) for name in ("c0", "c1")]  # aged 20 and 21
    assert new.x.to_dense().equal(graph.x.to_dense()[rows])
    assert new.node_ids.to_pylist() == ["n0", "n1"]
    strange = load_new_nodes(pa.table({"id": ["n"], "age": [None], "city": ["Paris"]}), None, graph).x.to_dense()
    assert strange[0, 1:].tolist() == [0, 0]  # a city that was not there is none of those that were


@pytest.mark.parametrize("directed", [False, True])
def test_only_new_nodes_take(directed):
    graph = known(directed=directed)
    nodes = pa.table({"id": ["n0", "n1"], "age": [1, 2], "city": ["Rome", "Rome"]})
    ends = [("n0", "c1"), ("c2", "n0"), ("n0", "n1"), ("c3", "c4"), ("n1", "n1")]
    new = load_new_nodes(nodes, pa.table({"from": [a for a, _ in ends], "to": [b for _, b in ends]}), graph)
    names = [*graph.node_ids.to_pylist(), "n0", "n1"]
    taken = {(names[i], names[j]) for i, j in new.edge_index.T.tolist()}
    expected = {("n0", "c1"), ("n0", "n1")}
    assert taken == (expected if directed else expected | {("n0", "c2"), ("n1", "n0")})
    others = {"from a known node to a new one": 1} if directed else {}
    assert new.understood["edges"]["dropped"] == {"to itself": 1, "between known nodes": 1, **others}


def test_weights_are_on_the_known_scale():
    graph = known(weights="w")
    nodes = pa.table({"id": ["n0"], "age": [1], "city": ["Rome"]})
    new = load_new_nodes(nodes, pa.table({"from": ["n0"], "to": ["c1"], "w": [6.0]}), graph)
    assert new.edge_weight.item() == pytest.approx(6 / graph.preparation["weight_scale"])
    assert load_new_nodes(nodes, None, graph).edge_weight.numel() == 0
    with pytest.raises(SimPGCNError, match="'w'"):
        load_new_nodes(nodes, pa.table({"from": ["n0"], "to": ["c1"]}), graph)


def test_ids_of_another_type_are_texts():
    graph = load_tables(pa.table({"id": range(20), "age": [5, 1] * 10, "kind": ["x", "y"] * 10}), None, "kind")
    edges = pa.table({"from": ["n0", "5"], "to": ["3", "n0"]})
    new = load_new_nodes(pa.table({"id": ["n0"], "age": [3]}), edges, graph)
    assert sorted(new.edge_index[1].tolist()) == [3, 5]
    assert load_new_nodes(pa.table({"id": [99], "age": [3]}), None, graph).node_ids.type == pa.int64()


def test_a_graph_without_tables_is_told(small):
    with pytest.raises(SimPGCNError, match="not made of tables"):
        load_new_nodes(pa.table({"id": [1]}), None, small)


def test_a_weighted_directed_run_predicts(simpgcn):
    assert simpgcn(*TRAIN, "--weights", "w", "--directed")[0] == 0
    Path("new_edges.csv").write_text("from,to,w\nnew1,c3,2\nc4,new1,1\nnew2,new1,0.5\n")
    code, out, _ = simpgcn("predict", "run", "--nodes", "new.csv", "--edges", "new_edges.csv")
    assert code == 0
    assert "from a known node to a new one 1" in " ".join(out.split())
    assert runs.run_graph(Path("run")).edge_weight is not None


@pytest.fixture
def searches(monkeypatch, tmp_path):
    """The searches of nodes among themselves that no file answered, with a cache of one's own."""
    monkeypatch.setenv("SIMPGCN_DATA", str(tmp_path / "here"))
    made = []

    def counting(x, *args, **kwargs):
        made.append(x.size(0))
        return nearest_neighbors(x, *args, **kwargs)

    monkeypatch.setattr(cache, "nearest_neighbors", counting)
    return made


def predicted(simpgcn) -> bytes:
    assert simpgcn("predict", "run", "--nodes", "new.csv", "--edges", "new_edges.csv", "--out", "p.csv")[0] == 0
    return Path("p.csv").read_bytes()


def test_a_run_folder_holds_its_search(simpgcn, searches, tmp_path, monkeypatch):
    assert simpgcn(*TRAIN)[0] == 0
    assert searches == [40]
    first = predicted(simpgcn)
    (kept,) = Path("run/similarity").iterdir()
    whole = kept.read_bytes()
    monkeypatch.setenv("SIMPGCN_DATA", str(tmp_path / "elsewhere"))
    assert predicted(simpgcn) == first
    assert simpgcn("predict", "run", "--out", "known.csv")[0] == 0
    assert searches == [40]
    place = whole.index(b'"content":"') + len(b'"content":"')
    foreign = whole[:place] + (b"1" if whole[place : place + 1] == b"0" else b"0") + whole[place + 1 :]
    flipped = whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]
    for number, damaged in enumerate((whole[:50], foreign, flipped), start=2):
        kept.write_bytes(damaged)
        assert predicted(simpgcn) == first
        assert searches == [40] * number
        assert kept.read_bytes() == whole
    assert predicted(simpgcn) == first
    assert len(searches) == 4


def test_an_older_run_folder_searches_as_before(simpgcn, searches):
    assert simpgcn(*TRAIN)[0] == 0
    first = predicted(simpgcn)
    shutil.rmtree("run/similarity")
    assert predicted(simpgcn) == first
    assert searches == [40]


def test_a_saved_classifier_holds_its_search(searches, tmp_path, monkeypatch):
    data = load_tables("nodes.csv", "edges.csv", "kind")
    new = load_new_nodes("new.csv", "new_edges.csv", data)
    clf = SimPGCNClassifier(epochs=2, hidden_channels=8, k=5, device="cpu").fit(data)
    clf.save("saved")
    first = clf.predict_new(data, new).logits
    monkeypatch.setenv("SIMPGCN_DATA", str(tmp_path / "elsewhere"))
    again = SimPGCNClassifier.load("saved", device="cpu").predict_new(data, new).logits
    np.testing.assert_array_equal(first, again)
    assert searches == [40]
