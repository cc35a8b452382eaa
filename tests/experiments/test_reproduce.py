from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.metrics import pairwise_distances
from torch.nn import functional as F

from simpgcn import runs
from simpgcn.config import Config
from simpgcn.data import load_dataset
from simpgcn.errors import SimPGCNError
from simpgcn.experiments import figures, measures, reproduce, runner, search
from simpgcn.experiments.compare import run_configs
from simpgcn.experiments.experiment import parse_experiment
from simpgcn.experiments.layer_scores import node_scores
from simpgcn.experiments.overlaps import hidden_states, neighbor_graph, run_overlap
from simpgcn.experiments.runner import Outcome, run_all, run_folder
from simpgcn.experiments.study_figures import STUDY_PICTURES
from simpgcn.training import load_graph, model_inputs

QUICK = {"training": {"epochs": 2}, "model": {"hidden_channels": 4}}
TINY = {
    "metadata": {"title": "Table T", "what": "accuracy & <more>", "where": "nowhere"},
    "datasets": ["demo"],
    "measure": {"name": "accuracy"},
    "changes": QUICK,
    "rows": {
        "gcn": {"model": "gcn", "label": "GCN*", "paper": [56.0]},
        "simpgcn": {"model": "simpgcn", "paper": [90.0]},
        "nodes": {"measure": {"name": "statistic", "of": "nodes"}, "paper": [2000]},
    },
    "claims": [{"says": "SimP-GCN improves GCN.", "higher": "simpgcn", "than": ["gcn"]}],
    "departures": ["Two epochs."],
}


@pytest.fixture
def experiments(monkeypatch):
    """Stand in for the shipped experiments."""

    def use(**contents):
        monkeypatch.setattr(reproduce, "experiment_names", lambda: list(contents))
        monkeypatch.setattr(reproduce, "load_experiment", lambda name: parse_experiment(name, contents[name]))

    return use


def run(tmp_path, names=("all",), count=2, rows=()):
    return reproduce.reproduce(list(names), tmp_path, count=count, rows=rows, device="cpu", workers=1)


def counting(monkeypatch):
    made, train = [], runner.train_runs
    monkeypatch.setattr(runner, "train_runs", lambda c, f: made.extend(c) or train(c, f))
    return made


def test_cells_are_those_of_the_runs_and_nothing_is_run_twice(tmp_path, monkeypatch, experiments):
    again = {**TINY, "metadata": {**TINY["metadata"], "title": "Table U"}}
    experiments(t=TINY, u=again)
    made = counting(monkeypatch)
    (t, u) = run(tmp_path)
    assert len(made) == len(set(made)) == 4
    assert t["cells"] == u["cells"]
    cells = {cell["row"]: cell for cell in t["cells"]}
    wanted = [
        100 * runs.read_metrics(run_folder(tmp_path / "runs", config))["test_accuracy"]
        for config in run_configs("demo", "gcn", 2, {**QUICK, "training": {"epochs": 2, "device": "cpu"}})
    ]
    assert cells["gcn"]["values"] == wanted
    assert (cells["nodes"]["values"], cells["nodes"]["colour"]) == ([2000.0], "green")
    assert (t["made"]["trained"], t["made"]["found"], t["made"]["quick"]) == (4, 0, True)
    first = t["made"]
    (t,) = run(tmp_path, ["t"])
    assert (t["made"]["trained"], t["made"]["found"], len(made)) == (0, 4, 4)
    assert t["made_before"] == [first]  # what its runs took is not forgotten
    assert run(tmp_path, ["t"])[0]["made_before"] == [first]
    assert run(tmp_path, ["t"], count=3)[0]["made"]["trained"] == 2


def test_it_goes_on_after_a_kill(tmp_path, monkeypatch, experiments):
    experiments(t=TINY)
    whole = run(tmp_path / "whole")[0]["cells"]
    train, calls = runner.train_runs, []

    def killed(configs, folders):
        calls.append(configs)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return train(configs, folders)

    monkeypatch.setattr(runner, "train_runs", killed)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "killed")
    assert not (tmp_path / "killed" / "README.md").exists()
    (table,) = run(tmp_path / "killed")
    assert table["cells"] == whole
    assert table["made"]["found"] == len(calls[0])


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.sources = [], []

    def handle_starttag(self, tag, attrs):
        self.sources += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_has_everything_and_needs_nothing(tmp_path, experiments):
    experiments(t=TINY, u={**TINY, "metadata": {**TINY["metadata"], "title": "Table U"}})
    run(tmp_path, ["t"])
    run(tmp_path, ["u"])  # what was there stays
    page, text = (tmp_path / "index.html").read_text(), (tmp_path / "README.md").read_text()
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert all(source.startswith(("data:", "#")) for source in tags.sources)
    for title, anchor in (("Table T", "table-t"), ("Table U", "table-u")):
        assert f'<h2 id="{anchor}">{title}</h2>' in page
        assert f"## {title}" in text
    assert "accuracy &amp; &lt;more&gt;" in page
    assert r"GCN\*" in text
    (cell,) = (c for c in json.loads((tmp_path / "t.json").read_text())["cells"] if c["row"] == "gcn")
    assert f"{cell['mean']:.2f} ± {cell['sd']:.2f} (56)" in page
    assert f"{cell['mean']:.2f} ± {cell['sd']:.2f} (56)" in text
    for word in ("Two epochs.", "SimP-GCN improves GCN.", "torch ", "cores", "A quick look"):
        assert word in page
        assert word in text
    (tmp_path / "t.json").write_text("{")
    with pytest.raises(SimPGCNError, match=r"t\.json is damaged"):
        run(tmp_path, ["u"])


