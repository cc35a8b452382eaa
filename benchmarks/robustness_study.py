"""SimP-GCN attacked as itself: the curve of an adaptive attack beside metattack's, and what features are worth.

    python benchmarks/robustness_study.py [DATASET] [--seeds 3] [--rates 0,0.05,0.1,0.15,0.2,0.25] [--device auto]

DATASET is cora, citeseer or pubmed, Pro-GNN's graph and split. For each seed and model (gcn, simpgcn):

* metattack, poisoning: trained on the published attacked graphs;
* prbcd, evasion: a model trained on the clean graph is evaluated where PRBCD, through that model's own forward pass,
  has flipped edges; poisoning: a model with another seed is trained there;
* feature-swap, evasion and poisoning: the rate is the share of nodes that have taken on features of another class.

Attacks read no test label but feature-swap, which knows all; test accuracy chooses nothing. Seeds and models are
studied side by side, a process each. Finished parts are kept in robustness-study/ and not repeated. Writes
benchmarks/results/robustness_DATASET.json, .md and .png.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

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
from simpgcn.training import find_device, model_inputs, predict

RESULTS = Path(__file__).parent / "results"
ADAPTIVE = {"gcn": "prbcd", "simpgcn": "prbcd-simpgcn"}
# Poisoned runs have a seed that no attacked model has.
OTHER_SEED = 100


def accuracy(config: Config, base: Path, graph: str) -> float:
    """The test accuracy in percent, on another graph, of the model of a finished run."""
    device = find_device(config.training.device)
    data = load_dataset(graph)
    model = runs.read_model(run_folder(base, config), config).model.to(device)
    inputs, _ = model_inputs(data, config, device)
    guess = predict(model, inputs).probabilities.argmax(axis=1)
    return 100 * float((guess == data.y.numpy())[data.test_mask.numpy()].mean())


def with_seed(graph: str, model: str, seed: int, device: str) -> Config:
    return default_config(graph, model).replace({"training": {"seed": seed, "device": device}})


def study(dataset: str, rates: list[float], seed: int, model: str, device: str, folder: Path) -> list[dict]:
    """Every attack on one model with one seed."""
    torch.set_num_threads(1)
    clean, base = f"{dataset}-prognn", folder / "runs"
    found: list[dict] = []

    def note(attack: str, kind: str, rate: float, value: float) -> None:
        found.append({"model": model, "attack": attack, "kind": kind, "rate": rate, "seed": seed, "accuracy": value})

    def trained(configs: list[Config]) -> list[float]:
        outcomes = run_all(configs, base, workers=1)
        return [100 * outcome.metrics["test_accuracy"] for outcome in outcomes]

    own = with_seed(clean, model, seed, device)
    published = published_graphs(dataset, rates)
    poisoned = [with_seed(graph, model, seed, device) for graph in published.values()]
    for rate, value in zip(published, trained([own, *poisoned])[1:], strict=True):
        note("metattack", "poisoning", rate, value)
    for attack in (ADAPTIVE[model], "feature-swap"):
        for rate in rates:
            made = attack_graphs(clean, attack, [rate], folder / f"{model}-seed{seed}", seed=seed, device=device)
            (graph,) = made.values()
            (value,) = trained([with_seed(graph, model, seed + OTHER_SEED, device)])
            note(attack, "evasion", rate, accuracy(own, base, graph))
            note(attack, "poisoning", rate, value)
    return found


def curves(found: list[dict]) -> dict[tuple[str, str, str], dict[float, list[float]]]:
    """The accuracies of each model, attack and kind by rate, one for each seed."""
    lines: dict[tuple[str, str, str], dict[float, list[float]]] = {}
    for one in found:
        line = lines.setdefault((one["model"], one["attack"], one["kind"]), {})
        line.setdefault(one["rate"], []).append(one["accuracy"])
    return lines


def table(found: list[dict], dataset: str) -> str:
    """The mean and standard deviation of every point, in Markdown."""
    rates = sorted({one["rate"] for one in found})
    seeds = len({one["seed"] for one in found})
    lines = [
        f"Test accuracy (%) on {dataset} by the share of edges flipped, or of nodes with another class's features; "
        f"{seeds} seeds, mean ± standard deviation.",
        "",
        f"| model, attack, kind | {' | '.join(f'{rate:.0%}' for rate in rates)} |",
        f"| --- |{' --- |' * len(rates)}",
    ]
    for names, line in curves(found).items():
        cells = [f"{mean(line[rate]):.1f} ± {spread(line[rate]):.1f}" for rate in rates]
        lines.append(f"| {', '.join(names)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def mean(values: list[float]) -> float:
    return statistics.mean(values)


def spread(values: list[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def draw(found: list[dict], dataset: str, path: Path) -> None:
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    colors = {"gcn": "#555555", "simpgcn": "#d1495b"}
    styles = {"metattack": ("o", "-"), "evasion": ("s", "--"), "poisoning": ("^", ":")}
    for axis, attacks in ((left, ("metattack", *ADAPTIVE.values())), (right, ("feature-swap",))):
        for (model, attack, kind), line in curves(found).items():
            if attack not in attacks:
                continue
            marker, style = styles["metattack" if attack == "metattack" else kind]
            name = attack.removesuffix("-simpgcn")
            axis.errorbar(
                [100 * rate for rate in line],
                [mean(values) for values in line.values()],
                [spread(values) for values in line.values()],
                color=colors[model],
                marker=marker,
                markersize=4,
                linestyle=style,
                capsize=2,
                label=f"{model}, {name}" + ("" if attack == "metattack" else f", {kind}"),
            )
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.3)
        axis.legend(frameon=False, fontsize=8)
    left.set_title(f"{dataset}: edges attacked")
    left.set_xlabel("edges flipped, % of the graph's")
    left.set_ylabel("test accuracy, %")
    right.set_title("features attacked")
    right.set_xlabel("nodes with features of another class, %")
    figure.savefig(path, dpi=160)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", default="cora")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rates", default="0,0.05,0.1,0.15,0.2,0.25")
    parser.add_argument("--device", default="auto")
    wish = parser.parse_args()
    folder = Path("robustness-study") / wish.dataset
    rates = parse_rates(wish.rates)
    jobs = [(wish.dataset, rates, seed, model, wish.device, folder) for seed in range(wish.seeds) for model in ADAPTIVE]
    columns = (TextColumn("models and seeds"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress,
        ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn")) as pool,
    ):
        running = [pool.submit(study, *job) for job in jobs]
        for _ in progress.track(as_completed(running), total=len(running)):
            pass
    found = [point for job in running for point in job.result()]
    result = {
        "dataset": wish.dataset,
        "points": found,
        "machine": machine(find_device(wish.device)),
        "versions": versions(),
        "git": git_revision(),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"robustness_{wish.dataset}.json").write_text(json.dumps(result, indent=1) + "\n")
    (RESULTS / f"robustness_{wish.dataset}.md").write_text(table(found, wish.dataset))
    draw(found, wish.dataset, RESULTS / f"robustness_{wish.dataset}.png")


if __name__ == "__main__":
    main()
