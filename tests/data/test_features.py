from __future__ import annotations

import pytest
import torch

from simpgcn.data import row_normalize
from simpgcn.data.features import compact, is_sparse


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_sum_to_one(sparse):
    # sums below 1 must grow to 1 too, and rows must not be shifted by the smallest entry
    x = torch.tensor([[0.1, 0.1, 0.0], [3.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    given = x.to_sparse_csr() if sparse else x.clone()
    out = row_normalize(given)
    torch.testing.assert_close(out.to_dense(), torch.tensor([[0.5, 0.5, 0], [0.75, 0, 0.25], [0, 0, 0]]))
    assert torch.equal(given.to_dense(), x)
    assert is_sparse(out) == sparse


def test_signed_features_are_left_alone_unless_asked():
    x = torch.tensor([[1.0, -3.0]])
    assert row_normalize(x) is x
    assert row_normalize(x, "always").tolist() == [[0.25, -0.75]]
    assert row_normalize(x.abs(), "never").tolist() == [[1.0, 3.0]]


def test_compact_keeps_the_numbers():
    few, many = torch.eye(20), torch.rand(20, 20)
    assert compact(few).layout == torch.sparse_csr
    assert compact(many) is many
    assert torch.equal(compact(few.to_sparse_coo()).to_dense(), few)
    assert torch.equal(compact(many.to_sparse_csr()), many)
