"""Speed against peers on Cora, CiteSeer and PubMed, and how it grows with the graph.

    python benchmarks/speed.py [--device cuda] [--rounds 3] [--only cora/search …]

On a CPU every measurement is a process of its own, so that its peak memory is its own. Contestants take turns: an
epoch with evaluation on one thread, and the feature graph with the pairs on all threads, against PyG, scikit-learn and
DeepRobust 0.2.11 (`make bench-peers`). On CUDA: the epochs of whole trainings, a training of Cora,
and ten of them side by side and one after the other, from building the model on. Writes
benchmarks/results/speed_cpu.json, or one with the GPU's name, with a picture of the growth; then what `speed_page.py`
makes of all such files.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import statistics
import sys
import tempfile
import time
import warnings
from contextlib import chdir, redirect_stdout
from functools import partial

import numpy as np
import scipy.sparse
import torch
from rich.progress import track
from speed_page import DEEPROBUST, GRAPHS, RESULTS, write_pages

from simpgcn.bench.contestants import EPOCHS, FLOOR, OURS, SEARCHES
from simpgcn.bench.floor import triad
from simpgcn.bench.graphs import bench_graph
from simpgcn.bench.measure import alone, per_epoch, seconds, take_turns
from simpgcn.bench.scaling import draw_scaling, scaling, slopes
from simpgcn.bench.suite import compared, floor, scaling_nodes, setting
from simpgcn.data.features import row_normalize
from simpgcn.provenance import peak_memory_mb
from simpgcn.training import Trainer, find_device, prepare, train_together

CPU = torch.device("cpu")
# What has been run in this process before, for a GPU.
_warm: set[tuple[str, str, str]] = set()


def deeprobust_model(data, config):
    """DeepRobust's model for a graph, and the arguments of its fit."""
    from deeprobust.graph.defense.simpgcn import SimPGCN

    x = row_normalize(data.x.to_dense())
    n = data.num_nodes
    links = scipy.sparse.csr_matrix((np.ones(data.edge_index.size(1), np.float32), data.edge_index.numpy()), (n, n))
    model = SimPGCN(n, x.size(1), config.model.hidden_channels, int(data.y.max()) + 1, device="cpu")
    train, val = (mask.nonzero().squeeze(1).numpy() for mask in (data.train_mask, data.val_mask))
    return model, (scipy.sparse.csr_matrix(x.numpy()), links, data.y.numpy(), train, val)


def deeprobust_epoch(data, config, epochs):
    model, arguments = deeprobust_model(data, config)
    model.fit(*arguments, train_iters=1)  # finds neighbours and pairs, and keeps them
    return lambda: per_epoch(lambda count: seconds(lambda: model.fit(*arguments, train_iters=count), CPU), epochs)


def deeprobust_search(data, config):
    from deeprobust.graph.defense.simpgcn import AttrSim

    model, _ = deeprobust_model(data, config)
    x = row_normalize(data.x.to_dense())

    def search():
        model.get_knn_graph(x.clone().numpy(), config.similarity.k)
        AttrSim(x.clone()).get_label(config.model.pretext_neighbors)

    def measure():
        # It keeps what it finds in the working folder, by the features' shape: an empty one for every search.
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            return seconds(search, CPU)

    return measure


def floor_of_epoch(data, config, epochs):
    return floor(data, config, triad(find_device(config.training.device)))


def our_trainings(data, config, seeds):
    """Seconds of whole trainings of as many seeds, side by side."""
    problem = prepare(data, config)
    configs = [config.replace({"training": {"seed": seed}}) for seed in range(seeds)]

    def train():
        train_together([Trainer(problem, one) for one in configs])

    return lambda: seconds(train, problem.labels.nodes.device)


def our_trainings_in_turn(data, config, seeds):
    """The same, one after the other."""
    problem = prepare(data, config)
    configs = [config.replace({"training": {"seed": seed}}) for seed in range(seeds)]
    return lambda: seconds(lambda: [Trainer(problem, one).run() for one in configs], problem.labels.nodes.device)


CONTESTANTS = {
    "epoch": {**EPOCHS, DEEPROBUST: deeprobust_epoch, FLOOR: floor_of_epoch},
    "search": {**SEARCHES, DEEPROBUST: deeprobust_search},
    "trainings": {OURS: our_trainings, "simpgcn, in turn": our_trainings_in_turn},
}


