"""The page as a file: whole in itself, safe to open, and silent about features."""

from __future__ import annotations

import base64
import gzip
import importlib.metadata
import json
import re
from html.parser import HTMLParser

import pytest
import torch

from simpgcn.errors import SimPGCNError
from simpgcn.report import write_report
from simpgcn.report.comparison import comparison_facts
from simpgcn.report.facts import run_facts
from simpgcn.report.page import page


class Tags(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.tags = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


def made(*runs):
    return page(list(runs), [run_facts(run) for run in runs], comparison_facts(list(runs)), "packed-library")


@pytest.fixture(scope="module")
def html(make_record):
    return made(make_record())


def test_nothing_is_loaded_from_elsewhere(html):
    tags = Tags(html).tags
    policy = next(found["content"] for tag, found in tags if found.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; ")
    assert "unsafe-eval" not in policy
    assert "http" not in policy
    for tag, attributes in tags:
        assert tag not in ("link", "iframe", "img", "object", "embed", "base")
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
    assert set(re.findall(r"https?://[\w./]+", html)) == {"http://www.w3.org/2000/svg"}  # a name, not an address


def test_what_users_wrote_stays_text(make_record, html):
    for tag, attributes in Tags(html).tags:
        assert tag not in ("img", "b", "i")
        assert not any(name.startswith("on") for name in attributes)
    assert sum(tag == "script" for tag, _ in Tags(html).tags) == html.count("</script>")
    about = json.loads(re.search(r'id="about">(.*?)</script>', html).group(1))
    assert about["classes"] == make_record().class_names
    packed = re.search(r'id="array-ids">(.*?)</script>', html).group(1)
    assert json.loads(gzip.decompress(base64.b64decode(packed))) == make_record().node_ids.to_pylist()
    assert "&lt;i&gt;age&lt;/i&gt;" in html


def test_no_features_are_on_the_page(make_record):
    run = make_record()
    before = made(run)
    run.data.x = torch.full(run.data.x.shape, 0.123456)  # the look-alikes were found already
    assert made(run) == before
    assert "none of their features" in before


def test_the_same_run_gives_the_same_page(make_record, html):
    assert made(make_record()) == html


def test_nodes_of_different_graphs_are_left_out(make_record):
    html = made(make_record(name="a"), make_record(own=False, name="b"))
    assert "not all on the same nodes" in html
    assert "array-label" not in html


def test_a_missing_library_is_said_in_a_sentence(monkeypatch, tmp_path):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("simpgcn.report.chart_library.version", missing)
    monkeypatch.setattr("simpgcn.report.page.run_files.read_metrics", lambda folder: {})
    with pytest.raises(SimPGCNError, match=r"pip install 'simpgcn\[report\]'"):
        write_report([tmp_path], tmp_path / "report.html")
