"""An attack on features alone: nodes take on the features of nodes of another class."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch_geometric.data import Data


class FeatureSwap:
    """Gives nodes outside the training and validation sets the features of a node of another class, drawn at random.

    It knows all labels. SimP-GCN leans on features where the graph misleads; this says how far it falls with them.

    Args:
        data: The clean graph, with a split.
        seed: Of the draws.

    >>> from simpgcn.data import load_dataset
    >>> data = load_dataset("demo")
    >>> node, donor = next(FeatureSwap(data).flips(1))
    >>> bool(data.test_mask[node]), bool(data.y[node] != data.y[donor])
    (True, True)
    """

    def __init__(self, data: Data, *, seed: int = 0) -> None:
        self.y = data.y.cpu()
        generator = torch.Generator().manual_seed(seed)
        open_nodes = (~(data.train_mask | data.val_mask) & (self.y >= 0)).nonzero().squeeze(1)
        self.order = open_nodes[torch.randperm(len(open_nodes), generator=generator)]
        self.seed = seed

    def flips(self, budget: int, done: Tensor | None = None) -> Iterator[tuple[int, int]]:
        """Pairs of a node and the one whose features it takes on."""
        start = 0 if done is None else done.size(1)
        for number, node in enumerate(self.order[start:budget].tolist(), start=start):
            generator = torch.Generator().manual_seed(self.seed * 1_000_003 + number)
            others = ((self.y != self.y[node]) & (self.y >= 0)).nonzero().squeeze(1)
            if not len(others):
                return
            yield node, int(others[torch.randint(len(others), (), generator=generator)])
