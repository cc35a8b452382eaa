"""The model: similarity-preserving layers, a ReLU and dropout between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from simpgcn.errors import SimPGCNError
from simpgcn.nn.dropout import dropout
from simpgcn.nn.propagation import propagations
from simpgcn.nn.simp_conv import Gate, LayerState, SimPConv
from simpgcn.nn.sparse_matrix import SparseMatrix

Form = Literal["paper", "published"]


class SimPGCN(nn.Module):
    r"""SimP-GCN for node classification.

    .. math:: \mathbf{H}^{(l)} = \sigma(\tilde{\mathbf{P}}^{(l)} \mathbf{H}^{(l-1)} \mathbf{W}^{(l)}),
              \qquad \mathbf{H}^{(0)} = \mathbf{X}

    The last layer's output goes to the softmax without a ReLU.

    Args:
        in_channels: Number of input features.
        hidden_channels: Size of the hidden layers.
        out_channels: Number of classes.
        num_layers: Depth; any from 1.
        dropout: Share of hidden values dropped between layers in training.
        self_loop_weight: γ, the weight of the learned self-loops; 0 removes them.
        structure_bias: The initial b_s of every layer.
        bias: Learn a bias in every layer; without, the layers are the paper's equations to the letter.
        form: ``paper`` applies the ReLU after mixing, as the paper's equations do; ``published`` applies it
            to each branch before mixing, as its published code does. Accuracy is the same within noise.
        gate: ``scores``, the paper's s, 1 - s and γK, or ``softmax``, one softmax over the three branches that
            starts from the same b_s and γ.

    >>> model = SimPGCN(4, 8, 3)
    >>> ring = torch.tensor([[0, 1, 2], [1, 2, 0]])
    >>> model(torch.rand(3, 4), ring, ring.flip(0)).shape
    torch.Size([3, 3])
    >>> [state.structure_score.shape for state in model.states(torch.rand(3, 4), ring, ring)]
    [torch.Size([3]), torch.Size([3])]
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        num_layers: int = 2,
        dropout: float = 0.5,
        self_loop_weight: float = 0.1,
        structure_bias: float = 0.0,
        bias: bool = True,
        form: Form = "paper",
        gate: Gate = "scores",
    ) -> None:
        super().__init__()
        if form not in get_args(Form):
            raise SimPGCNError(f"model.form must be paper or published, not {form!r}")
        if num_layers < 1:
            raise SimPGCNError(f"model.num_layers must be at least 1, not {num_layers}")
        self.dropout = dropout
        self.form = form
        sizes = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        self.convs: Sequence[SimPConv] = nn.ModuleList(  # type: ignore[assignment]
            SimPConv(
                sizes[i],
                sizes[i + 1],
                self_loop_weight=self_loop_weight,
                structure_bias=structure_bias,
                bias=bias,
                activate_branches=form == "published" and i + 1 < num_layers,
                gate=gate,
            )
            for i in range(num_layers)
        )

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for conv in self.convs:
            conv.reset_parameters()

    def forward(
        self,
        x: Tensor | SparseMatrix,
        edge_index: Tensor | SparseMatrix,
        feature_edge_index: Tensor | SparseMatrix,
        edge_weight: Tensor | None = None,
        feature_edge_weight: Tensor | None = None,
    ) -> Tensor:
        """The logits ``[n, out_channels]``; arguments as for :class:`SimPConv`."""
        return self.states(x, edge_index, feature_edge_index, edge_weight, feature_edge_weight)[-1].hidden

    def states(self, *arguments: Any) -> list[LayerState]:
        """Every layer's hidden state, s and K, of the arguments of :meth:`forward`.

        Hidden states are as the next layer sees them, after dropout.
        """
        return self.states_after(*self.first_layer(*arguments), training=self.training)

    def first_layer(self, x: Tensor | SparseMatrix, *graphs: Any) -> tuple[LayerState, SparseMatrix, SparseMatrix]:
        """The first layer's state before dropout, and the two normalised graphs, of the arguments of :meth:`forward`.

        It is the same in training and in evaluation: whoever needs both computes it once, and goes on with
        :meth:`states_after`.
        """
        structure, features = propagations(*graphs, num_nodes=x.size(0), dtype=self.convs[0].weight.dtype)
        return self._layer(0, x, structure, features), structure, features

    def states_after(
        self, first: LayerState, structure: SparseMatrix, features: SparseMatrix, *, training: bool
    ) -> list[LayerState]:
        """Every layer's state, given the first's; with dropout where ``training``."""
        states = [self._dropped(0, first, training)]
        for layer in range(1, len(self.convs)):
            state = self._layer(layer, states[-1].hidden, structure, features)
            states.append(self._dropped(layer, state, training))
        return states

    def _layer(
        self, layer: int, x: Tensor | SparseMatrix, structure: SparseMatrix, features: SparseMatrix
    ) -> LayerState:
        state = self.convs[layer].state(x, structure, features)
        if self.form == "paper" and layer + 1 < len(self.convs):
            state = state._replace(hidden=torch.relu(state.hidden))
        return state

    def _dropped(self, layer: int, state: LayerState, training: bool) -> LayerState:
        if layer + 1 == len(self.convs):
            return state
        return state._replace(hidden=dropout(state.hidden, self.dropout, training))

    def trust(self, states: list[LayerState]) -> Tensor:
        """How each node mixed its sources in each layer, ``[n, layers, 3]``; see :meth:`SimPConv.trust`."""
        return torch.stack([conv.trust(state) for conv, state in zip(self.convs, states, strict=True)], dim=1)
