"""How a fit ended: its status, the warning that explains it, and the line that the warning points at."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from lapmodes import DegenerateWarning, InputWarning, KModes, LaplacianKMeans, LaplacianKModes


def test_collapse_is_reported(blobs):
    X, _ = blobs
    with pytest.warns(DegenerateWarning, match="ended without any point.*smaller 'lam'"):
        LaplacianKModes(5, lam=10.0, affinity="binary", bandwidth=0.5, random_state=0).fit(X)


def test_no_rest_is_reported(blobs):
    with pytest.warns(ConvergenceWarning, match="did not rest within 1 iterations.*Raise 'max_iter'"):
        LaplacianKModes(3, max_iter=1, init="random", random_state=0).fit(blobs[0])


def test_unreachable_component_follows_its_nearest_point_and_is_reported():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 20, 0.1 * rng.normal(size=(9, 2)) + [12, 12]])
    with pytest.warns(
        DegenerateWarning, match="9 of 109 points lie in parts of the graph that no mode's kernel reaches"
    ):
        model = LaplacianKModes(2, init=X[[0, 50]], bandwidth=1.0, lam=1.0, n_neighbors=5).fit(X)
    assert (model.labels_[100:] == model.labels_[50]).all()


def test_duplicated_points_constant_features_and_few_distinct_points():
    X = np.repeat(np.array([[0.0, 1.0], [5.0, 1.0]]), 40, axis=0)
    assert len(set(LaplacianKModes(2, random_state=0).fit_predict(X))) == 2
    assert LaplacianKModes(1).fit(X).labels_.max() == 0
    for init in ("consensus", "k-means"):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            LaplacianKModes(4, init=init, random_state=0).fit(X)
        assert said[0].category is InputWarning
        assert "2 distinct rows, fewer than n_clusters=4" in str(said[0].message)


@pytest.mark.filterwarnings("ignore::lapmodes.DegenerateWarning")
@pytest.mark.parametrize("model", [LaplacianKModes, KModes, LaplacianKMeans])
@pytest.mark.parametrize("n", [2, 30])
def test_equal_rows_are_one_cluster_without_a_word(model, n):
    assert (model(1).fit(np.ones((n, 2))).labels_ == 0).all()
    if model is LaplacianKModes:
        assert model("auto").fit(np.ones((n, 2))).n_clusters_ == 1
    with pytest.warns(InputWarning, match="X has 1 distinct row, fewer than n_clusters=2: .* at most 1 cluster."):
        model(2, random_state=0).fit(np.ones((n, 2)))


def test_more_neighbours_than_samples_are_said(blobs):
    with pytest.warns(InputWarning, match="n_neighbors=500 is more than the 179 other samples"):
        LaplacianKModes(3, n_neighbors=500, random_state=0).fit(blobs[0])


def test_a_column_that_decides_all_distances_is_named_once():
    wine = load_wine(as_frame=True).data
    with pytest.warns(InputWarning, match="'proline' decides all distances: it has 99.8%") as said:
        LaplacianKModes(3, random_state=0).fit(wine)
    assert len(said) == 1
    with pytest.warns(InputWarning, match="Column 12 "):
        LaplacianKModes(3, random_state=0).fit(wine.to_numpy())
    LaplacianKModes(3, random_state=0).fit(StandardScaler().fit_transform(wine))


@pytest.mark.parametrize("unit", [[1.0, 0.0, 0.0], [1.0, 0.1, 0.0], [3.0, 1.0, 1.0]])
def test_ordinary_spreads_of_columns_are_no_doubt(unit):
    """A plane that is longer than wide, columns without spread, and a column three times as wide as others."""
    LaplacianKModes(2, random_state=0).fit(np.random.default_rng(0).normal(size=(100, 3)) * unit)


def test_a_point_that_no_kernel_reaches_at_all_goes_to_the_nearest_mode():
    with pytest.warns(DegenerateWarning, match="2 of 2 points"):
        model = LaplacianKModes(1, bandwidth=1e-3, lam=1.0, init=[[0.5]]).fit([[0.0], [1.0]])
    np.testing.assert_array_equal(model.assignments_, 1)


CALLS = {
    "fit": "LaplacianKModes(3, max_iter=1, init='random', random_state=0).fit(X)",
    "fit_predict": "LaplacianKModes(3, max_iter=1, init='random', random_state=0).fit_predict(X)",
    "fit_transform": "LaplacianKModes(3, max_iter=1, init='random', random_state=0).fit_transform(X)",
    "pipeline": "make_pipeline(StandardScaler(), LaplacianKModes(3, max_iter=1, init='random', random_state=0)).fit(X)",
    "fit_path": "list(fit_path(X, 3, max_iter=1, init='random', random_state=0))",
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("folder", ["work", "lapmodes", "lapmodes/src/lapmodes", "sklearn"])
def test_warnings_point_at_the_callers_line(blobs, tmp_path, folder, call):
    """Also where the caller lives in a folder with the name of a library, as a clone of this one does."""
    file = tmp_path / folder / "analysis.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "from sklearn.pipeline import make_pipeline\nfrom sklearn.preprocessing import StandardScaler\n"
        f"from lapmodes import LaplacianKModes, fit_path\n\n\ndef run(X):\n    {CALLS[call]}\n"
    )
    space: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    with pytest.warns(ConvergenceWarning) as caught:
        space["run"](blobs[0])
    assert {(warning.filename, warning.lineno) for warning in caught} == {(str(file), 7)}


@pytest.mark.parametrize(
    ("parameters", "status", "warning"),
    [
        ({}, "converged", None),
        ({"lam": 0.0}, "converged", None),
        ({"tol": 0.0, "verbose": lambda phase, *_: phase == "alternate"}, "stopped", None),
        ({"max_iter": 1, "init": "random"}, "not converged", "did not rest within 1 iterations"),
        (
            {"n_clusters": 5, "lam": 10.0, "affinity": "binary", "init": "k-means"},
            "empty clusters",
            "without any point",
        ),
        ({"bandwidth": 1e-3, "lam": 1.0, "init": [[9.0, 9.0]] * 3}, "empty clusters", "without any point"),
    ],
)
def test_one_status_says_how_a_fit_ended(blobs, parameters, status, warning):
    model = LaplacianKModes(**{"n_clusters": 3, "bandwidth": 0.5, "random_state": 0, **parameters})
    if warning is None:
        model.fit(blobs[0])  # any warning is an error
    else:
        with pytest.warns((ConvergenceWarning, DegenerateWarning), match=warning):
            model.fit(blobs[0])
    assert model.status_ == status
