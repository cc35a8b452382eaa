"""A cache of neighbour searches, addressed by content: same features and question, same file.

The name of a dataset or the shape of its features never enter the address, so that another graph, another k
or changed features can never be answered with an old file. Files appear whole or not at all, so processes
may share the folder; the least recently used go first when it grows past its bound.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from simpgcn.data.features import is_sparse
from simpgcn.data.home import data_home
from simpgcn.files import replacing
from simpgcn.similarity.exact import Neighbors
from simpgcn.similarity.neighbors import nearest_neighbors

# Part of every address: raise it when the search's results change.
VERSION = 2
MAX_BYTES = 2 * 1024**3


def cached_neighbors(
    x: Tensor,
    k: int,
    *,
    farthest: int = 0,
    seed: int = 0,
    folder: Path | None = None,
    max_bytes: int = MAX_BYTES,
    on_progress: Callable[[float], None] | None = None,
) -> Neighbors:
    """:func:`nearest_neighbors`, answered from disk where the same search was made before.

    Args:
        x, k, farthest, seed, on_progress: As for :func:`nearest_neighbors`.
        folder: Where the files are; the data home's ``similarity`` folder if left out.
        max_bytes: What the folder may grow to.

    >>> import tempfile, torch
    >>> folder = Path(tempfile.mkdtemp())
    >>> first = cached_neighbors(torch.eye(4), 2, folder=folder)
    >>> again = cached_neighbors(torch.eye(4), 2, folder=folder)
    >>> bool((first.near == again.near).all()), len(list(folder.iterdir()))
    (True, 1)
    """
    folder = data_home() / "similarity" if folder is None else folder
    path = folder / f"{_address(x, k, farthest, seed)}.safetensors"
    try:
        found = Neighbors(**safetensors.torch.load_file(path, device=str(x.device)))
        os.utime(path)
        return found
    except (OSError, RuntimeError, SafetensorError, TypeError):
        pass  # not there, damaged, or removed by another process as it was opened: search, and write it anew
    found = nearest_neighbors(x, k, farthest=farthest, seed=seed, on_progress=on_progress)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(path) as draft:
            safetensors.torch.save_file({f: v.contiguous() for f, v in found._asdict().items()}, draft)
        _shrink(folder, max_bytes)
    except OSError:
        pass  # a full or read-only disk costs the next run its time, not this one its result
    return found


def _address(x: Tensor, k: int, farthest: int, seed: int) -> str:
    digest = hashlib.sha256(f"{VERSION} cosine {k} {farthest} {seed} {x.layout} {tuple(x.shape)}".encode())
    parts = (x.crow_indices(), x.col_indices(), x.values()) if is_sparse(x) else (x,)
    for part in parts:
        digest.update(str(part.dtype).encode())
        digest.update(part.detach().cpu().contiguous().numpy().view("uint8").data)
    return digest.hexdigest()


def _shrink(folder: Path, max_bytes: int) -> None:
    aged = []
    for path in folder.glob("*.safetensors"):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue  # another process was faster
        aged.append((status.st_mtime_ns, status.st_size, path))
    total = sum(size for _, size, _ in aged)
    for _, size, path in sorted(aged):
        if total <= max_bytes:
            break
        path.unlink(missing_ok=True)
        total -= size
