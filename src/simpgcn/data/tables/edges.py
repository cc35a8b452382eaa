"""Edges from a table: two ids a row, matched to the nodes as the table streams by."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from simpgcn.data.tables.ids import IdIndex, as_ids, examples
from simpgcn.data.tables.read_table import TableStream, open_table
from simpgcn.data.tables.values import parse_numbers, whole
from simpgcn.errors import SimPGCNError, unknown_name

# Pairs of names that say which end is which; without them the first two columns are the ends.
_ENDS = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("sender", "receiver"),
    ("citing", "cited"),
    ("head", "tail"),
    ("u", "v"),
)
_BAD_WEIGHTS = 0.05
# In terms of what weights are divided by: sums of degrees must not overflow in float32.
_MOST_WEIGHT = 1e30


class Edges(NamedTuple):
    """The edges that were kept, each once, by row; how many were listed, and how many dropped and why.

    ``weight_scale`` is what the weights were divided by: their mean, so that an edge counts about as much as the
    self-loop of weight 1 that models add.
    """

    edge_index: Tensor
    edge_weight: Tensor | None
    weight_scale: float | None
    listed: int
    dropped: dict[str, int]


def no_edges() -> Edges:
    """What a graph without a table of edges has.

    >>> no_edges().edge_index.shape
    torch.Size([2, 0])
    """
    return Edges(torch.empty(2, 0, dtype=torch.long), None, None, 0, {})


def read_edges(
    source: Any,
    ids: pa.Array,
    repairs: list[str],
    *,
    weights: str | None = None,
    weight_scale: float | None = None,
    directed: bool = False,
) -> Edges:
    """The edges between the nodes called ``ids``.

    An edge listed more than once is taken once, its weights added up; so is one listed both ways unless ``directed``.
    Edges of a node to itself go, as do those with an end that is missing or unknown, and those of weight 0.

    Args:
        source: A path, a pyarrow table or a pandas data frame.
        ids: The ids of the nodes, ``int64`` or ``string``.
        repairs: What had to be put right is added here.
        weights: The column of weights.
        weight_scale: What to divide the weights by; their mean if left out.
        directed: Keep the direction; otherwise each edge is taken both ways.

    >>> edges = read_edges(pa.table({"from": [1, 1, 3], "to": [2, 2, 9]}), pa.array([1, 2, 3]), [])
    >>> edges.edge_index.tolist(), edges.dropped
    ([[0, 1], [1, 0]], {'unknown id': 1, 'listed again': 1})
    """
    found = _Ends(IdIndex(ids), directed, weight_scale)
    stream = _opened(source, found.index, repairs)
    ends, weight_column = _columns(stream, weights)
    for batch in stream.batches:
        found.add(batch, ends, weight_column, stream)
    if found.listed == 0:
        raise SimPGCNError(f"{stream.name} has a header but no rows: give it at least one edge")
    pa.default_memory_pool().release_unused()  # what is made of all edges needs the room
    return found.edges(stream.name, repairs)


def _opened(source: Any, index: IdIndex, repairs: list[str]) -> TableStream:
    stream = open_table(source, "edges", repairs)
    if len(stream.columns) < 2:
        raise SimPGCNError(f"{stream.name} has a single column {stream.columns[0]!r}: an edge needs two ids a row")
    if stream.is_text and index.has(stream.columns[:2]):
        repairs.append(f"{stream.name} has no header line: its first line is taken as an edge")
        stream = open_table(source, "edges", repairs, header=False)
    return stream


def _columns(stream: TableStream, weights: str | None) -> tuple[list[str], str | None]:
    if weights is not None and weights not in stream.columns:
        raise unknown_name(f"column of {stream.name}", weights, stream.columns)
    by_name = {name.lower(): name for name in stream.columns}
    for pair in _ENDS:
        if all(end in by_name for end in pair):
            return [by_name[end] for end in pair], weights
    ends = [name for name in stream.columns if name != weights][:2]
    if len(ends) < 2:
        raise SimPGCNError(f"{stream.name} has only one column beside the weights: an edge needs two ids a row")
    return ends, weights


class _Ends:
    """The edges read so far: a number for each that orders them by their ends, and its weight.

    What has the size of all edges is never there twice: numbers and weights are kept in arrays that grow where they
    are.
    """

    def __init__(self, index: IdIndex, directed: bool, weight_scale: float | None) -> None:
        self.index = index
        self.directed = directed
        self.weight_scale = weight_scale
        self.keys = np.empty(0, np.int64)
        self.weights: np.ndarray | None = None
        self.listed = self.missing = self.unknown = self.badly_weighted = self.loops = 0
        self.first_unknown = ""
        self.samples: list[Any] = []
        self.decimal = ""

    def add(self, batch: pa.RecordBatch, ends: list[str], weights: str | None, stream: TableStream) -> None:
        given = _alike([as_ids(batch.column(name), from_text=stream.is_text) for name in ends])
        rows = self.index.rows(given).reshape(2, -1)
        missing = given.is_null().to_numpy(zero_copy_only=False).reshape(2, -1).any(axis=0)
        unknown = (rows < 0).any(axis=0) & ~missing
        if unknown.any() and not self.first_unknown:
            row = int(unknown.argmax())
            end = 0 if rows[0, row] < 0 else 1
            self.first_unknown = f"{given[end * len(missing) + row].as_py()!r} in row {self.listed + row + 1}"
        if not self.samples:
            self.samples = given[: len(missing)][:3].to_pylist()
        kept = ~(missing | unknown)
        numbers = None
        if weights is not None:
            numbers = self._numbers(whole(batch.column(weights)), weights, stream.name)
            usable = numbers > 0
            self.badly_weighted += int((kept & ~usable).sum())
            kept &= usable
        loops = kept & (rows[0] == rows[1])
        kept &= ~loops
        self.listed += len(kept)
        self.missing += int(missing.sum())
        self.unknown += int(unknown.sum())
        self.loops += int(loops.sum())
        self.keys = _longer(self.keys, self._keys(*rows[:, kept].astype(np.int64)))
        if numbers is not None:
            self.weights = _longer(np.empty(0) if self.weights is None else self.weights, numbers[kept])

    def _keys(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        n = len(self.index.ids)
        keys: np.ndarray = (
            source * n + target if self.directed else np.minimum(source, target) * n + np.maximum(source, target)
        )
        return keys

    def _numbers(self, array: pa.Array, name: str, table: str) -> np.ndarray:
        """The weights of a batch, NaN where there is none."""
        if not self.decimal:
            wrong = {mark: int(parse_numbers(array, mark).wrong.sum()) for mark in (".", ",")}
            self.decimal = min(wrong, key=lambda mark: wrong[mark])
        parsed = parse_numbers(array, self.decimal)
        if parsed.wrong.sum() > _BAD_WEIGHTS * len(array):
            row = int(parsed.wrong.argmax())
            raise SimPGCNError(
                f"{table}: the column of weights {name!r} holds values that are no number, first "
                f"{array[row].as_py()!r} in row {self.listed + row + 1}: correct them or choose "
                "another column with --weights"
            )
        if (parsed.numbers < 0).any():
            row = int((parsed.numbers < 0).argmax())
            raise SimPGCNError(
                f"{table}: the weight in row {self.listed + row + 1} is {parsed.numbers[row]:g}, but weights must be 0 "
                f"or more: correct the column {name!r} or leave --weights out"
            )
        if (parsed.numbers > _MOST_WEIGHT * (self.weight_scale or 1.0)).any():
            row = int(np.nanargmax(parsed.numbers))
            raise SimPGCNError(
                f"{table}: the weight in row {self.listed + row + 1} is {parsed.numbers[row]:g}, too large to be added "
                f"up: correct the column {name!r} or take its logarithm"
            )
        return parsed.numbers

    def edges(self, name: str, repairs: list[str]) -> Edges:
        if self.unknown == self.listed:
            raise SimPGCNError(
                f"no id in {name} is the id of a node: its first are {examples(self.samples)}, those of the nodes "
                f"{examples(self.index.ids)}; choose the column of ids with --id"
            )
        if self.badly_weighted and self.badly_weighted == self.listed - self.missing - self.unknown:
            raise SimPGCNError(f"{name}: no edge has a weight above 0: correct the column of weights or leave it out")
        if self.index.mended and self.index.example:
            written, meant = self.index.example
            repairs.append(f"{name}: {self.index.mended} ends written like {written!r} are taken as {meant!r}")
        if self.unknown:
            repairs.append(
                f"{name}: edges with an id that no node has are dropped ({self.unknown}, first {self.first_unknown})"
            )
        again = self._take_once()
        scale, edge_weight = None, None
        if self.weights is not None:
            scale = self.weight_scale or (float(self.weights.mean()) if self.weights.size else 1.0)
            edge_weight = torch.from_numpy((self.weights / scale).astype(np.float32))
            edge_weight = edge_weight if self.directed else edge_weight.repeat(2)
            self.weights = None
        reasons = {
            "missing id": self.missing,
            "unknown id": self.unknown,
            "no weight above 0": self.badly_weighted,
            "to itself": self.loops,
            "listed again": again,
        }
        return Edges(
            self._both_ways(),
            edge_weight,
            scale,
            self.listed,
            {reason: count for reason, count in reasons.items() if count},
        )

    def _take_once(self) -> int:
        """Sort the edges, take each once with its weights added up, and say how many were listed again."""
        listed = self.keys.size
        if self.weights is None:
            self.keys.sort()
            self.keys = self.keys[_firsts(self.keys)]
        else:
            # Also by weight, so that the sum does not depend on the order of the rows.
            order = np.lexsort((self.weights, self.keys))
            self.keys, self.weights = self.keys[order], self.weights[order]
            first = _firsts(self.keys)
            if listed:
                self.weights = np.add.reduceat(self.weights, np.flatnonzero(first))
            self.keys = self.keys[first]
        return int(listed - self.keys.size)

    def _both_ways(self) -> Tensor:
        """The ends of the edges; of undirected ones first one way round, then the other."""
        n, count = len(self.index.ids), self.keys.size
        edge_index = torch.empty(2, count if self.directed else 2 * count, dtype=torch.long)
        source, target = edge_index.numpy()
        keys = target[-count:] if count else target
        keys[:] = self.keys
        self.keys = np.empty(0, np.int64)  # gone before the rest of the edges is touched
        np.floor_divide(keys, n, out=source[:count])
        np.remainder(keys, n, out=target[:count])
        if not self.directed:
            source[count:], target[count:] = target[:count], source[:count]
        return edge_index


def _alike(ends: list[pa.Array]) -> pa.Array:
    """Both ends one after the other, so that they are looked up at once."""
    if ends[0].type != ends[1].type:
        ends = [end.cast(pa.string()) for end in ends]
    return pa.concat_arrays(ends)


def _longer(array: np.ndarray, more: np.ndarray) -> np.ndarray:
    """``array`` with ``more`` after it, grown where it is."""
    size = array.size
    array.resize(size + more.size, refcheck=False)
    array[size:] = more
    return array


def _firsts(keys: np.ndarray) -> np.ndarray:
    first = np.ones(keys.size, dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return first
