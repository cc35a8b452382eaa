"""A multi-layer perceptron: the features alone, no graph."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import MLP as PyGMLP

from simpgcn.nn.method import Method


@dataclass(frozen=True)
class MLPSettings:
    """The settings of ``mlp``."""

    hidden_channels: int = 64
    num_layers: int = 2
    dropout: float = 0.5


def build_mlp(in_channels: int, out_channels: int, settings: MLPSettings) -> nn.Module:
    """PyG's perceptron, without batch normalisation.

    >>> build_mlp(4, 2, MLPSettings(hidden_channels=8))
    MLP(4, 8, 2)
    """
    sizes = [in_channels, *[settings.hidden_channels] * (settings.num_layers - 1), out_channels]
    return PyGMLP(sizes, dropout=settings.dropout, norm=None)


def _inputs(data: Data, settings: MLPSettings) -> tuple[Tensor]:
    return (data.x.to_dense(),)


MLP = Method(MLPSettings, build_mlp, _inputs, new_nodes=True)
