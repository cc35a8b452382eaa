"""Many runs, side by side and never twice: a run's folder is addressed by its configuration."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from pathlib import Path
from typing import Any, NamedTuple

import torch

from simpgcn import runs
from simpgcn.config import Config
from simpgcn.data.graph_file import content_of
from simpgcn.errors import SimPGCNError
from simpgcn.nn.registry import find_method
from simpgcn.train_run import FinishedRun, only_here, train_runs
from simpgcn.training import alike, find_device, how_many, load_graph

# Room for a process with its own CUDA context and kernels and a baseline on a graph of PubMed's size.
GPU_BYTES_A_PROCESS = 8 << 30
# Seconds that a batch waits for other processes at work on its runs: one that is being ended is gone by then, and many
# a run is finished.
PATIENCE = 60.0
DIED = (
    "a process died at this run, and again with no other beside it, perhaps for lack of memory: free some or take a "
    "machine with more, and give the same command again"
)
# A batch, where its runs are kept, and how many threads it may use.
Job = tuple[list[Config], Path, int]


class Outcome(NamedTuple):
    """What became of a run: its metrics and number of parameters, or the sentence that says why not."""

    config: Config
    metrics: dict[str, Any] | None
    parameters: int
    error: str | None


def run_folder(base: Path, config: Config) -> Path:
    """Where the run of ``config`` is kept below ``base``. A graph file counts by its content, not by its name alone.

    >>> run_folder(Path("runs"), Config()).parts[:2]
    ('runs', 'demo-simpgcn')
    """
    address = hashlib.sha256((config.to_yaml() + content_of(config.data.name)).encode()).hexdigest()[:16]
    return base / config.label / address


def run_all(
    configs: Sequence[Config],
    base: Path,
    *,
    workers: int | None = None,
    on_outcome: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Train every configuration, in its order, and return what became of each.

    Finished runs below ``base`` are read, unfinished ones resumed, and a failing one does not stop the others, not even
    by the death of its process. Runs that differ in seed, split and such are trained side by side where that is faster.

    Args:
        configs: The runs.
        base: Where their folders are.
        workers: Processes at once; see :func:`default_workers`.
        on_outcome: Called after every run.
    """
    base.mkdir(parents=True, exist_ok=True)
    workers = workers or default_workers(configs)
    batches = _batches(configs, workers)
    sizes = {config.data.name: _num_edges(config) for config in reversed(configs)}
    # Longest first, or the longest would end alone, with the other cores idle.
    batches.sort(key=lambda batch: len(batch) * sizes[batch[0].data.name] * _step_size(batch[0]), reverse=True)
    workers = min(workers, max(1, len(batches)))
    threads = torch.get_num_threads() if workers == 1 else max(1, usable_cores() // workers)
    jobs = [(batch, base, threads) for batch in batches]
    done: dict[Config, Outcome] = {}

    def tell(outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            done[outcome.config] = outcome
            if on_outcome is not None:
                on_outcome(outcome)

    if workers == 1:
        for job in jobs:
            tell(_many(job))
        return [done[config] for config in configs]
    while jobs:
        for job in _in_processes(jobs, workers, tell):  # at which of them a process died shows when each is alone
            if _in_processes([job], 1, tell):
                tell([_outcome(config, base, DIED) for config in job[0]])
    return [done[config] for config in configs]


def default_workers(configs: Sequence[Config]) -> int:
    """How many processes are fast: as many as there are cores; fewer on a GPU of little memory.

    Runs that can be trained side by side fill a GPU from one process; the others keep it waiting for Python, and
    several processes share it.

    >>> default_workers([Config().replace({"training": {"device": "cpu"}})]) == usable_cores()
    True
    """
    cores = usable_cores()
    on_gpu = [config for config in configs if find_device(config.training.device).type == "cuda"]
    if not on_gpu:
        return cores
    alone = sum(not find_method(config.model_name).replicable for config in on_gpu)
    _, memory = torch.cuda.mem_get_info(find_device(on_gpu[0].training.device))
    return max(1, min(cores, alone, memory // GPU_BYTES_A_PROCESS))


def usable_cores() -> int:
    """How many cores this process may use: fewer than there are under ``taskset`` or a scheduler of jobs.

    >>> 1 <= usable_cores() <= os.cpu_count()
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _in_processes(jobs: list[Job], workers: int, tell: Callable[[list[Outcome]], None]) -> list[Job]:
    """Take jobs off the list and finish them in processes.

    When a process dies, those that were being worked on are returned and the others stay in the list.
    """
    # Fresh processes: torch's threads do not survive a fork.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_end_with_parent)
    running: dict[Future[list[Outcome]], Job] = {}
    try:
        while jobs or running:
            # No more are handed out than run at once, so that after Ctrl-C nothing is left in a queue.
            while jobs and len(running) < workers:
                running[pool.submit(_many, jobs[0])] = jobs[0]
                del jobs[0]
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                outcomes = future.result()
                del running[future]
                tell(outcomes)
    except BrokenProcessPool:
        pass  # the pool ends the other processes, too
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    return list(running.values())


def _end_with_parent() -> None:
    """Let this process end when the one that started it is gone, which has no time to end it when it is killed.

    Runs are left as they are by a power cut: the same command goes on with them.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _batches(configs: Sequence[Config], workers: int) -> list[list[Config]]:
    """The configurations in groups to train side by side, as large as is fast; on a CPU, enough for all workers.

    Runs that share costly inputs are a group, whatever its size.
    """
    groups: dict[Config, list[Config]] = {}
    for config in dict.fromkeys(configs):
        groups.setdefault(_key(config), []).append(config)
    batches = []
    for group in groups.values():
        if find_method(group[0].model_name).costly_inputs:
            batches.append(group)
            continue
        size = _side_by_side(group)
        if find_device(group[0].training.device).type != "cuda":
            size = min(size, -(-len(group) // workers))
        batches += [group[start : start + size] for start in range(0, len(group), size)]
    return batches


def _key(config: Config) -> Config:
    """What the runs of a group have in common."""
    method = find_method(config.model_name)
    if method.replicable:
        return alike(config)
    return config.replace({"training": {"seed": 0}}) if method.costly_inputs else config


def _num_edges(config: Config) -> int:
    try:
        return int(load_graph(config).num_edges)
    except SimPGCNError:  # each run will say so
        return 0


def _step_size(config: Config) -> int:
    """Something that grows with how long a run takes on a graph."""
    model: Any = config.model
    width, depth = getattr(model, "hidden_channels", 1), getattr(model, "num_layers", 2)
    return int(width * depth * config.training.epochs)


def _side_by_side(group: list[Config]) -> int:
    if len(group) == 1:
        return 1
    try:
        x = load_graph(group[0]).x
    except SimPGCNError:  # each run will say so
        return 1
    return how_many(x.size(0), x.size(1), group[0], find_device(group[0].training.device))


def _many(job: Job) -> list[Outcome]:
    """Finish the runs of a batch: side by side, or in turn where their model cannot be replicated."""
    configs, base, threads = job
    torch.set_num_threads(threads)
    together = [configs] if find_method(configs[0].model_name).replicable else [[config] for config in configs]
    errors = {config: error for some in together for config, error in _tried(some, base).items()}
    return [_outcome(config, base, errors.get(config)) for config in configs]


def _tried(configs: list[Config], base: Path) -> dict[Config, str]:
    """Train these runs, and return what went wrong with which."""
    try:
        return _train(configs, base)
    except Exception as error:
        if len(configs) == 1:  # a fault of one model must not lose the others' work
            return {configs[0]: str(error) if isinstance(error, SimPGCNError) else f"{type(error).__name__}: {error}"}
        return {key: value for config in configs for key, value in _tried([config], base).items()}


def is_finished(base: Path, config: Config) -> bool:
    """Whether the run of ``config`` below ``base`` need not be trained.

    >>> is_finished(Path("nowhere"), Config())
    False
    """
    folder = run_folder(base, config)
    return (folder / "metrics.json").is_file() and not runs.has_checkpoint(folder)


def _train(configs: list[Config], base: Path) -> dict[Config, str]:
    """Train these runs side by side and return what went wrong, if anything."""
    errors: dict[Config, str] = {}
    mine = []
    end = time.monotonic() + PATIENCE
    for config in configs:
        try:
            if _is_to_train(config, base, max(0.0, end - time.monotonic())):
                mine.append(config)
        except SimPGCNError as error:  # the others need not wait for it
            errors[config] = str(error)
    if not mine:
        return errors
    outcomes = train_runs(mine, [run_folder(base, config) for config in mine])
    if any(isinstance(outcome, FinishedRun) and outcome.interrupted for outcome in outcomes):
        raise KeyboardInterrupt  # their checkpoints are kept; the runs after them must not start
    failed = {c: str(outcome) for c, outcome in zip(mine, outcomes, strict=True) if isinstance(outcome, SimPGCNError)}
    return errors | failed


def _is_to_train(config: Config, base: Path, patience: float) -> bool:
    """Whether a run is unfinished; what is left of one killed before its first checkpoint is removed.

    A process that is at work on it is waited for.
    """
    folder = run_folder(base, config)
    if is_finished(base, config):
        return False
    if not folder.is_dir():
        return True
    with only_here(folder, patience):
        if is_finished(base, config):  # by the process that was waited for
            return False
        if not runs.has_checkpoint(folder):
            shutil.rmtree(folder)
    return True


def _outcome(config: Config, base: Path, error: str | None) -> Outcome:
    if error is not None and not is_finished(base, config):  # it may be in spite of it: before, or by another process
        return Outcome(config, None, 0, error)
    folder = run_folder(base, config)
    try:
        saved = runs.read_model(folder, config)
        parameters = sum(value.numel() for value in saved.model.parameters() if value.requires_grad)
        return Outcome(config, runs.read_metrics(folder), parameters, None)
    except SimPGCNError as problem:
        return Outcome(config, None, 0, f"{problem}; remove {folder} and give the same command again")
