"""Speed on this machine: ``bench``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from simpgcn.bench.graphs import chosen_graphs
from simpgcn.bench.scaling import Point, draw_scaling
from simpgcn.bench.suite import count_steps, run_bench
from simpgcn.cli.options import Device, Json, print_json
from simpgcn.files import replacing
from simpgcn.progress import RunsProgress
from simpgcn.screens import (
    bench_table,
    growth,
)
from simpgcn.training import find_device


def bench(
    graphs: Annotated[
        list[str] | None,
        typer.Argument(help="Datasets; made-up graphs of Cora's, CiteSeer's and PubMed's size if left out."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A tiny graph, in seconds: to see that it works.")] = False,
    device: Device = None,
    out: Annotated[Path, typer.Option(help="Where results go.")] = Path("bench"),
    json_output: Json = False,
) -> dict[str, Any]:
    """Measure speed here: against plain PyG and scikit-learn, the memory's bandwidth, and as graphs grow."""
    chosen = find_device(device or "auto")
    names = chosen_graphs(graphs or [], quick=quick)
    with RunsProgress(count_steps(names, chosen, quick=quick)) as bar:
        answer = {"folder": str(out), **run_bench(names, chosen, quick=quick, on_step=bar.advance)}
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / "bench.json") as draft:
        draft.write_text(json.dumps(answer, indent=2) + "\n")
    table = bench_table(answer)
    with replacing(out / "bench.txt") as draft, draft.open("w") as file:
        Console(file=file, width=120).print(table, growth(answer), sep="\n", highlight=False)
    try:
        draw_scaling([Point(**point) for point in answer["scaling"]["points"]], out / "scaling.png")
    except ImportError:
        print("No picture: install simpgcn[plots] for it.", file=sys.stderr)
    if json_output:
        print_json(answer)
    else:
        Console().print(table, growth(answer), f"Files in {escape(str(out))}", sep="\n", highlight=False)
    return answer
