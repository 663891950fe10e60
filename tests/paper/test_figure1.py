import numpy as np
import pytest

from lapmodes.datasets import make_rotated_digit
from lapmodes.paper import figure1
from lapmodes.paper.results import Setting


@pytest.fixture(scope="module")
def result():
    return figure1.run(Setting(quick=True))


def test_claims_hold(result):
    assert all(claim.holds for claim in result.claims)


def test_mean_is_the_mean_and_distances_are_to_the_nearest_image():
    X, _ = make_rotated_digit()
    mean, wide, narrow, mode = figure1.centroids(X)
    assert np.allclose(mean.centroids, X.mean(axis=0))
    assert len(wide.centroids) == len(mode.centroids) == 1 < len(narrow.centroids)
    for each in (mean, wide, narrow, mode):
        brute = [min(np.linalg.norm(x - c) for x in X) for c in each.centroids]
        assert np.allclose(each.distances, brute)


def test_picture_shows_data_and_centroids(result):
    (picture,) = result.pictures
    shown = [ax for ax in picture.figure.axes if ax.images]
    assert len(shown) == 7 + 3 + 7
    labels = " ".join(ax.get_xlabel() for ax in shown)
    assert all(name in labels for name in ("K-means", "mean-shift", "Laplacian"))
