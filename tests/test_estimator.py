from __future__ import annotations

import inspect
import json

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from simpgcn import SimPGCNClassifier, SimPGCNError
from simpgcn.config import Config


@pytest.fixture
def clf():
    return SimPGCNClassifier(hidden_channels=8, epochs=15, lr=0.05, k=5, pretext_samples=200, cache=False, device="cpu")


def test_fit_predict_score(clf, small):
    assert clf.fit(small) is clf
    probabilities = clf.predict_proba(small)
    assert probabilities.shape == (120, 3)
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-5)
    assert (clf.predict(small) == probabilities.argmax(1)).all()
    test = small.test_mask
    assert clf.score(small, mask=test) == (clf.predict(small) == small.y.numpy())[test.numpy()].mean()
    assert clf.score(small) > 0.6
    assert clf.trust_.shape == (120, 2, 3)
    np.testing.assert_allclose(clf.trust_[..., 0] + clf.trust_[..., 1], 1, rtol=1e-5)
    assert clf.best_epoch_ <= len(clf.history_) == 15


def test_softmax_gate(clf, small, tmp_path):
    clf.set_params(gate="softmax", structure_bias=2.0, self_loop_weight=0.5).fit(small)
    assert clf.score(small) > 0.6
    np.testing.assert_allclose(clf.trust_.sum(axis=2), 1.5, rtol=1e-5)
    clf.save(tmp_path / "run")
    np.testing.assert_array_equal(
        SimPGCNClassifier.load(tmp_path / "run").predict_proba(small), clf.predict_proba(small)
    )


def test_scikit_learn_manners(clf):
    copy = clone(clf.set_params(pretext_weight=7.0))
    assert copy.get_params() == clf.get_params()
    assert copy.pretext_weight == 7.0
    assert "SimPGCNClassifier(" in repr(clf)


def test_defaults_are_those_of_the_configuration():
    assert SimPGCNClassifier()._make_config() == Config()
    arguments = set(inspect.signature(SimPGCNClassifier).parameters)
    settings = set(vars(Config().model)) | set(vars(Config().training))
    assert settings <= arguments


def test_bad_arguments_are_told_at_fit(small):
    with pytest.raises(SimPGCNError, match=r"model\.dropout"):
        SimPGCNClassifier(dropout=2.0).fit(small)


def test_not_fitted(clf, small, tmp_path):
    for use in (lambda: clf.predict(small), lambda: clf.save(tmp_path / "run")):
        with pytest.raises(NotFittedError):
            use()
    assert not (tmp_path / "run").exists()


def test_save_and_load(clf, small, tmp_path):
    clf.fit(small).save(tmp_path / "run")
    loaded = SimPGCNClassifier.load(tmp_path / "run")
    np.testing.assert_array_equal(loaded.predict_proba(small), clf.predict_proba(small))
    assert loaded.get_params() == {**clf.get_params(), "cache": True, "device": "auto"}
    assert loaded.temperature_ == clf.temperature_ != 1
    assert (loaded.best_epoch_, loaded.val_accuracy_) == (clf.best_epoch_, clf.val_accuracy_)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "config.yaml",
        "history.csv",
        "model.safetensors",
    ]


def test_predicts_for_another_graph_with_its_own_look_alikes(clf, small):
    clf.fit(small)
    order = torch.randperm(120)
    place = torch.empty_like(order)
    place[order] = torch.arange(120)
    shuffled = small.clone()
    shuffled.x = small.x.to_dense()[order]
    shuffled.edge_index = place[small.edge_index]
    # Ties among look-alikes fall differently on shuffled rows, so a few nodes may differ; not most.
    agree = (clf.predict(shuffled) == clf.predict(small)[order]).mean()
    assert agree > 0.9


def test_other_number_of_features(clf, small):
    clf.fit(small)
    small.x = small.x.to_dense()[:, :30]
    with pytest.raises(SimPGCNError, match="30 features, but the model was trained on 60"):
        clf.predict(small)


def test_score_needs_something_to_score(clf, small):
    clf.fit(small)
    with pytest.raises(SimPGCNError, match="selects none"):
        clf.score(small, mask=torch.zeros(120, dtype=torch.bool))
    small.y = None
    with pytest.raises(SimPGCNError, match="no labels to score"):
        clf.score(small)


def test_a_smaller_graph_has_fewer_look_alikes(clf, small):
    small.x = small.x.to_dense()
    clf.fit(small)
    few = small.subgraph(torch.arange(4))
    assert clf.predict_proba(few).shape == (4, 3)


def test_odd_but_fair_graphs(clf, small):
    """Other number types, weights, unlabelled nodes, NumPy's integers and sparse COO are all welcome."""
    reference = clf.fit(small).predict(small)
    odd = small.clone()
    odd.x = small.x.to_dense().double().to_sparse_coo()
    odd.edge_weight = torch.ones(small.num_edges, dtype=torch.float64)
    odd.y = torch.where(small.test_mask, -1, small.y)
    del odd.test_mask
    again = clone(clf).set_params(hidden_channels=np.int64(8)).fit(odd)
    assert (again.predict(odd) == reference).mean() > 0.95


def test_saving_does_not_overwrite(clf, small, tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("mine")
    clf.fit(small)
    for place in ("file", "folder"):
        with pytest.raises(SimPGCNError, match="already exists"):
            clf.save(tmp_path / place)


def test_stopping_early_from_python(clf, small):
    clf.fit(small, on_epoch=lambda epoch: epoch.epoch == 4)
    assert len(clf.history_) == 4
    assert clf.predict(small).shape == (120,)


def test_a_folder_without_temperature_has_probabilities_as_they_are(clf, small, tmp_path):
    clf.fit(small).save(tmp_path / "run")
    path = tmp_path / "run" / "model.safetensors"
    with safe_open(path, framework="pt") as file:
        meta = json.loads(file.metadata()["simpgcn"])
    assert meta.pop("temperature") == clf.temperature_
    save_file(load_file(path), path, {"simpgcn": json.dumps(meta)})
    loaded = SimPGCNClassifier.load(tmp_path / "run")
    assert loaded.temperature_ == 1
    assert (loaded.predict(small) == clf.predict(small)).all()
    np.testing.assert_allclose(
        loaded.predict_proba(small) ** (1 / clf.temperature_) / clf.predict_proba(small),
        ((loaded.predict_proba(small) ** (1 / clf.temperature_)).sum(axis=1, keepdims=True)).repeat(3, axis=1),
        rtol=1e-4,
    )


def test_a_temperature_that_is_none_is_told(clf, small, tmp_path):
    clf.fit(small).save(tmp_path / "run")
    path = tmp_path / "run" / "model.safetensors"
    meta = {"num_features": 60, "num_classes": 3, "temperature": 0}
    save_file(load_file(path), path, {"simpgcn": json.dumps(meta)})
    with pytest.raises(SimPGCNError, match="does not fit"):
        SimPGCNClassifier.load(tmp_path / "run")
