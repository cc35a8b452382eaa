"""The doctor's note: before any training, whether SimP-GCN should help on a graph, and what to start with."""

from simpgcn.diagnosis.note import Diagnosis, diagnose

__all__ = ["Diagnosis", "diagnose"]
