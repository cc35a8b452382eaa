"""The temperature against a search over a grid, the calibration error against its definition written out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from simpgcn.training import Prediction
from simpgcn.training.calibration import COLDEST, HOTTEST, calibrate, calibration_error, fit_temperature


def made_up(n: int, classes: int, sharpness: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Logits, and labels drawn from the probabilities that these have at temperature ``sharpness``."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(size=(n, classes)) * 2
    p = np.exp(logits / sharpness)
    p /= p.sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < generator.random((n, 1))).sum(axis=1).clip(max=classes - 1)
    return logits, y


def loss(logits: np.ndarray, y: np.ndarray, temperature: float) -> float:
    """The literal sum: every node's loss, and the average node's with all labels a little."""
    log_p = logits / temperature - np.logaddexp.reduce(logits / temperature, axis=1, keepdims=True)
    return float(-log_p[np.arange(len(y)), y].sum() - log_p.mean())


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("n", [10, 500])
def test_temperature_is_the_best_of_a_grid(n, sharpness):
    logits, y = made_up(n, 4, sharpness)
    found = fit_temperature(logits, y)
    grid = np.geomspace(COLDEST, HOTTEST, 600)
    losses = [loss(logits, y, t) for t in grid]
    assert loss(logits, y, found) <= min(losses) + 1e-9 * n
    assert grid[max(0, np.argmin(losses) - 1)] <= found <= grid[min(599, np.argmin(losses) + 1)]


def test_temperature_is_found_again():
    logits, y = made_up(50_000, 5, 2.5)
    assert abs(fit_temperature(logits, y) - 2.5) < 0.05  # its standard error is about 0.01


def test_no_mistake_is_no_certainty():
    logits = np.eye(3)[np.arange(20) % 3] * 5
    temperature = fit_temperature(logits, np.arange(20) % 3)
    confidence = Prediction(logits, None, temperature).probabilities.max(axis=1)
    assert 0.9 < confidence.mean() < 0.99


def test_hopeless_and_odd_logits():
    logits, y = made_up(500, 3, 1.0)
    assert fit_temperature(-logits, y) == HOTTEST  # the surer, the wronger
    assert fit_temperature(np.zeros((5, 3)), y[:5]) == 1.0
    assert fit_temperature(np.full((5, 3), np.nan), y[:5]) == 1.0
    assert np.isfinite(fit_temperature((logits * 1e4).astype(np.float32), y))


def literal_error(probabilities: np.ndarray, y: np.ndarray) -> float:
    error = 0.0
    for b in range(15):
        inside = [i for i, p in enumerate(probabilities) if b / 15 < max(p) <= (b + 1) / 15]
        if inside:
            accuracy = np.mean([probabilities[i].argmax() == y[i] for i in inside])
            error += len(inside) / len(y) * abs(accuracy - np.mean([probabilities[i].max() for i in inside]))
    return error


@pytest.mark.parametrize("classes", [2, 7])
def test_calibration_error_is_its_definition(classes):
    logits, y = made_up(400, classes, 3.0)
    probabilities = Prediction(logits, None).probabilities
    assert calibration_error(probabilities, y) == pytest.approx(literal_error(probabilities, y), abs=1e-12)
    assert calibration_error(np.array([[1.0, 0.0]]), np.array([0])) == 0


def split(y: np.ndarray) -> Data:
    val = torch.arange(len(y)) % 2 == 0
    return Data(y=torch.from_numpy(y), val_mask=val, test_mask=~val, num_nodes=len(y))


def test_calibrating_fits_on_validation_and_measures_on_test():
    logits, y = made_up(4000, 4, 3.0)
    data = split(y)
    after, found = calibrate(Prediction(logits, None), data)
    val, test = data.val_mask.numpy(), data.test_mask.numpy()
    assert after.temperature == found.temperature == fit_temperature(logits[val], y[val])
    assert found.error_before == calibration_error(Prediction(logits, None).probabilities[test], y[test])
    assert found.error_after == calibration_error(after.probabilities[test], y[test])
    assert found.measured_on == "test"
    assert found.error_after < 0.05 < 0.2 < found.error_before
    assert (after.predicted == logits.argmax(axis=1)).all()
    data.y = torch.where(data.test_mask, data.y[torch.randperm(4000)], data.y)
    assert calibrate(Prediction(logits, None), data)[1].temperature == found.temperature  # no test label was read


@pytest.mark.parametrize("labels", ["no test set", "a test set without labels"])
def test_without_test_labels_it_is_measured_on_validation(labels):
    logits, y = made_up(400, 4, 3.0)
    data = split(y)
    if labels == "no test set":
        del data.test_mask
    else:
        data.y = torch.where(data.test_mask, -1, data.y)
    after, found = calibrate(Prediction(logits, None), data)
    assert found.measured_on == "validation"
    assert found.error_after == calibration_error(after.probabilities[::2], y[::2])


def test_probabilities_of_extreme_logits_are_finite():
    logits = np.array([[300.0, -300.0, 0.0]], dtype=np.float32)
    probabilities = Prediction(logits, None, COLDEST).probabilities
    assert probabilities.tolist() == [[1.0, 0.0, 0.0]]
    assert probabilities.dtype == np.float32
