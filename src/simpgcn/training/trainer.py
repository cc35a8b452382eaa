"""The training loop: one seed, one split, the best state kept."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from simpgcn.config import Config
from simpgcn.errors import SimPGCNError
from simpgcn.nn.registry import find_method
from simpgcn.training.objective import Objective
from simpgcn.training.problem import Problem
from simpgcn.training.stopping import EarlyStopping


class Epoch(NamedTuple):
    """A line of the history: the losses of the step, then what evaluation saw after it."""

    epoch: int
    loss: float
    classification_loss: float
    pretext_loss: float
    train_accuracy: float
    val_loss: float
    val_accuracy: float


class Trainer:
    """Trains a model on a problem, epoch by epoch.

    Initial values, dropout and pretext samples come from ``config.training.seed`` and from nowhere else, and
    torch's global generator is left as it was found: two runs on a CPU are bit-identical.

    >>> from simpgcn.data import load_dataset
    >>> from simpgcn.training import prepare
    >>> config = Config().replace({"training": {"epochs": 3}})
    >>> trainer = Trainer(prepare(load_dataset("demo"), config, cache=False), config)
    >>> trainer.run()
    >>> len(trainer.history), trainer.finished
    (3, True)
    """

    def __init__(self, problem: Problem, config: Config) -> None:
        self.problem = problem
        self.config = config
        self.device = problem.y.device
        self.stopping = EarlyStopping(config.training.patience)
        self.history: list[Epoch] = []
        with self._own_randomness(seed=config.training.seed):
            model = find_method(config.model_name).build(problem.num_features, problem.num_classes, config.model)
            self.objective = Objective(model, config.model).to(self.device)
        groups = self.objective.parameter_groups()
        training = config.training
        # A method without parameters, such as label propagation, is evaluated once.
        self.optimizer = torch.optim.Adam(groups, training.lr, weight_decay=training.weight_decay) if groups else None
        self.best_state: dict[str, Tensor] = {}

    @property
    def finished(self) -> bool:
        """Whether the stopping rule or the number of epochs has ended the training."""
        done = len(self.history)
        wanted = 1 if self.optimizer is None else self.config.training.epochs
        return done >= wanted or (done > 0 and self.stopping.exhausted(done))

    def run(self, on_epoch: Callable[[Epoch], bool | None] | None = None) -> None:
        """Train to the end, or until ``on_epoch`` returns True after an epoch."""
        with self._own_randomness():
            while not self.finished:
                record = self._epoch()
                self._save_randomness()
                if on_epoch is not None and on_epoch(record):
                    break

    def best_model(self) -> torch.nn.Module:
        """A copy of the model in its best state so far, in evaluation mode."""
        model = copy.deepcopy(self.objective.model)
        prefix = "model."
        model.load_state_dict(
            {name.removeprefix(prefix): value for name, value in self.best_state.items() if name.startswith(prefix)}
        )
        return model.eval()

    def _epoch(self) -> Epoch:
        problem = self.problem
        self.objective.train()
        losses = self.objective(problem.inputs, problem.y[problem.train], problem.train, problem.pairs)
        if self.optimizer is not None:
            self.optimizer.zero_grad()
            losses.total.backward()
            self.optimizer.step()
        self.objective.eval()
        with torch.no_grad():
            logits = self.objective.model(*problem.inputs)
        record = Epoch(
            len(self.history) + 1,
            losses.total.item(),
            losses.classification.item(),
            0.0 if losses.pretext is None else losses.pretext.item(),
            accuracy(logits[problem.train], problem.y[problem.train]),
            F.cross_entropy(logits[problem.val], problem.y[problem.val]).item(),
            accuracy(logits[problem.val], problem.y[problem.val]),
        )
        if not math.isfinite(record.loss):
            raise SimPGCNError(f"the loss became {record.loss} in epoch {record.epoch}: lower training.lr")
        self.history.append(record)
        if self.stopping.update(record.epoch, record.val_accuracy):
            self.best_state = {name: value.clone() for name, value in self.objective.state_dict().items()}
        return record

    @contextmanager
    def _own_randomness(self, seed: int | None = None) -> Iterator[None]:
        """Work with this trainer's own random state, seeded or as it was left, and give the global one back."""
        cuda = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=cuda):
            if seed is None:
                torch.set_rng_state(self._rng["cpu"])
                for device in cuda:
                    torch.cuda.set_rng_state(self._rng["cuda"], device)
            else:
                torch.manual_seed(seed)
            try:
                yield
            finally:
                self._save_randomness()

    def _save_randomness(self) -> None:
        self._rng = {"cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            self._rng["cuda"] = torch.cuda.get_rng_state(self.device)

    def checkpoint(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Everything that changes between epochs, as tensors and plain data, to go on from later."""
        tensors = {f"current.{name}": value for name, value in self.objective.state_dict().items()}
        tensors |= {f"best.{name}": value for name, value in self.best_state.items()}
        tensors |= {f"rng.{name}": value for name, value in self._rng.items()}
        state = {} if self.optimizer is None else self.optimizer.state_dict()["state"]
        for number, moments in state.items():
            tensors |= {f"adam.{number}.{name}": value for name, value in moments.items()}
        meta = {
            "history": [list(record) for record in self.history],
            "best": self.stopping.best,
            "best_epoch": self.stopping.best_epoch,
        }
        return tensors, meta

    def restore(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Go on from a :meth:`checkpoint` of the same problem and configuration."""
        groups: dict[str, dict[str, Tensor]] = {"current": {}, "best": {}, "rng": {}, "adam": {}}
        for name, value in tensors.items():
            group, _, rest = name.partition(".")
            groups[group][rest] = value
        self.objective.load_state_dict(groups["current"])
        self.best_state = {name: value.to(self.device) for name, value in groups["best"].items()}
        # A run that moved to another kind of device goes on with that one's state from the start.
        self._rng = {name: groups["rng"].get(name, state).cpu() for name, state in self._rng.items()}
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in groups["adam"].items():
            number, _, what = name.partition(".")
            moments.setdefault(int(number), {})[what] = value
        if self.optimizer is not None:
            self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": moments})
        self.history = [Epoch(int(record[0]), *record[1:]) for record in meta["history"]]
        self.stopping.best, self.stopping.best_epoch = meta["best"], meta["best_epoch"]


def accuracy(logits: Tensor, y: Tensor) -> float:
    """The share of rows whose largest logit is at the label.

    >>> accuracy(torch.tensor([[2.0, 1.0], [0.0, 3.0]]), torch.tensor([0, 0]))
    0.5
    """
    return float((logits.argmax(dim=1) == y).sum()) / max(1, y.numel())
