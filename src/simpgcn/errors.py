"""The one exception users meet: a sentence saying what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SimPGCNError(Exception):
    """Something the user can put right; its message is one sentence for them to read, on one line whatever it quotes.

    >>> raise SimPGCNError("there is no node 7: the graph has 5 nodes")
    Traceback (most recent call last):
        ...
    simpgcn.errors.SimPGCNError: there is no node 7: the graph has 5 nodes
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.splitlines()))


def unknown_name(kind: str, name: str, known: Iterable[str], prefix: str = "") -> SimPGCNError:
    """An error for a name nobody knows, with the nearest names that exist.

    >>> print(unknown_name("dataset", "core", ["cora", "citeseer"]))
    unknown dataset 'core': did you mean cora? Known: cora, citeseer
    """
    known = list(known)
    close = [prefix + near for near in difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.6)]
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    return SimPGCNError(f"unknown {kind} {prefix + name!r}: {hint}Known: {', '.join(known)}")
