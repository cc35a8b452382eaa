"""One self-contained HTML file about one run, or about several side by side."""

from __future__ import annotations

import json
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from simpgcn import runs as run_files
from simpgcn.errors import SimPGCNError
from simpgcn.files import replacing
from simpgcn.report.chart_library import chart_library
from simpgcn.report.comparison import comparison_facts, same_nodes
from simpgcn.report.comparison_sections import comparison_headline, comparison_sections
from simpgcn.report.facts import run_facts
from simpgcn.report.markup import text
from simpgcn.report.node_arrays import MOST_NODES, SPLITS, node_arrays, packed
from simpgcn.report.run_record import RunRecord, read_run
from simpgcn.report.sections import headline, rendered, run_sections
from simpgcn.version import VERSION

SCRIPTS = ("unpack.js", "theme.js", "charts.js", "nodes.js", "node_list.js", "node_view.js", "explorer.js", "start.js")


def write_report(folders: list[Path], out: Path, *, cache: bool = True) -> dict[str, Any]:
    """Write the report of one run, or of several compared, and return the figures on it.

    Args:
        folders: Run folders; those after the first are compared with it.
        out: The HTML file.
        cache: Keep neighbour searches on disk.
    """
    for folder in folders:
        run_files.read_metrics(folder)
    library = chart_library()  # what can go wrong comes before what takes longer
    if out.is_dir():
        raise SimPGCNError(f"{out} is a folder: name a file to write")
    if not out.parent.is_dir():
        raise SimPGCNError(f"the folder {out.parent} does not exist: create it or choose another place")
    runs = [read_run(folder, cache=cache) for folder in folders]
    if len({run.name for run in runs}) < len(runs):
        runs = [run._replace(name=str(folder)) for run, folder in zip(runs, folders, strict=True)]
    facts = [run_facts(run) for run in runs]
    tests = comparison_facts(runs)
    with replacing(out) as draft:
        draft.write_text(page(runs, facts, tests, library), encoding="utf-8")
    return {"report": str(out), "bytes": out.stat().st_size, "runs": facts, "comparisons": tests}


def page(runs: list[RunRecord], facts: list[dict[str, Any]], tests: list[dict[str, Any]], library: str) -> str:
    """The HTML of a report."""
    if len(facts) == 1:
        title = f"{facts[0]['model']} on {facts[0]['dataset']}"
        first, sections = headline(facts[0]), run_sections(facts[0])
    else:
        title = f"{len(facts)} runs compared"
        first, sections = comparison_headline(facts, tests), comparison_sections(facts)
    why_not = _without_nodes(runs)
    html, specs = rendered(sections)
    nodes = {} if why_not else packed(node_arrays(runs))
    about = {
        "nodes": runs[0].num_nodes,
        "classes": runs[0].class_names,
        "splits": SPLITS,
        "runs": [run.name for run in runs],
        "arrays": {name: array["type"] for name, array in nodes.items()},
        "directed": facts[0]["similarity"]["directed"],
    }
    explorer = f'<p class="lead">{escape(why_not)}</p>' if why_not else _file("explorer.html")
    links = [("nodes", "Nodes"), *((section.anchor, section.heading) for section in sections)]
    return Template(_file("page.html")).substitute(
        title=escape(title),
        heading=text(title),
        style=_file("page.css"),
        links="".join(f'<a href="#{anchor}">{escape(heading)}</a>' for anchor, heading in links),
        headline=first,
        explorer=explorer,
        sections=html,
        version=VERSION,
        about=for_script(about),
        charts=for_script(specs),
        arrays="".join(f'<script type="text/plain" id="array-{k}">{v["data"]}</script>' for k, v in nodes.items()),
        library=library,
        script="\n".join(_file(name) for name in SCRIPTS),
    )


def for_script(value: Any) -> str:
    """JSON that no user's text can break out of: neither ``</script>`` nor ``<!--`` can occur in it.

    >>> for_script(["</script>"])
    '["\\\\u003c/script>"]'
    """
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")


def _without_nodes(runs: list[RunRecord]) -> str | None:
    if runs[0].num_nodes > MOST_NODES:
        return f"Single nodes are left out of pages for graphs of more than {MOST_NODES:,} nodes."
    if not all(same_nodes(runs[0], run) for run in runs[1:]):
        return "Single nodes are left out: the runs are not all on the same nodes."
    return None


def _file(name: str) -> str:
    return (resources.files("simpgcn.report") / "web" / name).read_text(encoding="utf-8")
