"""A training from its configuration to its run folder: interruptible, resumable, nothing half-written."""

from __future__ import annotations

import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from filelock import FileLock, Timeout
from torch_geometric.data import Data

from simpgcn import runs
from simpgcn.config import Config
from simpgcn.data.own_graph import write_own_graph
from simpgcn.errors import SimPGCNError
from simpgcn.provenance import git_revision, peak_memory_mb, versions
from simpgcn.training import (
    Epoch,
    Prediction,
    Trainer,
    calibrate,
    find_device,
    load_graph,
    predict,
    prepare,
    train_together,
    with_split,
)

CHECKPOINT_SECONDS = 10.0


class FinishedRun(NamedTuple):
    """What came out: where it is, its figures, its predictions, and whether it was interrupted."""

    folder: Path
    metrics: dict[str, Any]
    prediction: Prediction
    interrupted: bool


def train_run(
    config: Config,
    out: Path | None = None,
    *,
    graph: Data | None = None,
    cache: bool = True,
    on_similarity: Callable[[float], None] | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
) -> FinishedRun:
    """Train as ``config`` says and write a run folder.

    Ctrl-C ends the training after the current epoch; the folder then holds the best state so far and a
    checkpoint for :func:`resume_run`. An error before the first checkpoint leaves no folder behind.

    Args:
        config: What to train on what.
        out: The run folder; a free name below ``runs`` if left out.
        graph: What ``load_graph(config)`` returned, for one who has looked at it first.
        cache: Keep neighbour searches on disk.
        on_similarity: Called with the share of nodes whose look-alikes are found.
        on_epoch: Called after every epoch.
    """
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise _taken(out)
    load = partial(load_graph, config) if graph is None else lambda: graph
    return _raised(_run([config], [load], [partial(_claim, out, config)], cache, on_similarity, on_epoch)[0])


def resume_run(
    folder: Path,
    *,
    cache: bool = True,
    on_similarity: Callable[[float], None] | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
) -> FinishedRun:
    """Go on with an interrupted or killed run from its last checkpoint, to the same result as without a break."""
    config = runs.read_config(folder)
    if config.data.name is None:
        raise SimPGCNError(f"{folder} was trained from Python on data of its own: fit it again there")
    if (folder / "metrics.json").is_file() and not runs.has_checkpoint(folder):
        raise SimPGCNError(f"{folder} is finished: there is nothing to resume")
    load = partial(runs.run_graph, folder)
    kept = cache and runs.search_cache(folder)
    return _raised(_run([config], [load], [lambda graph: folder], kept, on_similarity, on_epoch)[0])


def train_runs(configs: Sequence[Config], folders: Sequence[Path]) -> list[FinishedRun | SimPGCNError]:
    """Train runs side by side (see :mod:`simpgcn.training.replicas`), each into its folder.

    A folder that holds a checkpoint is gone on with; any other must not be there yet, or be empty. What a run could
    not do is returned in its place, and does not stop the others.
    """
    loads = [partial(load_graph, config) for config in configs]
    claims = [partial(_claim_or_resume, folder, config) for config, folder in zip(configs, folders, strict=True)]
    return _run(configs, loads, claims, cache=True, on_similarity=None, on_epoch=None)


def _run(
    configs: Sequence[Config],
    loads: Sequence[Callable[[], Data]],
    find_folders: Sequence[Callable[[Data], Path]],
    cache: bool | Path,
    on_similarity: Callable[[float], None] | None,
    on_epoch: Callable[[Epoch], None] | None,
) -> list[FinishedRun | SimPGCNError]:
    start = time.perf_counter()
    revision = git_revision()  # before anyone edits the code that is running
    find_device(configs[0].training.device)
    graphs = [load() for load in loads]
    problem = prepare(graphs[0], configs[0], cache=cache, on_progress=on_similarity)
    trainers = [Trainer(problem, configs[0])]
    for config, graph in zip(configs[1:], graphs[1:], strict=True):
        trainers.append(Trainer(with_split(problem, graph, config), config))
    with ExitStack() as stack:
        folders = []
        for find, graph in zip(find_folders, graphs, strict=True):
            folders.append(find(graph))
            stack.enter_context(only_here(folders[-1]))
            if cache is True:
                runs.keep_search(folders[-1], graph, configs[0])
        stop = stack.enter_context(_interruptible())
        clocks = [
            _Clock(start, problem.similarity_seconds, len(trainers), runs.read_checkpoint(folder, trainer))
            for folder, trainer in zip(folders, trainers, strict=True)
        ]
        members = list(zip(trainers, folders, clocks, strict=True))
        try:
            _train(members, on_epoch, stop)
            for trainer, folder, clock in members:  # all of them before anything that takes longer
                if not trainer.finished:
                    runs.write_checkpoint(folder, trainer, clock.read())
            return [_written(*member, graph, revision) for member, graph in zip(members, graphs, strict=True)]
        except Exception:
            for folder in folders:
                if not runs.has_checkpoint(folder) and not (folder / "metrics.json").is_file():
                    shutil.rmtree(folder, ignore_errors=True)
            raise


