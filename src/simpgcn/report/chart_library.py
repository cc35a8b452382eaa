"""The plotting library that a page carries: Vega-Lite, bundled by vl-convert."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from simpgcn.data.home import data_home
from simpgcn.errors import SimPGCNError
from simpgcn.files import replacing
from simpgcn.report.node_arrays import pack


def has_chart_library() -> bool:
    """Whether pages can be made.

    >>> has_chart_library()
    True
    """
    return find_spec("vl_convert") is not None


def chart_library() -> str:
    """The library's JavaScript, packed; kept in the data home, because bundling it takes seconds."""
    try:
        path = data_home() / "report" / f"vega-{version('vl-convert-python')}.txt"
    except PackageNotFoundError:
        raise SimPGCNError(
            "a report needs the plotting library Vega-Lite: pip install 'simpgcn[report]' brings it"
        ) from None
    if path.is_file():
        return path.read_text()
    import vl_convert

    bundle = pack(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").encode())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as draft:
            draft.write_text(bundle)
    except OSError:
        pass  # a full or read-only disk costs the next page its time, not this one its library
    return bundle
