"""A finished run as a report reads it: its folder's files, its graph, and the look-alikes of its nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import torch
from torch_geometric.data import Data

from simpgcn import runs
from simpgcn.config import Config
from simpgcn.errors import SimPGCNError
from simpgcn.report.surroundings import Surrounding, surrounding
from simpgcn.training import Epoch, feature_graph, pretext_pairs
from simpgcn.training.problem import on_device

SOURCES = ("graph", "look_alikes", "itself")


class RunRecord(NamedTuple):
    """What a report is made from; node by node, ``leans`` and ``scores`` only for models that weigh their sources.

    ``predicted`` are class numbers ``[n]``, ``probabilities`` ``[n, classes]``, ``leans`` ``[n, 3]`` in the order of
    :data:`SOURCES` (shares that sum to one), ``scores`` ``[n, layers, 3]``. On a directed graph, a
    node's neighbours are those it points to, as the models read it. ``data`` has its feature graph.
    """

    name: str
    config: Config
    metrics: dict[str, Any]
    history: list[Epoch]
    data: Data
    predicted: np.ndarray
    probabilities: np.ndarray
    leans: np.ndarray | None
    scores: np.ndarray | None
    neighbours: Surrounding
    look_alikes: Surrounding

    @property
    def num_nodes(self) -> int:
        """How many nodes the graph has."""
        return len(self.probabilities)

    @property
    def labels(self) -> np.ndarray:
        """The class of every node, -1 where it is unknown."""
        labels: np.ndarray = self.data.y.numpy()
        return labels

    @property
    def test(self) -> np.ndarray:
        """The numbers of the test nodes."""
        return np.flatnonzero(self.data.test_mask.numpy() & (self.labels >= 0))

    @property
    def class_names(self) -> list[str]:
        """What the classes are called: the user's values, or by their numbers."""
        known = self.data.get("class_names")
        return [str(name) for name in known] if known else [f"class {c}" for c in range(self.probabilities.shape[1])]

    @property
    def node_ids(self) -> pa.Array | None:
        """The user's ids; None where nodes go by their number."""
        return self.data.get("node_ids")


def read_run(folder: Path, *, cache: bool = True) -> RunRecord:
    """Read a finished run and find its nodes' look-alikes again, as it was trained with them."""
    metrics = runs.read_metrics(folder)
    config = runs.read_config(folder)
    table = _predictions(folder)
    data = with_look_alikes(runs.run_graph(folder), config, cache=cache and runs.search_cache(folder))
    if data.num_nodes != table.num_rows:
        raise SimPGCNError(
            f"{folder}/predictions.parquet has {table.num_rows} nodes, but the graph of the run {data.num_nodes}: "
            "the data has changed since; train anew"
        )
    probabilities = [name for name in table.column_names if name.startswith("probability_")]
    leans = [f"leans_on_{source}" for source in SOURCES]
    scores = [name for name in table.column_names if name.startswith("trust_")]
    by_layer = _matrix(table, scores)
    return RunRecord(
        name=folder.resolve().name,
        config=config,
        metrics=metrics,
        history=runs.read_history(folder),
        data=data,
        predicted=_class_numbers(table, data),
        probabilities=_matrix(table, probabilities),
        leans=_matrix(table, leans) if set(leans) <= set(table.column_names) else None,
        scores=by_layer.reshape(len(by_layer), -1, 3) if scores else None,
        neighbours=surrounding(data.edge_index, data.get("edge_weight"), data.num_nodes),
        look_alikes=surrounding(data.feature_edge_index, data.feature_edge_weight, data.num_nodes),
    )


def with_look_alikes(data: Data, config: Config, *, cache: bool | Path = True) -> Data:
    """A graph with the feature graph of a configuration, answered from the cache where the training searched before.

    >>> from simpgcn.data import load_dataset
    >>> with_look_alikes(load_dataset("demo"), Config(), cache=False).feature_edge_index.shape
    torch.Size([2, 40000])
    """
    data = on_device(data, torch.device("cpu"))
    k = min(config.similarity.k, data.x.size(0) - 1)
    return feature_graph(config, k, pairs=pretext_pairs(config), cache=cache)(data)


def _predictions(folder: Path) -> pa.Table:
    path = folder / "predictions.parquet"
    if not path.is_file():
        raise SimPGCNError(f"{path} is missing: the run is damaged; train anew")
    try:
        return pyarrow.parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise SimPGCNError(f"{path} is damaged ({error}): train anew") from error


def _class_numbers(table: pa.Table, data: Data) -> np.ndarray:
    """What was predicted, from the user's words back to the numbers of the classes."""
    names = data.get("class_names")
    if names is None:
        return table.column("predicted").to_numpy()
    return pc.index_in(table.column("predicted").combine_chunks(), pa.array(names)).to_numpy()


def _matrix(table: pa.Table, columns: list[str]) -> np.ndarray:
    if not columns:
        return np.empty((table.num_rows, 0), dtype=np.float32)
    return np.stack([table.column(name).to_numpy() for name in columns], axis=1)
