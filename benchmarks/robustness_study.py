"""SimP-GCN and GCN under attacks made for them, for each other and for neither, over the share of edges flipped.

    python benchmarks/robustness_study.py [DATASET] [--seeds 3] [--rates 0,0.05,0.1,0.15,0.2,0.25] [--device auto]
                                          [--workers N]

DATASET is cora, citeseer or pubmed, Pro-GNN's graph and split. For each seed and each of the two models:

* metattack, poisoning: trained on the published attacked graphs, which were made for a linear GCN;
* prbcd and prbcd-simpgcn, evasion: a model trained on the clean graph is evaluated where PRBCD has flipped edges, by
  way of that very model (adaptive) or of the other kind's (transferred); poisoning: trained there with another seed;
* feature-swap, evasion and poisoning: the rate is the share of nodes that have taken on features of another class.

Every attack on edges may flip as many. Attacks read no test label but feature-swap, which knows all; test accuracy
chooses nothing. Attacked graphs and runs are kept in robustness-study/ and not made again, so that a study that was
stopped goes on. Writes benchmarks/results/robustness_DATASET.json, .md and .png, and prints the table.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import statistics
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import torch
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from simpgcn import runs
from simpgcn.config import Config, default_config
from simpgcn.data import load_dataset
from simpgcn.experiments.robustness import attack_graphs, parse_rates, published_graphs
from simpgcn.experiments.runner import run_all, run_folder
from simpgcn.provenance import git_revision, machine, versions
from simpgcn.robustness.attacks import budget_of, find_attack
from simpgcn.training import find_device, model_inputs, predict

RESULTS = Path(__file__).parent / "results"
ADAPTIVE = {"gcn": "prbcd", "simpgcn": "prbcd-simpgcn"}
MADE_FOR = {"metattack": "a linear GCN", "prbcd": "gcn", "prbcd-simpgcn": "simpgcn", "feature-swap": "no model"}
# Runs trained where PRBCD was have a seed that no attacked model has.
OTHER_SEED = 100
# Processes that a GPU is shared by, at most.
ON_GPU = 8


class Case(NamedTuple):
    """A model with a seed, on a graph that an attack has left."""

    model: str
    attack: str
    kind: str
    rate: float
    seed: int
    graph: str

    def config(self, device: str, clean: str) -> Config:
        """The run that is read: on the attacked graph if poisoned, else on the clean one."""
        poisoned = self.kind == "poisoning"
        seed = self.seed + OTHER_SEED if poisoned and self.attack != "metattack" else self.seed
        config = default_config(self.graph if poisoned else clean, self.model)
        return config.replace({"training": {"seed": seed, "device": device}})


def make(job: tuple[str, str, float, int, str, Path]) -> str:
    """Attack a graph, unless it is there, and return the attacked one's file."""
    clean, attack, rate, seed, device, folder = job
    torch.set_num_threads(1)
    (path,) = attack_graphs(clean, attack, [rate], folder / f"seed{seed}", seed=seed, device=device).values()
    return path


def evaded(job: tuple[Case, Config, Path]) -> float:
    """The test accuracy in percent, on the case's graph, of the model of a finished run on the clean one."""
    case, config, base = job
    torch.set_num_threads(1)
    device = find_device(config.training.device)
    data = load_dataset(case.graph)
    model = runs.read_model(run_folder(base, config), config).model.to(device)
    inputs, _ = model_inputs(data, config, device)
    guess = predict(model, inputs).predicted
    return 100 * float((guess == data.y.numpy())[data.test_mask.numpy()].mean())


def study(dataset: str, rates: list[float], seeds: int, device: str, workers: int, folder: Path) -> list[dict]:
    """Every attack on every model with every seed."""
    clean, base = f"{dataset}-prognn", folder / "runs"
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress,
        ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool,
    ):
        attacks = [attack for attack in MADE_FOR if attack != "metattack"]
        downwards = [rate for rate in reversed(rates) if rate]  # the largest budgets take longest
        asked = list(itertools.product(attacks, downwards, range(seeds)))
        jobs = {pool.submit(make, (clean, *one, device, folder)): one for one in asked}
        for _ in progress.track(as_completed(jobs), total=len(jobs), description="attacks"):
            pass
        graphs = {one: job.result() for job, one in jobs.items()}
        published = published_graphs(dataset, rates)
        cases = [
            Case(
                model,
                attack,
                kind,
                rate,
                seed,
                published[rate] if attack == "metattack" else graphs.get((attack, rate, seed), clean),
            )
            for model in ADAPTIVE
            for attack in MADE_FOR
            for kind in (("poisoning",) if attack == "metattack" else ("evasion", "poisoning"))
            for rate in rates
            for seed in range(seeds)
        ]
        configs = {case: case.config(device, clean) for case in cases}
        different = list(dict.fromkeys(configs.values()))
        bar = progress.add_task("runs", total=len(different))
        outcomes = run_all(different, base, workers=workers, on_outcome=lambda _: progress.advance(bar))
        if errors := [outcome.error for outcome in outcomes if outcome.error]:
            raise SystemExit(errors[0])
        trained = {outcome.config: outcome.metrics for outcome in outcomes}
        evasions = [case for case in cases if case.kind == "evasion"]
        values = pool.map(evaded, [(case, configs[case], base) for case in evasions])
        shown = progress.track(values, total=len(evasions), description="evasion")
        accuracy = dict(zip(evasions, shown, strict=True))
    for case in cases:
        if case.kind == "poisoning":
            accuracy[case] = 100 * trained[configs[case]]["test_accuracy"]
    return [{**case._asdict(), "accuracy": accuracy[case]} for case in cases]


