"""Optuna and scikit-image."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import KFold, cross_val_score

from lapmodes import LaplacianKModes
from lapmodes.metrics import model_score

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]


def test_optuna_finds_the_number_of_clusters(vectors):
    optuna = pytest.importorskip("optuna")
    X, _ = vectors
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.GridSampler({"k": [2, 3, 4, 5]}))

    def objective(trial):
        model = LaplacianKModes(trial.suggest_int("k", 2, 5), random_state=0)
        return cross_val_score(model, X, scoring=model_score, cv=KFold(2, shuffle=True, random_state=0)).mean()

    study.optimize(objective, n_trials=4)
    assert study.best_params == {"k": 3}


def test_superpixels_of_scikit_image_are_clustered():
    segmentation = pytest.importorskip("skimage.segmentation")
    y = np.indices((60, 90))[1] // 30
    rng = np.random.default_rng(0)
    image = np.array([[0.9, 0.1, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.9]])[y] + 0.05 * rng.normal(size=(60, 90, 3))
    pixels = segmentation.slic(np.clip(image, 0, 1), n_segments=120, start_label=0)
    sizes = np.bincount(pixels.ravel())
    colours = np.stack([np.bincount(pixels.ravel(), image[..., c].ravel()) / sizes for c in range(3)], axis=1)
    model = LaplacianKModes(3, random_state=0).fit(colours, sample_weight=sizes)
    found = model.labels_[pixels]
    middle = [found[30, 15], found[30, 45], found[30, 75]]
    assert len(set(middle)) == 3
    assert np.mean(np.asarray(middle)[y] == found) > 0.97
