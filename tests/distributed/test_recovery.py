"""Workers that die or hang, and programs that are killed: the fit ends with the same bits, or goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import dask
import dask.array as da
import numpy as np
import psutil
import pytest
from parted import groups

from lapmodes.distributed import LaplacianKModes
from lapmodes.distributed.cluster import ClusterError


def blocks(points):
    return da.from_array(points, chunks=(1000, 8))


@pytest.mark.parametrize("step", ["search", "relax", "shift", "labels"])
def test_a_killed_worker_changes_nothing(harmed, parted, points, tmp_path, step):
    """During the search, a Z-step, a C-step and the writing of outputs."""
    import pyarrow.parquet as pq

    killed = harmed.kill_at(step)
    model = LaplacianKModes(4, parts=4, random_state=0, client=harmed.client).fit(blocks(points))
    files = model.write_labels(tmp_path)
    harmed.restore()
    assert len(killed) == 1
    assert model.objective_ == parted.objective_ and model.gap_ == parted.gap_
    assert np.array_equal(harmed.client.compute(model.assignments_, sync=True), parted.assignments_.compute())
    written = np.concatenate([pq.read_table(file)["cluster"].to_numpy() for file in files])
    assert np.array_equal(written, parted.labels_.compute())
    assert sorted(os.listdir(tmp_path)) == [os.path.basename(file) for file in files]  # nothing half-written


def test_a_worker_that_hangs_is_given_up(own_cluster, parted, points, monkeypatch):
    monkeypatch.setitem(sys.modules["lapmodes.distributed.cluster"].LOCAL, "distributed.scheduler.worker-ttl", "5 s")
    cluster = own_cluster()
    stopped = cluster.kill_at("weigh", signal.SIGSTOP)
    model = LaplacianKModes(4, parts=4, random_state=0, client=cluster.client).fit(blocks(points))
    assert len(stopped) == 1 and model.objective_ == parted.objective_


def test_workers_that_die_again_and_again_are_one_clear_error(own_cluster):
    def deadly(distances):
        os._exit(1)  # as the system ends a process that takes too much memory

    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        cluster = own_cluster(n_workers=1)
    with pytest.raises(ClusterError, match=r"Workers died 2 times at the step '.*'.*Use more 'parts'"):
        LaplacianKModes(2, parts=2, affinity=deadly, init="k-means", client=cluster.client).fit(groups(200)[0])


def test_a_client_that_is_closed(own_cluster, points):
    cluster = own_cluster(n_workers=1)
    model = LaplacianKModes(4, parts=2, client=cluster.client)
    cluster.client.close()
    with pytest.raises(ClusterError, match="is closed"):
        model.fit(points)

    def closing(phase, done, total, info):
        if phase == "neighbours":
            other.close()

    other = cluster.cluster.get_client()
    processes = [psutil.Process(pid) for pid in other.run(os.getpid).values()]
    with pytest.raises(ClusterError, match="connection to the Dask cluster was lost"):
        LaplacianKModes(4, parts=2, client=other, verbose=closing).fit(points)
    cluster.close()
    assert psutil.wait_procs(processes, timeout=60)[1] == []  # no process is left behind


def test_other_versions_on_workers_are_refused(client, points, monkeypatch):
    monkeypatch.setattr("lapmodes.distributed.cluster.__version__", "0.0")
    with pytest.raises(ClusterError, match=r"The worker at tcp://.* has lapmodes .*, this process has 0.0"):
        LaplacianKModes(4, client=client).fit(points)


def test_everything_listens_on_loopback(shared):
    for pid in (os.getpid(), *shared.pids.values()):
        listening = [each.laddr.ip for each in psutil.Process(pid).net_connections() if each.status == "LISTEN"]
        assert listening and set(listening) <= {"127.0.0.1", "::1"}


PROGRAM = """
import os, signal, sys
import numpy as np
from lapmodes.distributed import LaplacianKModes, storage
from lapmodes.distributed.cluster import local_cluster
from distributed import Client

def watch(phase, done, total, info):
    if phase == "alternate" and done == 2:
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    storage.EVERY = 0.0
    client = Client(local_cluster(1, "2GB"))
    print(*client.run(os.getpid).values(), flush=True)
    model = LaplacianKModes(4, parts=3, random_state=0, checkpoint=sys.argv[2], verbose=watch)
    model.fit(np.load(sys.argv[1]))
"""


def test_a_killed_program_goes_on_from_its_checkpoint(client, points, whole, tmp_path):
    np.save(tmp_path / "points.npy", points)
    (tmp_path / "program.py").write_text(PROGRAM)
    words = [sys.executable, "program.py", "points.npy", "kept"]
    run = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == -signal.SIGKILL, run.stderr
    workers = [psutil.Process(int(pid)) for pid in run.stdout.split() if psutil.pid_exists(int(pid))]
    alive = psutil.wait_procs(workers, 60)[1]
    assert alive == []  # workers do not outlive their program
    seen = []
    again = LaplacianKModes(
        4,
        parts=3,
        random_state=0,
        client=client,
        checkpoint=tmp_path / "kept",
        verbose=lambda *step: seen.append(step[0]) and False,
    ).fit(points)
    assert "neighbours" not in seen and again.n_iter_ > 2  # the search was not repeated, nor the first alternation
    assert abs(again.objective_ - whole.objective_) <= again.gap_ + whole.gap_
