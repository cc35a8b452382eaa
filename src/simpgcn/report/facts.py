"""Everything a report says of a run, as a plain dictionary of figures and sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from simpgcn.report.accuracy import by_class, by_degree, confusion, share
from simpgcn.report.agreement import similarity_facts
from simpgcn.report.calibration import outcomes, reliability, uncalibrated
from simpgcn.report.run_record import SOURCES, RunRecord
from simpgcn.report.trust import NAMES, layer_scores, lean_distribution, leans_by_outcome
from simpgcn.training.calibration import calibration_error

MOST_EPOCHS = 400


def run_facts(run: RunRecord) -> dict[str, Any]:
    """The figures of a run's report. The test nodes are those of its split."""
    test = run.test
    labels, predicted = run.labels[test], run.predicted[test]
    hits = predicted == labels
    known = run.labels[run.labels >= 0]
    return {
        "run": run.name,
        "dataset": run.metrics["dataset"] if run.node_ids is None else Path(run.metrics["dataset"]).name,
        "model": run.metrics["model"],
        "nodes": run.num_nodes,
        "classes": run.class_names,
        "features": int(run.data.x.size(1)),
        "sets": _set_sizes(run),
        "test": share(hits),
        "val_accuracy": run.metrics["val_accuracy"],
        "commonest": share(labels == np.bincount(known).argmax()),
        "best_epoch": run.metrics["best_epoch"],
        "epochs": run.metrics["epochs"],
        "seconds": run.metrics["seconds"],
        "history": _history(run),
        "confusion": confusion(labels, predicted, run.class_names),
        "by_class": by_class(labels, predicted, run.class_names),
        "by_degree": by_degree(run.neighbours.counts[test], hits),
        "calibration": _calibration(run),
        "trust": _trust(run),
        "similarity": similarity_facts(run),
        "understood": run.data.get("understood"),
        "versions": run.metrics["versions"],
        "git": run.metrics["git"],
        "config": run.config.to_yaml(),
    }


def _set_sizes(run: RunRecord) -> dict[str, int]:
    data = run.data
    sizes = {"train": data.train_mask, "validation": data.val_mask, "test": data.test_mask}
    return {**{name: int(mask.sum()) for name, mask in sizes.items()}, "unlabelled": int((run.labels < 0).sum())}


def _history(run: RunRecord) -> dict[str, Any]:
    """At most some hundred epochs, the kept one among them."""
    step = -(-len(run.history) // MOST_EPOCHS)
    kept = [e for e in run.history if e.epoch % step == 0 or e.epoch == run.metrics["best_epoch"]]
    pretext = any(epoch.pretext_loss for epoch in run.history)
    fields = [f for f in kept[0]._fields if f != "pretext_loss" or pretext] if kept else []
    return {"every": step, "rows": [{f: _finite(getattr(epoch, f)) for f in fields} for epoch in kept]}


def _finite(value: float) -> float | None:
    return round(value, 5) if np.isfinite(value) else None


def _calibration(run: RunRecord) -> dict[str, Any]:
    test = run.test
    hits = run.predicted[test] == run.labels[test]
    sure = run.probabilities[test].max(axis=1)
    after = reliability(sure, hits)
    drawn: dict[str, Any] = {"after": after, "outcomes": outcomes(sure, hits)}
    known = run.metrics.get("calibration")
    if known is None:
        error = calibration_error(run.probabilities[test], run.labels[test]) if len(test) else None
        return {**drawn, "before": None, "error_before": None, "error_after": error, "measured_on": "test"}
    raw = uncalibrated(run.probabilities[test], known["temperature"])
    return {**known, **drawn, "before": reliability(raw.max(axis=1), hits)}


def _trust(run: RunRecord) -> dict[str, Any] | None:
    if run.leans is None:
        return None
    test = run.test
    hits = run.predicted[test] == run.labels[test]
    return {
        "mean": {NAMES[s]: round(float(m), 4) for s, m in zip(SOURCES, run.leans.mean(axis=0), strict=True)},
        "distribution": lean_distribution(run.leans),
        "by_outcome": leans_by_outcome(run.leans[test], hits),
        "layers": [] if run.scores is None else layer_scores(run.scores),
    }
