"""Files from anybody: whatever is in them, nothing of it runs. The interpreter itself is asked what it unpickled."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

WATCHED = """
import sys
from lapmodes.cli.app import app

unpickled = []
sys.addaudithook(lambda event, args: unpickled.append(args) if event == "pickle.find_class" else None)
try:
    app(sys.argv[1:], standalone_mode=False)
finally:
    assert not unpickled, unpickled
"""
CONTROL = "import pickle, sys\n" + WATCHED.replace(
    "app(sys.argv[1:], standalone_mode=False)", "pickle.load(open(sys.argv[1], 'rb'))"
)


class Trap:
    """Makes a folder when it is unpickled."""

    def __reduce__(self):
        return (os.mkdir, ("trapped",))


def objects():
    return np.array([[Trap(), Trap()]] * 4, dtype=object)


def hostile_h5ad(file):
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("anndata")
    with h5py.File(file, "w") as stored:
        stored.attrs["encoding-type"], stored.attrs["encoding-version"] = "anndata", "0.1.0"
        stored["X"] = np.void(pickle.dumps(Trap()))
        stored["X"].attrs["encoding-type"], stored["X"].attrs["encoding-version"] = "pickle", "0.1.0"


HOSTILE = {
    "x.npy": lambda file: np.save(file, objects(), allow_pickle=True),
    "x.npz": lambda file: np.savez(file, X=objects()),
    "sparse.npz": lambda file: np.savez(
        file, format=b"csr", shape=(4, 2), data=objects()[:, 0], indices=np.zeros(4, int), indptr=np.arange(5)
    ),
    "x.csv": lambda file: file.write_bytes(pickle.dumps(Trap())),
    "x.parquet": lambda file: file.write_bytes(pickle.dumps(Trap())),
    "x.mtx": lambda file: file.write_bytes(pickle.dumps(Trap())),
    "x.png": lambda file: file.write_bytes(pickle.dumps(Trap())),
    "x.pkl": lambda file: file.write_bytes(pickle.dumps(Trap())),
    "x.h5ad": hostile_h5ad,
}


def watched(here, *words, code=WATCHED):
    return subprocess.run([sys.executable, "-c", code, *words], cwd=here, capture_output=True, text=True)


@pytest.mark.parametrize("name", HOSTILE)
def test_data_cannot_run_code(name, here):
    HOSTILE[name](here / name)
    done = watched(here, "fit", name, "-k", "2")
    assert done.returncode != 0 or "Error: " in done.stderr
    assert "Traceback" not in done.stderr and "unpickled" not in done.stderr
    assert os.listdir(here) == [name]


def test_a_configuration_cannot_run_code(here):
    (here / "run.toml").write_text(
        "clusters = \"__import__('os').mkdir('trapped')\"\nset = [\"init=!!python/object\"]\n"
    )
    (here / "x.csv").write_text("a,b\n1,2\n3,5\n4,4\n")
    assert "Error: " in watched(here, "fit", "x.csv", "--config", "run.toml").stderr
    assert sorted(os.listdir(here)) == ["run.toml", "x.csv"]


def test_fitting_and_predicting_unpickle_nothing_at_all(blobs_csv, here):
    for words in (("fit", "blobs.csv", "-k", "2"), ("predict", "blobs.lapmodes", "blobs.csv")):
        done = watched(here, *words)
        assert done.returncode == 0, done.stderr


def test_the_watch_would_see_it(here):
    """Without this, the tests above could pass because they look away."""
    (here / "x.pkl").write_bytes(pickle.dumps(Trap()))
    assert "AssertionError" in watched(here, "x.pkl", code=CONTROL).stderr
    assert (here / "trapped").exists()
