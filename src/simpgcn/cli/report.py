"""The command ``report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from simpgcn.cli.options import Cache, Json, print_json
from simpgcn.report import write_report


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders; several are compared with the first.")],
    out: Annotated[
        Path | None,
        typer.Option(help="The HTML file.", show_default="report.html in the run folder; for several runs, here"),
    ] = None,
    cache: Cache = True,
    json_output: Json = False,
) -> dict[str, Any]:
    """Write a page to look at: one HTML file about a run, or about several compared, that needs no network."""
    if out is None:
        out = runs[0] / "report.html" if len(runs) == 1 else Path("report.html")
    answer = write_report(runs, out, cache=cache)
    if json_output:
        print_json(answer)
    else:
        Console().print(f"Report written to {escape(str(out))}", highlight=False, soft_wrap=True)
    return answer
