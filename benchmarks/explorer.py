"""The explorer: from the command to a visible map, one notch of a knob, long tasks in the browser, 10^7 rows.

    python benchmarks/explorer.py                 # all of it
    python benchmarks/explorer.py --only raster   # one part: start, notch or raster

Needs the extras explore and cli, playwright and a Chromium (CHROMIUM, or chromium on the path). Real data (MNIST) come
from LAPMODES_DATA; without it, blobs of the same size are taken. Times are of this machine; ratios are what counts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--headless", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
WATCH = """
window.long = [];
new PerformanceObserver((list) => list.getEntries().forEach((each) => window.long.push(Math.round(each.duration))))
  .observe({ type: 'longtask', buffered: true });
"""
COMMAND = [
    sys.executable,
    "-c",
    "import sys; sys.argv[0] = 'lapmodes'; from lapmodes.cli import main; sys.exit(main())",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["start", "notch", "raster"])
    only = parser.parse_args().only
    if only in (None, "raster"):
        raster()
    if only in (None, "start", "notch"):
        with tempfile.TemporaryDirectory() as folder, browser() as chromium:
            data = write_data(Path(folder), small=only == "notch")
            if only in (None, "start"):
                for name, command in data.items():
                    start(name, command, Path(folder), chromium)
            if only in (None, "notch"):
                notch(Path(folder), data["MNIST-70k"], chromium)


@contextmanager
def browser() -> Iterator[Any]:
    """A Chromium that draws in software."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


def mnist() -> np.ndarray:
    """MNIST, or blobs of its size."""
    folder = os.environ.get("LAPMODES_DATA")
    if folder:
        return np.load(Path(folder) / "mnist70k.npz")["X"]
    rng = np.random.default_rng(0)
    centers = rng.integers(0, 255, (10, 784))
    return np.clip(centers[rng.integers(0, 10, 70_000)] + rng.normal(0, 40, (70_000, 784)), 0, 255).astype(np.uint8)


def write_data(folder: Path, *, small: bool) -> dict[str, list[str]]:
    """The files to explore, and the options that go with each."""
    from PIL import Image
    from sklearn.datasets import load_digits, load_iris

    np.save(folder / "mnist.npy", mnist())
    found = {"MNIST-70k": ["mnist.npy", "-k", "10", "--image", "28x28"]}
    if small:
        return found
    load_iris(as_frame=True).frame.to_csv(folder / "iris.csv", index=False)
    (folder / "pictures").mkdir()
    for i, image in enumerate(load_digits().images):
        Image.fromarray((image * 15).astype(np.uint8)).save(folder / "pictures" / f"{i:04}.png")
    rng = np.random.default_rng(0)
    topics = ("goal match team coach league", "bread oven flour butter sugar", "orbit rocket planet comet galaxy")
    lines = [" ".join(rng.choice(topic.split(), 4)) for topic in topics for _ in range(400)]
    counts = [[line.split().count(word) for word in " ".join(topics).split()] for line in lines]
    header = ",".join(["text", *" ".join(topics).split()])
    rows = [f"{line},{','.join(map(str, row))}" for line, row in zip(lines, counts, strict=True)]
    (folder / "texts.csv").write_text("\n".join([header, *rows]))
    import pyarrow as pa
    from pyarrow import parquet

    centers = rng.normal(size=(8, 6)) * 8
    X = centers[rng.integers(0, 8, 10**6)] + rng.normal(size=(10**6, 6))
    parquet.write_table(pa.table({f"x{i}": X[:, i].astype(np.float32) for i in range(6)}), folder / "million.parquet")
    return found | {
        "iris": ["iris.csv", "-k", "3", "--drop", "target"],
        "a text table": ["texts.csv", "-k", "3"],
        "a folder of pictures": ["pictures", "-k", "10"],
        "10^6 rows of Parquet": ["million.parquet", "-k", "8"],
    }


@contextmanager
def served(command: list[str], folder: Path) -> Iterator[tuple[str, float]]:
    """The address of a running explorer, and when its command was given."""
    began = time.perf_counter()
    words = [*COMMAND, "explore", *command, "--no-browser"]
    process = subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = next(line for line in process.stderr if line.startswith("Explore at "))
        yield line.removeprefix("Explore at ").strip(), began
    finally:
        process.terminate()
        process.wait(timeout=20)


def opened(chromium: Any, url: str) -> Any:
    """A page with its map visible."""
    page = chromium.new_page(viewport={"width": 1400, "height": 900})
    page.add_init_script(WATCH)
    page.goto(url)
    page.wait_for_selector("html[data-ready]", timeout=120_000)
    return page


