"""Geom-GCN of Pei et al.: aggregation that knows from which direction, in a layout of the graph, a message comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.inits import glorot

from simpgcn.data.features import compact, is_sparse
from simpgcn.errors import SimPGCNError
from simpgcn.nn.baselines.first_layer import drop_features
from simpgcn.nn.baselines.plane_embedding import Embedding
from simpgcn.nn.baselines.structural_neighborhood import (
    NUM_RELATIONS,
    StructuralNeighborhood,
    published_neighborhood,
    structural_neighborhood,
)
from simpgcn.nn.dropout import dropout
from simpgcn.nn.method import Method
from simpgcn.nn.sparse_matrix import SparseMatrix

# Four relations in the graph, four in the plane, and the node itself.
NUM_VIRTUAL_NODES = 2 * NUM_RELATIONS + 1


@dataclass(frozen=True)
class GeomGCNSettings:
    """The settings of Geom-GCN.

    ``hidden_channels`` is the size of one virtual node: the hidden layer has nine times as many. ``neighborhood``
    says whether the structural neighbourhood is computed here, by ``embedding`` and ``embedding_seed``, or read from
    the file its authors published for the dataset.
    """

    hidden_channels: int = 32
    dropout: float = 0.5
    embedding: Embedding = "isomap"
    embedding_seed: int = 0
    neighborhood: Literal["computed", "published"] = "computed"


@dataclass(frozen=True)
class GeomGCNISettings(GeomGCNSettings):
    """The settings of ``geom-gcn-i``: Isomap."""


@dataclass(frozen=True)
class GeomGCNPSettings(GeomGCNSettings):
    """The settings of ``geom-gcn-p``: the Poincaré embedding."""

    embedding: Embedding = "poincare"


@dataclass(frozen=True)
class GeomGCNSSettings(GeomGCNSettings):
    """The settings of ``geom-gcn-s``: struc2vec."""

    embedding: Embedding = "struc2vec"


class GeomConv(nn.Module):
    r"""The bi-level aggregation of `Geom-GCN <https://arxiv.org/abs/2002.05287>`_.

    Virtual node r of node v sums the messages of those in relation r to it, and the virtual nodes are merged:

    .. math::
        \mathbf{e}_{v, r} = \sum_{u \in N_r(v)} \frac{\mathbf{W}_r \mathbf{h}_u}{\sqrt{\deg(v) \deg(u)}}, \qquad
        \mathbf{h}'_v = \Big\Vert_r \mathbf{e}_{v, r} \quad \text{or} \quad \frac{1}{R} \sum_r \mathbf{e}_{v, r}

    Args:
        in_channels: Size of each input row.
        out_channels: Size of each virtual node.
        merge: ``cat`` or ``mean``.

    Shapes:
        - ``x``: ``[n, in_channels]``, a tensor or a :class:`SparseMatrix`;
        - ``relations``: ``[9n, 9n]``, see :func:`relation_blocks`;
        - output: ``[n, 9 out_channels]`` (``cat``) or ``[n, out_channels]`` (``mean``).

    >>> GeomConv(4, 2)
    GeomConv(4, 2, merge=cat)
    """

    def __init__(self, in_channels: int, out_channels: int, merge: Literal["cat", "mean"] = "cat") -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.merge = merge
        self.weight = nn.Parameter(torch.empty(in_channels, NUM_VIRTUAL_NODES, out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw each relation's matrix anew."""
        for weight in self.weight.unbind(dim=1):
            glorot(weight)

    def forward(self, x: Tensor | SparseMatrix, relations: SparseMatrix) -> Tensor:
        """The merged virtual nodes of every node."""
        n = x.size(0)
        # one product for all relations, then one for all neighbourhoods
        message = x @ self.weight.view(self.in_channels, -1)
        message = message.view(n, -1, self.out_channels).transpose(0, 1).reshape(-1, self.out_channels)
        virtual = (relations @ message).view(-1, n, self.out_channels)
        return virtual.mean(dim=0) if self.merge == "mean" else virtual.transpose(0, 1).reshape(n, -1)

    def __repr__(self) -> str:
        return f"GeomConv({self.in_channels}, {self.out_channels}, merge={self.merge})"


