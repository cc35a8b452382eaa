"""A run's training: what changes between its epochs, and what it has seen so far."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from simpgcn.config import Config
from simpgcn.errors import SimPGCNError
from simpgcn.nn.registry import find_method
from simpgcn.training.epoch import Epoch
from simpgcn.training.flat import flatten, unflatten
from simpgcn.training.objective import Objective
from simpgcn.training.problem import Problem
from simpgcn.training.replicas import train_together
from simpgcn.training.stopping import EarlyStopping


class Trainer:
    """Trains a model on a problem, epoch by epoch.

    Initial values, dropout and pretext samples come from ``config.training.seed`` and from nowhere else, and
    torch's global generator is left as it was found: two runs on a CPU are bit-identical.

    The parameters are one vector, and so are Adam's moments and the best state: :func:`train_together` stacks those
    of several trainers and trains them side by side. They are built on the CPU and come to the problem's device,
    several runs at once, when the training starts.

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
        self.stopping = EarlyStopping(config.training.patience)
        self.history: list[Epoch] = []
        self.error: str | None = None
        self.method = find_method(config.model_name)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(config.training.seed)
            model = self.method.build(problem.num_features, problem.num_classes, config.model)
            self.objective = Objective(model, config.model)
        self.learned = {name: p for name, p in self.objective.named_parameters() if p.requires_grad}
        self.parameters = self.best = flatten(self.learned.values())
        self.mean = self.square = torch.zeros(1).expand_as(self.parameters)
        self.updates = 0
        self.losses = torch.zeros(3, dtype=torch.float64)  # of the last update, whose evaluation is still to come

    @property
    def epochs(self) -> int:
        """How many there are at most. A method without parameters, such as label propagation, has one."""
        return self.config.training.epochs if self.learned else 1

    @property
    def finished(self) -> bool:
        """Whether the stopping rule, the number of epochs or an error has ended the training."""
        done = len(self.history)
        return self.error is not None or done >= self.epochs or (done > 0 and self.stopping.exhausted(done))

    def run(self, on_epoch: Callable[[Epoch], bool | None] | None = None) -> None:
        """Train to the end, or until ``on_epoch`` returns True after an epoch.

        On a GPU epochs are told of some dozens at a time.
        """
        train_together([self], None if on_epoch is None else lambda _, epoch: on_epoch(epoch))
        if self.error is not None:
            raise SimPGCNError(self.error)

    def show_parameters(self) -> None:
        """Let the objective's parameters be views of the vector, wherever it is."""
        views = unflatten(self.parameters, self.learned).values()
        for parameter, view in zip(self.learned.values(), views, strict=True):
            parameter.data = view

    def note(self, epoch: Epoch) -> None:
        """Take a new epoch into the history."""
        self.history.append(epoch)
        self.stopping.update(epoch.epoch, epoch.val_accuracy)

    @property
    def best_state(self) -> dict[str, Tensor]:
        """The best state so far, by the names of the objective's state."""
        state = dict(self.objective.state_dict())
        return state | unflatten(self.best, self.learned)

    def best_model(self) -> nn.Module:
        """A copy of the model in its best state so far, in evaluation mode."""
        model = copy.deepcopy(self.objective.model)
        prefix = "model."
        model.load_state_dict(
            {name.removeprefix(prefix): value for name, value in self.best_state.items() if name.startswith(prefix)}
        )
        return model.to(self.problem.labels.nodes.device).eval()

    def checkpoint(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Everything that changes between epochs, as tensors and plain data, to go on from later."""
        tensors = {name: getattr(self, name).clone() for name in ("parameters", "best", "mean", "square", "losses")}
        meta = {
            "updates": self.updates,
            "history": [list(record) for record in self.history],
            "best": self.stopping.best,
            "best_epoch": self.stopping.best_epoch,
        }
        return tensors, meta

    def restore(self, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        """Go on from a :meth:`checkpoint` of the same problem and configuration."""
        for name in ("parameters", "best", "mean", "square", "losses"):
            mine = getattr(self, name)
            if tensors[name].shape != mine.shape:
                raise ValueError(f"{name} has {tensors[name].numel()} entries, not {mine.numel()}")
            setattr(self, name, tensors[name].to(mine.device, mine.dtype))
        self.updates = int(meta["updates"])
        self.history = [Epoch(int(record[0]), *record[1:]) for record in meta["history"]]
        self.stopping.best, self.stopping.best_epoch = meta["best"], meta["best_epoch"]

    @property
    def decays(self) -> list[tuple[int, float]]:
        """The L2 along the parameters: how many of them, and theirs."""
        common = self.config.training.weight_decay
        own = {
            id(p): group.get("weight_decay", common)
            for group in self.objective.parameter_groups()
            for p in group["params"]
        }
        runs: list[tuple[int, float]] = []
        for parameter in self.learned.values():
            size, decay = parameter.numel(), own[id(parameter)]
            if runs and runs[-1][1] == decay:
                size += runs.pop()[0]
            runs.append((size, decay))
        return runs
