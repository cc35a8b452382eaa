"""The doctor's note: its numbers against literal ones, its verdicts, and what it never looks at."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse
from torch_geometric.data import Data

from simpgcn import SimPGCNError, diagnose, load_dataset
from simpgcn.config import Config, parse_assignment
from simpgcn.data import apply_split, synthetic_graph, write_graph
from simpgcn.diagnosis import checks as quick
from simpgcn.diagnosis import note as notes
from simpgcn.diagnosis.checks import Checks, run_checks, sample_nodes
from simpgcn.diagnosis.facts import Agreement, Facts, agreement, graph_facts
from simpgcn.diagnosis.poisoning import signs_of_poisoning
from simpgcn.diagnosis.start import start_settings
from simpgcn.diagnosis.verdict import judge

ROOT = Path(__file__).parent.parent


def made(**changes):
    settings = {"num_nodes": 400, "num_classes": 4, "num_features": 120, "seed": 3, **changes}
    return apply_split(synthetic_graph(**settings), "made", "random", 0)


def right(**counts):
    """Checks that got the first so many of 400 nodes right."""
    return Checks(100, {name.replace("_", "-"): np.arange(400) < count for name, count in counts.items()})


def facts(links=0.5, look_alikes=0.2, label_rate=0.05):
    some = [Agreement(100, 0.5, 0.2, value) for value in (links, look_alikes)]
    return Facts(1000, 5000, 50, 4, 10.0, 9.0, 3, 100, 400, label_rate, 20, 60, *some, 0.01, 20, 1000)


def test_agreement_is_that_of_the_known_ends():
    edges = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]])
    y = torch.tensor([0, 0, 1, -1, 1])
    found = agreement(edges, y)
    # Known: 0-1 (0, 0), 1-2 (0, 1), 4-0 (1, 0), 0-2 (0, 1). Sources are 0, 0, 1, 0 and targets 0, 1, 0, 1.
    chance = 3 / 4 * 2 / 4 + 1 / 4 * 2 / 4
    assert found.edges == 4
    assert found.share == 1 / 4
    assert found.chance == pytest.approx(chance)
    assert found.adjusted == pytest.approx((1 / 4 - chance) / (1 - chance))


def test_agreement_of_one_class_has_nothing_above_chance():
    assert agreement(torch.tensor([[0, 1], [1, 0]]), torch.zeros(2, dtype=torch.long)).adjusted is None


def test_facts_of_a_tiny_graph():
    # A self-loop, a link given both ways, one given once, one given twice, and a node alone.
    edges = torch.tensor([[0, 0, 1, 1, 2, 2], [0, 1, 0, 2, 3, 3]])
    y = torch.tensor([0, 0, 1, 1, -1])
    train = torch.tensor([True, True, True, False, False])
    val = torch.tensor([False, False, False, True, False])
    alike = torch.tensor([[0, 1, 2], [1, 3, 4]])
    found = graph_facts(Data(x=torch.ones(5, 3), edge_index=edges, y=y, train_mask=train, val_mask=val), alike, 1, 5)
    assert (found.nodes, found.links, found.features, found.classes, found.isolated) == (5, 3, 3, 2, 1)
    assert (found.average_degree, found.median_degree) == (pytest.approx(6 / 5), 1.0)
    assert (found.train_nodes, found.val_nodes, found.label_rate) == (3, 1, 3 / 5)
    assert (found.smallest_class, found.largest_class) == (2, 2)
    assert found.homophily.edges == 3
    assert found.homophily.share == pytest.approx(2 / 3)
    assert found.homophily.chance == pytest.approx((3 / 6) ** 2 + (3 / 6) ** 2)
    assert (found.look_alikes.edges, found.look_alikes.share) == (2, 1 / 2)
    assert found.overlap == pytest.approx(1 / 3)


def test_lead_has_the_error_of_paired_answers():
    ours = np.array([1, 1, 1, 0, 0, 1, 1, 0], bool)
    theirs = np.array([1, 0, 0, 1, 0, 1, 0, 0], bool)
    ahead, error = Checks(1, {"a": ours, "b": theirs}).lead("a", "b")
    assert ahead == pytest.approx((3 - 1) / 8)
    assert error == pytest.approx(math.sqrt(3 + 1 + 1 - (3 - 1) ** 2 / 8) / 8)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_views_are_those_of_the_dense_products(kind):
    rng = np.random.default_rng(0)
    matrix = (rng.random((12, 12)) < 0.3) * rng.random((12, 12))
    x = (rng.random((12, 5)) < 0.5) * rng.random((12, 5))
    rows = np.array([3, 7, 1])
    found = quick._two_hops(sparse.csr_matrix(matrix), kind(x), rows)
    found = found.toarray() if sparse.issparse(found) else found
    np.testing.assert_allclose(found, (matrix @ matrix @ x)[rows])
    scaled = quick._at_unit_scale(kind(x))
    scaled = scaled.toarray() if sparse.issparse(scaled) else scaled
    np.testing.assert_allclose(scaled, x / np.sqrt((x**2).sum() / 12))


def test_checks_find_the_source_that_knows_the_class():
    """Features are noise, the links of one graph stay within a class and those of the other do not."""
    rng = np.random.default_rng(1)
    y = np.arange(200) % 2
    x = rng.standard_normal((200, 8)) + 0.4 * np.where(y, 1, -1)[:, None]
    within = sparse.csr_matrix((y[:, None] == y[None]) / 100)
    anyone = sparse.csr_matrix(np.full((200, 200), 1 / 200))
    train, val = np.arange(100), np.arange(100, 200)
    found = run_checks(x, within, anyone, y, train, val)
    assert found.accuracy("graph") == found.accuracy("together") == 1.0
    assert found.accuracy("look-alikes") <= 0.6
    assert 0.6 < found.accuracy("mlp") < 1.0
    assert run_checks(x, anyone, within, y, train, val).accuracy("look-alikes") == 1.0


def test_samples_hold_every_class():
    y = np.zeros(1000, dtype=int)
    y[[17, 500]] = [1, 2]
    found = sample_nodes(np.arange(1000), y, 50)
    assert len(found) == len(set(found.tolist())) == 50
    assert {17, 500} <= set(found.tolist())
    assert sample_nodes(np.arange(1000), y, 50).tolist() == found.tolist()


def test_unlike_links_are_counted_against_random_pairs():
    x = sparse.csr_matrix(np.repeat(np.eye(4), 50, axis=0))
    links = np.array([[0, 0, 50, 100], [1, 2, 51, 0]])
    found = signs_of_poisoning(x, links, np.full(200, -1), None)
    assert found.unlike_links == 1 / 4
    assert found.unlike_random == pytest.approx(150 / 199, abs=0.02)
    assert found.nothing_in_common
    assert (found.unlike_known, found.unlike_homophily, found.signs) == (0, None, False)


def test_links_put_in_between_unlike_nodes_are_noticed():
    clean = made(num_nodes=1500, homophily=0.85, average_degree=5, signal=0.5, words_per_node=6)
    assert not diagnose(clean, cache=False).poisoning.signs
    y = clean.y.numpy()
    words = clean.x.to_dense().numpy() > 0
    pairs = np.random.default_rng(0).integers(0, 1500, (2, 20000))
    unlike = ~(words[pairs[0]] & words[pairs[1]]).any(axis=1) & (y[pairs[0]] != y[pairs[1]])
    added = torch.from_numpy(pairs[:, unlike][:, :1500])
    clean.edge_index = torch.cat([clean.edge_index, added, added.flip(0)], dim=1)
    found = diagnose(clean, cache=False)
    assert found.poisoning.signs
    assert found.settings["model.structure_bias"] == 0


def test_useless_features_leave_little_to_gain():
    found = diagnose(made(num_nodes=1000, homophily=0.9, signal=0.0, average_degree=10), cache=False)
    assert found.verdict.words == "little to gain"
    assert found.settings["model.structure_bias"] == 2


@pytest.mark.parametrize(
    ("together", "graph", "look_alikes", "words", "sure"),
    [
        (360, 200, 0.2, "should help", "sure"),
        (214, 200, 0.2, "should help", "sure"),  # 14 won and none lost
        (205, 200, 0.2, "should help", "fairly sure"),
        (204, 200, 0.2, "may help", "unsure"),  # less than two standard errors
        (204, 200, 0.6, "should help", "fairly sure"),  # the same where look-alikes know the class better than links
        (202, 200, 0.6, "little to gain", "fairly sure"),
        (180, 200, 0.6, "little to gain", "sure"),
    ],
)
def test_verdict(together, graph, look_alikes, words, sure):
    found = judge(facts(0.5, look_alikes), right(together=together, graph=graph, mlp=100))
    assert (found.words, found.sure) == (words, sure)
    assert found.gain == pytest.approx((together - graph) / 400)


def test_few_nodes_leave_the_verdict_unsure():
    won, lost = np.arange(50) < 10, np.arange(50) >= 40
    found = judge(facts(), Checks(9, {"together": won, "graph": lost, "mlp": lost}))
    assert (found.words, found.sure, found.gain) == ("little to gain", "unsure", 0.0)


def test_verdict_names_the_mlp_where_features_alone_are_ahead():
    said = " ".join(judge(facts(), right(together=300, graph=200, mlp=310)).reasons)
    assert "--model mlp" in said
    assert "--model mlp" not in " ".join(judge(facts(), right(together=300, graph=200, mlp=300)).reasons)


def settings_of(poisoned=False, **counts):
    return {choice.setting: choice.value for choice in start_settings(facts(), right(**counts), poisoned)}


def test_start_settings():
    assert settings_of(graph=300, look_alikes=200, mlp=150) == {
        "model.structure_bias": 2,
        "model.self_loop_weight": 0.01,
        "model.pretext_weight": 50,
    }
    many = start_settings(facts(label_rate=0.5), right(graph=300, look_alikes=200, mlp=150), poisoned=False)
    assert [choice.value for choice in many] == [2, 0.1, 1]
    assert settings_of(graph=300, look_alikes=200, mlp=150, poisoned=True)["model.structure_bias"] == 0
    assert settings_of(graph=202, look_alikes=200, mlp=150)["model.structure_bias"] == 0
    assert settings_of(graph=202, look_alikes=200, mlp=203)["model.self_loop_weight"] == 0.1
    assert settings_of(graph=202, look_alikes=200, mlp=204)["model.self_loop_weight"] == 1


def test_start_settings_can_be_set():
    found = diagnose(made(), cache=False)
    config = Config()
    for setting, value in found.settings.items():
        config = config.replace(parse_assignment(f"{setting}={value}"))
    words = found.command(["my graph.npz", "--split", "1"]).split(" --set ")
    assert words[0] == "simpgcn train 'my graph.npz' --split 1"
    assert words[1:] == [f"{setting}={value}" for setting, value in found.settings.items()]


def test_test_labels_are_never_read(small):
    first = diagnose(small, cache=False).to_dict()
    hidden = ~(small.train_mask | small.val_mask)
    assert bool(hidden.any())
    small.y[hidden] = torch.randint(0, 9, (int(hidden.sum()),), generator=torch.Generator().manual_seed(0))
    small.test_mask = None
    assert diagnose(small, cache=False).to_dict() == first


@pytest.mark.parametrize("kind", ["words", "dense"])
def test_dense_and_sparse_features_say_the_same(kind):
    data = made(features=kind, num_features=60)
    other = data.clone()
    other.x = data.x.to_dense() if data.x.layout == torch.sparse_csr else data.x.to_sparse_csr()
    first, second = (diagnose(graph, cache=False).to_dict() for graph in (data, other))
    assert first == second


def test_without_links():
    data = made()
    data.edge_index = torch.empty(2, 0, dtype=torch.long)
    found = diagnose(data, cache=False)
    assert (found.facts.links, found.facts.isolated, found.facts.overlap) == (0, 400, 0.0)
    assert (found.facts.homophily.share, found.poisoning) == (None, None)
    assert "No link joins two nodes" in " ".join(found.verdict.reasons)


def test_without_validation_nodes(small):
    small.val_mask[:] = False
    found = diagnose(small, cache=False)
    assert found.checks is None
    assert (found.verdict.sure, found.verdict.gain) == ("unsure", None)
    assert "no validation nodes" in " ".join(found.verdict.reasons)
    json.dumps(found.to_dict())


def test_unlabelled_nodes_and_a_class_of_one():
    data = made()
    data.y[data.y == 3] = 0
    only = int(data.train_mask.nonzero()[0])
    data.y[only] = 3
    data.y[::3] = -1
    data.y[only] = 3
    found = diagnose(data, cache=False)
    assert found.facts.smallest_class == 1
    assert found.facts.train_nodes == int((data.train_mask & (data.y >= 0)).sum())


def test_few_nodes_have_few_look_alikes():
    data = Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([0, 1, 0, 1]))
    data.train_mask = torch.tensor([True, True, False, False])
    data.val_mask = ~data.train_mask
    found = diagnose(data, cache=False)
    assert found.settings["similarity.k"] == found.facts.k == 3


def test_large_graphs_are_sampled_and_it_is_said(monkeypatch):
    monkeypatch.setattr(notes, "MOST_SEARCHED", 200)
    monkeypatch.setattr(notes, "MOST_TRAINED", 50)
    monkeypatch.setattr(notes, "MOST_SCORED", 60)
    for kind in ("words", "dense"):
        found = diagnose(made(features=kind), cache=False)
        assert (found.checks.trained_on, found.checks.scored_on, found.facts.searched) == (50, 60, 200)
        said = " ".join(found.sampled)
        assert "50 of 240 training nodes" in said
        assert "60 of 80 validation nodes" in said
        assert "200 of 400 nodes" in said


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"y": None}, "data.y must hold one class number"),
        ({"y": torch.zeros(120)}, "data.y must hold one class number"),
        ({"train_mask": None}, "data.train_mask and data.val_mask must be one boolean per node"),
        ({"train_mask": torch.zeros(120, dtype=torch.bool)}, "the training nodes have no labels"),
        ({"y": torch.zeros(120, dtype=torch.long)}, "the training nodes have labels of one class only"),
        ({"x": None}, "the graph has no features"),
    ],
)
def test_errors(small, change, says):
    for name, value in change.items():
        small[name] = value
    with pytest.raises(SimPGCNError, match=says):
        diagnose(small, cache=False)


def test_json(simpgcn):
    code, out, err = simpgcn("diagnose", "homophily-0.2", "--split", "1", "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert list(answer) == [
        "dataset",
        "verdict",
        "facts",
        "checks",
        "poisoning",
        "start",
        "sampled",
        "command",
        "has_shipped_settings",
    ]
    assert list(answer["verdict"]) == ["words", "sure", "gain", "error", "reasons"]
    assert list(answer["checks"]["accuracy"]) == ["knn", "mlp", "graph", "look-alikes", "together"]
    assert set(answer["facts"]) == set(Facts._fields)
    assert answer["command"].startswith("simpgcn train homophily-0.2 --split 1 --set model.structure_bias=")
    data = load_dataset("homophily-0.2", split=1)
    expected = json.loads(json.dumps(diagnose(data).to_dict()))
    assert {key: answer[key] for key in expected} == expected


def test_screen_and_the_command_it_ends_with(simpgcn, small):
    write_graph(Path("own.npz"), small, {})
    code, out, err = simpgcn("diagnose", "own.npz")
    assert (code, err) == (0, "")
    assert "SimP-GCN: " in out
    assert "shipped" not in out
    words = out.strip().splitlines()[-1].split()
    assert words[:3] == ["simpgcn", "train", "own.npz"]
    code, out, err = simpgcn(*words[1:], "--set", "training.epochs=2", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["epochs"] == 2


TABLES = {
    "nodes.csv": "id,age,topic\n"
    + "".join(f"n{i},{i % 7 + 10 * (i % 2)},{'ab'[i % 2] if i < 30 else ''}\n" for i in range(40)),
    "edges.csv": "from,to\n" + "".join(f"n{i},n{(i + 2) % 40}\n" for i in range(40)),
}


def test_own_tables(simpgcn):
    for name, text in TABLES.items():
        Path(name).write_text(text)
    options = ["--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "topic", "--directed"]
    code, out, err = simpgcn("diagnose", *options, "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["dataset"] == "nodes.csv"
    assert (answer["facts"]["nodes"], answer["facts"]["classes"]) == (40, 2)
    assert answer["command"].startswith(f"simpgcn train {' '.join(options)} --set ")
    code, out, err = simpgcn(*answer["command"].split()[1:], "--set", "training.epochs=2", "--json")
    assert (code, err) == (0, "")
    code, out, err = simpgcn("diagnose", "cora", *options)
    assert (code, out) == (2, "")
    assert err == "simpgcn: diagnose cora or --nodes nodes.csv: give one of them\n"
    assert simpgcn("diagnose", "--edges", "edges.csv")[2].startswith("simpgcn: tables.edges is for a table of nodes")


def test_demo_should_be_helped(simpgcn):
    out = simpgcn("diagnose", "demo")[1]
    assert out.splitlines()[0].strip() == "demo, before training"
    assert float(re.search(r"SimP-GCN: should help \(sure: \+(\S+) points", out)[1]) > 20
    assert "model.self_loop_weight=1:" in out
    assert out.strip().endswith("simpgcn train demo alone takes the settings shipped for this graph.")


def test_unknown_dataset_is_one_sentence(simpgcn):
    code, out, err = simpgcn("diagnose", "core")
    assert (code, out) == (2, "")
    assert err.startswith("simpgcn: unknown dataset 'core': did you mean cora")
    assert "Traceback" not in err


def test_verdicts_agree_with_what_was_measured():
    """The benchmark's verdicts beside gains over GCN in test accuracy, which no rule was chosen by."""
    rows = json.loads((ROOT / "benchmarks/results/diagnose.json").read_text())["verdicts"]
    assert {"cora", "actor", "texas", "homophily-0.0", "homophily-1.0", "demo", "cora+metattack@0.25"} <= {
        row["graph"] for row in rows
    }
    for row in rows:
        if row["verdict"] == "should help":
            assert row["measured"] > 1, row["graph"]
        if row["verdict"] == "little to gain":
            assert row["measured"] < 1, row["graph"]


def test_start_settings_are_as_good_as_the_general_ones():
    starts = json.loads((ROOT / "benchmarks/results/diagnose.json").read_text())["starts"]
    if not starts:
        pytest.skip("not measured yet: run benchmarks/diagnose.py on an idle machine")
    for row in starts:
        assert row["gain"] >= -2 * row["error"], row["graph"]
    assert sum(row["gain"] for row in starts) > 0
