"""The tables that an experiment of many columns is shown as."""

from __future__ import annotations

from typing import Any


def panels(table: dict[str, Any]) -> list[tuple[str, dict[str, str]]]:
    """The tables that an experiment is shown as: the title of each, and the heading of every dataset in it.

    >>> panels({"datasets": ["cora"]}), panels({"panels": {"Cora": {"cora-prognn": "0%"}}})
    ([('', {'cora': 'cora'})], [('Cora', {'cora-prognn': '0%'})])
    """
    if not table.get("panels"):
        return [("", {dataset: dataset for dataset in table["datasets"]})]
    return list(table["panels"].items())
