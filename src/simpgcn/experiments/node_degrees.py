"""How well a run did on nodes of few links and of many."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet
from torch_geometric.utils import degree

from simpgcn.config import Config, DataSettings
from simpgcn.errors import SimPGCNError
from simpgcn.training import load_graph


def degree_accuracy(folder: Path, config: Config, low: int, high: int | None) -> float | None:
    """The accuracy (%) of a finished run on its test nodes with ``low`` to ``high`` links; None if there are none."""
    path = folder / "predictions.parquet"
    if not path.is_file():
        raise SimPGCNError(f"{path} is missing: the run is damaged; remove {folder} and give the command again")
    table = pyarrow.parquet.read_table(path, columns=["label", "predicted"])
    chosen = nodes_to_test(config.data, low, high)
    hit = table.column("predicted").to_numpy()[chosen] == table.column("label").to_numpy()[chosen]
    return float(100 * hit.mean()) if len(hit) else None


@cache
def nodes_to_test(settings: DataSettings, low: int, high: int | None) -> np.ndarray:
    """The numbers of the test nodes with ``low`` to ``high`` links, as the models see them.

    >>> len(nodes_to_test(DataSettings(), 0, None))
    400
    """
    data = load_graph(Config(data=settings))
    links = degree(data.edge_index[0], data.num_nodes)
    inside = data.test_mask & (links >= low) & (links <= (data.num_edges if high is None else high))
    nodes: np.ndarray = inside.nonzero().squeeze(1).numpy()
    return nodes
