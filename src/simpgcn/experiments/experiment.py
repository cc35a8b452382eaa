"""A table or figure of the paper as data: what is measured on which graphs, and what the paper printed."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from importlib import resources
from typing import Any

from simpgcn.config import parse_yaml
from simpgcn.data.catalog import catalog_entry
from simpgcn.errors import SimPGCNError, unknown_name
from simpgcn.experiments.verdict import Printed
from simpgcn.nn.registry import find_method

# Of a cell whose row does not say otherwise.
RUNS = 10

TITLES = {"citeseer": "CiteSeer", "pubmed": "PubMed"}

# In the order of the results page.
ORDER = (
    "table1",
    "table2",
    "table3",
    "table4",
    "table5",
    "figure2",
    "figure3",
    "figure4",
    "search",
    "wider",
    "ties",
    "cosine",
    "directed",
    "ablation",
    "data",
    "cornell",
    "lemma",
    "cost",
    "gate",
    "lift",
    "degree",
    "depth",
    "homophily",
)


@dataclass(frozen=True)
class Row:
    """A line of a table.

    Attributes:
        name: How the file and its claims call it.
        label: How the page calls it.
        measure: ``name`` of a measure (see :mod:`simpgcn.experiments.measures`) and its options.
        paper: The paper's numbers, one for each dataset; None where it has none. Quoted in the file where they were
            printed with a zero at the end, which counts as a digit.
        model: Which model is trained, where one is.
        changes: Settings instead of the shipped ones, on every dataset.
        only: More of them, by dataset.
    """

    name: str
    label: str
    measure: dict[str, Any]
    paper: tuple[float | None, ...]
    model: str | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    only: dict[str, dict[str, Any]] = field(default_factory=dict)

    def settings(self, dataset: str) -> dict[str, Any]:
        """The changes for one dataset."""
        more = self.only.get(dataset, {})
        return {
            section: {**self.changes.get(section, {}), **more.get(section, {})} for section in {**self.changes, **more}
        }


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that says what is higher than what.

    Attributes:
        says: The sentence.
        higher: A row; or a dataset, if ``row`` is given.
        than: Rows, or datasets, that it is higher than.
        datasets: Where; everywhere if left out.
        row: The row within which datasets are compared.
        by: How much higher, at least.
        times: How many times as high, at least.
        most: It holds if it does, over all of ``than``, on more than half of the datasets.
        beyond: It is not the paper's, but asked here.
    """

    says: str
    higher: str
    than: tuple[str, ...]
    datasets: tuple[str, ...] = ()
    row: str | None = None
    by: float = 0.0
    times: float = 1.0
    most: bool = False
    beyond: bool = False


@dataclass(frozen=True)
class Experiment:
    """A table or figure.

    Attributes:
        name: As on the command line.
        title, what, where: What the paper calls it, what it shows, and where it stands.
        source: Whose numbers stand beside ours, where they are not the paper's.
        datasets: The columns.
        panels: The columns as several tables: by title, the heading of each dataset. None for a single table.
        rows: The lines, with the paper's numbers.
        claims: What the paper's text says of it.
        departures: What is done otherwise than in the paper, for the reader of the page.
        picture: Which picture is drawn of it, if any.
    """

    name: str
    title: str
    what: str
    where: str
    datasets: tuple[str, ...]
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...] = ()
    departures: tuple[str, ...] = ()
    picture: str | None = None
    source: str | None = None
    panels: dict[str, dict[str, str]] | None = None


