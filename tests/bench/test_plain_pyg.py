from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from simpgcn.bench.contestants import with_feature_graph
from simpgcn.bench.plain_pyg import PlainSimPGCN, PlainTraining, plain_inputs
from simpgcn.config import Config
from simpgcn.data import row_normalize
from simpgcn.nn import SimilarityHead, SimPGCN
from simpgcn.similarity import Pairs

CONFIG = Config().replace(
    {"model": {"hidden_channels": 8, "structure_bias": 0.3, "pretext_weight": 2.0, "pretext_samples": 10**6}}
)


@pytest.fixture
def graph(small):
    small.x = small.x.to_dense().double()
    return with_feature_graph(small, CONFIG, cache=False)


def same_parameters(ours: SimPGCN, head: SimilarityHead, plain: PlainSimPGCN) -> list[tuple[torch.Tensor, ...]]:
    """Copies ours into the plain model, random biases included; returns the pairs of parameters, ours as theirs."""
    pairs = []
    for conv, other in zip(ours.convs, (plain.conv1, plain.conv2), strict=True):
        pairs += [
            (conv.weight, other.conv.lin.weight),
            (conv.bias, other.conv.bias),
            (conv.score_weight, other.score.weight),
            (conv.score_bias, other.score.bias),
            (conv.self_loop_score_weight, other.self_loops.weight),
            (conv.self_loop_score_bias, other.self_loops.bias),
        ]
    pairs += [(head.linear.weight, plain.pretext.weight), (head.linear.bias, plain.pretext.bias)]
    with torch.no_grad():
        for own, other in pairs:
            if own.dim() == 1:
                own.uniform_(-1, 1)
            other.copy_(own if own.shape == other.shape else own.T)
    return pairs


@pytest.mark.parametrize("sparse", [False, True])
def test_it_is_the_same_function_with_the_same_gradients(graph, sparse):
    settings = CONFIG.model
    ours = SimPGCN(60, 8, 3, dropout=0.0, self_loop_weight=settings.self_loop_weight, structure_bias=0.3).double()
    head = SimilarityHead(8).double()
    training = PlainTraining(graph, plain_inputs(graph, CONFIG, sparse=sparse), CONFIG)
    plain = training.model.double()
    plain.dropout = 0.0
    parameters = same_parameters(ours, head, plain)

    edges = (graph.edge_index, graph.feature_edge_index, None, graph.feature_edge_weight.double())
    states = ours.states(row_normalize(graph.x), *edges)
    logits, hidden = plain(*training.inputs)
    torch.testing.assert_close(logits, states[-1].hidden)
    torch.testing.assert_close(hidden, states[0].hidden)

    graph.pair_similarity = graph.pair_similarity.double()
    found = Pairs(graph.pair_index, graph.pair_similarity, graph.pair_similar)
    loss = F.cross_entropy(states[-1].hidden[graph.train_mask], graph.y[graph.train_mask])
    loss = loss + settings.pretext_weight * head(states[0].hidden, found)
    torch.testing.assert_close(training.loss(), loss)
    ours_first = torch.autograd.grad(loss, [own for own, _ in parameters])
    theirs = torch.autograd.grad(training.loss(), [other for _, other in parameters])
    for own, other in zip(ours_first, theirs, strict=True):
        torch.testing.assert_close(other, own if own.shape == other.shape else own.T)


def test_it_learns(small):
    data = with_feature_graph(small, CONFIG, cache=False)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        training = PlainTraining(data, plain_inputs(data, CONFIG, sparse=True), CONFIG)
        training.run(100)
    assert training.best_accuracy > 0.7
    assert set(training.best_state) == set(training.model.state_dict())
