"""An attack from a dataset to a graph file: its flips saved as they are made, resumable."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from simpgcn.data.catalog import load_dataset, settings_name
from simpgcn.data.graph_file import about_graph, write_graph
from simpgcn.errors import SimPGCNError
from simpgcn.robustness.attacks import Attack, attacked, budget_of, find_attack
from simpgcn.robustness.prbcd import PRBCD
from simpgcn.training import find_device

SAVE_SECONDS = 5.0


class AttackRun(NamedTuple):
    """What came out: where it is, how many flips of how many allowed, new edges and lost ones, and the seconds."""

    path: Path
    flips: int
    budget: int
    seconds: float


def run_attack(
    dataset: str,
    method: str,
    rate: float,
    out: Path,
    *,
    split: int = 0,
    seed: int = 0,
    device: str = "auto",
    start: Path | None = None,
    on_start: Callable[[int, int], None] | None = None,
    on_flip: Callable[[int], None] | None = None,
    on_search: Callable[[float], None] | None = None,
) -> AttackRun:
    """Attack a dataset and write the attacked graph, which any command takes in the place of a dataset's name.

    What an interrupted attack has found is in ``out``, and the same call goes on from there.

    Args:
        dataset: A name of the catalogue, or a graph file.
        method: A name of :data:`simpgcn.robustness.attacks.ATTACKS`.
        rate: The share of edges to flip.
        out: The ``.npz`` file to write.
        split: Which of the dataset's splits: it says which labels the attacker knows.
        seed: Of the attack.
        device: Where to compute.
        start: A finished file of the same attack at a lower rate, to go on from.
        on_start: Called with the flips found by an earlier call and the flips allowed.
        on_flip: Called with the number of flips after every one.
        on_search: Called with the share that is done of an attack that finds its flips all at once.

    >>> import tempfile
    >>> out = Path(tempfile.mkdtemp()) / "attacked.npz"
    >>> run_attack("demo", "random", 0.01, out).flips, load_dataset(str(out)).num_edges
    (100, 20200)
    """
    if out.suffix != ".npz":
        raise SimPGCNError(f"{out} must end in .npz: that is what an attacked graph is written as")
    kind = find_attack(method)
    data = load_dataset(dataset, split=split)
    budget = budget_of(data, rate, kind)
    about: dict[str, Any] = {
        "made_from": settings_name(dataset),
        "dataset": dataset,
        "split": split,
        "attack": method,
        "rate": rate,
        "budget": budget,
        "seed": seed,
    }
    pairs, spent = _found(out, about) if out.exists() else ([], 0.0)
    if not pairs and start is not None and kind.one_by_one:
        pairs, spent = _found(start, {**about, "rate": None, "budget": None})
    began = time.perf_counter()
    if out.exists() and about_graph(out)["finished"]:
        return AttackRun(out, len(pairs), budget, spent)
    if not kind.one_by_one:
        pairs = []
    if on_start is not None:
        on_start(len(pairs), budget)
    out.parent.mkdir(parents=True, exist_ok=True)

    def save(*, finished: bool) -> None:
        seconds = round(spent + time.perf_counter() - began, 3)
        record = {**about, "flips": pairs, "seconds": seconds, "finished": finished}
        write_graph(out, attacked(data, _tensor(pairs), kind), record)

    saved, finished = time.monotonic(), False
    try:
        for pair in (
            _flips(kind.make(data, dataset, seed, find_device(device)), budget, pairs, on_search) if budget else ()
        ):
            pairs.append(pair)
            if on_flip is not None:
                on_flip(len(pairs))
            if kind.one_by_one and time.monotonic() - saved > SAVE_SECONDS:
                save(finished=False)
                saved = time.monotonic()
        finished = True
    finally:
        if finished or (kind.one_by_one and pairs):
            save(finished=finished)
    return AttackRun(out, len(pairs), budget, spent + time.perf_counter() - began)


def _flips(
    attack: Attack, budget: int, pairs: list[tuple[int, int]], on_search: Callable[[float], None] | None
) -> Iterator[tuple[int, int]]:
    if isinstance(attack, PRBCD):
        attack.on_step = on_search
    return attack.flips(budget, _tensor(pairs))


def _found(path: Path, about: dict[str, Any]) -> tuple[list[tuple[int, int]], float]:
    """The flips of a file and the seconds they took; an error if it is of another attack."""
    there = about_graph(path)
    for name, value in about.items():
        if value is not None and there.get(name) != value:
            raise SimPGCNError(
                f"{path} holds another attack (its {name} is {there.get(name)}, not {value}): choose another --out"
            )
    return [(int(u), int(v)) for u, v in there["flips"]], float(there["seconds"])


def _tensor(pairs: list[tuple[int, int]]) -> Tensor:
    return torch.from_numpy(np.array(pairs, dtype=np.int64).reshape(-1, 2).T.copy())
