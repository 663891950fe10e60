"""Several fits at once in threads of one process: the same answers as one after the other, with or without a GIL."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lapmodes import KModes, LaplacianKMeans, LaplacianKModes
from lapmodes.datasets import make_spirals

WORKERS = 8


def test_eight_fits_at_once_are_those_of_one_after_the_other():
    X, _ = make_spirals(400, n_spirals=4, random_state=0)
    models = [
        make(4, random_state=seed, n_jobs=1) for seed in range(4) for make in (LaplacianKModes, KModes, LaplacianKMeans)
    ]
    alone = [model.fit(X).assignments_.copy() for model in models]
    with ThreadPoolExecutor(WORKERS) as pool:
        together = list(pool.map(lambda model: model.fit(X).assignments_.copy(), models))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("columns", [2, 20])
def test_one_model_answers_eight_callers_who_come_first_at_once(columns):
    """Trees, row finders and tails are made by whoever asks first; all of them may."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, columns)) + 6 * rng.integers(0, 3, 300)[:, None]
    questions = ("predict_proba", "transform", "score_samples", "outlier_score")
    expected = {name: getattr(LaplacianKModes(3, random_state=0).fit(X), name)(X + 0.1) for name in questions}
    model = LaplacianKModes(3, random_state=0).fit(X)
    with ThreadPoolExecutor(WORKERS) as pool:
        answers = list(pool.map(lambda name: (name, getattr(model, name)(X + 0.1)), questions * 4))
    for name, answer in answers:
        np.testing.assert_array_equal(answer, expected[name], err_msg=name)


def test_the_native_module_does_not_bring_the_gil_back():
    enabled = getattr(sys, "_is_gil_enabled", lambda: True)()
    if enabled:
        pytest.skip("this Python has a GIL")
    import lapmodes._native  # noqa: F401

    assert not sys._is_gil_enabled()
