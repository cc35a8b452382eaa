"""The joint objective, the stopping rule and the loop."""

from simpgcn.training.objective import Objective
from simpgcn.training.prediction import Prediction, predict
from simpgcn.training.problem import Problem, find_device, load_graph, model_inputs, prepare
from simpgcn.training.stopping import EarlyStopping
from simpgcn.training.trainer import Epoch, Trainer, accuracy

__all__ = [
    "EarlyStopping",
    "Epoch",
    "Objective",
    "Prediction",
    "Problem",
    "Trainer",
    "accuracy",
    "find_device",
    "load_graph",
    "model_inputs",
    "predict",
    "prepare",
]
