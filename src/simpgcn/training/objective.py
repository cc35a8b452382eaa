"""What is minimised: the classification loss and the pretext loss together."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor, nn
from torch.nn import functional as F

from simpgcn.nn import SimilarityHead, SimPGCN, draw_pairs
from simpgcn.nn.registry import SimPGCNSettings
from simpgcn.similarity import Pairs


class Losses(NamedTuple):
    """The objective and its two parts; ``pretext`` is None where there is no pretext task."""

    total: Tensor
    classification: Tensor
    pretext: Tensor | None


class Objective(nn.Module):
    r"""The joint objective :math:`\mathcal{L} = \mathcal{L}_{class} + \lambda \mathcal{L}_{self}`.

    The pretext task reads the first layer's hidden states after dropout, on pairs drawn afresh at every
    call. With λ = 0, or for a model without pretext task, there is no head and nothing to compute.

    Args:
        model: Logits for the nodes; a :class:`SimPGCN` for a pretext task.
        settings: The model's settings.
    """

    def __init__(self, model: nn.Module, settings: object) -> None:
        super().__init__()
        self.model = model
        self.pretext: SimilarityHead | None = None
        if isinstance(settings, SimPGCNSettings) and settings.pretext_weight:
            assert isinstance(model, SimPGCN)
            self.pretext_weight = settings.pretext_weight
            self.pretext_samples = settings.pretext_samples
            self.pretext = SimilarityHead(model.convs[0].out_channels, settings.pretext_task)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """What is learned, grouped where the model wants a weight decay of its own for a part of it."""
        own = getattr(self.model, "parameter_groups", None)
        groups = own() if own is not None else [{"params": list(self.model.parameters())}]
        if self.pretext is not None:
            groups.append({"params": list(self.pretext.parameters())})
        return [group for group in groups if group["params"]]

    def forward(self, inputs: tuple[object, ...], y: Tensor, nodes: Tensor, pairs: Pairs | None) -> Losses:
        """The losses for the labels ``y`` of the given ``nodes``."""
        if self.pretext is None:
            classification = F.cross_entropy(self.model(*inputs)[nodes], y)
            return Losses(classification, classification, None)
        assert isinstance(self.model, SimPGCN)
        assert pairs is not None
        states = self.model.states(*inputs)  # type: ignore[arg-type]
        classification = F.cross_entropy(states[-1].hidden[nodes], y)
        pretext = self.pretext(states[0].hidden, draw_pairs(pairs, self.pretext_samples))
        return Losses(classification + self.pretext_weight * pretext, classification, pretext)
