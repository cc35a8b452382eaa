"""Charts of how sure a run is, what its nodes lean on, and what surrounds them."""

from __future__ import annotations

from simpgcn.report.chart_parts import LABELS, Chart, Rows, binned, colour, number
from simpgcn.report.trust import NAMES


def reliability_chart(curves: dict[str, Rows], title: str, caption: str) -> Chart:
    """Accuracy against confidence; on the diagonal, probabilities mean what they say."""
    rows = [{"probabilities": name, **row} for name, points in curves.items() for row in points]
    place = {
        "x": number("sure", "how sure it was", percent=True, domain=[0, 1]),
        "y": number("accuracy", "how often it was right", percent=True, domain=[0, 1]),
    }
    spec = {
        "height": 280,
        "layer": [
            {
                "data": {"values": [{"sure": 0, "accuracy": 0}, {"sure": 1, "accuracy": 1}]},
                "mark": {"type": "line", "style": "diagonal"},
                "encoding": place,
            },
            {"mark": {"type": "line"}, "encoding": {**place, "color": colour("probabilities", list(curves))}},
            {
                "mark": {"type": "point", "filled": True, "tooltip": True, "opacity": 0.9},
                "encoding": {
                    **place,
                    "color": colour("probabilities", list(curves)),
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
            "x": binned("from", "how sure it was"),
            "x2": {"field": "to"},
            "y": number("nodes", "test nodes"),
            "color": colour("outcome", ["right", "wrong"]),
            "order": {"field": "outcome"},
        },
    }
    return Chart(title, caption, rows, spec)


def lean_chart(rows: Rows, title: str, caption: str) -> Chart:
    """The distribution of each source's weight over the nodes."""
    encoding = {
        "x": number("weight", "weight", domain=[0, 1]),
        "y": {**number("nodes", "share of nodes", percent=True), "stack": None},
        "color": colour("source", list(NAMES.values())),
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
    place = {"y": {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": LABELS}}
    spec = {
        "height": 44 * len({row["outcome"] for row in rows}),
        "encoding": place,
        "layer": [
            {
                "mark": {"type": "bar", "tooltip": True},
                "encoding": {
                    "x": number("left", "mean weight", domain=[0, 1]),
                    "x2": {"field": "right_end"},
                    "color": colour("source", names),
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
    y = {"field": "name", "type": "nominal", "title": None, "axis": LABELS}
    offset = {"field": "source", "sort": names}
    spec = {
        "height": 18 * len(rows),
        "encoding": {"y": y, "yOffset": offset, "color": colour("source", names)},
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.5},
                "encoding": {"x": number("low", "score"), "x2": {"field": "high"}},
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
            "x": binned("left", "share of its own class"),
            "x2": {"field": "right_end"},
            "y": number("nodes", "share of nodes", percent=True),
            "color": colour("around", names),
        },
    }
    return Chart(title, caption, shown, spec)
