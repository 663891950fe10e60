"""The scan over numbers of clusters."""

import warnings

import numpy as np
import pytest

from lapmodes import LaplacianKModes, select
from lapmodes.selection import TABLE


@pytest.fixture(scope="module")
def four():
    rng = np.random.default_rng(0)
    return np.concatenate(
        [rng.normal(size=(60, 2)) + centre for centre in np.array([[0, 0], [9, 0], [0, 10], [11, 11]])]
    )


@pytest.fixture(scope="module")
def found(four):
    return select(four, range(2, 8), random_state=0)


def test_clear_clusters_are_counted(found):
    assert found.n_clusters == found.preferred["agreement"] == 4
    assert set(found.preferred) == {"agreement", "stability", "eigengap", "valley"}
    assert str(found).startswith("4 clusters recommended.")


def test_table_has_one_row_a_number(found):
    assert found.table.dtype == TABLE
    np.testing.assert_array_equal(found.table["n_clusters"], np.arange(2, 8))
    assert (found.table["gap"] >= 0).all()
    assert ((found.table["agreement"] <= 1) & (found.table["cut"] >= 0) & (found.table["cut"] <= 1)).all()
    assert all(np.unique(found.labels[K]).size == K for K in range(2, 8))


def test_true_clusters_are_stable_and_halves_of_them_are_not(found):
    stability = dict(zip(found.table["n_clusters"], found.table["stability"], strict=True))
    assert stability[4] == 1
    assert stability[7] < 0.99


def test_a_path_has_a_row_for_each_step(four):
    path = [(lam, 1.0) for lam in (0.01, 1.0, 1e3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = select(four, [3, 4], path=path, random_state=0)
    assert found.table["n_clusters"].tolist() == [3] * 3 + [4] * 3
    np.testing.assert_array_equal(found.table["lam"][:3], [lam for lam, _ in path])
    own = found.table[found.table["n_clusters"] == found.n_clusters]
    assert found.n_clusters == 4
    assert own["support"][own["lam"] == found.lam] == own["support"].max()
    assert np.unique(found.labels[4]).size == 4


def test_scale_does_not_matter(four, found):
    other = select(1e4 * four, range(2, 8), random_state=0)
    np.testing.assert_allclose(other.table["agreement"], found.table["agreement"])


def test_disagreement_is_reported():
    X = np.random.default_rng(3).normal(size=(300, 2))
    found = select(X, range(2, 12), random_state=0)
    assert found.unanimous == all(abs(K - found.n_clusters) <= 1 for K in found.preferred.values())
    assert ("disagree" in str(found)) != found.unanimous


def test_given_graph_has_no_valleys(four):
    W = LaplacianKModes(2, random_state=0).fit(four).graph_
    found = select(four, [2, 3, 4], graph=W, random_state=0)
    assert np.isnan(found.table["valley"]).all()
    assert "valley" not in found.preferred


def test_plot_marks_the_recommendation(found):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    ax = found.plot(figure.subplots())
    assert [line.get_label() for line in ax.lines][:4] == list(found.preferred)


def test_bad_requests(four):
    with pytest.raises(ValueError, match="at least 2"):
        select(four, [1, 2])
    with pytest.raises(ValueError, match="leave 'init' out"):
        select(four, init="k-means")
    with pytest.raises(ValueError, match="needs a graph"):
        select(four, [2], lam=0.0)


def test_progress_is_told():
    X = np.random.default_rng(0).normal(size=(60, 2)) + 9 * np.repeat([[0], [1]], 30, axis=0)
    told = []
    select(X, [2, 3, 4], random_state=0, callback=lambda *step: told.append(step))
    assert [step[:3] for step in told if step[0] == "select"] == [("select", 1, 3), ("select", 2, 3), ("select", 3, 3)]
