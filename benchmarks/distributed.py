"""Laplacian K-modes on a Dask cluster of this machine: memory, traffic, cost and agreement with one machine.

    python benchmarks/distributed.py fit --points 10000000 --workers 4 --memory 2.5GB
    python benchmarks/distributed.py smallest --points 10000000 --memory 2.5GB 2GB 1.5GB 1GB
    python benchmarks/distributed.py cost                # 10^6 points: two workers and one process with two threads
    python benchmarks/distributed.py growth              # 10^6 and 10^7 points
    python benchmarks/distributed.py same                # spirals, blobs, K = 300, MNIST through LAPMODES_DATA
    python benchmarks/distributed.py halo                # rows that a part needs of others, by the number of parts

Blobs of unequal size in 16 dimensions, 20 clusters, single precision, the default constructor, from an NPY file. Each
fit is made by a process of its own, whose workers end with it. Memory is resident memory, looked at every 50 ms.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

FOLDER = str(Path(__file__).resolve().parent)
sys.path = [path for path in sys.path if path != FOLDER] + [FOLDER]  # this file must not be taken for Dask's package

import numpy as np  # noqa: E402
from growth import CLUSTERS, DIMENSIONS, blobs  # noqa: E402
from measure import PeakMemory, PhaseClock, report, seconds_of  # noqa: E402

SAME_POINTS = 1_000_000


class WorkerMemory:
    """Largest resident memory of each worker's process, and of all together at one time."""

    def __init__(self, client: Any) -> None:
        self._client, self._done = client, threading.Event()
        self.peaks: dict[int, int] = {}
        self.together = 0

    def __enter__(self) -> WorkerMemory:
        self.base = list(self._resident().values())
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _resident(self) -> dict[int, int]:
        import psutil

        found = {}
        for process in psutil.Process().children(recursive=True):
            try:
                command = " ".join(process.cmdline())
                if "spawn_main" in command:  # a worker; the other child keeps track of resources
                    found[process.pid] = process.memory_info().rss
            except psutil.Error:
                continue
        return found

    def _watch(self) -> None:
        while not self._done.wait(0.05):
            now = self._resident()
            self.together = max(self.together, sum(now.values()))
            for pid, size in now.items():
                self.peaks[pid] = max(self.peaks.get(pid, 0), size)


def file_of(n: int) -> Path:
    """The blobs as a file, made once."""
    folder = Path(tempfile.gettempdir()) / "lapmodes-blobs"
    folder.mkdir(exist_ok=True)
    file = folder / f"{n}.npy"
    if not file.exists():
        X, y = blobs(n)
        np.save(folder / f"{n}-classes.npy", y)
        np.save(file, X)
    return file


def sent_bytes(client: Any) -> int:
    """Bytes that workers have sent to each other, as Dask counts them."""
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def measure_fit(n: int, workers: int, memory: str, parts: Any) -> dict[str, Any]:
    from distributed import Client

    from lapmodes.distributed import LaplacianKModes
    from lapmodes.distributed.cluster import local_cluster
    from lapmodes.metrics import adjusted_rand

    file = file_of(n)
    with local_cluster(workers, memory) as cluster, Client(cluster) as client:
        client.run(warm_up)
        sent: list[int] = []
        clock = PhaseClock()

        def watch(phase: str, done: int, total: int | None, info: str) -> bool:
            clock(phase, done, total, info)
            if phase == "alternate":
                sent.append(sent_bytes(client))
            return False

        with WorkerMemory(client) as used, PeakMemory() as driver:
            model = LaplacianKModes(CLUSTERS, random_state=0, parts=parts, verbose=watch)
            seconds, _ = seconds_of(lambda: model.fit(str(file)))
        with PeakMemory() as labelled:
            labels = model.labels_.compute()
        rounds, sweeps, rows, size = model.traffic_.sum(axis=0).tolist()
        scale = float(-model.objective_)
        return {
            "n": n,
            "seconds": seconds,
            "peaks": sorted(used.peaks.values()),
            "together": used.together,
            "base": sum(used.base),
            "driver": driver.growth,
            "labels": labelled.growth,
            "parts": model.n_parts_,
            "halo": model.halo_share_,
            "recall": model.neighbor_recall_,
            "gap": model.gap_ / scale,
            "status": model.status_,
            "ari": adjusted_rand(np.load(file.with_name(f"{n}-classes.npy")).astype(int), labels),
            "exchanges": rounds,
            "sweeps": sweeps,
            "halo rows sent": rows,
            "bytes sent": size,
            "rows after the first": float(model.traffic_[1:, 2].sum()),
            "bytes moved": sent[-1] - sent[0],
            **{f"phase {name}": value for name, value in clock.seconds.items()},
        }


