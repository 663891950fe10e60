"""Checks of parameters and inputs, in one wording: what is wrong, what was expected, what came, what to do."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from ._records import Array
from .graph.affinity import KINDS

INITS = ("auto", "consensus", "k-means", "k-means++", "random", "spectral")


def parameter_error(owner: str, name: str, expected: str, got: Any) -> ValueError:
    """The error for a parameter that is not what it must be."""
    shown = repr(got)
    shown = shown if len(shown) <= 80 else f"a long {type(got).__name__}"
    return ValueError(f"The {name!r} parameter of {owner} must be {expected}. Got {shown} instead.")


def check_parameters(estimator: Any) -> None:
    """Check every constructor parameter of an estimator."""
    owner = type(estimator).__name__

    def need(ok: bool, name: str, expected: str) -> None:
        if not ok:
            raise parameter_error(owner, name, expected, getattr(estimator, name))

    need(is_int(estimator.n_clusters, 1), "n_clusters", "an int of at least 1")
    need(is_lam(estimator.lam), "lam", "a float of at least 0 or 'auto'")
    need(is_bandwidth(estimator.bandwidth), "bandwidth", "a float above 0, numpy.inf, 'auto' or 'adaptive'")
    need(
        callable(estimator.affinity)
        or (isinstance(estimator.affinity, str) and estimator.affinity in ("auto", "precomputed", *KINDS)),
        "affinity",
        f"a callable or one of {', '.join(map(repr, ('auto', *KINDS, 'precomputed')))}; a graph goes to fit(graph=W)",
    )
    need(is_int(estimator.n_neighbors, 1), "n_neighbors", "an int of at least 1")
    need(estimator.metric in ("euclidean", "cosine"), "metric", "'euclidean' or 'cosine'")
    need(estimator.laplacian in ("unnormalized", "normalized"), "laplacian", "'unnormalized' or 'normalized'")
    need(
        not isinstance(estimator.init, str) or estimator.init in INITS,
        "init",
        f"one of {', '.join(map(repr, INITS))}, an array of modes or a tuple (modes, assignments)",
    )
    need(
        _is_auto(estimator.anchor) or (is_real(estimator.anchor, 0) and np.isfinite(estimator.anchor)),
        "anchor",
        "a finite float of at least 0 or 'auto'",
    )
    need(is_real(estimator.balance, 0) and np.isfinite(estimator.balance), "balance", "a finite float of at least 0")
    need(is_int(estimator.n_init, 1), "n_init", "an int of at least 1")
    need(is_int(estimator.max_iter, 1), "max_iter", "an int of at least 1")
    need(is_real(estimator.tol, 0) and np.isfinite(estimator.tol), "tol", "a finite float of at least 0")
    need(
        _is_auto(estimator.sparse_assignments) or isinstance(estimator.sparse_assignments, (bool, np.bool_)),
        "sparse_assignments",
        "True, False or 'auto'",
    )
    need(
        estimator.n_jobs is None or (is_int(estimator.n_jobs, None) and estimator.n_jobs != 0),
        "n_jobs",
        "None or an int other than 0",
    )
    check_path(estimator)
    need(estimator.callback is None or callable(estimator.callback), "callback", "None or a callable")


def check_path(estimator: Any) -> None:
    """None, a number of steps, or pairs (lam, bandwidth); a name may only stand for the estimator's own."""
    owner, path = type(estimator).__name__, estimator.path
    if path is None or is_int(path, 2):
        return
    expected = "None, an int of at least 2, or a non-empty list of pairs (lam, bandwidth) of numbers"
    if not isinstance(path, (list, tuple, np.ndarray)) or len(path) == 0:
        raise parameter_error(owner, "path", expected, path)
    for pair in path:
        if np.ndim(pair) != 1 or len(pair) != 2:
            raise parameter_error(owner, "path", expected, path)
        lam, bandwidth = pair
        foreign = any(
            isinstance(value, str) and value is not own and value != own
            for value, own in ((lam, estimator.lam), (bandwidth, estimator.bandwidth))
        )
        if foreign or not (is_lam(lam) and is_bandwidth(bandwidth)):
            raise parameter_error(owner, "path", expected, path)


def is_lam(value: Any) -> bool:
    """Whether this is a smoothness the estimators take."""
    return _is_auto(value) or (is_real(value, 0) and np.isfinite(value))


def is_bandwidth(value: Any) -> bool:
    """Whether this is a bandwidth the estimators take."""
    return (isinstance(value, str) and value in ("auto", "adaptive")) or (is_real(value, 0) and value > 0)


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def is_int(value: Any, low: int | None) -> bool:
    """Whether this is an integer (not a bool) of at least `low`."""
    return isinstance(value, Integral) and not isinstance(value, bool) and (low is None or int(value) >= low)


def is_real(value: Any, low: float) -> bool:
    """Whether this is a real number (not a bool) of at least `low`; infinity is one."""
    return isinstance(value, Real) and not isinstance(value, bool) and float(value) >= low


