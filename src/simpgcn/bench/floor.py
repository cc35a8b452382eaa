r"""The least an epoch can take: the bytes it must move, over the memory's measured bandwidth.

An epoch is a training step on all nodes and an evaluation after it. A product with :math:`\hat{\mathbf{A}}` needs all
rows of its input before any row of its output is known, so an array on one side of it is written whole, and read
whole on the other; everything between two such products could be one pass. The count charges every array once per
pass that needs it, stored numbers and indices with four bytes each. It charges nothing for the random numbers of
dropout, which can be drawn where they are used, nor for a first layer in evaluation: its weights are those of the
next training step, so one product serves both.

With n nodes, d features (x of them stored in all), a and f entries of the two normalised graphs, h hidden channels, c
classes and p pairs drawn, where a matrix of e entries in n rows takes e values, e columns and n row starts, the passes
are:

1. **first product** XW: X, W, and its n·(h + 2) numbers written (the scores' columns included).
2. **first mix**: both graphs and that product read, n·h hidden states written.
3. **second product**: n·h read, the second W, n·(c + 2) written; the same again in evaluation.
4. **second mix**: both graphs and that product read, n·c logits written; the same again in evaluation.
5. **pretext**: the rows of the drawn pairs, at most all n of them, and the pairs with their targets.
6. **second mix, backward**: the gradient of n·c, the n·(c + 2) of the product, the given graph (its own transpose),
   the feature graph and its transpose; n·(c + 2) written.
7. **second product, backward**: that gradient and the n·h hidden states read, the gradient of n·h written.
8. **first mix, backward**: the gradient of n·h, the n·(h + 2) of the product and the graphs as above; n·(h + 2)
   written.
9. **first product, backward**: X and that gradient read, the gradient of W written.
10. **Adam**: four arrays of the parameters' size read (values, gradients, two moments) and three written. The
    parameters are d·(h + 2) + h·(c + 2) weights, the biases h + c + 4, and the h + 1 of the pretext task's head.

Where a graph is so small that its arrays stay in the caches, an epoch may take less than this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch_geometric.data import Data

from simpgcn.bench.measure import seconds
from simpgcn.config import Config
from simpgcn.data.features import density

BYTES = 4
# Three arrays of this many numbers each: larger than caches.
CPU_NUMBERS = 1 << 25
CUDA_NUMBERS = 1 << 28


class Sizes(NamedTuple):
    """What the byte count depends on."""

    nodes: int
    features: int
    stored_features: int
    edges: int
    feature_edges: int
    hidden: int
    classes: int
    pairs: int


def sizes(data: Data, config: Config) -> Sizes:
    """The sizes of a training: ``edges`` counts the added self-loops, ``stored_features`` the non-zeros.

    Args:
        data: A graph with its feature graph and pairs.
        config: The settings.
    """
    n, d = data.x.shape
    return Sizes(
        nodes=n,
        features=d,
        stored_features=round(density(data.x) * n * d),
        edges=data.edge_index.size(1) + n,
        feature_edges=data.feature_edge_index.size(1),
        hidden=config.model.hidden_channels,
        classes=int(data.y.max()) + 1,
        pairs=min(config.model.pretext_samples, data.pair_index.size(1)),
    )


def epoch_bytes(size: Sizes) -> dict[str, int]:
    """The bytes each pass of an epoch must move, by the pass's name; the module says why.

    >>> moved = epoch_bytes(Sizes(1000, 500, 20_000, 5000, 20_000, 128, 5, 5000))
    >>> moved["first mix"] == 4 * (2 * 5000 + 2 * 20_000 + 2 * 1000 + 1000 * 130 + 1000 * 128)
    True
    """
    n, d, stored, a, f, h, c, p = size
    x = min(n * d, 2 * stored + n)  # dense, where that is smaller
    graph, features = 2 * a + n, 2 * f + n
    wide, narrow = n * (h + 2), n * (c + 2)
    first, second = d * (h + 2), h * (c + 2)
    parameters = first + second + (h + c + 4) + (h + 1)
    numbers = {
        "first product": x + first + wide,
        "first mix": graph + features + wide + n * h,
        "second product": 2 * (n * h + second + narrow),
        "second mix": 2 * (graph + features + narrow + n * c),
        "pretext": min(2 * p, n) * h + 3 * p,
        "second mix, backward": n * c + narrow + graph + 2 * features + narrow,
        "second product, backward": narrow + n * h + n * h,
        "first mix, backward": n * h + wide + graph + 2 * features + wide,
        "first product, backward": x + wide + first,
        "Adam": 7 * parameters,
    }
    return {name: BYTES * count for name, count in numbers.items()}


def triad(device: torch.device, numbers: int | None = None) -> Callable[[], float]:
    """A measurement of the memory's bandwidth in bytes a second: a = b + 2 c over large arrays, counted as three.

    >>> triad(torch.device("cpu"), 1 << 16)() > 0
    True
    """
    count = numbers or (CUDA_NUMBERS if device.type == "cuda" else CPU_NUMBERS)
    a, b, c = (torch.ones(count, device=device) for _ in range(3))
    return lambda: 3 * BYTES * count / seconds(lambda: torch.add(b, c, alpha=2, out=a), device)