def curves(found: list[dict]) -> dict[tuple[str, str, str], dict[float, list[float]]]:
    """The accuracies of each model, attack and kind by rate, one for each seed."""
    lines: dict[tuple[str, str, str], dict[float, list[float]]] = {}
    for one in found:
        line = lines.setdefault((one["model"], one["attack"], one["kind"]), {})
        line.setdefault(one["rate"], []).append(one["accuracy"])
    return lines


def spread(values: list[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def in_words(found: list[dict]) -> str:
    """What metattack and the strongest attack on edges leave of each model at the highest rate."""
    lines, rate = curves(found), max(one["rate"] for one in found)
    parts = []
    for model in ADAPTIVE:
        left = {
            names[1:]: statistics.mean(line[rate])
            for names, line in lines.items()
            if names[0] == model and names[1] != "feature-swap"
        }
        worst = min(left, key=left.__getitem__)
        beside = "" if "metattack" in worst else f"; metattack leaves {left['metattack', 'poisoning']:.1f}"
        parts.append(f"{model} keeps {left[worst]:.1f} under the strongest attack here ({', '.join(worst)}{beside})")
    return f"With {rate:.0%} of the edges flipped, {' and '.join(parts)}."


def table(found: list[dict], dataset: str, budgets: dict[float, int]) -> str:
    """The mean and standard deviation of every point, in Markdown."""
    seeds = len({one["seed"] for one in found})
    lines = [
        in_words(found),
        "",
        f"Test accuracy (%) on {dataset} by the share of edges flipped, or of nodes with another class's features; "
        f"{seeds} seeds, mean ± standard deviation. Evasion: trained on the clean graph, read on the attacked one. "
        "Poisoning: trained on the attacked one. An attack made for the model itself is adaptive.",
        "",
        f"| model | attack | made for | kind | {' | '.join(f'{rate:.0%}' for rate in budgets)} |",
        f"| --- | --- | --- | --- |{' --- |' * len(budgets)}",
        f"| | | | flips allowed | {' | '.join(f'{budget:,}' for budget in budgets.values())} |",
    ]
    for (model, attack, kind), line in curves(found).items():
        cells = [f"{statistics.mean(line[rate]):.1f} ± {spread(line[rate]):.1f}" for rate in budgets]
        made_for = "itself" if attack == ADAPTIVE[model] else MADE_FOR[attack]
        lines.append(f"| {' | '.join((model, attack, made_for, kind, *cells))} |")
    return "\n".join(lines) + "\n"


def draw(found: list[dict], dataset: str, path: Path) -> None:
    """A panel for each model's edges and one for both models' features."""
    figure = Figure(figsize=(12, 4), layout="constrained")
    axes = figure.subplots(1, 3, sharey=True)
    own, others, plain = "#d1495b", "#00798c", "#555555"
    styles = {"evasion": ("s", "--"), "poisoning": ("^", ":")}
    for (model, attack, kind), line in curves(found).items():
        axis, color, (marker, style) = axes[list(ADAPTIVE).index(model)], others, styles[kind]
        label = f"prbcd for {MADE_FOR[attack]}, {kind}"
        if attack == "metattack":
            color, marker, style, label = plain, "o", "-", "metattack, poisoning"
        elif attack == ADAPTIVE[model]:
            color, label = own, f"prbcd for itself, {kind}"
        elif attack == "feature-swap":
            axis, color, label = axes[2], own if model == "simpgcn" else plain, f"{model}, {kind}"
        axis.errorbar(
            [100 * rate for rate in line],
            [statistics.mean(values) for values in line.values()],
            [spread(values) for values in line.values()],
            color=color,
            marker=marker,
            markersize=4,
            linestyle=style,
            capsize=2,
            label=label,
        )
    for axis, title in zip(axes, (*(f"{dataset}: edges of {model}" for model in ADAPTIVE), "features"), strict=True):
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.3)
        axis.legend(frameon=False, fontsize=8)
        axis.set_title(title)
        axis.set_xlabel("edges flipped, % of the graph's" if title != "features" else "nodes with others' features, %")
    axes[0].set_ylabel("test accuracy, %")
    figure.savefig(path, dpi=160)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", default="cora")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rates", default="0,0.05,0.1,0.15,0.2,0.25")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--workers", type=int, help="processes; as many as cores, 8 on a GPU, if left out")
    wish = parser.parse_args()
    device = find_device(wish.device)
    cores = os.cpu_count() or 1
    workers = wish.workers or (min(cores, ON_GPU) if device.type == "cuda" else cores)
    rates = parse_rates(wish.rates)
    found = study(wish.dataset, rates, wish.seeds, str(device), workers, Path("robustness-study") / wish.dataset)
    clean = load_dataset(f"{wish.dataset}-prognn")
    budgets = {rate: budget_of(clean, rate, find_attack("prbcd")) for rate in rates}
    result = {
        "dataset": wish.dataset,
        "in_words": in_words(found),
        "flips_allowed": budgets,
        "points": found,
        "machine": machine(device),
        "versions": versions(),
        "git": git_revision(),
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"robustness_{wish.dataset}"
    path.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
    path.with_suffix(".md").write_text(table(found, wish.dataset, budgets))
    draw(found, wish.dataset, path.with_suffix(".png"))
    print(table(found, wish.dataset, budgets))


if __name__ == "__main__":
    main()
