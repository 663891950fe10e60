"""The homotopy on COIL-20: from the same K-means starts, straight to the target and along a path of bandwidths."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import LaplacianKModes, fit_path
from .._records import Array
from .._settings import effective_threads
from ..plotting.style import FRAME, PALETTE, import_matplotlib
from .results import Claim, Picture, Result, Setting, Table
from .table3_runs import problem_of, score

DATA = "COIL-20"
LAMS = (0.01, 0.1)
"""The paper's, and one that does better here."""
WIDTHS = tuple(np.geomspace(0.45, 0.1, 7).tolist())
"""The paper's seven steps."""
STARTS, QUICK_STARTS = 20, 3

INTRODUCTION = """The paper improves its result on COIL-20 by following the solution while the bandwidth falls from \
0.45 to 0.1 in 7 steps, each begun from the solution of the step before. Here both ways start from the same K-means \
solutions: straight to bandwidth 0.1, and along the path."""


@dataclass(frozen=True)
class Pair:
    """Accuracy and NMI, in per cent, from one start."""

    lam: float
    seed: int
    start: tuple[float, float]
    direct: tuple[float, float]
    path: tuple[tuple[float, float], ...]
    """At each step."""


def run(setting: Setting) -> Result:
    """Both ways from every start."""
    from joblib import Parallel, delayed

    seeds = range(QUICK_STARTS if setting.quick else STARTS)
    problem_of(DATA, 0, setting.quick)  # so that missing data is found here, not in a worker
    todo = [(lam, seed) for lam in LAMS for seed in seeds]
    workers = Parallel(n_jobs=effective_threads(None), return_as="generator", inner_max_num_threads=1)
    pairs = []
    with setting.progress.phase("homotopy", len(todo)) as step:
        for pair in workers(delayed(both_ways)(lam, seed, setting.quick) for lam, seed in todo):
            pairs.append(pair)
            step(1, f"accuracy {pair.direct[0]:.1f} straight, {pair.path[-1][0]:.1f} by homotopy")
    return Result(
        "homotopy",
        "Homotopy on COIL-20",
        INTRODUCTION,
        tables=[summary(pairs), every_pair(pairs)],
        pictures=[draw(pairs)],
        claims=[claim(pairs, lam) for lam in LAMS],
    )


def both_ways(lam: float, seed: int, quick: bool) -> Pair:
    """Straight to the target and along the path."""
    problem = problem_of(DATA, seed, quick)
    init = problem.start("k-means")
    common: dict[str, Any] = {"n_clusters": problem.n_clusters, "lam": lam, "init": init, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a run that loses a cluster or stops early scores low
        direct = LaplacianKModes(bandwidth=WIDTHS[-1], **common).fit(problem.X, graph=problem.graph)
        path = list(fit_path(problem.X, bandwidth=WIDTHS, graph=problem.graph, **common))
    return Pair(
        lam,
        seed,
        score(problem, init[1].argmax(axis=1)),
        score(problem, direct.labels_),
        tuple(score(problem, model.labels_) for model in path),
    )


def values(pairs: list[Pair], lam: float) -> dict[str, Array]:
    """(start, measure) for each way."""
    chosen = [pair for pair in pairs if pair.lam == lam]
    return {
        "K-means start": np.array([pair.start for pair in chosen]),
        "straight": np.array([pair.direct for pair in chosen]),
        "homotopy": np.array([pair.path[-1] for pair in chosen]),
    }


def summary(pairs: list[Pair]) -> Table:
    """Best and mean over the starts."""
    rows = [(f"λ = {lam:g}", way, *cells(found)) for lam in LAMS for way, found in values(pairs, lam).items()]
    header = ("", "way", "best ACC", "best NMI", "mean ACC ± std", "mean NMI ± std")
    return Table("homotopy", "Best, mean and standard deviation over the starts (per cent)", header, rows)


def cells(found: Array) -> list[str]:
    """Best, then mean and standard deviation."""
    spread = zip(found.mean(axis=0), found.std(axis=0), strict=True)
    return [*(f"{value:.1f}" for value in found.max(axis=0)), *(f"{mean:.1f} ± {std:.1f}" for mean, std in spread)]


def every_pair(pairs: list[Pair]) -> Table:
    """Every start."""
    rows = [
        (pair.lam, pair.seed, *(f"{value:.2f}" for both in (pair.start, pair.direct, pair.path[-1]) for value in both))
        for pair in pairs
    ]
    header = ("lam", "start", *(f"{way} {m}" for way in ("K-means", "straight", "homotopy") for m in ("ACC", "NMI")))
    return Table("homotopy_starts", "Every start", header, rows, on_page=False)


def claim(pairs: list[Pair], lam: float) -> Claim:
    """Whether the path of bandwidths raises both means over the starts."""
    found = values(pairs, lam)
    gain = (found["homotopy"] - found["straight"]).mean(axis=0)
    best = [found[way].max(axis=0) for way in ("straight", "homotopy")]
    measured = (
        f"mean gain {gain[0]:+.2f} ACC, {gain[1]:+.2f} NMI over {len(found['straight'])} starts; "
        f"best {best[0][0]:.1f} / {best[0][1]:.1f} straight, {best[1][0]:.1f} / {best[1][1]:.1f} by homotopy"
    )
    text = f"With λ = {lam:g} the homotopy raises both the mean accuracy and the mean NMI over the starts on COIL-20."
    return Claim(text, measured, bool((gain > 0).all()))


def draw(pairs: list[Pair]) -> Picture:
    """Accuracy and NMI along the path."""
    figure = import_matplotlib("figure").Figure(figsize=(9, 3.4), layout="constrained")
    for ax, column, name in zip(figure.subplots(1, 2), (0, 1), ("Accuracy", "NMI"), strict=True):
        for lam, color in zip(LAMS, PALETTE, strict=False):
            path = np.array([[point[column] for point in pair.path] for pair in pairs if pair.lam == lam])
            ax.plot(WIDTHS, path.mean(axis=0), "o-", color=color, label=f"homotopy, $\\lambda$ = {lam:g}")
            ax.fill_between(WIDTHS, path.min(axis=0), path.max(axis=0), color=color, alpha=0.12, linewidth=0)
            straight = values(pairs, lam)["straight"][:, column].mean()
            ax.plot(WIDTHS[-1], straight, "s", color=color, markersize=8, markerfacecolor="none", label="straight")
        ax.set(xscale="log", xlim=(0.5, 0.09), title=f"{name} (%)", xlabel="bandwidth")
        ax.set_xticks([0.45, 0.3, 0.2, 0.1], ["0.45", "0.3", "0.2", "0.1"])
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color=FRAME, alpha=0.25)
    figure.axes[0].legend(frameon=False, fontsize=9)
    caption = "Means over the starts along the path; bands from the lowest to the highest; squares: straight."
    return Picture(
        "homotopy",
        caption,
        "Curves of accuracy and NMI over the bandwidth along the path; the numbers are in the table.",
        figure,
    )
