"""The statistics of the paper's Table 2, in its own counting."""

from __future__ import annotations

import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from torch_geometric.data import Data
from torch_geometric.utils import homophily, remove_self_loops

from simpgcn.data.catalog import Benchmark, catalog_entry
from simpgcn.data.home import data_home
from simpgcn.data.raw_files import verify
from simpgcn.errors import SimPGCNError


class Statistics(NamedTuple):
    """Sizes of a graph; ``edges`` as the paper counts them, ``homophily`` the share of edges within a class."""

    nodes: int
    edges: int
    features: int
    classes: int
    homophily: float


# What the paper's Table 2 prints: nodes, edges, features, classes.
PAPER: dict[str, tuple[int, int, int, int]] = {
    "cora": (2708, 5429, 1433, 7),
    "citeseer": (3327, 4732, 3703, 6),
    "pubmed": (19717, 44338, 500, 3),
    "actor": (7600, 33544, 931, 5),
    "cornell": (183, 295, 1703, 5),
    "texas": (183, 309, 1703, 5),
    "wisconsin": (251, 499, 1703, 5),
}


def dataset_statistics(name: str) -> Statistics:
    """The statistics of a catalogued graph.

    The paper counts edges in three ways: on the citation graphs, half the entries of the raw adjacency
    lists, before duplicates and self-loops go; on the web graphs, directed edges without self-loops; on
    Actor, the lines of the raw file. Other graphs count undirected edges, or directed ones if they are.

    >>> dataset_statistics("demo").classes
    5
    """
    entry = catalog_entry(name)
    data = entry.read()
    return Statistics(
        nodes=data.num_nodes,
        edges=_count_edges(entry, data),
        features=data.x.size(1),
        classes=int(data.y.max()) + 1,
        homophily=homophily(data.edge_index, data.y, method="edge"),
    )


def _count_edges(entry: Any, data: Data) -> int:
    if isinstance(entry, Benchmark):
        raw = data_home() / entry.folder / "raw"
        family = entry.folder.split("/")[0]
        if family == "planetoid":
            path = raw / f"ind.{entry.folder.split('/')[1].lower()}.graph"
            verify(path, f"{entry.folder}/raw/{path.name}")
            graph = _read_adjacency_lists(path)
            return sum(len(others) for others in graph.values()) // 2
        if family == "actor":
            return len((raw / "out1_graph_edges.txt").read_text().splitlines()) - 1  # a header line
    edge_index, _ = remove_self_loops(data.edge_index)
    return edge_index.size(1) if data.is_directed() else edge_index.size(1) // 2


def _read_adjacency_lists(path: Path) -> dict[int, list[int]]:
    with path.open("rb") as file:
        lists: dict[int, list[int]] = _ListUnpickler(file, encoding="latin1").load()
    return lists


class _ListUnpickler(pickle.Unpickler):
    """Reads dictionaries of lists of numbers and refuses everything else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "defaultdict"):
            return defaultdict
        if name == "list" and module in ("builtins", "__builtin__"):
            return list
        raise SimPGCNError(f"the adjacency file asks for {module}.{name}, which no adjacency list needs")
