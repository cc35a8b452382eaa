"""What can be counted on a graph before training. Labels are read where they are known, -1 elsewhere."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import degree, remove_self_loops

from simpgcn.similarity import overlap


class Agreement(NamedTuple):
    r"""How often the two ends of an edge are of the same class.

    ``share`` is counted over the ``edges`` both of whose ends have a known label (None where there is none).
    ``chance`` is what it would be if ends met by their frequencies alone, and ``adjusted`` is 0 there and 1 at best:
    :math:`(h - h_0) / (1 - h_0)`, which makes graphs with other classes comparable.
    """

    edges: int
    share: float | None
    chance: float | None
    adjusted: float | None


class Facts(NamedTuple):
    """Sizes, degrees, labels, and how well links and look-alikes agree with the classes.

    ``links`` counts an edge and its way back once. ``label_rate`` is the share of the nodes that train.
    ``smallest_class`` and ``largest_class`` count known labels. ``overlap`` is OL(A_f, A), the share of look-alike
    pairs that are links, and ``searched`` the nodes among which look-alikes were searched.
    """

    nodes: int
    links: int
    features: int
    classes: int
    average_degree: float
    median_degree: float
    isolated: int
    train_nodes: int
    val_nodes: int
    label_rate: float
    smallest_class: int
    largest_class: int
    homophily: Agreement
    look_alikes: Agreement
    overlap: float
    k: int
    searched: int


def agreement(edge_index: Tensor, y: Tensor) -> Agreement:
    """Whether the ends of edges are of the same class, over those whose labels are both known.

    >>> links = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
    >>> agreement(links, torch.tensor([0, 0, 1, 1]))
    Agreement(edges=4, share=1.0, chance=0.5, adjusted=1.0)
    >>> agreement(links, torch.tensor([0, -1, 1, -1]))
    Agreement(edges=0, share=None, chance=None, adjusted=None)
    """
    ends = y[edge_index]
    ends = ends[:, (ends >= 0).all(dim=0)]
    count = ends.size(1)
    if not count:
        return Agreement(0, None, None, None)
    share = int((ends[0] == ends[1]).sum()) / count
    classes = int(ends.max()) + 1
    one, other = (torch.bincount(end, minlength=classes).double() / count for end in ends)
    chance = float(one @ other)
    adjusted = (share - chance) / (1 - chance) if chance < 1 else None
    return Agreement(count, share, chance, adjusted)


def _of_links(one: Tensor, other: Tensor, y: Tensor) -> Agreement:
    """Links have no direction: chance is that of both ways, each link counts once."""
    both = agreement(torch.stack([torch.cat([one, other]), torch.cat([other, one])]), y)
    return both._replace(edges=both.edges // 2)


def graph_facts(data: Data, look_alikes: Tensor, k: int, searched: int) -> Facts:
    """Count everything; ``look_alikes`` are the edges of A_f, with ``k`` to a node, among ``searched`` nodes.

    >>> mask = torch.tensor([True, True, False])
    >>> links = torch.tensor([[0, 1], [1, 0]])
    >>> data = Data(x=torch.eye(3), edge_index=links, y=torch.tensor([0, 1, -1]), train_mask=mask, val_mask=~mask)
    >>> facts = graph_facts(data, links, k=1, searched=3)
    >>> facts.links, facts.isolated, facts.overlap, facts.homophily.share
    (1, 1, 1.0, 0.0)
    """
    n = data.x.size(0)
    edge_index, _ = remove_self_loops(data.edge_index)
    low, high = edge_index.min(dim=0).values, edge_index.max(dim=0).values
    links = torch.unique(low * n + high)
    degrees = degree(torch.cat([links // n, links % n]), n)
    members = torch.bincount(data.y[data.y >= 0])
    members = members[members > 0]
    return Facts(
        nodes=n,
        links=links.numel(),
        features=data.x.size(1),
        classes=members.numel(),
        average_degree=2 * links.numel() / n,
        median_degree=float(degrees.median()),
        isolated=int((degrees == 0).sum()),
        train_nodes=int(data.train_mask.sum()),
        val_nodes=int(data.val_mask.sum()),
        label_rate=int(data.train_mask.sum()) / n,
        smallest_class=int(members.min()),
        largest_class=int(members.max()),
        homophily=_of_links(links // n, links % n, data.y),
        look_alikes=agreement(look_alikes, data.y),
        overlap=overlap(look_alikes, edge_index),
        k=k,
        searched=searched,
    )
