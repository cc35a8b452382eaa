"""Every model by its name."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch_geometric.data import Data

from simpgcn.data.features import compact, is_sparse
from simpgcn.errors import unknown_name
from simpgcn.nn.baselines import acm_gcn, gat, gcn, gcnii
from simpgcn.nn.baselines.gcn import BOTH_GCN, KNN_GCN
from simpgcn.nn.baselines.geom_gcn import GEOM_GCN_I, GEOM_GCN_P, GEOM_GCN_S
from simpgcn.nn.baselines.gprgnn import APPNP, GPRGNN
from simpgcn.nn.baselines.jknet import JKNET
from simpgcn.nn.baselines.label_propagation import LP
from simpgcn.nn.baselines.mlp import MLP
from simpgcn.nn.baselines.sage import SAGE
from simpgcn.nn.defences.jaccard import GCN_JACCARD
from simpgcn.nn.defences.pro_gnn import PRO_GNN
from simpgcn.nn.defences.svd import GCN_SVD
from simpgcn.nn.method import Method
from simpgcn.nn.pretext import Task
from simpgcn.nn.propagation import feature_propagation, structure_propagation
from simpgcn.nn.simp_conv import Gate
from simpgcn.nn.simp_gcn import Form, SimPGCN
from simpgcn.nn.sparse_matrix import SparseMatrix


@dataclass(frozen=True)
class SimPGCNSettings:
    """The settings of ``simpgcn``, in the paper's symbols: γ ``self_loop_weight``, b_s ``structure_bias``,
    λ ``pretext_weight``, m ``pretext_neighbors``; ``pretext_samples`` pairs are drawn afresh each epoch.
    """

    hidden_channels: int = 128
    num_layers: int = 2
    dropout: float = 0.5
    self_loop_weight: float = 0.1
    structure_bias: float = 0.0
    bias: bool = True
    form: Form = "paper"
    gate: Gate = "scores"
    pretext_weight: float = 1.0
    pretext_neighbors: int = 5
    pretext_samples: int = 10_000
    pretext_task: Task = "regression"


def _build_simpgcn(in_channels: int, out_channels: int, settings: SimPGCNSettings) -> SimPGCN:
    return SimPGCN(
        in_channels,
        settings.hidden_channels,
        out_channels,
        num_layers=settings.num_layers,
        dropout=settings.dropout,
        self_loop_weight=settings.self_loop_weight,
        structure_bias=settings.structure_bias,
        bias=settings.bias,
        form=settings.form,
        gate=settings.gate,
    )


def _simpgcn_inputs(data: Data, settings: SimPGCNSettings) -> tuple[Tensor | SparseMatrix, ...]:
    x = compact(data.x)
    n = data.x.size(0)
    return (
        SparseMatrix(x) if is_sparse(x) else x,
        structure_propagation(data.edge_index, n, data.edge_weight),
        feature_propagation(data.feature_edge_index, n, data.feature_edge_weight),
    )


METHODS: dict[str, Method] = {
    "simpgcn": Method(
        SimPGCNSettings, _build_simpgcn, _simpgcn_inputs, feature_graph=True, replicable=True, new_nodes=True
    ),
    "lp": LP,
    "mlp": MLP,
    "gcn": gcn.METHOD,
    "knn-gcn": KNN_GCN,
    "a+knn-gcn": BOTH_GCN,
    "gat": gat.METHOD,
    "jknet": JKNET,
    "gcnii": gcnii.METHOD,
    "gcnii*": gcnii.STAR,
    "geom-gcn-i": GEOM_GCN_I,
    "geom-gcn-p": GEOM_GCN_P,
    "geom-gcn-s": GEOM_GCN_S,
    "sage": SAGE,
    "appnp": APPNP,
    "gprgnn": GPRGNN,
    "acm-gcn": acm_gcn.METHOD,
    "gcn-jaccard": GCN_JACCARD,
    "gcn-svd": GCN_SVD,
    "pro-gnn": PRO_GNN,
}


# The twelve of the paper's Tables 3 and 4, in their order.
PAPER_METHODS = (
    "lp",
    "gcn",
    "knn-gcn",
    "a+knn-gcn",
    "gat",
    "jknet",
    "geom-gcn-i",
    "geom-gcn-p",
    "geom-gcn-s",
    "gcnii",
    "gcnii*",
    "simpgcn",
)


# Those of the paper's Figure 2.
ROBUSTNESS_METHODS = ("gcn", "gat", "gcn-jaccard", "pro-gnn", "simpgcn")


def find_method(name: str) -> Method:
    """The model called ``name``.

    >>> find_method("gcn").settings.__name__
    'GCNSettings'
    """
    if name not in METHODS:
        raise unknown_name("model", name, METHODS)
    return METHODS[name]
