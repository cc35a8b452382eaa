"""The estimator: SimP-GCN with scikit-learn's manners."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from torch import Tensor
from torch_geometric.data import Data

from simpgcn.config import Config
from simpgcn.data.features import Choice
from simpgcn.data.own_graph import write_own_graph
from simpgcn.errors import SimPGCNError
from simpgcn.nn.pretext import Task
from simpgcn.nn.simp_conv import Gate
from simpgcn.nn.simp_gcn import Form
from simpgcn.runs import (
    keep_search,
    read_config,
    read_history,
    read_model,
    search_cache,
    write_config,
    write_history,
    write_model,
)
from simpgcn.training import (
    Epoch,
    Prediction,
    Trainer,
    calibrate,
    find_device,
    model_inputs,
    predict,
    predict_new_nodes,
    prepare,
)

_SECTIONS = {
    "data": ("normalize_features", "absent_classes"),
    "similarity": ("k", "binarize"),
    "model": (
        "hidden_channels",
        "num_layers",
        "dropout",
        "self_loop_weight",
        "structure_bias",
        "bias",
        "form",
        "gate",
        "pretext_weight",
        "pretext_neighbors",
        "pretext_samples",
        "pretext_task",
    ),
    "training": ("lr", "weight_decay", "epochs", "patience", "seed", "device"),
}


class SimPGCNClassifier(ClassifierMixin, BaseEstimator):
    """A node classifier for graphs whose links cannot be fully trusted.

    Reads PyG graphs: ``x`` (dense or sparse), ``edge_index``, optionally ``edge_weight``, and for :meth:`fit`
    ``y`` (-1 for unknown), ``train_mask`` and ``val_mask``, which chooses the epoch to keep. The arguments are
    the settings of :class:`simpgcn.config.Config`. Probabilities are calibrated by ``temperature_``, which
    ``val_mask`` chooses as well; see :mod:`simpgcn.training.calibration`.

    Args:
        hidden_channels: Size of the hidden layers.
        num_layers: Depth.
        dropout: Share of hidden values dropped in training.
        self_loop_weight: γ, the weight of the learned self-loops; 0 removes them.
        structure_bias: The initial b_s; above 0 starts closer to the given graph.
        bias: Learn a bias in every layer.
        form: ``paper`` or ``published``: where the ReLU sits.
        gate: ``scores``, as in the paper, or ``softmax``: one softmax over the given graph, look-alikes and the
            node itself, which starts from the same b_s and γ.
        pretext_weight: λ, the weight of the pretext task; 0 removes it.
        pretext_neighbors: m, most and least similar nodes per node in the pretext task.
        pretext_samples: Pairs drawn for the pretext task in each epoch.
        pretext_task: ``regression`` or ``classification``.
        k: Neighbours per node in the feature graph.
        binarize, normalize_features: ``auto``, ``always`` or ``never``.
        absent_classes: ``allow`` a class without training node, or make it an ``error``.
        lr, weight_decay, epochs, patience: Adam's settings and the stopping rule.
        seed: Draws initial values, dropout and pretext samples.
        device: ``auto``, ``cpu`` or ``cuda``.
        cache: Keep neighbour searches on disk.

    Attributes:
        classes_: The class numbers.
        trust_: Per node and layer of the fitted graph, ``[n, layers, 3]``: the weight on the given graph, on
            look-alikes, on the node itself.
        history_: The epochs, one :class:`simpgcn.training.Epoch` each.
        val_accuracy_, best_epoch_: Of the state that was kept.
        model_: The trained :class:`simpgcn.nn.SimPGCN`.

    >>> from simpgcn import load_dataset
    >>> data = load_dataset("demo")
    >>> clf = SimPGCNClassifier(epochs=20, lr=0.05, cache=False).fit(data)
    >>> clf.score(data, mask=data.test_mask) > 0.6
    True
    >>> clf.trust_.shape
    (2000, 2, 3)
    """

    def __init__(
        self,
        *,
        hidden_channels: int = 128,
        num_layers: int = 2,
        dropout: float = 0.5,
        self_loop_weight: float = 0.1,
        structure_bias: float = 0.0,
        bias: bool = True,
        form: Form = "paper",
        gate: Gate = "scores",
        pretext_weight: float = 1.0,
        pretext_neighbors: int = 5,
        pretext_samples: int = 10_000,
        pretext_task: Task = "regression",
        k: int = 20,
        binarize: Choice = "auto",
        normalize_features: Choice = "auto",
        absent_classes: str = "error",
        lr: float = 0.01,
        weight_decay: float = 5e-4,
        epochs: int = 500,
        patience: int = 100,
        seed: int = 0,
        device: str = "auto",
        cache: bool = True,
    ) -> None:
        self.hidden_channels = hidden_channels
        self.num_layers = num_layers
        self.dropout = dropout
        self.self_loop_weight = self_loop_weight
        self.structure_bias = structure_bias
        self.bias = bias
        self.form = form
        self.gate = gate
        self.pretext_weight = pretext_weight
        self.pretext_neighbors = pretext_neighbors
        self.pretext_samples = pretext_samples
        self.pretext_task = pretext_task
        self.k = k
        self.binarize = binarize
        self.normalize_features = normalize_features
        self.absent_classes = absent_classes
        self.lr = lr
        self.weight_decay = weight_decay
        self.epochs = epochs
        self.patience = patience
        self.seed = seed
        self.device = device
        self.cache = cache

    def fit(self, data: Data, *, on_epoch: Callable[[Epoch], bool | None] | None = None) -> SimPGCNClassifier:
        """Train on the labelled nodes of ``data.train_mask``, keeping the best epoch on ``data.val_mask``.

        Args:
            data: The graph.
            on_epoch: Called after every epoch; returning True ends the training.
        """
        self._config = self._make_config()
        problem = prepare(data, self._config, cache=self.cache)
        trainer = Trainer(problem, self._config)
        trainer.run(on_epoch)
        self._trainer = trainer
        self._graph = data
        self._search_cache: bool | Path = True
        self.model_ = trainer.best_model()
        self.history_ = trainer.history
        self.val_accuracy_ = trainer.stopping.best
        self.best_epoch_ = trainer.stopping.best_epoch
        prediction, calibration = calibrate(predict(self.model_, problem.inputs), data)
        self.trust_ = prediction.trust
        self.temperature_ = calibration.temperature
        self._set_sizes(problem.num_features, problem.num_classes)
        return self

    def predict_proba(self, data: Data) -> np.ndarray:
        """Class probabilities ``[n, classes]``, with look-alikes searched among the nodes of ``data`` itself.

        They are calibrated: the logits are divided by ``temperature_``, which the validation set chose in :meth:`fit`.
        """
        return self._predict(data).probabilities

    def predict_new(self, known: Data, new: Data) -> Prediction:
        """The prediction for nodes that were not there in training; nothing is trained again.

        Their look-alikes are searched among the nodes of ``known``, the graph of :meth:`fit`, whose own predictions
        do not change. See :func:`simpgcn.training.predict_new_nodes`.

        Args:
            known: The graph that was fitted.
            new: ``x`` and ``edge_index``, optionally ``edge_weight``. The new nodes' numbers go on from those of the
                known ones, and an edge (i, j) lets i take from j: an undirected one is there both ways. Edges from
                known nodes are left out.

        Returns:
            ``probabilities`` ``[m, classes]``, ``predicted`` ``[m]``, ``trust`` and ``shares`` of the new nodes.
        """
        self._check_fitted()
        check_width(known, self.n_features_in_)
        device = find_device(self.device)
        cache = self.cache and self._search_cache
        return predict_new_nodes(
            self.model_, known, new, self._config, device, temperature=self.temperature_, cache=cache
        )

    def predict(self, data: Data) -> np.ndarray:
        """The most probable class of every node."""
        best = self._predict(data).predicted
        return self.classes_[best]

    def score(self, data: Data, mask: Tensor | None = None) -> float:
        """Accuracy on the nodes of ``mask``, or on all nodes with a label."""
        if data.get("y") is None:
            raise SimPGCNError("the graph has no labels to score against: data.y is missing")
        y = data.y.cpu().numpy()
        chosen = (y >= 0) if mask is None else (y >= 0) & mask.cpu().numpy()
        if not chosen.any():
            raise SimPGCNError("there is no node to score: the mask selects none that has a label")
        return float((self.predict(data)[chosen] == y[chosen]).mean())

    def save(self, path: str | Path) -> None:
        """Write the fitted classifier as a run folder (see :mod:`simpgcn.runs`); nothing in it is pickled.

        A graph with ``node_ids``, such as :func:`simpgcn.load_tables` makes, is kept in it.
        """
        self._check_fitted()
        if not hasattr(self, "_trainer"):
            raise SimPGCNError("a classifier read from a run folder is already saved there")
        folder = Path(path)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise SimPGCNError(f"{folder} already exists: choose another place to save to")
        folder.mkdir(parents=True, exist_ok=True)
        write_config(folder, self._config.replace({"data": {"name": None}}))
        write_history(folder, self.history_)
        write_model(folder, self._trainer, self.temperature_)
        if self._graph.get("node_ids") is not None:
            write_own_graph(folder, self._graph)
            if self.cache:
                keep_search(folder, self._graph, self._config)

    @classmethod
    def load(cls, path: str | Path, *, device: str = "auto") -> SimPGCNClassifier:
        """A fitted classifier from a run folder of SimP-GCN, written by :meth:`save` or by ``simpgcn train``.

        It has no ``trust_``, which belongs to the graph it was fitted on.
        """
        folder = Path(path)
        config = read_config(folder)
        if config.model_name != "simpgcn":
            raise SimPGCNError(f"{folder} holds a {config.model_name} model, not simpgcn")
        settings = {
            name: getattr(getattr(config, section), name) for section, names in _SECTIONS.items() for name in names
        }
        loaded = cls(**{**settings, "device": device})
        loaded._config = config
        loaded._search_cache = search_cache(folder)
        saved = read_model(folder, config)
        loaded.model_ = saved.model.to(find_device(device))
        loaded.temperature_ = saved.temperature
        loaded.history_ = read_history(folder)
        best = max(loaded.history_, key=lambda epoch: (epoch.val_accuracy, epoch.epoch))
        loaded.val_accuracy_, loaded.best_epoch_ = best.val_accuracy, best.epoch
        loaded._set_sizes(saved.num_features, saved.num_classes)
        return loaded

    def _make_config(self) -> Config:
        changes = {section: {name: getattr(self, name) for name in names} for section, names in _SECTIONS.items()}
        return Config().replace(changes)

    def _set_sizes(self, num_features: int, num_classes: int) -> None:
        self.n_features_in_ = num_features
        self.classes_ = np.arange(num_classes)

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError("this SimPGCNClassifier is not fitted yet: call fit(data) first")

    def _predict(self, data: Data) -> Prediction:
        self._check_fitted()
        check_width(data, self.n_features_in_)
        inputs, _ = model_inputs(data, self._config, find_device(self.device), cap_k=True, cache=self.cache)
        return predict(self.model_, inputs, self.temperature_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def check_width(data: Data, num_features: int) -> None:
    """Raise unless the graph has as many features as a model was trained on."""
    if data.get("x") is not None and data.x.dim() == 2 and data.x.size(1) != num_features:
        raise SimPGCNError(f"the graph has {data.x.size(1)} features, but the model was trained on {num_features}")
