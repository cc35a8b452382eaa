"""A training of Cora and ten of them side by side on a GPU, evaluation after every epoch.

    python benchmarks/training_device.py [DATASET ...]

The first training of a kind compiles kernels and is told apart. A replayed step is timed alone as well. Prints what it
measures; benchmarks/results/training_h200.txt has what was printed on an H200.
"""

from __future__ import annotations

import sys
import time

import torch

from simpgcn.config import Config, default_config
from simpgcn.training import Problem, Trainer, load_graph, prepare, train_together
from simpgcn.training.replicas import _Replicas


def trainers(problem: Problem, config: Config, seeds: range) -> list[Trainer]:
    return [Trainer(problem, config.replace({"training": {"seed": seed}})) for seed in seeds]


def seconds(chosen: list[Trainer]) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    train_together(chosen)
    torch.cuda.synchronize()
    return time.perf_counter() - start


def replayed(problem: Problem, config: Config, count: int) -> float:
    """Microseconds of a step."""
    replicas = _Replicas(trainers(problem, config, range(count)))
    for _ in range(6):
        replicas.place.zero_()
        replicas._replay()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(100):
        replicas.place.zero_()
        replicas.graph.replay()
    torch.cuda.synchronize()
    return 1e4 * (time.perf_counter() - start)


def main() -> None:
    print(torch.__version__, torch.cuda.get_device_name())
    for name in sys.argv[1:] or ["cora"]:
        config = default_config(name).replace({"training": {"device": "cuda"}})
        problem = prepare(load_graph(config), config, cache=False)
        for label, count in (("one run", 1), ("ten together", 10)):
            first = seconds(trainers(problem, config, range(count)))
            others = [seconds(trainers(problem, config, range(count))) for _ in range(5)]
            print(name, label, "seconds: first", round(first, 3), "then", [round(value, 4) for value in others])
        for count in (1, 10):
            print(name, count, "replay us/epoch", replayed(problem, config, count))


if __name__ == "__main__":
    main()
