from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lapmodes import LaplacianKModes, load
from lapmodes.files import FileError, PreparedModel, Table, learn


def rows(n=40, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2)) * [1, 100] + np.repeat([[0, 0], [9, 900]], n // 2, axis=0)


@pytest.fixture
def prepared():
    recipe, _, points = learn(Table(columns=pa.table({"a": rows()[:, 0], "b": rows()[:, 1]})))
    return PreparedModel(LaplacianKModes(2, random_state=0, n_jobs=1).fit(points), recipe)


def test_a_saved_model_prepares_new_rows_as_the_fit_did(prepared, tmp_path):
    prepared.save(tmp_path / "model.npz")
    again = PreparedModel.load(tmp_path / "model.npz")
    assert again.recipe == prepared.recipe
    new = Table(columns=pa.table({"b": rows(10, 1)[:, 1], "other": ["x"] * 10, "a": rows(10, 1)[:, 0]}))
    np.testing.assert_array_equal(again.predict_proba(new), prepared.predict_proba(new))
    np.testing.assert_array_equal(again.predict(new), prepared.predict_proba(new).argmax(axis=1))
    np.testing.assert_array_equal(load(tmp_path / "model.npz").labels_, prepared.model.labels_)


@pytest.mark.filterwarnings("ignore:Column 1 .* decides all distances")
def test_a_model_without_a_recipe_takes_rows_as_they_are(tmp_path):
    model = LaplacianKModes(2, random_state=0, n_jobs=1).fit(rows())
    model.save(tmp_path / "model.npz")
    found = PreparedModel.load(tmp_path / "model.npz").predict_proba(Table(matrix=rows(10, 1)))
    np.testing.assert_array_equal(found, model.predict_proba(rows(10, 1)))


def test_new_rows_have_no_place_in_a_graph_of_the_file(tmp_path):
    from sklearn.neighbors import kneighbors_graph

    X = np.random.default_rng(0).normal(size=(40, 2))
    graph = kneighbors_graph(X, 5)
    recipe, _, points = learn(Table(matrix=X), scale="none")
    model = LaplacianKModes(2, random_state=0, n_jobs=1).fit(points, graph=graph.maximum(graph.T))
    PreparedModel(model, recipe).save(tmp_path / "model.npz")
    with pytest.raises(FileError, match="Fit with --no-graph"):
        PreparedModel.load(tmp_path / "model.npz").predict(Table(matrix=rows()))
