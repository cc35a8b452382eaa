from __future__ import annotations

import pytest
import torch

from simpgcn.config import Config
from simpgcn.data import load_dataset
from simpgcn.errors import SimPGCNError
from simpgcn.training import Labels, Trainer, alike, prepare, train_together, with_split

BASE = Config().replace(
    {
        "data": {"name": "demo"},
        "model": {"hidden_channels": 8, "pretext_samples": 500},
        "training": {"epochs": 40, "patience": 12, "lr": 0.05, "device": "cpu"},
        "similarity": {"k": 5},
    }
)
CHANGES = [
    {"training": {"seed": 3}},
    {"training": {"seed": 1, "lr": 0.01}, "model": {"pretext_weight": 30.0}, "data": {"split": 1}},
    {"training": {"weight_decay": 0.0, "patience": 3}, "model": {"self_loop_weight": 1.0}},
    {"training": {"epochs": 5}, "model": {"structure_bias": 2.0}, "data": {"split": 2}},
]


@pytest.fixture(scope="module")
def trainers():
    """Makes the trainers of several settings on one problem."""
    problem = prepare(load_dataset("demo"), BASE, cache=False)

    def make(changes=CHANGES, base=BASE):
        made = []
        for change in changes:
            config = base.replace(change)
            split = load_dataset("demo", split=config.data.split)
            made.append(Trainer(with_split(problem, split, config), config))
        return made

    return make


def assert_alike(one, other):
    assert len(one.history) == len(other.history)
    for a, b in zip(one.history, other.history, strict=True):
        assert a.epoch == b.epoch
        assert a.loss == pytest.approx(b.loss, rel=1e-3)
        assert a.val_loss == pytest.approx(b.val_loss, rel=1e-3)
        assert a.val_accuracy == pytest.approx(b.val_accuracy, abs=0.01)
    assert one.stopping.best == pytest.approx(other.stopping.best, abs=0.01)


@pytest.mark.parametrize(("form", "gate"), [("paper", "scores"), ("published", "scores"), ("paper", "softmax")])
def test_each_of_several_runs_is_the_run_alone(trainers, form, gate):
    base = BASE.replace({"model": {"form": form, "gate": gate}})
    together, alone = trainers(base=base), trainers(base=base)
    train_together(together)
    for trainer in alone:
        trainer.run()
    for one, other in zip(together, alone, strict=True):
        assert_alike(one, other)
        torch.testing.assert_close(one.best, other.best, rtol=0.02, atol=2e-3)
    ends = [len(trainer.history) for trainer in together]
    assert ends[3] == 5  # each by its own rule
    assert len(set(ends)) > 2


