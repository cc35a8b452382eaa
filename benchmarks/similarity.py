"""The kNN graph and pairs of PubMed against scikit-learn's cosine_similarity with a full argsort.

    python benchmarks/similarity.py [REPEATS]

Each measurement is a process of its own, so that its peak memory is its own; the two take turns. Writes
benchmarks/results/similarity.json.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def ours(x) -> None:
    from simpgcn.data.features import binarize, compact
    from simpgcn.similarity import feature_edges, nearest_neighbors, similarity_pairs

    found = nearest_neighbors(binarize(compact(x), "always"), 20, farthest=5)
    feature_edges(found)
    similarity_pairs(found, 5)


def scikit_learn(x) -> None:
    import numpy as np
    from sklearn.metrics.pairwise import cosine_similarity

    similarity = cosine_similarity((x != 0).numpy().astype(np.float32))
    np.fill_diagonal(similarity, 0)
    order = np.argsort(similarity, axis=1)
    order[:, -20:], order[:, :5]


def measure(name: str) -> dict:
    from simpgcn.data import load_dataset

    x = load_dataset("pubmed").x
    start = time.perf_counter()
    {"ours": ours, "scikit-learn": scikit_learn}[name](x)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}


def main(repeats: int) -> None:
    runs: dict[str, list[dict]] = {"ours": [], "scikit-learn": []}
    for _ in range(repeats):
        for name, measured in runs.items():
            out = subprocess.run([sys.executable, __file__, "--one", name], check=True, capture_output=True, text=True)
            measured.append(json.loads(out.stdout))
    result = {
        name: {
            "seconds_median": statistics.median(run["seconds"] for run in measured),
            "seconds": [run["seconds"] for run in measured],
            "peak_mb": max(run["peak_mb"] for run in measured),
        }
        for name, measured in runs.items()
    }
    result["times_faster"] = result["scikit-learn"]["seconds_median"] / result["ours"]["seconds_median"]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "similarity.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2])))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
