"""The overlap of three graphs: the given one, and the nearest neighbours by features and by hidden states."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from simpgcn import runs
from simpgcn.config import Config, DataSettings
from simpgcn.data import load_dataset
from simpgcn.nn import SimPGCN
from simpgcn.similarity import nearest_neighbors, overlap
from simpgcn.similarity.ties import ranked
from simpgcn.training import load_graph, model_inputs

Metric = Literal["euclidean", "cosine"]
# How many rows' distances are held at once, few enough for a cache, and what of the lengths' sum is rounding alone.
ROWS, ROUNDING = 64, 1e-12


def neighbor_graph(x: Tensor, k: int, metric: Metric) -> Tensor:
    """The directed edges ``[2, n·k]`` from each row to its ``k`` nearest.

    Of rows at the same Euclidean distance the first count, on every machine; those with the same cosine are drawn.

    >>> neighbor_graph(torch.tensor([[0.0], [1.0], [5.0]]), 1, "euclidean")
    tensor([[0, 1, 2],
            [1, 0, 1]])
    """
    near = nearest_neighbors(x, k).near if metric == "cosine" else _nearest_by_distance(x.to_dense().double(), k)
    return torch.stack([torch.arange(len(near)).repeat_interleave(k), near.flatten()])


def _nearest_by_distance(x: Tensor, k: int) -> Tensor:
    """The ``k`` nearest of each row ``[n, k]``, by squared distances rounded to float32."""
    length = x.square().sum(1)
    found = []
    for rows in torch.arange(len(x)).split(ROWS):
        both = length[rows, None] + length
        squared = torch.addmm(both, x[rows], x.T, alpha=-2)
        squared = squared.masked_fill_(squared <= both.mul_(ROUNDING), 0).float()
        squared[torch.arange(len(rows)), rows] = torch.inf
        found.append(ranked(squared, torch.arange(len(x)), largest=False).topk(k, largest=False).indices)
    return torch.cat(found)


def hidden_states(model: nn.Module, inputs: tuple[object, ...]) -> Tensor:
    """What the last layer of a trained GCN or SimP-GCN reads, ``[n, hidden_channels]``."""
    model.eval()
    with torch.no_grad():
        if isinstance(model, SimPGCN):
            return model.states(*inputs)[-2].hidden
        seen: list[Tensor] = []
        last: nn.Module = model.convs[-1]  # type: ignore[index, assignment]
        hook = last.register_forward_pre_hook(lambda module, arguments: seen.append(arguments[0]))
        try:
            model(*inputs)
        finally:
            hook.remove()
        return seen[0]


def run_overlap(folder: Path, config: Config, between: list[str], k: int, metric: Metric) -> float:
    """OL of two of ``original``, ``features`` and ``hidden``, in percent, for one finished run."""
    first, second = (_graph(name, folder, config, k, metric) for name in between)
    return 100 * overlap(first, second)


def _graph(name: str, folder: Path, config: Config, k: int, metric: Metric) -> Tensor:
    if name == "hidden":
        return _hidden_graph(folder, config, k, metric)
    if name == "features":
        return _feature_graph(config.data.name or "", k, metric)
    return _original(config.data)


# A run's graphs are asked for by several rows of a table.
@cache
def _hidden_graph(folder: Path, config: Config, k: int, metric: Metric) -> Tensor:
    model = runs.read_model(folder, config).model
    inputs, _ = model_inputs(load_graph(config), config, torch.device("cpu"))
    return neighbor_graph(hidden_states(model, inputs), k, metric)


@cache
def _feature_graph(dataset: str, k: int, metric: Metric) -> Tensor:
    return neighbor_graph(load_dataset(dataset).x, k, metric)


@cache
def _original(settings: DataSettings) -> Tensor:
    return load_graph(Config(data=settings)).edge_index