class _Clock:
    """The seconds of a run: of the training its share, of what comes before it, which is for all, the whole."""

    def __init__(self, start: float, similarity: float, together: int, before: dict[str, float]) -> None:
        self.start = start
        self.training_start = time.perf_counter()
        self.similarity = similarity
        self.together = together
        self.before = before

    def read(self) -> dict[str, float]:
        now = time.perf_counter()
        spent = {
            "similarity": self.similarity,
            "training": (now - self.training_start) / self.together,
            "total": self.training_start - self.start + (now - self.training_start) / self.together,
        }
        return {name: round(value + self.before.get(name, 0.0), 4) for name, value in spent.items()}


_Member = tuple[Trainer, Path, _Clock]


def _train(members: Sequence[_Member], on_epoch: Callable[[Epoch], None] | None, stop: Callable[[], bool]) -> None:
    saved = time.monotonic()

    def after(_: Trainer, epoch: Epoch) -> bool:
        nonlocal saved
        if on_epoch is not None:
            on_epoch(epoch)
        if time.monotonic() - saved > CHECKPOINT_SECONDS:
            for trainer, folder, clock in members:
                if not trainer.finished:
                    runs.write_checkpoint(folder, trainer, clock.read())
            saved = time.monotonic()
        return stop()

    train_together([trainer for trainer, _, _ in members], after)


def _written(
    trainer: Trainer, folder: Path, clock: _Clock, data: Data, revision: str | None
) -> FinishedRun | SimPGCNError:
    """Write what came out of a training into its folder."""
    if trainer.error is not None:
        if not runs.has_checkpoint(folder):
            shutil.rmtree(folder, ignore_errors=True)
        return SimPGCNError(trainer.error)
    config, problem = trainer.config, trainer.problem
    interrupted = not trainer.finished
    prediction, calibration = calibrate(predict(trainer.best_model(), problem.inputs), data)
    test = data.test_mask.numpy()
    hit = prediction.predicted == data.y.numpy()
    metrics = {
        "dataset": config.data.name,
        "model": config.model_name,
        "seed": config.training.seed,
        "split": config.data.split,
        "test_accuracy": float(hit[test].mean()),
        "val_accuracy": trainer.stopping.best,
        "best_epoch": trainer.stopping.best_epoch,
        "epochs": len(trainer.history),
        "calibration": calibration._asdict(),
        "seconds": clock.read(),
        "together": clock.together,
        "peak_memory_mb": peak_memory_mb(problem.labels.nodes.device),
        "versions": versions(),
        "git": revision,
    }
    runs.write_history(folder, trainer.history)
    runs.write_model(folder, trainer, prediction.temperature)
    runs.write_table(runs.prediction_table(prediction, data), folder / "predictions.parquet")
    runs.write_metrics(folder, metrics)
    if not interrupted:
        runs.remove_checkpoint(folder)
    return FinishedRun(folder, metrics, prediction, interrupted)


def _raised(outcome: FinishedRun | SimPGCNError) -> FinishedRun:
    if isinstance(outcome, SimPGCNError):
        raise outcome
    return outcome


@contextmanager
def only_here(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Keep other processes from working on the same run; one that does is waited for so many seconds."""
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=patience)
    except Timeout:
        raise _at_work(folder) from None
    try:
        yield
    finally:
        (folder / ".lock").unlink(missing_ok=True)
        lock.release()


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a wish to stop; the second one interrupts at once."""
    wished = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield wished.is_set
        return

    def note(number: int, frame: FrameType | None) -> None:
        wished.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    previous = signal.signal(signal.SIGINT, note)
    try:
        yield wished.is_set
    finally:
        signal.signal(signal.SIGINT, previous)


def _claim(out: Path | None, config: Config, graph: Data) -> Path:
    """Make a run folder that no other process can take too; without a wish, by the first free name."""
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        try:
            (out / "config.yaml").touch(exist_ok=False)
        except FileExistsError:
            raise _taken(out) from None
        _begin(out, config, graph)
        return out
    base = Path("runs")
    base.mkdir(exist_ok=True)
    name = f"{config.label}-split{config.data.split}-seed{config.training.seed}"
    number = 1
    while True:
        folder = base / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            number += 1
            continue
        _begin(folder, config, graph)
        return folder


def _begin(folder: Path, config: Config, graph: Data) -> None:
    runs.write_config(folder, config)
    if graph.get("node_ids") is not None:  # a user's own: whoever reads the run needs none of their files
        write_own_graph(folder, graph)


def _claim_or_resume(folder: Path, config: Config, graph: Data) -> Path:
    if runs.has_checkpoint(folder):
        return folder
    if (folder / "config.yaml").is_file():  # it came since train_runs was called
        raise _at_work(folder)
    return _claim(folder, config, graph)


def _taken(out: Path) -> SimPGCNError:
    return SimPGCNError(f"{out} already exists: choose another --out, or go on with simpgcn train --resume {out}")


def _at_work(folder: Path) -> SimPGCNError:
    return SimPGCNError(f"another process is working on {folder}: wait for it to finish")
