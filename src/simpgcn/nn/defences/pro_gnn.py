r"""Pro-GNN of Jin et al. (KDD 2020): the graph is learned, to be low-rank, sparse, smooth and of use to a GCN.

.. math::
    \min_{\mathbf{S}, \theta}\ \|\mathbf{A} - \mathbf{S}\|_F^2 + \alpha \|\mathbf{S}\|_1 + \beta \|\mathbf{S}\|_*
    + \gamma \mathcal{L}_{class}(\theta, \mathbf{S})
    + \lambda\, \mathrm{tr}(\mathbf{X}^\top \hat{\mathbf{L}} \mathbf{X})
    \quad \text{with } \mathbf{S} = \mathbf{S}^\top \in [0, 1]^{n \times n}

S and θ take turns. As in the published code, whose settings are used, the first term is the norm without its square, S
moves by gradient descent with momentum and then by the proximal steps of the nuclear norm, of the 1-norm and of the
bounds, in this order, and dropout is off where S moves. Three things differ. S is symmetric, which the published code
leaves out by default. Of its singular values a fixed number is shrunk one by one and the others together, where that
code computes all of them. And the graph is learned first, with a GCN of its own, and the one that validates best is
kept; then a GCN is trained along it like every other model. That code keeps the pair of both that validates best.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from filelock import FileLock
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Data

from simpgcn.data.features import compact, is_sparse
from simpgcn.data.home import data_home
from simpgcn.errors import SimPGCNError
from simpgcn.nn.baselines.gcn import GCNSettings
from simpgcn.nn.defences.filtered_gcn import FilteredGCN
from simpgcn.nn.method import Method
from simpgcn.nn.sparse_matrix import SparseMatrix

MOMENTUM = 0.9
# Matrices of size n × n that are in memory at once, with some room.
MATRICES = 15
# From this many bytes on, processes that share a GPU learn their graphs by turns; on a CPU, where not every core has
# the memory for one.
LARGE = 4 << 30


@dataclass(frozen=True)
class ProGNNSettings(GCNSettings):
    """The settings of ``pro-gnn``: a GCN's, and in the paper's symbols α ``sparse_weight``, β ``low_rank_weight``,
    γ ``class_weight`` and λ ``smooth_weight``.

    The graph takes ``graph_steps`` steps of ``graph_lr``, and its GCN ``inner_steps`` of ``inner_lr`` after each. Of
    its singular values the ``rank`` largest are computed, see :class:`LowRankPart`.
    """

    hidden_channels: int = 16
    sparse_weight: float = 5e-4
    low_rank_weight: float = 1.5
    class_weight: float = 1.0
    smooth_weight: float = 1e-3
    graph_steps: int = 400
    graph_lr: float = 0.01
    inner_steps: int = 2
    inner_lr: float = 1e-3
    inner_decay: float = 5e-4
    rank: int = 200


class ScaledGraph:
    r"""The propagation :math:`\mathbf{D}^{-1/2} (\mathbf{S} + \mathbf{I}) \mathbf{D}^{-1/2}` of a graph S of weights.

    >>> ScaledGraph(torch.tensor([[0.0, 1.0], [1.0, 0.0]])) @ torch.tensor([[4.0], [2.0]])
    tensor([[3.0000],
            [3.0000]])
    """

    def __init__(self, weights: Tensor | SparseMatrix) -> None:
        ones = torch.ones(weights.size(0), 1, device=_device(weights))
        self.weights = weights
        self.scale = (weights @ ones + 1).rsqrt()

    def __matmul__(self, x: Tensor) -> Tensor:
        x = self.scale * x
        return self.scale * (self.weights @ x + x)


class LowRankPart:
    r"""The proximal step of :math:`\tau \|\mathbf{S}\|_*` for symmetric S, by its ``rank`` largest eigenvalues.

    .. math:: \mathbf{V} \, \mathrm{sign}(\boldsymbol\Lambda) \max(|\boldsymbol\Lambda| - \tau, 0) \, \mathbf{V}^\top
              + \max(1 - \tau / \rho, 0) \, (\mathbf{S} - \mathbf{V} \boldsymbol\Lambda \mathbf{V}^\top)

    The others are not computed: they shrink together, by as large a share as their root mean square ρ loses. A graph's
    spectrum is long, and what is left without them has lost its edges. S changes little between two steps, so one round
    of subspace iteration from the last step's eigenvectors finds the next ones.

    >>> prox = LowRankPart(torch.diag(torch.tensor([4.0, -3.0, 1.0])), rank=2)
    >>> [round(value, 3) for value in prox(torch.diag(torch.tensor([4.0, -3.0, 1.0])), 0.5).diagonal().tolist()]
    [3.5, -2.5, 0.5]
    """

    START_ROUNDS = 20

    def __init__(self, start: Tensor, rank: int) -> None:
        generator = torch.Generator().manual_seed(0)
        self.basis = torch.randn(start.size(0), min(rank, start.size(0)), generator=generator).to(start.device)
        for _ in range(self.START_ROUNDS):
            self.basis = torch.linalg.qr(start @ self.basis).Q

    def __call__(self, graph: Tensor, threshold: float) -> Tensor:
        """``graph`` with its eigenvalues shrunk by ``threshold``."""
        basis = torch.linalg.qr(graph @ self.basis).Q
        values, vectors = torch.linalg.eigh(basis.T @ (graph @ basis))
        self.basis = basis @ vectors
        others = graph.size(0) - values.numel()
        if not others:
            return (self.basis * F.softshrink(values, threshold)) @ self.basis.T
        square = ((graph.norm() ** 2 - values.norm() ** 2) / others).clamp(min=1e-12)
        kept = (1 - threshold * square.rsqrt()).clamp(min=0)
        return torch.addmm(kept * graph, self.basis * (F.softshrink(values, threshold) - kept * values), self.basis.T)


def learn_graph(
    x: Tensor, edge_index: Tensor, y: Tensor, train: Tensor, val: Tensor, settings: ProGNNSettings
) -> Tensor:
    """The graph S ``[n, n]`` that Pro-GNN puts in the place of ``edge_index``.

    The distance to the given graph, without its square, is too weak to hold S against the nuclear norm: with enough
    steps nothing is left of it. The one that is kept is that of the last step which raised the validation accuracy of
    its GCN, or lowered its loss.

    Args:
        x: Features, dense.
        edge_index: The given graph, both ways.
        y: Labels, read only where ``train`` or ``val``.
        train: Which nodes are of the training set.
        val: Which nodes are of the validation set.
        settings: Pro-GNN's.

    >>> ring = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
    >>> y, settings = torch.tensor([0, 0, 1, 1]), ProGNNSettings(rank=3, graph_steps=5)
    >>> train = torch.tensor([True, False, True, False])
    >>> graph = learn_graph(torch.eye(4), ring, y, train, ~train, settings)
    >>> bool(((graph >= 0) & (graph <= 1)).all()), bool(torch.equal(graph, graph.T))
    (True, True)
    """
    n = x.size(0)
    given = torch.zeros(n, n, device=x.device)
    given[edge_index[0], edge_index[1]] = 1
    products = x @ x.T if settings.smooth_weight else None
    nodes = train.nonzero().squeeze(1)
    labels = y[nodes]
    with torch.random.fork_rng([x.device] if x.is_cuda else []), torch.enable_grad():
        torch.manual_seed(0)
        gcn = FilteredGCN(x.size(1), int(y[train | val].max()) + 1, settings).to(x.device)
        adam = torch.optim.Adam(gcn.parameters(), settings.inner_lr, weight_decay=settings.inner_decay)
        low_rank = LowRankPart(given, settings.rank)
        graph, speed = given.clone(), torch.zeros_like(given)
        best, most_hits, least_loss = graph, -1, float("inf")
        for _ in range(settings.graph_steps):
            leaf = graph.detach().requires_grad_()
            gcn.eval()
            loss = settings.class_weight * F.cross_entropy(gcn(x, ScaledGraph(leaf))[nodes], labels)
            if products is not None:
                scale = (leaf.sum(dim=1) + 1e-3).rsqrt()
                loss = loss - settings.smooth_weight * (scale @ (leaf * products)) @ scale
            (gradient,) = torch.autograd.grad(loss, leaf)
            away = graph - given
            gradient = (gradient + gradient.T).div_(2).add_(away.div_(away.norm().clamp(min=1e-12)))
            speed.mul_(MOMENTUM).add_(gradient)
            graph = graph.sub(speed, alpha=settings.graph_lr)
            graph = low_rank(graph, settings.graph_lr * settings.low_rank_weight)
            graph = F.softshrink(graph, settings.graph_lr * settings.sparse_weight).clamp_(0, 1)
            graph = (graph + graph.T).div_(2)  # the rounding of the product above
            propagation = ScaledGraph(graph)
            gcn.train()
            for _ in range(settings.inner_steps):
                adam.zero_grad()
                F.cross_entropy(gcn(x, propagation)[nodes], labels).backward()
                adam.step()
            gcn.eval()
            with torch.no_grad():
                found = gcn(x, propagation)[val]
                hits, loss = torch.stack(
                    [(found.argmax(dim=1) == y[val]).sum(), F.cross_entropy(found, y[val])]
                ).tolist()
            if hits > most_hits or loss < least_loss:
                best, most_hits, least_loss = graph, max(hits, most_hits), min(loss, least_loss)
    return best


class _Learned:
    """The last graph that was learned: runs that differ in their seed alone, one after the other, share it."""

    key: str | None = None
    graph: ScaledGraph


def _inputs(data: Data, settings: ProGNNSettings) -> tuple[Tensor | SparseMatrix, ScaledGraph]:
    x, device = data.x.to_dense(), data.edge_index.device
    train, val = data.train_mask.to(device), data.val_mask.to(device)
    y = torch.where(train | val, data.y.to(device), 0)
    digest = hashlib.sha256(repr((settings, device)).encode())
    for part in (x, data.edge_index, y, train, val):
        digest.update(part.cpu().contiguous().numpy().tobytes())
    if _Learned.key != digest.hexdigest():
        with _room_for(x.size(0), device):
            graph = compact(learn_graph(x, data.edge_index, y, train, val, settings))
        _Learned.graph = ScaledGraph(SparseMatrix(graph) if is_sparse(graph) else graph)
        _Learned.key = digest.hexdigest()
    sparse = compact(x)
    return SparseMatrix(sparse) if is_sparse(sparse) else x, _Learned.graph


@contextmanager
def _room_for(nodes: int, device: torch.device) -> Iterator[None]:
    """Hold the device's memory for a graph of so many nodes to be learned; an error where it has too little."""
    needed = MATRICES * 4 * nodes**2
    if device.type == "cuda":
        there = torch.cuda.get_device_properties(device).total_memory
    else:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise SimPGCNError(
            f"pro-gnn learns a dense graph: {nodes:,} nodes take about {needed / 1e9:.0f} GB and the {device.type} has "
            f"{there / 1e9:.0f}: leave it out or choose a larger device"
        )
    if needed < (LARGE if device.type == "cuda" else there / (os.cpu_count() or 1)):
        yield
        return
    data_home().mkdir(parents=True, exist_ok=True)
    with FileLock(data_home() / "pro-gnn.lock"):
        yield
        torch.cuda.empty_cache()  # for the others


def _device(weights: Tensor | SparseMatrix) -> torch.device:
    return weights.device if isinstance(weights, Tensor) else weights.matrix.device


PRO_GNN = Method(ProGNNSettings, FilteredGCN, _inputs, costly_inputs=True)
