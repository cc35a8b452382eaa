"""What a usable graph is."""

from __future__ import annotations

from typing import Literal

import torch
from torch_geometric.data import Data

from simpgcn.data.features import as_csr, is_sparse, stored_values
from simpgcn.errors import SimPGCNError

_PARTS = {"train_mask": "training", "val_mask": "validation", "test_mask": "test"}


def check_graph(data: Data, num_nodes: int | None = None) -> None:
    """Raise unless ``data`` has finite features and edges between nodes that exist.

    Edges may name ``num_nodes`` nodes; as many as there are rows of features if left out.

    >>> check_graph(Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [5]])))
    Traceback (most recent call last):
        ...
    simpgcn.errors.SimPGCNError: edge 0 goes from node 0 to node 5, but the nodes are 0 to 1: drop it or add the node
    """
    x = data.get("x")
    if x is not None and not isinstance(x, torch.Tensor):
        raise SimPGCNError(f"data.x must be a torch tensor, not {type(x).__name__}: use torch.from_numpy or the like")
    if x is None or x.dim() != 2 or x.size(1) == 0:
        raise SimPGCNError("the graph has no features: data.x must hold one row per node and at least one column")
    if x.size(0) == 0:
        raise SimPGCNError("the graph has no nodes: data.x has no rows")
    values = stored_values(as_csr(x) if is_sparse(x) else x)
    if not bool(torch.isfinite(values.to(torch.float32)).all()):
        where = "" if is_sparse(x) else f", first in node {int((~torch.isfinite(x.float())).any(1).nonzero()[0])}"
        raise SimPGCNError(f"the features hold NaN or infinite values{where}: fill or drop them first")
    index = data.get("edge_index")
    if index is None or index.dim() != 2 or index.size(0) != 2 or index.dtype != torch.long:
        raise SimPGCNError("the graph has no edges: data.edge_index must be a [2, e] tensor of node numbers (long)")
    num_nodes = x.size(0) if num_nodes is None else num_nodes
    bad = ((index < 0) | (index >= num_nodes)).any(dim=0).nonzero().flatten()
    if bad.numel():
        edge = int(bad[0])
        raise SimPGCNError(
            f"edge {edge} goes from node {int(index[0, edge])} to node {int(index[1, edge])}, but the nodes are "
            f"0 to {num_nodes - 1}: drop it or add the node"
        )
    weight = data.get("edge_weight")
    if weight is not None:
        if weight.dim() != 1 or weight.numel() != index.size(1):
            raise SimPGCNError(f"data.edge_weight must hold one number for each of the {index.size(1)} edges")
        if not bool(((weight >= 0) & torch.isfinite(weight)).all()):
            raise SimPGCNError("data.edge_weight holds negative, NaN or infinite weights: they must be 0 or more")


def check_labels(data: Data, absent_classes: Literal["error", "allow"] = "error") -> None:
    """Raise unless ``data`` has labels and a non-empty, disjoint training, validation and test set.

    Args:
        data: The graph. A negative label means unlabelled.
        absent_classes: ``allow`` lets a class be missing from training, as in some published splits.

    >>> check_labels(Data(x=torch.ones(2, 1)))
    Traceback (most recent call last):
        ...
    simpgcn.errors.SimPGCNError: the graph has no labels: data.y must hold a class number per node (-1 for unknown)
    """
    y = data.get("y")
    if y is None:
        raise SimPGCNError("the graph has no labels: data.y must hold a class number per node (-1 for unknown)")
    if y.dim() != 1 or y.numel() != data.x.size(0) or y.dtype != torch.long:
        raise SimPGCNError(
            f"data.y must hold one class number (torch.long) for each of the {data.x.size(0)} nodes, not "
            f"{y.dtype} of shape {tuple(y.shape)}"
        )
    taken = torch.zeros(y.numel(), dtype=torch.long)
    for name, part in _PARTS.items():
        mask = data.get(name)
        if name == "test_mask" and mask is None:
            continue  # nothing to report, but nothing in the way of training
        if mask is None or mask.shape != y.shape or mask.dtype != torch.bool:
            raise SimPGCNError(f"the graph has no {part} set: data.{name} must be one boolean per node")
        if not bool(mask.any()):
            raise SimPGCNError(f"the {part} set is empty: data.{name} must select at least one node")
        if bool((y[mask] < 0).any()):
            node = int((mask & (y < 0)).nonzero()[0])
            raise SimPGCNError(f"node {node} of the {part} set has no label: take it out of data.{name}")
        taken += mask.long().cpu()
    if bool((taken > 1).any()):
        node = int((taken > 1).nonzero()[0])
        raise SimPGCNError(f"node {node} is in more than one of the training, validation and test sets")
    trained = set(y[data.train_mask].unique().tolist())
    absent = sorted(set(y[y >= 0].unique().tolist()) - trained)
    if absent and absent_classes != "allow":
        raise SimPGCNError(
            f"class {', '.join(map(str, absent))} has no node in the training set: choose another split, or set "
            "data.absent_classes=allow to train without it"
        )
