"""Exact neighbours on a GPU: our search, a blocked bfloat16 product with topk, and the floor of the machine.

    python benchmarks/knn_device.py

The floor is the larger of two times: the operations of all dot products at the rate of a large float16 product, and
the bytes of the features and of the answer at the rate of a large copy, both measured in the same run. Writes
benchmarks/results/knn_h200.json.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor

from simpgcn.similarity import Neighbors, nearest_neighbors

RESULTS = Path(__file__).parent / "results"
K, FARTHEST = 20, 5
REPEATS = 3
Result = TypeVar("Result")


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    torch.cuda.synchronize()
    start = time.perf_counter()
    result = work()
    torch.cuda.synchronize()
    return time.perf_counter() - start, result


def seconds(work: Callable[[], object]) -> list[float]:
    """Wall-clock of each repeat, after one that compiles and warms up."""
    return [timed(work)[0] for _ in range(REPEATS + 1)][1:]


def blocked_bf16(x: Tensor) -> Tensor:
    """What one would write in a few lines: fast products, every score written and read again."""
    x = torch.nn.functional.normalize(x, dim=1).bfloat16()
    near = []
    for rows in torch.arange(x.size(0), device=x.device).split(max(1, (1 << 30) // x.size(0))):
        score = x[rows] @ x.T
        score[torch.arange(rows.numel(), device=x.device), rows] = -torch.inf
        near.append(score.topk(K).indices)
        score[torch.arange(rows.numel(), device=x.device), rows] = torch.inf
        score.topk(FARTHEST, largest=False)
    return torch.cat(near)


def share_found(near: Tensor, truth: Tensor) -> float:
    return float((near.unsqueeze(2) == truth.unsqueeze(1)).any(dim=2).float().mean())


def check(x: Tensor, found: Neighbors, approximate: Tensor) -> dict:
    """Similarities of 500 rows against float64 brute force, and how many neighbours bfloat16 finds."""
    rows = torch.randint(x.size(0), (500,), device=x.device)
    unit = torch.nn.functional.normalize(x.double(), dim=1)
    cosine = unit[rows] @ unit.T
    cosine[torch.arange(500, device=x.device), rows] = -torch.inf
    near = cosine.topk(K).values
    cosine[torch.arange(500, device=x.device), rows] = torch.inf
    far = cosine.topk(FARTHEST, largest=False).values
    return {
        "largest_error_near": float((found.near_similarity[rows] - near).abs().max()),
        "largest_error_far": float((found.far_similarity[rows] - far).abs().max()),
        "bf16_neighbours_found": share_found(approximate, found.near),
    }


def ceilings() -> dict:
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
    product = min(seconds(lambda: [a @ a for _ in range(20)])) / 20
    b = torch.empty(1 << 30, device="cuda")
    c = torch.randn(1 << 30, device="cuda")
    copy = min(seconds(lambda: [b.copy_(c) for _ in range(10)])) / 10
    return {"fp16_flops": 2 * 8192**3 / product, "copy_bytes_per_second": 2 * 4 * (1 << 30) / copy}


def measure(x: Tensor, peak: dict) -> dict:
    n, d = x.shape
    torch.cuda.reset_peak_memory_stats()
    ours = seconds(lambda: nearest_neighbors(x, K, farthest=FARTHEST))
    memory = torch.cuda.max_memory_allocated()
    found = nearest_neighbors(x, K, farthest=FARTHEST)
    blocked_bf16(x[:10_000])
    bf16, approximate = timed(lambda: blocked_bf16(x))  # once: it takes long, and varies little
    floor = max(
        2 * n * n * d / peak["fp16_flops"],
        (x.numel() * 4 + n * (K + FARTHEST) * 12) / peak["copy_bytes_per_second"],
    )
    result = {
        "n": n,
        "d": d,
        "seconds": statistics.median(ours),
        "all_seconds": ours,
        "peak_gb": memory / 1e9,
        "blocked_bf16_seconds": bf16,
        "floor_seconds": floor,
        **check(x, found, approximate),
    }
    result["times_faster_than_bf16"] = result["blocked_bf16_seconds"] / result["seconds"]
    result["times_floor"] = result["seconds"] / floor
    return result


def features() -> dict[str, Callable[[], Tensor]]:
    def clustered() -> Tensor:
        centers = torch.randn(1000, 128, device="cuda")
        return (
            centers[torch.randint(1000, (1_000_000,), device="cuda")] + torch.randn(1_000_000, 128, device="cuda") / 2
        )

    return {
        "random 100k": lambda: torch.randn(100_000, 128, device="cuda"),
        "random 1M": lambda: torch.randn(1_000_000, 128, device="cuda"),
        "clustered 1M": clustered,
        "words 100k": lambda: (torch.rand(100_000, 1000, device="cuda") < 0.02).float(),
    }


def main() -> None:
    torch.manual_seed(0)
    result: dict = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "k": K,
        "farthest": FARTHEST,
        **ceilings(),
    }
    for name, make in features().items():
        torch.cuda.empty_cache()
        result[name] = measure(make(), result)
        print(name, json.dumps(result[name]), flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "knn_h200.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
