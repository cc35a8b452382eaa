"""SimP-GCN attacked as itself: the curve of an adaptive attack beside metattack's, and what features are worth.

    python benchmarks/robustness_study.py [DATASET] [--seeds 3] [--rates 0,0.05,0.1,0.15,0.2,0.25] [--device auto]

DATASET is cora, citeseer or pubmed, Pro-GNN's graph and split. For each seed and model (gcn, simpgcn):

* metattack, poisoning: trained on the published attacked graphs;
* prbcd, evasion: a model trained on the clean graph is evaluated where PRBCD, through that model's own forward pass,
  has flipped edges; poisoning: a model with another seed is trained there;
* feature-swap, evasion and poisoning: the rate is the share of nodes that have taken on features of another class.

Attacks read no test label but feature-swap, which knows all; test accuracy chooses nothing. Finished parts are kept in
robustness-study/ and not repeated. Writes benchmarks/results/robustness_DATASET.json and .png.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

from matplotlib.figure import Figure
from rich.progress import Progress

from simpgcn import runs
from simpgcn.config import Config, default_config
from simpgcn.data import load_dataset
from simpgcn.experiments.robustness import attack_graphs, parse_rates, published_graphs
from simpgcn.experiments.runner import run_all, run_folder
from simpgcn.provenance import git_revision, versions
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


def study(dataset: str, rates: list[float], seeds: int, device: str, folder: Path, progress: Progress) -> list[dict]:
    clean, base = f"{dataset}-prognn", folder / "runs"
    published = published_graphs(dataset, rates)
    task = progress.add_task(dataset, total=2 * seeds * 3)
    found: list[dict] = []

    def note(model: str, attack: str, kind: str, rate: float, seed: int, value: float) -> None:
        found.append({"model": model, "attack": attack, "kind": kind, "rate": rate, "seed": seed, "accuracy": value})

    def trained(configs: list[Config]) -> list[float]:
        outcomes = run_all(configs, base, workers=1)
        return [100 * outcome.metrics["test_accuracy"] for outcome in outcomes]

    for seed in range(seeds):
        for model, adaptive in ADAPTIVE.items():
            own = with_seed(clean, model, seed, device)
            poisoned = [with_seed(graph, model, seed, device) for graph in published.values()]
            for rate, value in zip(rates, trained([own, *poisoned])[1:], strict=True):
                note(model, "metattack", "poisoning", rate, seed, value)
            progress.advance(task)
            for attack in (adaptive, "feature-swap"):
                graphs = attack_graphs(clean, attack, rates, folder / f"seed{seed}", seed=seed, device=device)
                again = [with_seed(graph, model, seed + OTHER_SEED, device) for graph in graphs.values()]
                for (rate, graph), value in zip(graphs.items(), trained(again), strict=True):
                    note(model, attack, "evasion", rate, seed, accuracy(own, base, graph))
                    note(model, attack, "poisoning", rate, seed, value)
                progress.advance(task)
    return found


def draw(found: list[dict], dataset: str, path: Path) -> None:
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    colors = {"gcn": "#555555", "simpgcn": "#d1495b"}
    styles = {"metattack": ("o", "-"), "evasion": ("s", "--"), "poisoning": ("^", ":")}
    for axis, attacks in ((left, ("metattack", *ADAPTIVE.values())), (right, ("feature-swap",))):
        lines = dict.fromkeys((one["model"], one["attack"], one["kind"]) for one in found if one["attack"] in attacks)
        for model, attack, kind in lines:
            rates = sorted({one["rate"] for one in found})
            values = [
                [one["accuracy"] for one in found if (one["model"], one["attack"], one["kind"]) == (model, attack, kind)
                 and one["rate"] == rate]
                for rate in rates
            ]  # fmt: skip
            marker, style = styles["metattack" if attack == "metattack" else kind]
            name = attack.removesuffix("-simpgcn")
            axis.errorbar(
                [100 * rate for rate in rates],
                [statistics.mean(column) for column in values],
                [statistics.stdev(column) if len(column) > 1 else 0.0 for column in values],
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
    with Progress() as progress:
        found = study(wish.dataset, parse_rates(wish.rates), wish.seeds, wish.device, folder, progress)
    result = {"dataset": wish.dataset, "points": found, "versions": versions(), "git": git_revision()}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"robustness_{wish.dataset}.json").write_text(json.dumps(result, indent=1) + "\n")
    draw(found, wish.dataset, RESULTS / f"robustness_{wish.dataset}.png")


if __name__ == "__main__":
    main()
