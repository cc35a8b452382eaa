"""What there is to train on: ``datasets``."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from simpgcn.cli.options import Json, print_json
from simpgcn.data import CATALOG, data_home, dataset_statistics
from simpgcn.data.catalog import Benchmark, catalog_entry
from simpgcn.data.prognn import ATTACKED, RATES
from simpgcn.data.raw_files import missing_from_mirror
from simpgcn.data.statistics import PAPER
from simpgcn.screens import (
    show_dataset,
)


def datasets(
    name: Annotated[str | None, typer.Argument(help="Show one dataset's statistics.")] = None,
    json_output: Json = False,
) -> dict[str, Any]:
    """List the datasets, or show the statistics of one."""
    answer = _one_dataset(name) if name else {key: _at_a_glance(key) for key in CATALOG}
    if json_output:
        print_json(answer)
    elif name:
        show_dataset(answer)
    else:
        table = Table("dataset", "nodes and edges", "usual split", "data")
        for key, row in answer.items():
            table.add_row(key, row["title"], row["split_kind"], row["data"])
        Console().print(table)
        Console().print(
            f"simpgcn datasets NAME shows the statistics of one.\nPublished attacked graphs: {', '.join(ATTACKED)} "
            f"with +metattack@RATE, {', '.join(RATES)}.",
            highlight=False,
        )
    return answer


def _at_a_glance(name: str) -> dict[str, Any]:
    entry = CATALOG[name]
    where = "built in"
    if isinstance(entry, Benchmark):
        if (data_home() / entry.folder).is_dir():
            where = "installed"
        else:
            where = "to download" if missing_from_mirror(entry.folder) else "in the mirror"
    elif entry.split_kind == "pro-gnn":
        where = "from the mirror"
    return {"title": entry.title, "split_kind": entry.split_kind, "data": where}


def _one_dataset(name: str) -> dict[str, Any]:
    entry = catalog_entry(name)
    found = dataset_statistics(name)
    paper = dict(zip(("nodes", "edges", "features", "classes"), PAPER[name], strict=True)) if name in PAPER else None
    return {
        "dataset": name,
        "title": entry.title,
        "split_kind": entry.split_kind,
        **found._asdict(),
        "paper": paper,
        "notes": list(entry.notes),
    }
