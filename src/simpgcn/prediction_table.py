"""What a model says of every node as a table a person can read: their ids, their labels, their words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from torch_geometric.data import Data

from simpgcn.training import Prediction


def prediction_table(prediction: Prediction, data: Data) -> pa.Table:
    """One row per node of ``data``, in its order.

    =================================  =====================================================================
    ``node``                           the node's id, ``data.node_ids``; its number where there are none
    ``label``                          its label, null where unknown; left out of a graph without labels
    ``predicted``                      the most probable label
    ``probability_{label}``            of each class, calibrated
    ``leans_on_graph``,                shares of the weights that the prediction gave its links, its
    ``leans_on_look_alikes``,          look-alikes by features and itself, which sum to 1; see
    ``leans_on_itself``                :attr:`simpgcn.training.Prediction.shares`
    ``trust_{source}_{layer}``         the weights themselves: s, 1 - s and γK, or those of a softmax gate
    =================================  =====================================================================

    The last two kinds are SimP-GCN's alone. Labels are written as ``data.class_names`` has them, as class numbers
    where there are none.

    >>> data = Data(node_ids=pa.array(["ann", "bob"]), class_names=["good", "bad"], num_nodes=2)
    >>> prediction_table(Prediction(np.zeros((2, 2)), None), data).to_pylist()[1]
    {'node': 'bob', 'predicted': 'good', 'probability_good': 0.5, 'probability_bad': 0.5}
    """
    probabilities = prediction.probabilities
    ids, names = data.get("node_ids"), data.get("class_names")
    shown = pa.array(np.arange(probabilities.shape[1]) if names is None else names)
    columns: dict[str, Any] = {"node": np.arange(len(probabilities)) if ids is None else ids}
    if data.get("y") is not None:
        label = data.y.cpu().numpy()
        columns["label"] = shown.take(pa.array(label, mask=label < 0))
    columns["predicted"] = shown.take(pa.array(prediction.predicted))
    columns |= {f"probability_{name}": column for name, column in zip(shown, probabilities.T, strict=True)}
    if prediction.shares is not None and prediction.trust is not None:
        for name, share in zip(("graph", "look_alikes", "itself"), prediction.shares.T, strict=True):
            columns[f"leans_on_{name}"] = share.astype(np.float32)
        for layer, weights in enumerate(prediction.trust.transpose(1, 2, 0), start=1):
            for name, weight in zip(("structure", "features", "self"), weights, strict=True):
                columns[f"trust_{name}_{layer}"] = weight
    return pa.table(columns)
