"""Every node in a few flat arrays, packed for a page: what it is, what it was predicted, whom it is linked to.

Features are not among them. Probabilities and weights are kept to a thousandth, similarities too.
"""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import numpy as np
import pyarrow.compute as pc

from simpgcn.report.run_record import RunRecord
from simpgcn.report.surroundings import Surrounding

MOST_NODES = 200_000
SPLITS = ("train", "validation", "test", "unlabelled", "unused")


def pack(content: bytes) -> str:
    """Bytes as text: gzip, then base64.

    >>> gzip.decompress(base64.b64decode(pack(b"node")))
    b'node'
    """
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()


def node_arrays(runs: list[RunRecord]) -> dict[str, np.ndarray | list[str]]:
    """The arrays of the nodes of runs on the same nodes; links, weights and order by doubt are those of the first."""
    run = runs[0]
    most = 20 if run.num_nodes <= 20_000 else 10
    # A neighbour counts by its label, or where it has none by what it was predicted.
    taken_for = np.where(run.labels >= 0, run.labels, run.predicted)
    arrays: dict[str, np.ndarray | list[str]] = {
        "label": run.labels.astype(np.int16),
        "split": _splits(run),
        "predicted": np.concatenate([one.predicted for one in runs]).astype(np.int16),
        "sure": _thousandths(np.concatenate([one.probabilities.max(axis=1) for one in runs])),
        "probabilities": _thousandths(run.probabilities).ravel(),
        "by_doubt": by_doubt(run.probabilities).astype(np.uint32),
    }
    for name, links in (("neighbour", run.neighbours), ("alike", run.look_alikes)):
        kept = links.first(most)
        arrays |= {f"{name}_{key}": array for key, array in _links(links, kept, taken_for, run.predicted).items()}
        if name == "alike":
            arrays["alike_similarity"] = _thousandths(kept.weights)
        elif run.data.get("edge_weight") is not None:
            arrays["neighbour_weight"] = kept.weights
    if run.node_ids is not None:
        arrays["ids"] = [str(value) for value in run.node_ids.to_pylist()]
        arrays["by_id"] = pc.sort_indices(run.node_ids).to_numpy().astype(np.uint32)
    if run.leans is not None:
        arrays["leans"] = _thousandths(run.leans).ravel()
    if run.scores is not None:
        arrays["scores"] = run.scores.round(3).astype(np.float32).ravel()
    return arrays


def by_doubt(probabilities: np.ndarray) -> np.ndarray:
    """The nodes, the least sure prediction first; equally sure ones in their order.

    >>> by_doubt(np.array([[0.9, 0.1], [0.5, 0.5], [0.3, 0.7]])).tolist()
    [1, 2, 0]
    """
    return np.argsort(probabilities.max(axis=1), kind="stable")


def packed(arrays: dict[str, np.ndarray | list[str]]) -> dict[str, dict[str, str]]:
    """Each array as the name of JavaScript's typed array, or ``JSON``, and its packed bytes.

    >>> packed({"label": np.array([1], dtype=np.int16)})["label"]["type"]
    'Int16Array'
    """
    return {name: _packed(array) for name, array in arrays.items()}


def _packed(array: np.ndarray | list[str]) -> dict[str, str]:
    if isinstance(array, list):
        return {"type": "JSON", "data": pack(json.dumps(array).encode())}
    names = {"i": "Int", "u": "Uint", "f": "Float"}
    name = f"{names[array.dtype.kind]}{8 * array.dtype.itemsize}Array"
    return {"type": name, "data": pack(array.astype(array.dtype.newbyteorder("<")).tobytes())}


def _thousandths(values: np.ndarray) -> np.ndarray:
    return np.rint(values * 1000).astype(np.uint16)


def _splits(run: RunRecord) -> np.ndarray:
    split = np.where(run.labels < 0, SPLITS.index("unlabelled"), SPLITS.index("unused")).astype(np.uint8)
    for place, mask in enumerate((run.data.train_mask, run.data.val_mask, run.data.test_mask)):
        split[mask.numpy()] = place
    return split


def _links(links: Surrounding, kept: Surrounding, taken_for: np.ndarray, predicted: np.ndarray) -> dict[str, Any]:
    n = len(predicted)
    classes = links.classes(taken_for, int(max(taken_for.max(), predicted.max())) + 1)
    tied = 2 * classes
    tied[np.arange(n), predicted] += 1  # of equally common classes, the predicted one
    return {
        "total": links.counts.astype(np.uint32),
        "top": tied.argmax(axis=1).astype(np.int16),
        "top_count": classes.max(axis=1).astype(np.uint32),
        "agree": classes[np.arange(n), predicted].astype(np.uint32),
        "kept": kept.counts.astype(np.uint8),
        "others": kept.others.astype(np.uint16 if n <= 65_536 else np.uint32),
    }
