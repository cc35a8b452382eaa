"""Look-alikes of new nodes among stored ones: our search, plain NumPy or SciPy, and scikit-learn, in the same run.

    python benchmarks/new_nodes.py [--new 10000] [--stored 100000] [--rounds 3] [--prediction-only]

Features are 128 real values, or a bag of up to 20 of 2,000 words. Contestants take turns. The whole prediction of a
SimP-GCN with 128 hidden channels is measured on the bag of words, with an empty cache beside a run folder that holds
the search of its stored nodes' own look-alikes, whose seconds in training are measured, too. Seconds are by the clock;
those of the processor do not depend on what else the machine does. Writes benchmarks/results/new_nodes.json.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from torch_geometric.data import Data

from simpgcn.config import Config
from simpgcn.data.home import data_home
from simpgcn.nn.registry import find_method
from simpgcn.provenance import versions
from simpgcn.similarity import nearest_neighbors
from simpgcn.training import copy_search, predict_new_nodes, pretext_pairs
from simpgcn.training.problem import with_feature_graph

RESULT = Path(__file__).parent / "results" / "new_nodes.json"
K = 20
BLOCK = 500


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """By the clock, and of the processor."""
    start = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start[0], time.process_time() - start[1]


def blocked(x, stored) -> np.ndarray:
    """What one would write in a few lines, for NumPy's arrays and SciPy's sparse ones alike."""
    found = []
    for start in range(0, x.shape[0], BLOCK):
        score = x[start : start + BLOCK] @ stored.T
        score = -(score.toarray() if sparse.issparse(score) else score)
        best = np.argpartition(score, K, axis=1)[:, :K]
        order = np.take_along_axis(score, best, axis=1).argsort(axis=1)
        found.append(np.take_along_axis(best, order, axis=1))
    return np.concatenate(found)


def scikit(x, stored) -> np.ndarray:
    return NearestNeighbors(n_neighbors=K, algorithm="brute", metric="cosine").fit(stored).kneighbors(x)[1]


def dense_features(rows: int) -> torch.Tensor:
    return torch.randn(rows, 128)


def words(rows: int) -> torch.Tensor:
    """Common words are more common than rare ones."""
    columns = (torch.rand(rows, 20) ** 3 * 2000).long().sort(dim=1).values
    once = torch.ones_like(columns, dtype=torch.bool)
    once[:, 1:] = columns[:, 1:] != columns[:, :-1]
    crow = torch.cat([torch.zeros(1, dtype=torch.long), once.sum(dim=1).cumsum(0)])
    return torch.sparse_csr_tensor(crow, columns[once], torch.ones(int(once.sum())), (rows, 2000))


def unit_rows(x: torch.Tensor):
    if x.layout == torch.strided:
        return torch.nn.functional.normalize(x, dim=1).numpy()
    plain = sparse.csr_array(
        (x.values().numpy().copy(), x.col_indices().numpy(), x.crow_indices().numpy()), shape=x.shape
    )
    plain.data /= np.sqrt(np.repeat(plain.multiply(plain).sum(axis=1), np.diff(plain.indptr)))
    return plain


def searches(x: torch.Tensor, stored: torch.Tensor, rounds: int) -> dict[str, object]:
    plain = unit_rows(x), unit_rows(stored)
    contestants: dict[str, Callable[[], np.ndarray]] = {
        "simpgcn": lambda: nearest_neighbors(x, K, among=stored).near.numpy(),
        "blocked product with argpartition": lambda: blocked(*plain),
        "scikit-learn": lambda: scikit(*plain),
    }
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, work in contestants.items():
            took[name].append(seconds(work))
    return {name: summary(times, took["simpgcn"]) for name, times in took.items()}


def summary(times: list[tuple[float, float]], ours: list[tuple[float, float]]) -> dict[str, float]:
    found = {}
    for place, name in enumerate(("seconds", "processor_seconds")):
        found[name] = round(statistics.median(each[place] for each in times), 2)
        ratios = [each[place] / our[place] for each, our in zip(times, ours, strict=True)]
        found[f"times_our_{name}"] = round(statistics.median(ratios), 2)
    return found


def prediction(x: torch.Tensor, stored: torch.Tensor, rounds: int) -> dict[str, float]:
    n, config = stored.size(0), Config()
    known = Data(x=stored, edge_index=torch.randint(n, (2, 10 * n)))
    new = Data(x=x, edge_index=torch.stack([n + torch.arange(5 * x.size(0)) // 5, torch.randint(n, (5 * x.size(0),))]))
    model = find_method("simpgcn").build(stored.size(1), 7, config.model)
    cpu, kept = torch.device("cpu"), Path(tempfile.mkdtemp())
    training = seconds(lambda: with_feature_graph(known, config, cpu, pairs=pretext_pairs(config)).x)
    copy_search(known, config, kept)
    shutil.rmtree(data_home() / "similarity")
    (first, first_of_processor), *others = (
        seconds(lambda: predict_new_nodes(model, known, new, config, cpu, cache=kept).logits) for _ in range(rounds + 1)
    )
    return {
        "training_search_seconds": round(training[0], 2),
        "training_search_processor_seconds": round(training[1], 2),
        "first_seconds": round(first, 2),
        "first_processor_seconds": round(first_of_processor, 2),
        "seconds": round(statistics.median(each[0] for each in others), 2),
        "processor_seconds": round(statistics.median(each[1] for each in others), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, default in (("new", 10_000), ("stored", 100_000), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--prediction-only", action="store_true", help="keep the other figures as they are")
    options = parser.parse_args()
    os.environ["SIMPGCN_DATA"] = tempfile.mkdtemp()
    torch.manual_seed(0)
    sizes = {name: vars(options)[name] for name in ("new", "stored", "rounds")}
    answer: dict[str, object] = {**sizes, "k": K, "threads": torch.get_num_threads(), "versions": versions()}
    if options.prediction_only:
        answer = json.loads(RESULT.read_text())
    for name, make in (("dense", dense_features), ("words", words)):
        x, stored = make(options.new), make(options.stored)
        if not options.prediction_only:
            answer[name] = searches(x, stored, options.rounds)
            write(answer)
    answer["prediction_on_words"] = prediction(x, stored, options.rounds)
    write(answer)


def write(answer: dict[str, object]) -> None:
    """After each part, for the last takes the longest."""
    RESULT.write_text(json.dumps(answer, indent=1) + "\n")
    print(json.dumps(answer, indent=1), flush=True)


if __name__ == "__main__":
    main()
