"""SimP-GCN with the shipped settings on the paper's seven graphs, as ``simpgcn train`` runs it.

    python benchmarks/accuracy.py [DATASET ...]

Ten seeds on the public splits; ten published splits with three seeds each on the others, those with the edges
as directed and as undirected: the shipped choice is the one with the better validation accuracy. Writes
benchmarks/results/accuracy.json and accuracy.md; finished datasets are kept when others are run again.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import statistics
import sys
import tempfile
from pathlib import Path

import torch
from rich.progress import track

from simpgcn.config import default_config
from simpgcn.train_run import train_run

RESULTS = Path(__file__).parent / "results"
PAPER = {
    "cora": 82.8,
    "citeseer": 72.6,
    "pubmed": 81.1,
    "actor": 36.20,
    "cornell": 84.05,
    "texas": 81.62,
    "wisconsin": 85.49,
}
PUBLIC = ("cora", "citeseer", "pubmed")


def one_run(job: tuple[str, bool, int, int]) -> tuple[tuple[str, bool], dict]:
    name, directed, split, seed = job
    torch.set_num_threads(1)
    changes = {"data": {"directed": directed, "split": split}, "training": {"seed": seed, "device": "cpu"}}
    with tempfile.TemporaryDirectory() as folder:
        metrics = train_run(default_config(name).replace(changes), Path(folder) / "run").metrics
    return (name, directed), metrics


def jobs(name: str) -> list[tuple[str, bool, int, int]]:
    if name in PUBLIC:
        return [(name, default_config(name).data.directed, 0, seed) for seed in range(10)]
    return [(name, directed, split, seed) for directed in (False, True) for split in range(10) for seed in range(3)]


def summary(runs: list[dict]) -> dict:
    test = [100 * run["test_accuracy"] for run in runs]
    val = [100 * run["val_accuracy"] for run in runs]
    return {
        "runs": len(runs),
        "test_mean": statistics.mean(test),
        "test_sd": statistics.stdev(test),
        "val_mean": statistics.mean(val),
        "val_sd": statistics.stdev(val),
        "seconds": statistics.median(run["seconds"]["training"] for run in runs),
        "epochs": statistics.mean(run["epochs"] for run in runs),
        "test": test,
        "versions": runs[0]["versions"],
        "git": runs[0]["git"],
    }


def table(results: dict) -> str:
    lines = [
        "| dataset | edges | test accuracy | paper | validation | runs | shipped |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in PAPER:
        for edges in ("undirected", "directed"):
            row = results.get(f"{name} {edges}")
            if row is None:
                continue
            shipped = "yes" if (edges == "directed") == default_config(name).data.directed else ""
            lines.append(
                f"| {name} | {edges} | {row['test_mean']:.2f} ± {row['test_sd']:.2f} | {PAPER[name]} "
                f"| {row['val_mean']:.2f} ± {row['val_sd']:.2f} | {row['runs']} | {shipped} |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    names = sys.argv[1:] or list(PAPER)
    work = [job for name in names for job in jobs(name)]
    found: dict[tuple[str, bool], list[dict]] = {}
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        for key, metrics in track(pool.imap(one_run, work), total=len(work), description="Training"):
            found.setdefault(key, []).append(metrics)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "accuracy.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    for (name, directed), runs in found.items():
        results[f"{name} {'directed' if directed else 'undirected'}"] = summary(runs)
    path.write_text(json.dumps(results, indent=1) + "\n")
    (RESULTS / "accuracy.md").write_text(table(results))
    print(table(results))


if __name__ == "__main__":
    main()
