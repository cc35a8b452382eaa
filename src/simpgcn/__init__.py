"""Node-similarity-preserving graph convolutional networks."""

from simpgcn.data import from_networkx, from_scipy, load_dataset, load_new_nodes, load_ogb_folder, load_tables
from simpgcn.diagnosis import Diagnosis, diagnose
from simpgcn.errors import SimPGCNError
from simpgcn.estimator import SimPGCNClassifier
from simpgcn.version import VERSION as __version__

__all__ = [
    "Diagnosis",
    "SimPGCNClassifier",
    "SimPGCNError",
    "__version__",
    "diagnose",
    "from_networkx",
    "from_scipy",
    "load_dataset",
    "load_new_nodes",
    "load_ogb_folder",
    "load_tables",
]
