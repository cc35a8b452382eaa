"""What a model must bring to be trained by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch_geometric.data import Data


@dataclass(frozen=True)
class Method:
    """How a model is set, built and fed.

    Attributes:
        settings: A frozen dataclass of its hyper-parameters, with defaults.
        build: Makes the module from the number of features, the number of classes and the settings.
        inputs: Turns a graph and the settings into the module's arguments, once: tensors or sparse matrices
            that stay the same over all epochs. It may read the labels of ``data.train_mask``, no others.
        feature_graph: Whether the graph must carry a feature graph.
        replicable: Whether several runs can be trained side by side: the inputs are those of every split, random
            numbers come from :mod:`simpgcn.nn.randomness`, and :func:`torch.vmap` knows all operations. Such a
            model's steps can be captured on a GPU, too.
        costly_inputs: Whether the inputs take longer than the training. Runs that differ in their seed alone then run
            one after the other in one process, where they share them.
        reach: Cuts inputs down to what decides the rows of some nodes, in whose order the module then returns them;
            its arguments are the inputs, the nodes and the settings. None, instead of a function or from it, where
            the whole is needed anyway.
    """

    settings: type
    build: Callable[[int, int, Any], nn.Module]
    inputs: Callable[[Data, Any], tuple[Any, ...]]
    feature_graph: bool = False
    replicable: bool = False
    costly_inputs: bool = False
    reach: Callable[[tuple[Any, ...], Tensor, Any], tuple[Any, ...] | None] | None = None