def test_what_is_not_run_again_stays_in_todays_words(tmp_path, experiments):
    """Numbers as measured, words as the experiment's file has them; other experiments are not touched."""
    other = {**TINY, "metadata": {**TINY["metadata"], "title": "Table U"}}
    experiments(t=TINY, u=other)
    run(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in ("t.json", "u.json")}
    stale = json.loads(before["t.json"])
    for cell in stale["cells"]:
        cell["values"] = [12.33, 12.35]
    stale |= {"departures": ["Old words."], "claims": []}
    (tmp_path / "t.json").write_text(json.dumps(stale))
    now = {**TINY, "datasets": ["demo", "homophily-0.5"], "departures": ["New words."]}
    for row in ("gcn", "simpgcn", "nodes"):
        now = {**now, "rows": {**now["rows"], row: {**now["rows"][row], "paper": [1.0, 1.0]}}}
    experiments(t=now, u=other)
    run(tmp_path, ["u"])
    text = (tmp_path / "README.md").read_text()
    section = text[text.index("## Table T") : text.index("## Table U")]
    assert "12.34 ± 0.01 (1)" in section  # judged anew
    assert "New words." in section
    assert "Old words." not in section
    assert "Not run here: homophily 0.5." in section
    assert "SimP-GCN improves GCN." in section
    assert json.loads((tmp_path / "t.json").read_text()) == stale
    experiments(t={**TINY, "rows": {**TINY["rows"], "more": TINY["rows"]["gcn"]}}, u=other)
    run(tmp_path, ["u"])
    assert "Old words." in (tmp_path / "README.md").read_text()  # another form of it: nothing of it is known


def test_a_row_may_have_more_runs_than_the_others(tmp_path, experiments, monkeypatch):
    more = {**TINY["rows"]["gcn"], "measure": {"name": "accuracy", "runs": 3}}
    experiments(t={**TINY, "rows": {**TINY["rows"], "gcn": more}})
    monkeypatch.setattr(measures, "RUNS", 2)
    (table,) = run(tmp_path)
    assert [cell["runs"] for cell in table["cells"]] == [3, 2, 1]
    assert "2 runs a cell; 3 for GCN" in (tmp_path / "README.md").read_text()
    monkeypatch.setattr(measures, "RUNS", 10)  # a quick look has few of all
    assert [cell["runs"] for cell in run(tmp_path)[0]["cells"]] == [2, 2, 1]


def test_a_row_may_have_more_runs_on_one_graph(tmp_path, experiments, monkeypatch):
    gcn = {"model": "gcn", "label": "GCN", "measure": {"name": "accuracy", "runs": {"demo": 4}}}
    rows = {"gcn": gcn, "mlp": {"model": "mlp", "label": "MLP"}}
    shared = {key: TINY[key] for key in ("metadata", "measure", "changes")}
    experiments(t={**shared, "datasets": ["demo", "homophily-0.5"], "rows": rows})
    monkeypatch.setattr(measures, "RUNS", 2)
    (table,) = run(tmp_path)
    assert [cell["runs"] for cell in table["cells"]] == [4, 2, 2, 2]
    assert "2 runs a cell; GCN 4 on Demo, 2 on homophily 0.5." in (tmp_path / "README.md").read_text()
    experiments(t={**shared, "datasets": ["demo", "homophily-0.5"], "rows": {"gcn": gcn}})
    run(tmp_path)
    assert "(nowhere). Runs: GCN 4 on Demo, 2 on homophily 0.5." in (tmp_path / "README.md").read_text()


