"""The joint objective, the stopping rule, and the loop, for one run or several side by side."""

from simpgcn.training.calibration import Calibration, calibrate
from simpgcn.training.epoch import Epoch
from simpgcn.training.new_nodes import predict_new_nodes
from simpgcn.training.objective import Labels, Objective
from simpgcn.training.prediction import Prediction, predict
from simpgcn.training.problem import (
    Problem,
    copy_search,
    feature_graph,
    find_device,
    load_graph,
    model_inputs,
    prepare,
    pretext_pairs,
    with_split,
)
from simpgcn.training.replicas import alike, how_many, train_together
from simpgcn.training.stopping import EarlyStopping
from simpgcn.training.trainer import Trainer

__all__ = [
    "Calibration",
    "EarlyStopping",
    "Epoch",
    "Labels",
    "Objective",
    "Prediction",
    "Problem",
    "Trainer",
    "alike",
    "calibrate",
    "copy_search",
    "feature_graph",
    "find_device",
    "how_many",
    "load_graph",
    "model_inputs",
    "predict",
    "predict_new_nodes",
    "prepare",
    "pretext_pairs",
    "train_together",
    "with_split",
]
