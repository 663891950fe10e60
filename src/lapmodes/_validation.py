"""Checks of parameters and inputs, in one wording: what is wrong, what was expected, what came, what to do."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from ._archives import available_memory
from ._records import MOST_EXPONENT, ORDINARY, REACH, Array, Neighbors, Units

MANY_ENTRIES = 2**24
"""Assignments up to which nobody asks how much memory there is."""


@dataclass(frozen=True)
class Given:
    """What a user hands over beside the points, checked."""

    graph: Any = None
    """A symmetric affinity."""
    neighbors: Neighbors | None = None
    sample_weight: Array | None = None
    known: Array | None = None
    """Cluster of each point, -1 where unknown."""
    must_link: Array | None = None
    """Pairs of points that belong together, (M, 2)."""


def check_given(X: Any, K: int, sparse: bool, given: dict[str, Any], units: Units) -> Given:
    """Check what was given to fit beside the points X, which are in these units; K clusters are asked for."""
    n, dtype = X.shape[0], X.dtype
    weight = check_sample_weight(given.get("sample_weight"), n, max(K, 2), dtype)
    neighbors = check_neighbors(given.get("neighbors"), n, dtype, units)
    if neighbors is not None and weight is not None and not weight.all():
        raise ValueError("'neighbors' do not go with weights of zero. Leave these samples out of both.")
    known = check_partial_labels(given.get("partial_labels"), n, K)
    if sparse and known is not None:
        raise ValueError("'partial_labels' need assignments as an array. Leave 'sparse_assignments' at False.")
    graph = None if given.get("graph") is None else check_graph(given["graph"], n, dtype)
    return Given(graph, neighbors, weight, known, check_must_link(given.get("must_link"), n))


def parameter_error(owner: str, name: str, expected: str, got: Any, hint: str = "") -> ValueError:
    """The error for a parameter that is not what it must be."""
    shown = repr(got)
    shown = shown if len(shown) <= 80 else f"a long {type(got).__name__}"
    return ValueError(f"The {name!r} parameter of {owner} must be {expected}. Got {shown} instead.{hint}")


def as_numpy(X: Any) -> Any:
    """An array of another library (PyTorch, JAX, any that follows the array API) as NumPy's; anything else as it is.

    Arrays in main memory are not copied.
    """
    if not (hasattr(X, "__dlpack__") and hasattr(X, "shape")):
        return X
    X = X.detach() if hasattr(X, "detach") else X
    try:
        return np.from_dlpack(X)
    except Exception as error:
        try:
            return np.asarray(X)
        except Exception:
            place = getattr(X, "device", "another device")
            raise TypeError(
                f"X must be in main memory and of a type that NumPy knows. Got a {type(X).__module__}."
                f"{type(X).__name__} of {X.dtype} on {place}: pass for example X.float().cpu()."
            ) from error


def canonical(X: Any) -> Any:
    """A CSR array with sorted columns and no duplicate entries; the caller's matrix is left alone."""
    X = csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def check_sample_weight(sample_weight: Any, n: int, least: int, dtype: Any) -> Array | None:
    """Finite, non-negative weights, scaled to mean 1 over the positive ones, of which there are at least `least`."""
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
    if np.count_nonzero(weight) < least:
        raise ValueError(
            f"'sample_weight' must be positive for at least {least} samples (one a cluster). "
            f"Got {np.count_nonzero(weight)}."
        )
    heaviest, lightest = weight.max(), weight.min(where=weight > 0, initial=np.inf)
    if np.log2(heaviest) - np.log2(lightest) > REACH[np.dtype(dtype)]:
        raise ValueError(
            f"'sample_weight' must not differ by more than {2.0 ** REACH[np.dtype(dtype)]:.0e} times in {dtype}. Got "
            f"{lightest:.0e} to {heaviest:.0e}. Set the lightest ones to 0."
        )
    weight = np.ldexp(weight, -int(np.frexp(heaviest)[1]))  # so that the sum is a number
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
    graph = csr_array(graph)
    if graph.dtype.kind not in "fiub":
        raise ValueError(f"'graph' must hold numbers. Got {graph.dtype}.")
    largest, least = graph.data.max(initial=0), graph.data.min(initial=0)
    if not np.isfinite([largest, least]).all():
        raise ValueError("'graph' must have finite weights. Got NaN or infinity.")
    if least < 0:
        raise ValueError("'graph' must have non-negative weights. Got negative ones; clip or rescale them.")
    reach = REACH[np.dtype(dtype)]
    if largest > 0 and not -2 * reach <= np.log2(float(largest)) <= reach:
        raise ValueError(
            f"'graph' must have weights that can be summed in {np.dtype(dtype)}. The largest is {largest:.0e}: divide "
            "all of them by it; only their ratios and 'lam' times them matter."
        )
    return canonical(graph.astype(dtype, copy=False))


