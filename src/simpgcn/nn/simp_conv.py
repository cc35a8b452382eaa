"""The similarity-preserving graph convolution."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import glorot

from simpgcn.nn.mixing import mix
from simpgcn.nn.narrow_product import multiply
from simpgcn.nn.propagation import propagations
from simpgcn.nn.sparse_matrix import SparseMatrix


class LayerState(NamedTuple):
    """What one layer did: its output and how every node mixed the three sources.

    ``hidden`` is ``[n, out_channels]``, ``structure_score`` (the paper's s) and ``self_loops`` (K) are
    ``[n]``; ``self_loops`` is None when γ = 0, where they are not computed.
    """

    hidden: Tensor
    structure_score: Tensor
    self_loops: Tensor | None


class SimPConv(nn.Module):
    r"""The node-similarity-preserving layer of `SimP-GCN <https://arxiv.org/abs/2011.09643>`_.

    .. math::
        \mathbf{s} &= \mathrm{sigmoid}(\mathbf{H}\mathbf{w}_s + b_s), \qquad
        \mathbf{K} = \mathbf{H}\mathbf{w}_K + b_K \\
        \mathbf{H}' &= \mathbf{s} * (\hat{\mathbf{A}}\mathbf{H}\mathbf{W} + \mathbf{b})
        + (1 - \mathbf{s}) * (\hat{\mathbf{A}}_f\mathbf{H}\mathbf{W} + \mathbf{b})
        + \gamma\mathbf{K} * (\mathbf{H}\mathbf{W} + \mathbf{b})

    with :math:`\hat{\mathbf{A}} = \tilde{\mathbf{D}}^{-1/2}\tilde{\mathbf{A}}\tilde{\mathbf{D}}^{-1/2}`,
    :math:`\hat{\mathbf{A}}_f = \mathbf{D}_f^{-1/2}\mathbf{A}_f\mathbf{D}_f^{-1/2}`, and
    :math:`\mathbf{a} * \mathbf{M}` scaling row i of M by :math:`a_i`. With ``bias=False`` these are the
    paper's equations.

    Args:
        in_channels: Size of each input row.
        out_channels: Size of each output row.
        self_loop_weight: γ. At 0 the layer has no self-loop parameters.
        structure_bias: The initial b_s; above 0 the layer starts closer to the given graph.
        bias: Learn the branches' b, as the published code does. The paper's equations leave it out, but its
            numbers need it: on Actor it is worth more than a point.
        activate_branches: Apply a ReLU to each branch before mixing, as the published code does. In the
            paper's form the ReLU follows the sum, and is the model's business.

    Shapes:
        - ``x``: ``[n, in_channels]``, a tensor or a :class:`SparseMatrix`;
        - ``edge_index``, ``feature_edge_index``: ``[2, e]``, with optional ``edge_weight`` and
          ``feature_edge_weight`` ``[e]``, or :class:`SparseMatrix` objects already normalised (see
          :mod:`simpgcn.nn.propagation`), as the trainer passes to normalise only once;
        - output: ``[n, out_channels]``.

    >>> conv = SimPConv(4, 2)
    >>> ring = torch.tensor([[0, 1, 2], [1, 2, 0]])
    >>> conv(torch.rand(3, 4), ring, ring.flip(0)).shape, conv
    (torch.Size([3, 2]), SimPConv(4, 2, self_loop_weight=0.1))
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        self_loop_weight: float = 0.1,
        structure_bias: float = 0.0,
        bias: bool = True,
        activate_branches: bool = False,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.self_loop_weight = self_loop_weight
        self.structure_bias = structure_bias
        self.activate_branches = activate_branches
        self.gamma: Tensor
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.score_weight = nn.Parameter(torch.empty(in_channels, 1))
        self.score_bias = nn.Parameter(torch.empty(1))
        self.bias: nn.Parameter | None
        self.register_parameter("bias", nn.Parameter(torch.empty(out_channels)) if bias else None)
        # γ once more as a tensor, for runs side by side to have one each.
        self.register_buffer("gamma", torch.tensor(float(self_loop_weight)), persistent=False)
        if self_loop_weight:
            self.self_loop_score_weight = nn.Parameter(torch.empty(in_channels, 1))
            self.self_loop_score_bias = nn.Parameter(torch.empty(1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw W from Glorot's uniform, w_s and w_K from uniform(-1, 1); set b_s as given, b and b_K to 0."""
        glorot(self.weight)
        nn.init.uniform_(self.score_weight, -1, 1)
        nn.init.constant_(self.score_bias, self.structure_bias)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        if self.self_loop_weight:
            nn.init.uniform_(self.self_loop_score_weight, -1, 1)
            nn.init.zeros_(self.self_loop_score_bias)

    def forward(
        self,
        x: Tensor | SparseMatrix,
        edge_index: Tensor | SparseMatrix,
        feature_edge_index: Tensor | SparseMatrix,
        edge_weight: Tensor | None = None,
        feature_edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Mix what the graph, the feature graph and each node itself say."""
        graphs = edge_index, feature_edge_index, edge_weight, feature_edge_weight
        return self.state(x, *propagations(*graphs, num_nodes=x.size(0), dtype=self.weight.dtype)).hidden

    def state(self, x: Tensor | SparseMatrix, structure: SparseMatrix, features: SparseMatrix) -> LayerState:
        """The output together with s and K, for already normalised matrices."""
        columns: list[Tensor] = [self.weight, self.score_weight]
        if self.self_loop_weight:
            columns.append(self.self_loop_score_weight)
        # One product for W, w_s and w_K: x is read once.
        product = multiply(x, torch.cat(columns, dim=1))
        if self.activate_branches:
            return self._published(product, structure, features)
        loop_bias = self.self_loop_score_bias if self.self_loop_weight else None
        hidden, s, k = mix(product, structure, features, self.score_bias, loop_bias, self.gamma, self.bias)
        return LayerState(hidden, s, k if self.self_loop_weight else None)

    def _published(self, product: Tensor, structure: SparseMatrix, features: SparseMatrix) -> LayerState:
        """The same with a ReLU on every branch."""
        z = product[:, : self.out_channels]
        s = torch.sigmoid(product[:, self.out_channels] + self.score_bias)
        share = s.unsqueeze(1)
        hidden = share * self._branch(structure @ z) + (1 - share) * self._branch(features @ z)
        if not self.self_loop_weight:
            return LayerState(hidden, s, None)
        k = product[:, self.out_channels + 1] + self.self_loop_score_bias
        return LayerState(hidden + (self.gamma.to(k.dtype) * k).unsqueeze(1) * self._branch(z), s, k)

    def _branch(self, z: Tensor) -> Tensor:
        return torch.relu(z if self.bias is None else z + self.bias)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.in_channels}, {self.out_channels}, self_loop_weight={self.self_loop_weight})"
        )
