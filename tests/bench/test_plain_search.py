from __future__ import annotations

import numpy as np

from simpgcn.bench.contestants import with_feature_graph
from simpgcn.bench.plain_search import scikit_argsort, scikit_nearest
from simpgcn.config import Config
from simpgcn.data import synthetic_graph


def test_they_find_what_ours_finds():
    # dense vectors, whose similarities have no ties
    data = synthetic_graph(150, 3, average_degree=4, features="dense", num_features=12)
    found = with_feature_graph(data, Config(), cache=False)
    nearest, pairs = scikit_argsort(data, Config())
    own = np.zeros((150, 150), dtype=bool)
    own[found.feature_edge_index[0], found.feature_edge_index[1]] = True
    for other in (nearest, scikit_nearest(data, Config())):
        assert own[np.arange(150)[:, None], other].all()
        assert own.sum() == other.size
    assert np.array_equal(pairs, found.pair_index.numpy())
