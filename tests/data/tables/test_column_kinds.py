from __future__ import annotations

import datetime
from decimal import Decimal

import pandas
import pyarrow as pa
import pytest

from simpgcn.data.tables import load_tables
from simpgcn.data.tables.column_kinds import column_kind

LONG = [f"a note of some words number {i}" for i in range(30)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2.5", "-3e2", ""], "number"),
        (["1,5", "2,25", "7"], "number"),
        ([1, 2, None], "number"),
        ([Decimal("1.50"), Decimal("2.25")], "number"),
        ([1.5, float("inf"), 2.0], "number"),
        (["2020-01-31", "2021-02-28T10:00:00Z", "NA"], "date"),
        (["31/12/2020", "01/02/2021"], "date"),
        (["12/31/2020", "01/02/2021"], "date"),
        ([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)], "date"),
        (
            [datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), datetime.datetime(2021, 1, 1, tzinfo=datetime.UTC)],
            "date",
        ),
        (["yes", "no", "yes"], "category"),
        ([True, False], "category"),
        (["Rome", "Oslo"] * 20, "category"),
        (LONG, "text"),
        (["x"] * 10, "ignored"),
        (["", "NA", "nan"], "ignored"),
        ([None, None], "ignored"),
        ([[1], [2]], "ignored"),
        ([f"AB-{i}" for i in range(30)], "ignored"),
        (list(range(100, 130)), "ignored"),
        ([str(i) for i in range(100, 130)], "ignored"),
    ],
)
def test_kinds(values, kind):
    found = column_kind("column", pa.array(values))
    assert found.kind == kind
    assert bool(found.why) == (kind == "ignored")


def test_a_column_that_was_asked_for_is_no_identifier():
    assert column_kind("code", pa.array([f"AB-{i}" for i in range(30)]), asked=True).kind == "category"
    assert column_kind("rank", pa.array(range(30)), asked=True).kind == "number"


def test_a_few_texts_among_numbers_are_missing_and_many_make_a_category():
    some = column_kind("age", pa.array(["old"] + ["1", "2", "3"] * 10))
    assert some.kind == "number"
    assert some.missing == 1
    assert some.repair == "the column 'age' holds 1 value that is no number, first 'old' in row 1: taken as missing"
    assert column_kind("age", pa.array(["old", "young"] * 5 + ["1", "2", "3"] * 10)).kind == "category"


def test_a_day_and_month_that_may_be_either_way_round_are_said():
    assert "day before the month" in column_kind("born", pa.array(["01/02/2020", "03/04/2021"])).repair
    assert column_kind("born", pa.array(["13/02/2020", "03/04/2021"])).repair == ""
    assert column_kind("born", pa.array(["02/13/2020", "03/14/2021"])).how == {"date_format": "%m/%d/%Y"}


@pytest.mark.parametrize(
    ("series", "kind"),
    [
        (pandas.Series(pandas.Categorical(["x", "y", "z"] * 10)), "category"),
        (pandas.Series([1, None, 3] * 10, dtype="Int64"), "number"),
        (pandas.Series([True, None, False] * 10, dtype="boolean"), "category"),
        (pandas.Series(pandas.date_range("2020-01-01", periods=30, tz="Europe/Berlin")), "date"),
        (pandas.Series([1, "a", 2.5] * 10), "category"),
        (pandas.Series(pandas.to_timedelta(range(30), unit="h")), "ignored"),
        (pandas.Series(pandas.period_range("2020-01", periods=30, freq="M")), "ignored"),
        (pandas.Series([b"x", b"y", b"z"] * 10), "ignored"),
        (pandas.Series([1j, 2j, 3j] * 10), "category"),
    ],
)
def test_columns_of_pandas(series, kind):
    frame = pandas.DataFrame(
        {"id": range(30), "age": [i % 7 for i in range(30)], "it": series, "kind": ["a", "b"] * 15}
    )
    found = load_tables(frame, None, "kind")
    assert found.understood["columns"][1]["kind"] == kind
    assert found.x.isfinite().all()
