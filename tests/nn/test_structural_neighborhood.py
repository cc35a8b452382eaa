from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy.sparse import block_diag, csr_matrix
from sklearn.manifold import Isomap
from torch_geometric.utils import to_undirected

from simpgcn.errors import SimPGCNError
from simpgcn.nn.baselines import structural_neighborhood as module
from simpgcn.nn.baselines.plane_embedding import isomap, plane_embedding, poincare
from simpgcn.nn.baselines.struc2vec import struc2vec
from simpgcn.nn.baselines.structural_neighborhood import (
    _parse,
    plane_neighbors,
    published_neighborhood,
    relations,
    structural_neighborhood,
)

EMBEDDINGS = ["isomap", "poincare", "struc2vec"]


def random_graph(n: int, edges: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    index = torch.randint(n, (2, edges), generator=generator)
    return to_undirected(index[:, index[0] != index[1]], num_nodes=n)


def matrix(index: torch.Tensor, n: int) -> csr_matrix:
    return csr_matrix((np.ones(index.size(1)), index.numpy()), shape=(n, n))


def two_cliques(size: int = 8) -> csr_matrix:
    graph = block_diag([np.ones((size, size)) - np.eye(size)] * 2).tolil()
    graph[0, size] = graph[size, 0] = 1
    return graph.tocsr()


def hyperbolic(u: np.ndarray, v: np.ndarray) -> float:
    return float(np.arccosh(1 + 2 * ((u - v) ** 2).sum() / (1 - (u**2).sum()) / (1 - (v**2).sum())))


def euclidean(u: np.ndarray, v: np.ndarray) -> float:
    return float(np.linalg.norm(u - v))


@pytest.mark.parametrize("disc", [False, True])
@pytest.mark.parametrize("count", [0, 2, 60, 400, 10_000])
def test_plane_neighbours_are_the_nearest_pairs(disc, count):
    rng = np.random.default_rng(3)
    n = 40
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.sqrt(rng.uniform(0, 0.999, n))
    position = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    distance = hyperbolic if disc else euclidean
    pairs = sorted(itertools.permutations(range(n), 2), key=lambda pair: distance(*position[list(pair)]))
    found = plane_neighbors(position, count, hyperbolic=disc)
    assert {tuple(pair) for pair in found.T.tolist()} == set(pairs[:count])
    assert found.shape[1] == min(count, n * (n - 1))


def test_relations_by_brute_force():
    position = np.random.default_rng(0).standard_normal((15, 2))
    index = np.array(list(itertools.permutations(range(15), 2))).T
    for (u, v), relation in zip(index.T, relations(position, index), strict=True):
        horizontal = "left" if position[v, 0] < position[u, 0] else "right"
        vertical = "lower" if position[v, 1] < position[u, 1] else "upper"
        assert ["lower left", "upper left", "lower right", "upper right"][relation] == f"{vertical} {horizontal}"
    assert (relations(position, index) + relations(position, index[::-1]) == 3).all()


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_as_many_neighbours_in_the_plane_as_in_the_graph(embedding, tmp_path):
    edges = random_graph(60, 120)
    found = structural_neighborhood(edges, 60, embedding, folder=tmp_path)
    position = plane_embedding(edges, 60, embedding)
    pairs = {tuple(pair): int(r) for pair, r in zip(found.edge_index.t().tolist(), found.relation, strict=True)}
    assert len(pairs) == found.edge_index.size(1)  # each once
    near = [pair for pair, r in pairs.items() if r >= 4]
    assert len(near) == edges.size(1)
    assert set(map(tuple, edges.t().tolist())) <= set(pairs)
    assert {pair for pair, r in pairs.items() if r < 4} == set(map(tuple, edges.t().tolist())) - set(near)
    assert found.relation.remainder(4).tolist() == relations(position, found.edge_index.numpy()).tolist()


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_directions_and_loops_do_not_matter_but_the_seed_does(embedding, tmp_path):
    edges = random_graph(30, 50)
    one_way = edges[:, edges[0] < edges[1]]
    loops = torch.tensor([[3, 4], [3, 4]])
    first = structural_neighborhood(edges, 30, embedding, folder=tmp_path / "a")
    again = structural_neighborhood(torch.cat([one_way, loops], dim=1), 30, embedding, folder=tmp_path / "b")
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    if embedding != "isomap":  # which is exact here
        other = structural_neighborhood(edges, 30, embedding, seed=1, folder=tmp_path)
        assert not torch.equal(first.relation, other.relation)


@pytest.mark.parametrize("embedding", EMBEDDINGS)
@pytest.mark.parametrize(
    ("edges", "n"),
    [
        ([[0, 1, 3, 4, 5], [1, 2, 4, 5, 3]], 9),  # two components and three nodes without edges
        ([[0] * 9, list(range(1, 10))], 10),  # a star: leaves have the same distances to all others
        ([[0], [1]], 2),
        ([[], []], 4),
        ([[], []], 1),
    ],
)
def test_small_and_disconnected_graphs(embedding, edges, n, tmp_path):
    index = torch.tensor(edges, dtype=torch.long)
    found = structural_neighborhood(index, n, embedding, folder=tmp_path)
    assert int((found.relation >= 4).sum()) == 2 * index.size(1)
    position = plane_embedding(to_undirected(index, num_nodes=n), n, embedding)
    assert np.isfinite(position).all()
    assert len(np.unique(position, axis=0)) == n


def test_answered_from_disk_the_second_time(tmp_path, monkeypatch):
    made = []
    compute = module._compute
    monkeypatch.setattr(module, "_compute", lambda *args: made.append(args) or compute(*args))
    edges = random_graph(20, 30)
    first = structural_neighborhood(edges, 20, "isomap", folder=tmp_path)
    again = structural_neighborhood(edges.flip(0), 20, "isomap", folder=tmp_path)
    assert len(made) == 1
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:40])  # damaged
    structural_neighborhood(edges, 20, "isomap", folder=tmp_path)
    assert len(made) == 2
    structural_neighborhood(edges, 21, "isomap", folder=tmp_path)  # other questions
    structural_neighborhood(edges, 20, "isomap", seed=1, folder=tmp_path)
    structural_neighborhood(edges[:, 1:], 20, "poincare", folder=tmp_path)
    assert len(made) == 5


