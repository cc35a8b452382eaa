"""Adam (Kingma and Ba, ICLR 2015) for the parameters of several runs at once, each with its own settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from simpgcn.nn.kernels import kernels_for

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class AdamSettings(NamedTuple):
    """A run's learning rate, its updates so far, and its L2: stretches of the parameters, and that of each."""

    lr: float
    updates: int
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
    >>> adam = Adam(parameters, torch.zeros(1, 2), torch.zeros(1, 2), [AdamSettings(0.1, 0, [(2, 0.0)])])
    >>> adam.step(torch.tensor([[1.0, -3.0]]), torch.tensor([1]))
    >>> parameters
    tensor([[0.9000, 1.1000]])
    """

    def __init__(self, parameters: Tensor, mean: Tensor, square: Tensor, settings: Sequence[AdamSettings]) -> None:
        self.parameters, self.mean, self.square = parameters, mean, square
        self.kernels = kernels_for(parameters)
        if self.kernels is not None:
            self.lr = parameters.new_tensor([one.lr for one in settings])
            rows = [torch.cat([parameters.new_full((size,), value) for size, value in one.decays]) for one in settings]
            self.decay = torch.stack(rows)
            if all(len(one.decays) == 1 for one in settings):
                self.decay = self.decay[:, :1].contiguous()
            return
        self.slices: list[tuple[Tensor, int, slice]] = []
        groups, state = [], {}
        for run, one in enumerate(settings):
            start = 0
            for size, decay in one.decays:
                part = slice(start, start + size)
                start += size
                view = parameters[run, part].detach().requires_grad_()
                self.slices.append((view, run, part))
                groups.append({"params": [view], "lr": one.lr, "weight_decay": decay})
                step = torch.tensor(float(one.updates), device=view.device)
                state[view] = {"step": step, "exp_avg": mean[run, part], "exp_avg_sq": square[run, part]}
        self.adam = torch.optim.Adam(groups, betas=BETAS, eps=EPSILON, fused=True)
        self.adam.state.update(state)

    def step(self, gradient: Tensor, number: Tensor) -> None:
        """One update; in each run it is the one of this ``number``, counted from 1."""
        if self.kernels is not None:
            self.kernels.adam(
                self.parameters, gradient, self.mean, self.square, self.lr, self.decay, number, BETAS, EPSILON
            )
            return
        for view, run, part in self.slices:
            view.grad = gradient[run, part]
        self.adam.step()
