"""Ids of any type: which column holds them, and which row an id means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simpgcn.data.tables.read_table import Table
from simpgcn.data.tables.values import is_text, whole
from simpgcn.errors import SimPGCNError, unknown_name

ID_NAMES = ("id", "node", "node_id", "nodeid")
# Whole numbers as everyone writes them; others, such as 007, stay text.
_PLAIN_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"


def find_id_column(table: Table, wanted: str | None) -> str:
    """The column of ids: the one that is wanted, else one called id or node, else the first."""
    names = table.content.column_names
    if wanted is not None:
        if wanted not in names:
            raise unknown_name(f"column of {table.name}", wanted, names)
        return wanted
    return next((name for name in names if name.lower() in ID_NAMES), names[0])


def as_ids(column: pa.ChunkedArray | pa.Array, *, from_text: bool) -> pa.Array:
    """Ids as ``int64`` or ``string``: whole numbers as numbers, all others as text, null where there is none.

    In a text file whole numbers are numbers only if all of them are and none has leading zeros.

    >>> as_ids(pa.array(["1", "20"]), from_text=True).type, as_ids(pa.array(["1", "020"]), from_text=True).type
    (DataType(int64), DataType(string))
    >>> as_ids(pa.array([1.0, 2.0]), from_text=False).to_pylist()
    [1, 2]
    """
    array = whole(column)
    if is_text(array):
        if not from_text:
            return array
        array = pc.utf8_trim_whitespace(array)
        array = pc.if_else(pc.equal(array, ""), pa.scalar(None, pa.string()), array)
        plain = pc.all(pc.match_substring_regex(array, _PLAIN_INTEGER)).as_py()
        return array.cast(pa.int64()) if plain else array
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        if pa.types.is_floating(array.type):
            array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
        try:
            return array.cast(pa.int64())
        except pa.ArrowInvalid:  # halves, or beyond 64 bits
            return array.cast(pa.string())
    try:
        return array.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise SimPGCNError(f"values of type {array.type} cannot be ids: use numbers or texts") from None


class IdIndex:
    """Finds the row of an id, exactly or, for what is written otherwise, by what it plainly means.

    >>> index = IdIndex(pa.array([7, 12]))
    >>> index.rows(pa.array(["12", "007", "8"]))
    array([ 1,  0, -1], dtype=int32)
    >>> index.mended, index.example
    (1, ('007', '7'))
    """

    def __init__(self, ids: pa.Array) -> None:
        self.ids = ids
        self.mended = 0
        self.example: tuple[str, str] | None = None
        self._plain: tuple[pa.Array, np.ndarray] | None = None

    def rows(self, given: pa.Array) -> np.ndarray:
        """The row of every given id, -1 where there is none."""
        rows = _index_in(self._as_ids(given), self.ids)
        unknown = np.flatnonzero(rows < 0)
        if unknown.size == 0:
            return rows
        texts = pc.take(given, pa.array(unknown)).cast(pa.string())
        if self._plain is None:
            self._plain = _unambiguous(self.ids)
        plain, plain_rows = self._plain
        place = _index_in(_plain(texts), plain)
        found = place >= 0
        if found.any():
            rows[unknown[found]] = plain_rows[place[found]]
            self.mended += int(found.sum())
            if self.example is None:
                first = int(found.argmax())
                self.example = (texts[first].as_py(), str(self.ids[int(rows[unknown[first]])].as_py()))
        return rows

    def has(self, texts: list[str]) -> bool:
        """Whether all these are ids, letter for letter."""
        return bool((_index_in(self._as_ids(pa.array(texts)), self.ids) >= 0).all())

    def _as_ids(self, given: pa.Array) -> pa.Array:
        """The given ids in the type of the known ones; what does not fit is null."""
        if given.type == self.ids.type:
            return given
        if is_text(given):  # the known ones are whole numbers
            plain = pc.match_substring_regex(given, _PLAIN_INTEGER)
            return pc.if_else(plain, given, pa.scalar(None, pa.string())).cast(pa.int64())
        if pa.types.is_integer(self.ids.type) and not pa.types.is_integer(given.type):
            return pa.nulls(len(given), pa.int64())
        return given.cast(self.ids.type)


def _index_in(values: pa.Array, among: pa.Array) -> np.ndarray:
    found = pc.index_in(values, among, skip_nulls=True)
    return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int32)


def _plain(texts: pa.Array) -> pa.Array:
    """Ids without what programs add to them: spaces around, leading zeros, and the .0 of numbers made of integers."""
    texts = pc.utf8_trim_whitespace(texts)
    return pc.replace_substring_regex(texts, r"^\+?(-?)0*([0-9]+?)(?:\.0*)?$", r"\1\2")


def _unambiguous(ids: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """The plain forms that only one id has, and its row."""
    plain = _plain(ids.cast(pa.string()))
    _, first, counts = np.unique(plain.to_numpy(zero_copy_only=False), return_index=True, return_counts=True)
    rows = first[counts == 1].astype(np.int32)
    return plain.take(pa.array(rows)), rows


def sorted_unique(table: Table, ids: pa.Array, repairs: list[str]) -> tuple[pa.Table, pa.Array]:
    """The rows in the order of their ids, so that nothing depends on the order of the file; an id means one row."""
    order = pc.sort_indices(ids).to_numpy()  # nulls last
    if ids.null_count:
        repairs.append(f"{table.name}: {ids.null_count} {_rows(ids.null_count)} without an id left out")
        order = order[: len(ids) - ids.null_count]
    if order.size == 0:
        raise SimPGCNError(f"{table.name} has no row with an id: choose the column of ids with --id")
    content, ids = table.content.take(pa.array(order)), ids.take(pa.array(order))
    again = pc.equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    if again.any():
        _check_same(table.name, content, ids, order, again)
        repairs.append(f"{table.name}: {int(again.sum())} {_rows(again.sum())} given twice, word for word, taken once")
        once = pa.array(np.concatenate([[True], ~again]))
        content, ids = content.filter(once), ids.filter(once)
    return content.combine_chunks(), ids


def _check_same(name: str, content: pa.Table, ids: pa.Array, order: np.ndarray, again: np.ndarray) -> None:
    """Raise unless rows with the same id are the same in all columns."""
    for place in np.flatnonzero(again).tolist():
        if content.slice(place, 1) != content.slice(place + 1, 1):
            first, second = sorted((int(order[place]) + 1, int(order[place + 1]) + 1))
            raise SimPGCNError(
                f"{name} has the id {ids[place].as_py()!r} in rows {first} and {second}, which differ: an id must mean "
                "one row, so keep one of them or choose another column with --id"
            )


def _rows(count: int) -> str:
    return "row" if count == 1 else "rows"


def examples(ids: Sequence[object] | pa.Array) -> str:
    """A few ids for a message.

    >>> examples(pa.array([1, 2, 3, 4]))
    '1, 2, 3'
    """
    return ", ".join(repr(value) for value in pa.array(ids)[:3].to_pylist())
