from __future__ import annotations

import pickle
import shutil
import subprocess
import sys

import pytest
import torch

from simpgcn.data import CATALOG, dataset_statistics, load_dataset
from simpgcn.data.catalog import catalog_entry
from simpgcn.data.prognn import RATES
from simpgcn.data.statistics import PAPER, _read_adjacency_lists
from simpgcn.errors import SimPGCNError

PAPERS_SEVEN = ["cora", "citeseer", "pubmed", "actor", "cornell", "texas", "wisconsin"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMPGCN_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


def test_made_up_families():
    graph = load_dataset("homophily-0.3")
    same = graph.y[graph.edge_index[0]] == graph.y[graph.edge_index[1]]
    assert same.float().mean().item() == pytest.approx(0.3)
    other = load_dataset("homophily-0.9")
    assert torch.equal(graph.y, other.y)
    assert torch.equal(graph.x.to_dense(), other.x.to_dense())
    assert load_dataset("nodes-300").num_nodes == 300
    for wrong in ("homophily-high", "nodes-", "nodes--3"):
        with pytest.raises(SimPGCNError, match="unknown dataset"):
            load_dataset(wrong)


@pytest.mark.parametrize("name", [n for n in PAPERS_SEVEN if n != "actor"])
def test_table_2_in_its_own_counting(mirror, name):
    assert dataset_statistics(name)[:4] == PAPER[name]


def test_actor_is_what_the_public_files_hold(mirror):
    assert dataset_statistics("actor")[:4] == (7600, 33391, 932, 5)


@pytest.mark.parametrize(
    ("name", "nodes", "edges"),
    [("coauthor-cs", 18333, 163788), ("amazon-computers", 13752, 491722), ("cora-prognn", 2485, 10138)],
)
def test_further_graphs(mirror, name, nodes, edges):
    data = load_dataset(name)
    assert (data.num_nodes, data.num_edges) == (nodes, edges)
    assert not data.is_directed()


def test_direction_is_a_choice(mirror):
    directed, undirected = load_dataset("texas", directed=True), load_dataset("texas")
    assert directed.num_edges == 325
    assert directed.is_directed()
    assert undirected.is_undirected()
    wanted = {tuple(sorted(edge)) for edge in directed.edge_index.T.tolist()}
    assert {tuple(sorted(edge)) for edge in undirected.edge_index.T.tolist()} == wanted


# Undirected edges of the clean graphs, and how many of them metattack flipped at each rate.
FLIPS = {
    "cora": (5069, [253, 506, 760, 1013, 1267]),
    "citeseer": (3668, [183, 366, 550, 733, 917]),
    "pubmed": (44324, [2216, 4432, 6648, 8864, 11081]),
}


@pytest.mark.parametrize("name", FLIPS)
def test_published_attacked_graphs_are_so_many_flips_away(mirror, name):
    def pairs(data):
        return {tuple(edge) for edge in data.edge_index.T.tolist()}

    edges, flips = FLIPS[name]
    clean = load_dataset(f"{name}-prognn")
    before = pairs(clean)
    assert len(before) == 2 * edges
    for rate, flipped in zip(RATES, flips, strict=True):
        attacked = load_dataset(f"{name}+metattack@{rate}")
        assert attacked.is_undirected()
        assert not attacked.has_self_loops()
        assert len(before ^ pairs(attacked)) == 2 * flipped
        assert torch.equal(attacked.x, clean.x)
        assert torch.equal(attacked.test_mask, clean.test_mask)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("texas+metattack@0.1", "unknown attacked graph 'texas': Known: cora, citeseer, pubmed"),
        ("cora+metattack@0.3", r"unknown attack 'metattack@0.3': did you mean .*metattack@0.25"),
        ("core+metattack@0.1", "did you mean cora"),
    ],
)
def test_names_of_attacked_graphs_that_are_none(name, message):
    with pytest.raises(SimPGCNError, match=message):
        catalog_entry(name)


def test_nothing_is_written_to_the_mirror(mirror, home):
    before = sorted(path for path in mirror.rglob("*"))
    load_dataset("texas")
    assert sorted(path for path in mirror.rglob("*")) == before
    assert (home / "webkb/texas/raw").is_dir()
    assert not list(home.glob(".installing-*"))


@pytest.fixture
def own_mirror(mirror, tmp_path, monkeypatch):
    """A mirror that may be damaged."""
    copy = tmp_path / "mirror"
    shutil.copytree(mirror / "webkb/texas/raw", copy / "webkb/texas/raw")
    for path in copy.rglob("*"):
        path.chmod(0o755)
    monkeypatch.setenv("SIMPGCN_DATA_MIRROR", str(copy))
    return copy


