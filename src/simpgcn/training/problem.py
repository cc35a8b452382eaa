"""From a graph and a configuration to the constants of a training: computed once, before the first epoch."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch_geometric.data import Data

from simpgcn.config import Config
from simpgcn.data.catalog import load_dataset
from simpgcn.data.checks import check_graph, check_labels
from simpgcn.data.features import as_csr, is_sparse, row_normalize, stored_values, with_values
from simpgcn.data.ogb_folder import is_ogb_folder, load_ogb_folder
from simpgcn.data.tables import is_table_path, load_tables
from simpgcn.errors import SimPGCNError
from simpgcn.nn.registry import find_method
from simpgcn.similarity import FeatureGraph, Pairs
from simpgcn.training.objective import Labels, Seen


class Problem(NamedTuple):
    """What training reads and never changes. The test set is not in it: ``inputs`` are the model's arguments.

    Evaluation sees the labelled nodes alone and a training step only those of the training set: ``evaluation`` and
    ``training`` are the arguments that give no more than that, and its labels, where they are less work.
    """

    inputs: tuple[Any, ...]
    pairs: Pairs | None
    labels: Labels
    num_train: int
    num_val: int
    num_features: int
    num_classes: int
    similarity_seconds: float
    evaluation: Seen | None = None
    training: Seen | None = None


def load_graph(config: Config) -> Data:
    """The graph of a configuration, with the masks of its split: of the catalogue, a graph file, or a user's tables.

    >>> load_graph(Config()).num_nodes
    2000
    """
    settings = config.data
    if settings.name is None:
        raise SimPGCNError("data.name must name a dataset")
    if is_table_path(settings.name):
        tables = config.tables
        return load_tables(
            settings.name,
            tables.edges,
            tables.label,
            id=tables.id,
            features=None if tables.features is None else [name.strip() for name in tables.features.split(",")],
            weights=tables.weights,
            directed=settings.directed,
            split=settings.split,
            split_kind=settings.split_kind or "random",
        )
    if is_ogb_folder(settings.name):
        return load_ogb_folder(
            settings.name, directed=settings.directed, split=settings.split, split_kind=settings.split_kind
        )
    if given := [name for name, value in vars(config.tables).items() if value is not None]:
        raise SimPGCNError(
            f"tables.{given[0]} is for a table of nodes, but data.name is {settings.name!r}: give one with --nodes"
        )
    return load_dataset(settings.name, split=settings.split, split_kind=settings.split_kind, directed=settings.directed)


def find_device(name: str) -> torch.device:
    """The device called ``name``; ``auto`` is CUDA where there is one.

    >>> find_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise SimPGCNError(f"unknown device {name!r}: use auto, cpu, cuda or cuda:N") from error
    if device.type not in ("cpu", "cuda"):
        raise SimPGCNError(f"the device {name!r} is not supported: use auto, cpu, cuda or cuda:N")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise SimPGCNError("CUDA was asked for, but torch finds no CUDA device: use --device cpu or auto")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise SimPGCNError(f"{name} was asked for, but there are {torch.cuda.device_count()} CUDA devices")
    return device


def model_inputs(
    data: Data,
    config: Config,
    device: torch.device,
    *,
    pairs: int = 0,
    cap_k: bool = False,
    cache: bool | Path = True,
    on_progress: Callable[[float], None] | None = None,
) -> tuple[tuple[Any, ...], Data]:
    """The model's arguments for a graph, and the graph with its feature graph of these very features.

    With ``cap_k``, a graph smaller than the one trained on has as many look-alikes as it can.
    """
    data = with_feature_graph(data, config, device, pairs=pairs, cap_k=cap_k, cache=cache, on_progress=on_progress)
    data.x = row_normalize(data.x, config.data.normalize_features)
    return find_method(config.model_name).inputs(data, config.model), data


def with_feature_graph(
    data: Data,
    config: Config,
    device: torch.device,
    *,
    pairs: int = 0,
    cap_k: bool = False,
    cache: bool | Path = True,
    on_progress: Callable[[float], None] | None = None,
) -> Data:
    """A copy of the graph on a device, checked, with its feature graph if the model has use for one."""
    check_graph(data)
    data = on_device(data, device)
    if find_method(config.model_name).feature_graph:
        k = min(config.similarity.k, data.x.size(0) - 1) if cap_k else config.similarity.k
        data = feature_graph(config, k, pairs=pairs, cache=cache, on_progress=on_progress)(data)
    return data


def copy_search(data: Data, config: Config, to: Path) -> None:
    """Give a folder of its own the search that :func:`prepare` left in the cache; a ``cache`` for what comes later."""
    if find_method(config.model_name).feature_graph:
        feature_graph(config, pairs=pretext_pairs(config)).copy_search(data, to)


