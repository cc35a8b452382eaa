from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from simpgcn.data import check_graph, check_labels
from simpgcn.errors import SimPGCNError


@pytest.fixture
def good(small):
    small.x = small.x.to_dense()
    check_graph(small)
    check_labels(small)
    return small


def spoil(name, value):
    def change(data):
        data[name] = value(data)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (spoil("x", lambda d: None), "the graph has no features"),
        (spoil("x", lambda d: d.x[:, :0]), "the graph has no features"),
        (spoil("x", lambda d: d.x[:0]), "the graph has no nodes"),
        (
            spoil("x", lambda d: d.x.index_fill(0, torch.tensor([7]), torch.nan)),
            "NaN or infinite values, first in node 7",
        ),
        (
            spoil("x", lambda d: d.x.index_fill(0, torch.tensor([3]), torch.inf)),
            "NaN or infinite values, first in node 3",
        ),
        (spoil("x", lambda d: (d.x * torch.nan).to_sparse_csr()), "NaN or infinite values"),
        (spoil("edge_index", lambda d: None), "the graph has no edges"),
        (spoil("edge_index", lambda d: d.edge_index.float()), "node numbers"),
        (
            spoil("edge_index", lambda d: torch.tensor([[0, 3], [1, 120]])),
            r"edge 1 goes from node 3 to node 120.*0 to 119",
        ),
        (spoil("edge_index", lambda d: torch.tensor([[-1], [1]])), "edge 0 goes from node -1"),
        (spoil("edge_weight", lambda d: torch.ones(3)), "one number for each of the 480 edges"),
        (spoil("edge_weight", lambda d: torch.ones(480, 1)), "one number for each of the 480 edges"),
        (spoil("edge_weight", lambda d: -torch.ones(480)), "negative, NaN or infinite weights"),
        (spoil("edge_weight", lambda d: torch.full((480,), torch.nan)), "negative, NaN or infinite weights"),
        (spoil("x", lambda d: d.x.numpy()), "data.x must be a torch tensor, not ndarray"),
        (spoil("x", lambda d: d.x.double() * 1e300), "NaN or infinite values"),
    ],
)
def test_unusable_graphs(good, change, message):
    change(good)
    with pytest.raises(SimPGCNError, match=message):
        check_graph(good)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (spoil("y", lambda d: None), "the graph has no labels"),
        (spoil("y", lambda d: d.y[:5]), "one class number .torch.long. for each of the 120 nodes"),
        (spoil("y", lambda d: d.y.float()), "not torch.float32 of shape"),
        (spoil("train_mask", lambda d: None), "the graph has no training set"),
        (spoil("train_mask", lambda d: torch.zeros(120, dtype=torch.bool)), "the training set is empty"),
        (spoil("val_mask", lambda d: torch.zeros(120, dtype=torch.bool)), "the validation set is empty"),
        (spoil("test_mask", lambda d: torch.zeros(120, dtype=torch.bool)), "the test set is empty"),
        (spoil("val_mask", lambda d: d.train_mask), "is in more than one of"),
        (spoil("train_mask", lambda d: d.train_mask & (d.y != 1)), "class 1 has no node in the training set"),
        (spoil("y", lambda d: torch.where(d.val_mask, -1, d.y)), "of the validation set has no label"),
    ],
)
def test_unusable_labels(good, change, message):
    change(good)
    with pytest.raises(SimPGCNError, match=message):
        check_labels(good)


def test_absent_classes_may_be_allowed(good):
    good.train_mask = good.train_mask & (good.y != 1)
    check_labels(good, "allow")


def test_a_test_set_is_not_needed(good):
    del good.test_mask
    check_labels(good)


def test_no_edges_is_a_graph():
    check_graph(Data(x=torch.ones(3, 1), edge_index=torch.empty(2, 0, dtype=torch.long)))
