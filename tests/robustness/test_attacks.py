from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from simpgcn.config import default_config
from simpgcn.data import load_dataset
from simpgcn.data.graph_file import about_graph, read_graph, write_graph
from simpgcn.errors import SimPGCNError
from simpgcn.experiments.robustness import attack_graphs
from simpgcn.experiments.runner import run_folder
from simpgcn.robustness import attack_run
from simpgcn.robustness.attack_run import run_attack
from simpgcn.robustness.attacks import ATTACKS, attacked, budget_of
from simpgcn.robustness.flips import flip_edges, single_edges
from simpgcn.robustness.prbcd import PRBCD
from simpgcn.robustness.weighted_models import WeightedGraph, WeightedModel
from simpgcn.training import Trainer, prepare

CPU = torch.device("cpu")


@pytest.fixture
def tiny(small, tmp_path, monkeypatch):
    """A small graph as a file, to be attacked by its name."""
    path = tmp_path / "tiny.npz"
    small.x = small.x.to_dense()
    write_graph(path, small, {"made_from": "demo"})
    return str(path)


def pairs_of(data):
    return {tuple(pair) for pair in single_edges(data.edge_index).T.tolist()}


@pytest.mark.parametrize("name", [name for name in ATTACKS if not name.startswith("prbcd")])
def test_every_attack_flips_what_its_budget_allows(tiny, tmp_path, name):
    clean, out = load_dataset(tiny), tmp_path / "out.npz"
    done = run_attack(tiny, name, 0.1, out, device="cpu")
    budget = budget_of(clean, 0.1, ATTACKS[name])
    assert (done.flips, done.budget) == (budget, budget)
    after = load_dataset(str(out))
    if ATTACKS[name].on_features:
        assert budget == 12
        assert int((after.x != clean.x).any(dim=1).sum()) <= 12
        assert torch.equal(after.x[~after.test_mask], clean.x[~clean.test_mask])
        assert pairs_of(after) == pairs_of(clean)
        return
    assert budget == len(pairs_of(clean)) // 10
    assert len(pairs_of(after) ^ pairs_of(clean)) == budget
    assert after.is_undirected()
    for part in ("x", "y", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(after[part], clean[part])
    assert default_config(str(out)).model == default_config("demo").model
    again = run_attack(tiny, name, 0.1, tmp_path / "again.npz", device="cpu")
    assert about_graph(again.path)["flips"] == about_graph(out)["flips"]


def test_dice_parts_likes_and_links_unlikes(small):
    y = small.y.clone()
    small.y = torch.where(torch.arange(120) % 2 == 0, 0, 1)
    clean = pairs_of(small)
    flips = list(ATTACKS["dice"].make(small, "", 0, CPU).flips(40))
    for u, v in flips:
        assert ((u, v) in clean) == bool(small.y[u] == small.y[v])
    assert 5 < sum(pair in clean for pair in flips) < 35
    after = flip_edges(single_edges(small.edge_index), torch.tensor(flips).T)
    had = torch.bincount(small.edge_index[0], minlength=120) > 0
    assert bool((torch.bincount(after.flatten(), minlength=120)[had] > 0).all())
    assert all(pair not in clean for pair in ATTACKS["random"].make(small, "", 0, CPU).flips(40))
    small.y = y


def test_an_interrupted_attack_goes_on(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(attack_run, "SAVE_SECONDS", 0.0)
    out = tmp_path / "out.npz"

    def stop(done):
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_attack(tiny, "metattack", 0.05, out, device="cpu", on_flip=stop)
    assert len(about_graph(out)["flips"]) == 5
    with pytest.raises(SimPGCNError, match=r"out.npz is unfinished: give the command"):
        load_dataset(str(out))
    seen = []
    run_attack(tiny, "metattack", 0.05, out, device="cpu", on_start=lambda *start: seen.append(start))
    assert seen == [(5, 12)]
    run_attack(tiny, "metattack", 0.05, tmp_path / "whole.npz", device="cpu")
    assert about_graph(out)["flips"] == about_graph(tmp_path / "whole.npz")["flips"]
    run_attack(tiny, "metattack", 0.05, out, device="cpu", on_flip=stop)  # finished: nothing is done again
    with pytest.raises(SimPGCNError, match=r"holds another attack \(its rate is 0.05, not 0.1\): choose another --out"):
        run_attack(tiny, "metattack", 0.1, out, device="cpu")


def test_rates_build_on_each_other(tiny, tmp_path):
    graphs = attack_graphs(tiny, "metattack", [0.0, 0.02, 0.05], tmp_path / "graphs", device="cpu")
    flips = [about_graph(tmp_path / "graphs" / f"tiny-metattack-{rate}.npz")["flips"] for rate in ("0", "0.02", "0.05")]
    assert [len(one) for one in flips] == [0, 4, 12]
    assert flips[2][:4] == flips[1]
    assert pairs_of(load_dataset(graphs[0.0])) == pairs_of(load_dataset(tiny))


def test_a_run_is_of_the_files_content(tiny, tmp_path, small):
    config = default_config(tiny)
    assert config.label == "tiny-simpgcn"
    before = run_folder(tmp_path, config)
    small.y = small.y.roll(1)
    write_graph(tmp_path / "tiny.npz", small, {"made_from": "demo"})
    assert run_folder(tmp_path, config) != before


def test_files_that_are_no_graphs(tmp_path):
    path = tmp_path / "graph.npz"
    with pytest.raises(SimPGCNError, match=r"there is no graph file .*graph.npz"):
        load_dataset(str(path))
    path.write_bytes(b"half")
    with pytest.raises(SimPGCNError, match="damaged or no graph file"):
        read_graph(path)
    np.savez(path, x=np.eye(2))
    with pytest.raises(SimPGCNError, match="no graph file of this package"):
        load_dataset(str(path))

    class Hostile:
        def __reduce__(self):
            return (pytest.fail, ("the pickle was opened",))

    path.write_bytes(pickle.dumps(Hostile()))
    with pytest.raises(SimPGCNError, match="damaged or no graph file"):
        read_graph(path)
    with pytest.raises(SimPGCNError, match=r"must end in .npz"):
        run_attack("demo", "random", 0.1, tmp_path / "out.txt")
    with pytest.raises(SimPGCNError, match="unknown attack 'metatack': did you mean metattack"):
        run_attack("demo", "metatack", 0.1, tmp_path / "out.npz")
    with pytest.raises(SimPGCNError, match=r"the rate must be from 0 to 1, not 5.0"):
        run_attack("demo", "random", 5.0, tmp_path / "out.npz")


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("gcn", {}),
        ("simpgcn", {}),
        ("simpgcn", {"form": "published", "self_loop_weight": 0.0}),
        ("simpgcn", {"bias": False, "num_layers": 3}),
    ],
)
def test_weighted_models_are_the_models(small, model, changes):
    config = default_config("demo", model).replace(
        {"training": {"epochs": 2, "device": "cpu"}, "model": {"hidden_channels": 8, **changes}}
    )
    problem = prepare(small, config, cache=False)
    trainer = Trainer(problem, config)
    trainer.run()
    weighted = WeightedModel(trainer.best_model(), problem.inputs)
    expected = trainer.best_model()(*problem.inputs)
    torch.testing.assert_close(weighted(small.x, small.edge_index), expected, atol=1e-5, rtol=1e-4)
    # and a pair of weight 0 is no edge, yet has a gradient
    index = torch.cat([small.edge_index, torch.tensor([[0, 119], [119, 0]])], dim=1)
    weight = torch.cat([torch.ones(small.num_edges), torch.zeros(2)]).requires_grad_()
    found = weighted(small.x, index, weight)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    (gradient,) = torch.autograd.grad(found.square().sum(), weight)
    assert float(gradient[-1].abs()) > 0


