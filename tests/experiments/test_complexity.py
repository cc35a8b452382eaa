from __future__ import annotations

import pytest
import torch

from simpgcn.experiments.complexity import _SameGCN, extra_parameters, step_cost
from simpgcn.nn import structure_propagation
from simpgcn.nn.baselines.gcn import GCN, GCNSettings
from simpgcn.nn.registry import SimPGCNSettings


@pytest.mark.parametrize(("depth", "hidden"), [(1, 8), (2, 16), (5, 3)])
def test_extra_parameters_are_those_the_paper_counts(depth, hidden):
    found = extra_parameters(100, 4, SimPGCNSettings(hidden_channels=hidden, num_layers=depth))
    assert found.counted == found.paper


def test_they_are_linear_in_the_features():
    counts = [extra_parameters(d, 4, SimPGCNSettings()).counted for d in (100, 200, 300)]
    assert counts[1] - counts[0] == counts[2] - counts[1] == 200


def test_the_gcn_that_is_timed_is_a_gcn():
    torch.manual_seed(0)
    same, pyg = _SameGCN((6, 5, 3)).eval(), GCN(6, 3, GCNSettings(5)).eval()
    for mine, theirs in zip(same.linear, pyg.convs, strict=True):
        theirs.lin.weight.data.copy_(mine.weight)
        theirs.bias.data.copy_(mine.bias)
    structure, x = structure_propagation(torch.randint(9, (2, 30)), 9), torch.rand(9, 6)
    torch.testing.assert_close(same(x, structure), pyg(x, structure))


def test_times_come_in_rounds():
    cost = step_cost("nodes-200")
    assert len(cost.gcn) == len(cost.simpgcn) > 2
    assert min(*cost.gcn, *cost.simpgcn, cost.search) > 0
