"""What the values of a column mean: which are missing, and what number or day a text stands for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# What programs write where there is nothing.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "null", "NULL", "None", "<NA>", "NaT")
_PLAIN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?([iI]nf|[iI]nfinity|INF)$"
_COMMA = r"^[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?$"
# ISO dates and times are pyarrow's own cast; the others are tried in this order.
DATE_FORMATS = ("iso", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y")
_ISO = r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"


class Parsed(NamedTuple):
    """A number for every row, NaN where there is none, and which rows held something that is none."""

    numbers: np.ndarray
    wrong: np.ndarray


def whole(column: Any) -> pa.Array:
    """A column as one array, without dictionary encoding.

    >>> whole(pa.chunked_array([["a"], ["b"]])).to_pylist()
    ['a', 'b']
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # too long for one array of its type
        array = pa.concat_arrays(array.cast(pa.large_string()).chunks)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type):
        array = array.cast(pa.string())
    return array


def is_text(array: pa.Array) -> bool:
    """Whether the values are texts."""
    return pa.types.is_string(array.type)


def without_missing_marks(array: pa.Array) -> pa.Array:
    """Texts stripped, and null where they say that there is nothing.

    >>> without_missing_marks(pa.array([" a", "NA", ""])).to_pylist()
    ['a', None, None]
    """
    if not is_text(array):
        return array
    array = pc.utf8_trim_whitespace(array)
    return pc.if_else(pc.is_in(array, pa.array(MISSING)), pa.scalar(None, pa.string()), array)


def parse_numbers(array: pa.Array, decimal: str = ".") -> Parsed:
    """Numbers from texts or numbers; infinite ones count as wrong.

    >>> parse_numbers(pa.array(["1.5", "x", ""])).numbers.tolist(), parse_numbers(pa.array(["1,5"]), ",").numbers[0]
    ([1.5, nan, nan], np.float64(1.5))
    """
    array = without_missing_marks(array)
    if is_text(array):
        good = pc.match_substring_regex(array, _COMMA if decimal == "," else _PLAIN)
        wrong = pc.fill_null(pc.invert(good), False)
        array = pc.if_else(good, array, pa.scalar(None, pa.string()))
        array = pc.replace_substring(array, ",", ".") if decimal == "," else array
        array = pc.ascii_ltrim(array, "+")
    else:
        wrong = pa.array(np.zeros(len(array), dtype=bool))
    numbers = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    infinite = np.isinf(numbers)
    return Parsed(np.where(infinite, np.nan, numbers), wrong.to_numpy(zero_copy_only=False) | infinite)


def parse_dates(array: pa.Array, date_format: str = "iso") -> Parsed:
    """Days since 1970 from texts in a given format, or from dates and times.

    >>> parse_dates(pa.array(["1970-01-02", "02.01.1970"])).numbers.tolist()
    [1.0, nan]
    """
    array = without_missing_marks(array)
    there = pc.is_valid(array)
    if is_text(array):
        array = _iso(array) if date_format == "iso" else pc.strptime(array, date_format, "s", error_is_null=True)
    wrong = pc.and_(there, pc.is_null(array)).to_numpy(zero_copy_only=False)
    microseconds = array.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    return Parsed(microseconds.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) / 86_400e6, wrong)


def _iso(array: pa.Array) -> pa.Array:
    """Times as the clock showed them: the hours to another time zone are less than any column of dates can tell."""
    array = pc.if_else(pc.match_substring_regex(array, _ISO), array, pa.scalar(None, pa.string()))
    array = pc.replace_substring_regex(array, r"(\d:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)\d*(?:Z|[+-]\d{2}:?\d{2})?$", r"\1")
    try:
        return array.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:  # a day or an hour that does not exist
        return pc.strptime(pc.utf8_slice_codeunits(array, 0, 10), "%Y-%m-%d", "us", error_is_null=True)
