"""The sections of a report: headings, sentences, tables and places for charts."""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

from simpgcn.report import accuracy_charts, trust_charts
from simpgcn.report.chart_parts import Chart
from simpgcn.report.markup import pairs, table, text
from simpgcn.report.words import counted, in_short, percent

MOST_ROWS = 120
LAYOUT = ("left", "right_end", "middle", "name")  # columns that only say where a mark is drawn


class Section(NamedTuple):
    """A part of the page: where links find it, its heading, a sentence of introduction, charts, and other HTML."""

    anchor: str
    heading: str
    lead: str = ""
    charts: tuple[Chart, ...] = ()
    html: str = ""


def run_sections(facts: dict[str, Any]) -> list[Section]:
    """The report of one run, without its nodes."""
    made = [_learning(facts), _errors(facts), _certainty(facts), _trust(facts), _graph(facts)]
    if facts["understood"]:
        # The names at the top are ours; those below may be a user's columns and classes.
        named = {name.replace("_", " "): value for name, value in facts["understood"].items()}
        html = f'<div class="panel">{pairs(named)}</div>'
        made.append(Section("tables", "What was understood of the tables", html=html))
    return [*made, how_made([facts])]


def headline(facts: dict[str, Any]) -> str:
    """The figures that come first, and the same in words."""
    test, links = facts["test"], facts["similarity"]["links"]
    directed, sure = facts["similarity"]["directed"], facts["calibration"]
    figures = [
        (percent(test["accuracy"]), "test accuracy", f"{percent(test['low'])} to {percent(test['high'])}"),
        (
            percent(facts["val_accuracy"]),
            "validation accuracy",
            f"kept epoch {facts['best_epoch']} of {facts['epochs']}",
        ),
        (percent(sure["error_after"]), "calibration error", f"on {sure['measured_on']} nodes"),
        (f"{facts['nodes']:,}", "nodes", f"{counted(len(facts['classes']), 'class')}"),
        (f"{links if directed else links // 2:,}", "links", "directed" if directed else "undirected"),
    ]
    cards = "".join(
        f'<div class="card"><strong>{escape(value)}</strong><span>{name}</span><small>{escape(note)}</small></div>'
        for value, name, note in figures
    )
    sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in in_short(facts))
    return f'<div class="cards">{cards}</div><ul class="short">{sentences}</ul>'


def how_made(runs: list[dict[str, Any]]) -> Section:
    """Settings, versions and times."""
    parts = []
    for facts in runs:
        spent = facts["seconds"]
        known = {
            "model": facts["model"],
            "data": facts["dataset"],
            "nodes for": facts["sets"],
            "time": f"{spent['total']:.1f} s, of which training {spent['training']:.1f} s",
            "versions": facts["versions"],
            "revision": facts["git"],
        }
        heading = f"<h3>{text(facts['run'])}</h3>" if len(runs) > 1 else ""
        settings = f"<details><summary>All settings</summary><pre>{escape(facts['config'])}</pre></details>"
        parts.append(heading + pairs(known) + settings)
    return Section("made", "How it was made", html="".join(f'<div class="panel">{part}</div>' for part in parts))


def _learning(facts: dict[str, Any]) -> Section:
    found, kept = facts["history"], facts["best_epoch"]
    thinned = f" One epoch in {found['every']} is drawn." if found["every"] > 1 else ""
    losses = {"classification_loss": "training", "val_loss": "validation", "pretext_loss": "pretext task"}
    accuracies = {"train_accuracy": "training", "val_accuracy": "validation"}
    drawn = (
        accuracy_charts.curves(
            found["rows"], accuracies, kept, "Accuracy", f"Share of nodes classified correctly.{thinned}", share=True
        ),
        accuracy_charts.curves(found["rows"], losses, kept, "Loss", f"What training makes small.{thinned}"),
    )
    lead = f"{counted(facts['epochs'], 'epoch')}; the state of epoch {kept}, the best on validation nodes, was kept."
    return Section("learning", "Learning", lead, drawn)


def _errors(facts: dict[str, Any]) -> Section:
    if not facts["test"]["count"]:
        return Section("errors", "Where it errs", "There are no labelled test nodes to see it by.")
    drawn = (
        accuracy_charts.confusion_chart(
            facts["confusion"], "Taken for", "Labels in rows, predictions in columns, test nodes."
        ),
        accuracy_charts.by_class_chart(
            {facts["run"]: facts["by_class"]}, "By class", "Accuracy on test nodes of each class, with 95% intervals."
        ),
        accuracy_charts.by_degree_chart(
            {facts["run"]: facts["by_degree"]},
            "By number of links",
            "Accuracy on test nodes by degree, with 95% intervals.",
        ),
    )
    return Section("errors", "Where it errs", "", drawn)


