"""What the defaults reach: the default constructor on many unlike data sets, beside other algorithms.

    python benchmarks/battery.py                 adjusted Rand index on every set, beside the peers
    python benchmarks/battery.py states          ten random states
    python benchmarks/battery.py images          accuracy and NMI on images and texts, rows of unit length
    python benchmarks/battery.py invariance      labels after scaling and rotation
    python benchmarks/battery.py labels          MNIST-70k from one label a class, beside label spreading
    python benchmarks/battery.py select          how often select finds the number of clusters
    python benchmarks/battery.py criterion       how well the choice among candidates ranks them
    python benchmarks/battery.py ablation        what each part brings
    python benchmarks/battery.py typed           labels when fitted values are typed back
    python benchmarks/battery.py shares          MNIST: how often new images are right, by their share

Looks for its data in the folder that LAPMODES_DATA names. A set's score is the best adjusted Rand index over its
labelings, each with its own number of clusters, noise left out. "consensus" is the start alone, without the model.
Times are processor time.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest import mock

import numpy as np
from battery_sets import battery, images, mnist, peers
from scipy.sparse import diags_array
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from lapmodes import DegenerateWarning, LaplacianKModes, select
from lapmodes.metrics import clustering_accuracy

PEERS = ("Genie_G0.3", "sklearn_gm", "sklearn_kmeans", "sklearn_spectral_Arbf_G5")
Method = Callable[[int, int], Any]


class ConsensusAlone:
    """The labels of the start, with nothing fitted to them: what the model is compared with."""

    def __init__(self, K: int, seed: int) -> None:
        self.model = LaplacianKModes(K, random_state=seed, max_iter=1)

    def fit_predict(self, X: Any) -> np.ndarray:
        """The cluster with most votes."""
        return np.asarray(self.model.fit(X).prior_.argmax(axis=1))


METHODS: dict[str, Method] = {
    "lapmodes": lambda K, seed: LaplacianKModes(K, random_state=seed),
    "consensus": ConsensusAlone,
    "paper": lambda K, seed: LaplacianKModes(K, init="k-means", random_state=seed),
    "spectral start": lambda K, seed: LaplacianKModes(K, init="spectral", random_state=seed),
    "k-means": lambda K, seed: KMeans(K, n_init=10, random_state=seed),
    "hdbscan": lambda K, seed: HDBSCAN(),
}


def score(method: Method, X: np.ndarray, labelings: list[np.ndarray], seed: int) -> tuple[float, int]:
    """Best adjusted Rand index over the labelings, and how many clusters died without a warning."""
    found: dict[int, np.ndarray] = {}
    best, silent = -1.0, 0
    for y in labelings:
        real = y > 0
        K = np.unique(y[real]).size
        if K not in found:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                found[K] = method(K, seed).fit_predict(X)
            told = any(issubclass(each.category, DegenerateWarning) for each in said)
            silent += 0 if told else K - np.unique(found[K]).size
        best = max(best, adjusted_rand_score(y[real], found[K][real]))
    return best, silent


def run_sets(method: str, largest: int, seeds: range) -> None:
    """One line a set, and the means."""
    others, rows, silent = peers(), [], 0
    columns = (*(f"{peer[-14:]:>15s}" for peer in PEERS), f"{'consensus':>15s}")
    print(f"{'set':26s} {'points':>7s} {method:>14s} {'seconds':>8s}", *columns)
    began = time.process_time()
    for name, X, labelings in battery(largest):
        start = time.process_time()
        results = [score(METHODS[method], X, labelings, seed) for seed in seeds]
        seconds = (time.process_time() - start) / len(seeds)
        own, dead = zip(*results, strict=True)
        silent += sum(dead)
        theirs = [float(others[name][peer] or "nan") for peer in PEERS]
        theirs.append(score(METHODS["consensus"], X, labelings, seeds[0])[0] if method == "lapmodes" else np.nan)
        rows.append((own, theirs))
        columns = " ".join(f"{value:15.3f}" for value in theirs)
        print(f"{name:26s} {len(X):7d} {np.mean(own):14.3f} {seconds:8.1f} {columns}", flush=True)
    own, theirs = (np.array([row[i] for row in rows]) for i in (0, 1))
    columns = " ".join(f"{value:15.3f}" for value in np.nanmean(theirs, axis=0))
    print(f"{'mean':34s} {own.mean():14.3f} {'':8s} {columns}")
    print(f"{len(rows)} sets, {(time.process_time() - began) / len(seeds):.0f} s; {silent} clusters died silently")
    if len(seeds) > 1:
        means = own.mean(axis=0)
        print("mean of each random state:", np.round(means, 4), f"range {np.ptp(means):.4f}")


def run_images(method: str, largest: int, seed: int) -> None:
    """Accuracy and NMI (over the larger entropy), averaged over samples."""
    results: dict[str, list[tuple[float, ...]]] = {}
    for name, X, y in images(largest):
        start = time.process_time()
        model = METHODS[method](np.unique(y).size, seed)
        labels = model.fit_predict(X)
        seconds = time.process_time() - start
        prior = getattr(model, "prior_", None)
        alone = labels if prior is None else prior.argmax(axis=1)
        scores = [
            each
            for found in (labels, alone)
            for each in (
                clustering_accuracy(y, found),
                normalized_mutual_info_score(y, found, average_method="max"),
            )
        ]
        results.setdefault(name, []).append((*scores, seconds))
    for name, rows in results.items():
        accuracy, nmi, accuracy_alone, nmi_alone, seconds = np.mean(rows, axis=0)
        print(
            f"{name:12s} accuracy {accuracy:.3f}  NMI {nmi:.3f}  consensus alone {accuracy_alone:.3f} {nmi_alone:.3f}  "
            f"{seconds:7.1f} s  ({len(rows)} samples)",
            flush=True,
        )


def run_invariance(largest: int) -> None:
    """Labels that change when the points are scaled or rotated."""
    from scipy.stats import ortho_group

    changed = 0
    for name, X, labelings in battery(largest):
        K = np.unique(labelings[0][labelings[0] > 0]).size
        turned = X @ ortho_group.rvs(X.shape[1], random_state=0) if X.shape[1] > 1 else -X
        one, *others = (METHODS["lapmodes"](K, 0).fit_predict(each) for each in (X, 1e6 * X, 1e-6 * X, turned))
        counts = [int((one != other).sum()) for other in others]
        changed += any(counts)
        print(f"{name:26s} changed labels at 1e6, 1e-6, rotated: {counts}", flush=True)
    print(f"{changed} sets with a change")


def run_labels(draws: int) -> None:
    """One label a class of MNIST-70k, whole fits on one graph, beside label spreading on it."""
    X, y = mnist()
    graph = LaplacianKModes(10, init="k-means++", max_iter=1, random_state=0).fit(X).graph_
    rows = []
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        known = np.full(y.size, -1)
        for c in range(10):
            known[rng.choice(np.flatnonzero(y == c))] = c
        start = time.process_time()
        labels = LaplacianKModes(10, random_state=draw).fit(X, known, graph=graph).labels_
        seconds = time.process_time() - start
        rows.append([np.mean(labels == y), *(np.mean(spread(graph, known, a) == y) for a in (0.2, 0.99)), seconds])
        print("draw", draw, np.round(rows[-1], 3), flush=True)
    own, usual, strong, seconds = np.mean(rows, axis=0)
    print(f"mean accuracy {own:.3f}; label spreading {usual:.3f} (alpha 0.2, its default), {strong:.3f} (0.99)")


def spread(graph: Any, known: np.ndarray, alpha: float) -> np.ndarray:
    """The iteration of scikit-learn's LabelSpreading on a given graph, to its default tolerance or 300 steps."""
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    root = diags_array(1 / np.sqrt(np.where(degrees > 0, degrees, 1)))
    S = (root @ graph @ root).tocsr()
    Y = np.zeros((known.size, known.max() + 1))
    at = np.flatnonzero(known >= 0)
    Y[at, known[at]] = 1
    F = Y.copy()
    for _ in range(300):
        F, before = alpha * (S @ F) + (1 - alpha) * Y, F
        if np.abs(F - before).sum() < 1e-3:
            break
    return F.argmax(axis=1)


