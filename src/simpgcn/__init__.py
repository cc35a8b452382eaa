"""Node-similarity-preserving graph convolutional networks."""

from simpgcn.data import load_dataset, load_tables
from simpgcn.diagnosis import Diagnosis, diagnose
from simpgcn.errors import SimPGCNError
from simpgcn.estimator import SimPGCNClassifier
from simpgcn.version import VERSION as __version__

__all__ = ["Diagnosis", "SimPGCNClassifier", "SimPGCNError", "__version__", "diagnose", "load_dataset", "load_tables"]
