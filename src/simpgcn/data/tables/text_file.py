"""A text file as people have them: gzipped or not, UTF-8 or not, with a separator that must be guessed."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from simpgcn.errors import SimPGCNError

_SEPARATORS = ",;\t"
_CHUNK = 1 << 20


class TextFile(NamedTuple):
    """How a file is written: ``encoding`` is utf-8, utf-16 or mixed."""

    path: Path
    encoding: str
    header: list[str]
    separator: str
    has_quotes: bool


def examine_text(path: Path, repairs: list[str]) -> TextFile:
    """Find out how a text file is written; :func:`open_text` then reads it.

    UTF-8 (with or without a mark at its start) and marked UTF-16 are read as they are. In a file that is neither,
    lines that are no UTF-8 are taken as Windows-1252, which most programs that do not write UTF-8 write.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_bytes("id;name\\n1;Zoë\\n".encode("cp1252"))
    >>> repairs = []
    >>> text = examine_text(path, repairs)
    >>> text.header, text.separator
    (['id', 'name'], ';')
    >>> with open_text(path, text.encoding) as file:
    ...     file.read().decode().splitlines()[1]
    '1;Zoë'
    >>> print(repairs[0].replace(str(path), "people.csv"))
    people.csv is not all UTF-8: line 2 and others like it are taken as Windows-1252
    """
    try:
        encoding, bad_line, has_quotes = _scan(path)
        if bad_line:
            repairs.append(f"{path} is not all UTF-8: line {bad_line} and others like it are taken as Windows-1252")
        with open_text(path, encoding) as stream:
            start = b"".join(islice(stream, 20)).decode()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise SimPGCNError(f"{path} is a damaged gzip file ({error})") from error
    except UnicodeError as error:
        raise SimPGCNError(f"{path} is marked as UTF-16 but is not ({error}): save it as UTF-8") from error
    lines = [line for line in io.StringIO(start, newline=None) if line.strip()]
    if not lines:
        raise SimPGCNError(f"{path} is empty: it needs a header line and rows")
    limit = csv.field_size_limit(max(csv.field_size_limit(), len(start)))  # a text may be a whole book
    try:
        separator = _separator(lines)
        header = next(csv.reader(lines, delimiter=separator))
    except csv.Error as error:
        raise SimPGCNError(f"the header of {path} could not be read ({error})") from error
    finally:
        csv.field_size_limit(limit)
    return TextFile(path, encoding, header, separator, has_quotes)


@contextmanager
def open_text(path: Path, encoding: str) -> Iterator[IO[bytes]]:
    """The content of a file as UTF-8 bytes without a mark; see :func:`examine_text`."""
    with _bytes(path) as file:
        if encoding == "utf-8":
            if file.read(3) != codecs.BOM_UTF8:
                file.seek(0)
            yield file
        else:
            lines = _mixed_lines(file) if encoding == "mixed" else _utf16_lines(file)
            yield io.BufferedReader(_LineStream(lines), _CHUNK)


def _scan(path: Path) -> tuple[str, int, bool]:
    """The encoding, the first line that is no UTF-8 (0 if none), and whether there are quotes; one pass."""
    lines, quotes = 1, False
    decoder = codecs.getincrementaldecoder("utf-8")()
    with _bytes(path) as file:
        first = file.read(_CHUNK)
        if first.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
            raise SimPGCNError(f"{path} is a spreadsheet or an archive, not a text file: save it as CSV")
        if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16", 0, True
        chunk = first
        while chunk:
            if b"\0" in chunk:
                raise SimPGCNError(f"{path} holds zero bytes, so it is no UTF-8 text: save it as CSV in UTF-8")
            quotes = quotes or b'"' in chunk
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                # The decoder keeps at most three bytes of an unfinished character, which hold no line break.
                held = len(error.object) - len(chunk)
                return "mixed", lines + chunk.count(b"\n", 0, max(0, error.start - held)), True
            lines += chunk.count(b"\n")
            chunk = file.read(_CHUNK)
    return "utf-8", 0, quotes


@contextmanager
def _bytes(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        yield gzip.GzipFile(fileobj=file) if zipped else file  # type: ignore[misc]


def _utf16_lines(file: IO[bytes]) -> Iterator[bytes]:
    for line in codecs.getreader("utf-16")(file):
        yield line.encode()


def _mixed_lines(file: IO[bytes]) -> Iterator[bytes]:
    for line in file:
        try:
            line.decode()
            yield line
        except UnicodeDecodeError:
            try:
                yield line.decode("cp1252").encode()
            except UnicodeDecodeError:  # five bytes mean nothing there, but every byte something in Latin-1
                yield line.decode("latin-1").encode()


class _LineStream(io.RawIOBase):
    """Lines from an iterator, as a file."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        parts, size = [self._rest], len(self._rest)
        while size < len(buffer) and (line := next(self._lines, None)) is not None:
            parts.append(line)
            size += len(line)
        whole = b"".join(parts)
        part, self._rest = whole[: len(buffer)], whole[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def _separator(lines: list[str]) -> str:
    """The separator that splits the first line into most columns, and lines alike rather than not."""

    def score(separator: str) -> tuple[bool, int]:
        widths = [len(row) for row in csv.reader(lines, delimiter=separator)]
        return len(set(widths)) == 1 and widths[0] > 1, widths[0]

    return max(_SEPARATORS, key=score)
