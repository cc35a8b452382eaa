"""From columns to features, learned once and kept as plain data, so that new rows become features the same way.

Every column of the table weighs about as much as any other:

* a number or a date is standardised (and cut at 5 standard deviations); a missing one is the median, and where any was
  missing a further feature says so;
* a category is 1 in the feature of its value; rare values share one feature, missing ones have one;
* a text is its tf-idf words, scaled to length 1; words of a single row or of more than half of the rows are left out.

Similarity and normalisation follow from the signs (``similarity.binarize`` and ``data.normalize_features`` are
``auto``): with a number or a date among the columns there are negative features, and all are compared by cosine as they
are; texts and many-valued categories alone look like words and get the paper's treatment of words, compared by
presence and normalised by row.

What is learned comes from the features of all rows of the training's table, labelled or not, since all of them are
nodes of the graph that is trained on. Labels are never looked at, nor are nodes that are predicted later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse
from torch import Tensor

from simpgcn.data.features import stack_columns
from simpgcn.data.tables.column_kinds import Column
from simpgcn.data.tables.text_words import learn_words, word_features
from simpgcn.data.tables.values import Parsed, parse_dates, parse_numbers, whole, without_missing_marks
from simpgcn.errors import SimPGCNError

_MAX_VALUES = 100
_CUT = 5.0


def learn_preparation(table: pa.Table, columns: Sequence[Column]) -> list[dict[str, Any]]:
    """How each column becomes features, as plain data.

    >>> from simpgcn.data.tables.column_kinds import column_kind
    >>> table = pa.table({"age": [20, 40], "city": ["Rome", "Oslo"]})
    >>> learned = learn_preparation(table, [column_kind(name, table[name]) for name in table.column_names])
    >>> learned[0]["mean"], learned[1]["values"]
    (30.0, ['Oslo', 'Rome'])
    >>> prepare_features(table, learned)
    tensor([[-1.,  0.,  1.],
            [ 1.,  1.,  0.]])
    """
    learn = {"number": _learn_number, "date": _learn_number, "category": _learn_category, "text": _learn_text}
    return [
        {"name": column.name, "kind": column.kind, **column.how, **learn[column.kind](table, column)}
        for column in columns
        if column.kind in learn
    ]


def prepare_features(table: pa.Table, learned: Sequence[dict[str, Any]]) -> Tensor:
    """The features of a table's rows, float32: CSR where most are zero, dense otherwise."""
    missing = [column["name"] for column in learned if column["name"] not in table.column_names]
    if missing:
        raise SimPGCNError(
            f"the table of nodes has no column {missing[0]!r}, which the model was trained with: it has "
            f"{', '.join(table.column_names)}"
        )
    return stack_columns([_block(whole(table[column["name"]]), column) for column in learned])


def _block(array: pa.Array, column: dict[str, Any]) -> np.ndarray | sparse.csr_array:
    prepare = {"number": _numbers, "date": _numbers, "category": _categories, "text": _words}
    if column.get("kind") not in prepare:
        raise SimPGCNError(f"nobody knows how to prepare the column {column.get('name')!r}: the run is damaged")
    if array.null_count == len(array):
        array = pa.nulls(len(array), pa.string())  # whatever type nothing has
    plain = pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
    try:
        if column["kind"] == "date" and plain:
            raise pa.ArrowInvalid("a number is no date")
        return prepare[column["kind"]](array, column)
    except pa.ArrowException as error:
        raise SimPGCNError(
            f"the column {column['name']!r} has values of type {array.type}, but the model was trained with a "
            f"{column['kind']} there: give the column as in training"
        ) from error


def feature_names(learned: Sequence[dict[str, Any]]) -> list[str]:
    """A name for every feature.

    >>> feature_names([{"name": "city", "kind": "category", "values": ["Oslo"], "other": True, "missing": False}])
    ['city = Oslo', 'city = other']
    """
    names = []
    for column in learned:
        name = column["name"]
        if column["kind"] in ("number", "date"):
            names.append(name)
        elif column["kind"] == "text":
            names += [f"{name}: {word}" for word in column["words"]]
        else:
            names += [f"{name} = {value}" for value in column["values"]]
            names += [f"{name} = other"] if column["other"] else []
        names += [f"{name} is missing"] if column.get("missing") else []
    return names


