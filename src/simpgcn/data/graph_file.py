"""A graph in a file of its own, with its split, what it was made from and how: ``.npz``, nothing pickled."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from simpgcn.data.features import as_csr, compact, is_sparse
from simpgcn.errors import SimPGCNError
from simpgcn.files import replacing

GRAPH_FORMAT = 1
_MASKS = ("train_mask", "val_mask", "test_mask")


def write_graph(path: Path, data: Data, about: dict[str, Any]) -> None:
    """Write a graph with labels and, if it has them, masks and weights, and plain facts ``about`` it.

    >>> import tempfile
    >>> mask = torch.tensor([True, False])
    >>> data = Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0, 1]),
    ...             train_mask=mask, val_mask=~mask, test_mask=~mask)
    >>> path = Path(tempfile.mkdtemp()) / "graph.npz"
    >>> write_graph(path, data, {"made_from": "cora"})
    >>> read_graph(path).x.tolist(), about_graph(path)["made_from"]
    ([[1.0, 0.0], [0.0, 1.0]], 'cora')
    """
    optional = [name for name in (*_MASKS, "edge_weight") if data.get(name) is not None]
    parts = {name: data[name].cpu().numpy() for name in ("edge_index", "y", *optional)}
    x = compact(data.x.cpu())
    if is_sparse(x):
        x = as_csr(x)
        parts |= {"x_rows": x.crow_indices().numpy(), "x_columns": x.col_indices().numpy()}
        parts |= {"x_values": x.values().numpy(), "x_shape": np.array(x.shape)}
    else:
        parts["x"] = x.numpy()
    text = json.dumps({"graph_format": GRAPH_FORMAT, **about})
    with replacing(path) as draft, draft.open("wb") as file:
        np.savez(file, about=np.array(text), **parts)


def read_graph(path: Path) -> Data:
    """The graph of a file, features in CSR layout where most are zero; an error if it is none, or unfinished."""
    about = about_graph(path)
    if not about.get("finished", True):
        raise SimPGCNError(f"{path} is unfinished: give the command that was to write it again, and it goes on")
    parts = _parts(path)
    try:
        if "x" in parts:
            x = torch.from_numpy(parts["x"])
        else:
            shape = tuple(parts["x_shape"].tolist())
            rows, columns, values = (torch.from_numpy(parts[f"x_{name}"]) for name in ("rows", "columns", "values"))
            x = torch.sparse_csr_tensor(rows, columns, values, shape, check_invariants=True)
        names = ["edge_index", "y", *(name for name in (*_MASKS, "edge_weight") if name in parts)]
        found: dict[str, Tensor] = {name: torch.from_numpy(parts[name]) for name in names}
    except (KeyError, ValueError, RuntimeError, TypeError) as error:
        raise SimPGCNError(f"{path} is damaged or no graph file of this package ({error})") from error
    return Data(x=x, num_nodes=x.size(0), **found)


def about_graph(path: Path) -> dict[str, Any]:
    """What a graph file says about itself."""
    try:
        about: dict[str, Any] = json.loads(str(_parts(path, "about")["about"]))
    except (KeyError, ValueError) as error:
        raise SimPGCNError(f"{path} is no graph file of this package") from error
    if about.get("graph_format") != GRAPH_FORMAT:
        raise SimPGCNError(
            f"{path} has graph format {about.get('graph_format')}, but this version of simpgcn reads {GRAPH_FORMAT}"
        )
    return about


def content_of(name: str | None) -> str:
    """What tells a graph file from an earlier one of the same name; nothing for names of the catalogue.

    >>> content_of("cora")
    ''
    """
    if name is None or not name.endswith(".npz") or not Path(name).is_file():
        return ""
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


def _parts(path: Path, *names: str) -> dict[str, np.ndarray]:
    if not path.is_file():
        raise SimPGCNError(f"there is no graph file {path}: simpgcn attack writes one")
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in (names or file.files)}
    except KeyError:
        raise
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise SimPGCNError(f"{path} is damaged or no graph file of this package ({error})") from error