def test_isomap_is_scikit_learns():
    n = 50
    index = torch.cat([random_graph(n, 60), torch.stack([torch.arange(n - 1), torch.arange(1, n)])], dim=1)
    adjacency = matrix(to_undirected(index), n)
    adjacency.data[:] = 1
    expected = Isomap(n_neighbors=None, radius=1.0, metric="precomputed").fit_transform(adjacency)
    found = isomap(adjacency)
    np.testing.assert_allclose(found * np.sign((found * expected).sum(axis=0)), expected, atol=1e-8)


def test_isomap_places_the_others_by_their_distances_to_landmarks():
    """Where distances fit into the plane, here those along a path, landmarks give them all back."""
    path = csr_matrix(np.eye(50, k=1) + np.eye(50, k=-1))
    position = isomap(path, landmarks=7)
    index = np.arange(50)
    found = np.linalg.norm(position[:, None] - position, axis=2)
    np.testing.assert_allclose(found, np.abs(index[:, None] - index), atol=1e-6)
    assert not np.allclose(position[:, 0], isomap(path)[:, 0])  # whose centre is another


@pytest.mark.parametrize("layout", [isomap, poincare])
def test_two_cliques_are_two_places(layout):
    position = layout(two_cliques(), 0)
    distance = hyperbolic if layout is poincare else euclidean
    pairs = list(itertools.combinations(range(16), 2))
    within = [distance(*position[list(p)]) for p in pairs if (p[0] < 8) == (p[1] < 8)]
    between = [distance(*position[list(p)]) for p in pairs if (p[0] < 8) != (p[1] < 8) and 0 not in p and 8 not in p]
    assert np.mean(within) < 0.6 * np.mean(between)


def test_poincare_draws_neighbours_closer_than_others_and_stays_in_the_disc():
    graph = matrix(random_graph(60, 80), 60)
    position = poincare(graph)
    assert np.linalg.norm(position, axis=1).max() < 1
    linked = np.mean([hyperbolic(position[u], position[v]) for u, v in zip(*graph.nonzero(), strict=True)])
    everyone = np.mean([hyperbolic(position[u], position[v]) for u, v in itertools.combinations(range(60), 2)])
    assert linked < 0.6 * everyone


def test_struc2vec_sees_the_role_and_not_the_place():
    """A barbell: two cliques of 10 joined by a path of 10; a node and its mirror image have the same role."""
    size = 10
    position = struc2vec(_barbell(size), 0)
    n = len(position)
    mirrored = np.mean([euclidean(position[i], position[n - 1 - i]) for i in range(n // 2)])
    everyone = np.mean([euclidean(position[i], position[j]) for i, j in itertools.combinations(range(n), 2)])
    clique, path = range(size - 1), range(size + 2, 2 * size - 2)
    far = np.mean([euclidean(position[i], position[j]) for i in clique for j in path])
    near = np.mean([euclidean(position[i], position[n - 1 - j]) for i in clique for j in clique])
    assert near < 0.5 * far
    assert mirrored < 0.7 * everyone


def _barbell(size: int) -> csr_matrix:
    n = 3 * size
    graph = np.zeros((n, n))
    graph[:size, :size] = graph[-size:, -size:] = 1
    for i in range(size - 1, 2 * size):
        graph[i, i + 1] = graph[i + 1, i] = 1
    np.fill_diagonal(graph, 0)
    return csr_matrix(graph)


@pytest.mark.parametrize("embedding", EMBEDDINGS)
@pytest.mark.parametrize(("name", "n", "edges"), [("texas", 183, 558), ("cornell", 183, 554), ("wisconsin", 251, 900)])
def test_published_files_parse(mirror, embedding, name, n, edges):
    found = published_neighborhood(name, embedding)
    assert found.edge_index.max() == n - 1
    assert set(found.relation.tolist()) == set(range(8))
    graph = found.edge_index[:, found.relation < 4]
    assert 0.95 * edges < graph.size(1) < edges  # less those that are in the plane, too


def test_a_published_line_is_read_as_written(tmp_path):
    file = tmp_path / "outf_nodes_space_relation_film_MDS.txt"
    file.write_text("node1,node2\tspace\trelation_type\n2,0\tgraph\t1\n0,2\tgraph\t2\n0,2\tlatent_space\t2\n")
    found = _parse(file)
    assert found.edge_index.tolist() == [[0, 2], [2, 0]]
    assert found.relation.tolist() == [6, 1]
    file.write_text("node1,node2\tspace\trelation_type\n2,0\tsomewhere\t1\n")
    with pytest.raises(SimPGCNError, match="is not a structural neighbourhood"):
        _parse(file)


def test_no_published_file(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMPGCN_DATA", str(tmp_path))
    monkeypatch.delenv("SIMPGCN_DATA_MIRROR", raising=False)
    with pytest.raises(SimPGCNError, match="is neither in the data home"):
        published_neighborhood("texas", "struc2vec")
    with pytest.raises(SimPGCNError, match="no published struc2vec neighbourhood of cora") as raised:
        published_neighborhood("cora", "struc2vec")
    assert "\n" not in str(raised.value)
