"""Label propagation: the graph and the training labels, no features, nothing to learn.

After Zhu et al. (ICML 2003), whose labels are clamped, too, but with the symmetric normalisation of the GCN.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data

from simpgcn.nn.method import Method
from simpgcn.nn.propagation import feature_propagation
from simpgcn.nn.sparse_matrix import SparseMatrix


@dataclass(frozen=True)
class LabelPropagationSettings:
    """The settings of ``lp``: rounds of propagation."""

    num_layers: int = 200


class LabelPropagation(nn.Module):
    r"""Spreads the training labels over the graph, :math:`\mathbf{Y} \leftarrow \hat{\mathbf{A}} \mathbf{Y}`.

    After every round the training nodes get their own labels back. A node that no label reaches (a third of
    CiteSeer's) gets what the others have on average.

    >>> path = feature_propagation(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 4)
    >>> known = torch.tensor([True, False, False, False])
    >>> LabelPropagation(2, LabelPropagationSettings())(torch.tensor([1, 0, 0, 0]), known, path).argmax(dim=1).tolist()
    [1, 1, 1, 1]
    """

    def __init__(self, num_classes: int, settings: LabelPropagationSettings) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.num_layers = settings.num_layers

    def forward(self, y: Tensor, known: Tensor, structure: SparseMatrix) -> Tensor:
        """Log-shares of the classes, ``[n, classes]``; ``y`` is read only where ``known``."""
        labels = F.one_hot(torch.where(known, y, 0), self.num_classes).float() * known.unsqueeze(1)
        spread = labels
        for _ in range(self.num_layers):
            spread = torch.where(known.unsqueeze(1), labels, structure @ spread)
        total = spread.sum(dim=1, keepdim=True)
        share = spread / total.clamp(min=1e-30)
        reached = total.squeeze(1) > 0
        unlabelled = reached & ~known
        share[~reached] = share[unlabelled if bool(unlabelled.any()) else reached].mean(dim=0)
        return (share + 1e-12).log()


def _inputs(data: Data, settings: LabelPropagationSettings) -> tuple[Tensor, Tensor, SparseMatrix]:
    device = data.edge_index.device
    structure = feature_propagation(data.edge_index, data.num_nodes, data.edge_weight)
    return data.y.to(device), data.train_mask.to(device), structure


LP = Method(LabelPropagationSettings, lambda features, classes, settings: LabelPropagation(classes, settings), _inputs)
