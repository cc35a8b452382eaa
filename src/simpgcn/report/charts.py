"""The charts of a report as Vega-Lite specifications; their colours and fonts come from the page's theme."""

from __future__ import annotations

from typing import Any, NamedTuple

from simpgcn.report.accuracy import DEGREES
from simpgcn.report.trust import NAMES

Rows = list[dict[str, Any]]
Spec = dict[str, Any]


class Chart(NamedTuple):
    """A picture, its title, what it shows in a sentence, and the figures behind it."""

    title: str
    caption: str
    rows: Rows
    spec: Spec


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
            "x": _number("epoch", "epoch"),
            "y": _number("value", None, zero=share, percent=share),
            "color": _colour("what", names),
        },
    }
    rule = {
        "data": {"values": [{"epoch": kept, "said": f"kept: epoch {kept}"}]},
        "layer": [
            {"mark": {"type": "rule", "style": "kept"}},
            {
                # Where the lines are not: accuracies rise, losses fall.
                "mark": {"type": "text", "style": "note", "align": "left", "dx": 5},
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
            "x": _number("epoch", "epoch"),
            "y": _number("value", None, zero=share, percent=share),
            "color": _colour("run", list(histories)),
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
                "axis": {**_LABELS, "labelAngle": -90 if upright else 0},
            },
            "y": {"field": "label", "type": "nominal", "sort": names, "title": "label", "axis": _LABELS},
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
                "transform": [{"filter": "datum.nodes > 0 && datum.share <= 0.55"}],
                "encoding": {"text": {"field": "nodes", "format": ",d"}},
            },
            {
                "mark": {"type": "text", "style": "deep-count"},
                "transform": [{"filter": "datum.share > 0.55"}],
                "encoding": {"text": {"field": "nodes", "format": ",d"}},
            },
        ],
    }
    return Chart(title, caption, rows, spec)


def by_class_chart(rows_of: dict[str, Rows], title: str, caption: str) -> Chart:
    """A dot and its interval for every class, side by side for several runs; the first run's best class first."""
    rows = [{"run": run, **row} for run, rows in rows_of.items() for row in rows]
    order = [row["class"] for row in sorted(next(iter(rows_of.values())), key=lambda row: -row["accuracy"])]
    place = {"field": "class", "type": "nominal", "sort": order, "title": None, "axis": _LABELS}
    height = len(order) * (14 + 16 * len(rows_of))
    return Chart(title, caption, rows, {"height": height, **_whiskers(place, "y", "x", list(rows_of))})


def by_degree_chart(rows_of: dict[str, Rows], title: str, caption: str) -> Chart:
    """A dot and its interval for every bin of degrees, side by side for several runs."""
    rows = [{"run": run, **row} for run, rows in rows_of.items() for row in rows]
    axis = {"labelAngle": 0, "labelOverlap": False}
    place = {"field": "links", "type": "ordinal", "sort": list(DEGREES), "title": "links", "axis": axis}
    return Chart(title, caption, rows, {"height": 240, **_whiskers(place, "x", "y", list(rows_of))})


def reliability_chart(curves: dict[str, Rows], title: str, caption: str) -> Chart:
    """Accuracy against confidence; on the diagonal, probabilities mean what they say."""
    rows = [{"probabilities": name, **row} for name, points in curves.items() for row in points]
    place = {
        "x": _number("sure", "how sure it was", percent=True, domain=[0, 1]),
        "y": _number("accuracy", "how often it was right", percent=True, domain=[0, 1]),
    }
    spec = {
        "height": 280,
        "layer": [
            {
                "data": {"values": [{"sure": 0, "accuracy": 0}, {"sure": 1, "accuracy": 1}]},
                "mark": {"type": "line", "style": "diagonal"},
                "encoding": place,
            },
            {"mark": {"type": "line"}, "encoding": {**place, "color": _colour("probabilities", list(curves))}},
            {
                "mark": {"type": "point", "filled": True, "tooltip": True, "opacity": 0.9},
                "encoding": {
                    **place,
                    "color": _colour("probabilities", list(curves)),
                    "size": {"field": "count", "type": "quantitative", "scale": {"range": [25, 300]}, "legend": None},
                },
            },
        ],
    }
    return Chart(title, caption, rows, spec)


def confidence_chart(rows: Rows, title: str, caption: str) -> Chart:
    """How many test nodes there are at each degree of certainty, right and wrong ones."""
    spec = {
        "height": 280,
        "mark": {"type": "bar", "tooltip": True},
        "encoding": {
            "x": _binned("from", "how sure it was"),
            "x2": {"field": "to"},
            "y": _number("nodes", "test nodes"),
            "color": _colour("outcome", ["right", "wrong"]),
            "order": {"field": "outcome"},
        },
    }
    return Chart(title, caption, rows, spec)


