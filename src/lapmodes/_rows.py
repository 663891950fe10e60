"""Assignments of points to clusters: what is asked of soft ones, an array or a CSR matrix, and of hard labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array, csr_matrix, issparse, vstack

Array = NDArray[Any]
MOST_SIZE = 1000
"""What the heaviest point counts at most, where the lightest counts one."""
OFF_ONE = 9e-7
"""How far from 1 the sum of a row of shares may be."""


def one_hot(labels: Array, K: int, dtype: Any, *, sparse: bool = False) -> Any:
    """Z (N, K) with a single 1 in each row."""
    n = labels.shape[0]
    if sparse:
        parts = np.ones(n, dtype=dtype), np.ascontiguousarray(labels, dtype=np.int32), np.arange(n + 1, dtype=np.int32)
        return csr_array(parts, shape=(n, K))
    Z = np.zeros((n, K), dtype=dtype)
    Z[np.arange(n), labels] = 1
    return Z


def as_rows(Z: Any, dtype: Any, *, sparse: bool) -> Any:
    """A copy of rows: a C-contiguous array, or a CSR matrix without stored zeros and with sorted columns."""
    if not sparse:
        return np.array(as_dense(Z), dtype=dtype, order="C")
    Z = csr_array(Z, dtype=dtype, copy=True)
    Z.sum_duplicates()
    Z.eliminate_zeros()
    return Z


def as_asked_for(matrix: Any) -> Any:
    """What users see of a sparse matrix: of the kind that scikit-learn 1.9 and later is set to (`sparse_interface`)."""
    if not issparse(matrix):
        return matrix
    from sklearn import get_config

    return csr_matrix(matrix) if get_config().get("sparse_interface", "sparray") == "spmatrix" else matrix


def as_dense(Z: Any) -> Array:
    """Rows as an array."""
    return np.asarray(Z.toarray() if issparse(Z) else Z)


def row_arrays(Z: Any) -> Any:
    """What the native kernels take: (Z,), or (indptr, indices, values) of a CSR matrix."""
    if not issparse(Z):
        return (Z,)
    return Z.indptr.astype(np.int64, copy=False), Z.indices.astype(np.int32, copy=False), Z.data


def largest_columns(Z: Any) -> Array:
    """Column of the largest entry of each row, the first among equals; 0 for a sparse row without entries."""
    if not issparse(Z):
        return np.asarray(Z.argmax(axis=1))
    size = np.diff(Z.indptr)
    filled = size > 0
    first = Z.indptr[:-1][filled]
    columns = np.zeros(Z.shape[0], dtype=np.intp)
    if first.size:
        at_top = np.flatnonzero(Z.data == np.repeat(np.maximum.reduceat(Z.data, first), size[filled]))
        columns[filled] = Z.indices[at_top[np.searchsorted(at_top, first)]]
    return columns


def largest_values(Z: Any) -> Array:
    """The largest entry of each row; 0 for a sparse row without entries."""
    if not issparse(Z):
        return np.asarray(Z.max(axis=1))
    filled = np.diff(Z.indptr) > 0
    values = np.zeros(Z.shape[0], dtype=Z.dtype)
    if filled.any():
        values[filled] = np.maximum.reduceat(Z.data, Z.indptr[:-1][filled])
    return values


def scaled_rows(Z: Any, factor: Array) -> Any:
    """Each row times its factor."""
    if not issparse(Z):
        return Z * factor[:, None]
    data = Z.data * np.repeat(factor, np.diff(Z.indptr))
    return csr_array((data, Z.indices, Z.indptr), shape=Z.shape)


def with_unit_sums(Z: Any) -> Any:
    """Rows of shares, in place: those whose sums single precision has moved away from 1 are divided by them."""
    sums = np.asarray(Z.sum(axis=1, dtype=np.float64)).ravel()
    off = np.abs(sums - 1) > OFF_ONE
    if not off.any():
        return Z
    sums[~off] = 1.0
    entries, factor = (Z.data, np.repeat(sums, np.diff(Z.indptr))) if issparse(Z) else (Z, sums[:, None])
    np.divide(entries, factor, out=entries, casting="same_kind")
    return Z


def same_rows(one: Any, two: Any) -> bool:
    """Whether both hold the same numbers."""
    if not issparse(one):
        return bool((one == two).all())
    return all(np.array_equal(getattr(one, part), getattr(two, part)) for part in ("indptr", "indices", "data"))


def replaced_rows(Z: Any, at: Array, rows: Any) -> Any:
    """Z with `rows` in place of the rows where the mask `at` is set."""
    if not issparse(Z):
        Z = Z.copy()
        Z[at] = rows
        return Z
    source = np.arange(Z.shape[0])
    source[at] = Z.shape[0] + np.arange(int(at.sum()))
    return csr_array(csr_array(vstack([Z, rows]))[source])


def column_sums(Z: Any) -> Array:
    """Sum of each column, in double precision."""
    return np.asarray(Z.sum(axis=0, dtype=np.float64)).ravel()


def contingency(one: Array, two: Array, K: int) -> Array:
    """Number of points in each pair of clusters of two labelings by integers below K, (K, K)."""
    return np.bincount(one.astype(np.int64) * K + two, minlength=K * K).reshape(K, K)


def shares_back(one: Array, two: Array, K: int) -> Array:
    """For each cluster of one division its Jaccard index with the most similar cluster of the other (Hennig 2007)."""
    both = contingency(one, two, K)
    either = both.sum(axis=1)[:, None] + both.sum(axis=0) - both
    return np.asarray((both / np.maximum(either, 1)).max(axis=1))


def adjusted_rand(one: Array, two: Array) -> float:
    """Agreement of two labelings by integers: 1 if they are the same, 0 on average by chance (Hubert & Arabie 1985)."""
    K = int(max(one.max(), two.max())) + 1
    many = one.size < K * K  # then most pairs of clusters have no point in common
    pairs = np.unique(one.astype(np.int64) * K + two, return_counts=True)[1] if many else contingency(one, two, K)
    both, first, second, all_pairs = (
        float((counts * (counts - 1.0)).sum()) / 2
        for counts in (pairs, np.bincount(one), np.bincount(two), np.array([one.size]))
    )
    chance = first * second / all_pairs if all_pairs else 0.0
    possible = 0.5 * (first + second) - chance
    return (both - chance) / possible if possible > 0 else 1.0


def whole_sizes(sample_weight: Array) -> Array:
    """Weights as whole numbers of the smallest one, or of a thousandth of the largest: linkages sort by size."""
    unit = max(float(sample_weight.min()), float(sample_weight.max()) / MOST_SIZE)
    return np.maximum(np.rint(sample_weight / unit), 1).astype(np.int64)


def draw_rows(n: int, counts: Array | None, most: int, rng: np.random.RandomState) -> Array:
    """All of n rows, each as often as it counts, in order; a random sample where these are more than `most`."""
    total = n if counts is None else int(counts.sum())
    if total <= most:
        return np.arange(n) if counts is None else np.repeat(np.arange(n), counts)
    share = None if counts is None else counts / total
    return np.sort(rng.choice(n, most, replace=counts is not None, p=share))


# Levels: clusters of one division as parts of those of a coarser one.


def common_points(finer: Array, coarser: Array, n_finer: int, n_coarser: int) -> Array:
    """Number of points in each finer cluster and each coarser one."""
    return contingency(finer, coarser, max(n_finer, n_coarser))[:n_finer, :n_coarser]


def parents_of(common: Any) -> Array:
    """For each row, a finer cluster, the coarser cluster (column) that it has most in common with; none is left out."""
    common = as_dense(common)
    parents = common.argmax(axis=1)
    finer, coarser = linear_sum_assignment(common.max(axis=1, keepdims=True) - common)  # what would be lost
    parents[finer] = coarser
    return np.asarray(parents)


def keep_within(shares: Any, parents: Array, coarser: Array, W: Any) -> Any:
    """Shares in the parts of each point's coarser cluster only; where none are left, those of the neighbours.

    Where these have none, either, the largest part.
    """
    sizes = np.bincount(largest_columns(shares), minlength=shares.shape[1])
    kept = _masked(shares, parents, coarser)
    lost = np.flatnonzero(np.diff(kept.indptr) == 0)
    while lost.size:
        around = _masked(W[lost] @ kept, parents, coarser[lost])
        found = np.diff(around.indptr) > 0
        if not found.any():
            largest = np.where(parents == coarser[lost][:, None], sizes + 1, 0).argmax(axis=1)
            around, found = one_hot(largest, sizes.size, kept.dtype, sparse=True), np.ones(lost.size, dtype=bool)
        place = csr_array((np.ones(found.sum()), (lost[found], np.flatnonzero(found))), shape=(len(coarser), lost.size))
        kept = csr_array(kept + place @ around)
        lost = lost[~found]
    return kept


def _masked(shares: Any, parents: Array, coarser: Array) -> Any:
    """Shares in the parts of each row's coarser cluster, rows scaled to the simplex where anything is left."""
    kept = csr_array(shares, copy=True)
    kept.data[parents[kept.indices] != np.repeat(coarser, np.diff(kept.indptr))] = 0
    kept.eliminate_zeros()
    total = np.asarray(kept.sum(axis=1)).ravel()
    return scaled_rows(kept, 1 / np.where(total > 0, total, 1))


