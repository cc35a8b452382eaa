"""How strong our Meta-Self is: GCN on graphs attacked here and on the published ones, rate by rate.

    python benchmarks/attack_strength.py [DATASET] [--seeds 5] [--rates 0.05,0.2] [--runs 10] [--device auto]

DATASET is cora, citeseer or pubmed, Pro-GNN's graph and split. The attack leaves the degree test out, as the published
graphs do, and is made once for each seed, each rate going on from the one below it. A GCN is read twice: at the epoch
that validates best, as everywhere here, and at its last, as in the code that made the published graphs; the attacker's
surrogate knows no validation set, and what picking an epoch mends differs from graph to graph. It differs from one draw
of the attack to the next, too, so that of each rate one graph is chosen as an attacker would who knows the validation
nodes' labels: that where a GCN validates worst. Seeds are attacked side by side, a process each, and so are graphs
trained on. Attacked graphs are kept in attack-strength/ and not made again. Writes
benchmarks/results/attack_strength_DATASET.json and .md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from torch import Tensor

from simpgcn.config import default_config
from simpgcn.data import load_dataset
from simpgcn.experiments.robustness import attack_graphs, parse_rates, published_graphs
from simpgcn.provenance import git_revision, machine, versions
from simpgcn.training import Trainer, find_device, predict, prepare

RESULTS = Path(__file__).parent / "results"
ATTACK = "metattack-any-degree"
PUBLISHED = "published"


def attacked(seed: int, dataset: str, rates: list[float], device: str) -> dict[float, str]:
    """The graphs of one seed, by rate."""
    torch.set_num_threads(1)
    folder = Path("attack-strength") / f"seed{seed}"
    return attack_graphs(f"{dataset}-prognn", ATTACK, rates, folder, seed=seed, device=device)


def accuracies(graph: str, runs: int, device: str) -> list[dict[str, float]]:
    """Of each run, accuracies in percent: validation and test at the epoch that was picked, test at the last one."""
    torch.set_num_threads(1)
    data, found = load_dataset(graph), []
    right = data.y.numpy()
    for seed in range(runs):
        config = default_config(graph, "gcn").replace({"training": {"seed": seed, "device": device}})
        problem = prepare(data, config)
        trainer = Trainer(problem, config)
        trainer.run()

        def accuracy(mask: Tensor, trainer: Trainer = trainer, inputs: tuple = problem.inputs) -> float:
            guess = predict(trainer.best_model(), inputs).predicted
            return 100 * float((guess == right)[mask.numpy()].mean())

        validation, picked = accuracy(data.val_mask), accuracy(data.test_mask)
        trainer.best.copy_(trainer.parameters)  # as if the last epoch had been the best
        found.append({"validation": validation, "picked": picked, "last": accuracy(data.test_mask)})
    return found


def chosen(points: list[dict]) -> dict[float, dict]:
    """Of each rate, our graph with the lowest validation accuracy: no test label is read for it."""
    ours = [point for point in points if point["who"] != PUBLISHED]
    return {
        rate: min((point for point in ours if point["rate"] == rate), key=lambda point: mean(point, "validation"))
        for rate in {point["rate"] for point in ours}
    }


def mean(point: dict, which: str) -> float:
    return statistics.mean(run[which] for run in point["runs"])


def table(points: list[dict], dataset: str) -> str:
    """The mean and standard deviation of every graph, in Markdown, and by how much GCN keeps more on ours."""
    lines = [
        f"GCN's accuracy (%) on {dataset}, attacked by the published metattack and by ours; mean ± standard deviation "
        "over runs. In bold the draw that an attacker chooses who sees validation accuracy alone.",
        "",
        "| rate | graph | validation | test, epoch picked by validation | test, last epoch |",
        "| --- | --- | --- | --- | --- |",
    ]
    best = chosen(points)
    for point in sorted(points, key=lambda point: (point["rate"], point["who"])):
        cells = []
        for which in ("validation", "picked", "last"):
            values = [run[which] for run in point["runs"]]
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            cells.append(f"{mean(point, which):.1f} ± {spread:.1f}")
        who = f"**{point['who']}**" if point is best[point["rate"]] else point["who"]
        lines.append(f"| {point['rate']:.0%} | {who} | {' | '.join(cells)} |")
    lines.append("")
    for rate, ours in sorted(best.items()):
        published = next(point for point in points if (point["who"], point["rate"]) == (PUBLISHED, rate))
        draws = [mean(point, "picked") for point in points if point["rate"] == rate and point is not published]
        kept = (mean(published, "picked"), mean(ours, "picked"), statistics.mean(draws))
        lines.append(
            f"At {rate:.0%} GCN keeps {kept[0]:.1f} on the published graph, {kept[1]:.1f} on our chosen one and "
            f"{kept[2]:.1f} on average over {len(draws)} draws."
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", default="cora")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rates", default="0.05,0.2")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--device", default="auto")
    wish = parser.parse_args()
    rates = parse_rates(wish.rates)
    graphs = [(PUBLISHED, rate, name) for rate, name in published_graphs(wish.dataset, rates).items()]
    fresh = multiprocessing.get_context("spawn")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress,
        ProcessPoolExecutor(os.cpu_count(), mp_context=fresh) as pool,
    ):
        attack = partial(attacked, dataset=wish.dataset, rates=rates, device=wish.device)
        made = progress.track(pool.map(attack, range(wish.seeds)), total=wish.seeds, description="attacks")
        for seed, found in enumerate(made):
            graphs += [(f"ours, seed {seed}", rate, name) for rate, name in found.items()]
        jobs = {pool.submit(accuracies, name, wish.runs, wish.device): (who, rate) for who, rate, name in graphs}
        for _ in progress.track(as_completed(jobs), total=len(jobs), description="GCN on each graph"):
            pass
    points = [{"who": who, "rate": rate, "runs": job.result()} for job, (who, rate) in jobs.items()]
    result = {
        "dataset": wish.dataset,
        "attack": ATTACK,
        "points": points,
        "machine": machine(find_device(wish.device)),
        "versions": versions(),
        "git": git_revision(),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"attack_strength_{wish.dataset}.json").write_text(json.dumps(result, indent=1) + "\n")
    (RESULTS / f"attack_strength_{wish.dataset}.md").write_text(table(points, wish.dataset))


if __name__ == "__main__":
    main()
