from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lapmodes import DegenerateWarning
from lapmodes.baselines import GaussianMeanShift
from lapmodes.paper.rivals import mean_shift


def kde(X, at, sigma):
    return np.exp(-0.5 * cdist(at, X, "sqeuclidean") / sigma**2).sum(axis=1)


def brute_force(X, sigma, steps=3000):
    """Every point climbs alone, without chunks, merging or stopping; ends are told apart by rounding."""
    Y = X.copy()
    for _ in range(steps):
        K = np.exp(-0.5 * cdist(Y, X, "sqeuclidean") / sigma**2)
        Y = (K @ X) / K.sum(axis=1, keepdims=True)
    return Y, np.unique(Y.round(3), axis=0, return_inverse=True)[1].ravel()


@pytest.fixture
def points():
    return np.random.default_rng(3).normal(size=(150, 2))


@pytest.mark.parametrize("sigma", [0.05, 0.3, 1.0])
def test_a_step_is_the_kernel_weighted_mean_and_raises_the_density(points, sigma):
    Y = points[:40] + 0.2
    K = np.exp(-0.5 * cdist(Y, points, "sqeuclidean") / sigma**2)
    new = mean_shift.shifted(points, Y, sigma)
    np.testing.assert_allclose(new, (K @ points) / K.sum(axis=1, keepdims=True))
    assert (kde(points, new, sigma) >= kde(points, Y, sigma)).all()


def test_far_from_the_data_the_nearest_point_takes_all(points):
    np.testing.assert_allclose(mean_shift.shifted(points, points[:3] + 1e-3, 1e-6), points[:3])


@pytest.mark.parametrize("sigma", [0.25, 0.4])
def test_modes_and_labels_agree_with_brute_force(points, sigma, monkeypatch):
    monkeypatch.setattr(mean_shift, "CHUNK_ENTRIES", 1000)
    model = GaussianMeanShift(bandwidth=sigma).fit(points)
    ends, labels = brute_force(points, sigma)
    assert model.n_modes_ == labels.max() + 1
    np.testing.assert_allclose(model.cluster_centers_[model.labels_], ends, atol=0.01 * sigma)


def test_modes_are_maxima_of_the_density(points):
    model = GaussianMeanShift(bandwidth=0.3).fit(points)
    modes = model.cluster_centers_
    around = 0.03 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    peak = kde(points, modes, 0.3)
    assert all((kde(points, modes + offset, 0.3) < peak).all() for offset in around)
    assert np.linalg.norm(mean_shift.shifted(points, modes, 0.3) - modes, axis=1).max() < 1e-4 * 0.3


@pytest.mark.parametrize("K", [1, 2, 5, 150])
def test_the_search_finds_the_number_of_modes(points, K):
    model = GaussianMeanShift(K).fit(points)
    assert model.n_modes_ == K == len(np.unique(model.labels_)) == len(model.cluster_centers_)
    again = GaussianMeanShift(bandwidth=model.bandwidth_).fit(points)
    np.testing.assert_array_equal(again.labels_, model.labels_)


def test_a_number_that_is_jumped_past_is_said():
    # The corners of a square, by symmetry, are four modes or one.
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    with pytest.warns(DegenerateWarning, match="exactly 3 modes .* nearest number above .* is 4"):
        model = GaussianMeanShift(3).fit(X)
    assert model.n_modes_ == 4


def test_too_few_distinct_points_are_said():
    with pytest.warns(DegenerateWarning, match="too few distinct points, and the largest number is 2"):
        assert GaussianMeanShift(3).fit([[0.0], [0.0], [1.0], [1.0]]).n_modes_ == 2


def test_chunks_do_not_change_components(points, monkeypatch):
    whole = mean_shift.linked(points, 0.3)
    monkeypatch.setattr(mean_shift, "CHUNK_ENTRIES", 700)
    np.testing.assert_array_equal(mean_shift.linked(points, 0.3), whole)
    close = cdist(points, points) <= 0.3
    reach = np.linalg.matrix_power(close.astype(float), 150) > 0
    np.testing.assert_array_equal(whole[:, None] == whole, reach)


def test_representatives_stand_for_themselves_and_are_near(points):
    lead = mean_shift.representatives(points, 0.2)
    np.testing.assert_array_equal(lead[lead], lead)
    assert np.linalg.norm(points - points[lead], axis=1).max() <= 0.2
    assert len(np.unique(lead)) < len(points)


def test_float32_and_offsets_do_no_harm(points):
    model = GaussianMeanShift(bandwidth=0.3).fit(points)
    moved = GaussianMeanShift(bandwidth=0.3).fit((points + 50).astype(np.float32))
    assert moved.cluster_centers_.dtype == np.float32
    np.testing.assert_array_equal(moved.labels_, model.labels_)


def test_both_a_number_and_a_bandwidth_are_refused(points):
    with pytest.raises(ValueError, match="'n_clusters' or 'bandwidth', not both"):
        GaussianMeanShift(2, bandwidth=1.0).fit(points)


def test_without_either_the_bandwidth_is_the_seventh_neighbour(points):
    model = GaussianMeanShift().fit(points)
    assert model.bandwidth_ == pytest.approx(np.sort(cdist(points, points), axis=1)[:, 7].mean())