def test_the_first_steps_agree_to_rounding(trainers):
    """Over a few steps nothing has had time to grow: the same gradients, moments and updates."""
    changes = [{**change, "training": {**change["training"], "epochs": 2}} for change in CHANGES]
    together, alone = trainers(changes), trainers(changes)
    train_together(together)
    for one, other in zip(together, alone, strict=True):
        other.run()
        # Adam divides by the gradient's size: where that is rounding, so is the direction of the step.
        moved = other.square > 1e-10
        torch.testing.assert_close(one.parameters[moved], other.parameters[moved], rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(one.mean, other.mean, rtol=1e-3, atol=1e-5)
        assert one.history[0].loss == pytest.approx(other.history[0].loss, rel=1e-5)


def test_runs_differ_from_each_other(trainers):
    together = trainers([{"training": {"seed": seed, "epochs": 3}} for seed in range(3)])
    train_together(together)
    losses = {trainer.history[0].loss for trainer in together}
    assert len(losses) == 3


def test_same_seed_same_run_in_any_company(trainers):
    first, *_ = made = trainers([{"training": {"seed": seed, "epochs": 4}} for seed in (7, 8)])
    *_, last = others = trainers([{"training": {"seed": seed, "epochs": 4}} for seed in (1, 2, 3, 7)])
    train_together(made)
    train_together(others)
    torch.testing.assert_close(first.parameters, last.parameters, rtol=0, atol=1e-5)


def test_what_a_run_does_after_its_end_does_not_reach_its_best_state(trainers):
    """The others go on, and so do its updates, until they explode."""
    made = trainers([{"training": {"epochs": 1, "lr": 1e8}}, {"training": {"seed": 1}}, {"training": {"seed": 2}}])
    train_together(made)
    assert made[0].error is None
    assert made[0].best.isfinite().all()
    alone = trainers([{"training": {"epochs": 1, "lr": 1e8}}])[0]
    alone.run()
    torch.testing.assert_close(made[0].best, alone.best, rtol=1e-3, atol=1e-3)


def test_only_what_fits_is_trained_together(trainers):
    one, two = trainers([{"training": {"seed": 0}}, {"training": {"seed": 1}}])
    other = Trainer(prepare(load_dataset("demo"), BASE, cache=False), BASE)
    with pytest.raises(SimPGCNError, match="must have the same inputs"):
        train_together([one, other])
    wide = BASE.replace({"model": {"hidden_channels": 9}})
    with pytest.raises(SimPGCNError, match="cannot be trained together"):
        train_together([two, Trainer(two.problem, wide)])


def test_the_model_has_what_it_learned(trainers):
    (trainer,) = trainers([{"training": {"epochs": 3}}])
    trainer.run()
    weight = trainer.objective.model.convs[0].weight
    assert torch.equal(weight.detach().flatten(), trainer.parameters[: weight.numel()])


def test_going_on_from_different_epochs(trainers):
    whole, parts = trainers(), trainers()
    train_together(whole)
    for trainer, epochs in zip(parts, (4, 9, 1, 5), strict=True):
        trainer.run(lambda epoch, last=epochs: epoch.epoch == last)
        tensors, meta = trainer.checkpoint()
        trainer.restore({name: value.clone() for name, value in tensors.items()}, meta)
    train_together(parts)
    for one, other in zip(parts, whole, strict=True):
        assert_alike(one, other)


def test_fresh_runs_beside_one_that_goes_on(trainers):
    changes = [{"training": {"seed": seed, "epochs": 4}} for seed in range(3)]
    whole, parts = trainers(changes), trainers(changes)
    parts[1].run(lambda epoch: epoch.epoch == 2)
    train_together(whole)
    train_together(parts)
    for one, other in zip(parts, whole, strict=True):
        assert_alike(one, other)


def test_splits_of_different_sizes(trainers):
    """Nodes that fill up the smaller one count for nothing."""

    def made():
        large, small = trainers([{"training": {"seed": seed, "epochs": 4}} for seed in range(2)])
        few = load_dataset("demo", split=1)
        few.val_mask[few.val_mask.nonzero()[50:]] = False
        small.problem = with_split(small.problem, few, small.config)
        return large, small

    together, alone = made(), made()
    assert together[0].problem.labels.nodes.numel() > together[1].problem.labels.nodes.numel()
    train_together(together)
    for one, other in zip(together, alone, strict=True):
        other.run()
        assert_alike(one, other)


def test_nothing_is_on_the_device_before_training(trainers):
    """Runs are built on the CPU: their parameters go to the device together."""
    (made,) = trainers(CHANGES[:1])
    there = Labels(*(column.to("meta") for column in made.problem.labels))
    trainer = Trainer(made.problem._replace(labels=there), made.config)
    kept = [trainer.parameters, trainer.best, trainer.mean, trainer.square, trainer.losses]
    state = [*trainer.objective.parameters(), *trainer.objective.buffers()]
    assert {tensor.device.type for tensor in kept + state} == {"cpu"}


def test_one_that_diverges_does_not_stop_the_others(trainers):
    made = trainers([{"training": {"seed": 0}}, {"training": {"lr": 1e30}}, {"training": {"seed": 1}}])
    train_together(made)
    assert "lower training.lr" in made[1].error
    assert made[0].best.isfinite().all()
    assert made[0].error is None
    assert made[2].finished
    assert made[2].history[-1].loss < made[2].history[0].loss


def test_a_callback_can_stop_all(trainers):
    made = trainers([{"training": {"seed": seed}} for seed in range(3)])
    told = []

    def stop(trainer, epoch):
        told.append((made.index(trainer), epoch.epoch))
        return epoch.epoch == 2

    train_together(made, stop)
    assert told == [(0, 1), (1, 1), (2, 1), (0, 2), (1, 2), (2, 2)]
    assert [len(trainer.history) for trainer in made] == [2, 2, 2]


@pytest.mark.parametrize(
    "change",
    [
        {"model": {"hidden_channels": 9}},
        {"model": {"pretext_weight": 0}},
        {"model": {"self_loop_weight": 0}},
        {"model": {"dropout": 0.1}},
        {"similarity": {"k": 6}},
        {"data": {"directed": True}},
        {"model_name": "gcn"},
    ],
)
def test_what_keeps_runs_apart(change):
    assert alike(BASE.replace(change)) != alike(BASE)


def test_what_does_not():
    for change in CHANGES:
        assert alike(BASE.replace(change)) == alike(BASE)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("gate", ["scores", "softmax"])
def test_captured_runs_are_those_of_the_cpu(gate):
    """The same random numbers everywhere: a CPU's run and a GPU's, alone or not, differ by rounding only."""
    there = BASE.replace({"model": {"gate": gate}, "training": {"device": "cuda", "epochs": 70, "patience": 70}})
    here = there.replace({"training": {"device": "cpu"}})
    made = {}
    for base in (here, there):
        problem = prepare(load_dataset("demo"), base, cache=False)
        configs = [base.replace({"training": {"seed": seed}}) for seed in range(3)]
        made[base] = [Trainer(problem, config) for config in configs]
    alone = Trainer(made[there][0].problem, made[there][0].config)
    train_together(made[here])
    train_together(made[there])
    alone.run()
    for a, b in zip(made[here], made[there], strict=True):
        assert a.history[2].loss == pytest.approx(b.history[2].loss, rel=1e-3)
        assert a.history[-1].loss == pytest.approx(b.history[-1].loss, rel=0.05)
        assert a.stopping.best == pytest.approx(b.stopping.best, abs=0.02)
    assert alone.history[-1].loss == pytest.approx(made[there][0].history[-1].loss, rel=0.05)
    assert alone.history[2].loss == pytest.approx(made[there][0].history[2].loss, rel=1e-4)
