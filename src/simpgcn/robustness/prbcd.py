"""PRBCD (Geisler et al., NeurIPS 2021) from PyG, against a model that is trained here first.

All flips are found at once, on the trained model: to evaluate that very model on the attacked graph is evasion, to
train anew there is poisoning. With ``simpgcn`` the attack is adaptive: its gradient comes through SimP-GCN's whole
forward pass.

An attack that was stopped starts anew: what PyG's class knows between two steps (the pairs it looks at, their weights,
the best so far and the place in the random numbers) is private to it, and it has no way to start from there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from simpgcn.config import Config
from simpgcn.errors import SimPGCNError
from simpgcn.robustness.flips import single_edges
from simpgcn.robustness.weighted_models import WeightedModel
from simpgcn.training import Trainer, find_device, prepare

# Candidate pairs that are looked at at once; more where more are to be flipped.
BLOCK = 100_000


class PRBCD:
    """The attack on one graph, by way of a model trained on it.

    The attacker reads the labels of training and validation nodes to train the model, and attacks the others under
    the labels that the model gives them: no label of theirs is known.

    Args:
        data: The clean graph, with a split.
        config: The model, and how it is trained.
        seed: Of the attack's draws.
        epochs: Steps of the attack, the last quarter of them on the pairs found by then.

    Attributes:
        on_step: Called after every step with the share of them that are done.

    >>> from simpgcn.config import default_config
    >>> from simpgcn.data import load_dataset
    >>> config = default_config("demo", "gcn").replace({"training": {"epochs": 5, "device": "cpu"}})
    >>> len(list(PRBCD(load_dataset("demo"), config, epochs=4).flips(10))) <= 10
    True
    """

    def __init__(self, data: Data, config: Config, *, seed: int = 0, epochs: int = 400) -> None:
        device = find_device(config.training.device)
        problem = prepare(data, config)
        trainer = Trainer(problem, config)
        trainer.run()
        self.model = WeightedModel(trainer.best_model(), problem.inputs)
        self.seed, self.epochs = seed, epochs
        self.on_step: Callable[[float], None] | None = None
        self.x = torch.zeros(data.num_nodes, 1, device=device)  # the model has its own
        edges = single_edges(data.edge_index.to(device))
        self.edges = torch.cat([edges, edges.flip(0)], dim=1)
        self.nodes = (~(data.train_mask | data.val_mask)).nonzero().squeeze(1).to(device)

    def flips(self, budget: int, done: Tensor | None = None) -> Iterator[tuple[int, int]]:
        """The pairs to flip, in no order; an attack that was stopped starts anew."""
        if done is not None and done.numel():
            raise SimPGCNError("PRBCD finds its flips all at once: it cannot go on with a part of them")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it is experimental
            from torch_geometric.contrib.nn import PRBCDAttack
        tell, epochs = self.on_step, self.epochs

        class Told(PRBCDAttack):
            """Says how far it is."""

            def _update(self, epoch: int, *given: Any, **more: Any) -> Any:
                if tell is not None:
                    tell((epoch + 1) / epochs)
                return super()._update(epoch, *given, **more)

        cuda = [self.x.device] if self.x.is_cuda else []
        with torch.random.fork_rng(cuda):
            torch.manual_seed(self.seed)
            with torch.no_grad():
                labels = self.model(self.x, self.edges).argmax(dim=1)
            attack = Told(
                self.model,
                block_size=max(BLOCK, 2 * budget),
                epochs=self.epochs,
                epochs_resampling=self.epochs * 3 // 4,
                loss="tanh_margin",
                log=False,
            )
            _, flips = attack.attack(self.x, self.edges, labels, budget=budget, idx_attack=self.nodes)
        yield from (tuple(pair) for pair in single_edges(flips).T.tolist())