def unknown_values(table: pa.Table, learned: Sequence[dict[str, Any]]) -> list[str]:
    """A sentence for each column with values that the preparation does not know, and takes as missing or as nothing.

    >>> age = {"name": "age", "kind": "number", "decimal": "."}
    >>> unknown_values(pa.table({"age": ["5", "old", "x"]}), [age])
    ["2 values of 'age' such as 'old' are no number, and taken as missing"]
    """
    found = []
    for column in learned:
        array = whole(table[column["name"]])
        if array.null_count == len(array) or column["kind"] == "text":
            continue
        if column["kind"] == "category":
            texts, known = _texts(array), pa.array(column["values"], pa.string())
            wrong = pc.and_(pc.is_valid(texts), pc.invert(pc.is_in(texts, known))).to_numpy(zero_copy_only=False)
            said = (
                "were not there in training, and count as another" if column["other"] else "were not there in training"
            )
        else:
            wrong = _parse(array, column).wrong
            said = f"are no {column['kind']}, and taken as missing"
        if wrong.any():
            example = array[int(wrong.argmax())].as_py()
            found.append(f"{int(wrong.sum())} values of {column['name']!r} such as {example!r} {said}")
    return found


def _parse(array: pa.Array, how: dict[str, Any]) -> Parsed:
    if how["kind"] == "date":
        return parse_dates(array, how["date_format"])
    return parse_numbers(array, how["decimal"])


def _learn_number(table: pa.Table, column: Column) -> dict[str, Any]:
    numbers = _parse(whole(table[column.name]), {"kind": column.kind, **column.how}).numbers
    missing = np.isnan(numbers)
    # Sorted, so that rounding does not depend on the order of the rows; scaled, so that squares cannot overflow.
    known = np.sort(numbers[~missing])
    if not known.size:  # all that there was stood in rows that were left out
        return {"mean": 0.0, "std": 1.0, "median": 0.0, "missing": True}
    scale = float(np.abs(known).max()) or 1.0
    known = known / scale
    mean, deviation = float(known.mean()), float(known.std())
    return {
        "mean": mean * scale,
        "std": deviation * scale or 1.0,
        "median": float(np.median(known)) * scale,
        "missing": bool(missing.any()),
    }


def _numbers(array: pa.Array, how: dict[str, Any]) -> np.ndarray:
    numbers = _parse(array, how).numbers
    missing = np.isnan(numbers)
    numbers = np.where(missing, how["median"], numbers)
    with np.errstate(over="ignore"):
        standard = np.clip((numbers / how["std"] - how["mean"] / how["std"]), -_CUT, _CUT)
    parts = [standard, missing] if how["missing"] else [standard]
    return np.stack(parts, axis=1, dtype=np.float32, casting="unsafe")


def _texts(array: pa.Array) -> pa.Array:
    return without_missing_marks(array).cast(pa.string())


def _learn_category(table: pa.Table, column: Column) -> dict[str, Any]:
    array = _texts(whole(table[column.name]))
    counted = pc.value_counts(array.drop_null())
    counts = dict(zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True))
    often = sorted(counts, key=lambda value: (-counts[value], value))
    return {
        "values": sorted(often[:_MAX_VALUES]),
        "other": len(often) > _MAX_VALUES,
        "missing": array.null_count > 0,
    }


def _categories(array: pa.Array, how: dict[str, Any]) -> sparse.csr_array:
    array = _texts(array)
    count = len(how["values"])
    place = pc.index_in(array, pa.array(how["values"], pa.string())).to_numpy(zero_copy_only=False)
    place = np.nan_to_num(place.astype(float), nan=-1.0).astype(np.int64)
    missing = pc.is_null(array).to_numpy(zero_copy_only=False)
    if how["other"]:
        place[(place < 0) & ~missing] = count
    if how["missing"]:
        place[missing] = count + how["other"]
    rows = np.flatnonzero(place >= 0)
    shape = (len(array), count + how["other"] + how["missing"])
    return sparse.csr_array((np.ones(rows.size, np.float32), (rows, place[rows])), shape=shape)


def _learn_text(table: pa.Table, column: Column) -> dict[str, Any]:
    return learn_words(_texts(whole(table[column.name])).to_pylist())


def _words(array: pa.Array, how: dict[str, Any]) -> sparse.csr_array:
    return word_features(_texts(array).to_pylist(), how)
