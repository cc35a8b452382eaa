"""NetworkX, SciPy and OGB folders say the same as the tables they were made of."""

from __future__ import annotations

import gzip

import networkx
import numpy as np
import pyarrow as pa
import pytest
import torch
from scipy import sparse

from simpgcn import SimPGCNClassifier, SimPGCNError, from_networkx, from_scipy, load_ogb_folder, load_tables
from simpgcn.config import Config
from simpgcn.data.own_graph import read_own_graph
from simpgcn.training import load_graph


@pytest.fixture
def arrays():
    draw = np.random.default_rng(0)
    kind = np.arange(40) % 2
    x = draw.normal(size=(40, 3)) + 2 * kind[:, None]
    ends = np.array([(a, b) for a, b in draw.integers(0, 40, (120, 2)) if a != b]).T
    return x, np.where(np.arange(40) % 8 == 7, -1, kind), np.unique(ends, axis=1)


def as_tables(arrays):
    x, y, ends = arrays
    columns = {f"x{i}": x[:, i] for i in range(3)}
    labels = pa.array(y, mask=y < 0)
    return pa.table({"node": range(40), **columns, "kind": labels}), pa.table({"source": ends[0], "target": ends[1]})


def edge_set(data):
    return set(map(tuple, data.edge_index.T.tolist()))


def test_networkx(arrays):
    x, y, ends = arrays
    graph = networkx.DiGraph()
    for node in range(40):
        kind = {} if y[node] < 0 else {"kind": int(y[node])}
        graph.add_node(node, **{f"x{i}": x[node, i] for i in range(3)}, **kind)
    graph.add_edges_from(ends.T.tolist())
    for directed in (False, True):
        data = from_networkx(graph, "kind", directed=directed)
        table = load_tables(*as_tables(arrays), "kind", directed=directed)
        assert data.x.equal(table.x)
        assert data.y.equal(table.y)
        assert edge_set(data) == edge_set(table)


def test_networkx_with_nodes_of_several_types():
    graph = networkx.path_graph(20)
    networkx.set_node_attributes(graph, {node: {"size": node % 5, "kind": "ab"[node % 2]} for node in graph})
    graph = networkx.relabel_nodes(graph, {0: ("a", 1), 1: "b"})
    data = from_networkx(graph, "kind")
    assert "('a', 1)" in data.node_ids.to_pylist()
    assert data.edge_index.size(1) == 2 * 19
    grid = networkx.grid_2d_graph(5, 5)
    networkx.set_node_attributes(grid, {node: {"size": node[0], "kind": "ab"[node[1] % 2]} for node in grid})
    assert from_networkx(grid, "kind").edge_index.size(1) == 2 * grid.number_of_edges()


def test_scipy(arrays):
    x, y, ends = arrays
    adjacency = sparse.coo_array((np.ones(ends.shape[1]), ends), shape=(40, 40))
    data = from_scipy(adjacency, x, y, node_ids=[f"n{i}" for i in range(40)])
    table = load_tables(*as_tables(arrays), "kind")
    assert edge_set(data) == edge_set(table)
    assert data.y.equal(table.y)
    assert data.x.equal(torch.from_numpy(x.astype(np.float32)))
    assert data.get("edge_weight") is None
    assert data.node_ids[3].as_py() == "n3"
    assert from_scipy(adjacency, sparse.csr_array(x), y).x.to_dense().equal(data.x)
    weighted = from_scipy(adjacency * 3, x, y, directed=True)
    assert weighted.edge_weight.tolist() == [1.0] * ends.shape[1]
    with pytest.raises(SimPGCNError, match="the adjacency matrix is 40 × 40, but x has 39 rows"):
        from_scipy(adjacency, x[:39], y[:39])


def write_ogb(folder, arrays, split=True):
    x, y, ends = arrays
    texts = {
        "raw/edge": "\n".join(f"{a},{b}" for a, b in ends.T),
        "raw/node-feat": "\n".join(",".join(map(repr, row)) for row in x.astype(np.float32).tolist()),
        "raw/node-label": "\n".join("nan" if label < 0 else str(label) for label in y),
    }
    known = np.flatnonzero(y >= 0)
    if split:
        parts = zip(("train", "valid", "test"), np.array_split(known, 3), strict=True)
        texts |= {f"split/time/{part}": "\n".join(map(str, nodes)) for part, nodes in parts}
    for name, text in texts.items():
        path = folder / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress((text + "\n").encode()))


def test_ogb_folder(arrays, tmp_path):
    x, y, _ = arrays
    write_ogb(tmp_path, arrays)
    data = load_graph(Config().replace({"data": {"name": str(tmp_path)}}))
    assert data.x.equal(torch.from_numpy(x.astype(np.float32)))
    assert data.y.tolist() == y.tolist()
    assert edge_set(data) == edge_set(load_tables(*as_tables(arrays), "kind"))
    assert data.train_mask.nonzero().flatten().tolist() == np.array_split(np.flatnonzero(y >= 0), 3)[0].tolist()
    assert data.understood["labels"]["unlabelled"] == 5
    other = load_ogb_folder(tmp_path, split_kind="random", split=3)
    assert not other.train_mask.equal(data.train_mask)


def test_ogb_folders_that_are_damaged(arrays, tmp_path):
    write_ogb(tmp_path, arrays, split=False)
    assert load_ogb_folder(tmp_path).train_mask.any()
    (tmp_path / "raw" / "node-label.csv.gz").write_bytes(gzip.compress(b"0,1\n" * 40))
    with pytest.raises(SimPGCNError, match="has 2 labels a node"):
        load_ogb_folder(tmp_path)
    (tmp_path / "raw" / "node-label.csv.gz").write_bytes(gzip.compress(b"0\n1\n"))
    with pytest.raises(SimPGCNError, match="the features of 40 nodes but the labels of 2"):
        load_ogb_folder(tmp_path)
    (tmp_path / "raw" / "node-label.csv.gz").write_bytes(b"junk")
    with pytest.raises(SimPGCNError, match="is damaged or no gzipped CSV"):
        load_ogb_folder(tmp_path)
    (tmp_path / "raw" / "node-feat.csv.gz").unlink()
    with pytest.raises(SimPGCNError, match=r"has no node-feat\.csv\.gz"):
        load_ogb_folder(tmp_path)


def test_a_fitted_classifier_keeps_the_users_graph(arrays, tmp_path):
    data = load_tables(*as_tables(arrays), "kind")
    SimPGCNClassifier(epochs=3, k=5, cache=False, device="cpu").fit(data).save(tmp_path / "run")
    kept = read_own_graph(tmp_path / "run")
    assert kept.node_ids.equals(data.node_ids)
    assert kept.x.equal(data.x)
    again = SimPGCNClassifier.load(tmp_path / "run", device="cpu")
    assert again.predict_proba(kept).shape == (40, 2)


def test_scipy_without_edges_is_what_tables_without_edges_are(arrays):
    x, y, _ = arrays
    data = from_scipy(sparse.coo_array((40, 40)), x, y)
    assert data.edge_index.shape == (2, 0)
    assert data.edge_index.dtype == torch.long
    nodes, _ = as_tables(arrays)
    assert data.understood["warnings"] == load_tables(nodes, None, "kind").understood["warnings"]
    assert "there are no edges: only look-alikes connect the nodes" in data.understood["warnings"]
