"""The benchmark graphs by name, through PyG's dataset classes."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from filelock import FileLock
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.datasets import Actor, Amazon, Coauthor, Planetoid, WebKB
from torch_geometric.utils import to_undirected

from simpgcn.data.graph_file import about_graph, read_graph
from simpgcn.data.home import data_home
from simpgcn.data.prognn import ATTACKED, RATES, clean_graph, metattacked_edges
from simpgcn.data.raw_files import copy_from_mirror, verify
from simpgcn.data.splits import SplitKind, apply_split
from simpgcn.data.synthetic import demo_graph, homophily_graph, sized_graph
from simpgcn.data.tables.read_table import is_table_path
from simpgcn.errors import SimPGCNError, unknown_name


@dataclass(frozen=True)
class Benchmark:
    """A published graph that PyG reads, at ``folder`` below the data home.

    ``notes`` are faults of the published data, kept as published.
    """

    title: str
    pyg_class: type[InMemoryDataset]
    folder: str
    split_kind: SplitKind
    notes: tuple[str, ...] = ()

    def read(self) -> Data:
        """The graph, installed into the data home on first use."""
        return _read(self)


@dataclass(frozen=True)
class Made:
    """A graph that is made here. An attacked one is trained with the settings of the graph it was made from."""

    title: str
    make: Callable[[], Data]
    split_kind: SplitKind
    notes: tuple[str, ...] = ()
    made_from: str | None = None

    def read(self) -> Data:
        """The graph, made anew."""
        return self.make()


_SINGLE = "one class has a single node, so that some published splits train without it"
_TEXAS = "carries the features and labels of texas: the published files are the same"
_ACTOR = "the paper's 33,544 edges and 931 features are not those of the public files"
_CITESEER = "15 nodes have no features, and 48 others no edges"
_TWO_SPLITS = (
    "the split pro-gnn, which the published accuracies use, is not the one the attack was most likely computed with: "
    "data.split_kind=pro-gnn-attacker"
)

CATALOG: dict[str, Benchmark | Made] = {
    "demo": Made("made-up articles that cite outside their topic", demo_graph, "random"),
    "cora": Benchmark("papers and citations", Planetoid, "planetoid/Cora", "public"),
    "citeseer": Benchmark("papers and citations", Planetoid, "planetoid/CiteSeer", "public", (_CITESEER,)),
    "pubmed": Benchmark("papers and citations", Planetoid, "planetoid/PubMed", "public"),
    "actor": Benchmark("actors on the same page", Actor, "actor", "published", (_ACTOR,)),
    "cornell": Benchmark("web pages and links", WebKB, "webkb/cornell", "published", (_TEXAS, _SINGLE)),
    "texas": Benchmark("web pages and links", WebKB, "webkb/texas", "published", (_SINGLE,)),
    "wisconsin": Benchmark("web pages and links", WebKB, "webkb/wisconsin", "published"),
    "coauthor-cs": Benchmark("authors writing together", Coauthor, "coauthor/CS", "per-class"),
    "coauthor-physics": Benchmark("authors writing together", Coauthor, "coauthor/Physics", "per-class"),
    "amazon-computers": Benchmark("products bought together", Amazon, "amazon/Computers", "per-class"),
    "cora-prognn": Made("cora's largest component, as in Pro-GNN", partial(clean_graph, "cora"), "pro-gnn"),
    "pubmed-prognn": Made(
        "pubmed with the split of Pro-GNN", lambda: CATALOG["pubmed"].read(), "pro-gnn", (_TWO_SPLITS,)
    ),
    "citeseer-prognn": Made("citeseer's largest component, as in Pro-GNN", partial(clean_graph, "citeseer"), "pro-gnn"),
}

# Made-up graphs named by the number that is chosen, such as homophily-0.3 and nodes-4000.
FAMILIES: dict[str, Callable[[float], Data]] = {"homophily": homophily_graph, "nodes": sized_graph}


def catalog_entry(name: str) -> Benchmark | Made:
    """The entry called ``name``, which may also be that of a published attacked graph or a graph file.

    >>> catalog_entry("cora").title, catalog_entry("homophily-0.3").title
    ('papers and citations', 'made-up articles, homophily 0.3')
    >>> catalog_entry("cora+metattack@0.25").made_from
    'cora-prognn'
    """
    if name.endswith(".npz"):
        path = Path(name)
        return Made("a graph file", partial(read_graph, path), "stored", made_from=about_graph(path).get("made_from"))
    if name in CATALOG:
        return CATALOG[name]
    if is_table_path(name):
        raise SimPGCNError(
            f"{name} is a table: train on it first, then give graph.npz of the run's folder in its place"
        )
    family, _, number = name.rpartition("-")
    if family in FAMILIES and number.replace(".", "", 1).isdecimal():
        return Made(f"made-up articles, {family} {number}", partial(FAMILIES[family], float(number)), "random")
    return _attacked_entry(name)


def settings_name(name: str) -> str:
    """The dataset whose shipped settings ``name`` is trained with: for an attacked graph, the one before the attack.

    >>> settings_name("cora"), settings_name("cora+metattack@0.25")
    ('cora', 'cora-prognn')
    """
    try:
        entry = catalog_entry(name)
    except SimPGCNError:
        return name
    return getattr(entry, "made_from", None) or name


def _attacked_entry(name: str) -> Made:
    """The published graph that a name such as ``cora+metattack@0.25`` means."""
    graph, plus, attack = name.partition("+")
    known = [f"metattack@{rate}" for rate in RATES]
    if not plus:
        raise unknown_name("dataset", name, [*CATALOG, *(f"{family}-NUMBER" for family in FAMILIES)])
    if graph not in ATTACKED:
        raise unknown_name("attacked graph", graph, ATTACKED)
    if attack not in known:
        raise unknown_name("attack", attack, known)
    clean = f"{graph}-prognn"

    def make() -> Data:
        data = CATALOG[clean].read()
        data.edge_index = metattacked_edges(graph, attack.partition("@")[2])
        return data

    title = f"{clean} as the published metattack left it"
    return Made(title, make, "pro-gnn", (_TWO_SPLITS,) if graph == "pubmed" else (), made_from=clean)


def load_dataset(name: str, *, split: int = 0, split_kind: SplitKind | None = None, directed: bool = False) -> Data:
    """A benchmark graph with the masks of one split.

    Raw files come from the data home, else from the mirror, else from PyG's download; each is checked
    against its published checksum before it is opened.

    Args:
        name: A name of the catalogue (``simpgcn datasets`` lists them), of a published attacked graph, such as
            ``cora+metattack@0.25``, or of a graph file, such as ``attacked.npz``.
        split: Which of the splits; never tied to a training seed.
        split_kind: ``public``, ``published``, ``pro-gnn``, ``pro-gnn-attacker`` (PubMed's other one), ``random``,
            ``per-class`` or ``stored`` (in a graph file); the dataset's usual one if left out.
        directed: Keep directed edges as published; by default each edge is taken both ways, which has the
            better validation accuracy on the web graphs and on Actor.

    >>> load_dataset("demo").num_nodes
    2000
    """
    entry = catalog_entry(name)
    data = entry.read()
    if not directed and data.is_directed():
        _take_both_ways(data)
    data.name = name
    return apply_split(data, name, split_kind or entry.split_kind, split)


def _take_both_ways(data: Data) -> None:
    if data.get("edge_weight") is None:
        data.edge_index = to_undirected(data.edge_index, num_nodes=data.num_nodes)
    else:
        data.edge_index, data.edge_weight = to_undirected(data.edge_index, data.edge_weight, num_nodes=data.num_nodes)


def _read(entry: Benchmark) -> Data:
    place = data_home() / entry.folder
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(place.with_name(f".{place.name}.lock")):
        if not place.is_dir():
            return _install(entry, place)
        try:
            return _open(entry, data_home())
        except SimPGCNError:
            raise
        except Exception:
            # Damaged, or processed by another version: made again from the raw files, which are never removed.
            shutil.rmtree(place / "processed", ignore_errors=True)
            return _open_or_explain(entry, data_home(), copy_from_mirror(entry.folder, place / "raw"))


def _install(entry: Benchmark, place: Path) -> Data:
    """Build the folder beside its place and move it there whole: what is in place is complete and checked."""
    with tempfile.TemporaryDirectory(prefix=".installing-", dir=data_home()) as draft:
        missing = copy_from_mirror(entry.folder, Path(draft, entry.folder, "raw"))
        data = _open_or_explain(entry, Path(draft), missing)
        os.replace(Path(draft, entry.folder), place)
        return data


def _open_or_explain(entry: Benchmark, home: Path, missing: list[str]) -> Data:
    try:
        return _open(entry, home)
    except SimPGCNError:
        raise
    except Exception as error:
        raise _cannot_install(entry, missing, error) from error


def _open(entry: Benchmark, home: Path) -> Data:
    class Checked(entry.pyg_class):  # type: ignore[name-defined]
        """Checks raw files before opening them: some are pickles, safe only if they are the published ones."""

        def process(self) -> None:
            for path in self.raw_paths:
                verify(Path(path), f"{entry.folder}/raw/{Path(path).name}")
            super().process()

    root, _, name = entry.folder.partition("/")
    arguments = (str(home / root), name) if name else (str(home / root),)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return Checked(*arguments)[0]


def _cannot_install(entry: Benchmark, missing: list[str], error: Exception) -> SimPGCNError:
    if not missing:
        return SimPGCNError(f"PyG could not read the files of {entry.folder} ({type(error).__name__}: {error})")
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    return SimPGCNError(
        f"the data could not be downloaded ({type(error).__name__}: {error}): connect to a network, or set "
        f"$SIMPGCN_DATA_MIRROR to a folder that holds {missing[0]}{more}"
    )
