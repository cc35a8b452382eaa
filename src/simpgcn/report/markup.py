"""Pieces of HTML; whatever a user wrote is escaped and kept in its own direction of reading."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def text(value: Any) -> str:
    """Text for HTML, isolated so that right-to-left names do not turn around what stands beside them.

    >>> text("<b>")
    '<bdi>&lt;b&gt;</bdi>'
    """
    return f"<bdi>{escape(str(value))}</bdi>"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table that scrolls by itself where it is too wide.

    >>> table(["a"], [[1]]).count("<td")
    1
    """
    cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    lines = "".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>" for row in rows)
    return f'<div class="wide" tabindex="0"><table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table></div>'


def _cell(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"<td>{text('' if value is None else value)}</td>"
    return f'<td class="number">{value:,}</td>'


def pairs(items: dict[str, Any]) -> str:
    """Names and values, one below the other; what is nested is indented, a list of records is a table.

    >>> pairs({"rows": 3})
    '<dl><dt><bdi>rows</bdi></dt><dd><bdi>3</bdi></dd></dl>'
    """
    return "<dl>" + "".join(f"<dt>{text(key)}</dt><dd>{_value(value)}</dd>" for key, value in items.items()) + "</dl>"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return pairs(value) if value else text("none")
    if isinstance(value, list):
        return _list(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return text(f"{value:,}")
    if isinstance(value, float):
        return text(f"{value:.4g}")
    return text({None: "none", True: "yes", False: "no"}.get(value, value))


def _list(values: list[Any]) -> str:
    if not values:
        return text("none")
    if all(isinstance(value, dict) and value.keys() == values[0].keys() for value in values):
        return table(list(values[0]), [list(value.values()) for value in values])
    if all(not isinstance(value, dict | list) for value in values) and sum(len(str(value)) for value in values) < 200:
        return ", ".join(_value(value) for value in values)
    return "<ul>" + "".join(f"<li>{_value(value)}</li>" for value in values) + "</ul>"
