"""A user's own tables: nodes, edges and labels from CSV, Parquet, pandas or pyarrow to a graph."""

from simpgcn.data.tables.edges import Edges, read_edges
from simpgcn.data.tables.load_tables import load_tables
from simpgcn.data.tables.preparation import feature_names, prepare_features
from simpgcn.data.tables.read_table import is_table_path, read_table

__all__ = ["Edges", "feature_names", "is_table_path", "load_tables", "prepare_features", "read_edges", "read_table"]
