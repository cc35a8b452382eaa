from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

if not Path("/dev/nvidiactl").exists():
    os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported, which importing torch may do

from torch_geometric.data import Data

from simpgcn import cli
from simpgcn.data import apply_split, synthetic_graph

MIRROR = os.environ.get("SIMPGCN_DATA_MIRROR")


@pytest.fixture(autouse=True, scope="session")
def _own_data_home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test reads or writes the user's data home."""
    os.environ["SIMPGCN_DATA"] = str(tmp_path_factory.mktemp("data-home"))


@pytest.fixture
def mirror() -> Path:
    if not MIRROR or not Path(MIRROR).is_dir():
        pytest.skip("needs the benchmark data: set SIMPGCN_DATA_MIRROR")
    return Path(MIRROR)


@pytest.fixture
def small() -> Data:
    """A graph of 120 nodes that trains in a blink."""
    data = synthetic_graph(120, 3, homophily=0.3, average_degree=4, num_features=60, signal=0.5, seed=1)
    return apply_split(data, "small", "random", 0)


@pytest.fixture
def simpgcn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run a command in an empty folder; returns (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["simpgcn", *map(str, arguments)])
        code: int = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, *capsys.readouterr()

    return run
