"""What SimP-GCN costs more than GCN: parameters, counted, and time, measured."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from simpgcn.bench.measure import seconds, take_turns
from simpgcn.config import Config
from simpgcn.data import load_dataset
from simpgcn.nn import SimilarityHead, SimPGCN, SparseMatrix, draw_pairs
from simpgcn.nn.baselines.gcn import GCN, GCNSettings
from simpgcn.nn.dropout import dropout
from simpgcn.nn.narrow_product import multiply
from simpgcn.nn.registry import SimPGCNSettings, find_method
from simpgcn.training import prepare

ROUNDS = 5
STEPS = 5


class Extra(NamedTuple):
    """Parameters that SimP-GCN has and GCN has not: counted, as the paper counts them, and GCN's own."""

    counted: int
    paper: int
    gcn: int


def extra_parameters(num_features: int, num_classes: int, settings: SimPGCNSettings) -> Extra:
    r"""Over a GCN of the same sizes: by the paper, :math:`\mathbf{W}_s, \mathbf{W}_K \in \mathbb{R}^{d^{(l-1)}}` and
    :math:`b_s, b_K` of every layer, and the linear :math:`f_w` of the first hidden state with its bias.

    >>> extra_parameters(1433, 7, SimPGCNSettings())
    Extra(counted=3255, paper=3255, gcn=184455)
    """
    model = find_method("simpgcn").build(num_features, num_classes, settings)
    head = SimilarityHead(settings.hidden_channels if settings.num_layers > 1 else num_classes)
    gcn = GCN(num_features, num_classes, GCNSettings(settings.hidden_channels, settings.num_layers))
    inputs = [num_features, *[settings.hidden_channels] * (settings.num_layers - 1)]
    by_paper = sum(2 * (d + 1) for d in inputs) + head.linear.in_features + 1
    return Extra(_size(model) + _size(head) - _size(gcn), by_paper, _size(gcn))


class Cost(NamedTuple):
    """Seconds on one graph: of a training step of either model, one value for each round, and of the search."""

    gcn: list[float]
    simpgcn: list[float]
    search: float


@cache
def step_cost(dataset: str) -> Cost:
    """How long a training step takes, forwards and backwards, of SimP-GCN with its pretext task and of a GCN from the
    same operators, which take turns; and how long finding look-alikes and pairs took.

    All on the CPU: graphs of this size leave a GPU waiting for Python, whatever the number of nodes.

    >>> cost = step_cost("nodes-200")
    >>> len(cost.gcn) == len(cost.simpgcn), min(cost.gcn) > 0
    (True, True)
    """
    config = Config().replace({"training": {"device": "cpu"}})
    data = load_dataset(dataset)
    prepare(data, config, cache=False)  # what is loaded or compiled on first use is not the search's
    problem = prepare(data, config, cache=False)
    place = problem.labels.nodes.device
    settings = config.model
    sizes = (problem.num_features, settings.hidden_channels, problem.num_classes)
    ours, head = SimPGCN(*sizes).to(place), SimilarityHead(settings.hidden_channels).to(place)
    theirs = _SameGCN(sizes).to(place)
    pairs = problem.pairs
    assert pairs is not None
    train = data.train_mask.nonzero().squeeze(1).to(place)
    y = data.y.to(place)[train]

    def simpgcn() -> None:
        states = ours.states(*problem.inputs)
        pretext = head(states[0].hidden, draw_pairs(pairs, settings.pretext_samples))
        (F.cross_entropy(states[-1].hidden[train], y) + settings.pretext_weight * pretext).backward()

    def gcn() -> None:
        F.cross_entropy(theirs(*problem.inputs[:2])[train], y).backward()

    def timed(step: Callable[[], object]) -> float:
        return seconds(lambda: [step() for _ in range(STEPS)], place) / STEPS

    simpgcn()
    gcn()  # nor a step's
    found = take_turns({"gcn": lambda: timed(gcn), "simpgcn": lambda: timed(simpgcn)}, ROUNDS)
    return Cost(found["gcn"], found["simpgcn"], problem.similarity_seconds)


CostOf = Literal["gcn", "simpgcn", "times", "extra", "search", "extra growth", "search growth"]
# The paper trains for so many epochs.
EPOCHS = 200


def cost_values(dataset: str, of: CostOf, since: str | None = None) -> list[float]:
    """What one row of a table shows of :func:`step_cost`.

    ``gcn`` and ``simpgcn``: milliseconds a step; ``times``: how many times as long SimP-GCN takes, round by round;
    ``extra``: what it takes more, in seconds, for as many epochs as the paper trains; ``search``: seconds for
    look-alikes and pairs. ``extra growth`` and ``search growth``: the power of the number of nodes with which they
    grew since the smaller graph ``since``.

    >>> len(cost_values("nodes-200", "times")), cost_values("nodes-200", "search growth", "nodes-200")
    (5, [])
    """
    cost = step_cost(dataset)
    if of in ("gcn", "simpgcn"):
        return [1000 * value for value in getattr(cost, of)]
    if of == "times":
        return [ours / theirs for ours, theirs in zip(cost.simpgcn, cost.gcn, strict=True)]
    if of in ("search", "extra"):
        return [cost.search] if of == "search" else [EPOCHS * _extra(cost)]
    if since is None or since == dataset:
        return []
    before = step_cost(since)
    pair = (before.search, cost.search) if of == "search growth" else (_extra(before), _extra(cost))
    if min(pair) <= 0:
        return []
    nodes = [load_dataset(name).num_nodes for name in (since, dataset)]
    return [math.log(pair[1] / pair[0]) / math.log(nodes[1] / nodes[0])]


def _extra(cost: Cost) -> float:
    return statistics.median(ours - theirs for ours, theirs in zip(cost.simpgcn, cost.gcn, strict=True))


class _SameGCN(nn.Module):
    """A GCN from the operators that SimP-GCN is made of, so that what differs is the method."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.linear: Sequence[nn.Linear] = nn.ModuleList(  # type: ignore[assignment]
            nn.Linear(*pair) for pair in itertools.pairwise(sizes)
        )

    def forward(self, x: Tensor | SparseMatrix, structure: SparseMatrix) -> Tensor:
        *hidden, last = self.linear
        for linear in hidden:
            x = dropout(torch.relu(structure @ multiply(x, linear.weight.T) + linear.bias), 0.5, self.training)
        return structure @ multiply(x, last.weight.T) + last.bias


def _size(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
