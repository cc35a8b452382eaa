r"""Predictions for nodes that were not there in training: nothing is trained again, known nodes do not hear of them.

A new node is a further row of both propagation matrices. In the given graph it takes from the nodes it links to, known
or new; in the feature graph from its look-alikes, which are searched among the known nodes only. No known node takes
from a new one, and since degrees are sums of rows, the known nodes' rows of both matrices,

.. math:: \frac{\mathbf{A}_{ij}}{\sqrt{d_i d_j}}, \qquad d_i = \sum_j \mathbf{A}_{ij},

stay what they were, as do their hidden states and predictions. A new node's own degree is the sum of its own row.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from simpgcn.config import Config
from simpgcn.data.checks import check_graph
from simpgcn.data.features import binarize, binarize_choice, compact, normalize_choice, row_normalize, stack_rows
from simpgcn.errors import SimPGCNError
from simpgcn.nn.registry import METHODS, find_method
from simpgcn.similarity import feature_edges, nearest_neighbors
from simpgcn.training.prediction import Prediction, predict
from simpgcn.training.problem import on_device, pretext_pairs, with_feature_graph


def predict_new_nodes(
    model: nn.Module,
    known: Data,
    new: Data,
    config: Config,
    device: torch.device,
    *,
    temperature: float = 1.0,
    cache: bool | Path = True,
    on_progress: Callable[[float], None] | None = None,
) -> Prediction:
    """What a trained model says of the nodes of ``new``, a row for each of them.

    Args:
        model: The model, on ``device``.
        known: The graph it was trained on.
        new: ``x`` and ``edge_index``, optionally ``edge_weight``. The new nodes' numbers go on from those of the known
            ones, and an edge (i, j) lets i take from j: an undirected one is there both ways, as usual in PyG. Edges
            from known nodes are left out.
        config: The configuration it was trained with.
        device: Where to compute.
        temperature: That of the probabilities.
        cache: Keep the search for the known nodes' look-alikes on disk, as training does; a folder, or True for the
            data home's.
        on_progress: Called with the share of known nodes whose look-alikes are found, where they are searched again.
    """
    graph = with_new_nodes(known, new, config, device, cache=cache, on_progress=on_progress)
    inputs = find_method(config.model_name).inputs(graph, config.model)
    found = predict(model, inputs, temperature)
    n = known.x.size(0)
    return found._replace(logits=found.logits[n:], trust=None if found.trust is None else found.trust[n:])


def with_new_nodes(
    known: Data,
    new: Data,
    config: Config,
    device: torch.device,
    *,
    cache: bool | Path = True,
    on_progress: Callable[[float], None] | None = None,
) -> Data:
    """The known graph with the new nodes after its own, ready for a model's ``inputs``.

    What is ``auto`` in the configuration is decided by the known nodes alone.

    >>> from simpgcn.data import load_dataset
    >>> demo = load_dataset("demo")
    >>> new = Data(x=demo.x.to_dense()[:1], edge_index=torch.tensor([[2000, 7], [7, 2000]]))
    >>> graph = with_new_nodes(demo, new, Config(), torch.device("cpu"), cache=False)
    >>> graph.num_nodes, graph.edge_index[:, -1].tolist()
    (2001, [2000, 7])
    """
    method = find_method(config.model_name)
    if not method.new_nodes:
        able = ", ".join(name for name, other in METHODS.items() if other.new_nodes)
        raise SimPGCNError(f"{config.model_name} cannot predict for new nodes without training anew; these can: {able}")
    n = known.x.size(0)
    _check_new(known, new)
    pairs = pretext_pairs(config)
    # The same question as in training, whose answer may still be in the cache.
    graph = with_feature_graph(
        known, config, device, pairs=pairs if pairs < n else 0, cap_k=True, cache=cache, on_progress=on_progress
    )
    own = on_device(new, device)
    extended = Data(x=stack_rows(graph.x, own.x), num_nodes=n + own.x.size(0))
    extended.edge_index, extended.edge_weight = _with_rows(graph, own, n)
    if method.feature_graph:
        choice = binarize_choice(graph.x, config.similarity.binarize)
        stored, rows = (binarize(compact(x), choice) for x in (graph.x, own.x))
        k = min(config.similarity.k, n)
        index, weight = feature_edges(nearest_neighbors(rows, k, seed=config.similarity.seed, among=stored))
        index = torch.stack([index[0] + n, index[1]])
        extended.feature_edge_index = torch.cat([graph.feature_edge_index, index], dim=1)
        extended.feature_edge_weight = torch.cat([graph.feature_edge_weight, weight])
    extended.x = row_normalize(extended.x, normalize_choice(graph.x, config.data.normalize_features))
    return extended


def _check_new(known: Data, new: Data) -> None:
    if new.get("x") is None or new.x.dim() != 2 or new.x.size(0) == 0:
        raise SimPGCNError("there are no new nodes: new.x must hold one row of features for each of them")
    if new.x.size(1) != known.x.size(1):
        raise SimPGCNError(f"the new nodes have {new.x.size(1)} features, but the known ones have {known.x.size(1)}")
    check_graph(new, num_nodes=known.x.size(0) + new.x.size(0))


def _with_rows(graph: Data, own: Data, n: int) -> tuple[Tensor, Tensor | None]:
    """The known graph's edges and, after them, those from the new nodes."""
    kept = own.edge_index[0] >= n
    index = torch.cat([graph.edge_index, own.edge_index[:, kept]], dim=1)
    weights = graph.get("edge_weight"), own.get("edge_weight")
    if weights == (None, None):
        return index, None
    known_weight, own_weight = (
        torch.ones(part.edge_index.size(1), device=index.device) if weight is None else weight
        for part, weight in zip((graph, own), weights, strict=True)
    )
    return index, torch.cat([known_weight, own_weight[kept]])
