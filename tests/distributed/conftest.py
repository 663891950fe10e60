from __future__ import annotations

import logging
import os
import signal
import warnings

import pytest

distributed = pytest.importorskip("distributed")

from parted import TasksHere, groups  # noqa: E402

from lapmodes.distributed.cluster import local_cluster  # noqa: E402


@pytest.fixture
def here(monkeypatch):
    """Fits run in this process, without a cluster."""
    import dask

    module = "lapmodes.distributed.estimator"
    monkeypatch.setattr(f"{module}.Tasks", TasksHere)
    monkeypatch.setattr(f"{module}.find_client", lambda client: (None, False))
    monkeypatch.setattr(f"{module}.check_cluster", lambda client: [0, 0])
    with dask.config.set(scheduler="sync"):
        yield


def quiet():
    """What Dask logs about workers that a test has killed is no news."""
    for name in ("distributed", "distributed.worker", "distributed.nanny", "distributed.scheduler"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


class Cluster:
    """Two workers on this machine, their processes, and a client."""

    def __init__(self, default=False, **options):
        quiet()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # sockets of Dask's own start are closed late
            self.cluster = local_cluster(**({"n_workers": 2, "memory": "2GB"} | options))
            self.client = distributed.Client(self.cluster, set_as_default=default)

    @property
    def pids(self):
        """The process of each worker, by its address."""
        return self.client.run(os.getpid)

    def restore(self):
        """Wait until both workers are there again, and kill no more."""
        self.cluster.scheduler.remove_plugin("killer")
        self.client.wait_for_workers(2)

    def kill_at(self, name, number=signal.SIGKILL):
        """Send a signal to the first worker that is given a task of this name; the answer will hold its address."""
        pids, killed = self.pids, []

        class Killer(distributed.diagnostics.plugin.SchedulerPlugin):
            def transition(self, key, start, finish, *args, **kwargs):
                if finish == "processing" and not killed and f"lapmodes-{name}-" in str(key):
                    address = scheduler.tasks[key].processing_on.address
                    if address in pids:
                        killed.append(address)
                        os.kill(pids[address], number)

        scheduler = self.cluster.scheduler
        scheduler.add_plugin(Killer(), name="killer")
        return killed

    def close(self):
        self.client.close()
        self.cluster.close()


@pytest.fixture(scope="session")
def shared():
    cluster = Cluster(default=True)
    yield cluster
    cluster.close()


@pytest.fixture
def client(shared):
    return shared.client


@pytest.fixture(scope="module")
def harmed():
    """A cluster whose workers are killed, and come back."""
    cluster = Cluster()
    yield cluster
    cluster.close()


@pytest.fixture
def own_cluster():
    """A cluster that a test may do harm to."""
    made = []

    def make(**options):
        made.append(Cluster(**options))
        return made[-1]

    yield make
    for cluster in made:
        cluster.close()


@pytest.fixture(scope="session")
def points():
    return groups()[0]


@pytest.fixture(scope="session")
def whole(points):
    """What one machine makes of the points."""
    from lapmodes import LaplacianKModes

    return LaplacianKModes(4, random_state=0, n_jobs=1).fit(points)


@pytest.fixture(scope="session")
def parted(shared, points):
    """The same on two workers, in four parts and three blocks."""
    import dask.array as da

    from lapmodes.distributed import LaplacianKModes

    X = da.from_array(points, chunks=(1000, 8))
    return LaplacianKModes(4, parts=4, random_state=0, client=shared.client).fit(X)
