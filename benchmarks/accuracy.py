"""SimP-GCN with the shipped settings on the paper's seven graphs, as ``simpgcn train`` runs it.

    python benchmarks/accuracy.py [DATASET ...]

Ten seeds on the public splits; ten published splits with three seeds each on the others, those with the edges
as directed and as undirected: the shipped choice is the one with the better validation accuracy. Actor also without
the layers' bias, which the paper's equations do not have. Writes benchmarks/results/accuracy.json and accuracy.md;
finished datasets are kept when others are run again.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
import tempfile
from pathlib import Path

from rich.progress import Progress

from simpgcn.config import Config, default_config
from simpgcn.data import load_dataset
from simpgcn.experiments.runner import run_all

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


VARIANTS = {
    "undirected": {"data": {"directed": False}},
    "directed": {"data": {"directed": True}},
    "undirected, no bias": {"data": {"directed": False}, "model": {"bias": False}},
}


def variants(name: str) -> list[str]:
    if name in PUBLIC:
        return ["undirected"]
    return list(VARIANTS) if name == "actor" else ["undirected", "directed"]


def configs(name: str, variant: str) -> list[Config]:
    places = [(0, seed) for seed in range(10)] if name in PUBLIC else list(itertools.product(range(10), range(3)))
    config = default_config(name).replace(VARIANTS[variant])
    return [config.replace({"data": {"split": split}, "training": {"seed": seed}}) for split, seed in places]


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
        "together": max(run["together"] for run in runs),
    }


def table(results: dict) -> str:
    lines = [
        "| dataset | variant | test accuracy | paper | validation | runs | shipped |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, variant in ((name, variant) for name in PAPER for variant in VARIANTS):
        row = results.get(f"{name} {variant}")
        if row is None:
            continue
        shipped = default_config(name) == default_config(name).replace(VARIANTS[variant])
        lines.append(
            f"| {name} | {variant} | {row['test_mean']:.2f} ± {row['test_sd']:.2f} | {PAPER[name]:.2f} "
            f"| {row['val_mean']:.2f} ± {row['val_sd']:.2f} | {row['runs']} | {'yes' if shipped else ''} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    names = sys.argv[1:] or list(PAPER)
    work = {f"{name} {variant}": configs(name, variant) for name in names for variant in variants(name)}
    for name in names:
        load_dataset(name)  # installed once, before many processes ask for it
    with tempfile.TemporaryDirectory() as folder, Progress() as progress:
        task = progress.add_task("Training", total=sum(map(len, work.values())))
        every = [config for group in work.values() for config in group]
        outcomes = run_all(every, Path(folder), on_outcome=lambda _: progress.advance(task))
    done = {outcome.config: outcome.metrics for outcome in outcomes}
    found = {key: [done[config] for config in group] for key, group in work.items()}
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "accuracy.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    results |= {key: summary(runs) for key, runs in found.items()}
    path.write_text(json.dumps(results, indent=1) + "\n")
    (RESULTS / "accuracy.md").write_text(table(results))
    print(table(results))


if __name__ == "__main__":
    main()