def run_select(largest: int) -> None:
    """How often the recommended number of clusters is within one of that of some labeling."""
    hits, rows = {}, 0
    for name, X, labelings in battery(largest):
        true = sorted({np.unique(y[y > 0]).size for y in labelings})
        start = time.process_time()
        found = select(X, random_state=0)
        seconds, rows = time.process_time() - start, rows + 1
        for criterion, K in (("recommended", found.n_clusters), *found.preferred.items()):
            hits[criterion] = hits.get(criterion, 0) + any(abs(K - each) <= 1 for each in true)
        print(f"{name:26s} true {true} found {found.n_clusters} {found.preferred} {seconds:.1f} s", flush=True)
    print(f"of {rows} sets within one:", hits)


def run_criterion(largest: int) -> None:
    """Rank correlation of the label-free score with the adjusted Rand index, over the candidates of each set."""
    from scipy.stats import spearmanr

    from lapmodes.start import consensus

    found: list[consensus.Consensus] = []
    rows = []

    def noted(*args: Any, **options: Any) -> consensus.Consensus:
        found.append(choose(*args, **options))
        return found[-1]

    choose = consensus.choose
    with mock.patch.object(consensus, "choose", noted):
        for name, X, labelings in battery(largest):
            y = labelings[0]
            real = y > 0
            METHODS["lapmodes"](np.unique(y[real]).size, 0).fit(X)
            ari = np.array([adjusted_rand_score(y[real], labels[real]) for labels in found[-1].partitions])
            told = np.ptp(ari) > 0 and np.ptp(found[-1].agreement) > 0
            rank = spearmanr(found[-1].agreement, ari)[0] if told else np.nan
            rows.append((rank, ari[found[-1].chosen], ari.max(), ari.mean()))
            print(
                f"{name:26s} rank correlation {rank:6.2f}  chosen {rows[-1][1]:.3f}  best {ari.max():.3f}", flush=True
            )
    rank, chosen, best, mean = np.nanmean(rows, axis=0)
    print(f"mean rank correlation {rank:.2f}; chosen {chosen:.3f}, best {best:.3f}, mean candidate {mean:.3f}")


