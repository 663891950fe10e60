"""The cluster: which client is used, graphs of tasks that are handed to it, and errors in plain words."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, fields, is_dataclass
from typing import Any
from uuid import uuid4

import dask
import numpy as np
from distributed import Client, Future, KilledWorker, LocalCluster, as_completed
from distributed.client import ClosedClientError, FutureCancelledError, default_client
from scipy.sparse import issparse

from .. import __version__
from .._progress import Step, no_step

WORKER_TTL = "120 s"
"""A worker of a local cluster that gives no sign of life for so long is given up, and its work done elsewhere."""
MEMORY_SHARE = 0.6
"""Share of the workers' memory that results may take before Dask writes them to disk."""
LOCAL = {
    "distributed.scheduler.worker-ttl": WORKER_TTL,
    "distributed.scheduler.work-stealing": False,  # moving a part costs more than waiting for its worker
    "distributed.worker.memory.terminate": 0.95,
}


LOST = CancelledError, OSError, ClosedClientError, FutureCancelledError
"""What Dask raises where a connection is gone."""


class ClusterError(RuntimeError):
    """The cluster, not the data or the parameters, kept a fit from being finished."""


def local_cluster(n_workers: int | None = None, memory: str | int = "auto", threads: int = 1) -> LocalCluster:
    """Workers on this machine that listen on the loopback interface only."""
    from joblib import cpu_count

    with dask.config.set(LOCAL):
        return LocalCluster(
            n_workers=n_workers or cpu_count(),
            threads_per_worker=threads,
            memory_limit=memory,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
        )


def find_client(client: Any) -> tuple[Client, bool]:
    """The given client, else the current one, else one of a new local cluster; whether it was made here."""
    if client is not None:
        if not isinstance(client, Client):
            raise TypeError(f"'client' must be a distributed.Client or None. Got {type(client).__name__} instead.")
        if client.status != "running":
            raise ClusterError(
                f"The Dask client given as 'client' is {client.status}. Connect a new one: distributed.Client(address)."
            )
        return client, False
    try:
        return default_client(), False
    except ValueError:
        cluster = local_cluster()
        return Client(cluster), True


def check_cluster(client: Client) -> list[int]:
    """Refuse a cluster without workers, or whose workers run other versions; the memory of each worker, 0: no limit."""
    if not client.scheduler_info(n_workers=-1)["workers"]:
        try:
            client.wait_for_workers(1, timeout=30)
        except TimeoutError as error:
            raise ClusterError("The Dask cluster has no workers. Start some, then fit again.") from error
    here, found = worker_facts(), client.run(worker_facts, on_error="return")
    for address, facts in found.items():
        if isinstance(facts, Exception):
            continue  # it has just gone, or cannot say: its tasks will
        for name, version in here["versions"].items():
            if facts["versions"].get(name) != version:
                raise ClusterError(
                    f"The worker at {address} has {name} {facts['versions'].get(name)}, this process has {version}. "
                    "Install the same versions everywhere, as results would depend on where a task ran."
                )
    return [int(info["memory_limit"] or 0) for info in client.scheduler_info(n_workers=-1)["workers"].values()]


def worker_facts() -> dict[str, Any]:
    """What must be the same on all workers."""
    import platform

    import numpy
    import scipy
    import sklearn

    versions = {"lapmodes": __version__, "Python": platform.python_version(), "NumPy": numpy.__version__}
    versions |= {"SciPy": scipy.__version__, "scikit-learn": sklearn.__version__}
    return {"versions": versions}


class Tasks:
    """Hands graphs of tasks to a client; keys are unique to this run, and results stay on the workers."""

    def __init__(self, client: Client) -> None:
        self.client, self.token, self._count = client, uuid4().hex[:12], 0

    def number(self) -> int:
        """A number that no step before had."""
        self._count += 1
        return self._count

    def key(self, name: str, *numbers: int) -> tuple[Any, ...]:
        """The key of a task; the name is what Dask's dashboard shows."""
        return (f"lapmodes-{name}-{self.token}", *numbers)

    def run(self, graph: dict[Any, Any], wanted: Iterable[Any]) -> dict[Any, Future]:
        """Start what is wanted of a graph: the futures by their keys. Values of the graph may hold futures."""
        wanted = list(wanted)
        with plain_errors():
            futures = self.client.get(graph, wanted, sync=False)
        return dict(zip(wanted, futures, strict=True))

    def each(self, name: str, function: Any, arguments: Sequence[tuple[Any, ...]]) -> list[Future]:
        """One task for each tuple of arguments."""
        number = self.number()
        graph = {self.key(name, number, i): (function, *each) for i, each in enumerate(arguments)}
        return list(self.run(graph, graph).values())

    def gather(self, futures: Sequence[Future]) -> list[Any]:
        """The results, which must be small, in order."""
        with plain_errors():
            return list(self.client.gather(list(futures)))

    def watch(self, futures: Sequence[Future], step: Step = no_step) -> None:
        """Wait for all of them, a step for each; the first error is raised at once."""
        with plain_errors():
            for future in as_completed(futures, loop=self.client.loop):
                if future.status == "error":
                    future.result()
                step(1)


