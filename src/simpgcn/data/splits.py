"""Who trains, who chooses, who tests. A split is picked by its own number, never by the training seed."""

from __future__ import annotations

import copy
from typing import Literal, get_args

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import RandomNodeSplit
from torch_geometric.utils import index_to_mask

from simpgcn.data.prognn import prognn_split
from simpgcn.errors import SimPGCNError

SplitKind = Literal["public", "published", "pro-gnn", "pro-gnn-attacker", "random", "per-class", "stored"]

_PARTS = ("train", "val", "test")


def random_split(y: Tensor, split: int, *, train: float = 0.6, val: float = 0.2) -> dict[str, Tensor]:
    """A stratified split: of each class the shares ``train`` and ``val``, and the rest to test.

    Every class trains: one of a single node goes to training. Nodes with a negative label are in no part.

    >>> parts = random_split(torch.tensor([0] * 10 + [1] * 5), split=0)
    >>> {part: int(mask.sum()) for part, mask in parts.items()}
    {'train': 9, 'val': 3, 'test': 3}
    """
    generator = torch.Generator().manual_seed(split)
    masks = {part: torch.zeros(y.numel(), dtype=torch.bool) for part in _PARTS}
    for label in y[y >= 0].unique().tolist():
        members = (y == label).nonzero().squeeze(1)
        members = members[torch.randperm(members.numel(), generator=generator)]
        first = max(1, round(train * members.numel()))
        second = first + round(val * members.numel())
        masks["train"][members[:first]] = True
        masks["val"][members[first:second]] = True
        masks["test"][members[second:]] = True
    return masks


def per_class_split(
    y: Tensor, split: int, *, train_per_class: int = 20, num_val: int = 500, num_test: int = 1000
) -> dict[str, Tensor]:
    """Planetoid's design drawn anew: 20 nodes per class train, 500 others choose, 1,000 test.

    >>> parts = per_class_split(torch.arange(2000) % 4, split=1)
    >>> {part: int(mask.sum()) for part, mask in parts.items()}
    {'train': 80, 'val': 500, 'test': 1000}
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(split)
        drawn = RandomNodeSplit("random", num_train_per_class=train_per_class, num_val=num_val, num_test=num_test)(
            Data(y=y, num_nodes=y.numel())
        )
    return {part: drawn[f"{part}_mask"] for part in _PARTS}


def apply_split(data: Data, name: str, kind: SplitKind, split: int) -> Data:
    """``data`` with ``train_mask``, ``val_mask`` and ``test_mask`` of one split of the given kind."""
    if kind not in get_args(SplitKind):
        raise SimPGCNError(f"data.split_kind must be one of {', '.join(get_args(SplitKind))}, not {kind!r}")
    if data.get("y") is None:
        raise SimPGCNError("the graph has no labels to split by: data.y is missing")
    if split < 0:
        raise SimPGCNError(f"data.split must be 0 or more, not {split}")
    if kind == "random":
        masks = random_split(data.y, split)
    elif kind == "per-class":
        masks = per_class_split(data.y, split)
    elif kind in ("pro-gnn", "pro-gnn-attacker"):
        masks = _prognn_masks(data, name, kind, split)
    else:
        masks = _stored_masks(data, name, kind, split)
    data = copy.copy(data)
    for part in _PARTS:
        data[f"{part}_mask"] = masks[part]
    return data


def _stored_masks(data: Data, name: str, kind: SplitKind, split: int) -> dict[str, Tensor]:
    stored = data.get("train_mask")
    dimensions = 2 if kind == "published" else 1
    if stored is None or stored.dim() != dimensions:
        raise SimPGCNError(f"{name} has no {kind} split: choose another data.split_kind, such as random")
    count = stored.size(1) if kind == "published" else 1
    if split >= count:
        raise SimPGCNError(f"{name} has {count} {kind} split{'s' * (count > 1)}: --split {split} does not exist")
    return {part: data[f"{part}_mask"][:, split] if kind == "published" else data[f"{part}_mask"] for part in _PARTS}


def _prognn_masks(data: Data, name: str, kind: SplitKind, split: int) -> dict[str, Tensor]:
    graph = name.partition("+")[0].removesuffix("-prognn")
    attacker = kind == "pro-gnn-attacker"
    if attacker and graph != "pubmed":
        raise SimPGCNError(f"only pubmed has a {kind} split, not {name}: choose data.split_kind=pro-gnn")
    if graph == name != "pubmed":
        raise SimPGCNError(f"Pro-GNN's split is for pubmed and the graphs ending in -prognn, not for {name}")
    if split:
        raise SimPGCNError(f"{name} has 1 {kind} split: --split {split} does not exist")
    parts = prognn_split(graph, attacker=attacker)
    return {part: index_to_mask(index, data.num_nodes) for part, index in parts.items()}
