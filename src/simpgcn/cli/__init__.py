"""The command line: each command a plain function, which Python can call too."""

from __future__ import annotations

import sys
from typing import Annotated

import torch
import typer

from simpgcn.cli.attacks import attack, robustness
from simpgcn.cli.bench import bench
from simpgcn.cli.datasets import datasets
from simpgcn.cli.diagnose import diagnose
from simpgcn.cli.report import report
from simpgcn.cli.runs import predict, train
from simpgcn.cli.studies import compare, reproduce, tune
from simpgcn.errors import SimPGCNError
from simpgcn.version import VERSION

app = typer.Typer(
    help="Node-similarity-preserving graph convolutional networks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
# In the order of the help.
for _command in (train, predict, report, diagnose, compare, tune, reproduce, attack, robustness, bench, datasets):
    app.command()(_command)


def _version(wanted: bool) -> None:
    if wanted:
        print(VERSION)
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; what a user can put right ends in one sentence and exit code 2."""
    try:
        app()
    except SimPGCNError as error:
        print(f"simpgcn: {error}", file=sys.stderr)
        sys.exit(2)
    except (MemoryError, torch.OutOfMemoryError):
        print("simpgcn: there is not enough memory: try a smaller model or graph", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        print(f"simpgcn: {error.strerror or error}{where}", file=sys.stderr)
        sys.exit(2)
