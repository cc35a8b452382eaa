"""Graphs: the benchmarks by name, splits, made-up graphs, and what a usable graph is."""

from simpgcn.data.catalog import CATALOG, load_dataset
from simpgcn.data.checks import check_graph, check_labels
from simpgcn.data.features import binarize, row_normalize
from simpgcn.data.from_objects import from_networkx, from_scipy
from simpgcn.data.graph_file import read_graph, write_graph
from simpgcn.data.home import data_home
from simpgcn.data.ogb_folder import load_ogb_folder
from simpgcn.data.splits import apply_split, per_class_split, random_split
from simpgcn.data.statistics import Statistics, dataset_statistics
from simpgcn.data.synthetic import synthetic_graph
from simpgcn.data.tables import load_tables

__all__ = [
    "CATALOG",
    "Statistics",
    "apply_split",
    "binarize",
    "check_graph",
    "check_labels",
    "data_home",
    "dataset_statistics",
    "from_networkx",
    "from_scipy",
    "load_dataset",
    "load_ogb_folder",
    "load_tables",
    "per_class_split",
    "random_split",
    "read_graph",
    "row_normalize",
    "synthetic_graph",
    "write_graph",
]