def start(name: str, command: list[str], folder: Path, chromium: Any) -> None:
    """From the command to a visible map: the first time with the fit, the second time without."""
    seconds = []
    for _ in range(2):
        with served(command, folder) as (url, began):
            page = opened(chromium, url)
            seconds.append(time.perf_counter() - began)
            long = max(page.evaluate("window.long"), default=0)
            page.close()
    print(
        f"start  {name:<22} with the fit {seconds[0]:6.1f} s   fit at hand {seconds[1]:5.2f} s   longest task {long} ms"
    )


def version(page: Any) -> int:
    return int(page.evaluate("document.documentElement.dataset.version || 0"))


def notch(folder: Path, command: list[str], chromium: Any) -> None:
    """One notch of λ or σ, from the key to the new map, over the time of its own warm-started alternation."""
    from lapmodes.cli.explore import resumed, study_of_run
    from lapmodes.explore.server import running
    from lapmodes.explore.worker import Explorer

    if not (folder / "mnist.lapmodes").exists():
        subprocess.run([*COMMAND, "fit", *command, "--no-report", "-q"], cwd=folder, check=True)
    study, solves = study_of_run(resumed(folder / "mnist.lapmodes"), None), timed_alternations()
    with running(Explorer(study, ahead=False)) as server:
        page = opened(chromium, server.url)
        page.wait_for_timeout(3000)
        page.evaluate("window.long.length = 0")
        for knob, key in [(k, key) for k in ("lam", "bandwidth") for key in ("ArrowRight", "ArrowRight", "ArrowLeft")]:
            before = version(page)
            page.focus(f"#knob-{knob}")
            began = time.perf_counter()
            page.keyboard.press(key)
            while version(page) == before:
                time.sleep(0.005)
            seconds = time.perf_counter() - began
            steps, worked = len(server.explorer.state.model.history_), server.explorer.change["seconds"]
            page.wait_for_timeout(1500)
            print(
                f"notch  {knob:<10} alternation {solves[-1]:.3f} s ({steps} steps)   server {worked:.3f} s = "
                f"{worked / solves[-1]:.2f} x   page {seconds:.3f} s = {seconds / solves[-1]:.2f} x"
            )
        print(f"notch  tasks over 50 ms in the browser meanwhile: {sorted(page.evaluate('window.long'))} ms")


def timed_alternations() -> list[float]:
    """A list that gets the seconds of each alternation from now on."""
    from lapmodes import _fit

    alternate, seconds = _fit.alternate, []

    def timed(*arguments: Any) -> Any:
        began = time.perf_counter()
        found = alternate(*arguments)
        seconds.append(time.perf_counter() - began)
        return found

    _fit.alternate = timed
    return seconds


def best(work: Callable[[], Any], repeats: int = 7) -> float:
    """The least seconds of several runs."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def raster(n: int = 10**7) -> None:
    """A picture of very many rows, over one pass over their coordinates by NumPy's sum."""
    from lapmodes.explore.maps import CODES, Plane, Sheet

    rng = np.random.default_rng(0)
    label = rng.integers(0, 20, n)
    xy = ((rng.normal(size=(20, 2)) * 5)[label] + rng.normal(size=(n, 2))).astype(np.float32)
    palette = np.zeros((CODES, 4), dtype=np.uint32)
    palette[:20, :3], palette[:20, 3] = rng.integers(0, 255, (20, 3)), 1
    low, high = xy.min(axis=0).astype(float), xy.max(axis=0).astype(float)
    began = time.perf_counter()
    plane = Plane.of(xy, low, high)
    sorting = time.perf_counter() - began
    began = time.perf_counter()
    sheet = Sheet(plane, label.astype(np.uint16), palette)
    counting = time.perf_counter() - began
    one_pass = best(lambda: xy.sum(dtype=np.float32))
    bounds = best(lambda: (xy[:, 0].min(), xy[:, 0].max(), xy[:, 1].min(), xy[:, 1].max()), 3)
    print(f"raster {n:,} rows: sorted once in {sorting:.1f} s, counted once a colouring in {counting:.2f} s")
    print(
        f"raster one pass: {1e3 * one_pass:.1f} ms to add the coordinates, {1e3 * bounds:.1f} ms to find their bounds"
    )
    middle, span = (low + high) / 2, high - low
    for zoom in (1, 1.7, 4, 20):
        half = span / 2 / zoom
        window = (middle[0] - half[0], middle[0] + half[0], middle[1] - half[1], middle[1] + half[1])
        seconds = best(lambda window=window: sheet.picture(window, (1200, 800)))
        ratios = f"{seconds / one_pass:.2f} x adding, {seconds / bounds:.2f} x bounds"
        print(f"raster 1200 x 800 at zoom {zoom:<4} {1e3 * seconds:6.1f} ms = {ratios}")


if __name__ == "__main__":
    main()
