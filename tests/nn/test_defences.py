"""Each defence against a dense transcription of what its paper says."""

from __future__ import annotations

import os
from contextlib import suppress

import pytest
import torch
from filelock import FileLock, Timeout
from torch.nn import functional as F

from simpgcn.data import load_dataset
from simpgcn.errors import SimPGCNError
from simpgcn.nn.baselines.gcn import GCNSettings
from simpgcn.nn.defences import pro_gnn
from simpgcn.nn.defences.filtered_gcn import FilteredGCN
from simpgcn.nn.defences.jaccard import drop_dissimilar, jaccard_similarity
from simpgcn.nn.defences.pro_gnn import LowRankPart, ProGNNSettings, ScaledGraph, learn_graph
from simpgcn.nn.defences.svd import low_rank_propagation
from simpgcn.nn.registry import METHODS


def adjacency(data):
    a = torch.zeros(data.num_nodes, data.num_nodes)
    a[tuple(data.edge_index)] = 1
    return a


def normalized(a):
    scale = (a.sum(1) + 1).rsqrt()
    return scale[:, None] * (a + torch.eye(len(a))) * scale


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_jaccard_counts_words(small, layout):
    has = small.x.to_dense() != 0
    expected = [(has[u] & has[v]).sum() / max(1, int((has[u] | has[v]).sum())) for u, v in small.edge_index.T.tolist()]
    x = small.x.to_dense() if layout == "dense" else small.x.to_dense().to_sparse_csr()
    torch.testing.assert_close(jaccard_similarity(x, small.edge_index), torch.tensor(expected))


def test_jaccard_drops_edges_and_their_weights(small):
    small.edge_weight = torch.arange(small.num_edges).float()
    edges = small.edge_index.clone()
    kept = jaccard_similarity(small.x, edges) >= 0.1
    assert 0 < int(kept.sum()) < small.num_edges
    dropped = drop_dissimilar(small, 0.1)
    assert torch.equal(dropped.edge_index, edges[:, kept])
    assert torch.equal(dropped.edge_weight, small.edge_weight[kept])
    assert torch.equal(small.edge_index, edges)  # the graph given is left alone


def test_jaccard_finds_what_metattack_added(mirror):
    """Metattack links unlike nodes."""
    clean, attacked = load_dataset("cora-prognn"), load_dataset("cora+metattack@0.25")
    before = {tuple(edge) for edge in clean.edge_index.T.tolist()}
    dropped = jaccard_similarity(attacked.x, attacked.edge_index) < 0.01
    own = torch.tensor([tuple(edge) not in before for edge in attacked.edge_index.T.tolist()])
    assert own[dropped].float().mean() > 2 * own[~dropped].float().mean()


def test_svd_is_the_best_approximation(small):
    a = adjacency(small)
    u, s, v = torch.linalg.svd(a)
    expected = normalized((u[:, :10] * s[:10]) @ v[:10])
    found = low_rank_propagation(small, 10) @ torch.eye(120)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-3)
    with pytest.raises(SimPGCNError, match=r"model.rank must be at least 1 and below the number of nodes, 120"):
        low_rank_propagation(small, 120)


def test_filtered_gcn_is_a_gcn(small):
    model = FilteredGCN(60, 3, GCNSettings(hidden_channels=8)).eval()
    x, p = small.x.to_dense(), normalized(adjacency(small))
    hidden = F.relu(p @ x @ model.weights[0] + model.biases[0])
    expected = p @ hidden @ model.weights[1] + model.biases[1]
    torch.testing.assert_close(model(x, ScaledGraph(adjacency(small))), expected, atol=1e-5, rtol=1e-4)


def test_low_rank_step_shrinks_singular_values(small):
    a = adjacency(small)
    u, s, v = torch.linalg.svd(a)
    prox = LowRankPart(a, 120)
    torch.testing.assert_close(prox(a, 0.5), (u * (s - 0.5).clamp(min=0)) @ v, atol=1e-4, rtol=1e-3)
    few = LowRankPart(a, 30)
    for _ in range(200):
        found = few(a, 0.5)
    share = 1 - 0.5 / s[30:].square().mean().sqrt()
    shrunk = torch.cat([s[:30] - 0.5, share.clamp(min=0) * s[30:]])
    torch.testing.assert_close(found, (u * shrunk) @ v, atol=0.02, rtol=0)


