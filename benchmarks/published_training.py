"""SimP-GCN trained as the published code trains it, in plain torch: a second opinion on the software's own numbers.

    python benchmarks/published_training.py [--times 10] [DATASET ...]

Nothing of the software but its copy of the data takes part: similarities are one dense product, their order is that of
NumPy's quicksort, the ReLU sits on each branch, and everything is differentiated by autograd. The published runs had
the seeds 10 to 19; initial values are those that torch draws from them on a CPU, the same ten again and again, with
other dropout and other pairs. So each ten runs are what the published ten could have been, but for what a GPU drew.
They are trained side by side, for the sum of their losses. Writes benchmarks/results/published_training.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from rich.progress import Progress
from torch import Tensor
from torch.nn import functional as F

from simpgcn.data import load_dataset
from simpgcn.provenance import machine, versions

RESULTS = Path(__file__).parent / "results"
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SEEDS = range(10, 20)
K, M, SAMPLES, HIDDEN, EPOCHS = 20, 5, 10_000, 128, 200


class Settings(NamedTuple):
    """λ, γ and b_s."""

    pretext: float
    loops: float
    bias: float


SETTINGS = {"cora": Settings(50, 0.01, 2), "citeseer": Settings(100, 0.01, 2)}


class Product(torch.autograd.Function):
    """A sparse matrix times a dense one; the transpose is kept for the gradient."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transpose: Tensor, x: Tensor) -> Tensor:
        ctx.transpose = transpose
        return matrix @ x

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, Tensor]:
        return None, None, ctx.transpose @ gradients[0].contiguous()


class Matrix:
    """A constant sparse matrix that multiplies ``[n, ...]``."""

    def __init__(self, matrix: sp.csr_matrix) -> None:
        self.both = [self._tensor(m.tocsr().astype(np.float32)) for m in (matrix, matrix.T)]

    def __matmul__(self, x: Tensor) -> Tensor:
        return Product.apply(*self.both, x.flatten(1)).unflatten(1, x.shape[1:])

    @staticmethod
    def _tensor(m: sp.csr_matrix) -> Tensor:
        starts, columns = (torch.as_tensor(part.astype(np.int64)) for part in (m.indptr, m.indices))
        return torch.sparse_csr_tensor(starts, columns, torch.as_tensor(m.data), m.shape, device=DEVICE)


class Graph(NamedTuple):
    x: Matrix
    structure: Matrix
    features: Matrix
    pairs: Tensor
    similarity: Tensor
    y: Tensor
    train: Tensor
    val: Tensor
    test: Tensor
    num_features: int


def read(name: str) -> Graph:
    data = load_dataset(name)
    words = data.x.to_dense().numpy()
    row, col = data.edge_index.numpy()
    n = len(words)
    links = sp.csr_matrix((np.ones(len(row)), (row, col)), (n, n))
    links = (links.maximum(links.T) > 0).astype(float)

    binary = (words != 0).astype(np.float32)
    length = np.sqrt(binary.sum(1, keepdims=True))
    unit = np.divide(binary, length, out=np.zeros_like(binary), where=length > 0)
    similar = unit @ unit.T

    # NumPy has a quicksort of its own for float32 where the processor allows, but not for longdouble.
    order = similar.astype(np.longdouble).argsort(1)
    chosen = np.hstack([order[:, :M], order[:, -M - 1 :]])
    pairs = np.array(sorted({(min(i, j), max(i, j)) for i in range(n) for j in chosen[i] if i != j})).T

    near = similar.copy()
    np.fill_diagonal(near, 0)
    order = near.astype(np.longdouble).argsort(1)
    np.put_along_axis(near, order[:, :-K], 0, axis=1)

    total = words.sum(1, keepdims=True)
    shares = np.divide(words, total, out=np.zeros_like(words), where=total != 0)
    masks = data.train_mask, data.val_mask, data.test_mask
    train, val, test = (mask.nonzero().squeeze(1).to(DEVICE) for mask in masks)
    return Graph(
        Matrix(sp.csr_matrix(shares)),
        normalized(links + sp.eye(n)),
        normalized(sp.csr_matrix(near)),
        torch.as_tensor(pairs, device=DEVICE),
        torch.as_tensor(similar[pairs[0], pairs[1]], device=DEVICE),
        data.y.to(DEVICE),
        train,
        val,
        test,
        words.shape[1],
    )


def normalized(graph: sp.csr_matrix) -> Matrix:
    degree = np.asarray(graph.sum(1)).ravel()
    scale = sp.diags(np.divide(1, np.sqrt(degree), out=np.zeros_like(degree, dtype=float), where=degree > 0))
    return Matrix(scale @ graph @ scale)


class Drawn(NamedTuple):
    """The initial values of one run: of W, w_s and w_K of both layers, and of the pretext task's head."""

    weights: list[Tensor]
    scores: list[Tensor]
    loop_scores: list[Tensor]
    head: list[Tensor]


def draw(seed: int, features: int, classes: int) -> Drawn:
    """In the order of the published code, which draws the last layer's W twice and keeps the second."""
    random = torch.Generator().manual_seed(seed)

    def uniform(bound: float, *shape: int) -> Tensor:
        return torch.empty(shape).uniform_(-bound, bound, generator=random)

    def glorot(rows: int, columns: int) -> Tensor:
        return uniform((6 / (rows + columns)) ** 0.5, rows, columns)

    first, _, last = glorot(features, HIDDEN), glorot(HIDDEN, classes), glorot(HIDDEN, classes)
    scores, loop_scores = ([uniform(1, features), uniform(1, HIDDEN)] for _ in range(2))
    return Drawn([first, last], scores, loop_scores, [uniform(HIDDEN**-0.5, size) for size in (HIDDEN, 1)])


