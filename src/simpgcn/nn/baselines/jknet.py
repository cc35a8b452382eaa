"""The jumping knowledge network of Xu et al. (ICML 2018), from PyG's layers."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from simpgcn.nn.baselines.gcn import GCNSettings, build_gcn, gcn_inputs
from simpgcn.nn.method import Method


@dataclass(frozen=True)
class JKNetSettings(GCNSettings):
    """The settings of ``jknet``; SimP-GCN's paper restricts its depth to 4."""

    hidden_channels: int = 32
    num_layers: int = 4


def build_jknet(in_channels: int, out_channels: int, settings: JKNetSettings) -> nn.Module:
    """Graph convolutions whose outputs are all concatenated before the last linear layer.

    >>> build_jknet(4, 2, JKNetSettings())
    GCN(4, 2, num_layers=4)
    """
    return build_gcn(in_channels, out_channels, settings, jk="cat")


JKNET = Method(JKNetSettings, build_jknet, gcn_inputs, new_nodes=True)
