"""Adam (Kingma and Ba, ICLR 2015) for the parameters of several runs at once, each with its own settings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor
from torch.optim.adam import adam

from simpgcn.nn.kernels import kernels_for

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class AdamSettings(NamedTuple):
    """A run's learning rate, and its L2: the sizes of stretches of the parameters, and that of each."""

    lr: float
    decays: list[tuple[int, float]]


class Adam:
    """Updates ``[runs, p]`` parameters in place, with L2 as torch's Adam has it, as a part of the gradient.

    It is torch's own on a CPU. On CUDA that would take a kernel for each run, and few threads for each: ours
    takes one for all.

    Args:
        parameters: ``[runs, p]``.
        mean: First moments, changed in place.
        square: Second moments, likewise.
        settings: One for each run.

    >>> parameters = torch.ones(1, 2)
    >>> adam = Adam(parameters, torch.zeros(1, 2), torch.zeros(1, 2), [AdamSettings(0.1, [(2, 0.0)])])
    >>> adam.step(torch.tensor([[1.0, -3.0]]), torch.tensor([1]))
    >>> parameters
    tensor([[0.9000, 1.1000]])
    """

    def __init__(self, parameters: Tensor, mean: Tensor, square: Tensor, settings: Sequence[AdamSettings]) -> None:
        self.parameters, self.mean, self.square = parameters, mean, square
        self.kernels = kernels_for(parameters, "adam")
        if self.kernels is not None:
            self.lr = parameters.new_tensor([one.lr for one in settings])
            alone = all(len(one.decays) == 1 for one in settings)
            rows = [[torch.full((1 if alone else size,), value) for size, value in one.decays] for one in settings]
            self.decay = torch.stack([torch.cat(row) for row in rows]).to(parameters)
            return
        self.runs: list[tuple[AdamSettings, list[slice]]] = []
        for one in settings:
            ends = list(accumulate(size for size, _ in one.decays))
            self.runs.append((one, [slice(end - size, end) for end, (size, _) in zip(ends, one.decays, strict=True)]))

    def step(self, gradient: Tensor, number: Tensor) -> None:
        """One update; in each run it is the one of this ``number``, counted from 1."""
        if self.kernels is not None:
            self.kernels.adam(
                self.parameters, gradient, self.mean, self.square, self.lr, self.decay, number, BETAS, EPSILON
            )
            return
        for run, (one, parts) in enumerate(self.runs):
            count = number[run].to(torch.float32)
            for part, (_, decay) in zip(parts, one.decays, strict=True):
                adam(
                    [self.parameters[run, part]],
                    [gradient[run, part]],
                    [self.mean[run, part]],
                    [self.square[run, part]],
                    [],
                    [count - 1],  # it counts on by itself
                    fused=True,
                    amsgrad=False,
                    beta1=BETAS[0],
                    beta2=BETAS[1],
                    lr=one.lr,
                    weight_decay=decay,
                    eps=EPSILON,
                    maximize=False,
                )