def _certainty(facts: dict[str, Any]) -> Section:
    found = facts["calibration"]
    if not found["after"]:
        return Section("certainty", "How sure it is", "There are no labelled test nodes to see it by.")
    if found["before"] is None:
        known, lead = {"as predicted": found["after"]}, "The probabilities were not calibrated."
    else:
        known = {"calibrated": found["after"], "before": found["before"]}
        lead = (
            f"Probabilities are divided by a temperature of {found['temperature']:.2f}, found on validation nodes. The "
            f"mean gap between how sure it was and how often it was right went from {percent(found['error_before'])} "
            f"to {percent(found['error_after'])} on {found['measured_on']} nodes."
        )
    caption = "Test nodes by how sure the prediction was; on the dashed line, probabilities mean what they say."
    drawn = (
        trust_charts.reliability_chart(known, "Reliability", caption),
        trust_charts.confidence_chart(found["outcomes"], "Certainty", "Test nodes by how sure the prediction was."),
    )
    return Section("certainty", "How sure it is", lead, drawn)


def _trust(facts: dict[str, Any]) -> Section:
    found = facts["trust"]
    if found is None:
        lead = f"A model of the kind {facts['model']} does not say how much it leans on the graph or on look-alikes."
        return Section("trust", "Where trust lies", lead)
    drawn = [
        trust_charts.lean_chart(
            found["distribution"], "What nodes lean on", "The weight of each source, over all nodes and layers."
        ),
        trust_charts.outcome_chart(found["by_outcome"], "Right and wrong", "Mean weights of test nodes by outcome."),
    ]
    if found["layers"]:
        drawn.append(
            trust_charts.layer_chart(
                found["layers"], "Scores by layer", "Median, and what nine of ten nodes lie between; not shares."
            )
        )
    return Section("trust", "Where trust lies", "", tuple(drawn))


def _graph(facts: dict[str, Any]) -> Section:
    found = facts["similarity"]
    rows = [
        ["links that join nodes of one class (homophily)", percent(found["homophily"])],
        [f"look-alikes (k = {found['k']}) of one class", percent(found["look_alike_homophily"])],
        ["what chance would give", percent(found["chance_homophily"])],
        ["look-alikes that are also neighbours: OL(A_f, A)", percent(found["overlap"])],
    ]
    chart = trust_charts.same_class_chart(
        found["same_class"], "Company of one's own class", "Labelled nodes by how many around them share their class."
    )
    shares = f"<figure><h3>Shares</h3>{table(['', 'share'], rows)}</figure>"
    return Section("graph", "The graph and the look-alikes", "", (chart,), shares)


def rendered(sections: list[Section]) -> tuple[str, list[dict[str, Any]]]:
    """The HTML of sections, and the specifications of their charts in order."""
    specs: list[dict[str, Any]] = []
    parts = []
    for section in sections:
        figures = ""
        for chart in section.charts:
            figures += _figure(chart, len(specs))
            specs.append(
                {
                    "width": "container",
                    "autosize": {"type": "fit-x", "contains": "padding"},
                    "data": {"values": chart.rows},
                    **chart.spec,
                }
            )
        lead = f'<p class="lead">{escape(section.lead)}</p>' if section.lead else ""
        grid = f'<div class="charts">{section.html}{figures}</div>' if figures else section.html
        parts.append(
            f'<section id="{section.anchor}" aria-labelledby="{section.anchor}-heading">'
            f'<h2 id="{section.anchor}-heading">{escape(section.heading)}</h2>{lead}{grid}</section>'
        )
    return "".join(parts), specs


def _figure(chart: Chart, number: int) -> str:
    columns = [name for name in chart.rows[0] if name not in LAYOUT] if chart.rows else []
    figures = ""
    if 0 < len(chart.rows) <= MOST_ROWS:
        rows = [[row[name] for name in columns] for row in chart.rows]
        figures = f"<details><summary>Figures</summary>{table(columns, rows)}</details>"
    return (
        f'<figure><h3>{text(chart.title)}</h3><div class="plot" data-chart="{number}" role="img" '
        f'aria-label="{escape(chart.title)}: {escape(chart.caption)}"></div>'
        f"<figcaption>{escape(chart.caption)}</figcaption>{figures}</figure>"
    )