@contextmanager
def without(family: str) -> Iterator[None]:
    """Leave out a family of candidates."""
    from lapmodes.start import consensus

    every = consensus.list_candidates

    def fewer(*args: Any) -> list[consensus.Candidate]:
        return [candidate for candidate in every(*args) if candidate.family != family]

    with mock.patch.object(consensus, "list_candidates", fewer):
        yield


def run_ablation(largest: int) -> None:
    """The mean over the sets, and accuracy on a few images, with one part changed at a time."""
    plain = METHODS["lapmodes"]
    parts: list[tuple[str, Any, Method]] = [("everything", nullcontext(), plain)]
    parts.append(("consensus alone", nullcontext(), METHODS["consensus"]))
    for family in ("communities", "density modes", "linkages"):
        parts.append((f"without {family}", without(family), plain))
    for name, options in (
        ("no prior", {"prior_weight": 0.0}),
        ("spectral start", {"init": "spectral"}),
        ("k-means start", {"init": "k-means"}),
    ):
        parts.append((name, nullcontext(), lambda K, seed, o=options: LaplacianKModes(K, random_state=seed, **o)))
    for name, context, method in parts:
        with context:
            sets = np.mean([score(method, X, labelings, 0)[0] for _, X, labelings in battery(largest)])
            fits = [(y, method(np.unique(y).size, 0).fit_predict(X)) for _, X, y in images(2000, samples=5)]
        accuracy = np.mean([clustering_accuracy(y, labels) for y, labels in fits])
        print(f"{name:22s} sets {sets:.3f}  images {accuracy:.3f}", flush=True)


