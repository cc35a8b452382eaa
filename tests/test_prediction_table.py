from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch_geometric.data import Data

from simpgcn.prediction_table import prediction_table
from simpgcn.training import Prediction

LOGITS = np.log([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.2, 0.5, 0.3]]).astype(np.float32)
TRUST = np.random.default_rng(0).normal(size=(3, 2, 3)).astype(np.float32)


@pytest.mark.parametrize("ids", [pa.array(["z", "é", "a"]), pa.array([7, -1, 2**60])])
def test_ids_and_labels_are_the_users(ids):
    data = Data(y=torch.tensor([0, -1, 2]), node_ids=ids, class_names=["red", "green", "1"], num_nodes=3)
    table = prediction_table(Prediction(LOGITS, None), data)
    assert table["node"].combine_chunks().equals(ids)
    assert table["label"].to_pylist() == ["red", None, "1"]
    assert table["predicted"].to_pylist() == ["red", "1", "green"]
    assert table.column_names[3:] == ["probability_red", "probability_green", "probability_1"]
    np.testing.assert_allclose(table["probability_red"], [0.7, 0.1, 0.2], rtol=1e-6)


def test_without_ids_and_names_there_are_numbers():
    table = prediction_table(Prediction(LOGITS, None), Data(y=torch.tensor([0, -1, 2]), num_nodes=3))
    assert table["node"].to_pylist() == [0, 1, 2]
    assert table["label"].to_pylist() == [0, None, 2]
    assert table["predicted"].to_pylist() == [0, 2, 1]


def test_shares_sum_to_one_and_are_those_of_the_weights():
    table = prediction_table(Prediction(LOGITS, TRUST), Data(num_nodes=3)).to_pydict()
    shares = np.array([table[f"leans_on_{name}"] for name in ("graph", "look_alikes", "itself")]).T
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)
    for i in range(3):
        layers = [np.abs(TRUST[i, layer]) / np.abs(TRUST[i, layer]).sum() for layer in range(2)]
        np.testing.assert_allclose(shares[i], (layers[0] + layers[1]) / 2, rtol=1e-6)
    assert table["trust_self_2"] == TRUST[:, 1, 2].tolist()
    assert "label" not in table