def measure(task: str, contestant: str, graph: str, device: str, counts: tuple[int, ...], folder: str) -> dict:
    """One contestant's seconds and peak memory, after a first go on a tiny graph to load what it needs."""
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    with chdir(folder), redirect_stdout(io.StringIO()):
        for name in ("tiny", graph):
            data, config = bench_graph(name)
            config = config.replace({"training": {"device": device}})
            take = CONTESTANTS[task][contestant](data, config, *counts)
            if device == "cuda" and (task, contestant, name) not in _warm:
                take()  # kernels are compiled for the sizes they meet
                _warm.add((task, contestant, name))
            wall, cpu = time.perf_counter(), time.process_time()
            spent = take()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"seconds": spent, "busy": cpu / wall, "peak_mb": peak_memory_mb(CPU) if device == "cpu" else None}


def plan(device: str) -> list[tuple[str, str, int | None, tuple[int, ...]]]:
    """The comparisons to make: graph, task, threads, and how many epochs or seeds."""
    if device == "cpu":
        epochs = [(graph, "epoch", 1, (10 if graph == "pubmed" else 20,)) for graph in GRAPHS]
        return epochs + [(graph, "search", None, ()) for graph in GRAPHS]
    trainings = [("cora", "trainings", None, (seeds,)) for seeds in (1, 10)]
    return [(graph, "epoch", None, (200,)) for graph in GRAPHS] + trainings


def contestants_of(task: str, device: str) -> list[str]:
    found = list(CONTESTANTS[task])
    if DEEPROBUST in found and (device != "cpu" or importlib.util.find_spec("deeprobust") is None):
        found.remove(DEEPROBUST)
    return found


def lines_of(job: tuple[str, str, int | None, tuple[int, ...]], device: str, rounds: int, folder: str) -> list[dict]:
    graph, task, threads, counts = job
    # A GPU's processes would spend their time on loading and compiling; its memory is not compared.
    start = partial(alone, measure) if device == "cpu" else measure
    options = {"threads": threads} if device == "cpu" else {}
    found = take_turns(
        {
            name: partial(start, task, name, graph, device, counts, folder, **options)
            for name in contestants_of(task, device)
        },
        rounds,
    )
    about = {"graph": graph, "task": task, "threads": threads or torch.get_num_threads(), "counts": counts}
    lines = compared(about, {name: [one["seconds"] for one in runs] for name, runs in found.items()})
    for line in lines:
        runs = found[line["contestant"]]
        if device == "cpu":
            line["peak_mb"] = statistics.median(one["peak_mb"] for one in runs)
        # CPU seconds per second in the worst round: on one thread, much less than 1 is a process kept waiting.
        line["busy"] = min(one["busy"] for one in runs)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--only", nargs="+", help="measure these again, such as cora/search, and keep the rest of the file"
    )
    asked = parser.parse_args()
    if asked.rounds < 3:
        parser.error("--rounds must be at least 3: a single round kept waiting would pass for a result")
    device = find_device(asked.device)
    if device == CPU and DEEPROBUST not in contestants_of("epoch", asked.device):
        print("DeepRobust is left out because it is not installed: make bench-peers installs it.", file=sys.stderr)
    where = setting(device)
    file = RESULTS / f"speed_{where['device'].split()[-1].lower()}.json"
    jobs = [job for job in plan(asked.device) if not asked.only or f"{job[0]}/{job[1]}" in asked.only]
    before = json.loads(file.read_text()) if asked.only else None
    again = {job[:2] for job in jobs}
    lines = [line for line in before["lines"] if (line["graph"], line["task"]) not in again] if before else []
    with tempfile.TemporaryDirectory() as folder:
        for job in track(jobs, description="Measuring"):
            lines += lines_of(job, asked.device, asked.rounds, folder)
    order = [job[:2] for job in plan(asked.device)]
    lines.sort(key=lambda line: order.index((line["graph"], line["task"])))
    RESULTS.mkdir(exist_ok=True)
    if before:
        result = {**before, "lines": lines, "again": {"what": asked.only, "git": where["git"]}}
    else:
        points = scaling(scaling_nodes(device, quick=False), device)
        draw_scaling(points, file.with_suffix(".png"))
        grown = {"points": [point._asdict() for point in points], "slopes": slopes(points)}
        result = {**where, "rounds": asked.rounds, "lines": lines, "scaling": grown}
    file.write_text(json.dumps(result, indent=1) + "\n")
    write_pages()


if __name__ == "__main__":
    main()
