r"""Geom-GCN's structural neighbourhood: whom a node hears, and from which direction.

A node hears its neighbours in the graph, and the nodes near it where the graph is laid out in the plane. Each pair
is in one of four relations: the one that hears is to the lower left, upper left, lower right or upper right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from scipy.spatial import cKDTree
from torch import Tensor
from torch_geometric.utils import coalesce, remove_self_loops, to_undirected

from simpgcn.data.home import data_home
from simpgcn.data.raw_files import checksums, find_raw
from simpgcn.errors import SimPGCNError
from simpgcn.files import replacing
from simpgcn.nn.baselines.plane_embedding import Embedding, plane_embedding

# Part of every address in the cache: raise it when an embedding or a rule below changes.
VERSION = 1
NUM_RELATIONS = 4

_PUBLISHED_METHOD: dict[str, str] = {"isomap": "MDS", "poincare": "poincare", "struc2vec": "struc2vec"}
_PUBLISHED_GRAPH = {"actor": "film"}


class StructuralNeighborhood(NamedTuple):
    """Who speaks to whom, and as what.

    ``edge_index`` ``[2, e]`` leads from the neighbour to the node that hears it, each pair at most once;
    ``relation`` ``[e]`` is 0 to 3 for neighbours in the graph and 4 to 7 for neighbours in the plane.
    """

    edge_index: Tensor
    relation: Tensor


def structural_neighborhood(
    edge_index: Tensor, num_nodes: int, embedding: Embedding, seed: int = 0, *, folder: Path | None = None
) -> StructuralNeighborhood:
    r"""The neighbourhood computed from a layout of the graph, answered from disk where it was computed before.

    A node's neighbours in the plane are those within :math:`\rho`, the distance at which nodes have as many
    neighbours in the plane as in the graph on average. A pair that are neighbours in both is one in the plane.
    Directions of edges and self-loops are ignored.

    Args:
        edge_index: The edges ``[2, e]``.
        num_nodes: Number of nodes.
        embedding: How the graph is laid out; see :mod:`simpgcn.nn.baselines.plane_embedding`.
        seed: Of the layout.
        folder: Where answers are kept; the data home's ``structural`` folder if left out.

    >>> import tempfile
    >>> path = torch.tensor([[0, 1, 2], [1, 2, 3]])
    >>> found = structural_neighborhood(path, 4, "isomap", folder=Path(tempfile.mkdtemp()))
    >>> found.edge_index.shape, sorted(set((found.relation // 4).tolist()))
    (torch.Size([2, 6]), [1])
    """
    edge_index = to_undirected(remove_self_loops(edge_index.cpu())[0], num_nodes=num_nodes)
    digest = hashlib.sha256(f"{VERSION} {embedding} {seed} {num_nodes} {edge_index.dtype}".encode())
    digest.update(edge_index.contiguous().numpy().view("uint8").data)
    folder = data_home() / "structural" if folder is None else folder
    path = folder / f"{digest.hexdigest()}.safetensors"
    try:
        return StructuralNeighborhood(**safetensors.torch.load_file(path))
    except (OSError, SafetensorError, TypeError):
        pass  # not there, or damaged: compute, and write it anew
    found = _compute(edge_index, num_nodes, embedding, seed)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(path) as draft:
            safetensors.torch.save_file(found._asdict(), draft)
    except OSError:
        pass  # a full or read-only disk costs the next run its time, not this one its result
    return found


def published_neighborhood(name: str, embedding: Embedding) -> StructuralNeighborhood:
    """The neighbourhood that Geom-GCN's authors published for the dataset ``name``, from the home or the mirror."""
    graph = _PUBLISHED_GRAPH.get(name, name)
    file = f"outf_nodes_space_relation_{graph}_{_PUBLISHED_METHOD[embedding]}.txt"
    relative = f"geom-gcn/structural_neighborhood/{file}"
    if relative not in checksums():
        raise SimPGCNError(
            f"there is no published {embedding} neighbourhood of {name}: set model.neighborhood to computed"
        )
    return _parse(find_raw(relative))


def plane_neighbors(position: np.ndarray, count: int, *, hyperbolic: bool = False) -> np.ndarray:
    """The ``count`` nearest ordered pairs of points, as ``[2, pairs]``: all those within one distance of another.

    Points are in the plane, or with ``hyperbolic`` in the Poincaré disc with its distance. Points at exactly the
    same distance come together or not at all, so that fewer than ``count`` pairs may be found.

    >>> plane_neighbors(np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0]]), 2).tolist()
    [[0, 1], [1, 0]]
    """
    tree = cKDTree(position)
    n = len(position)
    ball = _hyperbolic_ball if hyperbolic else _euclidean_ball

    def pairs_within(distance: float) -> int:
        return int(tree.query_ball_point(*ball(position, distance), return_length=True).sum()) - n

    distance = _largest(pairs_within, min(count, n * (n - 1)))
    found = tree.query_ball_point(*ball(position, distance), return_sorted=True)
    node = np.repeat(np.arange(n), [len(near) for near in found])
    index = np.stack([node, np.concatenate(list(found)).astype(np.int64)])
    return index[:, index[0] != index[1]]


def relations(position: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The relation of each pair of ``index`` ``[2, e]``: 0 lower left, 1 upper left, 2 lower right, 3 upper right.

    It says where the second node is, seen from the first.

    >>> relations(np.array([[0.0, 0.0], [-1.0, -1.0], [2.0, 2.0]]), np.array([[0, 0, 1], [1, 2, 0]]))
    array([0, 3, 3])
    """
    offset = position[index[0]] - position[index[1]]
    return np.where(offset[:, 0] > 0, 0, 2) + np.where(offset[:, 1] > 0, 0, 1)


def _compute(edge_index: Tensor, num_nodes: int, embedding: Embedding, seed: int) -> StructuralNeighborhood:
    position = plane_embedding(edge_index, num_nodes, embedding, seed)
    graph = edge_index.numpy()
    near = plane_neighbors(position, graph.shape[1], hyperbolic=embedding == "poincare")
    return _merged(
        torch.from_numpy(np.concatenate([graph, near], axis=1)),
        torch.from_numpy(np.concatenate([relations(position, graph), NUM_RELATIONS + relations(position, near)])),
    )


def _merged(edge_index: Tensor, relation: Tensor) -> StructuralNeighborhood:
    """Each pair once: the published code, too, lets the plane take precedence over the graph."""
    return StructuralNeighborhood(*coalesce(edge_index, relation, reduce="max"))


def _parse(path: Path) -> StructuralNeighborhood:
    spaces = {"graph": 0, "latent_space": NUM_RELATIONS}
    try:
        lines = path.read_text().splitlines()[1:]
        rows = [line.replace(",", "\t").split("\t") for line in lines]
        pairs = torch.tensor([[int(row[0]), int(row[1])] for row in rows]).t()
        relation = torch.tensor([spaces[row[2]] + int(row[3]) for row in rows])
    except (KeyError, IndexError, ValueError, UnicodeDecodeError) as error:
        raise SimPGCNError(f"the file {path} is not a structural neighbourhood of Geom-GCN: replace it") from error
    return _merged(pairs, relation)


def _largest(count: Callable[[float], int], wanted: int) -> float:
    """The largest distance whose ``count`` is at most ``wanted``, by doubling and bisection."""
    low, high = 0.0, 1e-9
    while count(high) < wanted:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        found = count(middle)
        if found == wanted:
            return middle
        low, high = (middle, high) if found < wanted else (low, middle)
    return low


def _euclidean_ball(center: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    return center, np.full(len(center), radius)


def _hyperbolic_ball(center: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """A ball of the Poincaré disc is a Euclidean one, with another centre and radius."""
    t = np.tanh(radius / 2)
    norm = (center**2).sum(axis=1)
    shrunk = 1 - t**2 * norm
    return center * ((1 - t**2) / shrunk)[:, None], t * (1 - norm) / shrunk
