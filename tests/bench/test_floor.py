from __future__ import annotations

import torch

from simpgcn.bench.contestants import with_feature_graph
from simpgcn.bench.floor import Sizes, epoch_bytes, sizes, triad
from simpgcn.config import Config
from simpgcn.training import Trainer, prepare

SIZE = Sizes(nodes=100, features=50, stored_features=300, edges=500, feature_edges=2000, hidden=16, classes=3, pairs=20)


def test_bytes_of_every_pass_counted_by_hand():
    x = 2 * 300 + 100
    graph, features = 2 * 500 + 100, 2 * 2000 + 100
    assert epoch_bytes(SIZE) == {
        "first product": 4 * (x + 50 * 18 + 1800),
        "first mix": 4 * (graph + features + 1800 + 1600),
        "second product": 8 * (1600 + 16 * 5 + 500),
        "second mix": 8 * (graph + features + 500 + 300),
        "pretext": 4 * (40 * 16 + 60),
        "second mix, backward": 4 * (300 + 500 + graph + 2 * features + 500),
        "second product, backward": 4 * (500 + 1600 + 1600),
        "first mix, backward": 4 * (1600 + 1800 + graph + 2 * features + 1800),
        "first product, backward": 4 * (x + 1800 + 50 * 18),
        "Adam": 4 * 7 * (50 * 18 + 16 * 5 + 4 + 16 + 3 + 17),
    }


def test_dense_features_are_counted_dense_and_pairs_at_most_once_a_node():
    full = SIZE._replace(stored_features=100 * 50, pairs=10_000)
    assert epoch_bytes(full)["first product"] == 4 * (100 * 50 + 50 * 18 + 1800)
    assert epoch_bytes(full)["pretext"] == 4 * (100 * 16 + 30_000)


def test_sizes_and_parameters_are_those_of_a_training(small):
    config = Config().replace({"training": {"device": "cpu"}})
    found = sizes(with_feature_graph(small, config, cache=False), config)
    problem = prepare(small, config, cache=False)
    assert found.nodes == 120
    assert found.stored_features == small.x.values().count_nonzero()
    assert (found.edges, found.feature_edges) == tuple(m.matrix.values().numel() for m in problem.inputs[1:3])
    assert found.pairs == problem.pairs.similarity.numel()
    parameters = sum(p.numel() for p in Trainer(problem, config).objective.parameters())
    assert epoch_bytes(found)["Adam"] == 4 * 7 * parameters


def test_bandwidth_is_that_of_a_memory():
    assert 1e8 < triad(torch.device("cpu"), 1 << 20)() < 1e14
