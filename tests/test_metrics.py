import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapmodes import KModes, LaplacianKMeans, LaplacianKModes
from lapmodes._rows import modularity
from lapmodes.metrics import (
    adjusted_rand,
    assignment_entropy,
    clustering_accuracy,
    model_score,
    neighbor_log_density,
    normalized_mutual_info,
    outlier_scores,
    purity,
)

SCORES = [clustering_accuracy, normalized_mutual_info, adjusted_rand, purity]


@pytest.fixture
def labels():
    rng = np.random.default_rng(0)
    y_true = rng.integers(4, size=200)
    return y_true, np.where(rng.random(200) < 0.7, y_true, rng.integers(6, size=200))


def test_accuracy_by_hand():
    # Class 0 is matched with cluster 1 (2 points) and class 1 with cluster 0 (1 point); 1 of 4 is wrong.
    assert clustering_accuracy([0, 0, 1, 1], [1, 1, 0, 1]) == 0.75


def test_accuracy_matches_each_cluster_once():
    assert clustering_accuracy([0, 0, 0, 0], [0, 1, 2, 3]) == 0.25
    assert clustering_accuracy([0, 1, 2, 3], [0, 0, 0, 0]) == 0.25


def test_accuracy_is_the_best_matching_not_the_greedy_one():
    # Greedy takes the 3 points of (0, 0), then 0 of (1, 1): 3. The best matching takes 2 + 2.
    y_true, y_pred = [0] * 5 + [1] * 2, [0] * 3 + [1] * 2 + [0] * 2
    assert clustering_accuracy(y_true, y_pred) == pytest.approx(4 / 7)


def test_purity_by_hand():
    assert purity(["a", "a", "b", "b", "b"], [0, 0, 0, 1, 1]) == 0.8


@pytest.mark.parametrize("average", ["max", "min", "geometric", "arithmetic"])
def test_mutual_info_agrees_with_scikit_learn(labels, average):
    expected = normalized_mutual_info_score(*labels, average_method=average)
    assert normalized_mutual_info(*labels, average=average) == pytest.approx(expected)


def test_mutual_info_divides_by_the_larger_entropy(labels):
    def entropy(y):
        p = np.unique(y, return_counts=True)[1] / len(y)
        return -np.sum(p * np.log(p))

    y_true, y_pred = labels
    joint = entropy(y_true * 10 + y_pred)
    mutual = entropy(y_true) + entropy(y_pred) - joint
    expected = mutual / max(entropy(y_true), entropy(y_pred))
    assert normalized_mutual_info(y_true, y_pred) == pytest.approx(expected)


def test_adjusted_rand_agrees_with_scikit_learn(labels):
    assert adjusted_rand(*labels) == pytest.approx(adjusted_rand_score(*labels))


@pytest.mark.parametrize("score", SCORES)
def test_names_do_not_matter(score, labels):
    y_true, y_pred = labels
    named = np.array(["e", "d", "c", "b", "a", "f"])[y_pred]
    objects = np.array([None, "x", 3, 2.5], dtype=object)[y_true]
    assert score(objects, named) == pytest.approx(score(y_true, y_pred))


@pytest.mark.parametrize("score", SCORES)
def test_same_partition_scores_one(score, labels):
    y_true, _ = labels
    assert score(y_true, 7 - y_true) == pytest.approx(1.0)


@pytest.mark.parametrize("score", SCORES)
def test_noise_is_left_out(score, labels):
    y_true, y_pred = labels
    keep = y_true != 3
    assert score(y_true, y_pred, noise=3) == pytest.approx(score(y_true[keep], y_pred[keep]))


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(
    ("y_true", "y_pred", "noise", "message"),
    [
        ([0, 1], [0], None, "same length. Got 2 and 1"),
        ([], [], None, "at least one label. Got none"),
        ([2, 2], [0, 1], 2, "besides the noise 2"),
        ([[0, 1]], [0, 1], None, "'y_true' must be one label a point"),
    ],
)
def test_bad_input_is_explained(score, y_true, y_pred, noise, message):
    with pytest.raises(ValueError, match=message):
        score(y_true, y_pred, noise=noise)


def test_unknown_average_is_explained():
    with pytest.raises(ValueError, match="'average' parameter must be one of 'max'"):
        normalized_mutual_info([0, 1], [0, 1], average="mean")


def test_metrics_leave_scikit_learn_metrics_unimported():
    # The package itself needs parts of scikit-learn; its metrics are only for those who score.
    code = "import sys, lapmodes; old = set(sys.modules); import lapmodes.metrics; print(set(sys.modules) - old)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "sklearn" not in done.stdout


