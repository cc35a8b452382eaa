"""Many runs, side by side and never twice: a run's folder is addressed by its configuration."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NamedTuple

import torch
from filelock import FileLock, Timeout

from simpgcn import runs
from simpgcn.config import Config
from simpgcn.errors import SimPGCNError
from simpgcn.train_run import resume_run, train_run


class Outcome(NamedTuple):
    """What became of a run: its metrics and number of parameters, or the sentence that says why not."""

    config: Config
    metrics: dict[str, Any] | None
    parameters: int
    error: str | None


def run_folder(base: Path, config: Config) -> Path:
    """Where the run of ``config`` is kept below ``base``.

    >>> run_folder(Path("runs"), Config()).parts[:2]
    ('runs', 'demo-simpgcn')
    """
    address = hashlib.sha256(config.to_yaml().encode()).hexdigest()[:16]
    return base / config.label / address


def run_all(
    configs: Sequence[Config],
    base: Path,
    *,
    workers: int | None = None,
    on_outcome: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Train every configuration, in its order, and return what became of each.

    Finished runs below ``base`` are read, unfinished ones resumed, and a failing one does not stop the others.

    Args:
        configs: The runs.
        base: Where their folders are.
        workers: Processes at once; as many as there are cores if left out.
        on_outcome: Called after every run.
    """
    workers = min(workers or os.cpu_count() or 1, max(1, len(configs)))
    base.mkdir(parents=True, exist_ok=True)
    jobs = [(config, base, max(1, (os.cpu_count() or 1) // workers)) for config in configs]
    outcomes = []
    if workers == 1:
        for job in jobs:
            outcomes.append(_one(job))
            if on_outcome is not None:
                on_outcome(outcomes[-1])
        return outcomes
    done: dict[int, Outcome] = {}
    # Fresh processes: torch's threads do not survive a fork. No more jobs are handed out than run at once, so that
    # after Ctrl-C nothing is left in a queue.
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
    try:
        waiting = list(enumerate(jobs))[::-1]
        running: dict[Future[Outcome], int] = {}
        while waiting or running:
            while waiting and len(running) < workers:
                place, job = waiting.pop()
                running[pool.submit(_one, job)] = place
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                done[running.pop(future)] = outcome = future.result()
                if on_outcome is not None:
                    on_outcome(outcome)
    except BrokenProcessPool:
        raise SimPGCNError(
            "a process died, perhaps for lack of memory: give the same command again with fewer --workers; "
            "finished runs are kept"
        ) from None
    finally:
        pool.shutdown(wait=len(done) == len(jobs), cancel_futures=True)
    return [done[place] for place in range(len(jobs))]


def _one(job: tuple[Config, Path, int]) -> Outcome:
    config, base, threads = job
    torch.set_num_threads(threads)
    folder = run_folder(base, config)
    try:
        interrupted = False
        if runs.has_checkpoint(folder):
            interrupted = resume_run(folder).interrupted
        elif not (folder / "metrics.json").is_file():
            _clear(folder)
            interrupted = train_run(config, folder).interrupted
        if interrupted:
            raise KeyboardInterrupt  # its checkpoint is kept; the runs after it must not start
        saved = runs.read_model(folder, config)
        parameters = sum(value.numel() for value in saved.model.parameters() if value.requires_grad)
        return Outcome(config, runs.read_metrics(folder), parameters, None)
    except SimPGCNError as error:
        return Outcome(config, None, 0, str(error))
    except Exception as error:  # a fault of one model must not lose the others' work
        return Outcome(config, None, 0, f"{type(error).__name__}: {error}")


def _clear(folder: Path) -> None:
    """Remove what a run left that was killed before its first checkpoint, unless it is still at work."""
    if not folder.is_dir():
        return
    try:
        with FileLock(folder / ".lock", timeout=0):
            shutil.rmtree(folder)
    except Timeout:
        raise SimPGCNError(f"another process is working on {folder}: wait for it to finish") from None
