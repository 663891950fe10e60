from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from lapmodes.files import formats, read
from lapmodes.files.prepared import PreparedModel

COMMAND = [sys.executable, "-c", "from lapmodes.cli import main; main()"]


def parquet_rows(file, n, seed=0, n_columns=3):
    """Rows around 0 and around 9, written in groups so that memory stays small."""
    rng = np.random.default_rng(seed)
    writer = None
    for start in range(0, n, 250_000):
        rows = min(250_000, n - start)
        X = rng.normal(size=(rows, n_columns)).astype(np.float32) + 9 * rng.integers(0, 2, (rows, 1))
        table = pa.table({f"x{i}": X[:, i].astype(np.float32) for i in range(n_columns)})
        writer = writer or pa.parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    writer.close()


@pytest.fixture
def fitted(here, lapmodes):
    parquet_rows(here / "train.parquet", 300)
    assert lapmodes("fit", "train.parquet", "-k", 2, "--no-report", "-o", "model").exit_code == 0
    return here / "model"


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv"])
def test_pieces_give_what_the_whole_gives(fitted, here, lapmodes, monkeypatch, suffix):
    parquet_rows(here / "new.parquet", 5000, seed=1)
    file = here / f"new{suffix}"
    whole = pa.parquet.read_table(here / "new.parquet")
    if suffix == ".csv":
        pa.csv.write_csv(whole, file)
    elif suffix == ".feather":
        pa.feather.write_feather(whole, file, chunksize=700)
    pieces = []
    mapped = PreparedModel.predict_proba
    monkeypatch.setattr(formats, "BATCH_ROWS", 600)
    monkeypatch.setattr(
        PreparedModel, "predict_proba", lambda self, table, **k: pieces.append(table.n_rows) or mapped(self, table, **k)
    )
    result = lapmodes("predict", fitted, file, "--soft", "--keep", "x1")
    assert result.exit_code == 0, result.output
    assert len(pieces) > 4 and sum(pieces) == 5000
    out = read(here / f"new.clusters{suffix}").columns
    assert out.column_names == ["x1", "cluster", "cluster_0", "cluster_1"]
    prepared = PreparedModel.load(fitted / "model.npz")
    Z = mapped(prepared, read(file))
    np.testing.assert_array_equal(out["cluster"], Z.argmax(axis=1))
    np.testing.assert_allclose(out["cluster_1"], Z[:, 1], atol=1e-6)


def test_a_gap_in_a_later_piece_is_named_and_nothing_stays(here, lapmodes, monkeypatch):
    monkeypatch.setattr(formats, "BATCH_ROWS", 100)
    parquet_rows(here / "train.parquet", 300)
    assert lapmodes("fit", "train.parquet", "-k", 2, "--no-report", "--missing", "error").exit_code == 0
    values = np.ones(350)
    column = pa.array(values, mask=np.arange(350) == 303)
    pa.parquet.write_table(pa.table({"x0": values, "x1": column, "x2": values}), here / "gap.parquet")
    before = sorted(os.listdir(here))
    result = lapmodes("predict", "train.lapmodes", "gap.parquet")
    assert result.exit_code == 3
    assert "row 304 (x1). Repair them, or fit again with --missing drop" in result.stderr
    assert sorted(os.listdir(here)) == before


def kill_at_size(process, folder, size):
    """Kill a prediction as soon as its unfinished output has so many bytes."""
    while process.poll() is None:
        try:
            if any(file.stat().st_size >= size for file in folder.glob(".out.parquet.*.partial")):
                break
        except FileNotFoundError:  # it has just become the output
            continue
    process.kill()
    process.wait()


@pytest.mark.slow
def test_a_killed_run_leaves_no_output_or_a_whole_one(fitted, here):
    parquet_rows(here / "big.parquet", 1_000_000, seed=2)
    command = [*COMMAND, "predict", "model", "big.parquet", "-o", "out.parquet", "-q"]
    subprocess.run(command, cwd=here, check=True)
    whole = (here / "out.parquet").read_bytes()
    for share in np.linspace(0, 1, 20):
        (here / "out.parquet").unlink(missing_ok=True)
        kill_at_size(subprocess.Popen(command, cwd=here), here, share * len(whole))
        assert not (here / "out.parquet").exists() or (here / "out.parquet").read_bytes() == whole
    (here / "out.parquet").unlink(missing_ok=True)
    subprocess.run(command, cwd=here, check=True)
    assert (here / "out.parquet").read_bytes() == whole
    assert not [name for name in os.listdir(here) if name.endswith(".partial")]


@pytest.mark.slow
def test_five_million_rows_need_little_memory(fitted, here):
    parquet_rows(here / "huge.parquet", 5_000_000, seed=3)
    code = (
        "import resource, sys; from lapmodes.cli.app import app\n"
        "app(sys.argv[1:], standalone_mode=False)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)"
    )
    words = ["predict", "model", "huge.parquet", "--soft", "-q"]
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=here, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 2
    assert pa.parquet.ParquetFile(here / "huge.clusters.parquet").metadata.num_rows == 5_000_000


def test_true_and_false_are_numbers_again(here, lapmodes):
    lines = [f"{i % 7}.5,{'true' if i % 2 else 'false'}" for i in range(40)]
    (here / "flags.csv").write_text("\n".join(["size,flag", *lines]))
    assert lapmodes("fit", "flags.csv", "-k", 2, "--no-report").exit_code == 0
    result = lapmodes("predict", "flags.lapmodes", "flags.csv")
    assert result.exit_code == 0, result.output