def warm_up() -> None:
    """The libraries' own code is not the fit's time."""
    import lapmodes.distributed  # noqa: F401
    from lapmodes import LaplacianKModes

    LaplacianKModes(2, random_state=0).fit(np.random.default_rng(0).normal(size=(200, 3)))


def in_a_process(words: list[str]) -> dict[str, Any]:
    """What a fit in a process of its own prints as JSON; its error, if it fails."""
    run = subprocess.run([sys.executable, __file__, "--one", *words], capture_output=True, text=True)
    if run.returncode:
        lines = [line for line in run.stderr.splitlines() if line and not line.startswith(("20", " "))]
        return {"error": lines[-1] if lines else f"ended with {run.returncode}"}
    return dict(json.loads(run.stdout.splitlines()[-1]))


def show(name: str, found: list[dict[str, Any]]) -> None:
    rows = []
    for each in found:
        if "error" in each:
            print(each["error"])
            continue
        n = each["n"]
        phases = ", ".join(f"{key[6:]} {value:.0f}" for key, value in each.items() if key.startswith("phase "))
        allowed = each["halo rows sent"] * CLUSTERS * 4
        rows.append(
            [
                f"{n:.0e}",
                f"{each['seconds']:.0f} ({phases})",
                " ".join(f"{peak / 2**20:.0f}" for peak in each["peaks"]),
                f"{(each['together'] - each['base']) / n:.0f}",
                f"{each['driver'] / 2**20:.0f} / {each['labels'] / 2**20:.0f}",
                each["parts"],
                f"{each['halo']:.2f}",
                f"{each['recall']:.3f}",
                f"{each['gap']:.1e} {each['status']}",
                f"{each['ari']:.4f}",
                f"{each['exchanges']:.0f} / {each['sweeps']:.1f}",
                f"{each['bytes sent'] / max(allowed, 1):.2f} ({each['halo rows sent']:.0f} rows)",
                f"{each['bytes moved'] / 2**20:.2f} ({each['rows after the first']:.0f} rows)",
            ]
        )
    header = [
        "points",
        "seconds (phases)",
        "peak of each worker, MiB",
        "bytes a point",
        "driver / labels, MiB",
        "parts",
    ]
    header += ["halo", "recall", "relative gap", "ARI", "exchanges / sweeps", "bytes sent", "later moved, MiB"]
    report(name, header, rows)
    print("bytes sent: over changed halo rows x K x 4; later moved: all that workers sent after the first alternation")


def compare_cost(n: int, repeats: int) -> None:
    """Two workers against one process with two threads."""
    one, two = [], []
    for _ in range(repeats):
        one.append(in_a_process(["single", str(n)])["seconds"])
        two.append(in_a_process(["fit", str(n), "2", "4GB", "auto"])["seconds"])
    rows = [[f"{n:.0e}", f"{min(one):.1f}", f"{min(two):.1f}", f"{min(two) / min(one):.2f}"]]
    report("distributed_cost", ["points", "one process, 2 threads, s", "2 workers, s", "ratio"], rows)


def measure_single(n: int) -> dict[str, Any]:
    from lapmodes import LaplacianKModes

    X = np.load(file_of(n))
    LaplacianKModes(CLUSTERS, random_state=0).fit(X[:2000])
    seconds, model = seconds_of(lambda: LaplacianKModes(CLUSTERS, random_state=0, n_jobs=2).fit(X))
    return {"n": n, "seconds": seconds, "status": model.status_}


def compare_growth(sizes: list[int], workers: int, memory: str) -> None:
    """Seconds and memory of all workers with the number of points."""
    found = [in_a_process(["fit", str(n), str(workers), memory, "auto"]) for n in sizes]
    show("distributed_growth", found)
    if any("error" in each for each in found):
        return
    ratio = math.log(sizes[-1] / sizes[0])
    for what, value in (("seconds", lambda each: each["seconds"]), ("memory", lambda each: each["together"])):
        print(f"{what} grow with the power {math.log(value(found[-1]) / value(found[0])) / ratio:.2f}")


def problems(points: int) -> dict[str, Any]:
    """Data, number of clusters, parameters and parts."""
    from lapmodes.datasets import make_spirals

    rng = np.random.default_rng(1)
    centres = 9 * rng.standard_normal((300, 8)).astype(np.float32)
    many = centres[rng.integers(0, 300, 60_000)] + rng.standard_normal((60_000, 8), dtype=np.float32)
    found = {
        "spirals": (make_spirals(random_state=0)[0], 5, {}, 4),
        f"blobs {points:.0e}": (blobs(points)[0], CLUSTERS, {}, 8),
        "K = 300": (many, 300, {"sparse_assignments": True}, 4),
    }
    if "LAPMODES_DATA" in os.environ:
        with np.load(Path(os.environ["LAPMODES_DATA"]) / "mnist70k.npz") as data:
            found["MNIST-70k"] = (data["X"].reshape(70_000, -1).astype(np.float32) / 255, 10, {}, 8)
    return found


