r"""The heart of the layer as one operator: three branches mixed by every node's own scores.

.. math::
    \mathbf{s} &= \mathrm{sigmoid}(\mathbf{p}_s + b_s), \qquad \mathbf{K} = \mathbf{p}_K + b_K \\
    \mathbf{H}' &= \mathbf{s} * (\hat{\mathbf{A}}\mathbf{Z} + \mathbf{b})
    + (1 - \mathbf{s}) * (\hat{\mathbf{A}}_f\mathbf{Z} + \mathbf{b})
    + \gamma\mathbf{K} * (\mathbf{Z} + \mathbf{b})

from the one product :math:`[\mathbf{Z} \,|\, \mathbf{p}_s \,|\, \mathbf{p}_K] =
\mathbf{H}\,[\mathbf{W} \,|\, \mathbf{w}_s \,|\, \mathbf{w}_K]`. The gradient is written out, because torch's own would
pass over the n × h intermediates several times more:

.. math::
    \bar{\mathbf{Z}} &= \hat{\mathbf{A}}^\top(\mathbf{s} * \bar{\mathbf{H}})
    + \hat{\mathbf{A}}_f^\top((1 - \mathbf{s}) * \bar{\mathbf{H}}) + \gamma\mathbf{K} * \bar{\mathbf{H}} \\
    \bar{\mathbf{s}} &= \langle \bar{\mathbf{H}}, (\hat{\mathbf{A}} - \hat{\mathbf{A}}_f)\mathbf{Z} \rangle, \qquad
    \bar{\mathbf{K}} = \gamma \langle \bar{\mathbf{H}}, \mathbf{Z} + \mathbf{b} \rangle
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from simpgcn.nn.batching import Operator, runs_first, runs_second
from simpgcn.nn.kernels import kernels_for
from simpgcn.nn.sparse_matrix import SparseMatrix


def mix(
    product: Tensor,
    structure: SparseMatrix,
    features: SparseMatrix,
    score_bias: Tensor,
    loop_bias: Tensor | None,
    loop_weight: Tensor,
    bias: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    r"""H', s and K of the layer; without ``loop_bias`` there are no self-loops, and K is 0.

    Args:
        product: :math:`[\mathbf{Z} | \mathbf{p}_s | \mathbf{p}_K]`, ``[n, h + 2]``; ``[n, h + 1]`` without self-loops.
        structure: :math:`\hat{\mathbf{A}}`.
        features: :math:`\hat{\mathbf{A}}_f`.
        score_bias: :math:`b_s`, ``[1]``.
        loop_bias: :math:`b_K`, ``[1]``.
        loop_weight: :math:`\gamma`, no dimension; it gets no gradient.
        bias: :math:`\mathbf{b}`, ``[h]``.

    >>> eye = SparseMatrix(torch.eye(2))
    >>> h, s, _ = mix(torch.tensor([[3.0, 0.0], [4.0, 0.0]]), eye, eye, torch.zeros(1), None, torch.tensor(0.0), None)
    >>> h.flatten().tolist(), s.tolist()
    ([3.0, 4.0], [0.5, 0.5])
    """
    columns = product.size(-1) - (1 if loop_bias is None else 2)
    zero = product.new_zeros(())
    mixed: tuple[Tensor, Tensor, Tensor, Tensor] = _Mix.apply(
        product,
        structure,
        features,
        score_bias,
        zero.expand(1) if loop_bias is None else loop_bias,
        zero if loop_bias is None else loop_weight.to(product.dtype),
        zero.expand(columns) if bias is None else bias,
        bias is not None,
    )
    return mixed[:3]


class Saved(NamedTuple):
    """What the gradient needs of the arguments and of what :func:`mix` computed."""

    structure: SparseMatrix
    features: SparseMatrix
    product: Tensor
    s: Tensor
    k: Tensor
    difference: Tensor
    loop_weight: Tensor
    bias: Tensor

    @property
    def loops(self) -> bool:
        """Whether there are self-loops."""
        return self.product.size(-1) == self.bias.size(-1) + 2


class _Mix(Operator):
    """Shapes as in :func:`mix`, or with the runs in dimension 1 of ``product`` and in dimension 0 of the others."""

    @staticmethod
    def forward(
        product: Tensor,
        structure: SparseMatrix,
        features: SparseMatrix,
        score_bias: Tensor,
        loop_bias: Tensor,
        loop_weight: Tensor,
        bias: Tensor,
        has_bias: bool,
    ) -> tuple[Tensor, ...]:
        columns = bias.size(-1)
        loops = product.size(-1) == columns + 2
        if kernels := kernels_for(product, "mixing"):
            return kernels.mix(product, structure, features, score_bias, loop_bias, loop_weight, bias)
        z = product[..., :columns]
        s = torch.sigmoid(product[..., columns] + score_bias.squeeze(-1))
        k = product[..., columns + 1] + loop_bias.squeeze(-1) if loops else torch.zeros_like(s)
        flat = z.reshape(z.size(0), -1)
        flat = flat if flat.stride(1) == 1 else flat.contiguous()  # once, for both products
        difference = structure.times(flat)
        hidden = features.times(flat)
        difference.sub_(hidden)
        difference, hidden = difference.view(z.shape), hidden.view(z.shape)
        hidden.addcmul_(s.unsqueeze(-1), difference)
        own = loop_weight * k
        if loops:
            hidden.addcmul_(own.unsqueeze(-1), z)
        if has_bias:
            hidden.addcmul_((1 + own).unsqueeze(-1), bias)
        return hidden, s, k, difference

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: tuple[Tensor, ...]) -> None:
        product, ctx.structure, ctx.features, _, _, loop_weight, bias, ctx.has_bias = inputs
        _, s, k, difference = output
        ctx.mark_non_differentiable(difference)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(product, s, k, difference, loop_weight, bias)

    @staticmethod
    def backward(
        ctx: Any, hidden: Tensor | None, s_bar: Tensor | None, k_bar: Tensor | None, _: None
    ) -> tuple[Tensor | None, ...]:
        saved = Saved(ctx.structure, ctx.features, *ctx.saved_tensors)
        hidden = torch.zeros_like(saved.difference) if hidden is None else hidden
        kernels = kernels_for(saved.product, "mixing")
        gradient = (kernels.mix_backward if kernels else _gradient)(hidden, saved, s_bar, k_bar)
        per_run = gradient[..., saved.bias.size(-1) :].sum(dim=0)
        bias_bar = None
        if ctx.has_bias:
            weight = 1 + saved.loop_weight * saved.k
            bias_bar = hidden.T @ weight if weight.dim() == 1 else torch.einsum("nr,nrh->rh", weight, hidden)
        return (
            gradient,
            None,
            None,
            per_run[..., :1],
            per_run[..., 1:] if saved.loops else None,
            None,
            bias_bar,
            None,
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, product: Tensor, structure: Any, features: Any, *rest: Any) -> Any:
        runs = info.batch_size
        *scalars, has_bias = rest
        scalars = [runs_first(x, dim, runs) for x, dim in zip(scalars, in_dims[3:-1], strict=True)]
        product = runs_second(product, in_dims[0], runs)
        return _Mix.apply(product, structure, features, *scalars, has_bias), (1, 1, 1, 1)


def _gradient(hidden: Tensor, saved: Saved, s_bar: Tensor | None, k_bar: Tensor | None) -> Tensor:
    """The gradient of ``product``."""
    structure, features, product, s, k, difference, loop_weight, bias = saved
    n, columns = hidden.size(0), bias.size(-1)
    gradient = torch.empty_like(product, memory_format=torch.contiguous_format)
    ds = torch.linalg.vecdot(hidden, difference)
    ds = ds if s_bar is None else ds + s_bar
    gradient[..., columns] = ds * s * (1 - s)
    share = hidden * s.unsqueeze(-1)
    z_bar = structure.times(share.reshape(n, -1), transposed=True)
    torch.sub(hidden, share, out=share)
    z_bar += features.times(share.reshape(n, -1), transposed=True)
    z_bar = z_bar.view(hidden.shape)
    if saved.loops:
        torch.addcmul(z_bar, (loop_weight * k).unsqueeze(-1), hidden, out=gradient[..., :columns])
        dk = torch.linalg.vecdot(hidden, product[..., :columns])
        dk += hidden @ bias if bias.dim() == 1 else torch.einsum("nrh,rh->nr", hidden, bias)
        dk *= loop_weight
        gradient[..., columns + 1] = dk if k_bar is None else dk + k_bar
    else:
        gradient[..., :columns] = z_bar
    return gradient