@pytest.fixture
def shares():
    """Assignments with exact zeros, some of them certain."""
    Z = np.random.default_rng(0).dirichlet(np.full(4, 0.3), 60)
    Z[Z < 0.05] = 0
    Z[:5] = np.eye(4)[[0, 1, 2, 3, 0]]
    return Z / Z.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_entropy_is_the_definition(shares, kind):
    expected = [-sum(z * np.log(z) for z in row if z > 0) / np.log(4) for row in shares]
    np.testing.assert_allclose(assignment_entropy(kind(shares)), expected, atol=1e-12)
    assert assignment_entropy(np.ones((3, 1))).tolist() == [0, 0, 0]
    assert assignment_entropy(np.full((2, 3), 1 / 3)) == pytest.approx([1, 1])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_outlier_scores_are_means_over_clusters_by_the_shares(shares, kind):
    rng = np.random.default_rng(1)
    densities, members = (
        rng.normal(size=60),
        [rng.normal(k, k + 1, size=size) for k, size in enumerate((70, 25, 0, 300))],
    )
    pure = [outlier_scores(np.tile(row, (60, 1)), densities, members) for row in np.eye(4)]
    np.testing.assert_allclose(
        outlier_scores(kind(shares), densities, members), np.sum(shares * np.transpose(pure), axis=1), atol=1e-12
    )
    for score in pure:
        assert ((score > 0) & (score < 1)).all()
        assert (np.diff(score[np.argsort(densities)]) < 0).all()  # the denser, the lower


def test_outlier_scores_say_how_many_members_lie_farther_out():
    above = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        draw = [lambda n, k=k, rng=rng: 5.0 * k - 1.3**k * rng.gamma(3.0, size=n) for k in range(3)]
        members = [each(n) for each, n in zip(draw, (300, 700, 2000), strict=True)]
        score = [
            outlier_scores(np.tile(row, (3000, 1)), each(3000), members)
            for row, each in zip(np.eye(3), draw, strict=True)
        ]
        above.append([[(each > limit).mean() for limit in (0.5, 0.95, 0.99)] for each in score])
    rates = np.mean(above, axis=0)  # of each cluster, whatever its place, its spread and its size
    assert (np.abs(rates[:, 0] - 0.5) < 0.05).all()
    assert ((rates[:, 1] > 0.03) & (rates[:, 1] < 0.07)).all(), rates
    assert ((rates[:, 2] > 0.003) & (rates[:, 2] < 0.02)).all(), rates


def test_outlier_scores_do_not_depend_on_units_nor_on_outliers_nor_stop_at_one_over_n():
    rng = np.random.default_rng(0)
    members, probes = rng.normal(size=150), np.linspace(-9, 2, 40)
    one = np.ones((40, 1))
    score = outlier_scores(one, probes, [members])
    np.testing.assert_allclose(outlier_scores(one, 7 * probes + 3, [7 * members + 3]), score, atol=1e-9)
    np.testing.assert_allclose(outlier_scores(one, probes, [rng.permutation(np.repeat(members, 2))]), score, atol=0.01)
    assert score[0] > 1 - 1e-4 and (np.diff(score) < 0).all()  # far below one of 150
    dirty = outlier_scores(one, probes, [np.append(members, rng.uniform(-20, -5, size=20))])
    np.testing.assert_allclose(dirty[probes > -3], score[probes > -3], atol=0.07)
    assert (dirty[probes < -5] > 0.995).all()


@pytest.mark.parametrize(
    ("Z", "densities"),
    [
        (np.ones((1, 1)), [3.0]),
        (np.eye(3), [1.0, 2.0, 9.0]),
        (np.ones((50, 1)), np.zeros(50)),
        (np.ones((50, 2)) / 2, np.repeat([0.0, -np.inf], 25)),
        (np.ones((2, 1)), [-np.inf, -np.inf]),
        (np.zeros((0, 2)), []),
    ],
)
def test_outlier_scores_of_few_equal_and_infinite_densities(Z, densities):
    score = outlier_scores(Z, densities)
    assert score.shape == (len(Z),) and ((score >= 0) & (score <= 1)).all()
    finite = np.isfinite(densities)
    assert (score[~finite] == 1).all() or not finite.any()