def test_rows_measured_again_take_their_places(tmp_path, experiments, monkeypatch):
    experiments(t=TINY)
    with pytest.raises(SimPGCNError, match=r"no results in .*t\.json to keep the other rows of: leave --rows out"):
        run(tmp_path, rows=["gcn"])
    (before,) = run(tmp_path)
    with pytest.raises(SimPGCNError, match="unknown row of t 'gnc': did you mean gcn"):
        run(tmp_path, rows=["gnc"])
    made = counting(monkeypatch)
    (after,) = run(tmp_path, count=3, rows=["simpgcn"])
    assert {config.model_name for config in made} == {"simpgcn"}
    assert [cell["runs"] for cell in after["cells"]] == [2, 3, 1]
    assert [cell["row"] for cell in after["cells"]] == ["gcn", "simpgcn", "nodes"]
    assert after["cells"][0] == before["cells"][0]
    assert after["made_before"] == [before["made"]]
    assert [claim["says"] for claim in after["claims"]] == ["SimP-GCN improves GCN."]
    assert json.loads((tmp_path / "t.json").read_text()) == after
    took = [line for line in (tmp_path / "README.md").read_text().splitlines() if line.startswith("| Table T (in 2")]
    assert [line.split(" | ")[1:3] for line in took] == [["5", "2"]]  # of both goes


def test_the_longest_runs_start_first(tmp_path, monkeypatch):
    order = []
    refused = SimPGCNError("not today")
    monkeypatch.setattr(runner, "train_runs", lambda c, folders: order.extend(c) or [refused] * len(c))
    wide, short, long = (
        Config().replace({"model": model, "training": {"epochs": epochs}})
        for model, epochs in (({"hidden_channels": 256}, 10), ({}, 10), ({}, 200))
    )
    run_all([short, wide, long], tmp_path, workers=1)
    assert order == [long, wide, short]


def test_a_failing_cell_says_so_and_the_others_are_filled(tmp_path, monkeypatch, experiments):
    experiments(t=TINY)
    train = runner.train_runs

    def failing(configs, folders):
        if configs[0].model_name == "gcn":
            raise RuntimeError("out of luck")
        return train(configs, folders)

    monkeypatch.setattr(runner, "train_runs", failing)
    gcn, simpgcn, _ = run(tmp_path)[0]["cells"]
    assert (gcn["mean"], gcn["error"]) == (None, "RuntimeError: out of luck")
    assert simpgcn["error"] is None
    assert "Not filled: GCN\\* on Demo." in (tmp_path / "README.md").read_text()


def test_a_damaged_run_costs_its_cell_alone(tmp_path, experiments):
    damaged = {"model": "gcn", "measure": {"name": "degree accuracy", "low": 0}}
    experiments(t={**TINY, "rows": {**TINY["rows"], "damaged": damaged}})
    run(tmp_path)
    for file in tmp_path.glob("runs/demo-gcn/*/predictions.parquet"):
        file.unlink()
    *others, cell = run(tmp_path)[0]["cells"]
    assert all(other["error"] is None for other in others)
    assert (cell["mean"], cell["colour"]) == (None, "none")
    assert "predictions.parquet is missing" in cell["error"]
    assert "predictions.parquet is missing" in (tmp_path / "README.md").read_text()


def test_the_search_picks_by_validation_and_runs_its_choice(tmp_path, monkeypatch, experiments):
    choices = ({"model.pretext_weight": 0.1}, {"model.pretext_weight": 10.0})
    monkeypatch.setattr(search, "_choices", lambda dataset: choices)
    searched = {"name": "searched setting", "setting": "model.pretext_weight", "runs": 1}
    rows = {
        "weight": {"measure": searched, "paper": [0.1]},
        "accuracy": {"measure": {"name": "searched accuracy", "runs": 1}, "paper": [90.0]},
    }
    experiments(t={**TINY, "rows": rows, "claims": []})
    made = counting(monkeypatch)
    weight, accuracy = run(tmp_path, count=3)[0]["cells"]
    assert [config.model.pretext_weight for config in made[:2]] == [0.1, 10.0]
    (picked,) = weight["values"]
    val = {
        c.model.pretext_weight: runs.read_metrics(run_folder(tmp_path / "runs", c))["val_accuracy"] for c in made[:2]
    }
    assert picked == max(val, key=val.get)
    assert [(c.model.pretext_weight, c.training.seed) for c in made[2:]] == [(picked, 1), (picked, 2)]
    assert accuracy["runs"] == 3


def test_a_search_does_not_read_the_test_set():
    a, b = Config(), Config().replace({"training": {"seed": 1}})
    grid = [({"x": 1}, [a]), ({"x": 2}, [b])]
    blind = {a: Outcome(a, {"val_accuracy": 0.5}, 0, None), b: Outcome(b, {"val_accuracy": 0.6}, 0, None)}
    assert search.best_choice(grid, blind) == {"x": 2}
    assert search.best_choice(grid, {a: blind[a]}) is None
    assert search.best_choice(grid, {**blind, b: Outcome(b, None, 0, "failed")}) == {"x": 1}


