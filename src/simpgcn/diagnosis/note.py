"""The whole note: facts, checks, verdict and start settings of one graph."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, remove_self_loops

from simpgcn.config import SimilaritySettings
from simpgcn.data.checks import check_graph
from simpgcn.data.features import as_csr, binarize, compact, is_sparse, row_normalize, stored_values, with_values
from simpgcn.diagnosis.checks import MOST_SCORED, MOST_TRAINED, Checks, run_checks, sample_nodes
from simpgcn.diagnosis.facts import Facts, graph_facts
from simpgcn.diagnosis.poisoning import Poisoning, signs_of_poisoning
from simpgcn.diagnosis.start import Choice, start_settings
from simpgcn.diagnosis.verdict import Verdict, judge
from simpgcn.errors import SimPGCNError
from simpgcn.nn.propagation import feature_propagation, structure_propagation
from simpgcn.nn.registry import SimPGCNSettings
from simpgcn.similarity import FeatureGraph

# Nodes among which look-alikes are searched at most: the exact search takes seconds up to here.
MOST_SEARCHED = 20_000


@dataclass(frozen=True)
class Diagnosis:
    """What :func:`diagnose` found. ``checks`` is None without validation nodes, ``poisoning`` without links.

    ``start`` are the settings to begin with, and ``sampled`` says in sentences what was looked at in part only.
    """

    facts: Facts
    checks: Checks | None
    poisoning: Poisoning | None
    verdict: Verdict
    start: tuple[Choice, ...]
    sampled: tuple[str, ...]

    @property
    def settings(self) -> dict[str, Any]:
        """The start settings by the names that ``--set`` takes."""
        return {choice.setting: choice.value for choice in self.start}

    def command(self, arguments: Sequence[str]) -> str:
        """The command that trains with the start settings on the graph that ``arguments`` name."""
        words = ["simpgcn", "train", *arguments]
        for setting, value in self.settings.items():
            words += ["--set", f"{setting}={value}"]
        return shlex.join(words)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, accuracies and homophily as shares."""
        checks = self.checks
        return {
            "verdict": {**self.verdict._asdict(), "reasons": list(self.verdict.reasons)},
            "facts": {
                **self.facts._asdict(),
                "homophily": self.facts.homophily._asdict(),
                "look_alikes": self.facts.look_alikes._asdict(),
            },
            "checks": checks
            and {
                "trained_on": checks.trained_on,
                "scored_on": checks.scored_on,
                "accuracy": {name: checks.accuracy(name) for name in checks.right},
            },
            "poisoning": self.poisoning and self.poisoning._asdict(),
            "start": [choice._asdict() for choice in self.start],
            "sampled": list(self.sampled),
        }


def diagnose(data: Data, *, cache: bool = True, on_progress: Callable[[float], None] | None = None) -> Diagnosis:
    """Say, before any training, whether SimP-GCN should help on a graph, and what settings to start with.

    Labels are read where ``train_mask`` and ``val_mask`` select, and nowhere else.

    Args:
        data: A graph with ``x``, ``edge_index``, ``y`` (-1 for unknown), ``train_mask`` and ``val_mask``.
        cache: Keep the search for look-alikes on disk, where training finds it again.
        on_progress: Called with the share of nodes whose look-alikes are found.

    >>> from simpgcn import load_dataset
    >>> note = diagnose(load_dataset("demo"), cache=False)
    >>> note.verdict.words, note.verdict.sure
    ('should help', 'sure')
    >>> note.settings["model.structure_bias"]
    0
    """
    check_graph(data)
    data = _seen_in_training(data)
    n = data.x.size(0)
    y = data.y.numpy()
    train = sample_nodes(np.flatnonzero(data.train_mask.numpy()), y, MOST_TRAINED)
    val = sample_nodes(np.flatnonzero(data.val_mask.numpy()), y, MOST_SCORED)
    k, nodes, look_alikes, weight = _look_alikes(data, np.concatenate([train, val]), cache, on_progress)
    facts = graph_facts(data, look_alikes, k, len(nodes))
    checks = None
    if len(val):
        checks = run_checks(
            _features(row_normalize(data.x)),
            _scipy(structure_propagation(data.edge_index, n, data.edge_weight).matrix),
            _scipy(feature_propagation(look_alikes, n, weight).matrix),
            y,
            train,
            val,
        )
    links, _ = remove_self_loops(data.edge_index)
    links = coalesce(torch.stack([links.min(dim=0).values, links.max(dim=0).values]), num_nodes=n)
    poisoning = signs_of_poisoning(_scipy(binarize(data.x)), links.numpy(), y, facts.homophily.chance)
    verdict = judge(facts, checks)
    start = start_settings(facts, checks, poisoning is not None and poisoning.signs)
    return Diagnosis(facts, checks, poisoning, verdict, start, _what_was_sampled(facts, len(train), len(val)))


