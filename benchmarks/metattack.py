"""Meta-Self on Pro-GNN's Cora: ours beside DeepRobust's and a plain dense transcription, time a flip and memory.

    python benchmarks/metattack.py [DATASET] [--flips 5] [--rounds 3] [--peers plain,deeprobust]

Each in a process of its own with one thread, by turns. Times are of the process, in CPU seconds: others on the machine
hardly count. Ours and the transcription start from the same weights, so they must find the same flips; DeepRobust draws
its own, and is spared the degree test. It is left out where it cannot be imported. Memory is the process's peak beyond
what it had with the graph loaded. Writes benchmarks/results/metattack.json.
"""

from __future__ import annotations

import argparse
import builtins
import importlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import torch
from plain_metattack import attack_loss, best_flip
from torch_geometric.data import Data

from simpgcn.data import load_dataset
from simpgcn.provenance import machine, peak_memory_mb, versions
from simpgcn.robustness.metattack import Metattack

RESULTS = Path(__file__).parent / "results"


def plain(data: Data, budget: int) -> Iterator[tuple[int, int]]:
    ours = Metattack(data)  # for the same labels and initial weights
    task, test, settings = ours.task, ours.test, ours.settings
    x, n = data.x.to_dense(), data.num_nodes
    adjacency = torch.zeros(n, n)
    adjacency[tuple(data.edge_index)] = 1

    def flips_found() -> Iterator[tuple[int, int]]:
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

    return flips_found()


def deeprobust(data: Data, budget: int) -> Iterator[tuple[int, int]]:
    """DeepRobust's, which is told the labels that its surrogate would give; it makes all flips in one call."""
    ours = Metattack(data)
    classes = ours.task.wanted.size(1)
    surrogate = SimpleNamespace(
        output=ours.task.wanted,
        hidden_sizes=[ours.settings.hidden_channels],
        nfeat=data.x.size(1),
        nclass=classes,
        with_relu=False,
    )
    n = data.num_nodes
    adjacency = torch.zeros(n, n)
    adjacency[tuple(data.edge_index)] = 1
    attack = peer()(surrogate, nnodes=n, feature_shape=data.x.shape, lambda_=0, train_iters=ours.settings.steps)
    known, unknown = (mask.nonzero().squeeze(1).numpy() for mask in (data.train_mask, ~data.train_mask))
    x = data.x.to_dense().numpy()

    def flips_found() -> Iterator[tuple[int, int]]:
        attack.attack(x, adjacency.numpy(), data.y.numpy(), known, unknown, budget, ll_constraint=False)
        changed = (attack.modified_adj - adjacency).triu().nonzero()
        yield from (tuple(pair) for pair in changed.tolist())

    return flips_found()


def peer():
    """DeepRobust's Metattack; its packages use ``warnings`` without importing it where torch-sparse is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builtins.warnings = warnings
        return importlib.import_module("deeprobust.graph.global_attack").Metattack


def contest(who: str, dataset: str, budget: int) -> None:
    """One contestant in this process; prints what it measured."""
    torch.set_num_threads(1)
    data = load_dataset(dataset)
    torch.rand(500, 500) @ torch.rand(500, 500)
    if who == "deeprobust":
        peer()  # what it imports is no part of its attack
    before = peak_memory_mb(torch.device("cpu"))
    attack = PEERS[who](data, budget) if who in PEERS else Metattack(data).flips(budget)
    start = time.process_time()
    flips = list(attack)
    seconds = (time.process_time() - start) / budget
    memory = peak_memory_mb(torch.device("cpu")) - before
    print(json.dumps({"seconds": seconds, "memory_mb": memory, "flips": flips}))


def measured(who: str, dataset: str, budget: int) -> dict:
    command = [sys.executable, __file__, dataset, "--flips", str(budget), "--contestant", who]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])  # DeepRobust prints as it goes


def importable() -> bool:
    try:
        peer()
    except ImportError as error:
        print(f"without DeepRobust: {error}", file=sys.stderr)
        return False
    return True


PEERS = {"plain": plain, "deeprobust": deeprobust}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", default="cora-prognn")
    parser.add_argument("--flips", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--contestant", choices=["ours", *PEERS])
    wish = parser.parse_args()
    if wish.contestant:
        contest(wish.contestant, wish.dataset, wish.flips)
        return
    peers = [who for who in wish.peers.split(",") if who != "deeprobust" or importable()]
    everyone = ["ours", *peers]
    rounds = [{who: measured(who, wish.dataset, wish.flips) for who in everyone} for _ in range(wish.rounds)]
    seconds = {who: [one[who]["seconds"] for one in rounds] for who in everyone}
    memory = {who: max(one[who]["memory_mb"] for one in rounds) for who in everyone}
    result = {
        "dataset": wish.dataset,
        "flips": wish.flips,
        "cpu_seconds_a_flip": seconds,
        "times_faster": {who: [b / a for a, b in zip(seconds["ours"], seconds[who], strict=True)] for who in peers},
        "memory_mb": memory,
        "share_of_memory": {who: memory["ours"] / memory[who] for who in peers},
        "machine": machine(torch.device("cpu")),
        "versions": versions(),
    }
    if "plain" in peers:
        result["same_flips_as_plain"] = all(one["ours"]["flips"] == one["plain"]["flips"] for one in rounds)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "metattack.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
