"""A graph of the user's own in the folder of a run, so that nothing needs their tables again.

========================  =============================================================================
``graph.npz``             features, edges, labels and masks; see :mod:`simpgcn.data.graph_file`
``nodes.parquet``         one column ``id``: the user's ids
``preparation.json``      how columns became features, what was understood, the names of the classes
========================  =============================================================================
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
from torch_geometric.data import Data

from simpgcn.data.graph_file import read_graph, write_graph
from simpgcn.data.ogb_folder import is_ogb_folder
from simpgcn.data.tables.read_table import is_table_path
from simpgcn.errors import SimPGCNError
from simpgcn.files import replacing

_PLAIN = ("preparation", "understood", "class_names")


def is_own(name: str) -> bool:
    """Whether a dataset's name is that of a user's table or folder, not of the catalogue or a graph file.

    >>> is_own("customers.csv"), is_own("cora"), is_own("attacked.npz")
    (True, False, False)
    """
    return is_table_path(name) or is_ogb_folder(name)


def is_file_name(name: str) -> bool:
    """Whether a dataset's name is a path, of a user's table or folder or of a graph file."""
    return name.endswith(".npz") or is_own(name)


def write_own_graph(folder: Path, data: Data) -> None:
    """Write a user's graph with its ids, class names and preparation, as far as it has them.

    >>> import tempfile
    >>> from simpgcn.data import load_dataset
    >>> data = load_dataset("demo")
    >>> data.node_ids, data.class_names = pa.array(range(5, 2005)), list("abcde")
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_own_graph(folder, data)
    >>> again = read_own_graph(folder)
    >>> again.node_ids[0].as_py(), again.class_names, has_own_graph(folder)
    (5, ['a', 'b', 'c', 'd', 'e'], True)
    """
    write_graph(folder / "graph.npz", data, {"of_tables": True})
    if data.get("node_ids") is not None:
        with replacing(folder / "nodes.parquet") as draft:
            pyarrow.parquet.write_table(pa.table({"id": data.node_ids}), draft)
    plain = {name: data[name] for name in _PLAIN if data.get(name) is not None}
    with replacing(folder / "preparation.json") as draft:
        draft.write_text(json.dumps(plain, indent=1) + "\n")


def has_own_graph(folder: Path) -> bool:
    """Whether a run folder holds a user's graph."""
    return (folder / "preparation.json").is_file()


def read_own_graph(folder: Path) -> Data:
    """The user's graph of a run folder, with ``node_ids``, ``class_names``, ``preparation`` and ``understood``."""
    if not has_own_graph(folder):
        raise SimPGCNError(f"{folder} holds no graph of its own: it has no preparation.json")
    data = read_graph(folder / "graph.npz")
    try:
        plain = json.loads((folder / "preparation.json").read_text())
        if not isinstance(plain, dict):
            raise ValueError("preparation.json holds no names")
        for name in _PLAIN:
            if name in plain:
                data[name] = plain[name]
        if (folder / "nodes.parquet").is_file():
            data.node_ids = pyarrow.parquet.read_table(folder / "nodes.parquet")["id"].combine_chunks()
    except (ValueError, KeyError, OSError, pa.ArrowException) as error:
        raise SimPGCNError(
            f"{folder} is damaged: its nodes.parquet or preparation.json cannot be read ({error})"
        ) from error
    names = data.get("class_names")
    if names is not None and data.get("y") is not None and len(names) <= int(data.y.max()):
        raise SimPGCNError(f"{folder} is damaged: preparation.json has fewer names of classes than there are classes")
    if data.get("node_ids") is not None and len(data.node_ids) != data.num_nodes:
        raise SimPGCNError(f"{folder} is damaged: nodes.parquet and graph.npz have different numbers of nodes")
    return data
