"""What the charts of a report are made of: Vega-Lite specifications, whose colours and fonts the page's theme sets."""

from __future__ import annotations

from typing import Any, NamedTuple

Rows = list[dict[str, Any]]
Spec = dict[str, Any]

# The axis of names: all of them, cut off where they are long.
LABELS = {"labelLimit": 110, "labelPadding": 6, "labelOverlap": False, "domain": False, "ticks": False}


class Chart(NamedTuple):
    """A picture, its title, what it shows in a sentence, and the figures behind it."""

    title: str
    caption: str
    rows: Rows
    spec: Spec


def number(
    field: str, title: str | None, *, zero: bool = True, percent: bool = False, domain: list[float] | None = None
) -> Spec:
    """A quantity on an axis.

    >>> number("accuracy", None, percent=True)["axis"]["format"]
    '.0%'
    """
    scale = {"domain": domain} if domain else {"zero": zero}
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {**scale, "nice": domain is None and field != "epoch"},
        "axis": {"tickCount": 5, **({"format": ".0%"} if percent else {})},
    }


def colour(field: str, names: list[str]) -> Spec:
    """A colour for each name, in their order, and a legend where there are several.

    >>> colour("run", ["a"])["legend"] is None
    True
    """
    return {
        "field": field,
        "type": "nominal",
        "scale": {"domain": names},
        "legend": {"title": None, "orient": "top", "direction": "horizontal"} if len(names) > 1 else None,
    }


def binned(field: str, title: str) -> Spec:
    """The left end of bars that stand on a scale of shares.

    >>> binned("from", "how sure")["bin"]["binned"]
    True
    """
    axis = {"format": ".0%", "values": [0, 0.2, 0.4, 0.6, 0.8, 1], "grid": False}
    return {
        "field": field,
        "bin": {"binned": True, "step": 0.1},
        "title": title,
        "axis": axis,
        "scale": {"domain": [0, 1]},
    }