def canonical(X: Any) -> Any:
    """A CSR array with sorted columns and no duplicate entries; the caller's matrix is left alone."""
    X = csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def check_sample_weight(sample_weight: Any, n: int, dtype: Any) -> Array | None:
    """Finite, non-negative weights, scaled to mean 1 over the positive ones; None stays None."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n, sample_weight)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"'sample_weight' must be an array of {n} numbers.") from error
    if weight.shape != (n,):
        raise ValueError(f"'sample_weight' must have one entry a sample, shape ({n},). Got {weight.shape} instead.")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("'sample_weight' must be finite and non-negative. Drop or repair the offending samples.")
    if not weight.any():
        raise ValueError("'sample_weight' must have a positive sum. Got only zeros.")
    return (weight / weight[weight > 0].mean()).astype(dtype)


def check_graph(graph: Any, n: int, dtype: Any) -> Any:
    """A symmetric, non-negative, finite sparse affinity of shape (n, n)."""
    if not issparse(graph):
        raise TypeError(
            f"'graph' must be a scipy.sparse matrix of affinities. Got {type(graph).__name__} instead; "
            "convert with scipy.sparse.csr_array(graph)."
        )
    if graph.shape != (n, n):
        raise ValueError(f"'graph' must have shape ({n}, {n}), one row a sample. Got {graph.shape} instead.")
    W = check_weights(graph, dtype)
    asymmetry = abs(W - W.T)
    if asymmetry.nnz and asymmetry.max() > 1e-6 * W.data.max():
        raise ValueError("'graph' must be symmetric. Use graph.maximum(graph.T) or (graph + graph.T) / 2.")
    return canonical(W.maximum(W.T)) if asymmetry.nnz else W


def check_cross_graph(graph: Any, shape: tuple[int, int], dtype: Any) -> Any:
    """Finite, non-negative affinities from new points to the training points."""
    if not issparse(graph) or graph.shape != shape:
        got = f"shape {np.shape(graph)}" if issparse(graph) else type(graph).__name__
        raise ValueError(f"'graph' must be a sparse matrix of shape {shape}. Got {got} instead.")
    return check_weights(graph, dtype)


def check_weights(graph: Any, dtype: Any) -> Any:
    """A canonical CSR array of finite, non-negative weights."""
    W = canonical(csr_array(graph).astype(dtype, copy=False))
    if not np.isfinite(W.data).all():
        raise ValueError("'graph' must have finite weights. Got NaN or infinity.")
    if (W.data < 0).any():
        raise ValueError("'graph' must have non-negative weights. Got negative ones; clip or rescale them.")
    return W


def unit_rows(X: Any) -> Any:
    """Rows scaled to unit length."""
    from sklearn.preprocessing import normalize

    lengths = np.sqrt(X.multiply(X).sum(axis=1)) if issparse(X) else np.linalg.norm(X, axis=1)
    if not np.all(lengths > 0):
        raise ValueError(
            f"metric='cosine' needs rows of positive length. Row {int(np.argmin(lengths))} is zero; "
            "drop such rows or use metric='euclidean'."
        )
    return normalize(X)


def check_init(owner: str, init: Any, n: int, d: int, K: int) -> Any:
    """Given starts must have fitting shapes, finite modes and assignments on the simplex."""
    if isinstance(init, str):
        return init
    if isinstance(init, tuple):
        if len(init) != 2:
            raise parameter_error(owner, "init", "a tuple (modes, assignments)", init)
        modes, Z = init
        Z = csr_array(Z, dtype=np.float64) if issparse(Z) else np.asarray(Z, dtype=np.float64)
        if Z.shape != (n, K):
            raise ValueError(f"The assignments in 'init' must have shape ({n}, {K}). Got {Z.shape} instead.")
        values: Array = np.asarray(Z.data if issparse(Z) else Z)
        if not (np.isfinite(values).all() and (values >= 0).all() and np.allclose(Z.sum(axis=1), 1, atol=1e-4)):
            raise ValueError("The assignments in 'init' must be non-negative with rows that sum to 1.")
        return (None if modes is None else _check_modes(modes, d, K), Z)
    return _check_modes(init, d, K)


def _check_modes(modes: Any, d: int, K: int) -> Array:
    try:
        C = np.asarray(modes, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The modes in 'init' must be an array of numbers of shape ({K}, {d}).") from error
    if C.shape != (K, d):
        raise ValueError(
            f"The modes in 'init' must have shape (n_clusters, n_features) = ({K}, {d}). Got {C.shape} instead."
        )
    if not np.isfinite(C).all():
        raise ValueError("The modes in 'init' must be finite. Got NaN or infinity.")
    return C


def check_partial(y: Any, n: int, K: int) -> Array | None:
    """Known clusters, -1 where unknown; None where y does not say -1 anywhere, as when a pipeline hands on classes."""
    if y is None:
        return None
    known = np.asarray(y)
    if known.ndim != 1 or not np.issubdtype(known.dtype, np.integer) or not (known == -1).any():
        return None
    if known.size != n:
        raise ValueError(f"'y' must have one entry a sample, {n}. Got {known.size}.")
    if known.min() < -1 or known.max() >= K:
        raise ValueError(
            f"'y' must hold clusters from 0 to n_clusters - 1 = {K - 1}, or -1 where unknown. "
            f"Got values from {known.min()} to {known.max()}."
        )
    return known.astype(np.int32) if (known >= 0).any() else None


def check_must_link(pairs: Any, n: int) -> Array | None:
    """Pairs of samples, (M, 2)."""
    if pairs is None:
        return None
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise ValueError(f"'must_link' must be an array of int pairs, shape (n_pairs, 2). Got shape {pairs.shape}.")
    if pairs.size and (pairs.min() < 0 or pairs.max() >= n):
        raise ValueError(f"'must_link' must hold samples from 0 to {n - 1}. Got {pairs.min()} to {pairs.max()}.")
    return pairs
