"""Rows of numbers of all kinds: ordinary, repeated, huge, tiny, mixed; in all types and containers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

Rng = np.random.Generator
TYPES = ("float64", "float64", "float64", "float32", "float32", "float16", "int8", "int32", "int64", "uint8", "bool")
CONTAINERS = (
    "array",
    "array",
    "array",
    "fortran",
    "strided",
    "list",
    "pandas",
    "polars",
    "csr",
    "csc",
    "coo",
    "object",
)
NOT_OF_HALVES = ("polars", "csr", "csc", "coo")
"""Containers that do not hold half-precision numbers."""


def chance(rng: Rng, share: float) -> bool:
    """True in this share of cases."""
    return bool(rng.random() < share)


def pick(rng: Rng, *choices: Any) -> Any:
    """One of several things, which may be of any type."""
    return choices[int(rng.integers(len(choices)))]


def magnitude(rng: Rng) -> float:
    """A power of ten: mostly ordinary, sometimes as far as numbers go."""
    low, high = pick(rng, (-2, 3), (-2, 3), (-9, 9), (-40, 40), (-160, 160), (-323, 308))
    return float(10.0 ** rng.uniform(low, high))


def rows(rng: Rng) -> np.ndarray:
    """Finite float64 rows of a random shape and kind, times a random power of ten."""
    n, d = int(pick(rng, *range(2, 12), 20, 40, 60, 80, 200)), int(pick(rng, 1, 2, 2, 3, 5, 13, 30))
    X = SHAPES[int(rng.integers(len(SHAPES)))](rng, n, d)
    with np.errstate(over="ignore", under="ignore"):
        X = X * magnitude(rng)
        if chance(rng, 0.15):
            X = X * 10.0 ** rng.uniform(-150, 150, size=d)
        if chance(rng, 0.1):
            X = X + magnitude(rng)
        if chance(rng, 0.1):
            X[rng.integers(n)] *= magnitude(rng)
    return np.nan_to_num(X, posinf=np.finfo(float).max, neginf=-np.finfo(float).max)


def _blobs(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d)) + 6 * rng.integers(0, 4, size=(n, 1)) * rng.normal(size=(1, d))


def _duplicates(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(max(1, n // 5), d))[rng.integers(0, max(1, n // 5), size=n)]


def _lattice(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.integers(0, 4, size=(n, d)).astype(float)


def _line(rng: Rng, n: int, d: int) -> np.ndarray:
    return np.outer(np.arange(n), rng.normal(size=d))


def _mostly_zero(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.2)


SHAPES = (
    _blobs,
    _blobs,
    _duplicates,
    _lattice,
    _line,
    _mostly_zero,
    lambda rng, n, d: np.zeros((n, d)),
    lambda rng, n, d: np.full((n, d), rng.normal()),
    lambda rng, n, d: np.repeat([[0.0], [1.0]], [n // 2, n - n // 2], axis=0) * np.ones(d),
    lambda rng, n, d: rng.standard_cauchy(size=(n, d)),
    lambda rng, n, d: np.nextafter(1.0, 2.0) ** rng.integers(0, 9, size=(n, d)),
)


def spoiled(rng: Rng, X: np.ndarray) -> np.ndarray:
    """The same with something in it that must be refused."""
    X = X.copy()
    X[rng.integers(X.shape[0]), rng.integers(X.shape[1])] = pick(rng, np.nan, np.inf, -np.inf)
    return X


def typed(X: np.ndarray, kind: str) -> np.ndarray:
    """In another type, cut off at its limits."""
    if kind.startswith("float"):
        limit = float(np.finfo(kind).max)
        return np.clip(X, -limit, limit).astype(kind)
    if kind == "bool":
        return np.median(X) < X
    limits = np.iinfo(kind)
    return np.clip(np.nan_to_num(X), float(limits.min) / 2, float(limits.max) / 2).astype(kind)


def contained(X: np.ndarray, container: str) -> Any:
    """In another container."""
    if container == "fortran":
        return np.asfortranarray(X)
    if container == "strided":
        return np.repeat(X, 2, axis=1)[:, ::2]
    if container == "list":
        return X.tolist()
    if container == "pandas":
        import pandas

        return pandas.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    if container == "polars":
        import polars

        return polars.DataFrame(X, schema=[f"c{i}" for i in range(X.shape[1])])
    if container in ("csr", "csc", "coo"):
        return getattr(sparse, f"{container}_array")(X)
    return X.astype(object) if container == "object" else X


def affinities(rng: Rng, n: int) -> Any:
    """A graph over n points: mostly valid, of any scale, sometimes broken."""
    W = sparse.random(n, n, density=min(1.0, 6 / n), random_state=np.random.RandomState(int(rng.integers(2**31))))
    W = sparse.csr_array(W.maximum(W.T)) * magnitude(rng)
    if chance(rng, 0.1):
        W = sparse.csr_array(W * pick(rng, -1.0, np.nan, np.inf))
    if chance(rng, 0.1):
        W = W[:, : max(1, n - 1)]
    if chance(rng, 0.1):
        W = sparse.csr_array(sparse.triu(W))
    if chance(rng, 0.1):
        W = sparse.csr_array((n, n))
    with np.errstate(over="ignore", under="ignore"):
        single = W.astype(np.float32)
    return pick(rng, W, W, W.tocsc(), W.tocoo(), single, W.toarray() if n < 20 else W)


def neighbor_lists(rng: Rng, X: np.ndarray) -> Any:
    """Neighbour lists, mostly true ones, sometimes broken."""
    from sklearn.neighbors import NearestNeighbors

    n = len(X)
    k = int(rng.integers(1, n)) if n > 1 else 1
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        distances, indices = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(_small(X)).kneighbors(_small(X))
    if chance(rng, 0.2):
        distances = distances * magnitude(rng)
    if chance(rng, 0.1):
        indices = indices + int(pick(rng, -1, n, 2**40))
    if chance(rng, 0.1):
        distances = pick(rng, -distances, distances * np.nan, distances[:, :-1], distances.astype(np.float32))
    return pick(rng, (indices, distances), (indices, distances), [indices, distances], (distances, indices), indices)


def _small(X: np.ndarray) -> np.ndarray:
    return X / (np.abs(X).max() or 1.0)


def weights(rng: Rng, n: int) -> Any:
    """Sample weights, of unlike scales, with zeros, sometimes broken."""
    w = rng.random(n) * magnitude(rng)
    if chance(rng, 0.3):
        with np.errstate(over="ignore", under="ignore"):
            w = np.nan_to_num(w * 10.0 ** rng.uniform(-300, 300, size=n))
    if chance(rng, 0.4):
        w = w * (rng.random(n) < 0.7)
    if chance(rng, 0.1):
        w = pick(rng, -w, w * np.nan, w[:-1], w.tolist(), 2.0, "w", np.zeros(n))
    return w
