"""The graphs to measure on: made-up ones of the benchmarks' sizes, so that nothing need be downloaded, and the real."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch_geometric.data import Data

from simpgcn.config import Config, default_config
from simpgcn.data import CATALOG, apply_split, data_home, load_dataset, synthetic_graph
from simpgcn.data.catalog import Benchmark, catalog_entry


class Size(NamedTuple):
    """What a made-up graph is made of; ``words_per_node`` counts repeated words, of which a graph keeps fewer."""

    nodes: int
    classes: int
    features: int
    words_per_node: float
    average_degree: float


SIZES = {
    "cora-sized": Size(2708, 7, 1433, 21, 3.9),
    "citeseer-sized": Size(3327, 6, 3703, 37, 2.74),
    "pubmed-sized": Size(19717, 3, 500, 77, 4.5),
    "tiny": Size(400, 4, 100, 10, 4),
}


def chosen_graphs(names: Sequence[str], *, quick: bool) -> list[str]:
    """The graphs of a benchmark: those named, else the made-up ones and what is installed of those they imitate.

    >>> chosen_graphs([], quick=True), chosen_graphs(["cora"], quick=False)
    (['tiny'], ['cora'])
    """
    if names:
        for name in names:
            if name not in SIZES:
                catalog_entry(name)
        return list(dict.fromkeys(names))
    if quick:
        return ["tiny"]
    made = [name for name in SIZES if name != "tiny"]
    return made + [name for name in (size.removesuffix("-sized") for size in made) if _installed(name)]


def bench_graph(name: str) -> tuple[Data, Config]:
    """A graph with its split, and the settings it is trained with: the shipped ones of a dataset.

    >>> data, config = bench_graph("tiny")
    >>> data.num_nodes, config.model.hidden_channels
    (400, 128)
    """
    if name in SIZES:
        return made_up(SIZES[name]), Config()
    return load_dataset(name), default_config(name)


def made_up(size: Size) -> Data:
    """A graph of the given size with Planetoid's kind of split where it is large enough.

    >>> made_up(Size(50, 2, 20, 5, 4)).x.shape
    torch.Size([50, 20])
    """
    data = synthetic_graph(
        size.nodes,
        size.classes,
        num_features=size.features,
        words_per_node=size.words_per_node,
        average_degree=size.average_degree,
    )
    return apply_split(data, "made-up", "per-class" if size.nodes >= 2000 else "random", 0)


def _installed(name: str) -> bool:
    entry = CATALOG[name]
    return isinstance(entry, Benchmark) and (data_home() / entry.folder).is_dir()
