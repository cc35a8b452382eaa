"""What kind of feature a column is. The first rule that fits decides:

* ``ignored``: nothing but missing values; the same value throughout; identifiers: a text that hardly repeats and is one
  word, or whole numbers that count the rows or are all different in a column whose name says ``id``.
* ``number``: numbers, or a text column of which 95% of the values are; the rest counts as missing, and is said. A
  decimal comma is understood. Infinite values count as missing.
* ``date``: dates and times, or texts of which 95% are, in one of a few formats; day before month where both fit.
* ``text``: more than half of the values are different, and they have three words or more on average.
* ``category``: all others, true and false included.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simpgcn.data.tables.values import (
    DATE_FORMATS,
    Parsed,
    is_text,
    parse_dates,
    parse_numbers,
    whole,
    without_missing_marks,
)

_ENOUGH = 0.95
_WORDS = 3
_HARDLY_REPEATS = 0.9
_FEW_ROWS = 20
_READABLE = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_date,
    pa.types.is_timestamp,
)
_ID_NAME = re.compile(r"(^|[_\W])(id|ids|key|uuid|guid|index|idx|nr|no)$|[a-z](Id|ID)$", re.IGNORECASE)


class Column(NamedTuple):
    """A column's kind, what else is needed to read it, why it is ignored, what had to be put right, what is missing."""

    name: str
    kind: str
    how: dict[str, Any] = {}  # noqa: RUF012 - never changed
    why: str = ""
    repair: str = ""
    missing: int = 0


def column_kind(name: str, column: Any, *, asked: bool = False) -> Column:
    """The kind of a column; one that was ``asked`` for by name is no identifier.

    >>> column_kind("age", pa.array(["31", "47", ""])).kind, column_kind("city", pa.array(["Rome", "Oslo"])).kind
    ('number', 'category')
    >>> column_kind("born", pa.array(["1.2.1990", "13.4.1985"])).how
    {'date_format': '%d.%m.%Y'}
    """
    array = whole(column)
    found = _kind(name, array, asked)
    if found.kind in ("number", "date"):
        parsed = (
            parse_numbers(array, found.how["decimal"]) if "decimal" in found.how else parse_dates(array, **found.how)
        )
        return found._replace(missing=int(np.isnan(parsed.numbers).sum()))
    return found._replace(missing=without_missing_marks(array).null_count)


def _kind(name: str, array: pa.Array, asked: bool) -> Column:
    kind = array.type
    if pa.types.is_null(kind):
        return Column(name, "ignored", why="every value is missing")
    if not (is_text(array) or any(check(kind) for check in _READABLE)):
        return Column(name, "ignored", why=f"values of type {kind} cannot be read")
    array = without_missing_marks(array)
    there = len(array) - array.null_count
    if pa.types.is_floating(kind):
        there -= int(pc.sum(pc.is_nan(array)).as_py() or 0)
    if there == 0:
        return Column(name, "ignored", why="every value is missing")
    distinct = int(pc.count_distinct(array).as_py())
    if distinct == 1:
        return Column(name, "ignored", why="every value is the same")
    if is_text(array):
        return _of_texts(name, array, there, distinct, asked)
    if pa.types.is_boolean(kind):
        return Column(name, "category")
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return Column(name, "date", {"date_format": "iso"})
    if pa.types.is_integer(kind) and not asked and _counts_rows(name, array, there, distinct):
        return Column(name, "ignored", why="it looks like an identifier")
    return _number(name, array, parse_numbers(array), {"decimal": "."})


def _of_texts(name: str, array: pa.Array, there: int, distinct: int, asked: bool) -> Column:
    for decimal in (".", ","):
        parsed = parse_numbers(array, decimal)
        if parsed.wrong.sum() <= (1 - _ENOUGH) * there:
            numbers = pa.array(parsed.numbers, from_pandas=True)
            if decimal == "." and not asked and _counts_rows(name, numbers, there, distinct):
                return Column(name, "ignored", why="it looks like an identifier")
            return _number(name, array, parsed, {"decimal": decimal})
    for date_format in DATE_FORMATS:
        parsed = parse_dates(array, date_format)
        if parsed.wrong.sum() <= (1 - _ENOUGH) * there:
            return _date(name, array, parsed, date_format)
    words = pc.mean(pc.add(pc.count_substring_regex(array, r"\s+"), 1)).as_py()
    if distinct > there / 2 and words >= _WORDS:
        return Column(name, "text")
    if not asked and there >= _FEW_ROWS and distinct > _HARDLY_REPEATS * there:
        return Column(name, "ignored", why="it looks like an identifier: its values hardly repeat")
    return Column(name, "category")


def _number(name: str, array: pa.Array, parsed: Parsed, how: dict[str, Any]) -> Column:
    repair = _said(name, "number", array, parsed)
    if how["decimal"] == ",":
        repair = f"the column {name!r} has decimal commas" + (f"; {repair}" if repair else "")
    numbers = parsed.numbers[~np.isnan(parsed.numbers)]
    if numbers.size == 0 or numbers.min() == numbers.max():
        return Column(name, "ignored", why="it holds fewer than two different numbers")
    return Column(name, "number", how, repair=repair)


def _date(name: str, array: pa.Array, parsed: Parsed, date_format: str) -> Column:
    repair = _said(name, "date", array, parsed)
    if date_format == "%d/%m/%Y" and parse_dates(array, "%m/%d/%Y").wrong.sum() <= parsed.wrong.sum():
        repair = f"the dates of {name!r} are read with the day before the month" + (f"; {repair}" if repair else "")
    return Column(name, "date", {"date_format": date_format}, repair=repair)


def _said(name: str, kind: str, array: pa.Array, parsed: Parsed) -> str:
    """A sentence about the values that are not of the column's kind."""
    count = int(parsed.wrong.sum())
    if not count:
        return ""
    row = int(parsed.wrong.argmax())
    values = "value that is" if count == 1 else "values that are"
    first = f"first {array[row].as_py()!r} in row {row + 1}"
    return f"the column {name!r} holds {count} {values} no {kind}, {first}: taken as missing"


def _counts_rows(name: str, array: pa.Array, there: int, distinct: int) -> bool:
    """Whether whole numbers, all different, are but the number of the row, or are called an id."""
    if there < _FEW_ROWS or distinct < there:
        return False
    low, high = (pc.min_max(array)[end].as_py() for end in ("min", "max"))
    return bool(_ID_NAME.search(name)) or high - low == there - 1
