from __future__ import annotations

import pytest

from simpgcn.bench.graphs import SIZES, bench_graph, chosen_graphs
from simpgcn.data import load_dataset
from simpgcn.errors import SimPGCNError


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_made_up_graphs_have_the_size_of_those_they_imitate(name, mirror):
    made, real = bench_graph(f"{name}-sized")[0], load_dataset(name)
    assert made.x.shape == real.x.shape
    assert int(made.y.max()) == int(real.y.max())
    assert made.edge_index.size(1) == pytest.approx(real.edge_index.size(1), rel=0.02)
    assert made.x.values().numel() == pytest.approx(int(real.x.count_nonzero()), rel=0.05)
    assert made.train_mask.sum() == real.train_mask.sum()


def test_chosen_graphs(mirror):
    assert chosen_graphs(["pubmed", "tiny", "pubmed"], quick=True) == ["pubmed", "tiny"]
    assert set(chosen_graphs([], quick=False)) >= set(SIZES) - {"tiny"}
    load_dataset("cora")
    assert chosen_graphs([], quick=False)[-1] != "tiny"
    assert "cora" in chosen_graphs([], quick=False)
    with pytest.raises(SimPGCNError, match="did you mean cora"):
        chosen_graphs(["core"], quick=False)
