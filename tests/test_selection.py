"""The scan over numbers of clusters."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import NearestNeighbors

from lapmodes import KModes, LaplacianKModes, Selection, load, select
from lapmodes._n_clusters import DRAWS, Density, unrounded
from lapmodes._rows import shares_back
from lapmodes.graph.neighbors import make_index
from lapmodes.report.content import selection_reason

CORNERS = np.array([[0, 0], [9, 0], [0, 10], [11, 11]])


@pytest.fixture(scope="module")
def four():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(60, 2)) + corner for corner in CORNERS])


@pytest.fixture(scope="module")
def found(four):
    return select(four, range(2, 8), random_state=0)


def test_clear_clusters_are_counted(found):
    assert (found.n_clusters, found.verdict) == (4, "clear")
    assert set(found.preferred) == {"stability", "agreement", "separation", "mixture"}
    assert adjusted_rand_score(np.repeat(range(4), 60), found.labels[4]) == 1


@pytest.mark.parametrize("K", [2, 3, 5, 7])
def test_other_numbers_of_clear_clusters_are_counted(K):
    rng = np.random.default_rng(K)
    angle = 2 * np.pi * np.arange(K) / K
    X = np.concatenate([rng.normal(size=(50, 2)) + 4 * K * np.array([np.cos(a), np.sin(a)]) for a in angle])
    assert select(X, range(2, 10), random_state=0).n_clusters == K


def test_shares_that_come_back_are_jaccard_indices():
    one, two = np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 2, 1, 1, 1])
    np.testing.assert_allclose(shares_back(one, two, 3), [2 / 4, 2 / 3, 0])
    names = np.random.default_rng(0).permutation(3)
    np.testing.assert_allclose(shares_back(names[one], names[two], 3)[names], [2 / 4, 2 / 3, 0])


def test_true_clusters_come_back_and_halves_of_them_do_not(found):
    table = {int(row["n_clusters"]): row for row in found.table}
    assert table[4]["stability"] == table[4]["weakest"] == 1 and table[4]["spread"] == 0
    assert all(table[K]["stability"] < 0.9 for K in (3, 5, 7))
    assert table[4]["separation"] > 1 > 0.2 > table[5]["separation"]
    assert all(row["smallest"] == np.bincount(found.labels[K]).min() for K, row in table.items())


def test_a_valley_separates_and_a_plain_does_not():
    """Two halves of a plain, the same halves moved apart, and the same with a denser strip between them."""
    rng = np.random.default_rng(0)
    plain = rng.uniform(size=(1000, 2))
    side = (plain[:, 0] > 0.5).astype(np.int32)
    sparse = plain[np.abs(plain[:, 0] - 0.5) > rng.uniform(0, 0.3, 1000)]
    dense = np.concatenate([plain, rng.uniform([0.4, 0], [0.6, 1], size=(500, 2))])
    density = [
        Density.around_points(make_index(X, 1).query_self(20)) for X in (plain, plain + side[:, None], sparse, dense)
    ]
    none, gap = (each.separation(side, 2) for each in density[:2])
    valley, ridge = (
        each.separation((X[:, 0] > 0.5).astype(np.int32), 2)
        for each, X in zip(density[2:], (sparse, dense), strict=True)
    )
    assert ridge < -1 < none < 1 < 1.5 < valley < gap


def test_rounded_columns_are_spread_over_their_steps_and_others_stay():
    rng = np.random.RandomState(0)
    X = np.column_stack([np.round(rng.normal(size=500), 1), rng.normal(size=500), np.ones(500)])
    spread = unrounded(X, rng)
    np.testing.assert_array_equal(spread[:, 1:], X[:, 1:])
    np.testing.assert_allclose(np.round(spread[:, 0], 1), X[:, 0], atol=1e-9)
    assert np.unique(spread[:, 0]).size == 500


def test_other_views_are_told(four, found):
    """What joins or divides clusters is told, and what is another division altogether."""
    assert (found.n_clusters, found.coarser) == (
        4,
        found.table["n_clusters"][:2][found.table["stability"][:2].argmax()],
    )
    assert found.change(2) in ("joins 4 clusters to 2", "joins 3 clusters to 1")
    assert found.change(3) == "joins 2 clusters to 1"
    assert found.change(5) == "divides 1 of the clusters into 2"
    assert found.finer > 4 and found.change(found.finer).startswith("divides")
    mixed = Selection(2, found.table, {"stability": 2}, {2: np.arange(9) % 2, 3: np.arange(9) // 3})
    assert mixed.change(3) == "divides the points in another way"


def test_many_clusters_are_found_without_being_asked_for():
    """Twenty clusters are all apart, so the comparison goes on."""
    places = np.stack(np.meshgrid(range(6), range(5)), axis=-1).reshape(-1, 2)
    X = np.random.default_rng(0).normal(scale=0.1, size=(1200, 2)) + np.repeat(places, 40, axis=0)
    found = select(X, random_state=0, n_jobs=1)
    assert found.n_clusters == 30
    assert found.table["n_clusters"].max() > 30


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
    for name in ("agreement", "stability", "separation"):
        np.testing.assert_allclose(other.table[name], found.table[name], atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("others", "verdict", "unanimous"),
    [([4, 4], "clear", True), ([5, 3], "clear", True), ([9, 3], "clear", False), ([9, 7], "disputed", False)],
)
def test_a_number_is_clear_if_another_criterion_is_near(found, others, verdict, unanimous):
    preferred = dict(zip(("stability", "agreement", "separation"), [4, *others], strict=True))
    other = replace(found, preferred=preferred)
    assert (other.verdict, other.unanimous) == (verdict, unanimous)
    assert str(other).startswith("4 clusters recommended")
    assert ("disagree" in str(other)) == (f"look at {other.also}" in str(other)) == (verdict == "disputed")
    assert all(f"{name} {K}" in str(other) for name, K in preferred.items())


def test_on_a_given_graph_there_is_one_way(four):
    W = LaplacianKModes(2, random_state=0).fit(four).graph_
    found = select(four, range(2, 8), graph=W, random_state=0)
    assert np.isnan(found.table["separation"]).all() and np.isnan(found.table["agreement"]).all()
    assert (found.n_clusters, found.preferred, found.verdict) == (4, {"stability": 4}, "clear")


def test_given_neighbours_give_the_same_table(four, found):
    distances, indices = NearestNeighbors(n_neighbors=20).fit(four).kneighbors()
    other = select(four, range(2, 8), neighbors=(indices, distances), random_state=0)
    np.testing.assert_array_equal(other.table, found.table)


def test_samples_without_weight_do_not_count(four):
    weight = np.r_[np.ones(240), np.zeros(60)]
    noise = np.random.default_rng(1).uniform(-5, 15, size=(60, 2))
    found = select(np.concatenate([four, noise]), range(2, 7), sample_weight=weight, random_state=0)
    alone = select(four, range(2, 7), random_state=0)
    np.testing.assert_array_equal(found.table, alone.table)
    assert found.labels[4].shape == (300,)
    np.testing.assert_array_equal(found.labels[4][:240], alone.labels[4])


def test_plot_marks_the_recommendation(found):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    ax = found.plot(figure.subplots())
    assert [line.get_label() for line in ax.lines][:-1] == list(found.preferred)
    assert list(ax.lines[-1].get_xdata()) == [4, 4]


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
    steps = [step[:3] for step in told if step[0] == "select"]
    assert steps == [("select", i, DRAWS) for i in range(1, DRAWS + 1)]


# Rows of any kind: nothing is an error, and the answer can be fitted.


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
def test_awkward_rows_are_no_error(name, n_neighbors):
    X = AWKWARD[name]
    found = select(X, random_state=0, n_neighbors=n_neighbors)
    assert 1 <= found.n_clusters <= max(2, np.sqrt(len(X)))
    for field in ("stability", "spread", "weakest", "agreement"):
        assert ((found.table[field] >= -1) & (found.table[field] <= 1)).all(), field
    assert all(np.unique(labels).size <= K and labels.shape == (len(X),) for K, labels in found.labels.items())
    model = LaplacianKModes("auto", n_neighbors=n_neighbors, random_state=0).fit(X)
    assert model.n_clusters_ == found.n_clusters
    assert "None" not in f"{found} {selection_reason(found)}"


def random_rows(rng):
    """Rows as no one would make them on purpose."""
    n, d = int(rng.integers(2, 41)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-3, 3, size=d)
    X[:, rng.random(d) < 0.2] = 1.0
    if rng.random() < 0.4:
        X = np.round(X)
    if rng.random() < 0.3:
        X = X[rng.integers(0, n, n)]
    return csr_array(X * (rng.random(X.shape) < 0.3)) if rng.random() < 0.2 else X


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", range(40))
def test_random_rows_are_no_error(seed):
    rng = np.random.default_rng(seed)
    X, k = random_rows(rng), int(rng.integers(1, 15))
    found = select(X, random_state=0, n_neighbors=k, n_jobs=1)
    assert 1 <= found.n_clusters <= X.shape[0]
    assert found.labels[found.n_clusters].shape == (X.shape[0],)


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
    assert found.also == found.best and f"look at {found.also}" in str(found)
    np.testing.assert_array_equal(found.labels[1], 0)


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
    monkeypatch.setattr("lapmodes._n_clusters.SOME_ROWS", (100, 100))
    weight = np.random.default_rng(0).uniform(0.5, 2, 240)
    assert LaplacianKModes("auto", random_state=0).fit(four, sample_weight=weight).n_clusters_ == 4
    W = LaplacianKModes(2, random_state=0).fit(four).graph_
    assert LaplacianKModes("auto", random_state=0).fit(four, graph=W).n_clusters_ == 4
    found = select(four, range(2, 6), random_state=0)
    assert adjusted_rand_score(np.repeat(range(4), 60), found.labels[4]) == 1


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
