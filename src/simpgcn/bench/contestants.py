"""Who takes part: for each task, ways to do it by name. A measurement is a call that returns seconds."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial

import torch
from torch_geometric.data import Data

from simpgcn.bench.measure import per_epoch, seconds
from simpgcn.bench.plain_pyg import PlainTraining, plain_inputs
from simpgcn.bench.plain_search import scikit_argsort, scikit_nearest
from simpgcn.config import Config
from simpgcn.training import Trainer, feature_graph, prepare, pretext_pairs

OURS = "simpgcn"
FLOOR = "memory floor"
ARGSORT = "scikit-learn, argsort"
Measurement = Callable[[], float]


def with_feature_graph(data: Data, config: Config, *, cache: bool = True) -> Data:
    """The graph with its feature graph and pairs, as the settings ask for them.

    >>> from simpgcn.bench.graphs import bench_graph
    >>> with_feature_graph(*bench_graph("tiny"), cache=False).feature_edge_index.size(0)
    2
    """
    found: Data = feature_graph(config, pairs=pretext_pairs(config), cache=cache)(data)
    return found


def our_epoch(data: Data, config: Config, epochs: int) -> Measurement:
    """Seconds an epoch, evaluation included; preparation is not counted."""
    problem = prepare(data, config)

    def train(count: int) -> float:
        trainer = Trainer(problem, config.replace({"training": {"epochs": count, "patience": count}}))
        return seconds(trainer.run, problem.labels.nodes.device)

    return lambda: per_epoch(train, epochs)


def plain_epoch(data: Data, config: Config, epochs: int, *, sparse: bool) -> Measurement:
    """The same of the plain implementation with PyG."""
    data = with_feature_graph(data, config).to(config.training.device)
    inputs = plain_inputs(data, config, sparse=sparse)

    def train(count: int) -> float:
        training = PlainTraining(data, inputs, config)
        return seconds(lambda: training.run(count), data.x.device)

    return lambda: per_epoch(train, epochs)


def our_search(data: Data, config: Config) -> Measurement:
    """Seconds for the feature graph and the pairs."""
    device = torch.device(config.training.device)
    data = copy.copy(data).to(device)  # PyG moves in place
    return lambda: seconds(lambda: with_feature_graph(data, config, cache=False), device)


def plain_search(data: Data, config: Config, *, search: Callable[[Data, Config], object]) -> Measurement:
    """The same with scikit-learn, on the CPU."""
    return lambda: seconds(lambda: search(data, config), torch.device("cpu"))


EPOCHS: dict[str, Callable[[Data, Config, int], Measurement]] = {
    OURS: our_epoch,
    "PyG, edge_index": partial(plain_epoch, sparse=False),
    "PyG, sparse matrices": partial(plain_epoch, sparse=True),
}
SEARCHES: dict[str, Callable[[Data, Config], Measurement]] = {
    OURS: our_search,
    "scikit-learn, nearest only": partial(plain_search, search=scikit_nearest),
    ARGSORT: partial(plain_search, search=scikit_argsort),
}
