from __future__ import annotations

import sys
from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lapmodes.baselines import KMeans, KMedoids


def test_centers_are_means_and_the_objective_is_the_inertia(blobs):
    X, _ = blobs
    model = KMeans(3, random_state=0).fit(X)
    means = np.array([X[model.labels_ == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(model.cluster_centers_, means)
    assert model.objective_ == pytest.approx(np.square(X - means[model.labels_]).sum())


def test_random_starts_are_passed_on(blobs):
    X, _ = blobs
    objectives = {KMeans(8, init="random", n_init=1, random_state=seed).fit(X).objective_ for seed in range(5)}
    assert len(objectives) > 1


def test_medoids_agree_with_brute_force():
    pytest.importorskip("kmedoids")
    X = np.random.default_rng(0).normal(size=(14, 2))
    model = KMedoids(3, random_state=0).fit(X)
    D = cdist(X, X)
    least = min(D[:, list(trio)].min(axis=1).sum() for trio in combinations(range(14), 3))
    assert model.objective_ == pytest.approx(least)
    assert D[:, model.medoid_indices_].min(axis=1).sum() == pytest.approx(least)
    np.testing.assert_array_equal(model.labels_, D[:, model.medoid_indices_].argmin(axis=1))
    np.testing.assert_array_equal(model.cluster_centers_, X[model.medoid_indices_])


def test_other_distances_are_used():
    pytest.importorskip("kmedoids")
    X = np.random.default_rng(1).normal(size=(30, 3))
    model = KMedoids(2, metric="cityblock", random_state=0).fit(X)
    assert model.objective_ == pytest.approx(cdist(X, model.cluster_centers_, "cityblock").min(axis=1).sum())


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "kmedoids", None)
    with pytest.raises(ImportError, match=r"pip install 'lapmodes\[baselines\]'"):
        KMedoids(2).fit(np.eye(4))
