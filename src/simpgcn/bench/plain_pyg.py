"""SimP-GCN as one would write it with PyTorch Geometric, to compare with: the layers' own pieces, nothing shared."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import to_torch_csr_tensor

from simpgcn.config import Config
from simpgcn.data import row_normalize
from simpgcn.data.features import is_sparse

Edges = tuple[Tensor, Tensor | None]


class PlainSimPConv(nn.Module):
    """One layer: a GCNConv along either graph and its linear map for the node itself, mixed by the scores.

    >>> ring = (torch.tensor([[0, 1, 2], [1, 2, 0]]), torch.ones(3))
    >>> PlainSimPConv(4, 2, self_loop_weight=0.1, structure_bias=0.0)(torch.rand(3, 4), ring, ring).shape
    torch.Size([3, 2])
    """

    def __init__(self, in_channels: int, out_channels: int, *, self_loop_weight: float, structure_bias: float) -> None:
        super().__init__()
        self.self_loop_weight = self_loop_weight
        self.conv = GCNConv(in_channels, out_channels, normalize=False, add_self_loops=False)
        self.score = nn.Linear(in_channels, 1)
        self.self_loops = nn.Linear(in_channels, 1)
        for linear, bias in ((self.score, structure_bias), (self.self_loops, 0.0)):
            nn.init.uniform_(linear.weight, -1, 1)
            nn.init.constant_(linear.bias, bias)

    def forward(self, x: Tensor, edges: Edges, feature_edges: Edges) -> Tensor:
        """The layer's output, for edges with their normalised weights."""
        s = torch.sigmoid(self.score(x))
        own = self.conv.lin(x) + self.conv.bias
        mixed = s * self.conv(x, *edges) + (1 - s) * self.conv(x, *feature_edges)
        return mixed + self.self_loop_weight * self.self_loops(x) * own


class PlainSimPGCN(nn.Module):
    """Two layers with ReLU and dropout between them, and the head of the pretext task.

    >>> ring = (torch.tensor([[0, 1, 2], [1, 2, 0]]), torch.ones(3))
    >>> logits, hidden = PlainSimPGCN(4, 8, 2, Config())(torch.rand(3, 4), ring, ring)
    >>> logits.shape, hidden.shape
    (torch.Size([3, 2]), torch.Size([3, 8]))
    """

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, config: Config) -> None:
        super().__init__()
        self.dropout = config.model.dropout
        scores = {
            "self_loop_weight": config.model.self_loop_weight,
            "structure_bias": config.model.structure_bias,
        }
        self.conv1 = PlainSimPConv(in_channels, hidden_channels, **scores)
        self.conv2 = PlainSimPConv(hidden_channels, out_channels, **scores)
        self.pretext = nn.Linear(hidden_channels, 1)

    def forward(self, x: Tensor, edges: Edges, feature_edges: Edges) -> tuple[Tensor, Tensor]:
        """The logits, and the hidden states the pretext task reads."""
        hidden = F.dropout(self.conv1(x, edges, feature_edges).relu(), self.dropout, self.training)
        return self.conv2(hidden, edges, feature_edges), hidden


def plain_inputs(data: Data, config: Config, *, sparse: bool) -> tuple[Tensor, Edges, Edges]:
    """The model's arguments: dense features, and both graphs normalised once.

    Args:
        data: A graph with its feature graph.
        config: The settings.
        sparse: Edges as sparse matrices, which PyG multiplies with; else as ``edge_index``, its usual form.
    """
    n = data.num_nodes
    x = row_normalize(data.x.to_dense() if is_sparse(data.x) else data.x, config.data.normalize_features)
    # PyG aggregates at the target: an edge's first node is the one that takes from the other.
    edges = gcn_norm(data.edge_index.flip(0), None, n, add_self_loops=True, dtype=x.dtype)
    features = gcn_norm(data.feature_edge_index.flip(0), data.feature_edge_weight.to(x.dtype), n, add_self_loops=False)
    if not sparse:
        return x, edges, features
    # The transposed matrix, as PyG's layers take it: row i holds what node i aggregates.
    one, other = (to_torch_csr_tensor(index.flip(0), weight, size=(n, n)) for index, weight in (edges, features))
    return x, (one, None), (other, None)


class PlainTraining:
    """The usual loop: a step of Adam on both losses, an evaluation, the best state kept.

    Args:
        data: A graph with its feature graph and pairs, on the device to train on.
        inputs: Of :func:`plain_inputs`.
        config: The settings.
    """

    def __init__(self, data: Data, inputs: tuple[Tensor, Edges, Edges], config: Config) -> None:
        self.data = data
        self.inputs = inputs
        self.config = config
        model = PlainSimPGCN(data.x.size(1), config.model.hidden_channels, int(data.y.max()) + 1, config)
        self.model = model.to(data.x.device)
        training = config.training
        self.optimizer = torch.optim.Adam(model.parameters(), lr=training.lr, weight_decay=training.weight_decay)
        self.best_accuracy = 0.0

    def run(self, epochs: int) -> None:
        """Train for some epochs."""
        for _ in range(epochs):
            self.model.train()
            self.optimizer.zero_grad()
            self.loss().backward()
            self.optimizer.step()
            accuracy = self.evaluate()
            if accuracy >= self.best_accuracy:
                self.best_accuracy = accuracy
                self.best_state = copy.deepcopy(self.model.state_dict())

    def loss(self) -> Tensor:
        """Both losses of a step, on pairs drawn afresh."""
        data, settings = self.data, self.config.model
        logits, hidden = self.model(*self.inputs)
        loss = F.cross_entropy(logits[data.train_mask], data.y[data.train_mask])
        drawn = torch.randperm(data.pair_index.size(1), device=hidden.device)[: settings.pretext_samples]
        first, second = data.pair_index[:, drawn]
        predicted = self.model.pretext((hidden[first] - hidden[second]).abs()).squeeze(1)
        return loss + settings.pretext_weight * F.mse_loss(predicted, data.pair_similarity[drawn])

    @torch.no_grad()
    def evaluate(self) -> float:
        """The validation accuracy."""
        self.model.eval()
        logits, _ = self.model(*self.inputs)
        hit = logits[self.data.val_mask].argmax(dim=1) == self.data.y[self.data.val_mask]
        return float(hit.float().mean())