def test_corrupt_file_is_named_and_leaves_nothing(own_mirror, home):
    file = own_mirror / "webkb/texas/raw/out1_graph_edges.txt"
    file.write_text(file.read_text().replace("0\t58", "0\t59", 1) + " ")
    with pytest.raises(SimPGCNError, match=rf"{file} is damaged"):
        load_dataset("texas")
    assert not (home / "webkb/texas").exists()
    assert not list(home.rglob(".installing-*"))


def test_missing_file_cannot_be_downloaded(own_mirror, home, monkeypatch):
    (own_mirror / "webkb/texas/raw/out1_graph_edges.txt").unlink()

    def no_network(*args, **kwargs):
        raise OSError("no network here")

    monkeypatch.setattr("torch_geometric.datasets.webkb.download_url", no_network)
    with pytest.raises(SimPGCNError, match=r"could not be downloaded .*no network here.*out1_graph_edges.txt"):
        load_dataset("texas")
    assert not (home / "webkb/texas").exists()


def test_downloaded_files_are_checked_before_they_are_opened(home, monkeypatch):
    """A hostile pickle in place of a Planetoid file must not be opened."""
    monkeypatch.delenv("SIMPGCN_DATA_MIRROR", raising=False)

    class Hostile:
        def __reduce__(self):
            return (pytest.fail, ("the pickle was opened",))

    def fake_download(source, target, **kwargs):
        with open(f"{target}/{source.rsplit('/', 1)[1]}", "wb") as file:
            pickle.dump(Hostile(), file)

    monkeypatch.setattr("torch_geometric.datasets.planetoid.fs.cp", fake_download)
    with pytest.raises(SimPGCNError, match="damaged or not the published planetoid/Cora/raw"):
        load_dataset("cora")
    assert not (home / "planetoid/Cora").exists()


def test_damaged_processed_file_is_made_again(mirror, home):
    first = load_dataset("texas")
    (home / "webkb/texas/processed/data.pt").write_bytes(b"half")
    assert torch.equal(load_dataset("texas").x, first.x)


def test_raw_files_put_into_the_home_by_hand_are_never_removed(mirror, home, monkeypatch):
    monkeypatch.delenv("SIMPGCN_DATA_MIRROR")
    raw = home / "webkb/texas/raw"
    shutil.copytree(mirror / "webkb/texas/raw", raw)
    for path in (raw, *raw.iterdir()):
        path.chmod(0o755)
    assert load_dataset("texas").num_nodes == 183
    (home / "webkb/texas/processed/data.pt").write_bytes(b"half")
    assert load_dataset("texas").num_nodes == 183
    damaged = raw / "out1_graph_edges.txt"
    damaged.write_text("nonsense")
    (home / "webkb/texas/processed/data.pt").write_bytes(b"half")
    with pytest.raises(SimPGCNError, match=f"{damaged} is damaged"):
        load_dataset("texas")
    assert len(list(raw.iterdir())) == 12


def test_adjacency_file_is_checked_before_it_is_opened(mirror, home):
    load_dataset("cora")
    (home / "planetoid/Cora/raw/ind.cora.graph").write_bytes(b"half")
    with pytest.raises(SimPGCNError, match=r"ind\.cora\.graph is damaged"):
        dataset_statistics("cora")


def test_adjacency_reader_refuses_code(tmp_path):
    path = tmp_path / "graph"
    path.write_bytes(pickle.dumps(print))
    with pytest.raises(SimPGCNError, match=r"builtins.print"):
        _read_adjacency_lists(path)


def test_two_processes_install_at_once(mirror, home):
    command = [sys.executable, "-c", "from simpgcn import load_dataset; print(load_dataset('cornell').num_nodes)"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=120)[0].strip() for process in both] == ["183", "183"]


def test_unknown_names_come_with_the_nearest():
    with pytest.raises(SimPGCNError, match=r"unknown dataset 'citseer': did you mean citeseer"):
        catalog_entry("citseer")
    with pytest.raises(SimPGCNError, match="Known: demo"):
        load_dataset("no such thing at all")


def test_faults_of_the_published_data_are_told(mirror):
    """Cornell carries Texas's features; 15 CiteSeer nodes have none; Texas has a class of one."""
    cornell, texas, citeseer = (load_dataset(name) for name in ("cornell", "texas", "citeseer"))
    assert torch.equal(cornell.x, texas.x)
    assert torch.equal(cornell.y, texas.y)
    assert int((citeseer.x.sum(1) == 0).sum()) == 15
    assert int(torch.bincount(texas.y).min()) == 1
    assert all(CATALOG[name].notes for name in ("cornell", "texas", "citeseer", "actor"))
