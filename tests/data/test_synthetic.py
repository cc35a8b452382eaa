from __future__ import annotations

import pytest
import torch
from torch_geometric.utils import degree, homophily

from simpgcn.data import load_dataset, synthetic_graph
from simpgcn.data.synthetic import demo_graph
from simpgcn.errors import SimPGCNError


@pytest.mark.parametrize("wanted", [0.0, 0.2, 0.8, 1.0])
@pytest.mark.parametrize("degrees", ["even", "power-law"])
def test_homophily_and_size_as_asked(wanted, degrees):
    data = synthetic_graph(4000, 5, homophily=wanted, average_degree=8, degrees=degrees)
    assert homophily(data.edge_index, data.y, method="edge") == pytest.approx(wanted, abs=0.02)
    assert data.edge_index.size(1) == 4000 * 8
    assert data.is_undirected()
    assert not data.has_self_loops()
    assert torch.bincount(data.y).tolist() == [800] * 5


@pytest.mark.parametrize(("classes", "degree"), [(5, 100), (10, 60)])
def test_homophily_of_dense_graphs(classes, degree):
    """Repeated draws fall mostly within classes; dropping them must not lower the homophily."""
    data = synthetic_graph(1000, classes, homophily=0.9, average_degree=degree, degrees="power-law")
    assert homophily(data.edge_index, data.y, method="edge") == pytest.approx(0.9, abs=1e-4)
    assert data.edge_index.size(1) == 1000 * degree


def test_degree_distributions():
    even = degree(synthetic_graph(5000, 4, degrees="even").edge_index[0], 5000)
    heavy = degree(synthetic_graph(5000, 4, degrees="power-law").edge_index[0], 5000)
    assert float(even.var()) == pytest.approx(float(even.mean()), rel=0.15)  # Poisson
    assert heavy.max() > 10 * heavy.mean()


@pytest.mark.parametrize("features", ["words", "dense"])
def test_signal_decides_what_features_know(features):
    def nearest_centre_accuracy(signal):
        data = synthetic_graph(2000, 4, features=features, num_features=100, signal=signal, words_per_node=15)
        x = torch.nn.functional.normalize(data.x.to_dense(), dim=1)
        centres = torch.stack([x[:1000][data.y[:1000] == c].mean(0) for c in range(4)])
        scores = x[1000:] @ torch.nn.functional.normalize(centres, dim=1).T
        return (scores.argmax(1) == data.y[1000:]).float().mean()

    nothing, some, much = map(nearest_centre_accuracy, (0.0, 0.2, 0.9))
    assert abs(nothing - 0.25) < 0.05
    assert nothing + 0.2 < some <= much
    assert much > 0.98


def test_words_are_sparse_counts():
    x = synthetic_graph(500, 3, num_features=200, words_per_node=12).x
    assert x.layout == torch.sparse_csr
    assert x.values().min() >= 1
    assert float(x.to_dense().sum(1).mean()) == pytest.approx(12, rel=0.05)


def test_seeded():
    first, again, other = (synthetic_graph(300, seed=s) for s in (1, 1, 2))
    assert torch.equal(first.edge_index, again.edge_index)
    assert torch.equal(first.x.to_dense(), again.x.to_dense())
    assert not torch.equal(first.edge_index, other.edge_index)


def test_demo_is_disassortative_and_always_the_same():
    data = demo_graph()
    assert homophily(data.edge_index, data.y, method="edge") < 0.2
    assert torch.equal(data.edge_index, load_dataset("demo").edge_index)


def test_bad_wishes():
    with pytest.raises(SimPGCNError, match="homophily must be between 0 and 1"):
        synthetic_graph(homophily=1.5)
    with pytest.raises(SimPGCNError, match=r"no room for \d+ links within classes: lower average_degree"):
        synthetic_graph(100, 10, homophily=0.9, average_degree=50)
    with pytest.raises(SimPGCNError, match="average_degree must be 0 or more"):
        synthetic_graph(average_degree=-1)
    with pytest.raises(SimPGCNError, match="num_classes"):
        synthetic_graph(5, 6)
    with pytest.raises(SimPGCNError, match="degrees must be one of"):
        synthetic_graph(degrees="odd")
    with pytest.raises(SimPGCNError, match="features must be one of"):
        synthetic_graph(features="pictures")
    with pytest.raises(SimPGCNError, match="num_features"):
        synthetic_graph(num_features=2)
