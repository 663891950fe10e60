"""Models and checkpoints on disk, and what a model says of new points."""

from __future__ import annotations

import json

import dask.array as da
import numpy as np
import pytest
from parted import groups

import lapmodes
from lapmodes.distributed import LaplacianKModes, load, storage


@pytest.fixture(scope="module")
def new(points):
    rng = np.random.default_rng(3)
    queries = points[rng.choice(len(points), 300)] + rng.standard_normal((300, 8)).astype(np.float32)
    queries[:20] = points[:20]
    return queries


def test_new_points_are_mapped_as_by_one_machine(parted, new):
    one = parted.gather()
    shares = parted.predict_proba(da.from_array(new, chunks=(130, 8)))
    assert shares.chunks == ((130, 130, 40), (4,))
    assert np.allclose(shares.compute(), one.predict_proba(new), atol=2e-3)
    assert (parted.predict(new).compute() == one.predict(new)).mean() > 0.99
    assert np.allclose(parted.score_samples(new).compute(), one.score_samples(new), rtol=1e-5)
    assert np.allclose(parted.outlier_score(new).compute(), one.outlier_score(new), atol=0.02)


def test_training_rows_have_their_own_assignments(parted, points, new):
    Z = parted.assignments_.compute()
    assert np.array_equal(parted.predict_proba(new).compute()[:20], Z[:20])
    assert np.array_equal(parted.predict(points).compute(), parted.labels_.compute())


@pytest.mark.parametrize("parameters", [{"laplacian": "normalized"}, {"bandwidth": "entropic"}, {"lam": 0.0}])
def test_other_models_map_new_points_too(here, new, parameters):
    X, _ = groups(1200)
    model = LaplacianKModes(4, parts=3, random_state=0, **parameters).fit(X)
    one = model.gather()
    assert np.allclose(model.predict_proba(new).compute(), one.predict_proba(new), atol=5e-3)


def test_new_points_that_do_not_fit(parted):
    with pytest.raises(ValueError, match="X has 3 features, but the model was fitted with 8"):
        parted.predict(np.zeros((5, 3), dtype=np.float32)).compute()
    with pytest.raises(ValueError, match="Row 2 of a block of new points has NaN"):
        parted.predict(np.where(np.arange(5)[:, None] == 2, np.nan, np.zeros((5, 8)))).compute()


def test_a_model_that_fits_is_one_file_for_one_machine(parted, tmp_path, new):
    parted.save(tmp_path / "model.npz")
    one = lapmodes.load(tmp_path / "model.npz")
    assert np.array_equal(one.labels_, parted.labels_.compute()) and one.gap_ == parted.gap_
    assert isinstance(load(tmp_path / "model.npz"), lapmodes.LaplacianKModes)
    assert np.array_equal(one.exemplars_, parted.exemplars_)


def test_a_partitioned_model_is_read_by_the_workers(parted, tmp_path, new, client):
    parted.save(tmp_path / "model", partitioned=True)
    again = load(tmp_path / "model", client=client)
    assert np.array_equal(again.assignments_.compute(), parted.assignments_.compute())
    assert np.array_equal(again.predict_proba(new).compute(), parted.predict_proba(new).compute())
    assert again.objective_ == parted.objective_ and again.status_ == parted.status_
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_a_damaged_folder_is_refused(parted, tmp_path, client):
    parted.save(tmp_path / "model", partitioned=True)
    (tmp_path / "model" / "model.json").write_text("{")
    with pytest.raises(ValueError, match="is not a folder of a distributed model, or it is damaged"):
        load(tmp_path / "model", client=client)


def test_some_rows_for_one_machine(parted, points):
    rows = np.arange(5, len(points), 9)
    sample = parted.gather(rows)
    assert np.array_equal(sample.labels_, parted.labels_.compute()[rows])
    assert sample.graph_.shape == (rows.size, rows.size) and sample.objective_ == parted.objective_


class TestCheckpoints:
    @pytest.fixture(autouse=True)
    def often(self, monkeypatch, here):
        monkeypatch.setattr(storage, "EVERY", 0.0)

    def fit(self, X, folder, **parameters):
        return LaplacianKModes(4, **({"parts": 3, "random_state": 0, "checkpoint": folder} | parameters)).fit(X)

    def test_a_fit_goes_on_from_its_last_state(self, tmp_path):
        X, _ = groups(900)
        first = self.fit(X, tmp_path, max_iter=100)
        again = self.fit(X, tmp_path)
        assert again.n_iter_ == first.n_iter_ + 1  # one more look finds that the modes rest
        assert abs(again.objective_ - first.objective_) <= again.gap_ + first.gap_
        states = [path.name for path in tmp_path.iterdir() if path.name.startswith("state")]
        assert len(states) == 3  # earlier states are gone

    def test_other_data_or_parameters_are_refused(self, tmp_path):
        X, _ = groups(600)
        self.fit(X, tmp_path)
        with pytest.raises(ValueError, match="was written for other data"):
            self.fit(X + 1, tmp_path)
        with pytest.raises(ValueError, match="was written for other parameters"):
            self.fit(X, tmp_path, n_neighbors=5)

    def test_a_folder_with_other_files_is_refused(self, tmp_path):
        (tmp_path / "letter.txt").write_text("dear")
        with pytest.raises(ValueError, match="holds other files"):
            self.fit(groups(300)[0], tmp_path)

    def test_without_a_seed_the_first_run_decides(self, tmp_path):
        X, _ = groups(600)
        first = self.fit(X, tmp_path, random_state=None)
        again = self.fit(X, tmp_path, random_state=None)
        assert np.array_equal(again.labels_.compute(), first.labels_.compute())

    def test_nothing_in_the_header_can_run_code(self, tmp_path):
        self.fit(groups(300)[0], tmp_path)
        assert json.loads((tmp_path / "model.json").read_text())["format"] == storage.FORMAT
