"""What SimP-GCN's nodes learned to weigh: the score s and the self-loops γK of each layer, as a run kept them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow.parquet

from simpgcn.errors import SimPGCNError

Of = Literal["structure", "self"]
At = Literal["lowest", "highest", "mean"]


def node_scores(folder: Path, of: Of, layer: int) -> np.ndarray:
    """Every node's s (``structure``) or γK (``self``) in a layer, counted from 1, of a finished run."""
    path = folder / "predictions.parquet"
    if not path.is_file():
        raise SimPGCNError(f"{path} is missing: the run is damaged; remove {folder} and give the command again")
    column = f"trust_{of}_{layer}"
    values: np.ndarray = pyarrow.parquet.read_table(path, columns=[column]).column(column).to_numpy()
    return values


def run_score(folder: Path, of: Of, layer: int, at: At) -> float:
    """The ``lowest``, the ``highest`` or the ``mean`` of the nodes' scores."""
    values = node_scores(folder, of, layer)
    return float({"lowest": values.min(), "highest": values.max(), "mean": values.mean()}[at])
