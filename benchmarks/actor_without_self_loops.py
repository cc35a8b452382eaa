"""Which λ Actor has without self-loops: two validate alike, so both are trained ninety times more.

    python benchmarks/actor_without_self_loops.py [RUNS]

The search of `simpgcn reproduce ablation` takes thirty runs a combination, the seeds 0 to 29. Here λ = 1 and 10, with
its 48 hidden units and L2 of 5e-5, have the seeds 30 to 119, nine on each split. What has the better mean validation
accuracy serves Table 5; the test accuracies are written down for both. RUNS is where runs are kept, as below `--out`.
Writes benchmarks/results/actor_without_self_loops.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path

from simpgcn.experiments.compare import run_configs
from simpgcn.experiments.experiment import load_experiment
from simpgcn.experiments.runner import run_all
from simpgcn.experiments.verdict import judge_accuracy
from simpgcn.provenance import git_revision, machine, versions
from simpgcn.training import find_device

RESULTS = Path(__file__).parent / "results"
CHOICES = (1, 10)
FIRST, LAST = 30, 120


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="?", type=Path, default=Path("results/runs"))
    wish = parser.parse_args()
    (row,) = (row for row in load_experiment("table5").rows if row.name == "no-loops")
    paper, found = row.paper[0], []
    for weight in CHOICES:
        changes = row.settings("actor")
        changes["model"] = {**changes["model"], "pretext_weight": weight}
        configs = run_configs("actor", "simpgcn", LAST, changes)[FIRST:]
        metrics = [outcome.metrics for outcome in run_all(configs, wish.runs)]
        if None in metrics:
            parser.error(f"some of these runs failed: see {wish.runs}")
        val, test = ([100 * run[f"{part}_accuracy"] for run in metrics] for part in ("val", "test"))
        verdict = judge_accuracy(test, paper, [config.data.split for config in configs])
        found.append(
            {
                "pretext_weight": weight,
                "runs": len(configs),
                "val_mean": statistics.mean(val),
                "val_sd": statistics.stdev(val),
                "test_mean": statistics.mean(test),
                "test_sd": statistics.stdev(test),
                "p_below": verdict.p_below,
            }
        )
        print(f"λ = {weight}: validation {statistics.mean(val):.3f}, test {statistics.mean(test):.2f} (paper {paper})")
    result = {"choices": found, "git": git_revision(), "machine": machine(find_device("auto")), "versions": versions()}
    (RESULTS / "actor_without_self_loops.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
