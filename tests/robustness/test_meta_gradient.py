from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from simpgcn.nn.propagation import structure_propagation
from simpgcn.nn.sparse_matrix import SparseMatrix
from simpgcn.robustness.meta_gradient import (
    EdgeGradient,
    Task,
    approximate_meta_gradient,
    labelled_rows,
    meta_gradient,
    surrogate_logits,
)
from simpgcn.robustness.surrogate import SurrogateSettings

SETTINGS = SurrogateSettings(hidden_channels=5, steps=12)


def transcription():
    place = Path(__file__).parents[2] / "benchmarks/plain_metattack.py"
    spec = importlib.util.spec_from_file_location("plain_metattack", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def setting(small):
    """Everything both implementations read, in float64."""
    generator = torch.Generator().manual_seed(3)
    x = small.x.to_dense().double()
    weights = tuple((torch.rand(shape, generator=generator, dtype=torch.float64) - 0.5) for shape in ((60, 5), (5, 3)))
    guess = torch.where(small.train_mask, small.y, torch.randint(3, (120,), generator=generator))
    weight = (~small.train_mask).double() / int((~small.train_mask).sum())
    labelled = small.train_mask.nonzero().squeeze(1)
    task = Task(labelled, F.one_hot(small.y[labelled], 3).double(), F.one_hot(guess, 3).double(), weight)
    propagation = structure_propagation(small.edge_index, 120, dtype=torch.float64)
    adjacency = torch.zeros(120, 120, dtype=torch.float64)
    adjacency[tuple(small.edge_index)] = 1
    return small, x, weights, guess, task, propagation, adjacency


def edge_gradient(gradient, x, propagation, adjacency, task):
    found = EdgeGradient(gradient, SparseMatrix(x), propagation, adjacency.sum(1) + 1, task.labelled)
    middle = 50  # several blocks, of unlike sizes
    parts = (slice(0, middle), slice(middle, 120))
    return torch.cat([torch.cat([found.block(rows, columns) for columns in parts], dim=1) for rows in parts])


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("who", ["unlabelled", "labelled", "all"])
def test_gradient_is_autograds(setting, approximate, who):
    data, x, weights, guess, task, propagation, adjacency = setting
    mask = {"unlabelled": ~data.train_mask, "labelled": data.train_mask, "all": data.train_mask | True}[who]
    task = task._replace(weight=mask.double() / int(mask.sum()))
    a = adjacency.clone().requires_grad_()
    loss = transcription().attack_loss(
        a, x, data.y, data.train_mask, guess, task.weight, weights, SETTINGS, approximate=approximate
    )
    (expected,) = torch.autograd.grad(loss, a)
    expected = expected + expected.T
    way = approximate_meta_gradient if approximate else meta_gradient
    gradient = way(SparseMatrix(x), propagation, weights, task, SETTINGS)
    found = edge_gradient(gradient, x, propagation, adjacency, task)
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=1e-8)


def test_gradient_foretells_a_small_change(setting):
    """Central differences of the whole thing, on an edge and on a pair that is none."""
    data, x, weights, guess, task, propagation, adjacency = setting
    gradient = meta_gradient(SparseMatrix(x), propagation, weights, task, SETTINGS)
    found = edge_gradient(gradient, x, propagation, adjacency, task)
    for i, j in (data.edge_index[:, 0].tolist(), (int(adjacency[5].argmin()) + 6, 5)):
        losses = []
        for step in (1e-5, -1e-5):
            a = adjacency.clone()
            a[i, j] += step
            a[j, i] += step
            loss = transcription().attack_loss(a, x, data.y, data.train_mask, guess, task.weight, weights, SETTINGS)
            losses.append(float(loss.detach()))
        assert float(found[i, j]) == pytest.approx((losses[0] - losses[1]) / 2e-5, rel=1e-4)


def test_surrogate_is_the_linear_gcn(setting):
    data, x, weights, _, task, propagation, adjacency = setting
    a = transcription().normalized(adjacency)
    torch.testing.assert_close(labelled_rows(SparseMatrix(x), propagation, task.labelled), (a @ a @ x)[task.labelled])
    logits = surrogate_logits(SparseMatrix(x), propagation, weights, task, SETTINGS)
    loss = (task.weight * F.cross_entropy(logits, task.wanted.argmax(1), reduction="none")).sum()
    expected = transcription().attack_loss(
        adjacency, x, data.y, data.train_mask, task.wanted.argmax(1), task.weight, weights, SETTINGS
    )
    torch.testing.assert_close(loss, expected.detach())
