"""Probabilities that mean what they say: a temperature fitted on the validation set, and the error it leaves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax
from torch_geometric.data import Data

from simpgcn.training.prediction import Prediction

# Beyond these, probabilities are all but certain or all but equal.
COLDEST, HOTTEST = 0.05, 20.0
# Equal parts of 0 to 1 that the calibration error sorts confidences into.
BINS = 15


class Calibration(NamedTuple):
    """A temperature, and the calibration error without and with it, ``measured_on`` nodes of ``test`` where there are
    some with labels, else on those of ``validation`` that it was fitted on.
    """

    temperature: float
    error_before: float
    error_after: float
    measured_on: str


def fit_temperature(logits: np.ndarray, y: np.ndarray) -> float:
    r"""The temperature T at which the probabilities :math:`\mathrm{softmax}(\mathbf{z} / T)` suit the labels best.

    It minimises the negative log-likelihood of the labels together with that of one more node, which looks like all
    of them on average and whose label is spread over the classes evenly. Without that node a validation set without a
    mistake would ask for certainty. The sum is convex in 1 / T.

    Args:
        logits: ``[n, classes]``.
        y: Class numbers ``[n]``.

    >>> logits = np.log([[0.99, 0.01]] * 100)
    >>> round(fit_temperature(logits, np.arange(100) >= 80), 1)  # right in 80 of 100, but claims 99
    3.4
    """
    z = logits.astype(np.float64)
    z -= z.max(axis=1, keepdims=True)
    own = z[np.arange(len(z)), y.astype(np.int64)]
    wanted = (own.sum() + z.mean()) / (len(z) + 1)

    def slope(inverse: float) -> float:
        return float((softmax(inverse * z, axis=1) * z).sum(axis=1).mean() - wanted)

    if not np.isfinite(z).all() or not z.any():
        return 1.0
    if slope(1 / HOTTEST) >= 0:
        return HOTTEST
    if slope(1 / COLDEST) <= 0:
        return COLDEST
    return float(1 / brentq(slope, 1 / HOTTEST, 1 / COLDEST, xtol=1e-9, rtol=1e-6))


def calibration_error(probabilities: np.ndarray, y: np.ndarray) -> float:
    r"""The expected calibration error: how far confidence and accuracy lie apart.

    .. math:: \sum_b \frac{|B_b|}{n} \, |\mathrm{accuracy}(B_b) - \mathrm{confidence}(B_b)|

    over 15 bins of equal width, :math:`(0, 1/15]` to :math:`(14/15, 1]`, into which nodes are sorted by the
    probability of the class they are predicted.

    >>> calibration_error(np.array([[0.9, 0.1], [0.9, 0.1]]), np.array([0, 1]))
    0.4
    """
    confidence = probabilities.max(axis=1).astype(np.float64)
    hit = probabilities.argmax(axis=1) == y
    place = np.clip(np.ceil(confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
    gaps = np.bincount(place, weights=hit - confidence, minlength=BINS)
    return float(np.abs(gaps).sum() / len(y))


def calibrate(prediction: Prediction, data: Data) -> tuple[Prediction, Calibration]:
    """The prediction at the temperature that ``data.val_mask`` asks for, and what that is worth on the test set.

    >>> from torch import tensor
    >>> data = Data(y=tensor([0, 0, 1]), val_mask=tensor([True, True, True]))
    >>> calibrate(Prediction(np.log([[0.9, 0.1]] * 3), None), data)[1].measured_on
    'validation'
    """
    y, val = data.y.cpu().numpy(), data.val_mask.cpu().numpy()
    test = data.get("test_mask")
    measured = val if test is None else test.cpu().numpy() & (y >= 0)
    measured_on = "test" if test is not None and measured.any() else "validation"
    measured = measured if measured.any() else val
    after = prediction._replace(temperature=fit_temperature(prediction.logits[val], y[val]))
    errors = [
        calibration_error(found._replace(logits=found.logits[measured]).probabilities, y[measured])
        for found in (prediction, after)
    ]
    return after, Calibration(after.temperature, errors[0], errors[1], measured_on)
