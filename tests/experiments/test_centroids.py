"""Figures 5 and 6, on scikit-learn's digits in place of the images that have to be downloaded."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from lapmodes._progress import CallableProgress
from lapmodes.datasets import DataNotFoundError
from lapmodes.experiments import figure5, figure6
from lapmodes.experiments._centroids import centroids_of, claims, compare, spread, summary
from lapmodes.experiments._exhibit import Setting


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return normalize(X[:600]).astype(np.float32), y[:600]


@pytest.fixture(scope="module")
def comparison(digits):
    steps = []
    watch = CallableProgress(lambda name, done, total, info: steps.append((done, total)))
    found = compare(*digits, figure5.RECIPE, 2, search=False, progress=watch)
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
    table = summary("figure5", comparison, figure5.RECIPE)
    cells = {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert cells["Laplacian K-modes"]["published ACC/NMI"] == "70.5/68.8"
    assert "±" in cells["K-means"]["ACC"] and "±" not in cells["Mean-shift"]["ACC"]


@pytest.mark.parametrize("number", [5, 6])
def test_exhibits(number, digits, monkeypatch):
    X, y = digits
    module = {5: figure5, 6: figure6}[number]
    K = module.RECIPE.n_clusters
    monkeypatch.setattr(figure5, "fetch_mnist", lambda **_: (X, y))
    monkeypatch.setattr(figure6, "fetch_coil20", lambda **_: (X, y))
    exhibit = module.run(Setting(quick=True))
    (picture,) = exhibit.pictures
    assert len(picture.figure.axes) == 5 * K
    first = picture.figure.axes[0].images[0].get_array()
    assert first.shape == (8, 8) and first.min() >= 0


def test_missing_data_is_said(monkeypatch):
    def missing(**_):
        raise DataNotFoundError("not here")

    monkeypatch.setattr(figure6, "fetch_coil20", missing)
    with pytest.raises(DataNotFoundError):
        figure6.run(Setting(quick=True))


def test_spread():
    assert spread([1.0, 3.0], 1) == "2.0 ± 1.0"
    assert spread([0.12345], 2) == "0.12"


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