def _seen_in_training(data: Data) -> Data:
    """The graph on the CPU, features in the layout that multiplies faster, labels of training and validation nodes."""
    n = data.x.size(0)
    y, train, val = (data.get(name) for name in ("y", "train_mask", "val_mask"))
    if y is None or y.dim() != 1 or y.numel() != n or y.dtype != torch.long:
        raise SimPGCNError(f"data.y must hold one class number (torch.long, -1 for unknown) for each of the {n} nodes")
    if val is None:
        val = torch.zeros(n, dtype=torch.bool)
    if train is None or any(mask.shape != y.shape or mask.dtype != torch.bool for mask in (train, val)):
        raise SimPGCNError("data.train_mask and data.val_mask must be one boolean per node")
    y, train, val = y.cpu(), train.cpu(), val.cpu()
    train, val = train & (y >= 0), val & (y >= 0) & ~train
    y = torch.where(train | val, y, -1)
    if y[train].unique().numel() < 2:
        found = "no labels" if not bool(train.any()) else "labels of one class only"
        raise SimPGCNError(f"the training nodes have {found}: there must be two classes or more to tell apart")
    x = as_csr(data.x.cpu()) if is_sparse(data.x) else data.x.cpu()
    x = compact(with_values(x, stored_values(x).to(torch.float32)))
    weight = data.get("edge_weight")
    weight = None if weight is None else weight.cpu().to(torch.float32)
    return Data(
        x=x, edge_index=data.edge_index.cpu(), edge_weight=weight, y=y, train_mask=train, val_mask=val, num_nodes=n
    )


def _look_alikes(
    data: Data, needed: np.ndarray, cache: bool, on_progress: Callable[[float], None] | None
) -> tuple[int, np.ndarray, Tensor, Tensor]:
    """k, the nodes searched, and the edges of A_f among them with their weights.

    The search is the one that training makes with the general settings, so that the cache serves both.
    """
    n = data.x.size(0)
    nodes = np.arange(n)
    x = data.x
    if n > MOST_SEARCHED:
        others = np.setdiff1d(nodes, needed)
        more = np.random.default_rng(0).choice(others, MOST_SEARCHED - len(needed), replace=False)
        nodes = np.sort(np.concatenate([needed, more]))
        x = x.index_select(0, torch.from_numpy(nodes)) if not is_sparse(x) else _rows(x, nodes)
    k = min(SimilaritySettings().k, len(nodes) - 1)
    pairs = min(SimPGCNSettings().pretext_neighbors, len(nodes) - 1)
    found = FeatureGraph(k, pairs=pairs, cache=cache, on_progress=on_progress)(Data(x=x))
    return k, nodes, torch.from_numpy(nodes)[found.feature_edge_index], found.feature_edge_weight


def _rows(x: Tensor, nodes: np.ndarray) -> Tensor:
    some = _scipy(x)[nodes]
    rows, columns, values = (torch.from_numpy(part) for part in (some.indptr, some.indices, some.data))
    return torch.sparse_csr_tensor(rows.long(), columns.long(), values, some.shape, check_invariants=False)


def _scipy(x: Tensor) -> sparse.csr_matrix:
    x = as_csr(x)
    parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
    return sparse.csr_matrix(parts, shape=tuple(x.shape))


def _features(x: Tensor) -> Any:
    return _scipy(x) if is_sparse(x) else x.numpy()


def _what_was_sampled(facts: Facts, trained: int, scored: int) -> tuple[str, ...]:
    said = []
    if trained < facts.train_nodes or scored < facts.val_nodes:
        said.append(
            f"The quick checks were trained on {trained:,} of {facts.train_nodes:,} training nodes and scored on "
            f"{scored:,} of {facts.val_nodes:,} validation nodes, drawn at random."
        )
    if facts.searched < facts.nodes:
        said.append(
            f"Look-alikes were searched among {facts.searched:,} of {facts.nodes:,} nodes, drawn at random; training "
            "searches all."
        )
    return tuple(said)
