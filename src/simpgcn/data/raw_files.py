"""Raw data files: found in the data home or the mirror, and checked against their published checksums."""

from __future__ import annotations

import hashlib
import shutil
from functools import cache
from importlib import resources
from pathlib import Path

from simpgcn.data.home import data_home, data_mirror
from simpgcn.errors import SimPGCNError


@cache
def checksums() -> dict[str, str]:
    """SHA-256 of every raw file, by its path below the data home.

    >>> len(checksums()["actor/raw/out1_graph_edges.txt"])
    64
    """
    text = resources.files("simpgcn.data").joinpath("checksums.txt").read_text()
    return {path: digest for digest, path in (line.split() for line in text.splitlines())}


def verify(path: Path, name: str) -> None:
    """Raise unless the file ``path`` has the content published as ``name``."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != checksums()[name]:
        raise SimPGCNError(
            f"the data file {path} is damaged or not the published {name} (its checksum differs): "
            "replace it with a good copy, or delete it to have it fetched again"
        )


def find_raw(name: str) -> Path:
    """A checked raw file from the data home or the mirror."""
    mirror = data_mirror()
    for folder in (data_home(), mirror):
        if folder is not None and (folder / name).is_file():
            verify(folder / name, name)
            return folder / name
    raise SimPGCNError(
        f"the data file {name} is neither in the data home {data_home()} nor in the mirror "
        f"({mirror or '$SIMPGCN_DATA_MIRROR is not set'}): put it into one of them"
    )


def missing_from_mirror(folder: str) -> list[str]:
    """The raw files of ``folder`` that the mirror, if there is one, does not have."""
    mirror = data_mirror()
    names = [name for name in checksums() if name.startswith(f"{folder}/raw/")]
    return [name for name in names if mirror is None or not (mirror / name).is_file()]


def copy_from_mirror(folder: str, target: Path) -> list[str]:
    """Copy the raw files of ``folder`` that the mirror has and ``target`` lacks; return what the mirror lacks."""
    missing = missing_from_mirror(folder)
    mirror = data_mirror()
    for name in (name for name in checksums() if name.startswith(f"{folder}/raw/")):
        if mirror is None or name in missing or (target / Path(name).name).is_file():
            continue
        verify(mirror / name, name)
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(mirror / name, target / Path(name).name)
    return missing
