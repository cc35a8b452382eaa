"""Charts of how a run learned and of how often it is right."""

from __future__ import annotations

from typing import Any

from simpgcn.report.accuracy import DEGREES
from simpgcn.report.chart_parts import LABELS, Chart, Rows, Spec, colour, number


def curves(rows: Rows, fields: dict[str, str], kept: int, title: str, caption: str, *, share: bool = False) -> Chart:
    """Lines over the epochs, one per field, the kept epoch marked."""
    long = [
        {"epoch": row["epoch"], "what": name, "value": row[field]}
        for field, name in fields.items()
        for row in rows
        if row.get(field) is not None
    ]
    names = [name for field, name in fields.items() if any(row.get(field) is not None for row in rows)]
    lines = {
        "mark": {"type": "line", "tooltip": True},
        "encoding": {
            "x": number("epoch", "epoch"),
            "y": number("value", None, zero=share, percent=share),
            "color": colour("what", names),
        },
    }
    late = bool(rows) and 2 * kept > rows[-1]["epoch"]
    side = {"align": "right", "dx": -5} if late else {"align": "left", "dx": 5}
    rule = {
        "data": {"values": [{"epoch": kept, "said": f"kept: epoch {kept}"}]},
        "layer": [
            {"mark": {"type": "rule", "style": "kept"}},
            {
                # Where the lines are not: accuracies rise, losses fall.
                "mark": {"type": "text", "style": "note", **side},
                "encoding": {"text": {"field": "said"}, "y": {"value": 205 if share else 10}},
            },
        ],
        "encoding": {"x": {"field": "epoch", "type": "quantitative"}},
    }
    return Chart(title, caption, long, {"height": 220, "layer": [lines, rule]})


def overlaid(histories: dict[str, Rows], kept: dict[str, int], field: str, title: str, caption: str) -> Chart:
    """One line a run over the epochs, the kept epoch of each marked by a point."""
    share = field.endswith("accuracy")
    long = [
        {"run": name, "epoch": row["epoch"], "value": row[field], "kept": row["epoch"] == kept[name]}
        for name, rows in histories.items()
        for row in rows
        if row.get(field) is not None
    ]
    spec = {
        "height": 220,
        "encoding": {
            "x": number("epoch", "epoch"),
            "y": number("value", None, zero=share, percent=share),
            "color": colour("run", list(histories)),
        },
        "layer": [
            {"mark": {"type": "line", "tooltip": True}},
            {
                "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
                "transform": [{"filter": "datum.kept"}],
            },
        ],
    }
    return Chart(title, caption, long, spec)


def confusion_chart(found: dict[str, Any], title: str, caption: str) -> Chart:
    """Rows are labels, columns predictions; shaded by the share of the row."""
    names = found["classes"]
    rows = [
        {"label": label, "predicted": predicted, "nodes": count, "share": round(count / max(1, sum(line)), 4)}
        for label, line in zip(names, found["counts"], strict=True)
        for predicted, count in zip(names, line, strict=True)
    ]
    size = max(26, min(44, 300 // len(names)))
    upright = len(names) * max(len(name) for name in names) > 40
    spec = {
        "height": size * len(names),
        "encoding": {
            "x": {
                "field": "predicted",
                "type": "nominal",
                "sort": names,
                "title": "predicted",
                "axis": {**LABELS, "labelAngle": -90 if upright else 0},
            },
            "y": {"field": "label", "type": "nominal", "sort": names, "title": "label", "axis": LABELS},
        },
        "layer": [
            {
                "mark": {"type": "rect", "tooltip": True, "cornerRadius": 3},
                "encoding": {
                    "color": {
                        "field": "share",
                        "type": "quantitative",
                        "scale": {"domain": [0, 1], "range": "heatmap", "interpolate": "rgb"},
                        "legend": None,
                    }
                },
            },
            {
                "mark": {"type": "text", "style": "count"},
                "transform": [{"filter": "datum.nodes > 0 && datum.share <= 0.65"}],
                "encoding": {"text": {"field": "nodes", "format": ",d"}},
            },
            {
                "mark": {"type": "text", "style": "deep-count"},
                "transform": [{"filter": "datum.share > 0.65"}],
                "encoding": {"text": {"field": "nodes", "format": ",d"}},
            },
        ],
    }
    return Chart(title, caption, rows, spec)


def by_class_chart(rows_of: dict[str, Rows], title: str, caption: str) -> Chart:
    """A dot and its interval for every class, side by side for several runs; the first run's best class first."""
    rows = [{"run": run, **row} for run, rows in rows_of.items() for row in rows]
    order = [row["class"] for row in sorted(next(iter(rows_of.values())), key=lambda row: -row["accuracy"])]
    place = {"field": "class", "type": "nominal", "sort": order, "title": None, "axis": LABELS}
    height = len(order) * (14 + 16 * len(rows_of))
    return Chart(title, caption, rows, {"height": height, **_whiskers(place, "y", "x", list(rows_of))})


def by_degree_chart(rows_of: dict[str, Rows], title: str, caption: str) -> Chart:
    """A dot and its interval for every bin of degrees, side by side for several runs."""
    rows = [{"run": run, **row} for run, rows in rows_of.items() for row in rows]
    axis = {"labelAngle": 0, "labelOverlap": False}
    place = {"field": "links", "type": "ordinal", "sort": list(DEGREES), "title": "links", "axis": axis}
    return Chart(title, caption, rows, {"height": 240, **_whiskers(place, "x", "y", list(rows_of))})


def _whiskers(place: Spec, along: str, across: str, runs: list[str]) -> Spec:
    value = number("accuracy", "accuracy", percent=True, domain=[0, 1])
    span = {**number("low", "accuracy", percent=True, domain=[0, 1])}
    shared: Spec = {along: place, "color": colour("run", runs)}
    if len(runs) > 1:
        shared[f"{along}Offset"] = {"field": "run", "sort": runs}
    return {
        "encoding": shared,
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.4},
                "encoding": {across: span, f"{across}2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 80, "tooltip": True, "opacity": 1},
                "encoding": {across: value},
            },
        ],
    }