def compare_answers(points: int, only: str) -> None:
    """From the same start and on the same graph, one machine and workers: objectives, gaps and labels."""
    from distributed import Client

    from lapmodes import LaplacianKModes as Single
    from lapmodes.distributed import LaplacianKModes
    from lapmodes.distributed.cluster import local_cluster

    rows = []
    with local_cluster(2, "4GB") as cluster, Client(cluster), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (X, K, parameters, parts) in problems(points).items():
            if only not in name:
                continue
            there = LaplacianKModes(K, parts=parts, random_state=0, **parameters).fit(X)
            whole = there.gather()
            start = {"init": (whole.cluster_centers_, whole.assignments_), "lam": there.lam_}
            start |= {"bandwidth": there.bandwidth_} | parameters
            graph = whole.graph_.maximum(whole.graph_.T)
            one = Single(K, n_jobs=2, **start).fit(X, graph=graph)
            two = LaplacianKModes(K, parts=parts, **start).fit(X, graph=graph)
            agree = float((two.labels_.compute() == one.labels_).mean())
            apart, allowed = abs(two.objective_ - one.objective_), two.gap_ + one.gap_
            traffic = there.traffic_.sum(axis=0)
            share = traffic[3] / max(traffic[2] * K * 4, 1)
            figures = [f"{apart:.2e}", f"{allowed:.2e}", apart <= allowed, f"{agree:.4f}", f"{there.halo_share_:.2f}"]
            rows.append([name, len(X), K, parts, *figures, f"{share:.2f}", there.status_])
            print(rows[-1], flush=True)
    header = ["data", "points", "K", "parts", "apart", "sum of gaps", "within", "labels", "halo", "bytes", "status"]
    report("distributed_same", header, rows)


def measure_halo() -> None:
    """Rows of other parts that a part needs, for each of its own."""
    from lapmodes._records import Points
    from lapmodes.distributed.sample import make_cells
    from lapmodes.graph.neighbors import make_index, search_neighbors
    from lapmodes.solve.objective import nearest_mode

    data = {"blobs 1e5": blobs(100_000)[0]}
    if "LAPMODES_DATA" in os.environ:
        with np.load(Path(os.environ["LAPMODES_DATA"]) / "mnist70k.npz") as stored:
            data["MNIST-70k"] = stored["X"].reshape(70_000, -1).astype(np.float32) / 255
    rows = []
    for name, X in data.items():
        near = search_neighbors(X, make_index(X, 2), 10).indices
        for n_parts in (4, 16, 64):
            cells = make_cells(X, n_parts, seed=0)
            part = cells.part[nearest_mode(Points(X, 2), cells.centers)].astype(np.int64)
            source, target = np.repeat(np.arange(len(X)), 10), near.ravel()
            between = part[source] != part[target]
            pairs = part[source[between]] * len(X) + target[between], part[target[between]] * len(X) + source[between]
            sizes = np.bincount(part)
            halo = np.unique(np.concatenate(pairs)).size / len(X)
            rows.append([name, n_parts, f"{halo:.2f}", f"{sizes.max() / sizes.mean():.2f}"])
    report("distributed_halo", ["data", "parts", "halo rows for each own", "largest part over the mean"], rows)


def one(words: list[str]) -> None:
    """A single fit, for a process of its own."""
    if words[0] == "single":
        print(json.dumps(measure_single(int(words[1]))))
        return
    parts = words[4] if words[4] == "auto" else int(words[4])
    print(json.dumps(measure_fit(int(words[1]), int(words[2]), words[3], parts)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["fit", "smallest", "cost", "growth", "same", "halo"])
    parser.add_argument("--points", type=int, default=0)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--memory", nargs="+", default=["2.5GB"])
    parser.add_argument("--parts", default="auto")
    parser.add_argument("--only", default="", help="of the data sets of 'same', those with this in their name")
    parser.add_argument("--repeats", type=int, default=2)
    chosen = parser.parse_args()
    print(f"{DIMENSIONS} dimensions, {CLUSTERS} clusters, {os.cpu_count()} processors, {time.strftime('%Y-%m-%d')}")
    if chosen.what in ("fit", "smallest"):
        n = str(chosen.points or 10_000_000)
        for memory in chosen.memory:
            print(f"{chosen.workers} workers of {memory}", flush=True)
            show("distributed_fit", [in_a_process(["fit", n, str(chosen.workers), memory, chosen.parts])])
    elif chosen.what == "cost":
        compare_cost(chosen.points or 1_000_000, chosen.repeats)
    elif chosen.what == "growth":
        compare_growth(chosen.sizes, chosen.workers, chosen.memory[0])
    elif chosen.what == "same":
        compare_answers(chosen.points or SAME_POINTS, chosen.only)
    else:
        measure_halo()
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--one":
        one(sys.argv[2:])
    else:
        sys.exit(main())
