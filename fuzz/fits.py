"""Fits of the estimators on hostile values, types, containers, graphs, weights, labels and parameters."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

import lapmodes

from .harness import REFUSALS, only_documented_warnings, refusal
from .promises import check_model, check_new_points, check_saved
from .values import (
    CONTAINERS,
    NOT_OF_HALVES,
    TYPES,
    Rng,
    affinities,
    chance,
    contained,
    magnitude,
    neighbor_lists,
    pick,
    spoiled,
    typed,
    weights,
)
from .values import rows as random_rows

SHARE, INVALID = 0.25, 0.005
"""Of cases in which a parameter is not left at its default, and in which it is nothing that a parameter can be."""


@dataclass(frozen=True)
class Fit:
    """One fit, and what is asked of the model afterwards."""

    X: np.ndarray
    container: str
    owner: str = "LaplacianKModes"
    parameters: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)
    new: tuple[np.ndarray, ...] = ()
    save: bool = False

    def check(self) -> str:
        """Fit, and look at everything."""
        with only_documented_warnings():
            try:
                model = getattr(lapmodes, self.owner)(**self.parameters)
                model.fit(contained(self.X, self.container), **self.given)
            except REFUSALS as error:
                return f"refused: {' '.join(refusal(error).split()[:5])}"
            check_model(model, *self.X.shape, bandwidth=getattr(model, "bandwidth", None))
            for new in self.new if not model.graph_given_ else ():
                check_new_points(model, contained(new, self.container))
            if model.graph_given_ and self.new:
                check_new_points(model, contained(self.X, self.container), graph=model.graph_)
            if self.save and not callable(self.parameters.get("affinity")):
                check_saved(model)
        return f"fitted: {model.status_}"

    def smaller(self) -> Iterator[Fit]:
        """Without a parameter, without something given, with fewer rows or columns."""
        for name in ("new", "save"):
            if getattr(self, name):
                yield replace(self, **{name: type(getattr(self, name))()})
        if self.container != "array":
            yield replace(self, container="array")
        for name in self.parameters:
            if name != "n_clusters":
                yield replace(self, parameters={key: each for key, each in self.parameters.items() if key != name})
        for name in self.given:
            yield replace(self, given={key: each for key, each in self.given.items() if key != name})
        n, d = self.X.shape
        if not self.given:
            for keep in (slice(n // 2), slice(n // 2, n), slice(1, n), slice(n - 1)):
                if n > 2:
                    yield replace(self, X=self.X[keep])
        for column in range(d if d > 1 else 0):
            left = np.arange(d) != column
            yield replace(self, X=self.X[:, left], new=tuple(new[:, left] for new in self.new))

    def write(self, folder: Path) -> None:
        """A script that fits again."""
        words = [f"{name}={source(value)}" for name, value in self.parameters.items()]
        given = "".join(f", {name}={source(value)}" for name, value in self.given.items())
        lines = [
            "import numpy as np",
            "from numpy import array, inf, nan",
            "from scipy.sparse import csr_array",
            "import lapmodes",
            "from fuzz.promises import check_model, check_new_points",
            "from fuzz.values import contained",
            "",
            f"X = {source(self.X)}",
            f"model = lapmodes.{self.owner}({', '.join(words)})",
            f"model.fit(contained(X, {self.container!r}){given})",
            "check_model(model, *X.shape, bandwidth=model.bandwidth_)",
            *(f"check_new_points(model, {source(new)})" for new in self.new),
        ]
        (folder / "reproduce.py").write_text("\n".join(lines) + "\n")


def source(value: Any) -> str:
    """Python that makes the value again, to the last bit."""
    if issparse(value):
        value = value.tocsr()
        return (
            f"csr_array(({source(value.data)}, {source(value.indices)}, {source(value.indptr)}), shape={value.shape})"
        )
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()!r}, dtype={value.dtype.name!r})"
    if isinstance(value, (tuple, list)):
        inner = ", ".join(map(source, value))
        return f"({inner},)" if isinstance(value, tuple) else f"[{inner}]"
    if callable(value):
        return "lambda distances: np.exp(-distances)"
    return repr(value)


def draw(rng: Rng, folder: Path) -> Fit:
    """A random fit."""
    X = random_rows(rng)
    X = spoiled(rng, X) if chance(rng, 0.03) else X
    X = typed(X, pick(rng, *TYPES))
    given = draw_given(rng, X)
    owner = pick(rng, *["LaplacianKModes"] * 6, "KModes", "LaplacianKMeans") if not given else "LaplacianKModes"
    known = inspect.signature(getattr(lapmodes, owner)).parameters
    parameters = {name: value for name, value in draw_parameters(rng, *X.shape).items() if name in known}
    new = tuple(new_points(rng, X)) if chance(rng, 0.5) else ()
    container = pick(rng, *CONTAINERS)
    container = "array" if X.dtype == np.float16 and container in NOT_OF_HALVES else container
    return Fit(X, container, owner, parameters, given, new, save=chance(rng, 0.2))


def new_points(rng: Rng, X: np.ndarray) -> Iterator[np.ndarray]:
    """Training points, others near them, and others far away."""
    yield X[: max(1, len(X) // 2)]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        Y = X[rng.integers(0, len(X), size=3)].astype(np.float64)
        yield np.nan_to_num(Y * rng.normal(size=Y.shape))
        yield np.nan_to_num(Y * magnitude(rng) + pick(rng, 0.0, magnitude(rng)))
    yield np.zeros((1, X.shape[1]))


def draw_parameters(rng: Rng, n: int, d: int) -> dict[str, Any]:
    """Some parameters, most of them valid."""
    K = int(pick(rng, 1, 2, 2, 3, 3, 4, 5, 8, min(n, 12), n))
    K = K if chance(rng, 0.1) else min(K, n)
    drawn: dict[str, Any] = {"n_clusters": K, "random_state": int(rng.integers(1000)), "n_jobs": 1}
    if chance(rng, 0.05):
        drawn["n_clusters"] = pick(rng, "auto", "auto", 0, -1, 2.5, None, "many", True)
    choices: dict[str, Any] = {
        "lam": lambda: pick(rng, 0, 0.0, "auto", magnitude(rng), magnitude(rng), magnitude(rng)),
        "bandwidth": lambda: pick(rng, "auto", "entropic", np.inf, magnitude(rng), magnitude(rng), magnitude(rng)),
        "affinity": lambda: pick(rng, "binary", "heat", "self-tuning", "entropic", "anchor", lambda u: np.exp(-u)),
        "n_neighbors": lambda: int(pick(rng, 1, 2, 5, 15, n, 10 * n)),
        "metric": lambda: "cosine",
        "laplacian": lambda: "normalized",
        "init": lambda: pick(rng, "k-means", "k-means++", "random", "spectral", "consensus", start(rng, n, d, K)),
        "prior_weight": lambda: pick(rng, 0, 0.5, magnitude(rng), magnitude(rng)),
        "n_init": lambda: int(pick(rng, 2, 3)),
        "max_iter": lambda: int(pick(rng, 1, 2, 5, 300)),
        "tol": lambda: pick(rng, 0.0, 1e-12, magnitude(rng), 1e308),
        "sparse_assignments": lambda: True,
    }
    for name, choice in choices.items():
        if chance(rng, INVALID):
            drawn[name] = pick(rng, -1, 0, -1.5, np.nan, -np.inf, None, "other", [], {}, object(), np.zeros(3))
        elif chance(rng, SHARE):
            drawn[name] = choice()
    return drawn


def start(rng: Rng, n: int, d: int, K: int) -> Any:
    """A start that is given."""
    modes = rng.normal(size=(K, d)) * magnitude(rng)
    Z = rng.dirichlet(np.ones(K), size=n)
    return pick(rng, modes, modes[:-1], (None, Z), (modes, Z), (modes, Z, Z), (modes, -Z), modes * np.nan)


def draw_given(rng: Rng, X: np.ndarray) -> dict[str, Any]:
    """Sometimes a graph, neighbours, weights, labels or links."""
    n, given = len(X), {}
    if chance(rng, 0.12):
        given["graph"] = affinities(rng, n)
    if chance(rng, 0.1):
        given["neighbors"] = neighbor_lists(rng, np.nan_to_num(X.astype(np.float64)))
    if chance(rng, 0.15):
        given["sample_weight"] = weights(rng, n)
    if chance(rng, 0.1):
        labels = rng.integers(-1, 3, size=n)
        given["partial_labels"] = pick(
            rng, labels, labels, np.minimum(labels, 0), labels + 1, labels * 1.5, labels[:-1]
        )
    if chance(rng, 0.1):
        given["must_link"] = pick(rng, rng.integers(0, n, size=(3, 2)), rng.integers(-1, n + 1, size=(2, 2)), [[0]], [])
    return given