def feature_graph(config: Config, k: int | None = None, **options: Any) -> FeatureGraph:
    """The transform that a configuration asks for; of ``k`` neighbours, where it must be others than its own.

    >>> feature_graph(Config(), pairs=5)
    FeatureGraph(k=20, pairs=5, binarize='auto')
    """
    own = config.similarity
    k = own.k if k is None else k
    return FeatureGraph(k, binarize=own.binarize, seed=own.seed, far_ties=own.far_ties, **options)


def on_device(data: Data, device: torch.device) -> Data:
    """A copy of the graph whose features, edges and weights are on a device, in the types that models read."""
    data = copy.copy(data)
    x = as_csr(data.x) if is_sparse(data.x) else data.x
    data.x = with_values(x, stored_values(x).to(torch.float32)).to(device)
    data.edge_index = data.edge_index.to(device)
    if data.get("edge_weight") is not None:
        data.edge_weight = data.edge_weight.to(device, torch.float32)
    data.num_nodes = x.size(0)
    return data


def pretext_pairs(config: Config) -> int:
    """How many most and least similar nodes per node the pretext task of a configuration asks for.

    >>> pretext_pairs(Config()), pretext_pairs(Config().replace({"model": {"pretext_weight": 0}}))
    (5, 0)
    """
    return config.model.pretext_neighbors if getattr(config.model, "pretext_weight", 0) else 0


def prepare(
    data: Data,
    config: Config,
    *,
    cache: bool | Path = True,
    on_progress: Callable[[float], None] | None = None,
) -> Problem:
    """Check the graph, find its look-alikes and normalise its matrices.

    >>> from simpgcn.data import load_dataset
    >>> problem = prepare(load_dataset("demo"), Config(), cache=False)
    >>> problem.num_classes, problem.pairs.nodes.size(0), problem.inputs[1]
    (5, 2, SparseMatrix(2000, 2000, nnz=22000))
    """
    check_graph(data)
    check_labels(data, config.data.absent_classes)
    device = find_device(config.training.device)
    start = time.perf_counter()
    wanted = pretext_pairs(config)
    inputs, data = model_inputs(data, config, device, pairs=wanted, cache=cache, on_progress=on_progress)
    seconds = time.perf_counter() - start
    labels = _labels(data, device)
    return Problem(
        inputs=inputs,
        pairs=Pairs(data.pair_index, data.pair_similarity, data.pair_similar) if wanted else None,
        labels=labels,
        num_train=int(data.train_mask.sum()),
        num_val=int(data.val_mask.sum()),
        num_features=data.x.size(1),
        num_classes=int(data.y.max()) + 1,
        similarity_seconds=seconds,
        evaluation=_within_reach(inputs, labels, config),
        training=_within_reach(inputs, _training_part(labels), config),
    )


def with_split(problem: Problem, data: Data, config: Config) -> Problem:
    """The same problem with another split of the same graph: what does not depend on it is shared.

    >>> from simpgcn.data import load_dataset
    >>> problem = prepare(load_dataset("demo"), Config(), cache=False)
    >>> other = with_split(problem, load_dataset("demo", split=1), Config())
    >>> other.inputs is problem.inputs, other.labels.nodes.equal(problem.labels.nodes)
    (True, False)
    """
    check_labels(data, config.data.absent_classes)
    labels = _labels(data, problem.labels.nodes.device)
    return problem._replace(
        labels=labels,
        num_train=int(data.train_mask.sum()),
        num_val=int(data.val_mask.sum()),
        evaluation=_within_reach(problem.inputs, labels, config),
        training=_within_reach(problem.inputs, _training_part(labels), config),
    )


def _within_reach(inputs: tuple[Any, ...], labels: Labels, config: Config) -> Seen | None:
    """What decides the logits of these labelled nodes, where that is less than the whole."""
    reach = find_method(config.model_name).reach
    within = None if reach is None else reach(inputs, labels.nodes, config.model)
    if within is None:
        return None
    return Seen(within, labels._replace(nodes=torch.arange(len(labels.y), device=labels.y.device)))


def _training_part(labels: Labels) -> Labels:
    train = labels.train > 0
    return Labels(*(column[train] for column in labels))


def _labels(data: Data, device: torch.device) -> Labels:
    seen = data.train_mask | data.val_mask
    counts = (mask[seen].float() / max(1, int(mask.sum())) for mask in (data.train_mask, data.val_mask))
    return Labels(*(column.to(device) for column in (seen.nonzero().squeeze(1), data.y[seen], *counts)))