def unit_rows(X: Any) -> Any:
    """Rows scaled to unit length."""
    from sklearn.preprocessing import normalize

    X = _rows_near_one(X)
    lengths = np.sqrt(X.multiply(X).sum(axis=1)) if issparse(X) else np.linalg.norm(X, axis=1)
    if not np.all(lengths > 0):
        raise ValueError(
            f"metric='cosine' needs rows of positive length. Row {int(np.argmin(lengths))} is zero; "
            "drop such rows or use metric='euclidean'."
        )
    return normalize(X)


def _rows_near_one(X: Any) -> Any:
    """Rows of which one is huge or tiny, each times a power of two: then their lengths are numbers."""
    high, low = (each.toarray() if issparse(each) else each for each in (X.max(axis=1), X.min(axis=1)))
    tops = np.maximum(np.ravel(high), -np.ravel(low))
    exponents = np.frexp(tops)[1]
    if np.abs(exponents, where=tops > 0, out=np.zeros_like(exponents)).max() <= ORDINARY[X.dtype]:
        return X
    if not issparse(X):
        return np.ldexp(X, -exponents[:, None])
    data = np.ldexp(X.data, -np.repeat(exponents, np.diff(X.indptr)))
    return csr_array((data, X.indices, X.indptr), shape=X.shape)


def check_init(owner: str, init: Any, X: Any, K: int, units: Units) -> Any:
    """Given starts for points X in these units: fitting shapes, finite modes and assignments on the simplex."""
    n, d = X.shape
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
        return (None if modes is None else _check_modes(modes, d, K, X.dtype, units), Z)
    return _check_modes(init, d, K, X.dtype, units)


def _check_modes(modes: Any, d: int, K: int, dtype: Any, units: Units) -> Array:
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
    return in_reach("The modes in 'init'", C, dtype, units)


def in_reach(what: str, values: Any, dtype: Any, units: Units) -> Any:
    """A user's lengths in the units of the work, if they can be compared with the points."""
    with np.errstate(over="ignore", under="ignore"):
        inside = units.inside(values) if units.exponent else values
    data = inside.data if issparse(inside) else inside
    largest = float(max(data.max(initial=0), -data.min(initial=0)))
    exponent = int(np.frexp(largest)[1])
    most = min(REACH[np.dtype(dtype)], MOST_EXPONENT[np.dtype(dtype)] - units.exponent)
    if exponent > most or not np.isfinite(largest):
        top = float(abs(values).max())
        than = f", with a model whose points are around {units.around:.0e}" if units.exponent else ""
        raise ValueError(
            f"{what} are too far away: distances to numbers of up to {top:.0e} cannot be squared in "
            f"{np.dtype(dtype)}{than}. Drop or repair the offending values."
        )
    return inside.astype(dtype, copy=False)


