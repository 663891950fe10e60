"""Several fits at once, in threads and processes of all kinds: the bits of each are those of a fit by itself."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from lapmodes import LaplacianKModes, load

THREADS = 8


def rows(seed, n=120, d=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + np.repeat([[0], [6], [12]], n // 3, axis=0)


def fitted(seed, n_jobs=1, **options):
    return LaplacianKModes(3, random_state=0, n_jobs=n_jobs, **options).fit(rows(seed))


def bits(model):
    return model.labels_.tobytes() + model.assignments_.tobytes() + model.cluster_centers_.tobytes()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("d", [3, 40])
def test_threads_fit_and_predict_one_anothers_models(n_jobs, d):
    """A k-d tree, and blocks; what a model needs for new points is made when it is first asked, by any thread."""
    data = [rows(seed, d=d) for seed in range(THREADS)]

    def fit(X):
        return LaplacianKModes(3, random_state=0, n_jobs=n_jobs).fit(X)

    alone = [fit(X) for X in data]
    answers = [[model.predict_proba(X) for X in data] for model in alone]
    scores = [model.outlier_score(data[0]) for model in alone]
    with ThreadPoolExecutor(THREADS) as pool:
        together = list(pool.map(fit, data))
        assert [bits(model) for model in together] == [bits(model) for model in alone]
        pairs = [(i, j) for j in range(THREADS) for i in range(THREADS)]
        found = pool.map(lambda pair: together[pair[0]].predict_proba(data[pair[1]]), pairs)
        assert all(np.array_equal(Z, answers[i][j]) for Z, (i, j) in zip(found, pairs, strict=True))
        found = pool.map(lambda model: model.outlier_score(data[0]), together)
        assert all(np.array_equal(one, two) for one, two in zip(found, scores, strict=True))


def test_one_model_is_shared_by_many_threads(tmp_path):
    model = fitted(0, bandwidth="entropic")
    model.save(tmp_path / "model.npz")
    expected, new = model.predict_proba(rows(1)), rows(1)
    for shared in (load(tmp_path / "model.npz"), fitted(0, bandwidth="entropic")):
        with ThreadPoolExecutor(THREADS) as pool:
            assert all(np.array_equal(Z, expected) for Z in pool.map(shared.predict_proba, [new] * 32))


def test_the_approximate_search_has_the_same_bits_for_any_number_of_threads():
    """K-means and products of matrices inside it must not round by OMP_NUM_THREADS; few rows take the ways of many."""
    script = Path(__file__).parent.parent / "benchmarks" / "threads.py"
    words = ["--points", "1500", "--omp", "1", "3", "--jobs", "2", "--rows", "dense", "--searches", "principal axes"]
    done = subprocess.run([sys.executable, str(script), *words], capture_output=True, text=True)
    assert "Same bits in every row." in done.stdout, done.stdout + done.stderr


IN_PROCESSES = """
import multiprocessing, sys
import numpy as np
from lapmodes import LaplacianKModes

def labels(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 20)) + np.repeat([[0], [6], [12]], 100, axis=0)
    return LaplacianKModes(3, random_state=0, n_jobs=2).fit(X).assignments_.tobytes()

if __name__ == "__main__":
    alone = [labels(seed) for seed in range(2)]  # threads have run before the processes begin
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert pool.map(labels, range(2)) == alone
    print("same bits")
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes(method, tmp_path):
    """Also those that are forked off after threads have run."""
    (tmp_path / "script.py").write_text(IN_PROCESSES)
    words = [sys.executable, "-W", "ignore", str(tmp_path / "script.py"), method]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "same bits", done.stderr


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_joblib(backend):
    from joblib import Parallel, delayed

    alone = [bits(fitted(seed)) for seed in range(3)]
    together = Parallel(n_jobs=2, backend=backend)(delayed(fitted)(seed) for seed in range(3))
    assert [bits(model) for model in together] == alone


def test_dask_workers():
    distributed = pytest.importorskip("distributed")
    alone = [bits(fitted(seed)) for seed in range(3)]
    options = {"n_workers": 1, "threads_per_worker": 4, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        together = client.gather(client.map(fitted, range(3)))
    assert [bits(model) for model in together] == alone


@pytest.mark.skipif(getattr(sys, "_is_gil_enabled", lambda: True)(), reason="an interpreter without a global lock")
def test_without_a_global_lock():
    assert not sys._is_gil_enabled()  # importing the native core has not switched it on again
    with ThreadPoolExecutor(THREADS) as pool:
        assert len({bits(model) for model in pool.map(lambda _: fitted(0), range(THREADS))}) == 1
