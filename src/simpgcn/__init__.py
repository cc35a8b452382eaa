"""Node-similarity-preserving graph convolutional networks."""

from simpgcn.data import from_networkx, from_scipy, load_dataset, load_ogb_folder, load_tables
from simpgcn.errors import SimPGCNError
from simpgcn.estimator import SimPGCNClassifier
from simpgcn.version import VERSION as __version__

__all__ = [
    "SimPGCNClassifier",
    "SimPGCNError",
    "__version__",
    "from_networkx",
    "from_scipy",
    "load_dataset",
    "load_ogb_folder",
    "load_tables",
]
