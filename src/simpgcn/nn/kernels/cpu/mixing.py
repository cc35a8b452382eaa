"""The mixing of the three branches and its gradient, each in one go over the rows of both graphs."""

from __future__ import annotations

import torch
from torch import Tensor

from simpgcn.compiled import call
from simpgcn.nn.mixing import Saved
from simpgcn.nn.sparse_matrix import SparseMatrix


def mix(
    product: Tensor,
    structure: SparseMatrix,
    features: SparseMatrix,
    score_bias: Tensor,
    loop_bias: Tensor,
    loop_weight: Tensor,
    bias: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """H', s, K and the difference of the two branches."""
    product, columns = product.contiguous(), bias.size(-1)
    shape = product.shape[:-1]
    for graph in (structure, features):
        if graph.shape != (shape[0], shape[0]):
            raise ValueError(f"a graph of {graph.size(0)} nodes cannot mix the states of {shape[0]}")
    hidden, difference = (product.new_empty(*shape, columns) for _ in range(2))
    s, k = (product.new_empty(shape) for _ in range(2))
    learned = [x.contiguous() for x in (score_bias, loop_bias, loop_weight, bias)]
    graphs = *_rows(structure, False), *_rows(features, False)
    call("mix", *graphs, product, *learned, hidden, s, k, difference, *_sizes(product, columns))
    return hidden, s, k, difference


def mix_backward(hidden: Tensor, saved: Saved, s_bar: Tensor | None, k_bar: Tensor | None) -> Tensor:
    """The gradient of the product, for that of H', of s and of K."""
    hidden, product, bias, loop_weight = (
        x.contiguous() for x in (hidden, saved.product, saved.bias, saved.loop_weight)
    )
    columns, s = bias.size(-1), saved.s
    gradient = torch.empty_like(product)
    graphs = *_rows(saved.structure, True), *_rows(saved.features, True)
    constants = product, s, saved.k, saved.difference, loop_weight, bias
    call("mix_backward", *graphs, hidden, *constants, gradient, *_sizes(product, columns))
    if s_bar is not None:
        gradient[..., columns] += s_bar * s * (1 - s)
    if k_bar is not None and saved.loops:
        gradient[..., columns + 1] += k_bar
    return gradient


def _rows(matrix: SparseMatrix, transposed: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Where rows start, with 64 bits, the entries' columns, with 32, and their values."""
    kept: dict[bool, tuple[Tensor, Tensor, Tensor]] = matrix.kernel_rows
    if transposed not in kept:
        rows = matrix.laid_out(transposed)
        values = rows.values.to(torch.float32).contiguous()
        kept[transposed] = rows.starts.to(torch.int64), rows.columns.to(torch.int32), values
    return kept[transposed]


def _sizes(product: Tensor, columns: int) -> tuple[int, ...]:
    """Nodes, runs, columns, whether there are self-loops, threads."""
    runs, loops = product.size(1) if product.dim() == 3 else 1, product.size(-1) - columns - 1
    if loops not in (0, 1):
        raise ValueError(f"{columns} columns and one or two scores were to be mixed, not {product.size(-1)} in all")
    return product.size(0), runs, columns, loops, torch.get_num_threads()
