"""The jumping knowledge network of Xu et al. (ICML 2018), from PyG's layers."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn
from torch_geometric.nn import GCN as PyGGCN

from simpgcn.nn.baselines.gcn import gcn_inputs
from simpgcn.nn.method import Method


@dataclass(frozen=True)
class JKNetSettings:
    """The settings of ``jknet``; the paper restricts its depth to 4."""

    hidden_channels: int = 32
    num_layers: int = 4
    dropout: float = 0.5


def build_jknet(in_channels: int, out_channels: int, settings: JKNetSettings) -> nn.Module:
    """Graph convolutions whose outputs are all concatenated before the last linear layer.

    >>> build_jknet(4, 2, JKNetSettings())
    GCN(4, 2, num_layers=4)
    """
    return PyGGCN(
        in_channels,
        settings.hidden_channels,
        settings.num_layers,
        out_channels,
        dropout=settings.dropout,
        jk="cat",
        normalize=False,
    )


JKNET = Method(JKNetSettings, build_jknet, gcn_inputs)
