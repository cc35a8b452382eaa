"""The operators against plain transcriptions, their gradients, and several runs at once against each alone."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from simpgcn.compiled import is_built
from simpgcn.nn.dropout import dropout, threshold
from simpgcn.nn.label_loss import label_loss, label_scores
from simpgcn.nn.mixing import mix
from simpgcn.nn.narrow_product import multiply
from simpgcn.nn.pair_scores import pair_scores
from simpgcn.nn.randomness import Key, draw, drawing_from, seed_key
from simpgcn.nn.sparse_matrix import SparseMatrix

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA"))]


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture(autouse=True, params=[True, False], ids=["kernels", "torch"])
def with_and_without_the_library(request, monkeypatch):
    if request.param and not is_built():
        pytest.skip("needs the library that a C compiler makes")
    if not request.param:
        monkeypatch.setattr("simpgcn.nn.kernels.is_built", lambda: False)


def random_matrix(rows, columns, density=0.3, dtype=torch.float64):
    dense = torch.rand(rows, columns, dtype=dtype)
    return SparseMatrix(dense * (torch.rand(rows, columns) < density))


def literal_mix(product, structure, features, score_bias, loop_bias, gamma, bias):
    h = product.size(1) - (1 if loop_bias is None else 2)
    a, a_f = structure.matrix.to_dense(), features.matrix.to_dense()
    z = product[:, :h]
    b = 0 if bias is None else bias
    s = torch.sigmoid(product[:, h : h + 1] + score_bias)
    mixed = s * (a @ z + b) + (1 - s) * (a_f @ z + b)
    if loop_bias is None:
        return mixed, s.squeeze(1), torch.zeros_like(s.squeeze(1))
    k = product[:, h + 1 :] + loop_bias
    return mixed + gamma * k * (z + b), s.squeeze(1), k.squeeze(1)


def mix_arguments(loops, bias, n=7, h=3, dtype=torch.float64):
    product = torch.randn(n, h + 1 + loops, dtype=dtype)
    learned = [product, torch.randn(1, dtype=dtype)]
    learned.append(torch.randn(1, dtype=dtype) if loops else None)
    learned.append(torch.randn(h, dtype=dtype) if bias else None)
    return [None if x is None else x.requires_grad_() for x in learned]


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_mix_and_its_gradients_are_the_equations(loops, bias):
    structure, features = random_matrix(7, 7), random_matrix(7, 7)
    product, score_bias, loop_bias, b = mix_arguments(loops, bias)
    gamma = torch.tensor(0.7, dtype=torch.float64)
    ours = mix(product, structure, features, score_bias, loop_bias, gamma, b)
    expected = literal_mix(product, structure, features, score_bias, loop_bias, gamma, b)
    for x, y in zip(ours, expected, strict=True):
        torch.testing.assert_close(x, y)
    learned = [x for x in (product, score_bias, loop_bias, b) if x is not None]
    weights = [torch.randn_like(x) for x in expected]
    gradients = [
        torch.autograd.grad(sum((x * w).sum() for x, w in zip(out, weights, strict=True)), learned)
        for out in (ours, expected)
    ]
    for x, y in zip(*gradients, strict=True):
        torch.testing.assert_close(x, y)
    hidden_only = [
        torch.autograd.grad((f(product)[0] * weights[0]).sum(), product)[0]
        for f in (
            lambda p: mix(p, structure, features, score_bias, loop_bias, gamma, b),
            lambda p: literal_mix(p, structure, features, score_bias, loop_bias, gamma, b),
        )
    ]
    torch.testing.assert_close(*hidden_only)


def test_edges_of_nodes_that_are_not_there_are_refused():
    with pytest.raises(RuntimeError, match="indices"):
        SparseMatrix.from_edges(torch.tensor([[0, 1], [1, 7]]), torch.ones(2), 4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("h", [3, 40])
def test_mix_of_several_runs_is_that_of_each(device, loops, h):
    dtype = torch.float32
    structure, features = (random_matrix(60, 60, 0.1, dtype).to(device) for _ in range(2))
    runs = [mix_arguments(loops, True, n=60, h=h, dtype=dtype) for _ in range(3)]
    gamma = torch.tensor([0.1, 1.0, 3.0])
    stacked = [torch.stack([run[i] for run in runs]).detach() if runs[0][i] is not None else None for i in range(4)]
    moved = [None if x is None else x.to(device).requires_grad_() for x in stacked]

    def together(product, score_bias, loop_bias, b, g):
        return mix(product, structure, features, score_bias, loop_bias, g, b)

    in_dims = (0, 0, 0 if loops else None, 0, 0)
    out = torch.vmap(together, in_dims)(*moved, gamma.to(device))
    weights = [torch.randn(x.shape) for x in out]
    learned = [x for x in moved if x is not None]
    gradients = torch.autograd.grad(sum((x * w.to(device)).sum() for x, w in zip(out, weights, strict=True)), learned)
    here = structure.to("cpu"), features.to("cpu")
    for run in range(3):
        expected = literal_mix(runs[run][0], *here, runs[run][1], runs[run][2], gamma[run], runs[run][3])
        for x, y in zip(out, expected, strict=True):
            torch.testing.assert_close(x[run].cpu(), y, rtol=1e-4, atol=1e-5)
        alone = torch.autograd.grad(
            sum((x * w[run]).sum() for x, w in zip(expected, weights, strict=True)),
            [x for x in runs[run] if x is not None],
        )
        for x, y in zip(gradients, alone, strict=True):
            torch.testing.assert_close(x[run].cpu(), y, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("columns", [1, 5, 130, 300])
def test_sparse_product_forwards_and_backwards(device, columns):
    matrix = random_matrix(50, 33, 0.2, torch.float32)
    x = torch.randn(33, columns, requires_grad=True)
    there = x.detach().to(device).requires_grad_()
    ours = matrix.to(device) @ there
    expected = matrix.matrix.to_dense() @ x
    torch.testing.assert_close(ours.cpu(), expected)
    weight = torch.randn_like(expected)
    (gradient,) = torch.autograd.grad(ours, there, weight.to(device))
    torch.testing.assert_close(gradient.cpu(), torch.autograd.grad(expected, x, weight)[0])


@pytest.mark.parametrize("device", DEVICES)
def test_sparse_product_of_several_runs(device):
    matrix = random_matrix(20, 11, 0.3, torch.float32)
    x = torch.randn(4, 11, 6)
    wide = torch.vmap(lambda one: matrix.to(device) @ one)(x.to(device))
    torch.testing.assert_close(wide.cpu(), matrix.matrix.to_dense() @ x)


def test_product_is_the_same_in_any_width():
    x = torch.randn(40, 12, dtype=torch.float64, requires_grad=True)
    for columns in (1, 9, 31, 32, 50):
        weight = torch.randn(12, columns, dtype=torch.float64, requires_grad=True)
        torch.testing.assert_close(multiply(x, weight), x @ weight)
        torch.autograd.gradcheck(multiply, (x, weight), fast_mode=True)


def literal_scores(hidden, nodes, weight):
    return (hidden[nodes[0]] - hidden[nodes[1]]).abs() @ weight


@pytest.mark.parametrize("device", DEVICES)
def test_narrow_product_of_several_runs_is_that_of_each(device):
    x, weight = torch.randn(3, 50, 7), torch.randn(3, 7, 4)
    moved = [each.to(device).requires_grad_() for each in (x, weight)]
    out = torch.vmap(multiply)(*moved)
    gradient = torch.randn(3, 50, 4)
    found = torch.autograd.grad(out, moved, gradient.to(device))
    torch.testing.assert_close(out.detach().cpu(), x @ weight, rtol=1e-5, atol=1e-5)
    expected = gradient @ weight.mT, x.mT @ gradient
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_label_loss_and_scores_are_the_cross_entropy_and_the_hits(device):
    logits, nodes, y = torch.randn(3, 20, 4), torch.randint(0, 20, (3, 9)), torch.randint(0, 4, (3, 9))
    train, val = torch.rand(2, 3, 9) * torch.tensor([1.0, 0.0, 1.0]).repeat(3)
    leaf = logits.to(device).requires_grad_()
    labels = [each.to(device) for each in (nodes, y, train)]
    out = torch.vmap(label_loss)(leaf, *labels)
    (found,) = torch.autograd.grad(out, leaf, torch.arange(1.0, 4.0, device=device))
    scores = torch.vmap(label_scores)(leaf, *labels, val.to(device))
    for run in range(3):
        alone = logits[run].clone().requires_grad_()
        each = F.cross_entropy(alone[nodes[run]], y[run], reduction="none")
        loss = (train[run] * each).sum()
        torch.testing.assert_close(out[run].cpu(), loss)
        torch.testing.assert_close(found[run].cpu(), torch.autograd.grad((run + 1) * loss, alone)[0])
        right = logits[run, nodes[run]].argmax(dim=1) == y[run]
        expected = (right & (train[run] > 0)).sum(), (val[run] * each).sum(), (right & (val[run] > 0)).sum()
        for ours, theirs in zip(scores, expected, strict=True):
            torch.testing.assert_close(ours[run].cpu(), theirs.detach().float())
        one = label_loss(leaf[run].detach(), *(x[run] for x in labels))
        torch.testing.assert_close(one.cpu(), loss.detach())


def test_label_loss_gradcheck():
    logits = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    nodes, y = torch.tensor([0, 2, 2, 5]), torch.tensor([1, 0, 2, 2])
    weight = torch.tensor([0.5, 1, 0.25, 0], dtype=torch.float64)
    torch.autograd.gradcheck(lambda z: label_loss(z, nodes, y, weight), (logits,))


@pytest.mark.parametrize("device", DEVICES)
def test_pair_scores_and_their_gradients(device):
    """Nodes that are in many pairs, and pairs of a node with itself, among them."""
    runs = 3
    hidden, weight = torch.randn(runs, 9, 21), torch.randn(runs, 21)
    nodes = torch.randint(0, 9, (runs, 2, 400))
    moved = [x.to(device).requires_grad_() for x in (hidden, weight)]
    out = torch.vmap(pair_scores)(moved[0], nodes.to(device), moved[1])
    pull = torch.randn(runs, 400)
    gradients = torch.autograd.grad(out, moved, pull.to(device))
    for run in range(runs):
        h, w = hidden[run].clone().requires_grad_(), weight[run].clone().requires_grad_()
        expected = literal_scores(h, nodes[run], w)
        torch.testing.assert_close(out[run].cpu(), expected, rtol=1e-4, atol=1e-4)
        alone = pair_scores(h.detach().to(device), nodes[run].to(device), w.detach().to(device))
        torch.testing.assert_close(alone.cpu(), expected, rtol=1e-4, atol=1e-4)
        for x, y in zip(gradients, torch.autograd.grad(expected, [h, w], pull[run]), strict=True):
            torch.testing.assert_close(x[run].cpu(), y, rtol=1e-4, atol=1e-3)


def test_pair_scores_of_more_nodes_than_sixteen_bits_hold():
    hidden, weight = torch.randn(70_000, 2, requires_grad=True), torch.randn(2, requires_grad=True)
    nodes = torch.randint(0, 70_000, (2, 5_000), generator=torch.Generator().manual_seed(0))
    pull = torch.randn(5_000)
    ours = torch.autograd.grad(pair_scores(hidden, nodes, weight), (hidden, weight), pull)
    expected = torch.autograd.grad(literal_scores(hidden, nodes, weight), (hidden, weight), pull)
    for x, y in zip(ours, expected, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-4, atol=1e-3)


def test_pair_scores_gradcheck():
    hidden = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(4, dtype=torch.float64, requires_grad=True)
    nodes = torch.tensor([[0, 1, 2, 0], [3, 4, 5, 1]])
    assert torch.autograd.gradcheck(lambda h, w: pair_scores(h, nodes, w), (hidden, weight))


@pytest.mark.parametrize("p", [0.5, 0.1, 0.83])
def test_dropout_keeps_the_mean_and_has_the_right_share(p):
    with drawing_from(torch.tensor(seed_key(0))):
        dropped = dropout(torch.ones(1000, 500), p)
    share = (dropped == 0).double().mean().item()
    assert share == pytest.approx(p, abs=4 * (p * (1 - p) / 500_000) ** 0.5 + 2**-16)
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / (1 - p)], rel=1e-3)
    assert dropped.mean().item() == pytest.approx(1, abs=4 * (p / (1 - p) / 500_000) ** 0.5)
    rows, columns = ((dropped == 0).double().mean(dim=dim) for dim in (1, 0))
    for shares, size in ((rows, 500), (columns, 1000)):
        assert shares.std().item() == pytest.approx((p * (1 - p) / size) ** 0.5, rel=0.15)


def test_masks_of_epochs_seeds_and_calls_are_unrelated():
    keys = [seed_key(seed) + epoch for seed in range(6) for epoch in range(20)]
    masks = []
    for key in keys:
        with drawing_from(torch.tensor(key)):
            masks += [dropout(torch.ones(20_001), 0.5) - 1 for _ in range(2)]
    masks = torch.stack(masks)
    correlation = (masks @ masks.T / masks.size(1)).fill_diagonal_(0)
    assert correlation.abs().max() < 6 / 20_001**0.5
    neighbours = (masks[:, 1:] * masks[:, :-1]).mean()
    assert neighbours.abs() < 5 / (masks.numel()) ** 0.5


def test_dropout_passes_the_gradient_where_it_passed_the_value():
    x = torch.rand(30, 7, requires_grad=True)
    with drawing_from(torch.tensor(5)):
        dropped = dropout(x, 0.4)
    (gradient,) = torch.autograd.grad(dropped.sum(), x)
    torch.testing.assert_close(gradient * x, dropped)


@pytest.mark.parametrize("device", DEVICES)
def test_dropout_of_several_runs_is_that_of_each_on_every_device(device):
    x = torch.rand(3, 50, 9)
    keys = torch.tensor([seed_key(seed) for seed in range(3)])

    def one(row, key):
        with drawing_from(key):
            return dropout(row, 0.5), dropout(row, 0.5)

    there = x.to(device).requires_grad_()
    first, second = torch.vmap(one)(there, keys.to(device))
    for run in range(3):
        for ours, alone in zip((first[run], second[run]), one(x[run], keys[run]), strict=True):
            assert torch.equal(ours.cpu(), alone)
    assert not torch.equal(first, second)
    (gradient,) = torch.autograd.grad(first.sum(), there)
    torch.testing.assert_close(gradient * there, first)


def test_dropout_without_a_key_follows_the_global_generator():
    with torch.random.fork_rng():
        torch.manual_seed(3)
        a = dropout(torch.ones(100), 0.5)
        b = dropout(torch.ones(100), 0.5)
        torch.manual_seed(3)
        assert torch.equal(a, dropout(torch.ones(100), 0.5))
    assert not torch.equal(a, b)


def test_nothing_and_everything_dropped():
    x = torch.rand(5)
    assert dropout(x, 0.0) is x
    assert dropout(x, 0.9, training=False) is x
    assert dropout(x, 1.0).tolist() == [0.0] * 5
    assert threshold(1.0) == 32767


@pytest.mark.parametrize("total", [1, 2, 3, 10, 997, 24_000])
def test_draw_is_a_permutation(total):
    drawn = draw(Key(torch.tensor(seed_key(total))), total, total)
    assert sorted(drawn.tolist()) == list(range(total))


def test_draw_is_uniform_in_every_place():
    seen = torch.zeros(50, 50)
    for seed in range(3000):
        drawn = draw(Key(torch.tensor(seed_key(seed))), 50, 50)
        seen[torch.arange(50), drawn] += 1
    statistic = float(((seen - 60) ** 2 / 60).sum())
    assert abs(statistic - 49 * 49) < 5 * (2 * 49 * 49) ** 0.5


def test_draws_of_neighbours_are_unrelated():
    """The difference of the images of 0 and 1 takes all values equally often."""
    counts = torch.zeros(97)
    for seed in range(6000):
        first, second = draw(Key(torch.tensor(seed_key(seed))), 97, 2).tolist()
        counts[(second - first) % 97] += 1
    assert counts[0] == 0
    expected = 6000 / 96
    statistic = float(((counts[1:] - expected) ** 2 / expected).sum())
    assert abs(statistic - 95) < 5 * (2 * 95) ** 0.5


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("total", [5, 1000, 179_123])
def test_draw_of_several_runs_is_that_of_each_on_every_device(device, total):
    keys = torch.tensor([seed_key(seed) for seed in range(4)])
    count = min(total, 700)
    there = torch.vmap(lambda key: draw(Key(key), total, count))(keys.to(device))
    for run in range(4):
        assert torch.equal(there[run].cpu(), draw(Key(keys[run]), total, count))
