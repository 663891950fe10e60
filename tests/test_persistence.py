from __future__ import annotations

import json
import os
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph

import lapmodes
from lapmodes import KModes, LaplacianKMeans, LaplacianKModes

MODELS = [
    LaplacianKModes(3, random_state=0),
    LaplacianKModes(3, bandwidth="entropic", affinity="entropic", laplacian="normalized", random_state=0),
    LaplacianKModes(3, affinity="anchor", prior_weight=0.5, random_state=0),
    LaplacianKModes(3, affinity="heat", bandwidth=0.8, init="k-means", random_state=0),
    KModes(3, random_state=0),
    LaplacianKMeans(3, metric="cosine", random_state=0),
]


def public_attributes(model):
    """What a user reads of a fitted model."""
    return {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("sparse", [False, True])
def test_saved_models_answer_as_before(tmp_path, blobs, model, sparse):
    X = blobs[0] + 3
    X = sp.csr_array(X) if sparse else X
    model.fit(X, sample_weight=np.linspace(0.5, 1, X.shape[0]) * (np.arange(X.shape[0]) % 9 > 0))
    model.save(tmp_path / "model.npz")
    back = lapmodes.load(tmp_path / "model.npz")
    assert type(back) is type(model)
    assert repr(back) == repr(model)
    assert public_attributes(back) == public_attributes(model) | {"notes_"}
    for name in public_attributes(model) - {"graph_"}:
        np.testing.assert_array_equal(getattr(back, name), getattr(model, name), err_msg=name)
    assert abs(back.graph_ - model.graph_).sum() == 0
    np.testing.assert_array_equal(back.predict_proba(X[:20]), model.predict_proba(X[:20]))
    np.testing.assert_array_equal(back.transform(X[:20]), model.transform(X[:20]))
    back.save(tmp_path / "again.npz")


def test_given_graph_and_names_are_kept(tmp_path, blobs):
    import pandas as pd

    frame = pd.DataFrame(blobs[0], columns=["a", "b"])
    W = kneighbors_graph(blobs[0], 6)
    LaplacianKModes(3, random_state=0).fit(frame, graph=W.maximum(W.T)).save(tmp_path / "m.npz")
    back = lapmodes.load(tmp_path / "m.npz")
    assert list(back.feature_names_in_) == ["a", "b"]
    assert back.predict(frame, graph=W).shape == (180,)


def test_no_pickle_anywhere(tmp_path, blobs):
    LaplacianKModes(3, random_state=0).fit(blobs[0]).save(tmp_path / "m.npz")
    with zipfile.ZipFile(tmp_path / "m.npz") as archive:
        for name in archive.namelist():
            assert b"|O" not in archive.read(name)[:200]

    class Trap:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "ran"),))

    with open(tmp_path / "trap.npz", "wb") as stream:
        np.savez(stream, header=np.array([Trap()], dtype=object))
    with pytest.raises(ValueError, match="not a lapmodes model"):
        lapmodes.load(tmp_path / "trap.npz")
    (tmp_path / "plain.npz").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ValueError, match="not a lapmodes model"):
        lapmodes.load(tmp_path / "plain.npz")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9, 0.99])
def test_cut_off_files_are_refused(tmp_path, blobs, share):
    path = tmp_path / "m.npz"
    LaplacianKModes(3, random_state=0).fit(blobs[0]).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match="not a lapmodes model, or it is damaged"):
        lapmodes.load(path)


def test_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        lapmodes.load(tmp_path / "none.npz")


def test_failed_save_leaves_the_old_file(tmp_path, blobs, monkeypatch):
    path = tmp_path / "m.npz"
    model = LaplacianKModes(3, random_state=0).fit(blobs[0])
    model.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(np, "savez", lambda stream, **_: stream.write(b"half") / 0)
    with pytest.raises(ZeroDivisionError):
        model.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.npz"]


def test_subclasses_are_refused(tmp_path, blobs):
    class Mine(LaplacianKModes):
        pass

    with pytest.raises(ValueError, match="Only lapmodes' own estimators"):
        Mine(3).fit(blobs[0]).save(tmp_path / "mine.npz")


def test_notes_ride_along(tmp_path, blobs):
    model = LaplacianKModes(3, random_state=0).fit(blobs[0])
    model.save(tmp_path / "plain.npz")
    assert lapmodes.load(tmp_path / "plain.npz").notes_ == {}
    notes = {"recipe": '{"scale": true}', "für": "später \n\x00 ✓"}
    model.save(tmp_path / "noted.npz", notes=notes)
    back = lapmodes.load(tmp_path / "noted.npz")
    assert back.notes_ == notes
    back.save(tmp_path / "again.npz")
    assert lapmodes.load(tmp_path / "again.npz").notes_ == notes
    back.save(tmp_path / "without.npz", notes={})
    assert lapmodes.load(tmp_path / "without.npz").notes_ == {}


@pytest.mark.parametrize("notes", [{"a": 1}, {1: "a"}, {"a": None}])
def test_notes_are_texts(tmp_path, blobs, notes):
    with pytest.raises(ValueError, match="'notes' must be a dict of str to str"):
        LaplacianKModes(3, random_state=0).fit(blobs[0]).save(tmp_path / "m.npz", notes=notes)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("format", [1, 3])
def test_files_of_other_versions_say_so(tmp_path, format):
    """The header of version 0.1 had the same name and place."""
    header = {"format": format, "class": "LaplacianKModes", "parameters": {"n_clusters": 2, "anchor": "auto"}}
    np.savez(tmp_path / "m.npz", header=np.asarray(json.dumps(header)), X=np.zeros((3, 2)))
    with pytest.raises(ValueError, match=rf"another version of lapmodes \(format {format}; this one reads 2\). Fit"):
        lapmodes.load(tmp_path / "m.npz")


def test_what_cannot_be_written_comes_back_as_the_default(tmp_path, blobs):
    X, _ = blobs
    told = []
    random_state = np.random.RandomState(0)
    model = LaplacianKModes(
        3, lam=0.1, init=X[[0, 70, 130]], random_state=random_state, verbose=lambda *a: told.append(a)
    )
    model.fit(X).save(tmp_path / "m.npz")
    back = lapmodes.load(tmp_path / "m.npz")
    assert (back.init, back.random_state, back.verbose, back.lam) == ("auto", None, False, 0.1)
    np.testing.assert_array_equal(back.labels_, model.labels_)


def test_partial_labels_are_kept(tmp_path, blobs):
    X, y = blobs
    known = np.where(np.arange(180) % 30 == 0, y, -1)
    model = LaplacianKModes(3, random_state=0).fit(X, partial_labels=known)
    model.save(tmp_path / "m.npz")
    back = lapmodes.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(back.labels_[known >= 0], y[known >= 0])
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))


def test_callable_affinity_cannot_be_saved(tmp_path, blobs):
    model = LaplacianKModes(3, affinity=lambda d: np.exp(-d), random_state=0).fit(blobs[0])
    with pytest.raises(ValueError, match="callable 'affinity' cannot be saved"):
        model.save(tmp_path / "m.npz")
    assert os.listdir(tmp_path) == []


def test_estimators_can_be_pickled(blobs):
    model = LaplacianKModes(3, random_state=0).fit(blobs[0])
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.predict_proba(blobs[0]), model.predict_proba(blobs[0]))
