"""The similarity-preserving graph convolution."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn.inits import glorot

from simpgcn.errors import SimPGCNError
from simpgcn.nn.mixing import mix
from simpgcn.nn.narrow_product import multiply
from simpgcn.nn.propagation import propagations
from simpgcn.nn.sparse_matrix import SparseMatrix

Gate = Literal["scores", "softmax"]


class LayerState(NamedTuple):
    """What one layer did: its output and how every node mixed the three sources.

    ``hidden`` is ``[n, out_channels]``, ``structure_score`` (the paper's s) and ``self_loops`` (K) are
    ``[n]``; ``self_loops`` is None when γ = 0, where they are not computed. Of a softmax gate they are the first and
    the last weight, and ``feature_score`` is the second, which is 1 - s otherwise, and not computed.
    :meth:`SimPConv.trust` makes the three weights of it.
    """

    hidden: Tensor
    structure_score: Tensor
    self_loops: Tensor | None
    feature_score: Tensor | None = None


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

    With ``gate="softmax"`` one softmax weighs the three branches against each other, in place of
    :math:`\mathbf{s}`, :math:`1 - \mathbf{s}` and :math:`\gamma\mathbf{K}`:

    .. math:: [\mathbf{w}_1 \,|\, \mathbf{w}_2 \,|\, \mathbf{w}_3] = (1 + \gamma) \, \mathrm{softmax}(
              \mathbf{H}\mathbf{W}_g + \mathbf{b}_g), \qquad \text{initially }
              \mathbf{b}_g = \log \, [\mathrm{sigmoid}(b_s), 1 - \mathrm{sigmoid}(b_s), \gamma]

    and a small :math:`\mathbf{W}_g`: it starts from the same b_s, and with γ itself for the node, where the paper's
    form has γK.

    Args:
        in_channels: Size of each input row.
        out_channels: Size of each output row.
        self_loop_weight: γ. At 0 the layer has no self-loop parameters.
        structure_bias: The initial b_s; above 0 the layer starts closer to the given graph.
        bias: Learn the branches' b, as the published code does. The paper's equations leave it out, but its
            numbers need it: on Actor it is worth more than a point.
        activate_branches: Apply a ReLU to each branch before mixing, as the published code does. In the
            paper's form the ReLU follows the sum, and is the model's business.
        gate: ``scores``, the paper's, or ``softmax``.

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
        gate: Gate = "scores",
    ) -> None:
        super().__init__()
        if gate not in get_args(Gate):
            raise SimPGCNError(f"model.gate must be scores or softmax, not {gate!r}")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.self_loop_weight = self_loop_weight
        self.structure_bias = structure_bias
        self.activate_branches = activate_branches
        self.gate = gate
        self.gamma: Tensor
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        if gate == "softmax":
            branches = 3 if self_loop_weight else 2
            self.gate_score_weight = nn.Parameter(torch.empty(in_channels, branches))
            self.gate_score_bias = nn.Parameter(torch.empty(branches))
        else:
            self.score_weight = nn.Parameter(torch.empty(in_channels, 1))
            self.score_bias = nn.Parameter(torch.empty(1))
        self.bias: nn.Parameter | None
        self.register_parameter("bias", nn.Parameter(torch.empty(out_channels)) if bias else None)
        # γ once more as a tensor, for runs side by side to have one each.
        self.register_buffer("gamma", torch.tensor(float(self_loop_weight)), persistent=False)
        if self_loop_weight and gate == "scores":
            self.self_loop_score_weight = nn.Parameter(torch.empty(in_channels, 1))
            self.self_loop_score_bias = nn.Parameter(torch.empty(1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw W from Glorot's uniform, w_s and w_K from uniform(-1, 1), W_g a hundredth of that; set b_s as given,
        b_g to what it and γ say, b and b_K to 0.
        """
        glorot(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        if self.gate == "softmax":
            nn.init.uniform_(self.gate_score_weight, -0.01, 0.01)
            graph, loops = torch.tensor(float(self.structure_bias)), self.self_loop_weight
            shares = [F.logsigmoid(graph), F.logsigmoid(-graph), *([math.log(loops)] if loops else [])]
            with torch.no_grad():
                self.gate_score_bias.copy_(torch.tensor(shares))
            return
        nn.init.uniform_(self.score_weight, -1, 1)
        nn.init.constant_(self.score_bias, self.structure_bias)
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
        if self.gate == "softmax":
            return self._softmax(
                multiply(x, torch.cat([self.weight, self.gate_score_weight], dim=1)), structure, features
            )
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
        hidden = self._branch(structure @ z, s) + self._branch(features @ z, 1 - s)
        if not self.self_loop_weight:
            return LayerState(hidden, s, None)
        k = product[:, self.out_channels + 1] + self.self_loop_score_bias
        return LayerState(hidden + self._branch(z, self.gamma.to(k.dtype) * k), s, k)

    def _softmax(self, product: Tensor, structure: SparseMatrix, features: SparseMatrix) -> LayerState:
        """The branches weighed by the softmax gate."""
        z = product[:, : self.out_channels]
        shares = torch.softmax(product[:, self.out_channels :] + self.gate_score_bias, dim=1)
        on_structure, on_features, *loops = ((1 + self.gamma.to(z.dtype)) * shares).unbind(dim=1)
        hidden = self._branch(structure @ z, on_structure) + self._branch(features @ z, on_features)
        if not loops:
            return LayerState(hidden, on_structure, None, on_features)
        return LayerState(hidden + self._branch(z, loops[0]), on_structure, loops[0], on_features)

    def _branch(self, z: Tensor, weight: Tensor) -> Tensor:
        z = z if self.bias is None else z + self.bias
        return weight.unsqueeze(1) * (torch.relu(z) if self.activate_branches else z)

    def trust(self, state: LayerState) -> Tensor:
        """How each node weighed the given graph, its look-alikes and itself, ``[n, 3]``: s, 1 - s and γK, or the
        softmax gate's weights, which sum to 1 + γ.

        >>> conv, eye = SimPConv(4, 2, self_loop_weight=0.25, gate="softmax"), SparseMatrix(torch.eye(1))
        >>> conv.trust(conv.state(torch.zeros(1, 4), eye, eye)).tolist()
        [[0.5, 0.5, 0.25]]
        """
        _, s, loops, features = state
        own = torch.zeros_like(s) if loops is None else loops
        if features is None:
            features, own = 1 - s, self.self_loop_weight * own
        return torch.stack([s, features, own], dim=1)

    def __repr__(self) -> str:
        gate = "" if self.gate == "scores" else f", gate={self.gate!r}"
        sizes = f"{self.in_channels}, {self.out_channels}"
        return f"{type(self).__name__}({sizes}, self_loop_weight={self.self_loop_weight}{gate})"
