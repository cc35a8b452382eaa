from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from simpgcn.data.prognn import ATTACKED, RATES
from simpgcn.experiments import reproduce, runner
from simpgcn.experiments.claims import judge_claim
from simpgcn.experiments.compare import run_configs
from simpgcn.experiments.experiment import Claim, load_experiment, parse_experiment
from simpgcn.experiments.robustness import published_graphs
from simpgcn.experiments.runner import run_all
from simpgcn.nn.defences import pro_gnn
from simpgcn.nn.registry import ROBUSTNESS_METHODS
from simpgcn.screens import reproduction_tables

FACTS = Path(__file__).parents[3] / "shared/paper/FACTS.md"
TINY = {
    "metadata": {"title": "Figure 2", "what": "accuracy", "where": "section 5.3", "source": "somebody else"},
    "panels": {"Small": {"nodes-300": "0%", "nodes-320": "5%"}, "Large": {"nodes-400": "0%", "nodes-420": "5%"}},
    "picture": "attacks",
    "measure": {"name": "accuracy"},
    "changes": {"training": {"epochs": 2}, "model": {"hidden_channels": 4}},
    "rows": {
        "gcn": {"model": "gcn", "label": "GCN", "paper": [50.0, None, None, None]},
        "simpgcn": {"model": "simpgcn", "label": "SimP-GCN", "measure": {"name": "accuracy against one run"}},
        "lead": {"model": "simpgcn", "measure": {"name": "lead", "over": "gcn"}},
    },
}


def test_the_shipped_one_is_of_all_published_graphs_and_models():
    figure = load_experiment("figure2")
    rates = [0.0, *map(float, RATES)]
    for panel, name in zip((figure.panels or {}).values(), ATTACKED, strict=True):
        assert list(panel) == list(published_graphs(name, rates).values())
        assert list(panel.values()) == [f"{rate:.0%}" for rate in rates]
    shipped = [row for row in figure.rows if not row.changes and row.name != "lead"]
    assert tuple(row.model for row in shipped) == ROBUSTNESS_METHODS
    assert figure.source


def test_its_numbers_of_simpgcn_are_those_measured_with_the_published_code():
    if not FACTS.is_file():
        pytest.skip("needs the paper's facts beside the checkout")
    line = re.search(r"^Cora (84.7.*); CiteSeer (.*)\.$", FACTS.read_text(), re.MULTILINE)
    assert line is not None
    (row,) = (row for row in load_experiment("figure2").rows if row.name == "simpgcn")
    assert row.paper == (*(float(value) for part in line.groups() for value in part.split(",")), *[None] * 6)


def test_panels_leads_and_curves(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "experiment_names", lambda: ["figure2"])
    monkeypatch.setattr(reproduce, "load_experiment", lambda name: parse_experiment(name, TINY))
    (table,) = reproduce.reproduce(["all"], tmp_path, count=2, device="cpu", workers=1)
    cells = {(cell["row"], cell["dataset"]): cell for cell in table["cells"]}
    for dataset in ("nodes-300", "nodes-320", "nodes-400", "nodes-420"):
        own, other = (np.array(cells[row, dataset]["values"]) for row in ("simpgcn", "gcn"))
        assert cells["lead", dataset]["values"] == pytest.approx(own - other)
    assert table["made"]["trained"] == 16
    text = (tmp_path / "README.md").read_text()
    assert text.index("### Small") < text.index("### Large")
    assert text.count("|  | 0% | 5% |") == 2
    assert "In brackets: somebody else." in text
    assert "numbers of the paper were measured again" not in text  # that one is not the paper's
    last = {row: cells[row, "nodes-420"]["mean"] for row in ("gcn", "simpgcn")}
    assert f"SimP-GCN from {cells['simpgcn', 'nodes-400']['mean']:.1f} to {last['simpgcn']:.1f}" in text
    assert f"{last['simpgcn'] - last['gcn']:+.1f} points at the end" in text
    assert (tmp_path / "figure2.png").read_bytes()[:4] == b"\x89PNG"
    assert [len(shown.columns) for shown in reproduction_tables(table)] == [3, 3]
    json.loads((tmp_path / "figure2.json").read_text())


@pytest.mark.parametrize(
    ("much", "colour"),
    [({"by": 1.5}, "green"), ({"by": 2.5}, "red"), ({"times": 2.9}, "green"), ({"times": 3.5}, "red")],
)
def test_a_claim_says_by_how_much(much, colour):
    cells = {
        ("a", "x"): {"label": "A", "values": [3.0, 3.1, 2.9]},
        ("b", "x"): {"label": "B", "values": [1.0, 1.01, 0.99]},
    }
    assert judge_claim(Claim("a is far above b", "a", ("b",), **much), cells, ("x",))["colour"] == colour


def test_seeds_of_one_graph_share_what_pro_gnn_learns(tmp_path, monkeypatch):
    changes = {"training": {"epochs": 2, "device": "cpu"}, "model": {"graph_steps": 2, "rank": 5}}
    splits = run_configs("nodes-300", "pro-gnn", 3, {**changes, "data": {"split_kind": "random"}})
    assert [len(batch) for batch in runner._batches(splits, 4)] == [1, 1, 1]  # other labels make other graphs
    seeds = [splits[0].replace({"training": {"seed": seed}}) for seed in range(3)]
    assert runner._batches(seeds, 4) == [seeds]
    plain = run_configs("nodes-300", "gcn", 3, {"training": {"device": "cpu"}})
    assert [len(batch) for batch in runner._batches(plain, 4)] == [1, 1, 1]
    learned, learn = [], pro_gnn.learn_graph
    monkeypatch.setattr(pro_gnn._Learned, "key", None)
    monkeypatch.setattr(pro_gnn, "learn_graph", lambda *given: learned.append(1) or learn(*given))
    found = run_all(seeds, tmp_path, workers=1)
    assert [outcome.error for outcome in found] == [None] * 3
    assert len(learned) == 1
