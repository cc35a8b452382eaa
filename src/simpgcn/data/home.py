"""Where data lives: the data home, and the optional mirror of raw files for machines without a network."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def data_home() -> Path:
    """The folder for datasets and caches: ``$SIMPGCN_DATA``, else the platform's cache folder.

    >>> data_home().is_absolute()
    True
    """
    chosen = os.environ.get("SIMPGCN_DATA")
    return Path(chosen).expanduser().absolute() if chosen else platformdirs.user_cache_path("simpgcn")


def data_mirror() -> Path | None:
    """The folder of raw files named by ``$SIMPGCN_DATA_MIRROR``, if that is set."""
    chosen = os.environ.get("SIMPGCN_DATA_MIRROR")
    return Path(chosen).expanduser().absolute() if chosen else None
