"""The whole benchmark of this machine: every contestant on every graph, the floor among them, and the growth with n."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch_geometric.data import Data

from simpgcn.bench.contestants import ARGSORT, EPOCHS, FLOOR, OURS, SEARCHES, Measurement, with_feature_graph
from simpgcn.bench.floor import epoch_bytes, sizes, triad
from simpgcn.bench.graphs import bench_graph
from simpgcn.bench.measure import spread, take_turns, times_ours
from simpgcn.bench.plain_search import argsort_bytes
from simpgcn.bench.scaling import CPU_NODES, CUDA_NODES, QUICK_NODES, scaling, slopes
from simpgcn.config import Config
from simpgcn.provenance import git_revision, versions

# Of trainings; and of searches, which take longer and vary less.
EPOCH_ROUNDS, SEARCH_ROUNDS = 5, 3


def run_bench(
    graphs: Sequence[str], device: torch.device, *, quick: bool = False, on_step: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Measure every graph and the growth with n; the answer is plain data, ready for JSON.

    Args:
        graphs: Names, as :func:`simpgcn.bench.graphs.chosen_graphs` returns them.
        device: Where to train; scikit-learn runs on the CPU.
        quick: Few epochs, and small graphs for the growth.
        on_step: Called after every step with a word about it; there are :func:`count_steps` of them.
    """
    done = on_step or (lambda step: None)
    epochs = 5 if quick else epochs_for(device)
    bandwidth = triad(device, 1 << 20 if quick else None)
    # What is loaded on first use is not a part of anyone's time.
    for contestants in _contestants("tiny", device, epochs, bandwidth).values():
        take_turns(contestants, 1)
    done("warmed up")
    lines = []
    for name in graphs:
        for task, contestants in _contestants(name, device, epochs, bandwidth).items():
            rounds = EPOCH_ROUNDS if task == "epoch" else SEARCH_ROUNDS
            lines += compared({"graph": name, "task": task}, take_turns(contestants, rounds))
            done(f"{name}: {task}")
    points = scaling(scaling_nodes(device, quick=quick), device, lambda n: done(f"{n} nodes"))
    return {
        **setting(device),
        "epochs": epochs,
        "lines": lines,
        "scaling": {"points": [point._asdict() for point in points], "slopes": slopes(points)},
    }


def count_steps(graphs: Sequence[str], device: torch.device, *, quick: bool) -> int:
    """The number of steps of :func:`run_bench`.

    >>> count_steps(["tiny"], torch.device("cpu"), quick=True)
    6
    """
    return 1 + 2 * len(graphs) + len(scaling_nodes(device, quick=quick))


def scaling_nodes(device: torch.device, *, quick: bool) -> tuple[int, ...]:
    """The sizes of graphs for the growth with n.

    >>> scaling_nodes(torch.device("cpu"), quick=True)
    (500, 1000, 2000)
    """
    return QUICK_NODES if quick else CUDA_NODES if device.type == "cuda" else CPU_NODES


def epochs_for(device: torch.device) -> int:
    """Epochs of a measured training: whole trainings on CUDA, where an epoch alone cannot be timed.

    >>> epochs_for(torch.device("cpu"))
    10
    """
    return 200 if device.type == "cuda" else 10


def compared(about: Mapping[str, object], found: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    """A line for each contestant: its seconds, and how many times simpgcn's they are, with their spread.

    >>> lines = compared({"task": "epoch"}, {"simpgcn": [1.0, 2.0], "other": [3.0, 6.0]})
    >>> lines[1]["contestant"], lines[1]["times_ours"]["median"]
    ('other', 3.0)
    """
    return [
        {
            **about,
            "contestant": name,
            "seconds": spread(values)._asdict(),
            "times_ours": times_ours(values, found[OURS])._asdict(),
        }
        for name, values in found.items()
    ]


def setting(device: torch.device) -> dict[str, Any]:
    """Where and with what something was measured.

    >>> sorted(setting(torch.device("cpu")))
    ['cores', 'device', 'git', 'threads', 'versions']
    """
    return {
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "versions": versions(),
        "git": git_revision(),
    }


def _contestants(
    name: str, device: torch.device, epochs: int, bandwidth: Measurement
) -> dict[str, dict[str, Measurement]]:
    data, config = bench_graph(name)
    config = config.replace({"training": {"device": str(device)}})
    return {
        "epoch": {make_name: make(data, config, epochs) for make_name, make in EPOCHS.items()}
        | {FLOOR: floor(data, config, bandwidth)},
        "search": {
            make_name: make(data, config)
            for make_name, make in SEARCHES.items()
            if make_name != ARGSORT or argsort_bytes(data.num_nodes) < _memory() / 2
        },
    }


def floor(data: Data, config: Config, bandwidth: Measurement) -> Measurement:
    """The floor of an epoch as a contestant, by the bandwidth of the moment."""
    moved = sum(epoch_bytes(sizes(with_feature_graph(data, config), config)).values())
    return lambda: moved / bandwidth()


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
