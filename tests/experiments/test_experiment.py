from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from simpgcn.errors import SimPGCNError
from simpgcn.experiments.compare import run_configs
from simpgcn.experiments.data_faults import count_fault
from simpgcn.experiments.experiment import ORDER, experiment_names, load_experiment, parse_experiment
from simpgcn.experiments.figures import PICTURES
from simpgcn.experiments.measures import row_measure

PAPER = Path(__file__).parents[3] / "shared/paper/simp-gcn.tex"
RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize("name", experiment_names())
def test_every_file_loads_and_fits(name):
    experiment = load_experiment(name)
    assert experiment.title
    assert experiment.picture in (None, *PICTURES)
    labels = [row.label for row in experiment.rows]
    assert len(set(labels)) == len(labels)
    for row in experiment.rows:
        row_measure(row)
        assert len(row.paper) == len(experiment.datasets)
        if row.model is not None:
            for dataset in experiment.datasets:
                run_configs(dataset, row.model, 1, row.settings(dataset))


def numbers(text):
    return [float(number.replace(",", "")) for number in re.findall(r"-?\d[\d,]*(?:\.\d+)?", text)]


@pytest.mark.parametrize("name", ["table1", "table2", "table3", "table4", "table5"])
def test_the_papers_numbers_are_those_of_its_text(name):
    if not PAPER.is_file():
        pytest.skip("needs the paper's source beside the checkout")
    lines = PAPER.read_text().splitlines()
    printed = [numbers(re.sub(r"\\textbf\{([^}]*)\}", r"\1", line)) for line in lines]
    for row in load_experiment(name).rows:
        assert [float(value) for value in row.paper if value is not None] in printed, row.name


def test_the_ranges_of_figure_4_are_those_of_the_text():
    if not PAPER.is_file():
        pytest.skip("needs the paper's source beside the checkout")
    (sentence,) = (line for line in PAPER.read_text().splitlines() if "are in the range of" in line)
    printed = [end for ends in re.findall(r"\$\[(-?[\d.]+), (-?[\d.]+)\]\$", sentence) for end in ends]
    ours = [row.paper[0] for row in load_experiment("figure4").rows if row.paper[0] is not None]
    assert [getattr(end, "text", str(end)) for end in ours] == printed


def test_numbers_printed_twice_are_the_same():
    rows = {name: {row.name: row for row in load_experiment(name).rows} for name in experiment_names()}
    assert rows["table5"]["all"].paper == rows["table4"]["simpgcn"].paper
    assert rows["table5"]["gcn"].paper == rows["table4"]["gcn"].paper
    both = rows["table3"]["simpgcn"].paper + rows["table4"]["simpgcn"].paper
    assert rows["search"]["picked"].paper == rows["search"]["published"].paper == both
    for line, place in (("features-hidden", "gcn-features"), ("hidden-original", "gcn-original")):
        figure = [value for value in rows["figure3"][place].paper if value is not None]
        assert tuple(figure) == rows["table1"][line].paper


def test_the_published_settings_are_the_shipped_ones():
    experiment = load_experiment("search")
    for row in experiment.rows:
        if row.measure["name"] == "searched setting":
            section, key = row.measure["setting"].split(".")
            for dataset, paper in zip(experiment.datasets, row.paper, strict=True):
                (config,) = run_configs(dataset, "simpgcn", 1)
                assert paper in (None, getattr(getattr(config, section), key))


def test_the_papers_tables_have_the_published_ties():
    """And where others say that they are of the same runs, they are."""
    for name in ("table4", "table5", "directed", "ablation"):
        experiment = load_experiment(name)
        for row in experiment.rows:
            if row.model == "simpgcn":
                assert all(row.settings(d)["similarity"]["far_ties"] == "quicksort" for d in experiment.datasets)
    chosen = (("table3", "simpgcn"), ("search", "published"), ("wider", "published"), ("ties", "quicksort"))
    for dataset in ("cora", "citeseer", "pubmed"):
        same = set()
        for name, row_name in chosen:
            experiment = load_experiment(name)
            (row,) = (row for row in experiment.rows if row.name == row_name)
            if dataset in experiment.datasets:
                same.add(tuple(run_configs(dataset, "simpgcn", 30, row.settings(dataset))))
        ((first, *_),) = same
        assert first.similarity.far_ties == "quicksort"


