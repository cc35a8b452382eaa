"""A cache of neighbour searches, addressed by content: same features and question, same file.

The name of a dataset or the shape of its features never enter the address, so that another graph, another k
or changed features can never be answered with an old file. Every file says what it should hold, so that a damaged
one, or another's under its name, is searched anew. Files appear whole or not at all, so processes may share the
folder; the least recently used go first when it grows past its bound.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import safetensors.torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from simpgcn.data.features import is_sparse
from simpgcn.data.home import data_home
from simpgcn.files import replacing
from simpgcn.similarity.exact import Neighbors
from simpgcn.similarity.neighbors import FarTies, nearest_neighbors

# Part of every address: raise it when the search's results change.
VERSION = 2
MAX_BYTES = 2 * 1024**3


def cached_neighbors(
    x: Tensor,
    k: int,
    *,
    farthest: int = 0,
    seed: int = 0,
    far_ties: FarTies = "random",
    folder: Path | None = None,
    max_bytes: int = MAX_BYTES,
    on_progress: Callable[[float], None] | None = None,
) -> Neighbors:
    """:func:`nearest_neighbors`, answered from disk where the same search was made before.

    Args:
        x, k, farthest, seed, far_ties, on_progress: As for :func:`nearest_neighbors`.
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
    path = folder / _name(x, k, farthest, seed, far_ties)
    try:
        found = _read(path, (x.size(0), k), (x.size(0), farthest))
        with suppress(OSError):  # in a folder that is another's
            os.utime(path)
        return Neighbors(*(part.to(x.device) for part in found))
    except (OSError, KeyError, RuntimeError, SafetensorError, TypeError, ValueError):
        pass  # not there, damaged, or removed by another process as it was opened: search, and write it anew
    found = nearest_neighbors(x, k, farthest=farthest, seed=seed, far_ties=far_ties, on_progress=on_progress)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(path) as draft:
            tensors = {name: tensor.cpu().contiguous() for name, tensor in found._asdict().items()}
            safetensors.torch.save_file(tensors, draft, {"content": _content(path, Neighbors(**tensors))})
        _shrink(folder, max_bytes)
    except OSError:
        pass  # a full or read-only disk costs the next run its time, not this one its result
    return found


def copy_search(x: Tensor, k: int, *, farthest: int = 0, seed: int = 0, far_ties: FarTies = "random", to: Path) -> None:
    """Give a folder of its own the answer that :func:`cached_neighbors` has on disk, if it has one.

    >>> import tempfile, torch
    >>> x, folder = torch.eye(4), Path(tempfile.mkdtemp())
    >>> _ = cached_neighbors(x, 2)
    >>> copy_search(x, 2, to=folder)
    >>> len(list(folder.iterdir()))
    1
    """
    path = to / _name(x, k, farthest, seed, far_ties)
    try:
        to.mkdir(parents=True, exist_ok=True)
        with replacing(path) as draft:
            shutil.copyfile(data_home() / "similarity" / path.name, draft)
    except OSError:
        pass  # the search is then made when it is needed


def _read(path: Path, *shapes: tuple[int, int]) -> Neighbors:
    with safe_open(path, framework="pt") as file:
        found = Neighbors(*(file.get_tensor(name) for name in Neighbors._fields))
        if file.metadata()["content"] != _content(path, found):
            raise ValueError("its content is another's")
    for rows, shape in zip((found.near, found.far), shapes, strict=True):
        if rows.shape != shape or bool(((rows < 0) | (rows >= shape[0])).any()):
            raise ValueError("it names rows that are not there")
    return found


def _content(path: Path, found: Neighbors) -> str:
    """What tells this answer to the question that ``path`` is named by from any other."""
    digest = hashlib.sha256(path.name.encode())
    for part in found:
        digest.update(f"{part.dtype} {tuple(part.shape)}".encode())
        digest.update(part.numpy().view("uint8").data)
    return digest.hexdigest()


def _name(x: Tensor, k: int, farthest: int, seed: int, far_ties: FarTies) -> str:
    order = f"{seed} {far_ties}" if farthest and far_ties != "random" else f"{seed}"
    question = f"{VERSION} cosine {k} {farthest} {order} {x.layout} {tuple(x.shape)}"
    digest = hashlib.sha256(question.encode())
    parts = (x.crow_indices(), x.col_indices(), x.values()) if is_sparse(x) else (x,)
    for part in parts:
        digest.update(str(part.dtype).encode())
        digest.update(part.detach().cpu().contiguous().numpy().view("uint8").data)
    return f"{digest.hexdigest()}.safetensors"


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