def check_partial_labels(labels: Any, n: int, K: int) -> Array | None:
    """Known clusters, -1 where unknown; None where nothing is known."""
    if labels is None:
        return None
    known = np.asarray(labels)
    if known.shape != (n,) or not np.issubdtype(known.dtype, np.integer):
        raise ValueError(
            f"'partial_labels' must be an array of {n} ints, one a sample: its cluster, or -1 where unknown. "
            f"Got shape {known.shape} of {known.dtype}."
        )
    if known.min() < -1 or known.max() >= K:
        raise ValueError(
            f"'partial_labels' must hold clusters from 0 to n_clusters - 1 = {K - 1}, or -1 where unknown. "
            f"Got values from {known.min()} to {known.max()}."
        )
    return known.astype(np.int32) if (known >= 0).any() else None


def check_neighbors(neighbors: Any, n: int, dtype: Any, units: Units) -> Neighbors | None:
    """Neighbour lists (indices, distances) of all samples, nearest first; a sample in its own list is taken out.

    Distances whose squares are too small for a number are those of equal samples.
    """
    if neighbors is None:
        return None
    expected = f"a tuple (indices, distances) of two arrays of shape ({n}, k), as kneighbors() returns (swapped)"
    try:
        indices, distances = (np.asarray(each) for each in neighbors)
    except (TypeError, ValueError) as error:
        raise ValueError(f"'neighbors' must be {expected}. Got {type(neighbors).__name__}.") from error
    if np.issubdtype(distances.dtype, np.integer) and np.issubdtype(indices.dtype, np.floating):
        raise ValueError("'neighbors' must be (indices, distances). Got the distances first: swap the two.")
    if indices.ndim != 2 or indices.shape != distances.shape or len(indices) != n or indices.shape[1] == 0:
        raise ValueError(f"'neighbors' must be {expected}. Got shapes {indices.shape} and {distances.shape}.")
    if not np.issubdtype(indices.dtype, np.integer) or indices.min() < 0 or indices.max() >= n:
        raise ValueError(
            f"The indices in 'neighbors' must be ints from 0 to {n - 1}: lists that are not full do not do."
        )
    if distances.dtype.kind not in "fiu" or not np.isfinite(distances).all() or (distances < 0).any():
        raise ValueError("The distances in 'neighbors' must be finite and non-negative.")
    distances = in_reach("The distances in 'neighbors'", distances, dtype, units)
    distances = np.where(distances < 2.0 ** -REACH[np.dtype(dtype)], distances.dtype.type(0), distances)
    own = indices == np.arange(n)[:, None]
    if own.any():  # each list loses one entry: its own sample, or the farthest
        own[~own.any(axis=1), -1] = True
        own &= np.cumsum(own, axis=1) == 1
        shape = n, indices.shape[1] - 1
        indices, distances = indices[~own].reshape(shape), distances[~own].reshape(shape)
    order = np.argsort(distances, axis=1, kind="stable")
    indices, distances = (np.take_along_axis(each, order, axis=1) for each in (indices, distances))
    if indices.shape[1] == 0:
        raise ValueError("'neighbors' must list at least one sample beside each sample itself.")
    return Neighbors(np.ascontiguousarray(indices, dtype=np.int32), np.ascontiguousarray(distances))


def check_lam(owner: str, lam: float, degrees: Array) -> None:
    """Refuse a smoothness whose products with the degrees of the graph cannot be summed."""
    limit, largest = 2.0 ** REACH[degrees.dtype], float(degrees.max())
    if largest > 0 and lam > limit / largest:
        expected = f"at most {limit / largest:.0e} on this graph, in {degrees.dtype}"
        raise parameter_error(owner, "lam", expected, lam, " Beyond some 1e6 times 'auto' the result hardly changes.")


def check_dense_fits(n: int, K: int, dtype: Any, arrays: int) -> None:
    """Refuse arrays of n x K that would not fit into memory, and name the option that avoids them."""
    size = arrays * n * K * np.dtype(dtype).itemsize
    if size > available_memory():
        raise MemoryError(
            f"Arrays of the assignments of {n} samples to {K} clusters need about {size / 2**30:.1f} GiB, more than is "
            "free. Use sparse_assignments=True, which keeps only what is not zero."
        )


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