def spread_votes(W: Any, members: Array, own: Array) -> Array:
    """Votes of all points, (N, parts): of members their own, of others those of members next to them, or the first."""
    inside = np.zeros((W.shape[0], own.shape[1]))
    inside[members] = own
    votes = np.asarray(W @ inside)
    votes[votes.sum(axis=1) == 0, 0] = 1
    votes[members] = own
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def divided_column(shares: Any, columns: Array, votes: Array) -> Any:
    """Shares in all clusters, that in the first of the columns divided among all of them by votes; a CSR matrix."""
    K, wide = shares.shape[1], shares.shape[1] + columns.size - 1
    keep = np.flatnonzero(np.arange(K) != columns[0])
    others = csr_array((np.ones(keep.size), (keep, keep)), shape=(K, wide))
    parts = csr_array(as_dense(shares[:, columns[:1]]) * votes) @ one_hot(columns, wide, np.float64, sparse=True)
    return csr_array(csr_array(shares) @ others + parts)


def modularity(graph: Any, labels: Array) -> float:
    """Share of a graph's weight within clusters, minus what it would be if ends were drawn by their degrees."""
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    start = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    inside = graph.data[labels[start] == labels[graph.indices]].sum()
    return float(inside / degrees.sum() - np.square(np.bincount(labels, degrees) / degrees.sum()).sum())


