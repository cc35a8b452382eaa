"""The kernels against the operators' torch code: those for CUDA in Triton's interpreter where there is no GPU."""

from __future__ import annotations

import shutil
import sys
from importlib import import_module

import numpy as np
import pytest
import torch

from simpgcn.compiled import is_built
from simpgcn.nn import label_loss, mixing, pair_scores
from simpgcn.nn.dropout import _mask, scale, threshold
from simpgcn.nn.randomness import _permuted, half_keys, seed_key
from simpgcn.nn.sparse_matrix import SparseMatrix
from simpgcn.training.adam import BETAS, EPSILON, Adam, AdamSettings

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
# In which room of kernels, and on what device they run.
BOTH = pytest.mark.parametrize(("room", "device"), [("cuda", DEVICE), ("cpu", "cpu")])
RUNS = 2
KEYS = torch.tensor([seed_key(0), seed_key(5) + 3])


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


@pytest.fixture(autouse=True)
def operators_without_kernels(monkeypatch):
    monkeypatch.setattr("simpgcn.nn.kernels.is_built", lambda: False)


def kernels_of(name, room="cuda"):
    if room == "cuda":
        pytest.importorskip("triton")
    elif not is_built():
        pytest.skip("needs the library that a C compiler makes")
    return import_module(f"simpgcn.nn.kernels.{room}.{name}")


def here(*tensors, device=DEVICE):
    return tuple(x.to(device) for x in tensors)


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="needs a C compiler with OpenMP")
def test_a_compiler_makes_the_library():
    assert is_built(), "install the package: make .venv"


