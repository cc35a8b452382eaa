"""The jumping knowledge network of Xu et al. (ICML 2018), from PyG's layers."""

from __future__ import annotations

from dataclasses import dataclass

from simpgcn.nn.baselines.gcn import GCN, GCNSettings, gcn_inputs, gcn_reach
from simpgcn.nn.method import Method


@dataclass(frozen=True)
class JKNetSettings(GCNSettings):
    """The settings of ``jknet``; SimP-GCN's paper restricts its depth to 4."""

    hidden_channels: int = 32
    num_layers: int = 4


def build_jknet(in_channels: int, out_channels: int, settings: JKNetSettings) -> GCN:
    """Graph convolutions whose outputs are all concatenated before the last linear layer.

    >>> build_jknet(4, 2, JKNetSettings()).lin
    Linear(in_features=128, out_features=2, bias=True)
    """
    return GCN(in_channels, out_channels, settings, jump=True)


JKNET = Method(JKNetSettings, build_jknet, gcn_inputs, reach=gcn_reach)