class plain_errors:  # noqa: N801 - reads as a statement
    """Says in one sentence what happened to the cluster, and what to do."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, KilledWorker):
            task = str(error.task).strip("('").split("-")[1] if "lapmodes-" in str(error.task) else str(error.task)
            raise ClusterError(
                f"Workers died {error.allowed_failures + 1} times at the step '{task}', most likely because their "
                "memory was used up. Use more 'parts', more workers, or workers with more memory."
            ) from error
        if isinstance(error, MemoryError):
            raise ClusterError(
                "A worker has too little memory for one part. Use more 'parts', or workers with more memory."
            ) from error
        if isinstance(error, LOST) and not isinstance(error, FileNotFoundError):
            raise ClusterError(
                "The connection to the Dask cluster was lost: the client was closed or the scheduler is gone. Connect "
                "again and fit again; with 'checkpoint' the fit goes on where it was."
            ) from error


def close_local(client: Client) -> None:
    """End a local cluster that was made for one model."""
    cluster = client.cluster
    client.close()
    if cluster is not None:
        cluster.close()


def first_of(values: Any, number: Any) -> Any:
    """One entry of a task's result, as a task of its own: others need not fetch the whole."""
    return values[number] if not isinstance(values, dict) else values.get(number)


class Sized:
    """A record whose size Dask sees: the sum of its arrays."""

    def __sizeof__(self) -> int:
        return int(sum(size_of(getattr(self, field.name)) for field in fields(self)))  # type: ignore


def size_of(value: Any) -> int:
    """Bytes of arrays, sparse matrices and records of them."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if issparse(value):
        return int(value.data.nbytes + value.indices.nbytes + value.indptr.nbytes)
    if isinstance(value, dict):
        return sum(map(size_of, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(size_of, value))
    if is_dataclass(value) and not isinstance(value, type):
        return sum(size_of(getattr(value, field.name)) for field in fields(value))
    return sys.getsizeof(value)


@dataclass(frozen=True)
class Size:
    """How large a problem is."""

    n: int
    n_features: int
    n_clusters: int
    n_neighbors: int
    itemsize: int

    @property
    def kept(self) -> float:
        """Bytes that stay on the workers: coordinates, number, graph, prior and assignments of all points."""
        number = 4 + self.itemsize
        return self.n * (self.itemsize * self.n_features + 24 + 1.5 * self.n_neighbors * number + 24 + 4.5 * number)

    def working(self, n_parts: int) -> float:
        """Bytes that the work on one part takes at once."""
        return 1.2 * self.n / n_parts * (self.itemsize * (3 * self.n_features + 4 * self.n_clusters) + 400)


def check_memory(size: Size, n_parts: int, limits: list[int]) -> None:
    """Refuse a cluster that is sure to be too small, before any work is done; limits of 0 are none."""
    if not limits or min(limits) == 0:
        return
    room, least = MEMORY_SHARE * sum(limits), min(limits)
    if size.kept > room:
        raise ClusterError(
            f"{size.n:,} rows need about {size.kept / 2**30:.2f} GiB on the workers, but {len(limits)} workers with "
            f"{sum(limits) / 2**30:.2f} GiB in all have room for {room / 2**30:.2f} GiB beside the work itself. Use "
            "more workers, or workers with more memory."
        )
    if size.working(n_parts) > MEMORY_SHARE * least:
        raise ClusterError(
            f"The work on one of {n_parts} parts needs about {size.working(n_parts) / 2**30:.2f} GiB, but a worker has "
            f"{least / 2**30:.2f} GiB. Use more parts (such as parts={2 * n_parts}), or workers with more memory."
        )
