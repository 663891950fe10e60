"""Models in the stores of others: skops and MLflow."""

from __future__ import annotations

import numpy as np
import pytest

from lapmodes import KModes, LaplacianKMeans, LaplacianKModes, Scaler

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore:.*type hint:UserWarning")]

TRUSTED = [
    "lapmodes._estimator.LaplacianKModes",
    "lapmodes._special_cases.KModes",
    "lapmodes._special_cases.LaplacianKMeans",
    "lapmodes.scaling.Scaler",
]
"""The list of docs/guides/tools.md."""

MODELS = [
    LaplacianKModes(3, random_state=0),
    LaplacianKModes(3, bandwidth="entropic", affinity="entropic", random_state=np.random.RandomState(0)),
    LaplacianKModes(3, affinity="anchor", sparse_assignments=True, random_state=0),
    KModes(3, random_state=0),
    LaplacianKMeans(3, metric="cosine", random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("queried", [False, True])
def test_skops_stores_a_model_of_one_trusted_type(tmp_path, vectors, model, queried):
    sio = pytest.importorskip("skops.io")
    X, _ = vectors
    model.fit(X)
    if queried:
        model.predict(X + 0.1)
        model.outlier_score(X)
    sio.dump(model, tmp_path / "model.skops")
    untrusted = sio.get_untrusted_types(file=tmp_path / "model.skops")
    assert len(untrusted) == 1 and set(untrusted) <= set(TRUSTED)
    back = sio.load(tmp_path / "model.skops", trusted=TRUSTED)
    np.testing.assert_array_equal(back.predict(X + 0.1), model.predict(X + 0.1))
    np.testing.assert_array_equal(back.outlier_score(X), model.outlier_score(X))


def test_skops_stores_a_pipeline(tmp_path, vectors):
    sio = pytest.importorskip("skops.io")
    from sklearn.pipeline import make_pipeline

    X, _ = vectors
    pipeline = make_pipeline(Scaler(), LaplacianKModes(3, random_state=0)).fit(X)
    sio.dump(pipeline, tmp_path / "pipeline.skops")
    assert set(sio.get_untrusted_types(file=tmp_path / "pipeline.skops")) <= set(TRUSTED)
    back = sio.load(tmp_path / "pipeline.skops", trusted=TRUSTED)
    np.testing.assert_array_equal(back.predict(X), pipeline.predict(X))


@pytest.mark.parametrize("form", ["cloudpickle", "skops"])
def test_mlflow_stores_a_model(tmp_path, vectors, form):
    mlflow = pytest.importorskip("mlflow.sklearn")
    X, _ = vectors
    model = LaplacianKModes(3, random_state=0).fit(X)
    options = {"skops_trusted_types": TRUSTED} if form == "skops" else {}
    mlflow.save_model(
        model, str(tmp_path / "model"), serialization_format=form, pip_requirements=["lapmodes"], **options
    )
    back = mlflow.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(back.predict(X + 0.1), model.predict(X + 0.1))
