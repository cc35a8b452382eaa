from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from simpgcn.data import apply_split, load_dataset, per_class_split, random_split
from simpgcn.errors import SimPGCNError


def disjoint(masks):
    return int(sum(mask.long() for mask in masks.values()).max()) <= 1


def test_random_split_is_stratified():
    y = torch.tensor([0] * 100 + [1] * 50 + [2] * 10 + [3] * 1 + [-1] * 20)
    masks = random_split(y, 0)
    assert disjoint(masks)
    for label, counts in {0: (60, 20, 20), 1: (30, 10, 10), 2: (6, 2, 2), 3: (1, 0, 0), -1: (0, 0, 0)}.items():
        assert tuple(int(mask[y == label].sum()) for mask in masks.values()) == counts


def test_per_class_split():
    y = torch.arange(3000) % 7
    masks = per_class_split(y, 0)
    assert disjoint(masks)
    assert torch.bincount(y[masks["train"]]).tolist() == [20] * 7
    assert (int(masks["val"].sum()), int(masks["test"].sum())) == (500, 1000)


@pytest.mark.parametrize("make", [random_split, per_class_split])
def test_the_number_picks_the_split_and_no_global_seed_does(make):
    y = torch.arange(2000) % 3
    torch.manual_seed(1)
    first = make(y, 0)["train"]
    torch.manual_seed(2)
    state = torch.get_rng_state()
    assert torch.equal(first, make(y, 0)["train"])
    assert torch.equal(state, torch.get_rng_state())
    assert not torch.equal(first, make(y, 1)["train"])


def test_published_splits_are_columns():
    masks = {f"{part}_mask": torch.rand(6, 10) < 0.5 for part in ("train", "val", "test")}
    data = Data(x=torch.ones(6, 1), y=torch.zeros(6, dtype=torch.long), **masks)
    assert torch.equal(apply_split(data, "g", "published", 3).train_mask, masks["train_mask"][:, 3])
    assert data.train_mask.shape == (6, 10)  # the graph given is left alone
    with pytest.raises(SimPGCNError, match=r"g has 10 published splits: --split 10 does not exist"):
        apply_split(data, "g", "published", 10)
    with pytest.raises(SimPGCNError, match="g has no public split"):
        apply_split(data, "g", "public", 0)
    with pytest.raises(SimPGCNError, match="split_kind must be one of"):
        apply_split(data, "g", "best", 0)
    with pytest.raises(SimPGCNError, match="0 or more"):
        apply_split(data, "g", "published", -1)


def test_sizes_of_the_benchmarks_splits(mirror):
    def sizes(name, **kwargs):
        data = load_dataset(name, **kwargs)
        return tuple(int(data[f"{part}_mask"].sum()) for part in ("train", "val", "test"))

    assert sizes("cora") == (140, 500, 1000)
    assert sizes("wisconsin", split=9) == (120, 80, 51)
    assert sizes("cora-prognn") == (247, 249, 1988)
    assert sizes("pubmed", split_kind="pro-gnn") == (1971, 1972, 15774)
    assert sizes("cora+metattack@0.25") == (247, 249, 1988)
    for name, kind in (
        ("cora", "pro-gnn"),
        ("cora-prognn", "pro-gnn-attacker"),
        ("cora", "published"),
        ("texas", "public"),
    ):
        with pytest.raises(SimPGCNError):
            load_dataset(name, split_kind=kind)


def test_both_splits_of_pubmed(mirror):
    """The one that results are reported with, and the one under which the attack looks like one."""
    name = "pubmed+metattack@0.25"
    reported, attacker = (load_dataset(name, split_kind=kind) for kind in ("pro-gnn", "pro-gnn-attacker"))
    assert torch.equal(load_dataset(name).train_mask, reported.train_mask)
    clean = {tuple(edge) for edge in load_dataset("pubmed").edge_index.T.tolist()}
    added = torch.tensor([edge for edge in reported.edge_index.T.tolist() if tuple(edge) not in clean]).flatten()
    share = [float(data.train_mask[added].float().mean()) for data in (reported, attacker)]
    assert share[0] == pytest.approx(0.1, abs=0.02)
    assert share[1] < 0.06
