"""Every attack by its name, and a graph after it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch_geometric.data import Data

from simpgcn.config import Config, default_config
from simpgcn.data.features import is_sparse
from simpgcn.errors import SimPGCNError, unknown_name
from simpgcn.robustness.blind import RandomFlips
from simpgcn.robustness.feature_swap import FeatureSwap
from simpgcn.robustness.flips import flip_edges, single_edges
from simpgcn.robustness.metattack import Metattack
from simpgcn.robustness.prbcd import PRBCD


class Attack(Protocol):
    """What finds, one after the other, the pairs of nodes to flip."""

    def flips(self, budget: int, done: Tensor | None = None) -> Iterator[tuple[int, int]]:
        """The pairs to flip after those ``done`` (``[2, k]``), until ``budget`` in all are."""
        ...


class AttackKind(NamedTuple):
    """How an attack is made from a graph, the dataset's name, a seed and a device, and what it does.

    ``one_by_one`` ones can go on from a part of their flips. Those ``on_features`` change nodes, the others edges.
    """

    make: Callable[[Data, str, int, torch.device], Attack]
    one_by_one: bool = True
    on_features: bool = False


def _meta(objective: str, *, approximate: bool = False, degree_test: bool = True) -> AttackKind:
    return AttackKind(
        lambda data, name, seed, device: Metattack(
            data, objective=objective, approximate=approximate, degree_test=degree_test, seed=seed, device=device
        )
    )


def _prbcd(model: str) -> AttackKind:
    def make(data: Data, name: str, seed: int, device: torch.device) -> Attack:
        config: Config = default_config(name, model).replace({"training": {"seed": seed, "device": str(device)}})
        return PRBCD(data, config, seed=seed)

    return AttackKind(make, one_by_one=False)


ATTACKS: dict[str, AttackKind] = {
    "metattack": _meta("self"),
    "meta-train": _meta("train"),
    "a-meta-self": _meta("self", approximate=True),
    "a-meta-train": _meta("train", approximate=True),
    "metattack-any-degree": _meta("self", degree_test=False),
    "random": AttackKind(lambda data, name, seed, device: RandomFlips(data, seed=seed)),
    "dice": AttackKind(lambda data, name, seed, device: RandomFlips(data, labels=data.y, seed=seed)),
    "prbcd": _prbcd("gcn"),
    "prbcd-simpgcn": _prbcd("simpgcn"),
    "feature-swap": AttackKind(lambda data, name, seed, device: FeatureSwap(data, seed=seed), on_features=True),
}


def find_attack(name: str) -> AttackKind:
    """The attack called ``name``.

    >>> find_attack("metattack").one_by_one
    True
    """
    if name not in ATTACKS:
        raise unknown_name("attack", name, ATTACKS)
    return ATTACKS[name]


def budget_of(data: Data, rate: float, kind: AttackKind) -> int:
    """How many flips a rate allows: a share of the graph's edges, or of the nodes for attacks on features.

    >>> ring = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    >>> budget_of(Data(edge_index=ring, num_nodes=4), 0.5, ATTACKS["random"])
    2
    """
    if not 0 <= rate <= 1:
        raise SimPGCNError(f"the rate must be from 0 to 1, not {rate}: it is the share of edges to flip")
    return int(rate * (data.num_nodes if kind.on_features else single_edges(data.edge_index).size(1)))


def attacked(data: Data, pairs: Tensor, kind: AttackKind) -> Data:
    """The graph after the flips ``pairs`` ``[2, k]``; self-loops stay as they were, and edges have no weights.

    >>> data = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> attacked(data, torch.tensor([[0, 0], [1, 2]]), ATTACKS["random"]).edge_index.tolist()
    [[0, 2], [2, 0]]
    """
    data = copy.copy(data)
    if kind.on_features:
        x = data.x.to_dense() if is_sparse(data.x) else data.x
        data.x = x.clone()
        data.x[pairs[0]] = x[pairs[1]]
        return data
    if data.get("edge_weight") is not None:
        raise SimPGCNError("attacks flip edges that are there or not: this graph's have weights")
    edges = flip_edges(single_edges(data.edge_index), pairs)
    loops = data.edge_index[:, data.edge_index[0] == data.edge_index[1]]
    data.edge_index = torch.cat([edges, edges.flip(0), loops], dim=1)
    return data
