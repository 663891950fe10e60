"""Spectral starts: leading eigenvectors, by whichever of the three ways, and what they separate."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from reference import neighbor_graph
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from lapmodes.graph import laplacian
from lapmodes.graph.laplacian import build_graph, smooth_vectors
from lapmodes.start.spectral import spectral_labels


def normalized(graph):
    root = 1 / np.sqrt(graph.degrees)
    return (root[:, None] * graph.affinity.toarray()) * root


@pytest.mark.parametrize("way", ["dense", "shift-invert", "iterative"])
def test_smooth_vectors_are_eigenvectors(way, monkeypatch):
    """The largest eigenvalues of the matrix are those of its restriction to what was found."""
    monkeypatch.setattr(laplacian, "DENSE_POINTS", 10**6 if way == "dense" else 0)
    monkeypatch.setattr(laplacian, "LONG_HOPS", 0 if way == "shift-invert" else 10**6)
    graph = build_graph(neighbor_graph(np.random.default_rng(0).normal(size=(700, 2))))
    S = normalized(graph)
    U = smooth_vectors(graph, 4, np.random.RandomState(0))
    values = np.linalg.eigvalsh(S)[-4:]
    np.testing.assert_allclose(np.linalg.eigvalsh(U.T @ S @ U), values, atol=1e-6)
    np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-6)


def test_a_long_chain_is_solved_exactly():
    n = 3000
    graph = build_graph(sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[1, -1]).tocsr())
    U, root = smooth_vectors(graph, 3, np.random.RandomState(0)), sp.diags_array(1 / np.sqrt(graph.degrees))
    found = np.linalg.eigvalsh(U.T @ (root @ graph.affinity @ root @ U))
    np.testing.assert_allclose(found[::-1], np.cos(np.pi * np.arange(3) / (n - 1)), atol=1e-9)  # a walk on a path


def test_moons_are_separated():
    X, y = make_moons(400, noise=0.05, random_state=0)
    labels = spectral_labels(build_graph(neighbor_graph(X)), 2, np.random.RandomState(0))
    assert adjusted_rand_score(y, labels) == 1


def test_separate_parts_and_isolated_points_are_no_trouble():
    W = sp.block_diag([sp.csr_array(np.ones((20, 20))), np.ones((30, 30)), np.zeros((1, 1))]).tocsr()
    labels = spectral_labels(build_graph(W), 2, np.random.RandomState(0))
    assert labels.shape == (51,)
    assert adjusted_rand_score(np.repeat([0, 1], (20, 30)), labels[:50]) == 1