def test_small_clusters_are_compared_with_the_members_of_all():
    rng = np.random.default_rng(0)
    densities, labels = np.append(rng.normal(size=300), np.full(5, -30.0)), np.repeat([0, 1, 2], [200, 100, 5])
    score = outlier_scores(np.eye(3)[labels], densities)
    assert (score[-5:] > 0.999).all()
    assert outlier_scores([[0, 0, 1.0]], [0.0], [densities[:200], densities[200:300], []])[0] == pytest.approx(
        0.5, abs=0.1
    )


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("sparse", [False, True])
def test_density_by_neighbours_is_a_sum_over_edges(metric, sparse):
    X = np.random.default_rng(0).normal(size=(70, 3)) + 3
    given = sp.csr_array(X) if sparse else X
    model = LaplacianKModes(2, random_state=0, n_jobs=1, metric=metric).fit(given)
    seen = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    squared = np.square(seen[:, None] - seen).sum(axis=2)
    kernel = np.where(model.graph_.toarray() > 0, np.exp(-0.5 * squared / model.bandwidth_**2), 0)
    np.testing.assert_allclose(neighbor_log_density(model, given), np.log(kernel.sum(axis=1)), rtol=1e-8)


def test_density_ranks_as_the_exact_one_does():
    X = np.random.default_rng(0).normal(size=(90, 4)) + np.repeat(
        [[0, 0, 0, 0], [6, 0, 0, 0], [0, 6, 6, 0]], 30, axis=0
    )
    model = LaplacianKModes(3, random_state=0, n_jobs=1).fit(X)
    ours, exact = neighbor_log_density(model, X), model.score_samples(X)
    assert np.corrcoef(ours.argsort().argsort(), exact.argsort().argsort())[0, 1] > 0.8


@pytest.mark.parametrize("model", [KModes(2, random_state=0), LaplacianKMeans(2, random_state=0)])
def test_density_without_a_graph_or_a_bandwidth(model):
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[7] = 30
    assert neighbor_log_density(model.set_params(n_jobs=1).fit(X), X).argmin() == 7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: assignment_entropy([0.5, 0.5]), r"'assignments' must have shape \(n_samples, n_clusters\)"),
        (lambda: outlier_scores(np.eye(3), [1.0, 2.0]), r"'densities' must have shape \(3,\)"),
        (lambda: outlier_scores(np.eye(3), np.ones(3), [np.ones(2)]), "'reference' must have 3 arrays"),
        (lambda: outlier_scores(np.ones((1, 1)), [1.0], [[]]), "'reference' must have a member"),
        (lambda: neighbor_log_density(KModes(1).fit(np.eye(3)), np.eye(4)), "must be the 3 points"),
    ],
)
def test_bad_points_are_explained(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_modularity_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    A = sp.random_array((30, 30), density=0.2, rng=rng)
    W, labels = sp.csr_array(A + A.T), rng.integers(0, 4, 30)
    degrees, same = W.sum(axis=1), labels[:, None] == labels
    expected = ((W.toarray() - np.outer(degrees, degrees) / degrees.sum()) * same).sum() / degrees.sum()
    assert modularity(W, labels) == pytest.approx(expected)


@pytest.mark.parametrize(
    "make", [lambda k: LaplacianKModes(k, random_state=0), lambda k: KMeans(k, n_init=1, random_state=0)]
)
def test_model_score_is_highest_for_the_true_number_of_clusters(make):
    X, _ = make_blobs(240, centers=4, cluster_std=0.6, random_state=0)
    found = {k: model_score(make(k).fit(X[::2]), X[1::2], None) for k in (1, 2, 3, 4, 5, 6)}
    assert max(found, key=found.get) == 4
    assert found[1] == 0 and max(found.values()) <= 1


def test_model_score_of_a_pipeline_sees_what_its_last_step_sees():
    X, _ = make_blobs(200, centers=3, random_state=1)
    X = X * [1, 1000]
    model = make_pipeline(StandardScaler(), LaplacianKModes(3, random_state=0)).fit(X[::2])
    scaled = StandardScaler().fit(X[::2])
    plain = LaplacianKModes(3, random_state=0).fit(scaled.transform(X[::2]))
    assert model_score(model, X[1::2]) == pytest.approx(model_score(plain, scaled.transform(X[1::2])), abs=0.02)


def test_model_score_of_noise_is_low():
    X = np.random.default_rng(0).uniform(size=(300, 2))
    noise = model_score(LaplacianKModes(5, random_state=0).fit(X[::2]), X[1::2])
    Y, _ = make_blobs(300, centers=5, cluster_std=0.5, random_state=3)
    assert noise < 0.8 * model_score(LaplacianKModes(5, random_state=0).fit(Y[::2]), Y[1::2])
