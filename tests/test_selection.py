"""The scan over numbers of clusters."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import NearestNeighbors

from lapmodes import KModes, LaplacianKModes, Selection, load, select
from lapmodes._n_clusters import TABLE, _conclusion

CORNERS = np.array([[0, 0], [9, 0], [0, 10], [11, 11]])


@pytest.fixture(scope="module")
def four():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(60, 2)) + corner for corner in CORNERS])


@pytest.fixture(scope="module")
def found(four):
    return select(four, range(2, 8), random_state=0)


def test_clear_clusters_are_counted(found):
    assert found.n_clusters == 4
    assert set(found.preferred) == {"agreement", "stability", "eigengap", "valley"}
    assert adjusted_rand_score(np.repeat(range(4), 60), found.labels[4]) == 1


@pytest.mark.parametrize("K", [2, 3, 5, 7])
def test_other_numbers_of_clear_clusters_are_counted(K):
    rng = np.random.default_rng(K)
    angle = 2 * np.pi * np.arange(K) / K
    X = np.concatenate([rng.normal(size=(50, 2)) + 4 * K * np.array([np.cos(a), np.sin(a)]) for a in angle])
    assert select(X, range(2, 10), random_state=0).n_clusters == K


def test_each_row_is_the_default_fit_of_that_number(four, found):
    """One graph for all numbers gives the models that each would have by itself."""
    np.testing.assert_array_equal(found.table["n_clusters"], np.arange(2, 8))
    for row in found.table:
        model = LaplacianKModes(int(row["n_clusters"]), random_state=0).fit(four)
        np.testing.assert_array_equal(found.labels[model.n_clusters], model.labels_)
        assert (row["lam"], row["bandwidth"]) == (pytest.approx(model.lam_), pytest.approx(model.bandwidth_))
        assert (row["objective"], row["gap"]) == (pytest.approx(model.objective_), pytest.approx(model.gap_))
        assert row["smallest"] == np.unique(model.labels_, return_counts=True)[1].min()


def test_the_best_cut_is_between_the_clusters(found):
    cut = dict(zip(found.table["n_clusters"].tolist(), found.table["cut"], strict=True))
    assert ((found.table["cut"] >= 0) & (found.table["cut"] <= 1)).all()
    assert cut[4] < 0.01 < cut[7]


def test_true_clusters_are_stable_and_halves_of_them_are_not(found):
    stability = dict(zip(found.table["n_clusters"].tolist(), found.table["stability"], strict=True))
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
    for name in ("agreement", "stability", "cut", "support"):
        np.testing.assert_allclose(other.table[name], found.table[name], atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("others", "unanimous"),
    [([4, 4, 4], True), ([5, 4, 3], True), ([4, 6, 4], False), ([2, 4, 4], False), ([9, 9, 9], False)],
)
def test_criteria_agree_within_one(others, unanimous):
    preferred = dict(zip(("agreement", "stability", "eigengap", "valley"), [4, *others], strict=True))
    found = Selection(4, 1.0, 1.0, np.empty(0, dtype=TABLE), preferred, {})
    assert found.unanimous is unanimous
    assert found.verdict == ("clear" if unanimous else "disputed")
    assert str(found).startswith("4 clusters recommended")
    assert ("disagree" in str(found)) is not unanimous
    assert all(f"{name} {K}" in str(found) for name, K in preferred.items())


def test_criteria_disagree_about_a_heap_and_agree_about_clear_clusters():
    heap = np.random.default_rng(3).normal(size=(300, 2))
    assert not select(heap, range(2, 12), random_state=0).unanimous
    clear = heap + 12 * np.repeat([[0], [1], [2]], 100, axis=0)
    assert select(clear, range(2, 7), random_state=0).unanimous


def test_given_graph_has_no_valleys(four):
    W = LaplacianKModes(2, random_state=0).fit(four).graph_
    found = select(four, [2, 3, 4], graph=W, random_state=0)
    assert np.isnan(found.table["valley"]).all()
    assert "valley" not in found.preferred


def test_a_single_family_of_candidates_is_no_agreement():
    """On a given graph in many dimensions there are communities only, which agree with themselves on any number."""
    X = np.random.default_rng(0).normal(size=(240, 60)) + 9 * np.repeat(np.eye(4, 60), 60, axis=0)
    W = LaplacianKModes(2, random_state=0).fit(X).graph_
    found = select(X, range(2, 9), graph=W, random_state=0)
    assert np.isnan(found.table["agreement"]).all()
    assert found.n_clusters == 4


def test_given_neighbours_give_the_same_table(four, found):
    distances, indices = NearestNeighbors(n_neighbors=20).fit(four).kneighbors()
    other = select(four, range(2, 8), neighbors=(indices, distances), random_state=0)
    assert other.n_clusters == 4
    np.testing.assert_allclose(other.table["agreement"], found.table["agreement"])


def test_samples_without_weight_do_not_count(four):
    weight = np.r_[np.ones(240), np.zeros(60)]
    noise = np.random.default_rng(1).uniform(-5, 15, size=(60, 2))
    found = select(np.concatenate([four, noise]), range(2, 7), sample_weight=weight, random_state=0)
    alone = select(four, range(2, 7), random_state=0)
    np.testing.assert_allclose(found.table["agreement"], alone.table["agreement"])
    assert found.labels[4].shape == (300,)
    np.testing.assert_array_equal(found.labels[4][:240], alone.labels[4])


def test_plot_marks_the_recommendation(found):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    ax = found.plot(figure.subplots())
    assert [line.get_label() for line in ax.lines][:4] == list(found.preferred)
    assert list(ax.lines[4].get_xdata()) == [4, 4]


def test_bad_requests(four):
    with pytest.raises(ValueError, match="at least 2"):
        select(four, [1, 2])
    with pytest.raises(ValueError, match="leave 'init' out"):
        select(four, init="k-means")
    with pytest.raises(ValueError, match="needs a graph"):
        select(four, [2], lam=0.0)


def test_progress_is_told(four):
    told = []
    select(four[:60], [2, 3, 4], random_state=0, verbose=lambda *step: told.append(step))
    assert [step[:3] for step in told if step[0] == "select"] == [("select", 1, 3), ("select", 2, 3), ("select", 3, 3)]


# Draws of nine tenths of the points may leave some with fewer neighbours than the whole has.


def heaps(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2)) + 6 * np.repeat(np.eye(3, 2), -(-n // 3), axis=0)[:n]


AWKWARD = {
    "rounded": np.round(heaps(300)),
    "rounded hard": np.round(heaps(300) / 3),
    "duplicated": np.repeat(heaps(60), 5, axis=0),
    "copies of few": np.repeat(heaps(9), 30, axis=0),
    "tiny": heaps(12),
    "very tiny": heaps(6),
    "four points": heaps(4),
    "a line": np.arange(16.0)[:, None],
    "a heap and far points": np.concatenate([heaps(100), [[100.0, 100], [-100, 100], [100, -100]]]),
    "one column constant": heaps(80) * [1, 0],
    "small, many columns": np.random.default_rng(0).normal(size=(20, 50)),
}


@pytest.mark.filterwarnings("ignore::lapmodes.DegenerateWarning", "ignore::lapmodes.InputWarning")
@pytest.mark.parametrize("n_neighbors", [2, 10, 30])
@pytest.mark.parametrize("name", AWKWARD)
def test_draws_with_fewer_neighbours_are_no_error(name, n_neighbors):
    X = AWKWARD[name]
    found = select(X, random_state=0, n_neighbors=n_neighbors)
    assert 1 <= found.n_clusters <= max(2, np.sqrt(len(X)))
    for field in ("agreement", "stability", "support"):
        values = found.table[field][~np.isnan(found.table[field])]
        assert ((values >= -1) & (values <= 1)).all(), field
    refit = LaplacianKModes(found.n_clusters, n_neighbors=n_neighbors, random_state=0).fit(X)
    np.testing.assert_array_equal(refit.labels_, found.labels[found.n_clusters])


# Honesty: no clear clusters, a second look, a spread, and the estimator's own choice.

ONE_HEAP = {
    "a Gaussian": lambda rng: rng.normal(size=(300, 2)),
    "a box": lambda rng: rng.uniform(size=(300, 2)),
    "many dimensions": lambda rng: rng.normal(size=(200, 20)),
    "a line": lambda rng: rng.normal(size=(200, 1)),
}


@pytest.mark.parametrize("name", ONE_HEAP)
def test_one_heap_has_no_clear_clusters(name):
    X = ONE_HEAP[name](np.random.default_rng(0))
    found = select(X, range(2, 7), random_state=0)
    assert (found.n_clusters, found.verdict) == (1, "none")
    assert found.also == min(found.preferred.values()) and f"look at {found.also}" in str(found)
    np.testing.assert_array_equal(found.labels[1], 0)


def test_another_number_is_named_where_criteria_disagree():
    preferred = {"agreement": 4, "stability": 2, "eigengap": 7, "valley": 2}
    table = np.zeros(6, dtype=TABLE)
    table["n_clusters"], table["valley"] = np.arange(2, 8), 0.5
    for name, K in preferred.items():
        table[name][K - 2] = 1.0
    found = _conclusion(table, {K: np.zeros(3, int) for K in range(2, 8)}, 2)
    assert (found.n_clusters, found.also, found.verdict) == (4, 2, "disputed")
    assert found.preferred == preferred


def test_the_spread_covers_what_other_orders_of_the_rows_give():
    """Clusters that overlap: the stability moves with the draws, by about as much as the spread says."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2)) + 2.2 * np.repeat(np.eye(3, 2), 50, axis=0)
    found = [select(X[rng.permutation(150)], [3], random_state=i).table for i in range(4)]
    stability, spread = np.array([(table["stability"][0], table["spread"][0]) for table in found]).T
    assert (spread > 0).all()
    assert np.ptp(stability) <= 4 * spread.max()