def side_by_side(values: Iterable[Tensor], place: int) -> Tensor:
    """What each run starts with, as one parameter."""
    return torch.stack(list(values), place).to(DEVICE).requires_grad_()


class Layer:
    """One layer of every run: ``[nodes, runs, channels]`` to as many."""

    def __init__(self, drawn: list[Drawn], layer: int, settings: Settings) -> None:
        def constant(value: float, *shape: int) -> Tensor:
            return torch.full(shape, float(value), device=DEVICE, requires_grad=True)

        self.weight = side_by_side((run.weights[layer] for run in drawn), 1)
        self.score = side_by_side((run.scores[layer] for run in drawn), 1)
        self.loop_score = side_by_side((run.loop_scores[layer] for run in drawn), 1)
        _, runs, out = self.weight.shape
        self.bias = constant(0, runs, out)
        self.score_bias, self.loop_bias = constant(settings.bias, runs), constant(0, runs)
        self.loops = settings.loops

    def parameters(self) -> list[Tensor]:
        return [self.weight, self.score, self.loop_score, self.bias, self.score_bias, self.loop_bias]

    def mix(self, graph: Graph, z: Tensor, score: Tensor, loop_score: Tensor, relu: bool) -> Tensor:
        branches = [x + self.bias for x in (graph.structure @ z, graph.features @ z, z)]
        own, look_alikes, itself = (x.relu() for x in branches) if relu else branches
        s = torch.sigmoid(score + self.score_bias)[..., None]
        k = (loop_score + self.loop_bias)[..., None]
        return s * own + (1 - s) * look_alikes + self.loops * k * itself


class Runs:
    """A run with each of the seeds on one graph; ``stream`` is the seed of their dropout and pairs."""

    def __init__(self, graph: Graph, settings: Settings, stream: int) -> None:
        self.graph, self.settings = graph, settings
        self.random = torch.Generator(DEVICE).manual_seed(stream)
        drawn = [draw(seed, graph.num_features, int(graph.y.max()) + 1) for seed in SEEDS]
        self.first, self.last = (Layer(drawn, layer, settings) for layer in range(2))
        self.head, self.head_bias = (side_by_side((run.head[part] for run in drawn), 0) for part in range(2))
        parameters = [*self.first.parameters(), *self.last.parameters(), self.head, self.head_bias]
        self.adam = torch.optim.Adam(parameters, lr=0.01, weight_decay=5e-4)

    def forward(self, training: bool) -> tuple[Tensor, Tensor]:
        """Logits, and what is hidden after dropout."""
        x, first, last = self.graph.x, self.first, self.last
        hidden = first.mix(self.graph, x @ first.weight, x @ first.score, x @ first.loop_score, relu=True)
        if training:
            hidden = 2 * hidden * (torch.rand(hidden.shape, device=DEVICE, generator=self.random) < 0.5)
        z = torch.einsum("nrc,cro->nro", hidden, last.weight)
        score, loop_score = (torch.einsum("nrc,cr->nr", hidden, w) for w in (last.score, last.loop_score))
        return last.mix(self.graph, z, score, loop_score, relu=False), hidden

    def step(self) -> None:
        graph = self.graph
        logits, hidden = self.forward(training=True)
        each = F.cross_entropy(
            logits[graph.train].flatten(0, 1), graph.y[graph.train].repeat_interleave(len(SEEDS)), reduction="sum"
        )
        loss = each / len(graph.train)
        for run in range(len(SEEDS)):
            drawn = torch.randperm(graph.pairs.size(1), device=DEVICE, generator=self.random)[:SAMPLES]
            one, other = (hidden[nodes[drawn], run] for nodes in graph.pairs)
            guess = (one - other).abs() @ self.head[run] + self.head_bias[run]
            loss = loss + self.settings.pretext * F.mse_loss(guess, graph.similarity[drawn])
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()

    @torch.no_grad()
    def right(self) -> tuple[Tensor, Tensor]:
        """Validation and test accuracy of every run."""
        found = self.forward(training=False)[0].argmax(-1) == self.graph.y[:, None]
        return found[self.graph.val].double().mean(0), found[self.graph.test].double().mean(0)


def train(graph: Graph, settings: Settings, stream: int, progress: Progress) -> list[float]:
    """The test accuracy of each run where its validation accuracy is best, the later epoch among equals."""
    runs = Runs(graph, settings, stream)
    best, kept = torch.zeros(2, len(SEEDS), dtype=torch.double, device=DEVICE)
    for _ in progress.track(range(EPOCHS), description=f"ten runs, time {stream + 1}"):
        runs.step()
        val, test = runs.right()
        best, kept = torch.where(val >= best, torch.stack([val, test]), torch.stack([best, kept]))
    return (100 * kept).tolist()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("datasets", nargs="*", choices=[*SETTINGS, []])
    parser.add_argument("--times", type=int, default=10, help="how often to train the ten runs")
    wish = parser.parse_args()
    path = RESULTS / "published_training.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    for name in wish.datasets or SETTINGS:
        graph = read(name)
        with Progress() as progress:
            values = np.array([train(graph, SETTINGS[name], stream, progress) for stream in range(wish.times)])
        results[name] = {
            "runs": values.size,
            "mean": float(values.mean()),
            "sd": float(values.std(ddof=1)),
            "means_of_ten": values.mean(1).round(3).tolist(),
            "machine": machine(DEVICE),
            "versions": versions(),
        }
        means = ", ".join(f"{mean:.2f}" for mean in values.mean(1))
        print(f"{name}: {values.mean():.2f} ± {values.std(ddof=1):.2f} in {values.size} runs; of each ten: {means}")
        path.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
