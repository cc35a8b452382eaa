"""What is minimised, the classification loss and the pretext loss together, and what evaluation sees of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from simpgcn.nn import SimilarityHead, SimPGCN, draw_pairs
from simpgcn.nn.label_loss import label_loss, label_scores
from simpgcn.nn.registry import SimPGCNSettings
from simpgcn.similarity import Pairs


class Labels(NamedTuple):
    """The labelled nodes that training may see: ``nodes`` and ``y`` ``[l]``, and what each counts for.

    ``train`` is 1 / size for a node of the training set and 0 for the others, ``val`` the same for the validation
    set; a node of neither only fills a place.
    """

    nodes: Tensor
    y: Tensor
    train: Tensor
    val: Tensor


class Seen(NamedTuple):
    """A model's arguments, and the labels of the rows that it then returns."""

    inputs: tuple[Any, ...]
    labels: Labels


class Losses(NamedTuple):
    """The objective and its two parts; ``pretext`` is 0 where there is no pretext task."""

    total: Tensor
    classification: Tensor
    pretext: Tensor


class Evaluation(NamedTuple):
    """What the model does without dropout: training nodes it gets right, validation loss, validation nodes right."""

    train_hits: Tensor
    val_loss: Tensor
    val_hits: Tensor


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
        self.pretext_weight: Tensor
        if isinstance(settings, SimPGCNSettings) and settings.pretext_weight:
            assert isinstance(model, SimPGCN)
            # A tensor, for runs side by side to have one each.
            self.register_buffer("pretext_weight", torch.tensor(float(settings.pretext_weight)), persistent=False)
            self.pretext_samples = settings.pretext_samples
            self.pretext = SimilarityHead(model.convs[0].out_channels, settings.pretext_task)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """What is learned, grouped where the model wants a weight decay of its own for a part of it."""
        own = getattr(self.model, "parameter_groups", None)
        groups = own() if own is not None else [{"params": list(self.model.parameters())}]
        if self.pretext is not None:
            groups.append({"params": list(self.pretext.parameters())})
        return groups

    def forward(
        self, inputs: tuple[Any, ...], labels: Labels, pairs: Pairs | None, training: Seen | None = None
    ) -> tuple[Losses, Evaluation]:
        """The losses of a training step, and the evaluation of the parameters it starts from.

        What is trained on is ``training``, or without it the same as what is evaluated.
        """
        model = self.model
        trained = labels
        if isinstance(model, SimPGCN):
            first = model.first_layer(*inputs)  # for both: the dropout comes after it
            with torch.no_grad():
                evaluated = model.states_after(*first, training=False)[-1].hidden
            states = model.states_after(*first, training=True)
            logits, hidden = states[-1].hidden, states[0].hidden
        else:
            with torch.no_grad():
                evaluated = model.eval()(*inputs)
            seen, trained = training or Seen(inputs, labels)
            logits = model.train()(*seen)
        evaluation = Evaluation(*label_scores(evaluated, *labels))
        classification = label_loss(logits, trained.nodes, trained.y, trained.train)
        if self.pretext is None:
            return Losses(classification, classification, torch.zeros_like(classification)), evaluation
        assert pairs is not None
        pretext = self.pretext(hidden, draw_pairs(pairs, self.pretext_samples))
        total = classification + self.pretext_weight * pretext
        return Losses(total, classification, pretext), evaluation