def test_first_step_of_pro_gnn_in_its_own_words(small):
    """S <- prox(S - lr grad): at S = A the distance pulls nowhere, and classes and smoothness give the gradient."""
    x, a = small.x.to_dense(), adjacency(small)
    settings = ProGNNSettings(rank=120, graph_steps=1, dropout=0.0, graph_lr=0.5, smooth_weight=0.1)
    found = learn_graph(x, small.edge_index, small.y, small.train_mask, small.val_mask, settings)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        gcn = FilteredGCN(60, 3, settings)
    s = a.clone().requires_grad_()
    loss = F.cross_entropy(gcn(x, normalized(s))[small.train_mask], small.y[small.train_mask])
    d = s.sum(1) + 1e-3
    laplacian = torch.eye(120) - d.rsqrt()[:, None] * s * d.rsqrt()
    gradient = torch.autograd.grad(loss + 0.1 * torch.trace(x.T @ laplacian @ x), s)[0]
    u, values, v = torch.linalg.svd(a - 0.5 * (gradient + gradient.T) / 2)
    expected = F.softshrink((u * (values - 0.75).clamp(min=0)) @ v, 0.5 * 5e-4).clamp(0, 1)
    torch.testing.assert_close(found, expected, atol=2e-3, rtol=0)


def test_runs_of_one_graph_share_what_was_learned_and_others_do_not(small, monkeypatch):
    learned = []

    def counting(*arguments):
        learned.append(1)
        return learn_graph(*arguments)

    monkeypatch.setattr(pro_gnn, "learn_graph", counting)
    settings = ProGNNSettings(rank=10, graph_steps=2)
    first = METHODS["pro-gnn"].inputs(small, settings)
    assert METHODS["pro-gnn"].inputs(small, settings)[1] is first[1]
    small.edge_index = small.edge_index[:, 2:]
    METHODS["pro-gnn"].inputs(small, settings)
    METHODS["pro-gnn"].inputs(small, ProGNNSettings(rank=11, graph_steps=2))
    assert len(learned) == 3


def test_pro_gnn_says_when_a_graph_is_too_large(small, monkeypatch):
    monkeypatch.setattr(pro_gnn._Learned, "key", None)
    monkeypatch.setattr(pro_gnn, "MATRICES", 10**9)
    with pytest.raises(
        SimPGCNError, match=r"pro-gnn learns a dense graph: 120 nodes take about 57600 GB and the cpu has"
    ):
        METHODS["pro-gnn"].inputs(small, ProGNNSettings(rank=10, graph_steps=2))


@pytest.mark.parametrize("share", [0.9, 0.1])
def test_large_graphs_are_learned_by_turns(small, monkeypatch, tmp_path, share):
    """Two that do not fit side by side wait for each other; small ones do not."""
    monkeypatch.setenv("SIMPGCN_DATA", str(tmp_path))
    monkeypatch.setattr(pro_gnn._Learned, "key", None)
    monkeypatch.setattr(pro_gnn.os, "cpu_count", lambda: 2)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    monkeypatch.setattr(pro_gnn, "MATRICES", share * memory / (4 * 120**2))
    others = []

    def learned(x, *given):
        with suppress(Timeout), FileLock(tmp_path / "pro-gnn.lock", timeout=0):
            others.append("may learn, too")
        return torch.ones(120, 120)

    monkeypatch.setattr(pro_gnn, "learn_graph", learned)
    METHODS["pro-gnn"].inputs(small, ProGNNSettings(rank=10, graph_steps=2))
    assert others == ([] if share > 0.5 else ["may learn, too"])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_pro_gnn_holds_few_matrices_of_the_graphs_size():
    n = 3000
    edges = torch.randint(n, (2, 5 * n), device="cuda")
    x, y = torch.rand(n, 10, device="cuda"), torch.arange(n, device="cuda") % 3
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    learn_graph(x, edges, y, y == 0, y == 1, ProGNNSettings(rank=20, graph_steps=3))
    assert torch.cuda.max_memory_allocated() - before < pro_gnn.MATRICES * 4 * n**2


def test_the_graph_moves_without_dropout(small):
    """Where its GCN is not trained, dropout has nothing to change."""
    given = small.x.to_dense(), small.edge_index, small.y, small.train_mask, small.val_mask
    graphs = [learn_graph(*given, ProGNNSettings(rank=20, graph_steps=2, inner_steps=0, dropout=p)) for p in (0.0, 0.9)]
    assert torch.equal(*graphs)
    trained = [learn_graph(*given, ProGNNSettings(rank=20, graph_steps=2, dropout=p)) for p in (0.0, 0.9)]
    assert not torch.equal(*trained)


def test_the_graph_that_validates_best_is_kept():
    """Two cliques of a class each, features of noise, and a nuclear norm that leaves nothing of them in the end."""
    n = 20
    y = torch.arange(n) // 10
    edges = ((y[:, None] == y) & ~torch.eye(n, dtype=torch.bool)).nonzero().T
    x = torch.rand(n, 8, generator=torch.Generator().manual_seed(0))
    parts = torch.arange(n) % 2 == 0
    settings = ProGNNSettings(rank=n, graph_steps=60, low_rank_weight=30, smooth_weight=0, inner_lr=0.01, dropout=0.0)
    kept = learn_graph(x, edges, y, parts, ~parts, settings)
    assert kept[y[:, None] == y].mean() > 0.1
    # With validation labels that the cliques speak against, the graph goes.
    turned = torch.where(parts, y, 1 - y)
    assert learn_graph(x, edges, turned, parts, ~parts, settings).mean() < kept.mean()
