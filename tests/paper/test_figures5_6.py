"""Figures 5 and 6, on scikit-learn's digits in place of the images that have to be downloaded."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from lapmodes._progress import CallableProgress
from lapmodes.paper import figures5_6
from lapmodes.paper.figures5_6 import FIGURE5, FIGURE6, centroids_of, claims, compare, mean_and_deviation, summary
from lapmodes.paper.reproduce import EXPERIMENTS
from lapmodes.paper.results import Setting


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return normalize(X[:600]).astype(np.float32), y[:600]


@pytest.fixture(scope="module")
def comparison(digits):
    steps = []
    watch = CallableProgress(lambda name, done, total, info: steps.append((done, total)))
    found = compare(*digits, FIGURE5, Setting(quick=True, progress=watch))
    assert steps[-1] == (3, 3)
    return found


def test_centroids_are_compared_with_their_nearest_image(digits):
    X, y = digits
    found = centroids_of("some", "", X, y, X[[3, 5]] + np.float32(0.01), np.zeros(len(X), dtype=int))
    assert found.classes.tolist() == y[[3, 5]].tolist()
    assert np.allclose(found.distances, 0.01 * np.sqrt(X.shape[1]), rtol=1e-3)
    assert found.sizes.tolist() == [len(X), 0]


def test_modes_are_sharper_than_means(comparison):
    sharp, _, few = claims(comparison)
    assert sharp.holds and few.measured.endswith(f"of {comparison.modes.sizes.sum()}.")
    for start in comparison.starts:
        assert [found.name for found in start] == [
            "K-means",
            "K-modes",
            "Laplacian K-modes",
            "Laplacian K-modes, homotopy",
        ]
        assert all(found.sizes.sum() == 600 for found in start)


def test_claims_can_fail(comparison):
    dull = [[replace(found, distances=np.ones(10)) for found in start] for start in comparison.starts]
    even = replace(comparison.modes, sizes=np.full(10, 60))
    sharp, _, few = claims(replace(comparison, starts=dull, modes=even))
    assert not sharp.holds and not few.holds


def test_summary_has_published_figures_beside_the_measured(comparison):
    table = summary(comparison, FIGURE5)
    cells = {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert cells["Laplacian K-modes"]["published ACC/NMI"] == "70.5/68.8"
    assert "±" in cells["K-means"]["ACC"] and "±" not in cells["Mean-shift"]["ACC"]


@pytest.mark.parametrize("figure", [FIGURE5, FIGURE6], ids=lambda figure: figure.name)
def test_picture_has_a_row_for_each_algorithm(figure, digits, monkeypatch):
    monkeypatch.setattr(figures5_6, "fetch_mnist", lambda **_: digits)
    monkeypatch.setattr(figures5_6, "fetch_coil20", lambda **_: digits)
    result = EXPERIMENTS[figure.name](Setting(quick=True))
    (picture,) = result.pictures
    assert len(picture.figure.axes) == 5 * figure.n_clusters
    first = picture.figure.axes[0].images[0].get_array()
    assert first.shape == (8, 8) and first.min() >= 0


def test_mean_and_deviation():
    assert mean_and_deviation([1.0, 3.0], 1) == "2.0 ± 1.0"
    assert mean_and_deviation([0.12345], 2) == "0.12"


def test_classes_are_claimed_for_the_papers_setting_only(comparison):
    def with_classes(kmodes, plain, homotopy):
        counts = (5, kmodes, plain, homotopy)
        starts = [
            [replace(found, classes=np.arange(10) % n) for found, n in zip(start, counts, strict=True)]
            for start in comparison.starts
        ]
        return claims(replace(comparison, starts=starts))[1]

    assert with_classes(6, 7, 5).holds
    assert not with_classes(6, 5, 9).holds
