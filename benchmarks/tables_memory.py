"""Memory and time to read tables with millions of edges: python benchmarks/tables_memory.py [--edges 10000000]

The tables are made up in a temporary folder and read in a process of its own, whose peak above what it holds before
reading is laid beside the size of the data: the files, and the tensors made of them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from simpgcn.version import VERSION

RESULT = Path(__file__).parent / "results" / "tables_memory.json"
MB = 1 << 20


def make_tables(folder: Path, nodes: int, edges: int) -> None:
    draw = np.random.default_rng(0)
    pyarrow.csv.write_csv(
        pa.table(
            {
                "id": np.arange(nodes) + 1_000_000,
                "age": draw.integers(18, 90, nodes),
                "income": np.round(draw.lognormal(8, 1, nodes), 2),
                "city": draw.choice(["Rome", "Oslo", "Bonn", "Lyon"], nodes),
                "kind": draw.choice(["a", "b", "c"], nodes),
            }
        ),
        folder / "nodes.csv",
    )
    ends = draw.integers(0, nodes, (2, edges)) + 1_000_000
    pyarrow.csv.write_csv(pa.table({"from": ends[0], "to": ends[1]}), folder / "edges.csv")


def read_tables(folder: str, queue: multiprocessing.Queue[dict[str, float]]) -> None:
    from simpgcn import load_tables

    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    start = time.perf_counter()
    data = load_tables(f"{folder}/nodes.csv", f"{folder}/edges.csv", "kind")
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    tensors = sum(value.numel() * value.element_size() for _, value in data if hasattr(value, "element_size"))
    queue.put({"seconds": seconds, "peak": peak - before, "tensors": tensors, "kept": data.edge_index.size(1)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    options = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as name:
        make_tables(Path(name), options.nodes, options.edges)
        files = sum(path.stat().st_size for path in Path(name).iterdir())
        queue = spawn.Queue()
        process = spawn.Process(target=read_tables, args=(name, queue))
        process.start()
        found = queue.get()
        process.join()
    answer = {
        "nodes": options.nodes,
        "edges": options.edges,
        "files_mb": round(files / MB, 1),
        "tensors_mb": round(found["tensors"] / MB, 1),
        "peak_mb": round(found["peak"] / MB, 1),
        "peak_over_files": round(found["peak"] / files, 2),
        "peak_over_files_and_tensors": round(found["peak"] / (files + found["tensors"]), 2),
        "seconds": round(found["seconds"], 1),
        "simpgcn": VERSION,
    }
    print(json.dumps(answer, indent=2))
    RESULT.write_text(json.dumps(answer, indent=2) + "\n")


if __name__ == "__main__":
    main()