@pytest.mark.parametrize("model", ["gcn", "simpgcn"])
def test_prbcd_hurts_the_model_it_is_shown(small, model):
    config = default_config("demo", model).replace({"training": {"epochs": 40, "device": "cpu"}})
    attack = PRBCD(small, config, epochs=40)
    shares: list[float] = []
    attack.on_step = shares.append
    flips = list(attack.flips(40))
    assert shares == [(step + 1) / 40 for step in range(40)]
    assert 0 < len(flips) <= 40
    after = attacked(small, torch.tensor(flips).T, ATTACKS["prbcd"])
    with torch.no_grad():
        before, later = (attack.model(small.x, data.edge_index)[small.test_mask] for data in (small, after))
    guess = before.argmax(dim=1)
    assert F.cross_entropy(later, guess) > 1.05 * F.cross_entropy(before, guess)
    with pytest.raises(SimPGCNError, match="all at once"):
        list(attack.flips(40, torch.tensor([[0], [1]])))


def test_weighted_graph_has_the_gradient_of_its_dense_form(small, monkeypatch):
    monkeypatch.setattr("simpgcn.robustness.weighted_models.CHUNK", 100)
    generator = torch.Generator().manual_seed(0)
    index = torch.cat([small.edge_index, torch.tensor([[0, 119], [119, 0]])], dim=1)
    weight = torch.rand(index.size(1), generator=generator, dtype=torch.float64) + 0.1
    weight[-2:] = 1e-9  # sends nothing, and yet has a gradient
    x, seen = (torch.randn(120, 4, generator=generator, dtype=torch.float64) for _ in range(2))

    def sparse(weight, x):
        return WeightedGraph(index, weight, 120) @ x

    def dense(weight, x):
        adjacency = torch.eye(120, dtype=x.dtype).index_put(tuple(index), weight, accumulate=True)
        scale = adjacency.sum(dim=1).rsqrt()
        return (scale[:, None] * adjacency * scale) @ x

    gradients = []
    for way in (sparse, dense):
        given = [value.clone().requires_grad_() for value in (weight, x)]
        gradients.append(torch.autograd.grad((seen * way(*given).square()).sum(), given))
    for found, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)
