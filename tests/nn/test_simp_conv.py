"""The layer against a dense, literal transcription of the paper's equations."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from simpgcn.errors import SimPGCNError
from simpgcn.nn import SimPConv, SimPGCN, SparseMatrix, feature_propagation, structure_propagation


def dense_adjacency(index, weight, n, dtype=torch.float64):
    a = torch.zeros(n, n, dtype=dtype)
    for (i, j), w in zip(index.T.tolist(), weight.tolist(), strict=True):
        a[i, j] += w
    return a


def literal_layer(conv, h, a, a_f, *, published=False):
    """Section 4.1, line by line, with dense matrices."""
    n = h.size(0)
    a_tilde = a + torch.eye(n, dtype=a.dtype)
    d_tilde = torch.diag(a_tilde.sum(1))
    d_f = a_f.sum(1)
    inverse_root = torch.diag(torch.where(d_f > 0, d_f.clamp(min=1e-300) ** -0.5, 0.0))
    first = torch.linalg.inv(d_tilde.sqrt()) @ a_tilde @ torch.linalg.inv(d_tilde.sqrt())
    second = inverse_root @ a_f @ inverse_root
    if conv.gate == "softmax":
        scores = torch.exp(h @ conv.gate_score_weight + conv.gate_score_bias)
        w = (1 + conv.self_loop_weight) * scores / scores.sum(1, keepdim=True)
        bias = 0 if conv.bias is None else conv.bias
        branches = [first @ h @ conv.weight + bias, second @ h @ conv.weight + bias, h @ conv.weight + bias]
        if published:
            branches = [torch.nn.functional.relu(branch) for branch in branches]
        return sum(torch.diag(w[:, i]) @ branches[i] for i in range(3 if conv.self_loop_weight else 2))
    s = 1 / (1 + torch.exp(-(h @ conv.score_weight + conv.score_bias)))
    z = h @ conv.weight
    bias = 0 if conv.bias is None else conv.bias
    if conv.self_loop_weight:
        k = h @ conv.self_loop_score_weight + conv.self_loop_score_bias
    else:
        k = torch.zeros(n, 1, dtype=h.dtype)
    if published:
        relu = torch.nn.functional.relu
        return (
            s * relu(first @ z + bias) + (1 - s) * relu(second @ z + bias) + conv.self_loop_weight * k * relu(z + bias)
        )
    p = s * first + (1 - s) * second
    p_tilde = p + conv.self_loop_weight * torch.diag(k.squeeze(1))
    return p_tilde @ z + (1 + conv.self_loop_weight * k) * bias


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 25),
    edges=st.integers(0, 80),
    d_in=st.integers(1, 6),
    d_out=st.integers(1, 6),
    gamma=st.sampled_from([0.0, 0.01, 0.1, 1.0]),
    structure_bias=st.sampled_from([0.0, 2.0]),
    bias=st.booleans(),
    published=st.booleans(),
    gate=st.sampled_from(["scores", "softmax"]),
    weighted=st.booleans(),
    sparse=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_equals_the_dense_transcription(
    n, edges, d_in, d_out, gamma, structure_bias, bias, published, gate, weighted, sparse, seed
):
    torch.manual_seed(seed)
    index, feature_index = torch.randint(n, (2, edges)), torch.randint(n, (2, edges))
    weight = torch.rand(edges) + 0.1 if weighted else None
    feature_weight = torch.rand(edges) + 0.1
    options = {
        "self_loop_weight": gamma,
        "structure_bias": structure_bias,
        "bias": bias,
        "activate_branches": published,
        "gate": gate,
    }
    conv = SimPConv(d_in, d_out, **options)
    if bias:
        torch.nn.init.normal_(conv.bias)
    if gate == "softmax":
        torch.nn.init.normal_(conv.gate_score_weight)
        torch.nn.init.normal_(conv.gate_score_bias)
    h = torch.randn(n, d_in)
    out = conv(SparseMatrix(h) if sparse else h, index, feature_index, weight, feature_weight)
    ones = torch.ones(edges) if weight is None else weight
    exact = SimPConv(d_in, d_out, **options).double()
    exact.load_state_dict(conv.state_dict())
    expected = literal_layer(
        exact,
        h.double(),
        dense_adjacency(index, ones, n),
        dense_adjacency(feature_index, feature_weight, n),
        published=published,
    )
    torch.testing.assert_close(out.double(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("gate", "gamma"), [("scores", 0.0), ("scores", 0.7), ("softmax", 0.1), ("softmax", 0.0)])
@pytest.mark.parametrize("form", ["paper", "published"])
def test_gradients_numerically(gate, gamma, form):
    torch.manual_seed(0)
    n = 7
    model = SimPGCN(4, 5, 3, num_layers=3, self_loop_weight=gamma, form=form, dropout=0.0, gate=gate).double()
    for conv in model.convs:
        torch.nn.init.normal_(conv.bias)
        if gate == "softmax":
            torch.nn.init.normal_(conv.gate_score_weight)
    index = torch.randint(n, (2, 15))
    structure = structure_propagation(index, n, torch.rand(15, dtype=torch.float64) + 0.1)
    features = feature_propagation(index.flip(0), n, torch.rand(15, dtype=torch.float64) + 0.1)
    x = torch.randn(n, 4, dtype=torch.float64, requires_grad=True)
    names, values = zip(*model.named_parameters(), strict=True)

    def run(x, *parameters):
        return torch.func.functional_call(model, dict(zip(names, parameters, strict=True)), (x, structure, features))

    assert torch.autograd.gradcheck(run, (x, *(v.detach().requires_grad_() for v in values)))


def test_a_node_aggregates_from_the_nodes_it_points_to():
    conv = SimPConv(1, 1, self_loop_weight=0.0, structure_bias=50.0, bias=False)
    torch.nn.init.ones_(conv.weight)
    torch.nn.init.zeros_(conv.score_weight)
    none = torch.empty(2, 0, dtype=torch.long)
    out = conv(torch.tensor([[0.0], [8.0]]), torch.tensor([[0], [1]]), none)
    assert out[0].item() == pytest.approx(8 / 2**0.5)  # 0 -> 1: node 0 hears node 1
    assert out[1].item() == pytest.approx(8)  # node 1 points nowhere


def test_existing_loops_get_weight_two_and_feature_graph_gets_none():
    loop = torch.tensor([[0, 0], [0, 1]])
    structure = structure_propagation(loop, 2).matrix.to_dense()
    assert structure[0, 0].item() == pytest.approx(2 / 3)
    features = feature_propagation(torch.tensor([[0, 1], [1, 0]]), 2, torch.tensor([0.5, 0.5])).matrix.to_dense()
    torch.testing.assert_close(features, torch.tensor([[0.0, 1.0], [1.0, 0.0]]))


def test_no_nodes_by_nodes_tensor_is_made():
    """One layer on 200,000 nodes: an n × n matrix would need 160 GB."""
    n = 200_000
    index = torch.randint(n, (2, 400_000))
    assert SimPConv(4, 2)(torch.rand(n, 4), index, index.flip(0)).shape == (n, 2)


def test_gamma_zero_has_no_self_loop_parameters():
    conv = SimPConv(3, 2, self_loop_weight=0.0)
    assert sorted(name for name, _ in conv.named_parameters()) == ["bias", "score_bias", "score_weight", "weight"]
    state = conv.state(torch.rand(4, 3), *[structure_propagation(torch.empty(2, 0, dtype=torch.long), 4)] * 2)
    assert state.self_loops is None


@pytest.mark.parametrize(("gamma", "structure_bias"), [(1.0, 0.0), (0.01, 2.0), (0.1, -3.0), (0.0, 2.0)])
def test_the_softmax_gate_starts_as_the_scores_would_with_self_loops_of_1(gamma, structure_bias):
    options = {"self_loop_weight": gamma, "structure_bias": structure_bias}
    scores, softmax = SimPConv(3, 2, **options), SimPConv(3, 2, gate="softmax", **options)
    assert sorted(name for name, _ in softmax.named_parameters()) == [
        "bias",
        "gate_score_bias",
        "gate_score_weight",
        "weight",
    ]
    none = structure_propagation(torch.empty(2, 0, dtype=torch.long), 1)
    nothing = torch.zeros(1, 3)  # of which W_g, w_s and w_K make nothing
    trust = softmax.trust(softmax.state(nothing, none, none))
    if gamma:
        torch.nn.init.ones_(scores.self_loop_score_bias)  # K = 1
    torch.testing.assert_close(trust, scores.trust(scores.state(nothing, none, none)))


def test_the_softmax_gate_shares_out_what_the_scores_could_at_most():
    torch.manual_seed(0)
    conv = SimPConv(3, 2, gate="softmax", self_loop_weight=0.5, structure_bias=2.0)
    torch.nn.init.normal_(conv.gate_score_weight)
    state = conv.state(torch.randn(4, 3), *[structure_propagation(torch.empty(2, 0, dtype=torch.long), 4)] * 2)
    trust = conv.trust(state)
    torch.testing.assert_close(trust.sum(1), torch.full((4,), 1.5))
    assert torch.equal(trust, torch.stack([state.structure_score, state.feature_score, state.self_loops], dim=1))
    assert str(conv) == "SimPConv(3, 2, self_loop_weight=0.5, gate='softmax')"
    with pytest.raises(SimPGCNError, match="scores or softmax"):
        SimPConv(3, 2, gate="hard")


def test_the_softmax_gate_without_self_loops_has_two_branches():
    conv = SimPConv(3, 2, gate="softmax", self_loop_weight=0.0)
    state = conv.state(torch.rand(4, 3), *[structure_propagation(torch.empty(2, 0, dtype=torch.long), 4)] * 2)
    assert conv.gate_score_weight.shape == (3, 2)
    assert state.self_loops is None
    assert not conv.trust(state)[:, 2].any()


def test_initial_values():
    torch.manual_seed(0)
    conv = SimPConv(2000, 50, structure_bias=2.0)
    bound = (6 / 2050) ** 0.5
    assert conv.weight.abs().max() <= bound
    assert conv.weight.abs().max() > 0.99 * bound
    for scores in (conv.score_weight, conv.self_loop_score_weight):
        assert 0.99 < scores.abs().max() <= 1
        assert abs(scores.mean()) < 0.1
    assert conv.score_bias.item() == 2
    assert conv.self_loop_score_bias.item() == 0
    assert conv.bias.abs().max() == 0


def test_repr_and_reset():
    conv = SimPConv(3, 2)
    assert str(conv) == "SimPConv(3, 2, self_loop_weight=0.1)"
    before = conv.weight.clone()
    conv.reset_parameters()
    assert not torch.equal(before, conv.weight)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_equals_cpu():
    torch.manual_seed(0)
    conv, index = SimPConv(16, 8), torch.randint(500, (2, 3000))
    x = torch.rand(500, 16)
    here = conv(SparseMatrix(x), index, index.flip(0))
    there = conv.cuda()(SparseMatrix(x.cuda()), index.cuda(), index.flip(0).cuda())
    torch.testing.assert_close(here, there.cpu(), atol=1e-5, rtol=1e-5)
