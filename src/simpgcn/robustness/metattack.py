"""Metattack of Zügner and Günnemann (ICLR 2019): poisoning by gradients through the training that is to come.

Edge after edge is flipped, each time the one that raises the attacker's loss most once a surrogate has been trained on
the graph. Meta-Self's loss is that of the unlabelled nodes, under the labels the surrogate gives them on the clean
graph; Meta-Train's is that of the labelled ones.

The published attacked graphs come from the same procedure: words as they are, steps of 0.1 with momentum 0.9 from new
weights for every flip, no degree test; but of 100 steps each, where 40 make the stronger attack here (see
:class:`~simpgcn.robustness.surrogate.SurrogateSettings`). Each rate was made anew, not gone on from the one below it.

Draws differ in strength by several points. An attacker who knows validation labels makes several and keeps the one
that validates worst; ``benchmarks/attack_strength.py`` does.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data

from simpgcn.data.features import as_csr
from simpgcn.nn.propagation import structure_propagation
from simpgcn.nn.sparse_matrix import SparseMatrix
from simpgcn.robustness.best_flip import best_flip
from simpgcn.robustness.degree_test import DegreeTest
from simpgcn.robustness.flips import flip_edges, single_edges
from simpgcn.robustness.meta_gradient import (
    EdgeGradient,
    Task,
    approximate_meta_gradient,
    meta_gradient,
    surrogate_logits,
)
from simpgcn.robustness.surrogate import SurrogateSettings


class Metattack:
    """The attack on one graph, which holds nothing of size n × n.

    A pair is flipped at most once, so that the number of flips is the number of differences to the clean graph. The
    surrogate starts from new weights for every flip, drawn from the seed and the flip's number: an attack that was
    stopped goes on as if it had not been.

    Args:
        data: The clean graph, undirected and without self-loops.
        objective: ``self`` or ``train``: whose loss is raised.
        approximate: A-Meta's gradient in place of the exact one.
        degree_test: Flip only what the degrees do not show. The published attacked graphs were made without.
        seed: Of the surrogate's weights.
        device: Where to compute.
        settings: How the surrogate is trained.

    >>> from simpgcn.data import load_dataset
    >>> attack = Metattack(load_dataset("demo"), settings=SurrogateSettings(steps=5))
    >>> len(list(attack.flips(2)))
    2
    """

    def __init__(
        self,
        data: Data,
        *,
        objective: str = "self",
        approximate: bool = False,
        degree_test: bool = True,
        seed: int = 0,
        device: torch.device | str = "cpu",
        settings: SurrogateSettings | None = None,
    ) -> None:
        self.settings = settings or SurrogateSettings()
        self.seed = seed
        self.way = approximate_meta_gradient if approximate else meta_gradient
        self.x = SparseMatrix(as_csr(data.x).float().to(device))
        self.edges = single_edges(data.edge_index).to(device)
        self.nodes = data.num_nodes
        self.test = DegreeTest(self._degree(self.edges)) if degree_test else None
        train = data.train_mask.to(device)
        labels = torch.where(train, data.y.to(device), 0)
        classes = int(labels.max()) + 1
        labelled = train.nonzero().squeeze(1)
        target = F.one_hot(labels[labelled], classes).float()
        self.task = Task(labelled, target, F.one_hot(labels, classes).float(), train.float() / len(labelled))
        if objective == "self":
            logits = surrogate_logits(self.x, self._propagation(self.edges), self._weights(0), self.task, self.settings)
            guess = F.one_hot(torch.where(train, labels, logits.argmax(dim=1)), classes).float()
            self.task = self.task._replace(wanted=guess, weight=(~train).float() / int((~train).sum()))

    def flips(self, budget: int, done: Tensor | None = None) -> Iterator[tuple[int, int]]:
        """The pairs to flip, one after the other, after those ``done`` (``[2, k]``) until ``budget`` in all are.

        It ends earlier where no flip is left that does not show.
        """
        done = torch.empty(2, 0, dtype=torch.long) if done is None else done
        done = done.to(self.edges.device)
        edges = flip_edges(self.edges, done)
        while done.size(1) < budget:
            found = best_flip(self._gradient(edges, done.size(1)), edges, done, self._degree(edges), self.test)
            if found is None:
                return
            pair = torch.tensor(found, device=edges.device).unsqueeze(1)
            edges, done = flip_edges(edges, pair), torch.cat([done, pair], dim=1)
            yield found

    def _gradient(self, edges: Tensor, number: int) -> EdgeGradient:
        propagation = self._propagation(edges)
        gradient = self.way(self.x, propagation, self._weights(number + 1), self.task, self.settings)
        return EdgeGradient(gradient, self.x, propagation, self._degree(edges).float() + 1, self.task.labelled)

    def _propagation(self, edges: Tensor) -> SparseMatrix:
        return structure_propagation(torch.cat([edges, edges.flip(0)], dim=1), self.nodes)

    def _degree(self, edges: Tensor) -> Tensor:
        return torch.bincount(edges.flatten(), minlength=self.nodes)

    def _weights(self, number: int) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + number)
        sizes = (self.x.size(1), self.settings.hidden_channels, self.task.target.size(1))
        first, second = (
            (2 * torch.rand(rows, columns, generator=generator) - 1) / columns**0.5
            for rows, columns in ((sizes[0], sizes[1]), (sizes[1], sizes[2]))
        )
        device = self.edges.device
        return first.to(device), second.to(device)