class GeomGCN(nn.Module):
    """Two :class:`GeomConv` layers with a ReLU between them, dropout before each, and no bias.

    The published code can also concatenate several such channels; its runs all have one.

    >>> ring = StructuralNeighborhood(torch.tensor([[0, 1, 2], [1, 2, 0]]), torch.tensor([0, 3, 7]))
    >>> GeomGCN(4, 8, 2)(torch.rand(3, 4), relation_blocks(ring, 3)).shape
    torch.Size([3, 2])
    """

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, *, dropout: float = 0.5) -> None:
        super().__init__()
        self.dropout = dropout
        self.conv1 = GeomConv(in_channels, hidden_channels, "cat")
        self.conv2 = GeomConv(NUM_VIRTUAL_NODES * hidden_channels, out_channels, "mean")

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self.conv1.reset_parameters()
        self.conv2.reset_parameters()

    def forward(self, x: Tensor | SparseMatrix, relations: SparseMatrix) -> Tensor:
        """The logits ``[n, out_channels]``."""
        hidden = torch.relu(self.conv1(drop_features(x, self.dropout, self.training), relations))
        logits: Tensor = self.conv2(dropout(hidden, self.dropout, self.training), relations)
        return logits


def relation_blocks(neighborhood: StructuralNeighborhood, num_nodes: int) -> SparseMatrix:
    r"""The nine matrices :math:`\mathbf{D}^{-1/2} \mathbf{A}_r \mathbf{D}^{-1/2}` as the blocks of a diagonal.

    Every node is the only one in the ninth relation to itself. Degrees count whom a node hears, itself included, in
    all relations together.

    >>> pair = StructuralNeighborhood(torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 3]))
    >>> blocks = relation_blocks(pair, 2)
    >>> blocks, blocks.matrix.values().tolist()
    (SparseMatrix(18, 18, nnz=4), [0.5, 0.5, 0.5, 0.5])
    """
    node = torch.arange(num_nodes, device=neighborhood.relation.device)
    index = torch.cat([neighborhood.edge_index, node.expand(2, -1)], dim=1)
    relation = torch.cat([neighborhood.relation, torch.full_like(node, NUM_VIRTUAL_NODES - 1)])
    degree = torch.bincount(index[1], minlength=num_nodes).float()
    value = (degree[index[0]] * degree[index[1]]).rsqrt()
    place = index.flip(0) + relation * num_nodes
    return SparseMatrix.from_edges(place, value, NUM_VIRTUAL_NODES * num_nodes)


def build_geom_gcn(in_channels: int, out_channels: int, settings: GeomGCNSettings) -> GeomGCN:
    """A Geom-GCN.

    >>> build_geom_gcn(4, 2, GeomGCNSettings(hidden_channels=8)).conv2
    GeomConv(72, 2, merge=mean)
    """
    return GeomGCN(in_channels, settings.hidden_channels, out_channels, dropout=settings.dropout)


def geom_gcn_inputs(data: Data, settings: GeomGCNSettings) -> tuple[Tensor | SparseMatrix, SparseMatrix]:
    """The features and the structural neighbourhood, for which edges are taken both ways and without weights."""
    if settings.neighborhood == "published":
        name = data.get("name")
        if name is None:
            raise SimPGCNError(
                "only benchmark datasets have a published structural neighbourhood, and this graph has no name: "
                "set model.neighborhood to computed"
            )
        found = published_neighborhood(name, settings.embedding)
        if int(found.edge_index.max()) >= data.num_nodes:
            raise SimPGCNError(
                f"the published structural neighbourhood of {name} has more nodes than this graph of "
                f"{data.num_nodes}: set model.neighborhood to computed"
            )
    else:
        found = structural_neighborhood(data.edge_index, data.num_nodes, settings.embedding, settings.embedding_seed)
    x = compact(data.x)
    relations = relation_blocks(StructuralNeighborhood(*(part.to(x.device) for part in found)), data.num_nodes)
    return SparseMatrix(x) if is_sparse(x) else x, relations


GEOM_GCN_I = Method(GeomGCNISettings, build_geom_gcn, geom_gcn_inputs)
GEOM_GCN_P = Method(GeomGCNPSettings, build_geom_gcn, geom_gcn_inputs)
GEOM_GCN_S = Method(GeomGCNSSettings, build_geom_gcn, geom_gcn_inputs)
