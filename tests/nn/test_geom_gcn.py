from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from simpgcn.errors import SimPGCNError
from simpgcn.nn.baselines.geom_gcn import (
    GEOM_GCN_I,
    GEOM_GCN_P,
    GEOM_GCN_S,
    GeomConv,
    GeomGCN,
    GeomGCNSettings,
    build_geom_gcn,
    geom_gcn_inputs,
    relation_blocks,
)
from simpgcn.nn.baselines.structural_neighborhood import StructuralNeighborhood, structural_neighborhood
from simpgcn.nn.sparse_matrix import SparseMatrix


@pytest.fixture
def graph():
    """Features, and a directed neighbourhood in which relation 5 is empty and nodes 10 and 11 hear nobody."""
    torch.manual_seed(0)
    n = 12
    pairs = torch.randperm(n * 10)[:40]
    index = torch.stack([pairs // 10, pairs % 10])
    index = index[:, index[0] != index[1]]
    relation = torch.randint(8, (index.size(1),))
    relation[relation == 5] = 6
    return torch.rand(n, 7), StructuralNeighborhood(index, relation)


def literal_layer(x, neighborhood, weight, merge):
    """The equations of the layer, one edge at a time."""
    n = x.size(0)
    edges = [(int(u), int(v), int(r)) for u, v, r in zip(*neighborhood.edge_index, neighborhood.relation, strict=True)]
    edges += [(v, v, 8) for v in range(n)]
    degree = [sum(v == node for _, v, _ in edges) for node in range(n)]
    virtual = torch.zeros(9, n, weight.size(2))
    for u, v, r in edges:
        virtual[r, v] += x[u] @ weight[:, r] / (degree[u] * degree[v]) ** 0.5
    return torch.cat(list(virtual), dim=1) if merge == "cat" else sum(virtual) / 9


@pytest.mark.parametrize("merge", ["cat", "mean"])
@pytest.mark.parametrize("sparse", [False, True])
def test_layer_is_the_equation(graph, merge, sparse):
    x, neighborhood = graph
    conv = GeomConv(7, 3, merge)
    out = conv(SparseMatrix(x) if sparse else x, relation_blocks(neighborhood, 12))
    torch.testing.assert_close(out, literal_layer(x, neighborhood, conv.weight, merge))
    assert str(conv) == f"GeomConv(7, 3, merge={merge})"


def test_model_is_two_layers_with_a_relu(graph):
    x, neighborhood = graph
    model = GeomGCN(7, 4, 3).eval()
    hidden = torch.relu(literal_layer(x, neighborhood, model.conv1.weight, "cat"))
    expected = literal_layer(hidden, neighborhood, model.conv2.weight, "mean")
    torch.testing.assert_close(model(x, relation_blocks(neighborhood, 12)), expected)


def test_gradients_are_those_of_the_equation(graph):
    x, neighborhood = graph
    model = GeomGCN(7, 4, 3).eval()
    parameters = list(model.parameters())
    found = torch.autograd.grad(model(x, relation_blocks(neighborhood, 12)).square().sum(), parameters)
    hidden = torch.relu(literal_layer(x, neighborhood, model.conv1.weight, "cat"))
    literal = literal_layer(hidden, neighborhood, model.conv2.weight, "mean")
    for a, b in zip(found, torch.autograd.grad(literal.square().sum(), parameters), strict=True):
        torch.testing.assert_close(a, b)
    used = [r for r in range(9) if r != 5]  # nobody is in relation 5
    assert (found[0].abs().amax(dim=(0, 2))[used] > 0).all()
    assert (found[0][:, 5] == 0).all()


def test_initial_values_are_each_relations_own():
    weight = GeomConv(400, 100).weight
    bound = (6 / 500) ** 0.5
    assert weight.abs().max() <= bound
    torch.testing.assert_close(weight.std(dim=(0, 2)), torch.full((9,), bound / 3**0.5), rtol=0.02, atol=0)


def test_dropout_is_on_the_input_too_and_only_in_training(graph):
    x, neighborhood = graph
    blocks = relation_blocks(neighborhood, 12)
    model = GeomGCN(7, 4, 3)
    seen = []
    model.conv1.register_forward_pre_hook(lambda module, arguments: seen.append(arguments[0]))
    for features in (x, SparseMatrix(x)):
        model.train()(features, blocks)
        dropped = seen[-1]
        dropped = dropped.matrix.to_dense() if isinstance(dropped, SparseMatrix) else dropped
        kept = dropped != 0
        assert 0.2 < kept.float().mean() < 0.8
        torch.testing.assert_close(dropped[kept], 2 * x[kept])
        assert not torch.equal(model(features, blocks), model(features, blocks))
        assert torch.equal(model.eval()(features, blocks), model(features, blocks))


@pytest.mark.parametrize(
    ("method", "embedding"), [(GEOM_GCN_I, "isomap"), (GEOM_GCN_P, "poincare"), (GEOM_GCN_S, "struc2vec")]
)
def test_each_method_computes_its_own_neighbourhood(small, method, embedding):
    settings = method.settings(hidden_channels=4)
    assert settings.embedding == embedding
    small.x = small.x.to_dense()
    x, blocks = method.inputs(small, settings)
    expected = structural_neighborhood(small.edge_index, small.num_nodes, embedding)
    assert torch.equal(blocks.matrix.to_dense(), relation_blocks(expected, small.num_nodes).matrix.to_dense())
    model = method.build(small.num_features, 3, settings)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    train = small.train_mask
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x, blocks)[train], small.y[train])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_a_graph_without_a_name_has_no_published_neighbourhood():
    data = Data(x=torch.rand(5, 2), edge_index=torch.tensor([[0, 1], [1, 2]]))
    with pytest.raises(SimPGCNError, match="no name"):
        geom_gcn_inputs(data, GeomGCNSettings(neighborhood="published"))


def test_published_neighbourhood_of_a_named_graph(mirror):
    data = Data(x=torch.rand(5, 2), edge_index=torch.tensor([[0, 1], [1, 2]]), name="texas")
    settings = GeomGCNSettings(neighborhood="published")
    with pytest.raises(SimPGCNError, match="more nodes than this graph of 5"):
        geom_gcn_inputs(data, settings)
    data.x = torch.rand(183, 2)
    x, blocks = geom_gcn_inputs(data, settings)
    assert blocks.shape == (9 * 183, 9 * 183)
    assert build_geom_gcn(2, 5, settings)(x, blocks).shape == (183, 5)
