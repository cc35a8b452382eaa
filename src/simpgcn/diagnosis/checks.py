r"""Quick classifiers, each seeing a node through one source: trained on training nodes, scored on validation nodes.

``knn``
    a vote of the training nodes that look most like it;
``mlp``
    its own features;
``graph``
    a straight line through :math:`\hat{\mathbf{A}}^2 \mathbf{X}`, what a GCN sees;
``look-alikes``
    the same through :math:`\hat{\mathbf{A}}_f^2 \mathbf{X}`;
``together``
    what SimP-GCN can weigh: the better of two straight lines, through the three views side by side, and through the
    graph's beside :math:`\mathbf{M}^2 \mathbf{X}` with the half-way mix
    :math:`\mathbf{M} = (\hat{\mathbf{A}} + \hat{\mathbf{A}}_f) / 2`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import normalize

# Labelled nodes used at most: 2,000 to score tell a difference of two points from none.
MOST_TRAINED = 1000
MOST_SCORED = 2000

Rows = Any  # a SciPy CSR matrix or a dense array


class Lead(NamedTuple):
    """By how much one check is more accurate than another on the same nodes, and the standard error of that.

    ``clear`` leads are beyond what the choice of the nodes explains: two standard errors.
    """

    ahead: float
    error: float

    @property
    def clear(self) -> bool:
        """Whether the lead is more than two standard errors.

        >>> Lead(0.1, 0.02).clear, Lead(0.1, 0.06).clear
        (True, False)
        """
        return self.ahead > 2 * self.error


@dataclass(frozen=True)
class Checks:
    """Which of the scored nodes each check got right.

    >>> checks = Checks(5, {"graph": np.array([1, 1, 0, 0], bool), "mlp": np.array([1, 0, 0, 0], bool)})
    >>> checks.accuracy("graph"), checks.lead("graph", "mlp").ahead
    (0.5, 0.25)
    """

    trained_on: int
    right: dict[str, np.ndarray]

    @property
    def scored_on(self) -> int:
        """How many validation nodes were asked."""
        return len(next(iter(self.right.values())))

    def accuracy(self, name: str) -> float:
        """The share of the scored nodes that a check got right."""
        return float(self.right[name].mean())

    def lead(self, name: str, other: str) -> Lead:
        """How far one check is ahead of another; the error is that of paired answers, with one more for few nodes."""
        ours, theirs = self.right[name], self.right[other]
        count = self.scored_on
        won, lost = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
        variance = won + lost + 1 - (won - lost) ** 2 / count
        return Lead((won - lost) / count, max(variance, 1) ** 0.5 / count)


def run_checks(
    x: Rows,
    structure: sparse.csr_matrix,
    features: sparse.csr_matrix,
    y: np.ndarray,
    train: np.ndarray,
    val: np.ndarray,
) -> Checks:
    """Train and score every check.

    Args:
        x: Features as the model sees them.
        structure, features: The two normalised graphs of a SimP-GCN layer.
        y: Class numbers, read at ``train`` and ``val`` only.
        train, val: Node numbers; see :func:`sample_nodes`.

    >>> x = np.repeat(np.eye(2), 10, axis=0)
    >>> alone, alike = sparse.eye(20, format="csr"), sparse.csr_matrix(x @ x.T / 10)
    >>> nodes = np.arange(20)
    >>> checks = run_checks(x, alone, alike, nodes // 10, nodes[::2], nodes[1::2])
    >>> checks.accuracy("mlp"), checks.accuracy("look-alikes")
    (1.0, 1.0)
    """
    rows = np.concatenate([train, val])
    own, graph, alike, mixed = (
        _at_unit_scale(view)
        for view in (
            x[rows],
            _two_hops(structure, x, rows),
            _two_hops(features, x, rows),
            _two_hops(((structure + features) / 2).tocsr(), x, rows),
        )
    )
    labels, wanted = y[train], y[val]

    def right(classifier: Any, view: Rows) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a quick check need not go to the end
            fitted = classifier.fit(view[: len(train)], labels)
        found: np.ndarray = fitted.predict(view[len(train) :]) == wanted
        return found

    line = LogisticRegression(C=10.0, max_iter=100, tol=1e-3)
    together = [right(line, _side_by_side(own, graph, alike)), right(line, _side_by_side(graph, mixed))]
    return Checks(
        len(train),
        {
            "knn": right(KNeighborsClassifier(min(10, len(train)), metric="cosine", algorithm="brute"), normalize(own)),
            "mlp": right(
                MLPClassifier((64,), alpha=0.1, learning_rate_init=0.01, max_iter=50, random_state=0),
                own,
            ),
            "graph": right(line, graph),
            "look-alikes": right(line, alike),
            "together": max(together, key=lambda answers: int(answers.sum())),
        },
    )


def sample_nodes(nodes: np.ndarray, y: np.ndarray, most: int) -> np.ndarray:
    """At most ``most`` of ``nodes``, drawn at random but with every class among them.

    >>> sample_nodes(np.arange(6), np.array([0, 0, 0, 0, 0, 1]), 2).tolist()[-1]
    5
    """
    if len(nodes) <= most:
        return nodes
    drawn = np.random.default_rng(0).permutation(nodes)
    _, first = np.unique(y[drawn], return_index=True)
    rest = np.delete(drawn, first)
    return np.sort(np.concatenate([drawn[first], rest[: max(most - len(first), 0)]]))


def _two_hops(matrix: sparse.csr_matrix, x: Rows, rows: np.ndarray) -> Rows:
    """Rows of ``matrix @ matrix @ x``, by way of the neighbours alone."""
    near = matrix[rows]
    needed = np.unique(near.indices)
    return near[:, needed] @ (matrix[needed] @ x)


def _at_unit_scale(view: Rows) -> Rows:
    """Rows of length 1 on average, which makes one penalty fit all views; dense where that is smaller."""
    if sparse.issparse(view) and view.nnz > 0.15 * view.shape[0] * view.shape[1]:
        view = view.toarray()
    square = view.multiply(view).sum() if sparse.issparse(view) else np.square(view).sum()
    return view / max(float(square / view.shape[0]) ** 0.5, 1e-12)


def _side_by_side(*views: Rows) -> Rows:
    if any(sparse.issparse(view) for view in views):
        return sparse.hstack(views, format="csr")
    return np.hstack(views)
