"""Rows from arrays, frames and files, and input that is not what it should be."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parted import groups

from lapmodes.distributed import LaplacianKModes


def fit(X, **parameters):
    return LaplacianKModes(**({"n_clusters": 3, "parts": 2, "init": "k-means", "random_state": 0} | parameters)).fit(X)


@pytest.fixture(scope="module")
def X():
    return groups(600, K=3, D=4)[0]


@pytest.fixture
def labels(here, X):
    return fit(X).labels_.compute()


def test_arrays_with_unknown_chunks(here, X):
    lazy = da.from_array(X, chunks=(200, 2))
    unknown = lazy[lazy[:, 0] > 0]
    assert np.isnan(unknown.chunks[0]).all()
    model = fit(unknown)
    assert model.n_samples_ == (X[:, 0] > 0).sum() == model.labels_.shape[0]


def test_data_frames(here, X, labels):
    import dask.dataframe as dd

    frame = pd.DataFrame(X, columns=list("abcd"))
    model = fit(dd.from_pandas(frame, npartitions=3))
    assert model.feature_names_in_.tolist() == list("abcd")
    assert np.array_equal(fit(frame).labels_.compute(), labels)
    with pytest.raises(ValueError, match=r"must hold numbers. Got others in 'kind'"):
        fit(dd.from_pandas(frame.assign(kind="x"), npartitions=2))


def test_files(here, X, labels, tmp_path):
    zarr = pytest.importorskip("zarr")
    np.save(tmp_path / "x.npy", X)
    array = zarr.create_array(str(tmp_path / "x.zarr"), shape=X.shape, chunks=(100, 4), dtype=X.dtype)
    array[:] = X
    for i in range(3):
        columns = {f"c{j}": X[200 * i : 200 * i + 200, j] for j in range(4)}
        pq.write_table(pa.table(columns), tmp_path / f"{i}.parquet", row_group_size=64)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 4)
    pq.write_table(pa.table({"embedding": vectors}), tmp_path / "vectors.pq")
    for place in ("x.npy", "x.zarr", "?.parquet", "vectors.pq"):
        model = fit(str(tmp_path / place))
        assert model.n_samples_ == 600 and (model.labels_.compute() == labels).mean() > 0.99, place


@pytest.mark.parametrize(
    ("value", "words"),
    [(np.nan, r"Row 17 of chunk 2 has NaN in column 1"), (np.inf, r"Row 17 of chunk 2 has infinity")],
)
def test_the_error_names_chunk_and_row(here, X, value, words):
    spoiled = X.copy()
    spoiled[417, 1] = value
    with pytest.raises(ValueError, match=words):
        fit(da.from_array(spoiled, chunks=(200, 4)))


def test_a_gap_in_a_file_names_the_file(here, X, tmp_path):
    spoiled = X.copy()
    spoiled[5] = np.nan
    np.save(tmp_path / "x.npy", spoiled)
    with pytest.raises(ValueError, match=r"Row 5 of rows 0 to 599 of '.*x.npy' has NaN in column 0"):
        fit(tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.zeros((2, 2)), "n_samples=2 should be >= n_clusters=3"),
        (np.zeros(5), "must be of two dimensions"),
        (np.array([["a", "b"]]), "must hold numbers"),
        (da.zeros((0, 3)), "X has no rows"),
        ("nowhere/*.parquet", "There is no file"),
    ],
)
def test_input_that_cannot_be_clustered(here, X, words):
    with pytest.raises((ValueError, FileNotFoundError), match=words):
        fit(X)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"parts": 0}, "'parts' parameter .* must be an int of at least 1 or 'auto'"),
        ({"exact": "no"}, "'exact' parameter .* must be True or False"),
        ({"checkpoint": 3}, "'checkpoint' parameter .* must be a path or None"),
        ({"affinity": "anchor"}, "affinity='anchor' is not there"),
        ({"n_clusters": 0}, "'n_clusters' parameter"),
        ({"exact": False, "init": np.zeros((3, 4))}, "exact=False fits a sample"),
        ({"init": np.zeros((2, 4))}, r"must have shape \(n_clusters, n_features\) = \(3, 4\)"),
    ],
)
def test_parameters_that_are_not_what_they_must_be(here, X, parameters, words):
    with pytest.raises(ValueError, match=words):
        fit(X, **parameters)


def test_a_client_that_is_none(X):
    with pytest.raises(TypeError, match=r"'client' must be a distributed.Client or None. Got str"):
        fit(X, client="tcp://nowhere")


def test_weights_that_do_not_fit(here, X):
    model = LaplacianKModes(3, parts=2, init="k-means")
    with pytest.raises(ValueError, match=r"'sample_weight' must have shape \(600,\)"):
        model.fit(X, sample_weight=np.ones(5))
    with pytest.raises(ValueError, match=r"Row 3 of chunk 0 has a 'sample_weight' of 0.0"):
        model.fit(X, sample_weight=np.where(np.arange(600) == 3, 0.0, 1.0))


def test_fewer_rows_than_clusters_in_every_part(here):
    X, _ = groups(40, K=5, D=2, spread=9.0)
    model = fit(X, n_clusters=6, parts=20, lam=0.005)
    assert model.n_parts_ > 6 and model.sizes_.sum() == 40 and np.isfinite(model.objective_)


def test_rows_that_are_all_the_same(here):
    X = np.repeat(np.eye(4, dtype=np.float32), 25, axis=0)
    model = fit(X, n_clusters=4, parts=8)
    assert model.sizes_.tolist() == [25, 25, 25, 25]


def test_far_rows_that_no_kernel_reaches(here):
    X = np.concatenate([groups(200, K=2, D=2)[0], groups(30, K=1, D=2)[0] + 1e4])
    with pytest.warns(UserWarning, match="30 of 230 points lie in parts of the graph that no mode's kernel reaches"):
        model = fit(X, n_clusters=2, init=X[[0, 1]], bandwidth=1.0, n_neighbors=5, parts=3)
    assert model.status_ == "unreached points" and np.unique(model.labels_.compute()[200:]).size == 1
