"""A table from a file or from memory: CSV in any usual dress, Parquet, pandas or pyarrow.

Every column of a CSV file is read as text, so that ``007`` stays what it is; what its values mean is decided later,
in :mod:`simpgcn.data.tables.column_kinds`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from simpgcn.data.tables.text_file import TextFile, examine_text, open_text
from simpgcn.errors import SimPGCNError

TABLE_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
# A file is read this many bytes at a time. Every block looks up its ids in a table of all of them, made anew.
_BLOCK_BYTES = 16 << 20
_BATCH_ROWS = 1 << 20


class Table(NamedTuple):
    """A table, what messages call it, and whether all its columns are text that means something else."""

    content: pa.Table
    name: str
    is_text: bool


class TableStream(NamedTuple):
    """A table that arrives in batches."""

    batches: Iterator[pa.RecordBatch]
    columns: list[str]
    name: str
    is_text: bool


def is_table_path(name: str) -> bool:
    """Whether a name is that of a table file.

    >>> is_table_path("people.csv.gz"), is_table_path("cora")
    (True, False)
    """
    return name.lower().endswith(TABLE_ENDINGS)


def read_table(source: Any, what: str, repairs: list[str]) -> Table:
    """The whole table of a path, a pyarrow table or a pandas data frame.

    Args:
        source: Where it is.
        what: What messages call it where it has no path, such as ``nodes``.
        repairs: What had to be put right is added here, a sentence each.

    >>> read_table(pa.table({"id": [1, 2]}), "nodes", []).content.num_rows
    2
    """
    stream = open_table(source, what, repairs)
    batches = list(stream.batches)
    if not batches:
        raise SimPGCNError(f"{stream.name} has a header but no rows: give it at least one")
    return Table(pa.Table.from_batches(batches), stream.name, stream.is_text)


def open_table(source: Any, what: str, repairs: list[str], *, header: bool = True) -> TableStream:
    """A table to be read batch by batch; see :func:`read_table`. Without ``header`` columns are called f0, f1, …"""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        _check_path(path)
        return _open_parquet(path) if path.suffix.lower() == ".parquet" else _open_csv(path, repairs, header)
    table = source if isinstance(source, pa.Table) else _from_pandas(source, what, repairs)
    name = f"the table of {what}"
    _check_columns(table.column_names, name)
    if table.num_rows == 0:
        raise SimPGCNError(f"{name} has no rows: give it at least one")
    return TableStream(iter(table.to_batches(max_chunksize=_BATCH_ROWS)), table.column_names, name, is_text=False)


def _check_path(path: Path) -> None:
    if not is_table_path(path.name):
        raise SimPGCNError(f"{path} is no table: its name must end in {', '.join(TABLE_ENDINGS)}")
    if not path.exists():
        raise SimPGCNError(f"there is no file {path}: check its name and folder")
    if path.is_dir():
        raise SimPGCNError(f"{path} is a folder: name a file in it")
    if path.stat().st_size == 0:
        raise SimPGCNError(f"{path} is empty: it needs a header line and rows")


def _check_columns(names: list[str], name: str) -> None:
    twice = sorted({column for column in names if names.count(column) > 1})
    if twice:
        raise SimPGCNError(f"{name} has more than one column called {twice[0]!r}: rename all but one")


def _open_parquet(path: Path) -> TableStream:
    try:
        file = pyarrow.parquet.ParquetFile(path)
        columns = file.schema_arrow.names
    except (pa.ArrowException, OSError) as error:
        raise SimPGCNError(f"{path} is damaged or no Parquet file ({error})") from error
    _check_columns(columns, str(path))
    if file.metadata.num_rows == 0:
        raise SimPGCNError(f"{path} has columns but no rows: give it at least one")

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from file.iter_batches(batch_size=1 << 20)
        except (pa.ArrowException, OSError) as error:
            raise SimPGCNError(f"{path} is damaged ({error})") from error

    return TableStream(batches(), columns, str(path), is_text=False)


def _open_csv(path: Path, repairs: list[str], header: bool) -> TableStream:
    text = examine_text(path, repairs)
    names = _column_names(text, repairs) if header else [f"f{place}" for place in range(len(text.header))]
    _check_columns(names, str(path))
    bad: list[pa.csv.InvalidRow] = []

    def note(row: pa.csv.InvalidRow) -> str:
        bad.append(row)
        return "error"

    def batches() -> Iterator[pa.RecordBatch]:
        read = pyarrow.csv.ReadOptions(
            use_threads=False, block_size=_BLOCK_BYTES, column_names=None if header else names
        )
        parse = pyarrow.csv.ParseOptions(
            delimiter=text.separator, newlines_in_values=text.has_quotes, invalid_row_handler=note
        )
        types = dict.fromkeys(text.header if header else names, pa.string())
        convert = pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=False, check_utf8=False)
        with open_text(path, text.encoding) as file:
            try:
                for batch in pyarrow.csv.open_csv(file, read, parse, convert):
                    yield batch.rename_columns(names)
            except pa.ArrowInvalid as error:
                if "Empty CSV file" not in str(error):
                    raise _unreadable(path, bad, error) from error

    return TableStream(batches(), names, str(path), is_text=True)


def _unreadable(path: Path, bad: list[Any], error: Exception) -> SimPGCNError:
    if not bad:
        return SimPGCNError(f"{path} could not be read as CSV ({error})")
    row = bad[0]
    where = "" if row.number is None else f" {row.number}"
    start = row.text if len(row.text) <= 60 else f"{row.text[:60]}…"
    return SimPGCNError(
        f"{path}: line{where} has {row.actual_columns} values, but the header has {row.expected_columns} columns "
        f"({start!r}): correct it, and put values that hold the separator in quotes"
    )


def _column_names(text: TextFile, repairs: list[str]) -> list[str]:
    names = [name.strip() for name in text.header]
    for place, name in enumerate(names):
        if not name:
            names[place] = f"column {place + 1}"
            repairs.append(f"{text.path}: the column without a name is called {names[place]!r}")
    return names


def _from_pandas(source: Any, what: str, repairs: list[str]) -> pa.Table:
    if not (hasattr(source, "reset_index") and hasattr(source, "columns")):
        raise SimPGCNError(
            f"the {what} must be a path, a pyarrow table or a pandas data frame, not {type(source).__name__}"
        )
    if source.index.name is not None or type(source.index).__name__ != "RangeIndex":
        source = source.reset_index()
    _check_columns([str(name) for name in source.columns], f"the table of {what}")
    columns = {}
    for name in source.columns:
        try:
            columns[str(name)] = pa.array(source[name], from_pandas=True)
        except (pa.ArrowException, TypeError):
            repairs.append(f"the column {str(name)!r} of the {what} holds values of several types: taken as text")
            columns[str(name)] = pa.array(source[name].astype("string"), from_pandas=True)
    return pa.table(columns)
