from __future__ import annotations

import copy
import dataclasses

import pytest
import torch
from torch.nn import functional as F
from torch_geometric.data import Data

from simpgcn.config import Config, default_config
from simpgcn.data import load_dataset
from simpgcn.errors import SimPGCNError
from simpgcn.nn.registry import METHODS
from simpgcn.provenance import peak_memory_mb
from simpgcn.runs import read_checkpoint, write_checkpoint
from simpgcn.similarity import Pairs, nearest_neighbors
from simpgcn.training import EarlyStopping, Trainer, find_device, predict, prepare


@pytest.fixture
def config():
    return Config().replace(
        {
            "model": {"hidden_channels": 8, "pretext_samples": 200},
            "training": {"epochs": 12, "lr": 0.05, "device": "cpu"},
            "similarity": {"k": 5},
        }
    )


def trained(data, config):
    trainer = Trainer(prepare(data, config, cache=False), config)
    trainer.run()
    return trainer


def same_state(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def test_two_runs_are_bit_identical_whatever_the_global_seed(small, config):
    torch.manual_seed(1)
    first = trained(small, config)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    second = trained(small, config)
    assert torch.equal(before, torch.get_rng_state())
    assert first.history == second.history
    assert same_state(first.best_state, second.best_state)
    other = trained(small, config.replace({"training": {"seed": 1}}))
    assert other.history != first.history


def test_learns(small, config):
    history = trained(small, config.replace({"training": {"epochs": 60}})).history
    assert history[-1].loss < 0.5 * history[0].loss
    assert max(record.val_accuracy for record in history) > 0.8


def test_best_state_is_that_of_the_best_epoch(small, config):
    small.y = small.y[torch.randperm(120, generator=torch.Generator().manual_seed(0))]  # it gets worse again
    config = config.replace({"training": {"epochs": 400, "patience": 15}})
    trainer = trained(small, config)
    best = max(trainer.history, key=lambda e: (e.val_accuracy, e.epoch))
    assert trainer.stopping.best_epoch == best.epoch < len(trainer.history)
    same = trained(small, config.replace({"training": {"epochs": best.epoch}}))
    assert same_state(trainer.best_state, same.best_state)
    logits = trainer.best_model()(*trainer.problem.inputs)
    assert (logits.argmax(1) == small.y)[small.val_mask].float().mean().item() == pytest.approx(best.val_accuracy)
    loss = F.cross_entropy(logits[small.val_mask], small.y[small.val_mask])
    assert loss.item() == pytest.approx(best.val_loss, rel=1e-5)


def test_stops_when_patience_is_exhausted(small, config):
    small.y = small.y[torch.randperm(120, generator=torch.Generator().manual_seed(0))]  # nothing to learn
    config = config.replace({"training": {"epochs": 400, "patience": 15}})
    trainer = trained(small, config)
    assert len(trainer.history) == trainer.stopping.best_epoch + 15 < 400


def test_tie_goes_to_the_later_epoch_and_renews_patience():
    rule = EarlyStopping(3)
    for epoch, value in enumerate([0.7, 0.5, 0.5, 0.7, 0.6], start=1):
        rule.update(epoch, value)
    assert rule.best_epoch == 4
    assert [rule.exhausted(epoch) for epoch in (5, 6, 7)] == [False, False, True]


@pytest.mark.parametrize("stop_after", [1, 7])
def test_resuming_is_the_same_as_never_stopping(small, config, stop_after):
    whole = trained(small, config)
    problem = prepare(small, config, cache=False)
    first = Trainer(problem, config)
    saved = {}

    def stop(epoch):
        if epoch.epoch == stop_after:
            tensors, meta = first.checkpoint()
            saved.update(tensors={k: v.clone() for k, v in tensors.items()}, meta=meta)
            return True
        return False

    first.run(stop)
    torch.rand(100)
    second = Trainer(problem, config)
    second.restore(saved["tensors"], saved["meta"])
    second.run()
    assert second.history == whole.history
    assert same_state(second.best_state, whole.best_state)
    assert torch.equal(second.parameters, whole.parameters)


def test_a_checkpoint_before_the_first_epoch(small, config, tmp_path):
    """It is written and read like any other."""
    problem = prepare(small, config, cache=False)
    write_checkpoint(tmp_path, Trainer(problem, config), {})
    restored = Trainer(problem, config)
    read_checkpoint(tmp_path, restored)
    restored.run()
    assert restored.history == trained(small, config).history


def test_lambda_zero_searches_no_pairs_and_has_no_head(small, config, monkeypatch):
    asked = []

    def spy(x, k, *, farthest=0, **kwargs):
        asked.append(farthest)
        return nearest_neighbors(x, k, farthest=farthest, **kwargs)

    monkeypatch.setattr("simpgcn.similarity.feature_graph.nearest_neighbors", spy)
    trainer = trained(small, config.replace({"model": {"pretext_weight": 0}}))
    assert asked == [0]
    assert trainer.problem.pairs is None
    assert not [name for name in trainer.best_state if name.startswith("pretext")]
    assert all(record.pretext_loss == 0 for record in trainer.history)


def test_gcn_searches_nothing(small, config, monkeypatch):
    monkeypatch.setattr("simpgcn.similarity.feature_graph.nearest_neighbors", lambda *a, **k: pytest.fail("searched"))
    trainer = trained(small, config.replace({"model_name": "gcn"}))
    assert trainer.history[-1].loss < trainer.history[0].loss


def test_objective_is_the_sum_of_the_two_losses(small, config):
    config = config.replace({"model": {"pretext_weight": 3.0, "dropout": 0.0, "pretext_samples": 10**6}})
    problem = prepare(small, config, cache=False)
    trainer = Trainer(problem, config)
    losses, _ = trainer.objective(problem.inputs, problem.labels, problem.pairs)
    states = trainer.objective.model.states(*problem.inputs)
    classification = F.cross_entropy(states[-1].hidden[small.train_mask], small.y[small.train_mask])
    pretext = trainer.objective.pretext(states[0].hidden, problem.pairs)
    torch.testing.assert_close(losses.total, classification + 3 * pretext)


def test_pretext_reads_the_first_layer_after_dropout(small, config):
    """With everything dropped out the head sees zeros, and its loss is that of its bias alone."""
    config = config.replace({"model": {"pretext_samples": 10**6}})
    problem = prepare(small, config, cache=False)
    trainer = Trainer(problem, config)
    trainer.objective.model.dropout = 1.0
    with torch.no_grad():
        trainer.objective.model.convs[0].weight.mul_(1000)
        trainer.objective.pretext.linear.weight.fill_(1000)
    losses, _ = trainer.objective(problem.inputs, problem.labels, problem.pairs)
    bias = trainer.objective.pretext.linear.bias
    pairs: Pairs = problem.pairs
    assert losses.pretext.item() == pytest.approx(((bias - pairs.similarity) ** 2).mean().item(), rel=1e-5)


def test_weight_decay_reaches_every_parameter(small, config):
    trainer = Trainer(prepare(small, config, cache=False), config)
    assert trainer.decays == [(sum(p.numel() for p in trainer.objective.parameters()), config.training.weight_decay)]
    assert trainer.objective.pretext is not None


def test_a_part_of_a_model_may_have_a_weight_decay_of_its_own(small, config):
    config = dataclasses.replace(config, model_name="gcnii", model=METHODS["gcnii"].settings())
    trainer = Trainer(prepare(small, config, cache=False), config)
    model = trainer.objective.model
    convs = sum(p.numel() for p in model.convs.parameters())
    assert (convs, config.model.conv_weight_decay) in trainer.decays
    assert sum(size for size, _ in trainer.decays) == sum(p.numel() for p in model.parameters())


def test_training_is_the_plain_loop(small, config):
    """A literal loop with torch's Adam and nothing shared, fused or stacked, without randomness between epochs."""
    config = config.replace({"model": {"dropout": 0.0, "pretext_samples": 10**6, "pretext_weight": 2.0}})
    problem = prepare(small, config, cache=False)
    trainer = Trainer(problem, config)
    objective = copy.deepcopy(trainer.objective)
    adam = torch.optim.Adam(
        objective.parameters(), config.training.lr, weight_decay=config.training.weight_decay, foreach=False
    )
    trainer.run()
    x, structure, features = problem.inputs
    for epoch in trainer.history:
        states = objective.model.states(x, structure, features)
        classification = F.cross_entropy(states[-1].hidden[small.train_mask], small.y[small.train_mask])
        first, second = (states[0].hidden[ends] for ends in problem.pairs.nodes)
        guess = objective.pretext.linear((first - second).abs()).squeeze(1)
        pretext = F.mse_loss(guess, problem.pairs.similarity)
        adam.zero_grad()
        (classification + 2 * pretext).backward()
        adam.step()
        with torch.no_grad():
            logits = objective.model(x, structure, features)
        right = logits.argmax(1) == small.y
        assert epoch.classification_loss == pytest.approx(classification.item(), rel=1e-4)
        assert epoch.pretext_loss == pytest.approx(pretext.item(), rel=1e-4)
        assert epoch.val_loss == pytest.approx(
            F.cross_entropy(logits[small.val_mask], small.y[small.val_mask]).item(), rel=1e-4
        )
        assert epoch.train_accuracy == pytest.approx(right[small.train_mask].float().mean().item())
        assert epoch.val_accuracy == pytest.approx(right[small.val_mask].float().mean().item())


def test_the_test_set_is_never_read(small, config):
    """Neither the test labels nor which nodes they are on can change anything."""
    other = small.clone()
    other.y = torch.where(small.test_mask, (small.y + 1) % 3, small.y)
    other.test_mask = torch.zeros_like(small.test_mask)
    other.test_mask[small.test_mask.nonzero()[:1]] = True
    assert same_state(trained(small, config).best_state, trained(other, config).best_state)


def test_model_trains_on_values_though_similarity_compares_presence(small, config):
    """Binarising in place would feed the model the binarised copy."""
    small.x = small.x.to_dense() * 3
    before = small.x.clone()
    config = config.replace({"data": {"normalize_features": "never"}, "similarity": {"binarize": "always"}})
    problem = prepare(small, config, cache=False)
    seen = problem.inputs[0]
    seen = seen.matrix.to_dense() if hasattr(seen, "matrix") else seen
    assert torch.equal(seen, before)
    assert before.max() > 3


@pytest.mark.parametrize("binarized", ["always", "never"])
@pytest.mark.parametrize("normalized", ["always", "never"])
def test_settings_reach_the_models_inputs(binarized, normalized):
    """All three inputs against a dense transcription, under settings that are not the defaults."""
    x = torch.tensor([[2.0, 1, 0, 0], [5, 0, 1, 0], [0, 3, 0.5, 0], [0, 0, 2, 7], [1, 1, 1, 1]])
    data = Data(
        x=x,
        edge_index=torch.tensor([[0, 1, 3], [1, 2, 3]]),
        edge_weight=torch.tensor([0.5, 2.0, 3.0]),
        y=torch.tensor([0, 1, 0, 1, 0]),
        train_mask=torch.tensor([1, 1, 0, 0, 0]).bool(),
        val_mask=torch.tensor([0, 0, 1, 0, 0]).bool(),
    )
    config = Config().replace(
        {
            "data": {"normalize_features": normalized},
            "similarity": {"k": 2, "binarize": binarized},
            "model": {"pretext_neighbors": 1},
            "training": {"device": "cpu"},
        }
    )
    problem = prepare(data, config, cache=False)
    features, structure, look_alikes = problem.inputs
    expected = x / x.sum(1, keepdim=True) if normalized == "always" else x
    torch.testing.assert_close(features, expected)

    a = torch.eye(5)
    a[0, 1], a[1, 2], a[3, 3] = 0.5, 2.0, 4.0
    d = a.sum(1).rsqrt()
    torch.testing.assert_close(structure.matrix.to_dense(), d[:, None] * a * d)

    compared = (x != 0).float() if binarized == "always" else x
    unit = F.normalize(compared, dim=1)
    cosine = (unit @ unit.T).fill_diagonal_(0)
    found = nearest_neighbors(compared, 2, seed=0).near
    a_f = torch.zeros(5, 5).scatter(1, found, cosine.gather(1, found))
    d_f = a_f.sum(1).rsqrt()
    torch.testing.assert_close(look_alikes.matrix.to_dense(), d_f[:, None] * a_f * d_f)
    assert problem.labels.nodes.tolist() == [0, 1, 2]  # no other labels reach the trainer
    assert problem.labels.y.tolist() == [0, 1, 0]


def test_similarity_seed_and_task_settings_reach_the_search(small, config):
    seeds = [
        prepare(small, config.replace({"similarity": {"seed": seed}}), cache=False).pairs.nodes for seed in (0, 0, 1)
    ]
    assert torch.equal(seeds[0], seeds[1])
    assert not torch.equal(seeds[0], seeds[2])
    few = prepare(small, config.replace({"model": {"pretext_neighbors": 1}}), cache=False).pairs
    assert few.nodes.size(1) <= 240


def test_prediction_on_changed_features_uses_their_own_feature_graph(small, config):
    from simpgcn.training import model_inputs

    trainer = trained(small, config)
    changed = small.clone()
    changed.x = small.x.to_dense().flip(0)
    inputs, graph = model_inputs(changed, config, torch.device("cpu"))
    old = trainer.problem.inputs[2].matrix.to_dense()
    assert not torch.equal(inputs[2].matrix.to_dense(), old)
    assert predict(trainer.best_model(), inputs).probabilities.shape == (120, 3)
    assert graph.feature_edge_index is not None


def test_sparse_and_dense_features_train_alike(small, config):
    dense = small.clone()
    dense.x = small.x.to_dense()
    a, b = trained(small, config), trained(dense, config)
    for x, y in zip(a.history, b.history, strict=True):
        assert x.loss == pytest.approx(y.loss, rel=1e-4)


def test_classification_pretext_and_published_form_train(small, config):
    history = trained(small, config.replace({"model": {"pretext_task": "classification", "form": "published"}})).history
    assert history[-1].pretext_loss < history[0].pretext_loss


def test_diverging_training_is_told(small, config):
    config = config.replace({"training": {"lr": 1e30, "epochs": 50}})
    with pytest.raises(SimPGCNError, match=r"the loss became .* in epoch \d+: lower training.lr"):
        trained(small, config)


def test_memory_is_told_even_where_the_system_does_not(monkeypatch):
    monkeypatch.setattr("pathlib.Path.read_text", lambda path, **options: "Name: python\n")
    assert peak_memory_mb(torch.device("cpu")) > 10


def test_devices():
    assert find_device("cpu").type == "cpu"
    with pytest.raises(SimPGCNError, match="unknown device 'gpu'"):
        find_device("gpu")
    if not torch.cuda.is_available():
        with pytest.raises(SimPGCNError, match="finds no CUDA device"):
            find_device("cuda")


def test_k_as_large_as_the_graph(small, config):
    with pytest.raises(SimPGCNError, match="k = 120 neighbours"):
        prepare(small, config.replace({"similarity": {"k": 120}}), cache=False)


def test_every_method_builds_and_trains(small, config):
    for name, method in METHODS.items():
        chosen = dataclasses.replace(config, model_name=name, model=method.settings())
        assert len(trained(small, chosen.replace({"training": {"epochs": 2}})).history) == (1 if name == "lp" else 2)


def test_training_reaches_every_parameter_of_every_method(small, config):
    """Gradients alone, not weight decay: what a functional call does not reach stays where it was."""
    for name, method in METHODS.items():
        chosen = dataclasses.replace(config, model_name=name, model=method.settings()).replace(
            {"training": {"weight_decay": 0, "epochs": 3}}
        )
        trainer = Trainer(prepare(small, chosen, cache=False), chosen)
        before = {key: value.detach().clone() for key, value in trainer.learned.items()}
        trainer.run()
        still = [key for key, value in trainer.learned.items() if torch.equal(value.cpu(), before[key])]
        assert not still, f"{name}: {still}"


def test_demo_defeats_gcn_and_not_simpgcn():
    data = load_dataset("demo")

    def test_accuracy(name):
        config = Config().replace({"model_name": name, "training": {"epochs": 60, "lr": 0.05}})
        trainer = trained(data, config)
        predicted = predict(trainer.best_model(), trainer.problem.inputs).probabilities.argmax(1)
        return float((predicted == data.y.numpy())[data.test_mask.numpy()].mean())

    assert test_accuracy("simpgcn") > test_accuracy("gcn") + 0.2


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_trains_what_has_parameters_that_are_not_learned(small, config):
    config = dataclasses.replace(config, model_name="appnp", model=METHODS["appnp"].settings())
    trainer = trained(small, config.replace({"training": {"device": "cuda"}}))
    model = trainer.best_model()
    assert {p.device.type for p in model.parameters()} == {"cuda"}
    assert predict(model, trainer.problem.inputs).probabilities.shape == (120, trainer.problem.num_classes)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_learns_the_same(small, config):
    there = trained(small, config.replace({"training": {"device": "cuda", "epochs": 60}}))
    here = trained(small, config.replace({"training": {"epochs": 60}}))
    assert there.stopping.best == pytest.approx(here.stopping.best, abs=0.15)
    tensors, meta = there.checkpoint()
    there.restore({name: value.cpu() for name, value in tensors.items()}, meta)


@pytest.mark.parametrize("model", ["gcn", "gat", "jknet", "gcnii"])
def test_training_on_what_reaches_the_labelled_nodes_is_training_on_the_whole_graph(model):
    """Without dropout, the only thing that draws by the number of rows."""
    config = default_config("demo", model).replace({"model": {"dropout": 0.0}, "training": {"epochs": 5}})
    data = load_dataset("demo")
    data.edge_index = data.edge_index[:, ::20]
    for mask in (data.train_mask, data.val_mask):
        mask[300:] = False
    problem = prepare(data, config, cache=False)
    assert problem.training is not None
    assert problem.evaluation is not None
    part = Trainer(problem, config)
    whole = Trainer(problem._replace(training=None, evaluation=None), config)
    part.run()
    whole.run()
    for a, b in zip(part.history, whole.history, strict=True):
        assert a == pytest.approx(b, rel=1e-3, abs=1e-4)
    torch.testing.assert_close(part.parameters, whole.parameters, atol=1e-3, rtol=1e-3)
