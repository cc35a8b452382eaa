from __future__ import annotations

import itertools

import pytest
import torch

from simpgcn.errors import SimPGCNError
from simpgcn.nn import SimPGCN, structure_propagation


@pytest.fixture
def graph():
    torch.manual_seed(0)
    return torch.rand(20, 6), torch.randint(20, (2, 60)), torch.randint(20, (2, 60))


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_any_depth_with_every_state(graph, depth):
    model = SimPGCN(6, 8, 3, num_layers=depth).eval()
    states = model.states(*graph)
    assert [state.hidden.shape[1] for state in states] == [8] * (depth - 1) + [3]
    assert all(state.structure_score.shape == (20,) == state.self_loops.shape for state in states)
    assert torch.equal(states[-1].hidden, model(*graph))
    trust = model.trust(states)
    assert trust.shape == (20, depth, 3)
    torch.testing.assert_close(trust[..., 0] + trust[..., 1], torch.ones(20, depth))
    torch.testing.assert_close(trust[:, -1, 2], 0.1 * states[-1].self_loops)


@pytest.mark.parametrize("depth", [1, 3])
def test_trust_of_the_softmax_gate(graph, depth):
    model = SimPGCN(6, 8, 3, num_layers=depth, gate="softmax").eval()
    trust = model.trust(model.states(*graph))
    assert trust.shape == (20, depth, 3)
    assert (trust > 0).all()
    torch.testing.assert_close(trust.sum(dim=2), torch.full((20, depth), 1.1))


@pytest.mark.parametrize("form", ["paper", "published"])
def test_there_is_a_nonlinearity(graph, form):
    """With linear layers and fixed scores the logits of 2x would be twice those of x."""
    x, index, features = graph
    model = SimPGCN(6, 8, 3, form=form, bias=False, self_loop_weight=0.0).eval()
    for conv in model.convs:
        torch.nn.init.zeros_(conv.score_weight)
    hidden = model.states(x - 0.5, index, features)[0].hidden
    assert (hidden == 0).any()
    assert hidden.min() == 0
    logits = model(x - 0.5, index, features)
    assert logits.min() < 0  # and none on the output
    assert not torch.allclose(model(0.5 - x, index, features), -logits, atol=1e-4)


def test_dropout_only_in_training_and_not_on_the_input(graph):
    model = SimPGCN(6, 8, 3, dropout=0.5)
    first, second = model.train().states(*graph), model.states(*graph)
    assert torch.equal(first[0].structure_score, second[0].structure_score)  # layer 1 reads x as it is
    assert not torch.equal(first[0].hidden, second[0].hidden)
    assert torch.equal(model.eval()(*graph), model(*graph))


def test_normalised_matrices_and_edges_are_the_same_thing(graph):
    x, index, features = graph
    model = SimPGCN(6, 8, 3).eval()
    from simpgcn.nn import feature_propagation

    prepared = model(x, structure_propagation(index, 20), feature_propagation(features, 20))
    torch.testing.assert_close(model(x, index, features), prepared)


def test_double_precision_with_plain_edges(graph):
    x, index, features = graph
    model = SimPGCN(6, 8, 3).eval()
    expected = model(x, index, features)
    out = model.double()(x.double(), index, features)
    assert out.dtype == torch.float64
    torch.testing.assert_close(out.float(), expected)


def test_extra_parameters_are_those_the_paper_counts():
    """Over a GCN of the same size: w_s, b_s, w_K and b_K in each layer, linear in its input size."""
    sizes = [100, 16, 5]
    gcn = sum(a * b + b for a, b in itertools.pairwise(sizes))
    model = SimPGCN(100, 16, 5)
    assert sum(p.numel() for p in model.parameters()) - gcn == sum(2 * (d + 1) for d in sizes[:-1])


def test_bad_settings():
    with pytest.raises(SimPGCNError, match="paper or published"):
        SimPGCN(2, 2, 2, form="printed")
    with pytest.raises(SimPGCNError, match="num_layers"):
        SimPGCN(2, 2, 2, num_layers=0)
