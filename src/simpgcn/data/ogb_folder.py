"""A folder laid out as those of the Open Graph Benchmark's node datasets:

========================================  ======================================================
``raw/edge.csv.gz``                       two node numbers a line, no header, as in all of them
``raw/node-feat.csv.gz``                  the numbers of a node's features
``raw/node-label.csv.gz``                 one class number, empty or nan for unknown
``split/NAME/{train,valid,test}.csv.gz``  node numbers; without them a random split is drawn
========================================  ======================================================
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import torch
from torch_geometric.data import Data
from torch_geometric.utils import index_to_mask

from simpgcn.data.splits import SplitKind, apply_split
from simpgcn.data.tables.edges import read_edges
from simpgcn.data.tables.labels import read_labels
from simpgcn.data.tables.understood import describe
from simpgcn.errors import SimPGCNError

_NEEDED = ("edge", "node-feat", "node-label")


def is_ogb_folder(name: str) -> bool:
    """Whether a name is that of such a folder.

    >>> is_ogb_folder("cora")
    False
    """
    return (Path(name) / "raw" / "edge.csv.gz").is_file()


def load_ogb_folder(
    folder: str | Path, *, directed: bool = False, split: int = 0, split_kind: SplitKind | None = None
) -> Data:
    """The graph of such a folder, with its own split unless another kind is asked for. Features are taken as they are.

    >>> import gzip, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "raw").mkdir()
    >>> texts = {"edge": "0,1\\n1,2\\n", "node-feat": "0.5\\n0.1\\n" * 5, "node-label": "0\\n1\\n" * 5}
    >>> for name, text in texts.items():
    ...     _ = (folder / "raw" / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    >>> data = load_ogb_folder(folder)
    >>> data.num_nodes, data.x.size(1), data.edge_index.tolist(), data.class_names
    (10, 1, [[0, 1, 1, 2], [1, 2, 0, 1]], ['0', '1'])
    """
    raw = Path(folder) / "raw"
    missing = [name for name in _NEEDED if not (raw / f"{name}.csv.gz").is_file()]
    if missing:
        raise SimPGCNError(
            f"{raw} has no {missing[0]}.csv.gz: {', '.join(f'{name}.csv.gz' for name in _NEEDED)} are read"
        )
    features = _read(raw / "node-feat.csv.gz")
    for name, column in zip(features.column_names, features.columns, strict=True):
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            raise SimPGCNError(f"{raw}/node-feat.csv.gz: column {name} holds values that are no numbers: correct them")
    x = np.stack([column.to_numpy() for column in features.columns], axis=1).astype(np.float32)
    labels = _read(raw / "node-label.csv.gz")
    if labels.num_columns != 1:
        raise SimPGCNError(f"{raw}/node-label.csv.gz has {labels.num_columns} labels a node: only one can be learned")
    if labels.num_rows != len(x):
        raise SimPGCNError(f"{raw} has the features of {len(x)} nodes but the labels of {labels.num_rows}")
    found = read_labels(labels[0], "node-label")
    ids = pa.array(np.arange(len(x)))
    repairs: list[str] = []
    edges = read_edges(_read(raw / "edge.csv.gz"), ids, repairs, directed=directed)
    data = Data(x=torch.from_numpy(x), edge_index=edges.edge_index, y=found.y, num_nodes=len(x))
    stored = _stored_split(Path(folder), len(x))
    if stored:
        data.update(stored)
    data = apply_split(data, str(folder), split_kind or ("stored" if stored else "random"), split)
    data.node_ids, data.class_names = ids, found.class_names
    data.understood = describe(
        data,
        edges,
        name=str(folder),
        rows=len(x),
        label="node-label",
        directed=directed,
        repairs=repairs,
        warnings=found.warnings,
    )
    return data


def _read(path: Path) -> pa.Table:
    options = pyarrow.csv.ReadOptions(autogenerate_column_names=True)
    convert = pyarrow.csv.ConvertOptions(null_values=["", "nan", "NaN"])
    try:
        return pyarrow.csv.read_csv(path, options, convert_options=convert)
    except (pa.ArrowException, OSError) as error:
        raise SimPGCNError(f"{path} is damaged or no gzipped CSV ({error})") from error


def _stored_split(folder: Path, count: int) -> dict[str, torch.Tensor]:
    schemes = sorted(path.parent for path in folder.glob("split/*/train.csv.gz"))
    if not schemes:
        return {}
    parts = {"train_mask": "train", "val_mask": "valid", "test_mask": "test"}
    index = {mask: _read(schemes[0] / f"{part}.csv.gz")[0].to_numpy() for mask, part in parts.items()}
    for mask, nodes in index.items():
        if nodes.dtype.kind not in "iu" or nodes.min() < 0 or nodes.max() >= count:
            raise SimPGCNError(f"{schemes[0]}/{parts[mask]}.csv.gz must hold node numbers from 0 to {count - 1}")
    return {mask: index_to_mask(torch.from_numpy(nodes.copy()), count) for mask, nodes in index.items()}
