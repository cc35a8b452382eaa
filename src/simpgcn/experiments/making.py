"""What the results took to make: runs, time and hardware, and the commands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from simpgcn.experiments.page_format import Block, Folded, Heading, Marked, Table, Text

Made = dict[str, Any]


class _Go(NamedTuple):
    """One command, and the titles of the experiments that have results of it."""

    titles: tuple[str, ...]
    made: Made

    @property
    def hardware(self) -> str:
        machine = self.made["machine"]
        return f"{machine.get('gpu', machine['processor'])}, {machine['cores']} cores"


def how_made(tables: list[dict[str, Any]]) -> list[Block]:
    """The part of the page about it; nothing where there are no results.

    A command may have made several experiments together: they share a line, and no time is told twice.
    """
    goes = _goes(tables)
    if not goes:
        return []
    header = ["experiments", "runs trained", "found finished", "time", "hardware"]
    lines = [_line(", ".join(some[0].titles), some, some[0].hardware) for some in _grouped(goes).values()]
    total = _line("total", goes, _by_hardware(goes))
    found = sum(go.made["found"] for go in goes)
    return [
        Heading("How it was made", 2),
        Text(
            "Time is that of whole commands, from their start to the written results."
            + (
                " Runs found finished had been trained by earlier commands; where those left no results on this page, "
                "their time is missing from the total."
                if found
                else ""
            )
        ),
        Table(header, [*lines, total]),
        Folded("Commands and versions", _commands(goes)),
    ]


def _goes(tables: list[dict[str, Any]]) -> list[_Go]:
    whole = {table["title"]: [table["made"], *table.get("made_before", [])] for table in tables}
    seen: list[Made] = []
    for goes in whole.values():
        seen += [made for made in goes if made not in seen]
    return [_Go(tuple(title for title, goes in whole.items() if made in goes), made) for made in seen]


def _grouped(goes: list[_Go]) -> dict[tuple[tuple[str, ...], str], list[_Go]]:
    """The goes at the same experiments on the same hardware, which are told of as one."""
    groups: dict[tuple[tuple[str, ...], str], list[_Go]] = {}
    for go in goes:
        groups.setdefault((go.titles, go.hardware), []).append(go)
    return groups


def _line(name: str, goes: list[_Go], hardware: str) -> list[Marked]:
    pieces = f" (in {len(goes)} commands)" if len(goes) > 1 else ""
    found = sum(go.made["found"] for go in goes)
    texts = [
        name + pieces,
        f"{sum(go.made['trained'] for go in goes):,}",
        f"{found:,}" if found else "",
        duration(_seconds(goes)),
        hardware,
    ]
    return [Marked(text) for text in texts]


def _by_hardware(goes: list[_Go]) -> str:
    """How long which hardware was at work."""
    kinds = list(dict.fromkeys(go.hardware for go in goes))
    if len(kinds) == 1:
        return kinds[0]
    parts = {kind: [go for go in goes if go.hardware == kind] for kind in kinds}
    return "; ".join(f"{duration(_seconds(some))} on {kind.split(', ')[0]}" for kind, some in parts.items())


def _seconds(goes: Iterable[_Go]) -> float:
    return float(sum(go.made["seconds"] for go in goes))


def _commands(goes: list[_Go]) -> Table:
    lines = []
    for _, made in goes:
        machine, git = made["machine"], made["git"] or ""
        gpu = f"{machine['gpu']}, " if "gpu" in machine else ""
        texts = [
            made["command"],
            f"{made['trained']:,}",
            duration(made["seconds"]),
            f"{gpu}{machine['processor']}, {machine['cores']} cores, {machine['memory_gb']} GB",
            ", ".join(f"{name} {version}" for name, version in made["versions"].items()),
            git[:12] + ("-dirty" if git.endswith("-dirty") else ""),
        ]
        lines.append([Marked(text) for text in texts])
    return Table(["command", "runs trained", "time", "hardware", "versions", "source"], lines)


def duration(seconds: float) -> str:
    """A time in a unit that suits it.

    >>> duration(63.7), duration(641.6), duration(9000)
    ('64 s', '11 min', '2.5 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
