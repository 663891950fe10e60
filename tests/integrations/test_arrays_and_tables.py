"""Rows that come from PyTorch, from the array API, from Polars, pandas, Arrow or a file."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from lapmodes import LaplacianKModes

pytestmark = pytest.mark.integration


def fitted(X):
    return LaplacianKModes(3, random_state=0).fit(X)


def test_torch_tensors_are_not_copied(vectors):
    torch = pytest.importorskip("torch")
    X, _ = vectors
    plain = fitted(X)
    tensor = torch.from_numpy(X)
    model = fitted(tensor)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert np.shares_memory(model.training_points_, X)
    np.testing.assert_array_equal(model.predict(tensor + 0.1), plain.predict(X + 0.1))
    single = fitted(torch.tensor(X, dtype=torch.float32, requires_grad=True))
    assert single.cluster_centers_.dtype == np.float32
    with pytest.raises(TypeError, match=r"main memory and of a type that NumPy knows.*bfloat16"):
        fitted(tensor.to(torch.bfloat16))


def test_the_array_api_is_accepted_also_where_scikit_learn_dispatches(vectors):
    pytest.importorskip("array_api_strict")
    code = """
import array_api_strict as xp, numpy as np, sklearn
from lapmodes import LaplacianKModes
X = np.random.default_rng(0).normal(size=(60, 3))
plain = LaplacianKModes(3, random_state=0).fit(X)
for dispatch in (False, True):
    with sklearn.config_context(array_api_dispatch=dispatch):
        model = LaplacianKModes(3, random_state=0).fit(xp.asarray(X))
        assert (model.predict(xp.asarray(X)) == plain.labels_).all()
        assert type(model.labels_) is np.ndarray
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_memory_maps_and_arrow_and_frames_give_the_same_model(tmp_path, vectors):
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    X, _ = vectors
    plain, names = fitted(X), [f"x{i}" for i in range(8)]
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = fitted(mapped)
    assert np.shares_memory(model.training_points_, mapped)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    for table in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names), pa.table(list(X.T), names=names)):
        model = fitted(table)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        assert list(model.feature_names_in_) == names, type(table)
        np.testing.assert_array_equal(model.predict_proba(table), plain.predict_proba(X))


def test_polars_output(vectors):
    pl = pytest.importorskip("polars")
    X, _ = vectors
    frame = pl.DataFrame(X, schema=[f"x{i}" for i in range(8)])
    out = fitted(frame).set_output(transform="polars").transform(frame)
    assert isinstance(out, pl.DataFrame) and out.shape == (120, 3)
