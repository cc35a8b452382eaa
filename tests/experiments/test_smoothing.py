"""The paper's Lemma 1 on random graphs, with every matrix written out."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.utils import to_undirected

from simpgcn.data import load_dataset
from simpgcn.experiments.smoothing import descent_step, lemma_error, roughness, smoothness
from simpgcn.nn import structure_propagation

graphs = given(n=st.integers(2, 20), edges=st.integers(0, 60), d=st.integers(1, 4), seed=st.integers(0, 10_000))


def drawn(n, edges, d, seed):
    torch.manual_seed(seed)
    index = torch.randint(n, (2, edges))
    index = to_undirected(index[:, index[0] != index[1]], num_nodes=n)
    return index, torch.randn(n, d, dtype=torch.float64), structure_propagation(index, n, dtype=torch.float64)


@settings(max_examples=40, deadline=None)
@graphs
def test_one_step_of_descent_is_the_graph_convolution(n, edges, d, seed):
    _, f, structure = drawn(n, edges, d, seed)
    dense = structure.matrix.to_dense()
    torch.testing.assert_close(descent_step(f, structure), dense @ f)
    # and for another c it is what the proof says on the way there
    laplacian = torch.eye(n, dtype=torch.float64) - dense
    torch.testing.assert_close(descent_step(f, structure, 0.8), f - 2 * 0.8 * laplacian @ f)


@settings(max_examples=40, deadline=None)
@graphs
def test_smoothness_is_the_sum_over_edges_and_falls(n, edges, d, seed):
    index, f, structure = drawn(n, edges, d, seed)
    scaled = f / (1 + torch.bincount(index[0], minlength=n)).double().sqrt().unsqueeze(1)
    by_edges = 0.5 * (scaled[index[0]] - scaled[index[1]]).square().sum()
    torch.testing.assert_close(smoothness(f, structure), by_edges, atol=1e-9, rtol=1e-9)
    assert smoothness(structure @ f, structure) <= smoothness(f, structure) + 1e-9


def test_on_a_whole_graph():
    data = load_dataset("demo")
    assert lemma_error(data) < 1e-12
    assert lemma_error(data, c=0.4) > 0.01
    values = [roughness(data, times) for times in range(4)]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(float(smoothness(*_normed(data))))


def _normed(data):
    x = data.x.double()
    return x / x.norm(), structure_propagation(data.edge_index, data.num_nodes, dtype=torch.float64)
