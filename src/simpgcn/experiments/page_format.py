"""A page of headings, tables and pictures as Markdown and as one self-contained HTML file."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from html import escape
from itertools import chain, count
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


Content = Text | Items | Table | Folded | Picture
Block = Heading | Content


class _Section(NamedTuple):
    """A heading, what a link to it says, and the blocks up to the next heading."""

    heading: Heading
    anchor: str
    blocks: list[Content]


MARKS = {"green": "🟢 ", "amber": "🟠 ", "red": "🔴 ", "none": ""}

LONG = 30  # characters; a cell of more is words that may take several lines, not a number

STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #ffffff; --line: #d0d0d0;
  --green: #d9f2dc; --amber: #ffe9c2; --red: #ffd3d0; --soft: #f4f4f4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #161616; --line: #444444;
  --green: #1d4a26; --amber: #5a4210; --red: #5f2320; --soft: #242424; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 80rem;
  margin: 0 auto; padding: 1rem; }
p, ul, figcaption { max-width: 60rem; box-sizing: border-box; }
h2 { margin-top: 2.2rem; border-bottom: 1px solid var(--line); }
nav ul { columns: 10rem 4; padding: 0; list-style: none; font-size: 0.9rem; }
nav li { break-inside: avoid; margin-bottom: 0.2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid var(--line); padding: 0.3rem 0.4rem; text-align: left; vertical-align: baseline;
  white-space: nowrap; }
th { background: var(--soft); }
tr > :first-child { position: sticky; left: 0; white-space: normal; min-width: min(9rem, 30vw); }
.long { white-space: normal; min-width: 10rem; }
/* Row names as long as sentences would leave a narrow screen no room for the rest, if they stayed in sight. */
table:has(.long) tr > :first-child { position: static; min-width: min(16rem, 80vw); }
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
    first, *others = _sections(blocks)
    contents = " · ".join(f"[{_plain(title)}](#{anchor})" for title, anchor in _contents(others))
    parts = [*_markdown_of(first), *([contents] if contents else [])]
    return "\n\n".join(parts + [part for section in others for part in _markdown_of(section)]) + "\n"


def _sections(blocks: Sequence[Block]) -> list[_Section]:
    """The parts of a page, which begins with a heading."""
    sections: list[_Section] = []
    for block in blocks:
        if isinstance(block, Heading):
            sections.append(_Section(block, _anchor(block.text, {section.anchor for section in sections}), []))
        else:
            sections[-1].blocks.append(block)
    return sections


def _anchor(text: str, taken: set[str]) -> str:
    """What GitHub calls a heading of a README, so that a link to it works in both forms of the page.

    >>> _anchor("What holds & what does not", set()), _anchor("Cora", {"cora"})
    ('what-holds--what-does-not', 'cora-1')
    """
    name = re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-")
    names = chain([name], (f"{name}-{number}" for number in count(1)))
    return next(name for name in names if name not in taken)


def _contents(sections: Sequence[_Section]) -> list[tuple[str, str]]:
    return [(heading.text, anchor) for heading, anchor, _ in sections if heading.level == 2]


def _markdown_of(section: _Section) -> list[str]:
    heading = f"{'#' * section.heading.level} {_plain(section.heading.text)}"
    return [heading, *(_markdown(block) for block in section.blocks)]


def _markdown(block: Content) -> str:
    match block:
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

    >>> '<h1 id="a--b">A &amp; B</h1>' in to_html([Heading("A & B", 1)], Path())
    True
    """
    first, *others = _sections(blocks)
    title = escape(first.heading.text)
    links = "".join(f'<li><a href="#{anchor}">{escape(name)}</a></li>' for name, anchor in _contents(others))
    contents = f'<nav aria-label="Contents"><ul>{links}</ul></nav>' if links else ""
    body = "\n".join([_html_of(first, folder), contents, *(_html_of(section, folder) for section in others)])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _html_of(section: _Section, folder: Path) -> str:
    (text, level), anchor, blocks = section
    return "\n".join(
        [f'<h{level} id="{anchor}">{escape(text)}</h{level}>', *(_html(block, text, folder) for block in blocks)]
    )


def _html(block: Content, section: str, folder: Path) -> str:
    match block:
        case Text(text):
            return f"<p>{escape(text)}</p>"
        case Items(items):
            return "<ul>" + "".join(f"<li>{_span(item)}</li>" for item in items) + "</ul>"
        case Table(header, rows):
            head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
            lines = [
                f'<tr><th scope="row">{escape(row[0].text)}</th>' + "".join(_cell(cell) for cell in row[1:]) + "</tr>"
                for row in rows
            ]
            return _scrolling(f"<table><tr>{head}</tr>{''.join(lines)}</table>", section)
        case Folded(title, table):
            inner = _html(table, title, folder)
            return f"<details><summary>{escape(title)}</summary>{inner}</details>"
        case Picture(file, caption):
            if not (folder / file).is_file():
                return ""
            data = (folder / file).read_bytes()
            source, text = f"data:image/png;base64,{base64.b64encode(data).decode()}", escape(caption)
            image = f'<img alt="{text}" src="{source}" style="min-width: {_readable_width(data)}px">'
            return f"<figure>{_scrolling(image, caption)}<figcaption>{text}</figcaption></figure>"


def _scrolling(content: str, label: str) -> str:
    """A box for what may be wider than the page; the keyboard reaches it and scrolls it."""
    return f'<div class="wide" tabindex="0" role="group" aria-label="{escape(label)}">{content}</div>'


def _readable_width(png: bytes) -> int:
    """The width in pixels below which a picture's letters are too small: half its own, which its header tells."""
    return int.from_bytes(png[16:20]) // 2


def _cell(cell: Marked) -> str:
    kind = f"{cell.colour} long" if len(cell.text) > LONG else cell.colour
    return f'<td class="{kind}">{escape(cell.text)}</td>'


def _span(item: str | Marked) -> str:
    return escape(item) if isinstance(item, str) else f'<span class="{item.colour}">{escape(item.text)}</span>'
