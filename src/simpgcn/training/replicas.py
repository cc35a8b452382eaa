"""Several runs of one dataset trained side by side as one wider problem, each as if it were alone.

All runs read the same sparse structure; their parameters are stacked, and :func:`torch.vmap` turns the model of one
run into that of all. A run's random numbers are functions of its own seed and epoch, and its stopping rule is its
own, so that it ends in the state it would have reached alone, up to the rounding of floats.

A step evaluates the parameters it finds and then updates them, because both start with the same first layer: the
evaluation that belongs to an epoch's update is seen one step later. On CUDA a step is captured once and replayed;
the host looks at what happened only every few dozen steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn.utils.rnn import pad_sequence

from simpgcn.config import Config
from simpgcn.errors import SimPGCNError
from simpgcn.nn.kernels import has_triton
from simpgcn.nn.randomness import drawing_from, seed_key
from simpgcn.nn.sparse_matrix import SparseMatrix
from simpgcn.training.adam import Adam, AdamSettings
from simpgcn.training.epoch import Epoch
from simpgcn.training.flat import unflatten
from simpgcn.training.memory import kept_memory
from simpgcn.training.objective import Evaluation, Labels, Losses, Seen

if TYPE_CHECKING:
    from simpgcn.training.trainer import Trainer

# Steps between two looks of the host at a GPU.
CUDA_WINDOW = 64
# Bytes of hidden states that a core's cache holds beside all else.
CACHE = 1 << 20
# Copies of a run's hidden states and of its parameters that a GPU holds in a step, with what is being computed.
STATES, PARAMETERS = 24, 12


def alike(config: Config) -> Config:
    """What runs must share to be trained together: the configuration without what each may have for itself.

    >>> a = Config().replace({"training": {"seed": 1, "lr": 0.1}, "data": {"split": 3}})
    >>> b = Config().replace({"model": {"hidden_channels": 8}})
    >>> alike(a) == alike(Config()), alike(b) == alike(Config())
    (True, False)
    """
    own = {
        name: 1.0 if getattr(config.model, name) else 0.0
        for name in ("pretext_weight", "self_loop_weight")
        if hasattr(config.model, name)
    }
    if hasattr(config.model, "structure_bias"):
        own["structure_bias"] = 0.0
    return replace(
        config,
        data=replace(config.data, split=0),
        model=replace(config.model, **own),
        training=replace(config.training, seed=0, lr=1.0, weight_decay=0.0, epochs=1, patience=1),
    )


def how_many(nodes: int, features: int, config: Config, device: torch.device) -> int:
    """How many runs to train side by side: on a CPU as the cache of a core has room for, on a GPU as its memory has.

    A CPU gains from it on small graphs, where a step is mostly overhead, and loses where the runs' hidden states push
    each other out of the cache.

    >>> small, large = (how_many(n, 500, Config(), torch.device("cpu")) for n in (200, 20_000))
    >>> small, large
    (10, 1)
    """
    hidden = getattr(config.model, "hidden_channels", 1) * torch.float32.itemsize
    if device.type != "cuda":
        return max(1, CACHE // (nodes * hidden))
    free, _ = torch.cuda.mem_get_info(device)
    samples = getattr(config.model, "pretext_samples", 0)
    return max(1, free // 2 // (hidden * (STATES * nodes + PARAMETERS * features + 4 * samples)))


def train_together(
    trainers: Sequence[Trainer], on_epoch: Callable[[Trainer, Epoch], bool | None] | None = None
) -> None:
    """Train every trainer to its end, or all until ``on_epoch`` returns True.

    Their problems must have the same inputs and their configurations be :func:`alike`. When half of them have
    stopped, the others go on alone.
    """
    first = trainers[0]
    for trainer in trainers[1:]:
        if trainer.problem.inputs is not first.problem.inputs or trainer.problem.pairs is not first.problem.pairs:
            raise SimPGCNError("runs trained together must have the same inputs: use with_split for another split")
        if alike(trainer.config) != alike(first.config) or not first.method.replicable:
            raise SimPGCNError(
                f"these runs of {first.config.model_name} cannot be trained together: see simpgcn.training.alike"
            )
    with torch.cuda.device_of(first.problem.labels.nodes):
        _train_in_groups(trainers, on_epoch)


def _train_in_groups(trainers: Sequence[Trainer], on_epoch: Callable[[Trainer, Epoch], bool | None] | None) -> None:
    stopped = False
    while not stopped and (waiting := [trainer for trainer in trainers if not trainer.finished]):
        enough = len(waiting) // 2
        device = waiting[0].problem.labels.nodes.device
        cuda = [device] if device.type == "cuda" else []
        kept = nullcontext() if cuda else kept_memory()
        with torch.random.fork_rng(cuda), kept, _Replicas(waiting) as replicas:
            while not stopped and len(waiting) > enough:
                stopped = replicas.advance(on_epoch)
                waiting = [trainer for trainer in waiting if not trainer.finished]


class _Replicas:
    """The stacked state of some trainers; they get views of it, so it is theirs at any time."""

    def __init__(self, trainers: Sequence[Trainer]) -> None:
        self.trainers = trainers
        self.problem = trainers[0].problem
        self.device = self.problem.labels.nodes.device
        self.objective = trainers[0].objective
        self.runs = len(trainers)
        self.parameters = self._stack([trainer.parameters for trainer in trainers])
        if any(trainer.updates for trainer in trainers):
            self.best, self.mean, self.square = (
                self._stack([getattr(trainer, name) for trainer in trainers]) for name in ("best", "mean", "square")
            )
        else:  # made where they are needed
            self.best = self.parameters.clone()
            self.mean, self.square = torch.zeros_like(self.parameters), torch.zeros_like(self.parameters)
        settings = [AdamSettings(t.config.training.lr, t.decays) for t in trainers]
        self.adam = Adam(self.parameters, self.mean, self.square, settings) if self.parameters.numel() else None
        evaluated = [t.problem.evaluation or Seen(t.problem.inputs, t.problem.labels) for t in trainers]
        self.inputs, self.labels = evaluated[0]
        if self.runs > 1:
            # With splits of different sizes, the smaller are filled up with nodes that count for nothing.
            columns = zip(*(one.labels for one in evaluated), strict=True)
            self.labels = Labels(*(pad_sequence(list(column), batch_first=True) for column in columns))
            buffers = [dict(trainer.objective.named_buffers()) for trainer in trainers]
            self.buffers = {name: self._stack([each[name] for each in buffers]) for name in buffers[0]}
        integers = [
            (
                seed_key(t.config.training.seed),
                t.updates,
                t.epochs,
                t.stopping.patience,
                t.stopping.best_epoch,
                _hits(t),
            )
            for t in trainers
        ]
        self.key, self.updates, self.limit, self.patience, self.best_epoch, self.best_hits = (
            torch.tensor(integers).T.contiguous().to(self.device)
        )
        self.active = torch.ones(self.runs, dtype=torch.bool, device=self.device)
        self.losses = self._stack([trainer.losses for trainer in trainers])
        self.window = CUDA_WINDOW if self.device.type == "cuda" else 1
        self.records = torch.zeros(self.window, self.runs, 7, dtype=torch.float64, device=self.device)
        self.place = torch.zeros(1, dtype=torch.int64, device=self.device)
        self.graph: torch.cuda.CUDAGraph | None = None
        # The first step of its kind on these inputs is run as it is: it compiles kernels and lays out matrices.
        self.kind = alike(trainers[0].config), self.runs
        matrices = [matrix for matrix in self.problem.inputs if isinstance(matrix, SparseMatrix)]
        self.stepped: set[tuple[Config, int]] = matrices[0].stepped if matrices else set()

    def __enter__(self) -> _Replicas:
        for run, trainer in enumerate(self.trainers):
            trainer.parameters, trainer.best = self.parameters[run], self.best[run]
            trainer.mean, trainer.square = self.mean[run], self.square[run]
        if self.runs == 1:
            self.trainers[0].show_parameters()
            self.objective.to(self.device)
        return self

    def __exit__(self, *args: object) -> None:
        for trainer in self.trainers:
            for name in ("parameters", "best", "mean", "square"):
                setattr(trainer, name, getattr(trainer, name).clone())
            trainer.show_parameters()

    def advance(self, on_epoch: Callable[[Trainer, Epoch], bool | None] | None) -> bool:
        """Make the steps of a window and tell what happened in them; True if ``on_epoch`` wants to stop."""
        left = max(trainer.epochs - trainer.updates for trainer in self.trainers if not trainer.finished)
        steps = min(self.window, left + 1)
        for _ in range(steps):
            self._replay()
        self.place.zero_()
        records, updates, losses = self.records[:steps].tolist(), self.updates.tolist(), self.losses.cpu()
        told = []
        for step in records:
            for trainer, record in zip(self.trainers, step, strict=True):
                if (epoch := _noted(trainer, record)) is not None:
                    told.append((trainer, epoch))
        for run, trainer in enumerate(self.trainers):
            trainer.updates, trainer.losses = updates[run], losses[run].clone()
        stops = [on_epoch(trainer, epoch) for trainer, epoch in told] if on_epoch is not None else []
        return any(stops)

    def _replay(self) -> None:
        """One step: as it is, or from its capture."""
        if self.graph is not None:
            self.graph.replay()
        elif self.kind not in self.stepped or not (self.parameters.is_cuda and has_triton()):
            self._step()
            if self.trainers[0].method.replicable:
                self.stepped.add(self.kind)
        else:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self._step()
            self.graph.replay()

    def _step(self) -> None:
        """Evaluate the parameters, keep them where they are the best, and update them."""
        leaves, losses, evaluation = self._side_by_side() if self.runs > 1 else self._alone()
        self._keep(evaluation)
        self.updates += 1
        if self.adam is not None:
            found = torch.autograd.grad(losses.total.sum(), leaves, materialize_grads=True)
            self.adam.step(torch.cat([part.reshape(self.runs, -1) for part in found], dim=1), self.updates)
        self.losses.copy_(torch.stack(losses, dim=1).detach())

    def _side_by_side(self) -> tuple[list[Tensor], Losses, Evaluation]:
        """The parameters, and what the objective makes of those of each run."""

        def one(state: dict[str, Tensor], key: Tensor, labels: Labels) -> tuple[Losses, Evaluation]:
            with drawing_from(key):
                found: tuple[Losses, Evaluation] = functional_call(
                    self.objective,
                    state,
                    (self.inputs, labels, self.problem.pairs, self.problem.training),
                    tie_weights=False,
                )
            return found

        views = unflatten(self.parameters, self.trainers[0].learned)
        leaves = {name: view.requires_grad_() for name, view in views.items()}
        losses, evaluation = torch.vmap(one)(leaves | self.buffers, self.key + self.updates, self.labels)
        return list(leaves.values()), losses, evaluation

    def _alone(self) -> tuple[list[Tensor], Losses, Evaluation]:
        """The same of a single run, whose objective has its parameters."""
        key = self.key + self.updates
        if not self.trainers[0].method.replicable:
            torch.manual_seed(int(key))  # its modules draw from torch's generator
        with drawing_from(key[0]):
            losses, evaluation = self.objective(self.inputs, self.labels, self.problem.pairs, self.problem.training)
        leaves: list[Tensor] = list(self.trainers[0].learned.values())
        return leaves, Losses(*(x.view(1) for x in losses)), Evaluation(*(x.view(1) for x in evaluation))

    def _keep(self, evaluation: Evaluation) -> None:
        """Note what was seen, and the stopping rule's bookkeeping; see :class:`EarlyStopping`."""
        seen = torch.stack([self.updates, *evaluation], dim=1)
        record = torch.cat([seen[:, :1], self.losses, seen[:, 1:]], dim=1)
        self.records.index_copy_(0, self.place, record.unsqueeze(0))
        self.place += 1
        counts = self.active & (self.updates > 0)
        better = counts & (evaluation.val_hits >= self.best_hits)
        self.best_hits.copy_(torch.where(better, evaluation.val_hits, self.best_hits))
        self.best_epoch.copy_(torch.where(better, self.updates, self.best_epoch))
        if self.device.type == "cuda" or bool(better.any()):  # to look is free on a CPU only
            torch.where(better.unsqueeze(1), self.parameters, self.best, out=self.best)
        ended = (self.updates >= self.limit) | (self.updates - self.best_epoch >= self.patience)
        self.active &= ~(counts & ended)

    def _stack(self, tensors: list[Tensor]) -> Tensor:
        """Stacked where they are, which is one transfer, or here if they are in several places."""
        if len({tensor.device for tensor in tensors}) > 1:
            tensors = [tensor.to(self.device) for tensor in tensors]
        return torch.stack(tensors).to(self.device)


def _noted(trainer: Trainer, record: list[float]) -> Epoch | None:
    """Take a step's record into the history of a trainer that was still at work."""
    number = int(record[0])
    if trainer.finished or number == 0:
        return None
    if not math.isfinite(record[1]):
        trainer.error = f"the loss became {record[1]} in epoch {number}: lower training.lr"
        return None
    train_hits, val_loss, val_hits = record[4:]
    sizes = max(1, trainer.problem.num_train), max(1, trainer.problem.num_val)
    loss, classification, pretext = record[1:4]
    epoch = Epoch(number, loss, classification, pretext, train_hits / sizes[0], val_loss, val_hits / sizes[1])
    trainer.note(epoch)
    return epoch


def _hits(trainer: Trainer) -> int:
    """Validation nodes that the best state so far gets right; -1 before the first evaluation."""
    best = trainer.stopping.best
    return -1 if math.isinf(best) else round(best * max(1, trainer.problem.num_val))
