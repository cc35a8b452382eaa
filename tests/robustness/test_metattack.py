from __future__ import annotations

import itertools

import pytest
import torch

from simpgcn.data import load_dataset
from simpgcn.data.prognn import RATES
from simpgcn.robustness.best_flip import best_flip
from simpgcn.robustness.degree_test import CUTOFF, DegreeTest
from simpgcn.robustness.flips import flip_edges, single_edges
from simpgcn.robustness.metattack import Metattack
from simpgcn.robustness.surrogate import SurrogateSettings

QUICK = SurrogateSettings(steps=8)


def degrees(edges, n):
    return torch.bincount(edges.flatten(), minlength=n)


@pytest.mark.parametrize("change", [1, -1])
def test_degree_test_by_kind_is_the_test_of_every_flip(small, change):
    edges = single_edges(small.edge_index)
    clean = degrees(edges, 120)
    test = DegreeTest(clean)
    now = clean + (torch.arange(120) % 7 == 0).long()
    kinds, allowed = test.allowed(now, change)
    place = torch.searchsorted(kinds, now)
    for u, v in itertools.combinations(range(0, 120, 11), 2):
        after = now.clone()
        after[u] += change
        after[v] += change
        assert bool(allowed[place[u], place[v]]) == bool(test.ratio(after) < CUTOFF)


class Known:
    """A gradient that is simply given."""

    def __init__(self, matrix):
        self.matrix = matrix

    def block(self, rows, columns):
        return self.matrix[rows, columns].clone()


@pytest.mark.parametrize("block", [17, 1024])
def test_best_flip_by_brute_force(small, monkeypatch, block):
    monkeypatch.setattr("simpgcn.robustness.best_flip.BLOCK", {"cpu": block})
    generator = torch.Generator().manual_seed(0)
    edges = single_edges(small.edge_index)
    degree, test = degrees(edges, 120), DegreeTest(degrees(edges, 120))
    is_edge = {tuple(pair) for pair in edges.T.tolist()}
    # degrees somewhat off, so that the test forbids some flips
    for _ in range(3):
        matrix = torch.randn(120, 120, generator=generator)
        matrix = matrix + matrix.T
        taboo = torch.empty(2, 0, dtype=torch.long)
        for _ in range(4):
            best = (-torch.inf, None)
            for u, v in itertools.combinations(range(120), 2):
                there = (u, v) in is_edge
                if [u, v] in taboo.T.tolist() or (there and 1 in (int(degree[u]), int(degree[v]))):
                    continue
                score = float(matrix[u, v]) * (-1 if there else 1)
                if score > best[0]:
                    after = degree.clone()
                    after[[u, v]] += -1 if there else 1
                    if test.ratio(after) < CUTOFF:
                        best = (score, (u, v))
            assert best_flip(Known(matrix), edges, taboo, degree, test) == best[1]
            taboo = torch.cat([taboo, torch.tensor(best[1]).unsqueeze(1)], dim=1)


def test_flips_are_flips(small):
    edges = single_edges(small.edge_index)
    pairs = torch.cat([edges[:, :3], torch.tensor([[0], [119]])], dim=1)
    before, after = ({tuple(pair) for pair in e.T.tolist()} for e in (edges, flip_edges(edges, pairs)))
    assert before ^ after == {tuple(pair) for pair in pairs.T.tolist()}


@pytest.mark.parametrize("objective", ["self", "train"])
@pytest.mark.parametrize("approximate", [False, True])
def test_attack_keeps_its_promises(small, objective, approximate):
    attack = Metattack(small, objective=objective, approximate=approximate, settings=QUICK)
    flips = list(attack.flips(15))
    assert len(set(flips)) == 15
    clean = single_edges(small.edge_index)
    attacked = flip_edges(clean, torch.tensor(flips).T)
    assert bool((degrees(attacked, 120)[degrees(clean, 120) > 0] > 0).all())
    assert DegreeTest(degrees(clean, 120)).ratio(degrees(attacked, 120)) < CUTOFF


def test_without_the_degree_test_degrees_show(small):
    clean = single_edges(small.edge_index)
    flips = list(Metattack(small, degree_test=False, settings=QUICK).flips(60))
    attacked = flip_edges(clean, torch.tensor(flips).T)
    assert DegreeTest(degrees(clean, 120)).ratio(degrees(attacked, 120)) > CUTOFF


def test_published_graphs_were_made_without_the_degree_test(mirror):
    clean = degrees(single_edges(load_dataset("cora-prognn").edge_index), 2485)
    for rate in RATES:
        attacked = degrees(single_edges(load_dataset(f"cora+metattack@{rate}").edge_index), 2485)
        assert DegreeTest(clean).ratio(attacked) > 10 * CUTOFF


def test_an_attack_goes_on_as_if_it_had_not_stopped(small):
    whole = list(Metattack(small, settings=QUICK).flips(8))
    rest = list(Metattack(small, settings=QUICK).flips(8, torch.tensor(whole[:3]).T))
    assert whole[3:] == rest
    assert list(Metattack(small, seed=1, settings=QUICK).flips(8)) != whole


def test_only_training_labels_are_read(small):
    flips = list(Metattack(small, settings=QUICK).flips(4))
    small.y = torch.where(small.train_mask, small.y, -1)
    assert list(Metattack(small, settings=QUICK).flips(4)) == flips


def test_surrogate_learns_cora(mirror):
    data = load_dataset("cora-prognn")
    guess = Metattack(data, settings=SurrogateSettings(steps=100)).task.wanted.argmax(dim=1)
    assert (guess == data.y)[data.val_mask].float().mean() > 0.8
