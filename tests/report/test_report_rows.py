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
    same = model.predict(X) == model.labels_
    shares = np.minimum(model.assignments_.max(axis=1), model.predict_proba(X).max(axis=1))
    rarity_only = same & (shares > 1 - 1e-15)
    np.testing.assert_allclose(score[rarity_only], model.outlier_score(X)[rarity_only], atol=1e-12)
    assert rarity_only.sum() > 40


def test_outlier_scores_of_many_rows_are_ranks_of_their_density(told_model, told_rows, monkeypatch):
    monkeypatch.setattr(rows, "EXACT_STEPS", 0)
    density = neighbor_log_density(told_model, told_rows)
    score = training_score(told_model, told_rows, density)
    for k in range(3):
        own = told_model.labels_ == k
        certain = own & (told_model.assignments_.max(axis=1) > 1 - 1e-15)
        assert np.all(np.diff(score[certain][np.argsort(density[certain])]) <= 1e-12)
