from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from simpgcn.config import Config
from simpgcn.data import apply_split, synthetic_graph
from simpgcn.report.run_record import RunRecord, with_look_alikes
from simpgcn.report.surroundings import surrounding
from simpgcn.training import Epoch

ODD_IDS = [
    "</script><script>document.title = 'broken'</script>",
    "<img src=x onerror=\"document.title = 'broken'\">",
    "a \"quoted\" & 'single' id",
    "שלום עולם",
    "🦊 fox",
    "100%/2#3?=&",
]
ODD_CLASSES = ["</script>", "<b>bold</b> & co", "لون"]


@pytest.fixture(scope="session")
def make_record():
    """A run on a small graph, not trained: its predictions are drawn by a seed."""

    def make(seed: int = 0, *, own: bool = True, trust: bool = True, name: str = "run") -> RunRecord:
        data = synthetic_graph(300, 3, homophily=0.3, average_degree=6, num_features=40, signal=0.5, seed=1)
        data = apply_split(data, "small", "random", 0)
        if own:
            data.node_ids = pa.array([*ODD_IDS, *(f"customer {i}" for i in range(len(ODD_IDS), 300))])
            data.class_names = ODD_CLASSES
            data.understood = {"columns": [{"name": "<i>age</i>", "kind": "number"}], "isolated_nodes": 3}
            data.y[40:60] = -1
            for mask in (data.train_mask, data.val_mask, data.test_mask):
                mask[40:60] = False
        data = with_look_alikes(data, Config(), cache=False)
        random = np.random.default_rng(seed)
        logits = random.normal(size=(300, 3)) + 2 * (np.arange(3) == data.y.numpy()[:, None])
        probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        scores = random.random((300, 2, 3)).astype(np.float32)
        metrics = {
            "dataset": "nodes.csv" if own else "demo",
            "model": "simpgcn" if trust else "gcn",
            "val_accuracy": 0.75,
            "best_epoch": 3,
            "epochs": 5,
            "calibration": {"temperature": 1.5, "error_before": 0.2, "error_after": 0.1, "measured_on": "test"},
            "seconds": {"total": 1.0, "training": 0.5},
            "versions": {"simpgcn": "0"},
            "git": None,
        }
        return RunRecord(
            name=name,
            config=Config(),
            metrics=metrics,
            history=[Epoch(e, 1.0, 1 / e, 0.1, 0.5, 1 / e, 0.1 * e) for e in range(1, 6)],
            data=data,
            predicted=probabilities.argmax(axis=1),
            probabilities=probabilities,
            leans=scores.mean(axis=1) / scores.mean(axis=1).sum(axis=1, keepdims=True) if trust else None,
            scores=scores if trust else None,
            neighbours=surrounding(data.edge_index, None, 300),
            look_alikes=surrounding(data.feature_edge_index, data.feature_edge_weight, 300),
        )

    return make
