from __future__ import annotations

import hashlib
import os

import numpy as np
import pytest
import scipy.sparse as sp

from lapmodes.datasets import DataNotFoundError, fetch_coil20, fetch_mnist, load_tdt2
from lapmodes.paper.data.sources import Dataset, Source, load_arrays


@pytest.fixture
def folders(tmp_path, monkeypatch):
    data, cache = tmp_path / "data", tmp_path / "cache"
    data.mkdir()
    monkeypatch.setenv("LAPMODES_DATA", str(data))
    monkeypatch.setenv("LAPMODES_CACHE", str(cache))
    return data, cache


def made_up(tmp_path, checksum):
    source = tmp_path / "source.bin"
    source.write_bytes(bytes(range(200)) * 1000)
    digest = hashlib.sha256(source.read_bytes()).hexdigest() if checksum is None else checksum

    def convert(files):
        X = np.frombuffer(files[0].read_bytes(), dtype=np.uint8).reshape(1000, 200)
        return X, np.arange(1000) % 3

    return Dataset("Made up", "made_up.npz", (Source(source.as_uri(), f"sha256:{digest}"),), convert, "none")


def test_own_files_come_first(folders):
    X = np.arange(24, dtype=np.uint8).reshape(6, 4) + 1
    np.savez(folders[0] / "coil20_32.npz", X=X, y=np.arange(6))
    got, y = fetch_coil20(unit_norm=True)
    np.testing.assert_allclose(np.linalg.norm(got, axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(y, np.arange(6))


def test_mnist_sample_has_so_many_of_each_digit(folders):
    rng = np.random.default_rng(0)
    np.savez(folders[0] / "mnist70k.npz", X=rng.integers(0, 255, (300, 9), dtype=np.uint8), y=np.arange(300) % 10)
    X, y = fetch_mnist(per_class=5, random_state=0)
    np.testing.assert_array_equal(np.bincount(y), 5)
    np.testing.assert_array_equal(X, fetch_mnist(per_class=5, random_state=0)[0])


def test_download_is_checked_cached_and_read_again(folders, tmp_path, capsys):
    dataset = made_up(tmp_path, None)
    X, _ = load_arrays(dataset)
    assert X.shape == (1000, 200)
    (tmp_path / "source.bin").unlink()
    np.testing.assert_array_equal(load_arrays(dataset)[0], X)
    assert "Licence: none" in capsys.readouterr().err


def test_wrong_checksum_and_missing_source_leave_nothing(folders, tmp_path):
    with pytest.raises(DataNotFoundError, match=r"checksum .* instead of 0000.*LAPMODES_DATA"):
        load_arrays(made_up(tmp_path, "0000"))
    gone = made_up(tmp_path, None)
    (tmp_path / "source.bin").unlink()
    with pytest.raises(DataNotFoundError, match="could not be downloaded"):
        load_arrays(gone)
    assert os.listdir(folders[1]) == []


def test_tdt2_is_never_downloaded(folders):
    with pytest.raises(DataNotFoundError, match="Linguistic Data Consortium"):
        load_tdt2()
    counts = sp.csr_array(np.array([[1, 0, 2], [0, 3, 1], [1, 1, 0]], dtype=float))
    sp.save_npz(folders[0] / "tdt2_30_X.npz", sp.csr_matrix(counts))
    np.savez(folders[0] / "tdt2_30_y.npz", y=np.array([1, 2, 2]))
    X, y = load_tdt2()
    dense = counts.toarray()
    expected = np.where(dense > 0, 1 + np.log(np.where(dense > 0, dense, 1)), 0) * np.log(3 / 2)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(X.toarray(), expected, rtol=1e-6)
    assert len(y) == 3
