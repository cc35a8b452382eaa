"""Trained models as functions of the edges' weights, for attacks that follow the gradient there."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from simpgcn.errors import SimPGCNError
from simpgcn.nn.baselines.first_layer import linear
from simpgcn.nn.simp_gcn import SimPGCN
from simpgcn.nn.sparse_matrix import SparseMatrix

# An attack looks at many pairs at once, most of them with a weight so small that no message shows it.
SILENT = 1e-6
# Pairs whose gradient is taken at once.
CHUNK = 1 << 14


class WeightedGraph:
    r"""The propagation along weighted edges, differentiable in their weights.

    .. math:: \tilde{\mathbf{D}}^{-1/2} (\mathbf{A} + \mathbf{I}) \tilde{\mathbf{D}}^{-1/2}

    Unlike :class:`SparseMatrix`, ``graph @ x`` is differentiable in the weights as well, degrees included. Pairs of
    next to no weight send nothing, but have a gradient.

    >>> weight = torch.ones(2, requires_grad=True)
    >>> (WeightedGraph(torch.tensor([[0, 1], [1, 0]]), weight, 2) @ torch.tensor([[2.0], [4.0]])).sum().backward()
    >>> weight.grad.shape
    torch.Size([2])
    """

    def __init__(self, edge_index: Tensor, edge_weight: Tensor, num_nodes: int) -> None:
        self.rows, self.columns = edge_index
        degree = edge_weight.new_ones(num_nodes).index_add(0, self.rows, edge_weight)
        scale = degree.rsqrt()
        self.weight = scale[self.rows] * edge_weight * scale[self.columns]
        self.loops = (scale * scale).unsqueeze(1)

    def __matmul__(self, x: Tensor) -> Tensor:
        messages: Tensor = _Messages.apply(self.rows, self.columns, self.weight, x)
        return self.loops * x + messages


class _Messages(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, columns: Tensor, weight: Tensor, x: Tensor) -> Tensor:
        ctx.save_for_backward(rows, columns, weight, x)
        return _sent(rows, columns, weight, x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, Tensor, Tensor]:
        rows, columns, weight, x = ctx.saved_tensors
        of_weight = [
            (gradient.index_select(0, to) * x.index_select(0, of)).sum(dim=1)
            for to, of in zip(rows.split(CHUNK), columns.split(CHUNK), strict=True)
        ]
        return None, None, torch.cat(of_weight), _sent(columns, rows, weight, gradient)


def _sent(rows: Tensor, columns: Tensor, weight: Tensor, x: Tensor) -> Tensor:
    heard = weight > SILENT
    rows, columns, weight = rows[heard], columns[heard], weight[heard].unsqueeze(1)
    return torch.zeros_like(x).index_add_(0, rows, weight * x.index_select(0, columns))


class WeightedModel(nn.Module):
    """A trained ``gcn`` or ``simpgcn`` that takes a graph as edges and their weights, as PyG's attacks call it.

    SimP-GCN goes through its whole forward pass; its feature graph is fixed, since the features are.

    Args:
        model: The trained model.
        inputs: Its arguments on the clean graph; see :func:`simpgcn.training.model_inputs`.

    >>> from simpgcn.nn.propagation import feature_propagation
    >>> ring = torch.tensor([[0, 1, 2], [1, 2, 0]])
    >>> model = WeightedModel(SimPGCN(4, 8, 2), (torch.rand(3, 4), None, feature_propagation(ring, 3)))
    >>> model(torch.zeros(3, 1), ring, torch.full((3,), 0.5)).shape
    torch.Size([3, 2])
    """

    def __init__(self, model: nn.Module, inputs: tuple[Any, ...]) -> None:
        super().__init__()
        self.model = model.eval()
        self.inputs = inputs
        if not (isinstance(model, SimPGCN) or hasattr(model, "convs")):
            raise SimPGCNError(f"no attack by gradients is known for {type(model).__name__}: use gcn or simpgcn")

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """The logits ``[n, classes]``; ``x`` is not read but for the number of its rows."""
        n = x.size(0)
        weight = torch.ones(edge_index.size(1), device=x.device) if edge_weight is None else edge_weight
        graph = WeightedGraph(edge_index, weight, n)
        if isinstance(self.model, SimPGCN):
            return self._simpgcn(self.model, self.inputs[0], graph, self.inputs[2])
        hidden = self.inputs[0]
        convs: Any = self.model.convs
        for layer, conv in enumerate(convs):
            hidden = graph @ linear(conv.lin, torch.relu(hidden) if layer else hidden) + conv.bias
        return hidden

    @staticmethod
    def _simpgcn(model: SimPGCN, x: Tensor | SparseMatrix, graph: WeightedGraph, features: SparseMatrix) -> Tensor:
        hidden: Any = x
        for layer, conv in enumerate(model.convs):
            last = layer + 1 == len(model.convs)
            z = hidden @ conv.weight
            s = torch.sigmoid(hidden @ conv.score_weight + conv.score_bias)
            shift = 0.0 if conv.bias is None else conv.bias
            branches = [graph @ z + shift, features @ z + shift, z + shift]
            if conv.activate_branches:
                branches = [torch.relu(branch) for branch in branches]
            mixed = s * branches[0] + (1 - s) * branches[1]
            if conv.self_loop_weight:
                loops = hidden @ conv.self_loop_score_weight + conv.self_loop_score_bias
                mixed = mixed + conv.gamma * loops * branches[2]
            hidden = torch.relu(mixed) if model.form == "paper" and not last else mixed
        found: Tensor = hidden
        return found