def experiment_names() -> list[str]:
    """The experiments there are, in the order of the results page.

    >>> experiment_names()[:3]
    ['table1', 'table2', 'table3']
    """
    files = resources.files("simpgcn.experiments").joinpath("tables").iterdir()
    found = {file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml")}
    return sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def quoted(label: str) -> str:
    """A row's label within a list, where one with commas would read as several.

    >>> quoted("GCN"), quoted("SSL, (A, A_f)")
    ('GCN', '“SSL, (A, A_f)”')
    """
    return f"“{label}”" if ", " in label else label


def dataset_title(name: str) -> str:
    """How the page calls a dataset.

    >>> dataset_title("pubmed"), dataset_title("citeseer+metattack@0.05"), dataset_title("cora-prognn")
    ('PubMed', 'CiteSeer with 5% flipped', "Pro-GNN's Cora")
    >>> dataset_title("homophily-0.3"), dataset_title("nodes-4000")
    ('homophily 0.3', '4,000 nodes')
    """
    name, _, rate = name.partition("+metattack@")
    kind, _, number = name.rpartition("-")
    if number == "prognn":
        return f"Pro-GNN's {dataset_title(kind)}"
    if kind == "nodes":
        return f"{int(number):,} nodes"
    title = TITLES.get(name, name.capitalize() if name.isalpha() else name.replace("-", " "))
    return f"{title} with {float(rate):.0%} flipped" if rate else title


def load_experiment(name: str) -> Experiment:
    """The experiment called ``name``; a key nobody knows is an error.

    >>> table = load_experiment("table3")
    >>> table.title, table.rows[0].label, table.rows[0].paper
    ('Table 3', 'LP', (74.6, 57.7, 71.6))
    """
    if name not in experiment_names():
        raise unknown_name("experiment", name, experiment_names())
    text = resources.files("simpgcn.experiments").joinpath("tables", f"{name}.yaml").read_text()
    return parse_experiment(name, parse_yaml(text, f"tables/{name}.yaml"))


def parse_experiment(name: str, content: dict[str, Any]) -> Experiment:
    """An experiment from the content of its file."""
    where = f"tables/{name}.yaml"
    content = dict(content)
    metadata = _checked(content.pop("metadata", {}), ("title", "what", "where", "source"), f"{where}: metadata")
    shared: dict[str, Any] = {
        key: content.pop(key) for key in ("measure", "model", "changes", "only") if key in content
    }
    rows, claims = content.pop("rows", {}), content.pop("claims", [])
    _checked(content, ("datasets", "panels", "departures", "picture"), where)
    panels = content.get("panels")
    datasets = tuple(content.get("datasets", ()) if panels is None else (d for panel in panels.values() for d in panel))
    for dataset in datasets:
        catalog_entry(dataset)
    experiment = Experiment(
        name=name,
        **metadata,
        datasets=datasets,
        rows=tuple(_row(key, {**shared, **values}, datasets, where) for key, values in rows.items()),
        claims=tuple(_claim(values, where) for values in claims),
        departures=tuple(content.get("departures", ())),
        picture=content.get("picture"),
        panels=panels,
    )
    _check_claims(experiment, where)
    return experiment


def _row(name: str, values: dict[str, Any], datasets: tuple[str, ...], where: str) -> Row:
    known = [f.name for f in fields(Row) if f.name != "name"]
    row = _checked({"label": name, **values}, known, f"{where}: row {name}")
    paper = tuple(Printed(x) if isinstance(x, str) else x for x in row.pop("paper", [None] * len(datasets)))
    if len(paper) != len(datasets):
        raise SimPGCNError(f"{where}: row {name} has {len(paper)} numbers of the paper for {len(datasets)} datasets")
    if "measure" not in row:
        raise SimPGCNError(f"{where}: row {name} does not say what to measure: give it a measure")
    if row.get("model") is not None:
        find_method(row["model"])
    for dataset in row.get("only", {}):
        if dataset not in datasets:
            raise unknown_name("dataset", dataset, datasets)
    return Row(name=name, paper=paper, **row)


def _claim(values: dict[str, Any], where: str) -> Claim:
    claim = _checked(values, [f.name for f in fields(Claim)], f"{where}: claim")
    for key in ("than", "datasets"):
        claim[key] = tuple(claim.get(key, ()))
    return Claim(**claim)


def _check_claims(experiment: Experiment, where: str) -> None:
    rows = [row.name for row in experiment.rows]
    for claim in experiment.claims:
        named = experiment.datasets if claim.row is not None else rows
        for name in (claim.higher, *claim.than):
            if name not in named:
                raise unknown_name(f"name in a claim of {where}", name, named)
        for name in claim.datasets:
            if name not in experiment.datasets:
                raise unknown_name("dataset", name, experiment.datasets)
        if claim.row is not None and claim.row not in rows:
            raise unknown_name("row", claim.row, rows)


def _checked(values: dict[str, Any], known: Any, where: str) -> dict[str, Any]:
    for key in values:
        if key not in known:
            raise unknown_name(f"key in {where}", key, known)
    return dict(values)