def numbered(labels: Array) -> Array:
    """Labels as integers from 0; objects may be of types that cannot be sorted."""
    if labels.dtype != object:
        return np.asarray(np.unique(labels, return_inverse=True)[1])
    number = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    return np.array([number[label] for label in labels])


# Rows on their way.


@dataclass(frozen=True)
class Message:
    """Rows on their way to another process, without what is zero where that is shorter."""

    gaps: Array
    """Differences of the rows' places, in the smallest integers."""
    counts: Array | None
    """Entries of each row; None: all of them are sent."""
    columns: Array
    values: Array
    n_columns: int

    @staticmethod
    def of(places: Array, Z: Any) -> Message:
        """Some rows for their places."""
        gaps = _small(np.diff(places, prepend=0))
        counts, columns = _small(np.diff(Z.indptr)), _small(Z.indices, Z.shape[1] - 1)
        if counts.nbytes + columns.nbytes + Z.data.nbytes > Z.shape[0] * Z.shape[1] * Z.data.itemsize:
            dense = as_dense(Z)
            return Message(gaps, None, np.empty(0, dtype=np.uint8), dense.ravel(), Z.shape[1])
        return Message(gaps, counts, columns, Z.data, Z.shape[1])

    @property
    def places(self) -> Array:
        """Where the rows belong."""
        return np.cumsum(self.gaps, dtype=np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes that are sent, beside those of the envelope."""
        arrays = (self.gaps, self.columns, self.values, *(() if self.counts is None else (self.counts,)))
        return int(sum(each.nbytes for each in arrays))

    def rows(self) -> Any:
        """The rows, CSR."""
        n = self.gaps.size
        if self.counts is None:
            return csr_array(self.values.reshape(n, self.n_columns))
        indptr = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        return csr_array((self.values, self.columns.astype(np.int32), indptr), shape=(n, self.n_columns))


def _small(values: Array, largest: int | None = None) -> Array:
    top = int(values.max(initial=0)) if largest is None else largest
    return values.astype(np.min_scalar_type(top))