def run_typed(largest: int) -> None:
    """How many labels change when what the default resolved is typed back, each value alone and all together."""
    from sklearn.datasets import load_digits, load_iris, load_wine

    from lapmodes.datasets import make_moons_with_outliers

    data = [(name, load(return_X_y=True)) for name, load in (("iris", load_iris), ("wine", load_wine))]
    data += [("digits", load_digits(return_X_y=True)), ("moons", make_moons_with_outliers(random_state=0))]
    sets = [(name, X, [y + 1]) for name, (X, y) in data]
    changed = 0
    for name, X, labelings in (*sets, *battery(largest)):
        K = np.unique(labelings[0][labelings[0] > 0]).size
        model = LaplacianKModes(K, random_state=0).fit(X)
        typed = {"bandwidth": model.bandwidth_, "lam": model.lam_, "init": "consensus", "affinity": "self-tuning"}
        choices = [{key: value} for key, value in typed.items()] + [typed]
        labels = [LaplacianKModes(K, random_state=0, **choice).fit_predict(X) for choice in choices]
        counts = [int((each != model.labels_).sum()) for each in labels]
        changed += any(counts)
        print(f"{name:26s} changed labels with {', '.join(typed)}, all: {counts}", flush=True)
    print(f"{changed} sets with a change")


def run_shares() -> None:
    """Fit 60,000 images of MNIST without labels, and compare `predict` on the 10,000 others with their classes."""
    from scipy.optimize import linear_sum_assignment

    X, y = mnist()
    train, new = slice(0, 60_000), slice(60_000, 70_000)
    model = LaplacianKModes(10, random_state=0).fit(X[train])
    counts = np.zeros((10, 10), dtype=int)
    np.add.at(counts, (model.labels_, y[train]), 1)
    clusters, classes = linear_sum_assignment(-counts)
    name = np.empty(10, dtype=int)
    name[clusters] = classes
    shares = model.predict_proba(X[new])
    right, share = name[shares.argmax(axis=1)] == y[new], shares.max(axis=1)
    print(f"new images: right {right.mean():.4f}")
    for low, high in ((0.999, 1.01), (0.95, 0.999), (0.8, 0.95), (0.5, 0.8), (0.0, 0.5)):
        at = (share > low) & (share <= high)
        if at.any():
            print(f"    share in ({low}, {min(high, 1)}]: {at.sum():5d} images, right {right[at].mean():.4f}")
    print(f"training images: predict equals labels_ for {(model.predict(X[train]) == model.labels_).mean():.4f}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = ("sets", "states", "images", "invariance", "labels", "select", "criterion", "ablation", "typed", "shares")
    parser.add_argument("what", nargs="?", choices=what, default="sets")
    parser.add_argument("--method", choices=METHODS, default="lapmodes")
    parser.add_argument("--largest", type=int, default=10**9, help="leave out sets with more points")
    parser.add_argument("--seeds", type=int, default=10, help="number of random states")
    parser.add_argument("--draws", type=int, default=20, help="draws of the known labels")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    {
        "sets": lambda: run_sets(options.method, options.largest, range(1)),
        "states": lambda: run_sets(options.method, options.largest, range(options.seeds)),
        "images": lambda: run_images(options.method, options.largest, 0),
        "invariance": lambda: run_invariance(options.largest),
        "labels": lambda: run_labels(options.draws),
        "select": lambda: run_select(options.largest),
        "criterion": lambda: run_criterion(options.largest),
        "ablation": lambda: run_ablation(options.largest),
        "typed": lambda: run_typed(options.largest),
        "shares": run_shares,
    }[options.what]()


if __name__ == "__main__":
    main()