def lean_chart(rows: Rows, title: str, caption: str) -> Chart:
    """The distribution of each source's weight over the nodes."""
    encoding = {
        "x": _number("weight", "weight", domain=[0, 1]),
        "y": {**_number("nodes", "share of nodes", percent=True), "stack": None},
        "color": _colour("source", list(NAMES.values())),
    }
    spec = {
        "height": 220,
        "encoding": encoding,
        "layer": [
            {"mark": {"type": "area", "interpolate": "monotone", "opacity": 0.22, "line": False}},
            {"mark": {"type": "line", "interpolate": "monotone", "tooltip": True}},
        ],
    }
    return Chart(title, caption, rows, spec)


def outcome_chart(rows: Rows, title: str, caption: str) -> Chart:
    """Mean weights of right and of wrong predictions, as bars that sum to one."""
    names = list(NAMES.values())
    shown, left = [], 0.0
    for row in rows:
        left = 0.0 if row["source"] == names[0] else left
        name = f"{row['outcome']} ({row['count']:,})"
        shown.append({**row, "name": name, "left": round(left, 4), "middle": left + row["weight"] / 2})
        left += row["weight"]
        shown[-1]["right_end"] = round(left, 4)
    place = {"y": {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": _LABELS}}
    spec = {
        "height": 44 * len({row["outcome"] for row in rows}),
        "encoding": place,
        "layer": [
            {
                "mark": {"type": "bar", "tooltip": True},
                "encoding": {
                    "x": _number("left", "mean weight", domain=[0, 1]),
                    "x2": {"field": "right_end"},
                    "color": _colour("source", names),
                },
            },
            {
                "mark": {"type": "text", "style": "bar-label"},
                "transform": [{"filter": "datum.weight >= 0.1"}],
                "encoding": {
                    "x": {"field": "middle", "type": "quantitative"},
                    "text": {"field": "weight", "format": ".2f"},
                },
            },
        ],
    }
    return Chart(title, caption, shown, spec)


def layer_chart(rows: Rows, title: str, caption: str) -> Chart:
    """The median and the middle nine tenths of each layer's scores."""
    shown = [{**row, "name": f"layer {row['layer']}"} for row in rows]
    names = list(NAMES.values())
    y = {"field": "name", "type": "nominal", "title": None, "axis": _LABELS}
    offset = {"field": "source", "sort": names}
    spec = {
        "height": 18 * len(rows),
        "encoding": {"y": y, "yOffset": offset, "color": _colour("source", names)},
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.5},
                "encoding": {"x": _number("low", "score"), "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 70, "tooltip": True, "opacity": 1},
                "encoding": {"x": {"field": "median", "type": "quantitative"}},
            },
        ],
    }
    return Chart(title, caption, shown, spec)


def same_class_chart(rows: Rows, title: str, caption: str) -> Chart:
    """How much of a node's surrounding is of its own class, in the graph and among the look-alikes."""
    names = ["neighbours", "look-alikes"]
    # Two thin bars in each tenth.
    shown = [
        {**row, "left": row["from"] + 0.008 + 0.042 * place, "right_end": row["from"] + 0.05 + 0.042 * place}
        for row in rows
        for place in [names.index(row["around"])]
    ]
    spec = {
        "height": 220,
        "mark": {"type": "bar", "tooltip": True},
        "encoding": {
            "x": _binned("left", "share of its own class"),
            "x2": {"field": "right_end"},
            "y": _number("nodes", "share of nodes", percent=True),
            "color": _colour("around", names),
        },
    }
    return Chart(title, caption, shown, spec)


_LABELS = {"labelLimit": 110, "labelPadding": 6, "labelOverlap": False, "domain": False, "ticks": False}


def _whiskers(place: Spec, along: str, across: str, runs: list[str]) -> Spec:
    value = _number("accuracy", "accuracy", percent=True, domain=[0, 1])
    span = {**_number("low", "accuracy", percent=True, domain=[0, 1])}
    shared: Spec = {along: place, "color": _colour("run", runs)}
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


def _number(
    field: str, title: str | None, *, zero: bool = True, percent: bool = False, domain: list[float] | None = None
) -> Spec:
    scale = {"domain": domain} if domain else {"zero": zero}
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {**scale, "nice": domain is None and field != "epoch"},
        "axis": {"tickCount": 5, **({"format": ".0%"} if percent else {})},
    }


def _binned(field: str, title: str) -> Spec:
    """The left end of bars that stand on a scale of shares."""
    axis = {"format": ".0%", "values": [0, 0.2, 0.4, 0.6, 0.8, 1], "grid": False}
    return {
        "field": field,
        "bin": {"binned": True, "step": 0.1},
        "title": title,
        "axis": axis,
        "scale": {"domain": [0, 1]},
    }


def _colour(field: str, names: list[str]) -> Spec:
    return {
        "field": field,
        "type": "nominal",
        "scale": {"domain": names},
        "legend": {"title": None, "orient": "top", "direction": "horizontal"} if len(names) > 1 else None,
    }
