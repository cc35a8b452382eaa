"""One self-contained HTML page per run, or per comparison of runs."""

from simpgcn.report.chart_library import has_chart_library
from simpgcn.report.page import write_report

__all__ = ["has_chart_library", "write_report"]
