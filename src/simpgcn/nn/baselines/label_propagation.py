"""Label propagation: the graph and the training labels, no features and nothing to learn."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import LabelPropagation as PyGLabelPropagation

from simpgcn.nn.method import Method
from simpgcn.nn.propagation import structure_propagation


@dataclass(frozen=True)
class LabelPropagationSettings:
    """The settings of ``lp``: rounds of propagation, and how much of each comes from the neighbours."""

    num_layers: int = 50
    alpha: float = 0.9


class LabelPropagation(nn.Module):
    r"""Spreads the training labels over the graph.

    .. math:: \mathbf{Y} \leftarrow \alpha \hat{\mathbf{A}} \mathbf{Y} + (1 - \alpha) \mathbf{Y}_0

    >>> spread = LabelPropagation(2, LabelPropagationSettings(alpha=0.5))
    >>> ring = structure_propagation(torch.tensor([[0, 1, 2], [1, 2, 0]]), 3).matrix
    >>> spread(torch.tensor([0, 1, 0]), torch.tensor([True, False, False]), ring).argmax(dim=1).tolist()
    [0, 0, 0]
    """

    def __init__(self, num_classes: int, settings: LabelPropagationSettings) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.propagation = PyGLabelPropagation(settings.num_layers, settings.alpha)

    def forward(self, y: Tensor, known: Tensor, structure: Tensor) -> Tensor:
        """Log-shares of the classes, ``[n, classes]``; ``y`` is read only where ``known``."""
        labels = F.one_hot(torch.where(known, y, 0), self.num_classes).float() * known.unsqueeze(1)
        spread = self.propagation(labels, structure)
        return (spread + 1e-12).log()


def _inputs(data: Data, settings: LabelPropagationSettings) -> tuple[Tensor, Tensor, Tensor]:
    device = data.edge_index.device
    structure = structure_propagation(data.edge_index, data.num_nodes, data.edge_weight).matrix
    return data.y.to(device), data.train_mask.to(device), structure


LP = Method(LabelPropagationSettings, lambda features, classes, settings: LabelPropagation(classes, settings), _inputs)
