"""Classes from a column of any values; a missing one is a node to predict."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from simpgcn.data.tables.values import MISSING, is_text, parse_numbers, whole, without_missing_marks
from simpgcn.errors import SimPGCNError

_MANY_CLASSES = 50


class LabelColumn(NamedTuple):
    """A class number per row (-1 for missing), the classes' names, and what a colleague would say about them."""

    y: Tensor
    class_names: list[str]
    warnings: list[str]


def read_labels(column: pa.ChunkedArray | pa.Array, name: str) -> LabelColumn:
    """Number the values of a column in their order: that of numbers if all are, else that of letters.

    >>> found = read_labels(pa.array(["b", "a", None, "b"]), "topic")
    >>> found.y.tolist(), found.class_names
    ([1, 0, -1, 1], ['a', 'b'])
    """
    array = whole(column)
    if pa.types.is_nested(array.type):
        raise SimPGCNError(f"the labels in {name!r} are of type {array.type}: a label must be one value")
    marked = _said_to_be_missing(array)
    array = _texts(array)
    labelled = len(array) - array.null_count
    if labelled == 0:
        raise SimPGCNError(f"every label in {name!r} is missing: training needs some, of two classes or more")
    values = pc.unique(array.drop_null())
    numbers = parse_numbers(values)
    numeric = not numbers.wrong.any()
    class_names: list[str] = values.take(pa.array(numbers.numbers.argsort())).to_pylist() if numeric else []
    class_names = class_names or sorted(values.to_pylist())
    if len(class_names) < 2:
        raise SimPGCNError(f"every label in {name!r} is {class_names[0]!r}: there must be two classes or more")
    if len(class_names) > max(10, labelled / 2):
        looks = "an amount" if numeric else "a name or an id"
        raise SimPGCNError(
            f"{name!r} has {len(class_names)} different values in {labelled} labelled rows: it looks like {looks}, not "
            "a class; choose another column with --label, or put its values into groups"
        )
    y = pc.index_in(array, pa.array(class_names, pa.string()), skip_nulls=True)
    y = torch.from_numpy(pc.fill_null(y, -1).to_numpy(zero_copy_only=False).astype(np.int64))
    return LabelColumn(y, class_names, [*marked, *_warnings(y, class_names, name, numeric)])


def _said_to_be_missing(array: pa.Array) -> list[str]:
    """Labels that may be meant: somebody's class may be called None."""
    if not is_text(array):
        return []
    marks = array.filter(pc.is_in(pc.utf8_trim_whitespace(array), pa.array(MISSING[1:])))
    return [f"{len(marks)} labels such as {marks[0].as_py()!r} are taken as missing"] if len(marks) else []


def _texts(array: pa.Array) -> pa.Array:
    """Labels as text; whole numbers that missing values have turned into floats, as whole numbers."""
    if is_text(array):
        return without_missing_marks(array)
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_finite(array), array, pa.scalar(None, array.type))
        array = array.cast(pa.float64())
        whole_numbers = pc.all(pc.and_(pc.equal(array, pc.floor(array)), pc.less(pc.abs(array), 2.0**53))).as_py()
        array = array.cast(pa.int64()) if whole_numbers else array
    try:
        return array.cast(pa.string())
    except pa.ArrowException as error:
        raise SimPGCNError(f"the labels are of type {array.type}, which has no names: give texts or numbers") from error


def _warnings(y: Tensor, class_names: list[str], name: str, numeric: bool) -> list[str]:
    counts = torch.bincount(y[y >= 0], minlength=len(class_names))
    found = []
    if numeric and len(class_names) > _MANY_CLASSES:
        found.append(f"{name!r} has {len(class_names)} different numbers: if they are amounts, put them into groups")
    single = [class_names[place] for place in (counts == 1).nonzero().flatten().tolist()]
    if single:
        named = ", ".join(repr(label) for label in single[:3]) + (", …" if len(single) > 3 else "")
        found.append(
            f"a single node is labelled {named}: it trains, but nothing can tell how well such nodes are found"
        )
    few = int(((counts > 1) & (counts < 10)).sum())
    if few:
        found.append(f"{few} of {len(counts)} classes have fewer than 10 labelled nodes: expect doubtful results there")
    ratio = int(counts.max()) / int(counts.min())
    if ratio >= 10:
        most, least = class_names[int(counts.argmax())], class_names[int(counts.argmin())]
        found.append(
            f"classes are very uneven: {most!r} is {ratio:.0f} times as frequent as {least!r}, so look at the accuracy "
            "of each class, not only at the mean"
        )
    return found
