from __future__ import annotations

import pytest
import torch

from simpgcn.errors import SimPGCNError
from simpgcn.nn import SimilarityHead, draw_pairs
from simpgcn.similarity import Pairs


@pytest.fixture
def pairs():
    torch.manual_seed(0)
    return Pairs(torch.randint(10, (2, 30)), torch.rand(30), torch.rand(30) < 0.5)


def test_regression_equals_the_sum_of_the_paper(pairs):
    head, hidden = SimilarityHead(4).requires_grad_(False), torch.randn(10, 4)
    (w,), (b,) = head.linear.weight, head.linear.bias
    total = 0.0
    for i, j, s in zip(*pairs.nodes.tolist(), pairs.similarity.tolist(), strict=True):
        total += (float(w @ (hidden[i] - hidden[j]).abs() + b) - s) ** 2
    assert head(hidden, pairs).item() == pytest.approx(total / 30, rel=1e-5)


def test_classification_is_the_binary_cross_entropy(pairs):
    head, hidden = SimilarityHead(4, "classification").requires_grad_(False), torch.randn(10, 4)
    (w,), (b,) = head.linear.weight, head.linear.bias
    total = 0.0
    for i, j, similar in zip(*pairs.nodes.tolist(), pairs.similar.tolist(), strict=True):
        p = torch.sigmoid(w @ (hidden[i] - hidden[j]).abs() + b)
        total -= float(torch.log(p if similar else 1 - p))
    assert head(hidden, pairs).item() == pytest.approx(total / 30, rel=1e-5)


def test_order_within_a_pair_does_not_matter(pairs):
    head, hidden = SimilarityHead(4), torch.randn(10, 4)
    assert head(hidden, pairs).item() == head(hidden, pairs._replace(nodes=pairs.nodes.flip(0))).item()


def test_pairs_are_drawn_afresh_without_repetition(pairs):
    unique = pairs._replace(nodes=torch.stack([torch.arange(30), torch.arange(30, 60)]))
    first, second = draw_pairs(unique, 12), draw_pairs(unique, 12)
    assert len(set(first.nodes[0].tolist())) == 12
    assert not torch.equal(first.nodes, second.nodes)
    assert torch.equal(first.similarity, unique.similarity[first.nodes[0]])
    assert draw_pairs(unique, 30) is unique


def test_unknown_task():
    with pytest.raises(SimPGCNError, match="regression or classification"):
        SimilarityHead(4, "ranking")
