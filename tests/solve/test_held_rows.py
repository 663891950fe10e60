"""Pinned rows: the reduced problem against the whole one, and labels that spread."""

import numpy as np
import pytest
from reference import energy, quadratic
from scipy.optimize import minimize
from sklearn.metrics import adjusted_rand_score

from lapmodes import LaplacianKModes
from lapmodes.graph.laplacian import balanced, build_graph
from lapmodes.solve.partial import make_pins, solve_pinned, spread_labels


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((12, 12)) * (rng.random((12, 12)) < 0.4), 1)
    from scipy.sparse import csr_array

    known = np.full(12, -1)
    known[[0, 5, 7]] = [0, 1, 2]
    return build_graph(csr_array(A + A.T)), rng.random((12, 3)), known


@pytest.mark.parametrize("balance", [0.0, 2.0])
@pytest.mark.parametrize("lam", [0.1, 1.0, 10.0])
def test_pinned_step_is_the_constrained_minimum(problem, lam, balance):
    graph, B, known = problem
    graph = balanced(graph, balance)
    L = quadratic(graph)
    Z0 = np.full((12, 3), 1 / 3)
    found = solve_pinned(graph, B, lam, Z0, make_pins(graph, known, 3, float), tol=1e-8)
    np.testing.assert_array_equal(found.Z[[0, 5, 7]], np.eye(3))
    assert found.energy == pytest.approx(energy(L, B, lam, found.Z))
    held = [(0, 1) if known[n] < 0 else (float(known[n] == k),) * 2 for n in range(12) for k in range(3)]
    reference = minimize(
        lambda z: energy(L, B, lam, z.reshape(12, 3)),
        found.Z.ravel(),
        jac=lambda z: (2 * lam * L @ z.reshape(12, 3) - B).ravel(),
        bounds=held,
        constraints={"type": "eq", "fun": lambda z: z.reshape(12, 3).sum(axis=1) - 1},
    )
    assert found.energy <= reference.fun + 1e-6


def blobs():
    rng = np.random.default_rng(1)
    return np.concatenate([rng.normal(size=(60, 2)) + np.array([6 * i, 0]) for i in range(3)]), np.repeat([0, 1, 2], 60)


def test_one_label_a_class_names_the_clusters():
    X, y = blobs()
    for order in ([2, 0, 1], [1, 2, 0]):
        known = np.full(180, -1)
        known[[3, 63, 123]] = order
        model = LaplacianKModes(3, random_state=0).fit(X, known)
        assert (model.labels_ == np.asarray(order)[y]).mean() > 0.98
        np.testing.assert_array_equal(model.assignments_[[3, 63, 123]], np.eye(3)[order])


def test_labels_spread_over_the_graph():
    X, y = blobs()
    model = LaplacianKModes(3, random_state=0).fit(X)
    known = np.full(180, -1)
    known[[3, 63, 123]] = [0, 1, 2]
    graph = build_graph(model.graph_)
    reached = graph.component == graph.component[3]
    assert (spread_labels(graph, known, 3) == y)[reached].mean() > 0.9


def test_complete_labels_are_ignored_and_wrong_ones_refused():
    X, y = blobs()
    plain = LaplacianKModes(3, random_state=0).fit(X)
    np.testing.assert_array_equal(plain.labels_, LaplacianKModes(3, random_state=0).fit(X, y).labels_)
    with pytest.raises(ValueError, match=r"'y' must hold clusters from 0 to n_clusters - 1 = 2"):
        LaplacianKModes(3).fit(X, np.where(y == 2, -1, y + 5))


def test_must_link_joins_its_ends():
    X, y = blobs()
    free = LaplacianKModes(3, random_state=0).fit(X)
    pair = np.array([[0, 70]])
    assert free.labels_[0] != free.labels_[70]
    model = LaplacianKModes(3, random_state=0).fit(X, must_link=pair)
    assert model.labels_[0] == model.labels_[70]
    assert adjusted_rand_score(y, model.labels_) > 0.9
    with pytest.raises(ValueError, match="'must_link' must hold samples from 0 to 179"):
        LaplacianKModes(3).fit(X, must_link=[[0, 180]])
