import subprocess
import sys

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from lapmodes.metrics import adjusted_rand, clustering_accuracy, normalized_mutual_info, purity

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
