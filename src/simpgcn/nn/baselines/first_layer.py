"""Features as the first layer of PyG's models reads them, sparse where that is faster."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from simpgcn.data.features import as_csr, density, is_sparse, with_values

# Above this, torch's own sparse product, whose gradient sorts the matrix anew in every step, loses to the dense one:
# on a CPU, CiteSeer's (1%) takes a tenth of the dense time, PubMed's (10%) twice as long.
SPARSE_DENSITY = 0.03


def layer_features(x: Tensor) -> Tensor:
    """Features for a linear layer: CSR on a CPU where few are non-zero, dense otherwise.

    >>> import torch
    >>> layer_features(torch.eye(100)).layout, layer_features(torch.ones(2, 2)).layout
    (torch.sparse_csr, torch.strided)
    """
    return as_csr(x) if not x.is_cuda and density(x) < SPARSE_DENSITY else x.to_dense()


def drop_features(x: Tensor, p: float, training: bool) -> Tensor:
    """Dropout that leaves sparse features sparse: of a zero it makes no difference.

    >>> import torch
    >>> drop_features(torch.eye(3).to_sparse_csr(), 0.5, training=False).layout
    torch.sparse_csr
    """
    if not is_sparse(x):
        return F.dropout(x, p, training)
    return with_values(x, F.dropout(x.values(), p, training)) if training else x
