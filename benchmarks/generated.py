"""The defaults on the generator's draws, beside other algorithms, each candidate of the consensus, and the oracle.

    python benchmarks/generated.py                   300 draws: means, differences, by trait, candidates
    python benchmarks/generated.py --draws 50        fewer
    python benchmarks/generated.py --scale auto      columns scaled by the command line's own rule first, for everybody

Scores are adjusted Rand indices, noise left out, all at the right number of clusters. They are kept in
results/benchmarks/generated, those of this library under a hash of its source, so that a second run is cheap.
Differences are paired over the draws, with their standard errors; what is smaller than these is noise.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import generator
import generator_shapes
import numpy as np
import peers
from generator import DRAWS, Draw, draw
from measure import RESULTS, report

import lapmodes
from lapmodes import LaplacianKModes
from lapmodes._progress import Progress
from lapmodes.files.base import Table
from lapmodes.files.recipe import learn
from lapmodes.start.consensus import Consensus, choose, find_consensus

Scores = dict[str, float]
SCALES = ("none", "auto", "standard", "robust")


def fingerprint(paths: Iterable[Path]) -> str:
    """Eight letters that change when one of the files does."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(paths))).hexdigest()[:8]


class Store:
    """Scores of draws by one kind of algorithm, kept in a file."""

    def __init__(self, name: str, scale: str) -> None:
        made = fingerprint([Path(generator.__file__), Path(generator_shapes.__file__)])
        self.path = RESULTS / "generated" / f"{made}-{scale}-{name}.json"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.scores: dict[str, Scores] = json.loads(self.path.read_text()) if self.path.exists() else {}

    def put(self, seed: int, found: Scores) -> None:
        """Keep what was found for a draw."""
        self.scores[str(seed)] = found
        self.path.write_text(json.dumps(self.scores))


def points_of(X: np.ndarray, scale: str) -> np.ndarray:
    """The rows as the command line would hand them to the model."""
    return np.asarray(learn(Table(matrix=X), scale=scale)[2])


def consensus_of(X: Any, K: int, seed: int = 0) -> Consensus:
    """The candidates of a default fit and the choice among them, for all rows."""
    _, rows, prepared = LaplacianKModes(K, random_state=seed)._prepare(X, {"graph": None}, Progress())
    found = find_consensus(prepared.inputs, K, np.random.RandomState(seed))
    return replace(found, partitions=tuple(rows.spread(labels) for labels in found.partitions))


def own_scores(drawn: Draw, X: np.ndarray) -> Scores:
    """Of the default fit, of the start alone, of each family alone, and of each candidate."""
    K = drawn.n_clusters
    model = LaplacianKModes(K, random_state=0).fit(X)
    found = consensus_of(X, K)
    scores = {"lapmodes": drawn.score(model.labels_), "consensus alone": drawn.score(model.prior_.argmax(axis=1))}
    each = {
        f"{candidate.family} {candidate.variant}": drawn.score(labels)
        for candidate, labels in zip(found.candidates, found.partitions, strict=True)
    }
    for family in dict.fromkeys(candidate.family for candidate in found.candidates):
        members = [i for i, candidate in enumerate(found.candidates) if candidate.family == family]
        alone = choose([found.candidates[i] for i in members], [found.partitions[i] for i in members], K)
        scores[f"{family} alone"] = drawn.score(alone.labels)
    scores["best candidate"] = max(each.values())
    return scores | {f"candidate: {name}": value for name, value in each.items()}


def collect(seeds: range, scale: str, with_peers: bool) -> tuple[list[Scores], list[Draw]]:
    """All scores of all draws; computes what is not there yet."""
    home = Path(lapmodes.__file__).parent
    own = Store(f"lapmodes-{fingerprint([*home.rglob('*.py'), *home.glob('*.so')])}", scale)
    others = {name: Store(name, scale) for name in peers.PEERS} if with_peers else {}
    rows, draws = [], []
    for seed in seeds:
        drawn = draw(seed)
        X = points_of(drawn.X, scale)
        if str(seed) not in own.scores:
            own.put(seed, own_scores(drawn, X))
        for name, store in others.items():
            if str(seed) not in store.scores:
                store.put(seed, {name: drawn.score(peers.run(name, X, drawn.n_clusters))})
        row = own.scores[str(seed)] | {"oracle": drawn.traits["oracle"]}
        rows.append(row | {name: store.scores[str(seed)][name] for name, store in others.items()})
        draws.append(drawn)
        print(f"\r{seed + 1 - seeds[0]} draws", end="", flush=True)
    print()
    return rows, draws


def column(rows: list[Scores], name: str) -> np.ndarray:
    """One algorithm's scores; not a number where it gave no K clusters."""
    return np.array([row.get(name, np.nan) for row in rows])


def with_error(values: np.ndarray, sign: str = "") -> str:
    """Mean and standard error."""
    values = values[np.isfinite(values)]
    return (
        f"{values.mean():{sign}.3f} ± {values.std(ddof=1) / np.sqrt(max(values.size, 2)):.3f}"
        if values.size > 1
        else "-"
    )


def show_means(rows: list[Scores]) -> None:
    """Every algorithm's mean and its difference to the default, the best first."""
    own = column(rows, "lapmodes")
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = []
    for name in sorted(names, key=lambda name: -np.nanmean(column(rows, name))):
        values = column(rows, name)
        wins = np.sum(own > values + 0.01), np.sum(values > own + 0.01)
        table.append([name, with_error(values), with_error(own - values, "+"), f"{wins[0]} : {wins[1]}"])
    report("generated", ["algorithm", "mean ARI", "lapmodes is better by", "draws won : lost"], table)


def show_traits(rows: list[Scores], draws: list[Draw], names: list[str]) -> None:
    """Means by trait."""
    groups: dict[str, list[int]] = {}
    for i, drawn in enumerate(draws):
        for word in drawn.groups:
            groups.setdefault(word, []).append(i)
    table = []
    for word, at in groups.items():
        some = [rows[i] for i in at]
        gain = column(some, "lapmodes") - column(some, "best candidate")
        cells = [f"{np.nanmean(column(some, name)):.3f}" for name in names]
        table.append([word, len(at), *cells, with_error(gain, "+")])
    report("generated_traits", ["trait", "draws", *names, "lapmodes - best candidate"], table)


def main() -> None:
    """Collect the scores and show them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--scale", choices=SCALES, default="none")
    parser.add_argument("--no-peers", action="store_true", help="this library only")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(options.first, options.first + options.draws)
    rows, draws = collect(seeds, options.scale, not options.no_peers)
    show_means(rows)
    names = ["lapmodes", "best candidate", "oracle", *([] if options.no_peers else peers.PEERS)]
    show_traits(rows, draws, names)
    print(peers.missing())


if __name__ == "__main__":
    main()
