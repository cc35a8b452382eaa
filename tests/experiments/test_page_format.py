"""Every heading can be linked to, and everything wide can be scrolled to, read out and seen."""

from __future__ import annotations

import io
import re
from pathlib import Path

from PIL import Image

from simpgcn.experiments.page_format import (
    LONG,
    Folded,
    Heading,
    Items,
    Marked,
    Picture,
    Table,
    Text,
    to_html,
    to_markdown,
)

TABLE = Table(["", "x"], [[Marked("row"), Marked("1.0", "green")]])
PAGE = [
    Heading("The page", 1),
    Text("What it is."),
    Heading("GCN* & A_f: what [it] holds", 2),
    Heading("Cora", 3),
    TABLE,
    Heading("Cora", 3),
    Heading("Cora", 2),
    Items(["an end"]),
]


def test_headings_have_githubs_names_and_each_its_own():
    html = to_html(PAGE, Path())
    assert re.findall(r'<h\d id="(.*?)">(.*?)</h\d>', html) == [
        ("the-page", "The page"),
        ("gcn--a_f-what-it-holds", "GCN* &amp; A_f: what [it] holds"),
        ("cora", "Cora"),
        ("cora-1", "Cora"),
        ("cora-2", "Cora"),
    ]


def test_contents_link_to_the_sections_after_the_first_text():
    html, text = to_html(PAGE, Path()), to_markdown(PAGE)
    (links,) = re.findall(r"<p>What it is.</p>\n<nav.*?>(.*)</nav>\n<h2", html)
    assert re.findall(r'<a href="#(.*?)">(.*?)</a>', links) == [
        ("gcn--a_f-what-it-holds", "GCN* &amp; A_f: what [it] holds"),
        ("cora-2", "Cora"),
    ]
    line = r"[GCN\* & A\_f: what [it] holds](#gcn--a_f-what-it-holds) · [Cora](#cora-2)"
    assert f"\n\nWhat it is.\n\n{line}\n\n## GCN\\* & A\\_f" in text


def test_no_sections_no_contents():
    assert "<nav" not in to_html(PAGE[:2], Path())
    assert to_markdown(PAGE[:2]) == "# The page\n\nWhat it is.\n"


def test_what_may_scroll_can_be_reached_and_has_a_name(tmp_path):
    file = io.BytesIO()
    Image.new("P", (1300, 400)).save(file, "PNG")
    (tmp_path / "a.png").write_bytes(file.getvalue())
    blocks = [Heading("A & B", 1), TABLE, Folded("More", TABLE), Picture("a.png", "A <picture>")]
    html = to_html(blocks, tmp_path)
    boxes = re.findall(r'<div class="wide" tabindex="0" role="group" aria-label="(.*?)"><(table|img)', html)
    assert boxes == [("A &amp; B", "table"), ("More", "table"), ("A &lt;picture&gt;", "img")]
    assert html.count("<div") == len(boxes)
    assert "min-width: 650px" in html


def test_tables_say_what_their_headings_are_of():
    html = to_html([Heading("A", 1), TABLE], Path())
    assert '<tr><th scope="col"></th><th scope="col">x</th></tr><tr><th scope="row">row</th>' in html


def test_words_may_take_several_lines_but_numbers_may_not():
    row = [Marked("row"), Marked("8" * LONG, "green"), Marked("word " * LONG)]
    html = to_html([Heading("A", 1), Table(["", "x", "y"], [row])], Path())
    assert re.findall(r'<td class="(.*?)">', html) == ["green", "none long"]
