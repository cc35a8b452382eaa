"""The sections of a page that lays runs side by side."""

from __future__ import annotations

from typing import Any

from simpgcn.report.accuracy_charts import by_class_chart, by_degree_chart, confusion_chart, overlaid
from simpgcn.report.markup import table, text
from simpgcn.report.sections import Section, how_made
from simpgcn.report.trust_charts import reliability_chart
from simpgcn.report.words import counted, percent


def comparison_headline(runs: list[dict[str, Any]], tests: list[dict[str, Any]]) -> str:
    """The runs in a table, and what the paired tests say."""
    rows = [
        [
            facts["run"],
            f"{facts['model']} on {facts['dataset']}",
            "{} ({} to {})".format(*(percent(facts["test"][key]) for key in ("accuracy", "low", "high"))),
            percent(facts["val_accuracy"]),
            percent(facts["calibration"]["error_after"]),
            f"{facts['best_epoch']} of {facts['epochs']}",
        ]
        for facts in runs
    ]
    head = ["run", "what", "test accuracy (95% interval)", "validation", "calibration error", "kept epoch"]
    return table(head, rows) + "<ul class='short'>" + "".join(f"<li>{_said(test)}</li>" for test in tests) + "</ul>"


def _said(row: dict[str, Any]) -> str:
    between = f"{text(row['first'])} and {text(row['second'])}"
    if row["test"] is None:
        return f"{between} cannot be tested against each other: {row['why_not']}."
    found = row["test"]
    better = found["only_first"] - found["only_second"]
    said = f"{between} differ on {counted(row['differ'], 'node')} of all. "
    said += (
        f"Of {counted(found['nodes'], 'test node')} of both, {found['only_first']:,} were right in the first alone and "
        f"{found['only_second']:,} in the second alone"
    )
    if found["p"] < 0.05:
        return f"{said}: the {'first' if better > 0 else 'second'} is better, and not by luck ({_p(found['p'])})."
    return f"{said}: no more of a difference than luck explains ({_p(found['p'])})."


def _p(p: float) -> str:
    return "McNemar’s exact test, p&nbsp;" + ("&lt;&nbsp;0.001" if p < 0.001 else f"=&nbsp;{p:.3f}")


def comparison_sections(runs: list[dict[str, Any]]) -> list[Section]:
    """Curves overlaid, and confusion side by side."""
    histories = {facts["run"]: facts["history"]["rows"] for facts in runs}
    kept = {facts["run"]: facts["best_epoch"] for facts in runs}
    learning = (
        overlaid(histories, kept, "val_accuracy", "Validation accuracy", "A dot marks the epoch that was kept."),
        overlaid(histories, kept, "val_loss", "Validation loss", "A dot marks the epoch that was kept."),
    )
    caption = "Labels in rows, predictions in columns, test nodes."
    matrices = tuple(
        confusion_chart(facts["confusion"], facts["run"], caption) for facts in runs if facts["test"]["count"]
    )
    tested = [facts for facts in runs if facts["test"]["count"]]
    others = (
        by_class_chart(
            {facts["run"]: facts["by_class"] for facts in tested},
            "By class",
            "Accuracy on test nodes of each class, with 95% intervals.",
        ),
        by_degree_chart(
            {facts["run"]: facts["by_degree"] for facts in tested},
            "By number of links",
            "Accuracy on test nodes by degree, with 95% intervals.",
        ),
        reliability_chart(
            {facts["run"]: facts["calibration"]["after"] for facts in tested},
            "Reliability",
            "Test nodes by how sure the prediction was; on the dashed line, probabilities mean what they say.",
        ),
    )
    return [
        Section("learning", "Learning", "", learning),
        Section("confusion", "Taken for", "", matrices),
        Section("accuracy", "Where they err, and how sure they are", "", others if tested else ()),
        how_made(runs),
    ]
