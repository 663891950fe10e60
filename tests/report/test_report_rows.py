from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lapmodes import LaplacianKModes
from lapmodes.metrics import neighbor_log_density
from lapmodes.report import rows
from lapmodes.report.rows import training_score


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("sparse", [False, True])
def test_outlier_scores_of_the_fit_agree_with_the_model(told_rows, metric, sparse):
    dense = np.maximum(told_rows + 4, 0)
    X = sp.csr_array(dense) if sparse else dense
    model = LaplacianKModes(3, random_state=0, n_jobs=1, metric=metric).fit(X)
    score = training_score(model, X, neighbor_log_density(model, X))
    np.testing.assert_allclose(score, model.outlier_score(X), atol=1e-12)


def test_a_given_graph_has_scores_too(told_rows, told_model):
    model = LaplacianKModes(3, random_state=0, n_jobs=1).fit(told_rows, graph=told_model.graph_)
    score = training_score(model, told_rows, neighbor_log_density(model, told_rows))
    assert score.shape == (len(told_rows),) and ((score >= 0) & (score <= 1)).all()


def test_scores_near_one_are_told_from_one():
    assert rows.score_text(0.5) == "0.500"
    assert rows.score_text(0.99989) == "0.999890"
    assert rows.score_text(1 - 1e-9) == "0.999999"


def test_outlier_scores_of_many_rows_fall_with_their_density(told_model, told_rows, monkeypatch):
    monkeypatch.setattr(rows, "EXACT_STEPS", 0)
    density = neighbor_log_density(told_model, told_rows)
    score = training_score(told_model, told_rows, density)
    for k in range(3):
        own = told_model.labels_ == k
        certain = own & (told_model.assignments_.max(axis=1) > 1 - 1e-15)
        assert np.all(np.diff(score[certain][np.argsort(density[certain])]) <= 1e-12)
