from __future__ import annotations

import numpy as np
import pytest

from lapmodes.baselines import KMeans


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