def random_matrix(rows, columns):
    dense = torch.rand(rows, columns) * (torch.rand(rows, columns) < 0.4)
    dense[rows // 2] = 0
    return SparseMatrix(dense)


@BOTH
@pytest.mark.parametrize(("total", "count"), [(1, 1), (5, 5), (1000, 300)])
def test_draw(total, count, room, device):
    kernels = kernels_of("randomness", room)
    drawn = kernels.draw(KEYS.to(device), 2, total, count).cpu()
    for run in range(RUNS):
        assert drawn[run].tolist() == _permuted(np.arange(count), half_keys(int(KEYS[run]), 2), total).tolist()


@BOTH
@pytest.mark.parametrize("p", [0.5, 0.3])
@pytest.mark.parametrize("width", [1, 7, 300])
def test_dropout(p, width, room, device):
    kernels = kernels_of("dropout", room)
    x = torch.rand(11, RUNS, width)
    dropped = kernels.dropout(x.to(device), KEYS.to(device), 1, threshold(p), scale(p)).cpu()
    for run in range(RUNS):
        mask = _mask(int(KEYS[run]), 1, p, (11, width), torch.float32)
        torch.testing.assert_close(dropped[:, run], x[:, run] * mask)
    alone = kernels.dropout(x[:, 1].contiguous().to(device), KEYS[1].to(device), 1, threshold(p), scale(p)).cpu()
    assert torch.equal(alone, dropped[:, 1])


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("piece", [2, 64])
def test_product_with_rows_whole_and_in_pieces(transposed, piece, monkeypatch):
    kernels = kernels_of("sparse_matrix")
    monkeypatch.setattr(kernels, "PIECE", piece)
    matrix = random_matrix(9, 12)
    csr = matrix.transpose if transposed else matrix.matrix
    for shape in ((5,), (300,), (RUNS, 5)):
        x = torch.rand(csr.size(1), *shape)
        expected = (csr @ x.reshape(csr.size(1), -1)).view(csr.size(0), *shape)
        product = kernels.multiply(matrix.to(DEVICE), x.to(DEVICE), transposed)
        torch.testing.assert_close(product.cpu(), expected)
    assert (kernels.rows_of(matrix.to(DEVICE), transposed).pieces is None) == (piece == 64)


@BOTH
@pytest.mark.parametrize("columns", [1, 4, 5, 12, 15, 16, 21, 200])
@pytest.mark.parametrize("loops", [0, 1])
def test_mix(loops, columns, room, device):
    kernels = kernels_of("mixing", room)
    structure, features = random_matrix(9, 9), random_matrix(9, 9)
    product, bias = torch.randn(9, RUNS, columns + 1 + loops), torch.randn(RUNS, columns)
    scores, gamma = torch.randn(RUNS, 1), torch.rand(RUNS)
    loop_bias = torch.randn(RUNS, 1) if loops else torch.zeros(RUNS, 1)
    arguments = scores, loop_bias, gamma, bias
    expected = mixing._Mix.forward(product, structure, features, *arguments, True)
    there = structure.to(device), features.to(device)
    for ours, theirs in zip(
        kernels.mix(product.to(device), *there, *here(*arguments, device=device)), expected, strict=True
    ):
        torch.testing.assert_close(ours.cpu(), theirs)
    _, s, k, difference = expected
    hidden, s_bar, k_bar = torch.randn(9, RUNS, columns), torch.randn(9, RUNS), torch.randn(9, RUNS)
    saved = mixing.Saved(structure, features, product, s, k, difference, gamma, bias)
    saved_there = mixing.Saved(*there, *here(*saved[2:], device=device))
    for more in ((None, None), (s_bar, k_bar)):
        gradient = mixing._gradient(hidden, saved, *more)
        moved = [None if x is None else x.to(device) for x in more]
        ours = kernels.mix_backward(hidden.to(device), saved_there, *moved)
        torch.testing.assert_close(ours.cpu(), gradient)


@BOTH
@pytest.mark.parametrize("channels", [1, 21, 64, 130])
def test_pair_scores(channels, room, device):
    kernels = kernels_of("pair_scores", room)
    hidden, nodes = torch.randn(9, RUNS, channels), torch.randint(0, 9, (RUNS, 2, 50))
    weight, gradient = torch.randn(RUNS, channels), torch.randn(RUNS, 50)
    scores, signs = pair_scores._PairScores.forward(hidden, nodes, weight)
    torch.testing.assert_close(kernels.pair_scores(*here(hidden, nodes, weight, device=device)).cpu(), scores)
    pulls = [pair_scores._pull(9, *run) for run in zip(nodes, gradient, signs, strict=True)]
    pull = torch.stack(pulls, dim=1)
    ours = kernels.pair_scores_backward(*here(gradient, hidden, nodes, weight, device=device))
    for x, y in zip(ours, (pull * weight, (pull * hidden).sum(dim=0)), strict=True):
        torch.testing.assert_close(x.cpu(), y, rtol=1e-4, atol=1e-4)


def test_on_a_cpu_what_does_not_fit_is_refused():
    mixing_kernels, pairs = kernels_of("mixing", "cpu"), kernels_of("pair_scores", "cpu")
    hidden, nodes = torch.rand(4, 3), torch.tensor([[0, 1], [2, 3]])
    with pytest.raises(IndexError, match="pairs name nodes from 0 to 4, but there are 4"):
        pairs.pair_scores(hidden, torch.tensor([[0, 1], [2, 4]]), torch.rand(3))
    for wrong in ((nodes.int(), torch.rand(3)), (nodes, torch.rand(2)), (nodes, torch.rand(3).double())):
        with pytest.raises(ValueError, match="pairs are int64"):
            pairs.pair_scores(hidden, *wrong)
    graph, learned = random_matrix(4, 4), (torch.rand(1), torch.rand(1), torch.rand(()), torch.rand(3))
    with pytest.raises(ValueError, match="a graph of 6 nodes cannot mix the states of 4"):
        mixing_kernels.mix(torch.rand(4, 5), random_matrix(6, 6), graph, *learned)
    with pytest.raises(ValueError, match="not 9 in all"):
        mixing_kernels.mix(torch.rand(4, 9), graph, graph, *learned)


@pytest.mark.parametrize("columns", [6, 96, 128, 130, 145])
def test_on_a_cpu_more_nodes_than_the_cache_holds(columns):
    kernels, pairs = kernels_of("mixing", "cpu"), kernels_of("pair_scores", "cpu")
    n = 4200
    structure, features = (SparseMatrix.from_edges(torch.randint(n, (2, 9000)), torch.rand(9000), n) for _ in range(2))
    product, bias = torch.randn(n, columns + 2), torch.randn(columns)
    arguments = torch.randn(1), torch.randn(1), torch.rand(()), bias
    expected = mixing._Mix.forward(product, structure, features, *arguments, True)
    for ours, theirs in zip(kernels.mix(product, structure, features, *arguments), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    hidden = torch.randn(n, columns)
    saved = mixing.Saved(structure, features, product, *expected[1:], arguments[2], bias)
    gradient = mixing._gradient(hidden, saved, None, None)
    ours = kernels.mix_backward(hidden, saved, None, None)
    torch.testing.assert_close(ours, gradient, rtol=1e-4, atol=1e-3)
    nodes, weight, pull = torch.randint(n, (2, 3000)), torch.randn(columns), torch.randn(3000)
    found = pairs.pair_scores_backward(pull, hidden, nodes, weight)
    expected_pull = pair_scores._pull(n, nodes, pull, pair_scores._scores(hidden, nodes, weight)[1])
    for x, y in zip(found, (expected_pull * weight, (expected_pull * hidden).sum(dim=0)), strict=True):
        torch.testing.assert_close(x, y, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("columns", [6, 128])
def test_on_a_cpu_any_number_of_threads_gives_the_same_bits(columns):
    scores, pairs = kernels_of("mixing", "cpu"), kernels_of("pair_scores", "cpu")
    structure, features = random_matrix(300, 300), random_matrix(300, 300)
    product, learned = torch.randn(300, columns + 2), (torch.randn(1), torch.randn(1), torch.rand(()))
    hidden, nodes, weight = torch.randn(300, columns), torch.randint(0, 300, (2, 500)), torch.randn(columns)
    bias, gradient, before = torch.randn(columns), torch.randn(500), torch.get_num_threads()

    def all_results():
        mixed = scores.mix(product, structure, features, *learned, bias)
        saved = mixing.Saved(structure, features, product, *mixed[1:], learned[2], bias)
        backward = scores.mix_backward(hidden, saved, None, None)
        return [*mixed, backward, *pairs.pair_scores_backward(gradient, hidden, nodes, weight)]

    try:
        torch.set_num_threads(1)
        alone = all_results()
        torch.set_num_threads(3)
        assert all(torch.equal(x, y) for x, y in zip(alone, all_results(), strict=True))
    finally:
        torch.set_num_threads(before)


def labels_of(nodes, classes, count):
    """Labelled nodes of each run, their classes and weights; the last is one that only fills a place."""
    weights = torch.rand(RUNS, count) * (torch.rand(RUNS, count) < 0.7)
    weights[:, -1] = 0
    return torch.randint(0, nodes, (RUNS, count)), torch.randint(0, classes, (RUNS, count)), weights


@pytest.mark.parametrize(("classes", "count"), [(1, 3), (7, 50), (40, 33)])
def test_label_loss(classes, count):
    kernels = kernels_of("label_loss")
    logits, labels = 3 * torch.randn(60, RUNS, classes), labels_of(60, classes, count)
    by_run = (1, 0, 0, 0)
    expected = torch.vmap(label_loss.label_loss, by_run)(logits, *labels)
    torch.testing.assert_close(kernels.label_loss(*here(logits, *labels)).cpu(), expected)
    leaf, gradient = logits.clone().requires_grad_(), torch.randn(RUNS)
    for run in range(RUNS):
        (gradient[run] * label_loss.label_loss(leaf[:, run], *(x[run] for x in labels))).backward()
    ours = kernels.label_loss_backward(*here(gradient, logits, *labels)).cpu()
    torch.testing.assert_close(ours, leaf.grad)
    val = labels[2].flip(1)
    expected = torch.stack(torch.vmap(label_loss.label_scores, (*by_run, 0))(logits, *labels, val))
    torch.testing.assert_close(kernels.label_scores(*here(logits, *labels, val)).cpu(), expected)


def test_of_equal_logits_the_first_counts():
    logits = torch.zeros(4, 1, 3)
    nodes, y, weight = torch.arange(3).unsqueeze(0), torch.arange(3).unsqueeze(0), torch.ones(1, 3)
    scores = kernels_of("label_loss").label_scores(*here(logits, nodes, y, weight, weight)).cpu()
    hits, _, _ = label_loss.label_scores(logits[:, 0], nodes[0], y[0], weight[0], weight[0])
    assert scores[0].tolist() == [float(hits)] == [1]


@pytest.mark.parametrize(("n", "inner", "columns"), [(5, 3, 1), (300, 70, 9), (40, 128, 31)])
def test_narrow_product(n, inner, columns):
    kernels = kernels_of("narrow_product")
    x, weight, gradient = torch.randn(n, RUNS, inner), torch.randn(RUNS, inner, columns), torch.randn(n, RUNS, columns)
    product = torch.einsum("nrh,rhc->nrc", x, weight)
    torch.testing.assert_close(kernels.multiply(*here(x, weight)).cpu(), product, rtol=1e-5, atol=1e-4)
    expected = torch.einsum("nrc,rhc->nrh", gradient, weight), torch.einsum("nrh,nrc->rhc", x, gradient)
    for ours, theirs in zip(kernels.gradients(*here(gradient, x, weight)), expected, strict=True):
        torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-5, atol=1e-4)
    alone = kernels.multiply(*here(x[:, 1], weight[1])).cpu()
    torch.testing.assert_close(alone, product[:, 1], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("decays", [[(3, 0.5), (4, 0.0)], [(7, 0.1)]])
def test_adam_is_torchs(decays):
    kernels = kernels_of("adam")
    settings = [AdamSettings(0.1, decays), AdamSettings(0.01, decays)]
    theirs = torch.randn(RUNS, 7)
    ours, *moments = here(theirs.clone(), *torch.zeros(2, RUNS, 7))
    adam = Adam(theirs, torch.zeros(RUNS, 7), torch.zeros(RUNS, 7), settings)
    decay = torch.tensor([[value for size, value in decays for _ in range(size)]] * RUNS)
    decay = decay[:, :1] if len(decays) == 1 else decay
    lr, decay = here(torch.tensor([0.1, 0.01]), decay)
    for number in range(1, 30):
        gradient, count = torch.randn(RUNS, 7), torch.tensor([number] * RUNS)
        adam.step(gradient, count)
        kernels.adam(ours, gradient.to(DEVICE), *moments, lr, decay.contiguous(), count.to(DEVICE), BETAS, EPSILON)
    torch.testing.assert_close(ours.cpu(), theirs)