def test_pictures(tmp_path, experiments):
    overlap = {"name": "overlap", "k": 3, "metric": "euclidean"}
    rows = {
        f"{model}-{what}": {"model": model, "measure": {**overlap, "between": between}}
        for model in ("gcn", "simpgcn")
        for what, between in (("features", ["features", "hidden"]), ("original", ["hidden", "original"]))
    }
    score = {"name": "score", "of": "structure", "layer": 1, "at": "lowest"}
    experiments(
        bars={**TINY, "rows": rows, "claims": [], "picture": "overlaps"},
        boxes={**TINY, "datasets": ["demo"], "rows": {"s": {"model": "simpgcn", "measure": score}}, "claims": []}
        | {"picture": "scores"},
    )
    run(tmp_path, count=1)
    for name in ("bars", "boxes"):
        with Image.open(tmp_path / f"{name}.png") as picture:
            assert (picture.format, picture.mode) == ("PNG", "P")  # a palette: the page holds every picture
    assert (tmp_path / "index.html").read_text().count("data:image/png") == 2
    assert set(figures.PICTURES) == {"overlaps", "scores", "attacks", *STUDY_PICTURES}  # those have tests of their own


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_neighbours_are_those_of_brute_force(metric):
    x = torch.rand(30, 5, generator=torch.Generator().manual_seed(0))
    distance = pairwise_distances(x.numpy(), metric=metric)
    wanted = {(i, int(j)) for i in range(30) for j in distance[i].argsort()[1:4]}
    assert set(map(tuple, neighbor_graph(x, 3, metric).T.tolist())) == wanted


def test_of_equally_near_rows_the_first_count(monkeypatch):
    """On small whole numbers every distance is exact and shared by many; blocks of rows change nothing."""
    x = torch.randint(0, 2, (70, 6), generator=torch.Generator().manual_seed(1)).float()
    squared = (x[:, None] - x[None]).square().sum(2).numpy()
    np.fill_diagonal(squared, np.inf)
    wanted = torch.from_numpy(squared.argsort(1, kind="stable")[:, :4])
    for rows in (64, 32, 1):
        monkeypatch.setattr("simpgcn.experiments.overlaps.ROWS", rows)
        assert torch.equal(neighbor_graph(x, 4, "euclidean")[1].view(70, 4), wanted)
        # Equal rows are at no distance from each other, however their lengths round.
        assert torch.equal(neighbor_graph(0.1 * x + 0.3, 4, "euclidean")[1].view(70, 4), wanted)


def test_overlaps_and_scores_of_a_run(tmp_path):
    changes = {"training": {"epochs": 2, "device": "cpu"}, "model": {"hidden_channels": 4}}
    (gcn,), (simpgcn,) = (run_configs("demo", model, 1, changes) for model in ("gcn", "simpgcn"))
    run_all([gcn, simpgcn], tmp_path, workers=1)
    folder = run_folder(tmp_path, gcn)
    model = runs.read_model(folder, gcn).model
    inputs, _ = model_inputs(load_graph(gcn), gcn, torch.device("cpu"))
    with torch.no_grad():
        hidden = F.relu(model.convs[0](*inputs))
    assert torch.allclose(hidden_states(model, inputs), hidden)
    edges = neighbor_graph(hidden, 3, "euclidean")
    known = set(map(tuple, load_dataset("demo").edge_index.T.tolist()))
    shared = sum(tuple(edge) in known for edge in edges.T.tolist())
    found = run_overlap(folder, gcn, ["hidden", "original"], 3, "euclidean")
    assert found == pytest.approx(100 * shared / edges.size(1))

    folder = run_folder(tmp_path, simpgcn)
    model = runs.read_model(folder, simpgcn).model
    inputs, _ = model_inputs(load_graph(simpgcn), simpgcn, torch.device("cpu"))
    with torch.no_grad():
        states = model.states(*inputs)
    assert torch.equal(hidden_states(model, inputs), states[0].hidden)
    loops = model.convs[1].self_loop_weight * states[1].self_loops
    assert node_scores(folder, "self", 2) == pytest.approx(loops.numpy(), abs=1e-5)


def test_names():
    assert [e.name for e in reproduce.chosen_experiments([])] == reproduce.experiment_names()
    assert [e.name for e in reproduce.chosen_experiments(["table2", "table2"])] == ["table2"]
    with pytest.raises(SimPGCNError, match=re.escape("unknown experiment 'tabel2': did you mean table2")):
        reproduce.chosen_experiments(["tabel2"])
