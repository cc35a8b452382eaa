"""The figures on a report, against other ways to reach them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import softmax
from sklearn.metrics import confusion_matrix, recall_score
from torch_geometric.utils import degree, homophily

from simpgcn.report.calibration import reliability, uncalibrated
from simpgcn.report.comparison import comparison_facts, paired_test, same_nodes
from simpgcn.report.facts import run_facts
from simpgcn.report.node_arrays import node_arrays
from simpgcn.report.words import in_short
from simpgcn.similarity import overlap


@pytest.fixture(scope="module")
def run(make_record):
    return make_record()


@pytest.fixture(scope="module")
def facts(run):
    return run_facts(run)


def test_accuracy_is_counted_on_test_nodes(run, facts):
    mask = run.data.test_mask.numpy()
    y, predicted = run.labels[mask], run.predicted[mask]
    assert facts["test"]["count"] == mask.sum()
    assert facts["test"]["accuracy"] == pytest.approx((y == predicted).mean(), abs=1e-4)
    assert facts["test"]["low"] < facts["test"]["accuracy"] < facts["test"]["high"]
    assert facts["confusion"]["counts"] == confusion_matrix(y, predicted).tolist()
    recalls = [row["accuracy"] for row in facts["by_class"]]
    assert recalls == pytest.approx(recall_score(y, predicted, average=None), abs=1e-4)
    assert [row["class"] for row in facts["by_class"]] == run.class_names


def test_accuracy_by_degree(run, facts):
    mask = run.data.test_mask.numpy()
    links = degree(run.data.edge_index[0], run.num_nodes).numpy()[mask]
    hits = (run.labels == run.predicted)[mask]
    for row in facts["by_degree"]:
        low, _, high = row["links"].replace("+", "–9999").partition("–")
        inside = (links >= int(low)) & (links <= int(high or low))
        assert (row["count"], row["right"]) == (inside.sum(), hits[inside].sum())
    assert sum(row["count"] for row in facts["by_degree"]) == mask.sum()


def test_homophily_and_overlap(run, facts):
    known = run.labels >= 0
    for name, edges in (("homophily", run.data.edge_index), ("look_alike_homophily", run.data.feature_edge_index)):
        both = torch.from_numpy(known)[edges].all(dim=0)
        expected = homophily(edges[:, both], run.data.y, method="edge")
        assert facts["similarity"][name] == pytest.approx(expected, abs=1e-4)
    expected = overlap(run.data.feature_edge_index, run.data.edge_index)
    assert facts["similarity"]["overlap"] == pytest.approx(expected, abs=1e-4)
    assert facts["similarity"]["k"] == 20


def test_calibration_is_undone_exactly():
    logits = np.random.default_rng(0).normal(size=(50, 4))
    np.testing.assert_allclose(uncalibrated(softmax(logits / 1.7, axis=1), 1.7), softmax(logits, axis=1))


def test_reliability_counts_every_node_once():
    random = np.random.default_rng(0)
    sure, hits = random.random(200), random.random(200) < 0.5
    rows = reliability(sure, hits)
    assert sum(row["count"] for row in rows) == 200
    assert sum(row["count"] * row["accuracy"] for row in rows) == pytest.approx(hits.sum(), abs=0.05)
    assert sum(row["count"] * row["sure"] for row in rows) == pytest.approx(sure.sum(), abs=0.05)


def test_a_model_without_trust_says_so(make_record):
    facts = run_facts(make_record(trust=False, own=False))
    assert facts["trust"] is None
    assert not any("lean" in sentence for sentence in in_short(facts))
    assert facts["classes"] == ["class 0", "class 1", "class 2"]


def test_a_run_without_calibration_or_test_nodes_has_a_report(make_record):
    run = make_record()
    run.metrics.pop("calibration")
    facts = run_facts(run)
    assert facts["calibration"]["before"] is None
    assert facts["calibration"]["error_after"] > 0
    run.data.test_mask[:] = False
    facts = run_facts(run)
    assert facts["test"]["count"] == 0
    assert facts["calibration"]["error_after"] is None
    assert "no labelled test nodes" in in_short(facts)[0]


def test_links_are_the_graphs_and_the_strongest_look_alikes(run):
    arrays = node_arrays([run])
    n = run.num_nodes
    dense = torch.zeros(n, n, dtype=torch.bool)
    dense[run.data.edge_index[0], run.data.edge_index[1]] = True
    dense.fill_diagonal_(False)
    assert arrays["neighbour_total"].tolist() == dense.sum(dim=1).tolist()
    assert arrays["neighbour_kept"].max() <= 20
    starts = np.concatenate([[0], arrays["neighbour_kept"].astype(int).cumsum()])
    for node in range(n):
        others = arrays["neighbour_others"][starts[node] : starts[node + 1]]
        assert set(others) <= set(dense[node].nonzero().flatten().tolist())
        assert len(set(others)) == min(20, dense[node].sum())
    x = torch.nn.functional.normalize(run.data.x.to_dense())
    cosine = x @ x.T
    starts = np.concatenate([[0], arrays["alike_kept"].astype(int).cumsum()])
    for node in range(n):
        place = slice(starts[node], starts[node + 1])
        shown = arrays["alike_similarity"][place] / 1000
        assert (np.diff(shown) <= 0).all()
        np.testing.assert_allclose(shown, cosine[node, arrays["alike_others"][place].astype(int)], atol=6e-4)


def test_neighbours_count_by_their_label_or_else_by_their_prediction(run):
    arrays = node_arrays([run])
    taken_for = np.where(run.labels >= 0, run.labels, run.predicted)
    edges = run.data.edge_index[:, run.data.edge_index[0] != run.data.edge_index[1]].unique(dim=1).numpy()
    for node in range(0, run.num_nodes, 7):
        counts = np.bincount(taken_for[edges[1][edges[0] == node]], minlength=3)
        assert arrays["neighbour_top_count"][node] == counts.max()
        assert counts[arrays["neighbour_top"][node]] == counts.max()
        assert arrays["neighbour_agree"][node] == counts[run.predicted[node]]


def test_runs_are_compared_on_the_test_nodes_of_both(make_record):
    first, second, other = make_record(0), make_record(1), make_record(1, own=False)
    assert same_nodes(first, second)
    assert not same_nodes(first, other)
    tested, untested = comparison_facts([first, second, other])
    hits = [(run.predicted == run.labels)[first.test] for run in (first, second)]
    assert tested["test"] == paired_test(*hits)
    assert tested["test"]["only_first"] - tested["test"]["only_second"] == hits[0].sum() - hits[1].sum()
    assert tested["differ"] == (first.predicted != second.predicted).sum()
    assert untested["test"] is None
    assert "same nodes" in untested["why_not"]


def test_a_paired_test_sees_only_where_the_two_differ():
    # 1 against 9 of ten: two-sided, 2 · (1 + 10) / 2^10.
    first = np.array([True] * 1 + [False] * 9 + [True] * 50)
    second = ~first
    second[10:] = True
    assert paired_test(first, second)["p"] == pytest.approx(22 / 1024)
