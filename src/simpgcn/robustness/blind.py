"""Attacks that look at no model: random edges, and DICE (Waniek et al. 2018), which parts likes and links unlikes."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch_geometric.data import Data

from simpgcn.robustness.flips import flip_edges, single_edges

# Draws before it is taken that there is nothing left to flip.
PATIENCE = 10_000


class RandomFlips:
    """Adds edges between nodes drawn at random, or with ``labels`` flips as DICE does.

    DICE knows all labels: by turns of a coin it removes an edge within a class and adds one between two. No node loses
    its last edge, and no pair is flipped twice. Every flip is drawn from the seed and its number.

    Args:
        data: The clean graph.
        labels: The class of every node, for DICE.
        seed: Of the draws.

    >>> from simpgcn.data import load_dataset
    >>> data = load_dataset("demo")
    >>> u, v = next(RandomFlips(data, labels=data.y).flips(1))
    >>> u < v
    True
    """

    def __init__(self, data: Data, *, labels: Tensor | None = None, seed: int = 0) -> None:
        self.edges = single_edges(data.edge_index.cpu())
        self.nodes = data.num_nodes
        self.labels = None if labels is None else labels.cpu()
        self.seed = seed

    def flips(self, budget: int, done: Tensor | None = None) -> Iterator[tuple[int, int]]:
        """The pairs to flip after those ``done``, until ``budget`` in all are."""
        done = torch.empty(2, 0, dtype=torch.long) if done is None else done
        edges = flip_edges(self.edges, done)
        taken = {(u, v) for u, v in torch.cat([self.edges, done], dim=1).T.tolist()}
        flipped = {(u, v) for u, v in done.T.tolist()}
        for number in range(done.size(1), budget):
            generator = torch.Generator().manual_seed(self.seed * 1_000_003 + number)
            removes = self.labels is not None and bool(torch.rand((), generator=generator) < 0.5)
            found = self._removal(edges, flipped, generator) if removes else self._addition(taken, generator)
            if found is None:
                return
            edges = flip_edges(edges, torch.tensor(found).unsqueeze(1))
            taken.add(found)
            flipped.add(found)
            yield found

    def _addition(self, taken: set[tuple[int, int]], generator: torch.Generator) -> tuple[int, int] | None:
        for _ in range(PATIENCE):
            u, v = sorted(torch.randint(self.nodes, (2,), generator=generator).tolist())
            within = self.labels is not None and bool(self.labels[u] == self.labels[v])
            if u != v and (u, v) not in taken and not within:
                return u, v
        return None

    def _removal(
        self, edges: Tensor, flipped: set[tuple[int, int]], generator: torch.Generator
    ) -> tuple[int, int] | None:
        assert self.labels is not None
        degree = torch.bincount(edges.flatten(), minlength=self.nodes)
        able = (self.labels[edges[0]] == self.labels[edges[1]]) & (degree[edges] > 1).all(dim=0)
        candidates = edges[:, able]
        for place in torch.randperm(candidates.size(1), generator=generator)[:PATIENCE].tolist():
            u, v = candidates[:, place].tolist()
            if (u, v) not in flipped:
                return u, v
        return None
