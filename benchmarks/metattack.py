"""Meta-Self on Pro-GNN's Cora: ours beside a plain dense autograd transcription, time a flip and memory, one thread.

    python benchmarks/metattack.py [DATASET] [--flips 5] [--rounds 3]

Each in a process of its own, by turns. Both start from the same weights, so they must find the same
flips; the transcription makes few of them. Memory is the process's peak beyond what it had with the graph loaded.
Writes benchmarks/results/metattack.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from plain_metattack import attack_loss, best_flip
from torch_geometric.data import Data

from simpgcn.data import load_dataset
from simpgcn.provenance import peak_memory_mb, versions
from simpgcn.robustness.metattack import Metattack

RESULTS = Path(__file__).parent / "results"


def plain(data: Data, budget: int) -> Iterator[tuple[int, int]]:
    ours = Metattack(data)  # for the same labels and initial weights
    task, test, settings = ours.task, ours.test, ours.settings
    x, n = data.x.to_dense(), data.num_nodes
    adjacency = torch.zeros(n, n)
    adjacency[tuple(data.edge_index)] = 1
    flips: list[tuple[int, int]] = []
    while len(flips) < budget:
        leaf = adjacency.clone().requires_grad_()
        loss = attack_loss(
            leaf,
            x,
            data.y,
            data.train_mask,
            task.wanted.argmax(1),
            task.weight,
            ours._weights(len(flips) + 1),
            settings,
        )
        (gradient,) = torch.autograd.grad(loss, leaf)
        u, v = best_flip(adjacency, gradient, flips, test)
        adjacency[u, v] = adjacency[v, u] = 1 - adjacency[u, v]
        flips.append((u, v))
        yield u, v


def contest(who: str, dataset: str, budget: int) -> None:
    """One contestant in this process; prints what it measured."""
    torch.set_num_threads(1)
    data = load_dataset(dataset)
    torch.rand(500, 500) @ torch.rand(500, 500)
    before = peak_memory_mb(torch.device("cpu"))
    attack = plain(data, budget) if who == "plain" else Metattack(data).flips(budget)
    seconds, flips = [], []
    start = time.perf_counter()
    for flip in attack:
        seconds.append(time.perf_counter() - start)
        flips.append(flip)
        start = time.perf_counter()
    memory = peak_memory_mb(torch.device("cpu")) - before
    print(json.dumps({"seconds": seconds, "memory_mb": memory, "flips": flips}))


def measured(who: str, dataset: str, budget: int) -> dict:
    command = [sys.executable, __file__, dataset, "--flips", str(budget), "--contestant", who]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", default="cora-prognn")
    parser.add_argument("--flips", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--contestant", choices=["ours", "plain"])
    wish = parser.parse_args()
    if wish.contestant:
        contest(wish.contestant, wish.dataset, wish.flips)
        return
    rounds = [{who: measured(who, wish.dataset, wish.flips) for who in ("ours", "plain")} for _ in range(wish.rounds)]
    best = {who: [statistics.median(one[who]["seconds"]) for one in rounds] for who in ("ours", "plain")}
    memory = {who: max(one[who]["memory_mb"] for one in rounds) for who in ("ours", "plain")}
    result = {
        "dataset": wish.dataset,
        "flips": wish.flips,
        "same_flips": all(one["ours"]["flips"] == one["plain"]["flips"] for one in rounds),
        "seconds_a_flip": best,
        "times_faster": [plain / ours for ours, plain in zip(best["ours"], best["plain"], strict=True)],
        "memory_mb": memory,
        "share_of_memory": memory["ours"] / memory["plain"],
        "versions": versions(),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "metattack.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