def test_ablations_change_what_they_say():
    rows = {row.name: row for row in load_experiment("table5").rows}
    (config,) = run_configs("texas", "simpgcn", 1, rows["neither"].settings("texas"))
    assert (config.model.self_loop_weight, config.model.pretext_weight) == (0, 0)
    (config,) = run_configs("texas", "simpgcn", 1, rows["no-loops"].settings("texas"))
    assert (config.model.self_loop_weight, config.model.pretext_weight) == (0, 1)


def test_table5_without_self_loops_has_the_settings_that_the_search_found():
    cells = json.loads((RESULTS / "ablation.json").read_text())["cells"]
    rows = {row.name: row for row in load_experiment("table5").rows}
    searched = {
        row.name: row.measure["setting"] for row in load_experiment("ablation").rows if "setting" in row.measure
    }
    found = [cell for cell in cells if cell["row"] in searched]
    assert len(found) == 20
    for cell in found:
        row = rows["neither" if cell["row"].startswith("neither") else "no-loops"]
        (config,) = run_configs(cell["dataset"], "simpgcn", 1, row.settings(cell["dataset"]))
        section, key = searched[cell["row"]].split(".")
        assert [getattr(getattr(config, section), key)] == cell["values"]


def test_order_names_files():
    assert list(ORDER) == experiment_names()


GOOD = {
    "metadata": {"title": "T", "what": "w", "where": "s"},
    "datasets": ["demo"],
    "measure": {"name": "accuracy"},
    "rows": {"gcn": {"model": "gcn", "paper": [50.0]}},
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colums": []}, "unknown key in tables/t.yaml 'colums'"),
        ({"datasets": ["core"]}, "unknown dataset 'core'"),
        ({"rows": {"gcn": {"model": "gnc"}}}, "unknown model 'gnc'"),
        ({"rows": {"gcn": {"model": "gcn", "papr": []}}}, "row gcn 'papr': did you mean paper"),
        ({"rows": {"gcn": {"model": "gcn", "paper": [1, 2]}}}, "has 2 numbers of the paper for 1 datasets"),
        ({"rows": {"gcn": {"only": {"cora": {}}}}}, "unknown dataset 'cora'"),
        ({"claims": [{"says": "x", "higher": "gcn", "than": ["mlp"]}]}, "claim of tables/t.yaml 'mlp'"),
    ],
)
def test_mistakes_are_told(change, message):
    assert parse_experiment("t", GOOD).rows[0].label == "gcn"
    with pytest.raises(SimPGCNError, match=re.escape(message)):
        parse_experiment("t", {**GOOD, **change})


def test_a_measure_has_its_options():
    row = parse_experiment("t", {**GOOD, "measure": {"name": "overlap", "between": ["features", "hidden"]}}).rows[0]
    with pytest.raises(SimPGCNError, match="does not fit the measure overlap: missing a required argument: 'k'"):
        row_measure(row)
    row = parse_experiment("t", {**GOOD, "measure": {"name": "accurcy"}}).rows[0]
    with pytest.raises(SimPGCNError, match="unknown measure 'accurcy': did you mean accuracy"):
        row_measure(row)


def test_faults_of_the_data(mirror):
    found = {row.name: row.measure["of"] for row in load_experiment("data").rows}
    assert [count_fault("citeseer", found[name]) for name in ("featureless", "unlinked")] == [15, 48]
    assert [count_fault(name, found["smallest"]) for name in ("texas", "cornell")] == [1, 1]
    assert [count_fault(name, found["texas"]) for name in ("texas", "cornell", "wisconsin")] == [183, 183, 0]
    with pytest.raises(SimPGCNError, match="unknown fault 'luck'"):
        count_fault("demo", "luck")
