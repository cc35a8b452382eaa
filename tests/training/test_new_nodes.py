"""Nodes that come after training: against the formulas written out, and what must not change or matter."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import subgraph

from simpgcn import SimPGCNClassifier, SimPGCNError
from simpgcn.config import Config
from simpgcn.nn.registry import METHODS, find_method
from simpgcn.similarity.ties import tie_order
from simpgcn.training import model_inputs, predict, predict_new_nodes
from simpgcn.training.new_nodes import with_new_nodes

CPU = torch.device("cpu")
ABLE = [name for name, method in METHODS.items() if method.new_nodes]


def config_of(model: str = "simpgcn", **sections: dict) -> Config:
    config = Config().replace({"model_name": model, "similarity": {"k": 5}, **sections})
    return config.replace({"model": {"hidden_channels": 8}}) if hasattr(config.model, "hidden_channels") else config


def build(config: Config, known: Data) -> torch.nn.Module:
    torch.manual_seed(0)
    return find_method(config.model_name).build(known.x.size(1), 3, config.model).eval()


def parted(small: Data, new: int) -> tuple[Data, Data]:
    """The graph without its last nodes, and these with their edges, numbered as they were."""
    n = small.num_nodes - new
    x = small.x.to_dense()
    index, _ = subgraph(torch.arange(n), small.edge_index, num_nodes=small.num_nodes)
    known = Data(x=x[:n], edge_index=index, y=small.y[:n], train_mask=small.train_mask[:n], val_mask=small.val_mask[:n])
    return known, Data(x=x[n:], edge_index=small.edge_index)


def predicted(config: Config, known: Data, new: Data) -> np.ndarray:
    return predict_new_nodes(build(config, known), known, new, config, CPU, cache=False).logits


def dense_propagation(edges: list[tuple[int, int, float]], n: int, *, loops: bool) -> np.ndarray:
    a = np.eye(n) if loops else np.zeros((n, n))
    for i, j, weight in edges:
        a[i, j] += weight
    degree = a.sum(axis=1)
    return a / np.sqrt(np.where(degree == 0, 1, degree))[:, None] / np.sqrt(np.where(degree == 0, 1, degree))[None, :]


@pytest.mark.parametrize("weighted", [False, True])
def test_a_node_taken_out_and_put_back_is_the_formula_written_out(small, weighted):
    """Known nodes keep their degrees and look-alikes; the new one has its own row in both matrices."""
    known, new = parted(small, 1)
    n, x = 119, small.x.to_dense().double().numpy()
    if weighted:
        known.edge_weight = torch.rand(known.num_edges)
        new.edge_weight = torch.rand(new.edge_index.size(1))
    config = config_of()
    model = build(config, known)

    present = (x != 0).astype(float)
    unit = present / np.sqrt(present.sum(axis=1, keepdims=True))
    cosine = (unit @ unit[:n].T).astype(np.float32)
    np.fill_diagonal(cosine, -1)
    alike = []
    for i in range(n + 1):
        order = np.lexsort((tie_order(torch.full((n,), i), torch.arange(n), 0).numpy(), -cosine[i]))[:5]
        alike += [(i, j, float(cosine[i, j])) for j in order if cosine[i, j] > 0]
    given = []
    for graph, mine in ((known, lambda i: True), (new, lambda i: i == n)):
        weights = graph.edge_weight.tolist() if weighted else [1.0] * graph.edge_index.size(1)
        given += [(i, j, w) for (i, j), w in zip(graph.edge_index.T.tolist(), weights, strict=True) if mine(i)]
    structure, features = dense_propagation(given, n + 1, loops=True), dense_propagation(alike, n + 1, loops=False)

    h = x / x.sum(axis=1, keepdims=True)
    for layer, conv in enumerate(model.convs):
        p = {name: value.detach().double().numpy() for name, value in conv.named_parameters()}
        s = 1 / (1 + np.exp(-(h @ p["score_weight"] + p["score_bias"])))
        loop = 0.1 * (h @ p["self_loop_score_weight"] + p["self_loop_score_bias"])
        z = h @ p["weight"]
        h = s * (structure @ z + p["bias"]) + (1 - s) * (features @ z + p["bias"]) + loop * (z + p["bias"])
        h = np.maximum(h, 0) if layer == 0 else h
    found = predict_new_nodes(model, known, new, config, CPU, cache=False)
    np.testing.assert_allclose(found.logits, h[n:], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.trust[0, 1], [s[n, 0], 1 - s[n, 0], loop[n, 0]], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("model", ABLE)
def test_known_nodes_do_not_change(small, model):
    known, new = parted(small, 20)
    config = config_of(model)
    net = build(config, known)
    before = predict(net, model_inputs(known, config, CPU, cache=False)[0])
    graph = with_new_nodes(known, new, config, CPU, cache=False)
    after = predict(net, find_method(model).inputs(graph, config.model))
    np.testing.assert_allclose(after.logits[:100], before.logits, rtol=1e-5, atol=1e-6)
    alone = predict_new_nodes(net, known, new, config, CPU, cache=False).logits
    np.testing.assert_array_equal(alone, after.logits[100:])
    assert np.isfinite(alone).all()


def test_models_that_cannot_say_so(small):
    known, new = parted(small, 20)
    for model in set(METHODS) - set(ABLE):
        with pytest.raises(SimPGCNError, match="cannot predict for new nodes"):
            with_new_nodes(known, new, config_of(model), CPU, cache=False)


def test_the_order_of_new_nodes_does_not_matter(small):
    known, new = parted(small, 20)
    order = torch.randperm(20)
    place = torch.cat([torch.arange(100), 100 + order.argsort()])
    shuffled = Data(x=new.x[order], edge_index=place[new.edge_index])
    config = config_of()
    np.testing.assert_allclose(
        predicted(config, known, shuffled), predicted(config, known, new)[order], rtol=1e-5, atol=1e-6
    )


def test_together_or_one_at_a_time(small):
    """Without edges among them, new nodes do not know of each other."""
    known, new = parted(small, 20)
    index = new.edge_index[:, (new.edge_index < 100).any(dim=0)]
    config = config_of()
    together = predicted(config, known, Data(x=new.x, edge_index=index))
    for i in range(20):
        mine = torch.where(index == 100 + i, 100, index)[:, (index[0] == 100 + i)]
        alone = predicted(config, known, Data(x=new.x[i : i + 1], edge_index=mine))
        np.testing.assert_allclose(alone[0], together[i], rtol=1e-5, atol=1e-6)


def test_new_nodes_hear_of_each_other_and_known_ones_of_none(small):
    known, new = parted(small, 2)
    config = config_of()
    link = torch.tensor([[118, 119], [119, 118]])
    apart = predicted(config, known, Data(x=new.x, edge_index=torch.empty(2, 0, dtype=torch.long)))
    linked = predicted(config, known, Data(x=new.x, edge_index=link))
    assert (np.abs(linked - apart).max(axis=1) > 1e-4).all()
    one_way = predicted(config, known, Data(x=new.x, edge_index=link[:, :1]))
    np.testing.assert_allclose(one_way[1], apart[1], rtol=1e-5, atol=1e-6)
    from_known = torch.cat([torch.tensor([[0, 1], [118, 2]]), link], dim=1)  # left out, both of them
    np.testing.assert_array_equal(predicted(config, known, Data(x=new.x, edge_index=from_known)), linked)


def test_nodes_with_nothing_in_common(small):
    known, _ = parted(small, 1)
    new = Data(x=torch.zeros(2, 60), edge_index=torch.tensor([[120], [3]]))
    graph = with_new_nodes(known, new, config_of(), CPU, cache=False)
    assert not (graph.feature_edge_index >= 119).any()
    assert np.isfinite(predicted(config_of(), known, new)).all()


def test_what_is_auto_is_decided_by_the_known_nodes(small):
    """A batch of dense features with negative ones among known words: still compared and scaled as words are."""
    known, _ = parted(small, 1)
    new = Data(x=torch.randn(400, 60), edge_index=torch.empty(2, 0, dtype=torch.long))
    auto = with_new_nodes(known, new, config_of(), CPU, cache=False)
    chosen = {"similarity": {"k": 5, "binarize": "always"}, "data": {"normalize_features": "always"}}
    said = with_new_nodes(known, new, config_of(**chosen), CPU, cache=False)
    assert torch.equal(auto.x, said.x)
    assert torch.equal(auto.feature_edge_index, said.feature_edge_index)
    torch.testing.assert_close(auto.x[119:].abs().sum(dim=1), torch.ones(400))
    plain = with_new_nodes(known, new, config_of(data={"normalize_features": "never"}), CPU, cache=False)
    assert torch.equal(plain.x[119:], new.x)


def test_features_may_be_stored_in_any_way(small):
    known, new = parted(small, 20)
    config = config_of()
    expected = predicted(config, known, new)
    for layouts in ((True, False), (False, True), (True, True)):
        graphs = [
            Data(x=g.x.to_sparse_csr() if s else g.x.double(), edge_index=g.edge_index)
            for g, s in zip((known, new), layouts, strict=True)
        ]
        np.testing.assert_allclose(predicted(config, *graphs), expected, rtol=1e-4, atol=1e-6)


def test_mistakes_are_told(small):
    known, new = parted(small, 2)
    wrong = {
        "have 30 features, but the known ones have 60": Data(x=new.x[:, :30], edge_index=new.edge_index),
        "goes from node 118 to node 500": Data(x=new.x, edge_index=torch.tensor([[118], [500]])),
        "NaN": Data(x=new.x / 0 * 0, edge_index=new.edge_index),
        "no new nodes": Data(x=new.x[:0], edge_index=new.edge_index),
    }
    for words, graph in wrong.items():
        with pytest.raises(SimPGCNError, match=words):
            with_new_nodes(known, graph, config_of(), CPU, cache=False)


def test_the_classifier_predicts_new_nodes(small, tmp_path):
    known, new = parted(small, 20)
    clf = SimPGCNClassifier(hidden_channels=8, epochs=15, lr=0.05, k=5, pretext_samples=200, cache=False, device="cpu")
    before = clf.fit(known).predict_proba(known)
    found = clf.predict_new(known, new)
    assert found.probabilities.shape == (20, 3)
    assert found.temperature == clf.temperature_
    np.testing.assert_allclose(found.shares.sum(axis=1), 1, rtol=1e-6)
    assert (found.predicted == small.y[100:].numpy()).mean() > 0.5
    np.testing.assert_array_equal(clf.predict_proba(known), before)
    clf.save(tmp_path / "run")
    again = SimPGCNClassifier.load(tmp_path / "run", device="cpu").predict_new(known, new)
    np.testing.assert_array_equal(again.probabilities, found.probabilities)