def test_the_estimator_leaves_the_number_to_select(four, tmp_path):
    model = LaplacianKModes("auto", random_state=0).fit(four)
    assert (model.n_clusters, model.n_clusters_) == ("auto", 4)
    np.testing.assert_array_equal(model.labels_, LaplacianKModes(4, random_state=0).fit(four).labels_)
    model.save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert again.n_clusters_ == 4 and again.predict_proba(four + 0.1).shape == (240, 4)
    heap = np.random.default_rng(0).normal(size=(300, 2))
    assert LaplacianKModes("auto", random_state=0).fit(heap).n_clusters_ == 1
    with pytest.raises(ValueError, match="'auto' needs a graph"):
        KModes("auto").fit(four)


def test_many_rows_are_compared_on_some(four, monkeypatch):
    monkeypatch.setattr("lapmodes._n_clusters.COMPARED_ROWS", 100)
    weight = np.random.default_rng(0).uniform(0.5, 2, 240)
    assert LaplacianKModes("auto", random_state=0).fit(four, sample_weight=weight).n_clusters_ == 4
    W = LaplacianKModes(2, random_state=0).fit(four).graph_
    assert LaplacianKModes("auto", random_state=0).fit(four, graph=W).labels_.shape == (240,)


def test_a_score_without_labels_finds_a_bandwidth(four):
    """The best of a grid is near the width that the rule of thumb for a Gaussian kernel gives, not at its ends."""
    grid = {"bandwidth": [0.01, 0.1, 0.5, 3.0, 30.0]}
    search = GridSearchCV(LaplacianKModes(4, random_state=0), grid, cv=KFold(3, shuffle=True, random_state=0)).fit(four)
    assert search.best_params_ == {"bandwidth": 0.5}
    model = search.best_estimator_
    assert model.score(four) == pytest.approx(model.score_samples(four).mean())


def test_topics_in_many_dimensions_are_clear():
    """Sparse rows whose valleys are shallow, but on which everything agrees."""
    rng, y = np.random.default_rng(0), np.repeat(range(4), 60)
    words = np.where(rng.random((240, 30)) < 0.8, 200 * y[:, None] + rng.integers(0, 200, (240, 30)), 800)
    X = np.zeros((240, 1000))
    for row, own in zip(X, words, strict=True):
        np.add.at(row, own + rng.integers(0, 199, 30) * (own == 800), 1.0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    assert select(X, range(2, 8), random_state=0).n_clusters == 4
