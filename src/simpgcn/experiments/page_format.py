"""A page of headings, tables and pictures as Markdown and as one self-contained HTML file."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from simpgcn.experiments.verdict import Colour


class Heading(NamedTuple):
    """A heading of a level from 1."""

    text: str
    level: int


class Text(NamedTuple):
    """A paragraph."""

    text: str


class Marked(NamedTuple):
    """A text with a colour."""

    text: str
    colour: Colour = "none"


class Items(NamedTuple):
    """A list."""

    items: Sequence[str | Marked]


class Table(NamedTuple):
    """A table; its first column names the rows."""

    header: list[str]
    rows: list[list[Marked]]


class Folded(NamedTuple):
    """A table that is shown when its title is clicked."""

    title: str
    table: Table


class Picture(NamedTuple):
    """A picture file beside the page, and what it shows."""

    file: str
    caption: str


Block = Heading | Text | Items | Table | Folded | Picture

MARKS = {"green": "🟢 ", "amber": "🟠 ", "red": "🔴 ", "none": ""}

STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #ffffff; --line: #d0d0d0;
  --green: #d9f2dc; --amber: #ffe9c2; --red: #ffd3d0; --soft: #f4f4f4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #161616; --line: #444444;
  --green: #1d4a26; --amber: #5a4210; --red: #5f2320; --soft: #242424; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
  margin: 0 auto; padding: 1rem; }
h2 { margin-top: 2.2rem; border-bottom: 1px solid var(--line); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid var(--line); padding: 0.3rem 0.5rem; text-align: left; white-space: nowrap; }
th { background: var(--soft); }
tr > :first-child { position: sticky; left: 0; background: var(--soft); white-space: normal; min-width: 6rem; }
.green { background: var(--green); } .amber { background: var(--amber); } .red { background: var(--red); }
li > span { padding: 0 0.2rem; border-radius: 3px; }
img { max-width: 100%; height: auto; background: #ffffff; border-radius: 6px; }
details { margin: 0.8rem 0; } figure { margin: 1rem 0; } figcaption { font-size: 0.85rem; }
"""


def to_markdown(blocks: Sequence[Block]) -> str:
    """The page as Markdown.

    >>> print(to_markdown([Heading("A", 1), Table(["", "x"], [[Marked("row"), Marked("1.0", "green")]])]))
    # A
    <BLANKLINE>
    |  | x |
    | --- | --- |
    | row | 🟢 1.0 |
    <BLANKLINE>
    """
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Text(text):
            return _plain(text)
        case Items(items):
            return "\n".join(f"* {_mark(item)}" for item in items)
        case Table(header, rows):
            lines = [f"| {' | '.join(header)} |", f"| {' | '.join('---' for _ in header)} |"]
            return "\n".join(lines + [f"| {' | '.join(_mark(cell) for cell in row)} |" for row in rows])
        case Folded(title, table):
            return f"<details><summary>{title}</summary>\n\n{_markdown(table)}\n\n</details>"
        case Picture(file, caption):
            return f"![{_plain(caption)}]({file})"


def _mark(item: str | Marked) -> str:
    return _plain(item) if isinstance(item, str) else MARKS[item.colour] + _plain(item.text)


def _plain(text: str) -> str:
    """The text with what Markdown would read as its own signs taken literally."""
    for sign in ("*", "_", "|"):
        text = text.replace(sign, f"\\{sign}")
    return text


def to_html(blocks: Sequence[Block], folder: Path) -> str:
    """The page as one HTML file, pictures from ``folder`` included; it asks for nothing from elsewhere.

    >>> "<h1>A &amp; B</h1>" in to_html([Heading("A & B", 1)], Path())
    True
    """
    title = next((escape(block.text) for block in blocks if isinstance(block, Heading)), "")
    body = "\n".join(_html(block, folder) for block in blocks)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _html(block: Block, folder: Path) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Text(text):
            return f"<p>{escape(text)}</p>"
        case Items(items):
            return "<ul>" + "".join(f"<li>{_span(item)}</li>" for item in items) + "</ul>"
        case Table(header, rows):
            head = "".join(f"<th>{escape(name)}</th>" for name in header)
            lines = [
                f"<tr><th>{escape(row[0].text)}</th>"
                + "".join(f'<td class="{cell.colour}">{escape(cell.text)}</td>' for cell in row[1:])
                + "</tr>"
                for row in rows
            ]
            return f'<div class="wide"><table><tr>{head}</tr>{"".join(lines)}</table></div>'
        case Folded(title, table):
            return f"<details><summary>{escape(title)}</summary>{_html(table, folder)}</details>"
        case Picture(file, caption):
            if not (folder / file).is_file():
                return ""
            data = base64.b64encode((folder / file).read_bytes()).decode()
            text = escape(caption)
            return (
                f'<figure><img alt="{text}" src="data:image/png;base64,{data}"><figcaption>{text}</figcaption></figure>'
            )


def _span(item: str | Marked) -> str:
    return escape(item) if isinstance(item, str) else f'<span class="{item.colour}">{escape(item.text)}</span>'
