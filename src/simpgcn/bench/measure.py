"""Times that can be compared: contestants take turns, and every time comes with its spread."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple, TypeVar

import torch
from threadpoolctl import threadpool_limits

from simpgcn.errors import SimPGCNError

T = TypeVar("T")


class Spread(NamedTuple):
    """The median of some measurements, and their least and greatest."""

    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """The spread of some measurements.

    >>> spread([3.0, 1.0, 2.0])
    Spread(median=2.0, low=1.0, high=3.0)
    """
    return Spread(statistics.median(values), min(values), max(values))


def times_ours(theirs: Sequence[float], ours: Sequence[float]) -> Spread:
    """How many times ours theirs are, round by round: what slows a whole round down cancels out.

    >>> times_ours([4.0, 8.0, 5.0], [1.0, 2.0, 1.0])
    Spread(median=4.0, low=4.0, high=5.0)
    """
    return spread([other / own for other, own in zip(theirs, ours, strict=True)])


def take_turns(contestants: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """What every contestant measures in each of several rounds.

    >>> take_turns({"a": lambda: 1.0, "b": lambda: 2.0}, rounds=2)
    {'a': [1.0, 1.0], 'b': [2.0, 2.0]}
    """
    found: dict[str, list[T]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, measure in contestants.items():
            found[name].append(measure())
    return found


def seconds(work: Callable[[], object], device: torch.device) -> float:
    """How long ``work`` takes, to the end of what it started on the device.

    >>> seconds(lambda: time.sleep(0.01), torch.device("cpu")) >= 0.01
    True
    """
    _finish(device)
    start = time.perf_counter()
    work()
    _finish(device)
    return time.perf_counter() - start


def per_epoch(train: Callable[[int], float], epochs: int) -> float:
    """Seconds an epoch: of a training of some epochs and one, less one of one epoch, which has all that is not epochs.

    >>> per_epoch(lambda epochs: 5.0 + 2.0 * epochs, 10)
    2.0
    """
    return (train(1 + epochs) - train(1)) / epochs


def alone(work: Callable[..., Any], *arguments: object, threads: int | None = None) -> Any:
    """``work(*arguments)`` in a process of its own, with a peak memory of its own and as many threads as asked.

    ``work`` must be importable by name, as for any spawned process.
    """
    try:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            return pool.submit(_with_threads, threads, work, arguments).result()
    except BrokenProcessPool:
        raise SimPGCNError("a process that measured died, perhaps for lack of memory: close other programs") from None


def _with_threads(threads: int | None, work: Callable[..., Any], arguments: tuple[object, ...]) -> Any:
    if threads is None:
        return work(*arguments)
    torch.set_num_threads(threads)
    with threadpool_limits(threads):
        return work(*arguments)


def _finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
