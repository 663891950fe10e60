"""Real tables with classes: the default constructor by way of scaling, beside other algorithms.

    LAPMODES_DATA=... python benchmarks/tables.py
    LAPMODES_DATA=... python benchmarks/tables.py --no-peers

    python benchmarks/tables.py --rule --draws 300

Twelve tables with columns in their own units, and scikit-learn's wine, breast cancer and iris. "auto" is the rule of
`lapmodes.Scaler` and the command line (`lapmodes fit TABLE -k K`), "raw", "standard" and "robust" say themselves; peers
see standardised columns. Above `MOST_ROWS` rows all see the same sample. Classes need not be clusters: what counts is
the comparison. Scores are adjusted Rand indices at the number of classes; the peers' are kept in results/benchmarks.
`--rule` compares raw, standardised and auto on the generator's draws with columns in units of their own and on those
without, and on the development sets, which are all in one unit.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator

import numpy as np
import peers
from battery_sets import battery, folder
from generated import with_error
from generator import DRAWS, draw
from measure import RESULTS, report
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

from lapmodes import LaplacianKModes
from lapmodes.files.base import Table
from lapmodes.files.recipe import Recipe, learn

MOST_ROWS = 5000
WAYS = {"auto": "auto", "raw": "none", "standard": "standard", "robust": "robust"}
TOY = {"wine": load_wine, "breast cancer": load_breast_cancer, "iris": load_iris}


def tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, columns and classes; of many rows a sample."""
    with np.load(folder() / "tables_dev.npz") as stored:
        for name in sorted({key.split("/")[0] for key in stored.files}):
            X, y = stored[f"{name}/X"].astype(np.float64), stored[f"{name}/y"]
            some = np.arange(len(X))
            if len(X) > MOST_ROWS:
                some = np.sort(np.random.default_rng(0).choice(len(X), MOST_ROWS, replace=False))
            yield name, X[some], y[some]
    for name, load in TOY.items():
        yield name, *load(return_X_y=True)


def own_scores(X: np.ndarray, y: np.ndarray) -> tuple[dict[str, float], str]:
    """Of each way of scaling, and what the rule chose."""
    K, scores, chosen = np.unique(y).size, {}, ""
    for way, scale in WAYS.items():
        recipe, _, points = learn(Table(matrix=X), scale=scale)
        chosen = choice(recipe) if way == "auto" else chosen
        scores[way] = adjusted_rand_score(y, LaplacianKModes(K, random_state=0).fit_predict(points))
    return scores, chosen


def choice(recipe: Recipe) -> str:
    """What the rule chose."""
    logs = np.count_nonzero(recipe.floor or 0)
    return f"{recipe.scaling}, {logs} logs" if logs else recipe.scaling


def labelled_sets(draws: int) -> Iterator[tuple[str, np.ndarray, list[np.ndarray]]]:
    """Kind, points and labelings (0 is noise) of the draws and of the development sets of at most `MOST_ROWS` rows."""
    for drawn in map(draw, range(draws)):
        yield "draws with units" if drawn.traits["units"] else "draws in one unit", drawn.X, [drawn.y]
    for _, X, labelings in battery(MOST_ROWS):
        yield "development sets", X, labelings


def best_score(X: np.ndarray, labelings: list[np.ndarray], scale: str) -> tuple[float, bool]:
    """The best over the labelings, and whether columns were scaled."""
    recipe, _, points = learn(Table(matrix=X), scale=scale)
    found = {K: LaplacianKModes(K, random_state=0).fit_predict(points) for K in {int(y.max()) for y in labelings}}
    scores = [adjusted_rand_score(y[y > 0], found[int(y.max())][y > 0]) for y in labelings]
    return max(scores), recipe.scaling != "none"


def show_rule(draws: int) -> None:
    """Means and differences with standard errors, by kind of set."""
    found: dict[str, list[list[float]]] = {}
    for kind, X, labelings in labelled_sets(draws):
        raw, standard, auto = (best_score(X, labelings, scale) for scale in ("none", "standard", "auto"))
        found.setdefault(kind, []).append([raw[0], standard[0], auto[0], auto[1]])
    rows = []
    for kind, scores in found.items():
        raw, standard, auto, is_scaled = np.array(scores).T
        means = [with_error(values) for values in (raw, standard, auto)]
        differences = [with_error(auto - raw, "+"), with_error(auto - standard, "+")]
        rows.append([kind, raw.size, *means, *differences, f"{is_scaled.mean():.0%}"])
    report("scaling", ["sets", "number", "raw", "standard", "auto", "auto - raw", "auto - standard", "scaled"], rows)


def peer_scores(name: str, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Of each peer on standardised columns, kept in a file."""
    path = RESULTS / "tables_peers.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    found = kept.setdefault(name, {})
    points = learn(Table(matrix=X), scale="standard")[2]
    for peer in peers.PEERS:
        if peer not in found:
            found[peer] = adjusted_rand_score(y, peers.run(peer, points, np.unique(y).size))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept))
    return {peer: found[peer] for peer in peers.PEERS}


def winner(scores: dict[str, float]) -> str:
    """Who is best, of the command line and the peers; the command line where they are equal."""
    rivals = {name: value for name, value in scores.items() if name == "auto" or name in peers.PEERS}
    best = max(rivals, key=lambda name: round(rivals[name], 3))
    return "lapmodes" if best == "auto" else best


def main() -> None:
    """One line a table, the means of the twelve and of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-peers", action="store_true", help="this library only")
    parser.add_argument("--rule", action="store_true", help="raw, standardised and auto on draws and development sets")
    parser.add_argument("--draws", type=int, default=DRAWS, help="of the generator, for --rule")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.rule:
        show_rule(options.draws)
        return
    rows, all_scores = [], []
    for name, X, y in tables():
        scores, chosen = own_scores(X, y)
        scores |= {} if options.no_peers else peer_scores(name, X, y)
        all_scores.append(list(scores.values()))
        size = f"{X.shape[0]} x {X.shape[1]}"
        rows.append([name, size, np.unique(y).size, chosen, *(f"{s:.3f}" for s in scores.values()), winner(scores)])
        print(name, "done", flush=True)
    values = np.array(all_scores)
    for title, part in (("mean of the twelve", values[:-3]), ("mean of all", values)):
        rows.append([title, "", "", "", *(f"{mean:.3f}" for mean in part.mean(axis=0)), ""])
    report("tables", ["table", "size", "K", "auto is", *scores, "best"], rows)
    print(peers.missing())


if __name__ == "__main__":
    main()
