"""Rows of many columns in the plane: by their neighbours in the model's graph, and along principal components.

The report draws its map by :func:`lay_out`; whatever shows a map of a fit may use it too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix, diags_array, issparse
from scipy.sparse.csgraph import connected_components, dijkstra
from sklearn.metrics import euclidean_distances
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from .._records import Array
from .._rows import as_dense

DRAWN = 5_000
"""Rows of a map by neighbours; t-SNE takes some five seconds of one core for so many."""
DRAWN_AS_THEY_ARE = 20_000
"""Rows of a map whose axes are the columns."""
FROM_EACH = 20
"""Rows that a map has at least of each cluster, where it has so many."""
FEWEST = 8
"""Rows from which on neighbours make a map."""
NEIGHBORS = 10
COARSE = 20
"""A graph of more than so many times the rows of the map is made coarser first."""
VISITED = 60
"""Rows that a walk reaches at most, and walks that reach a row: hubs, which all reach, say little and cost much."""
PARTNERS = 15
"""Links that a drawn row keeps, where not all rows are drawn."""
REACHED = 50
"""Rows that draw a row to themselves, neighbours of neighbours included, which makes rounder maps."""
SMALL = 4
"""Parts of the graph with fewer rows are tied to the row that lies nearest."""
EXACT_DIMENSIONS = 500
"""Up to this dimension principal axes come from the full covariance."""
CHUNK_ENTRIES = 2**24
"""Entries of the rows that are made dense together."""
STEPS, GATHERING, EXAGGERATION, MOMENTUM = 350, 100, 12, 0.8
"""Of t-SNE: its steps, how many of them gather neighbours first, and by how much stronger a pull."""
FEW_FORCES = 10_000
"""Rows up to which openTSNE sums forces over a tree; for more it interpolates them on a grid, in linear time."""
PUSHED_BY = 250
"""Random rows that push each row away in a step, where openTSNE does not compute all."""
LONGEST_MOVE = 5.0
JUDGED = 500
"""Rows whose neighbours are compared with those on the map."""
ONE_COLUMN = "The only column runs from left to right; rows are spread up and down at random so that they can be seen."
EMBEDDED = (
    "Rows that are neighbours in the model's graph lie side by side ({method}). Read who lies beside whom; the "
    "distance between groups, their size and their shape mean little here."
)
SAMPLED = "t-SNE with sampled forces; with the extra “map” installed they are computed in full"
FLATTENED = (
    "The {d:,} columns are flattened onto the two directions in which rows differ most; these show "
    "{share:.0f}\u202f% of all differences. Groups that are apart here are apart; those that "
    "overlap here may still be apart."
)
KEPT = " Of each row's {k} nearest rows, {share:.0f}\u202f% are also among the nearest on this map."

Watch = Callable[[str, int, int, str], Any]
"""watch(phase, done, total, info), as the parameter `verbose` of the estimators."""


@dataclass(frozen=True)
class Layout:
    """Some rows of a fit in the plane."""

    name: str
    """'columns', 'neighbours' or 'components'."""
    positions: Array
    """(n_rows, 2)."""
    modes: Array
    """(n_clusters, 2): the modes, or the rows nearest to them where a map has no place for anything else."""
    axes: tuple[str, str]
    """What runs along each axis; empty where that has no meaning."""
    caption: str
    """What the map shows, and what it does not."""


def lay_out(
    model: Any, points: Any, modes: Array, features: Sequence[str], rows: Array, watch: Watch | None = None
) -> tuple[Layout, ...]:
    """The maps of some rows of a fit, the best first: the columns themselves if there are at most two of them.

    Parameters
    ----------
    model : LaplacianKModes or one of its special cases, fitted
        Its `graph_` and `exemplars_` are used.
    points : array or CSR matrix of shape (n_samples, n_features)
        The rows of the fit.
    modes : ndarray of shape (n_clusters, n_features)
        The modes, in the units of `points`.
    features : sequence of str
        Names of the columns.
    rows : ndarray of int
        The rows to draw in ascending order, the model's exemplars among them; see :func:`choose_rows`.
    watch : callable, optional
        Called as ``watch("map", done, total, "")`` now and then.
    """
    d, shown = points.shape[1], points[rows]
    if d == 1:
        flat = np.column_stack([as_dense(shown).ravel(), np.random.default_rng(0).random(rows.size)])
        at = np.column_stack([modes[:, 0], np.full(len(modes), 0.5)])
        return (Layout("columns", flat, at, (features[0], ""), ONE_COLUMN),)
    if d == 2:
        caption = f"The two columns, {features[0]} and {features[1]}."
        return (Layout("columns", as_dense(shown), modes, (features[0], features[1]), caption),)
    flat, at, share = flatten(points, modes, rows)
    caption = FLATTENED.format(d=d, share=100 * share) + kept_sentence(shown, flat)
    components = Layout("components", flat, at, ("first direction", "second direction"), caption)
    if rows.size < FEWEST:
        return (components,)
    placed, method = place_neighbors(model.graph_, points, rows, flat, watch)
    nearest = placed[np.searchsorted(rows, model.exemplars_)]
    caption = EMBEDDED.format(method=method) + kept_sentence(shown, placed)
    return (Layout("neighbours", placed, nearest, ("", ""), caption), components)


def choose_rows(labels: Array, most: int, also: Array | None = None) -> Array:
    """All rows, or a fixed random choice of about so many in order: with rows of each cluster, and those in `also`."""
    n = labels.size
    if n <= most:
        return np.arange(n)
    order = np.random.default_rng(0).permutation(n)
    sizes = np.bincount(labels)
    by_cluster = order[np.argsort(labels[order], kind="stable")]
    place = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    of_each = by_cluster[place < min(FROM_EACH, most // (4 * sizes.size))]
    return np.unique(np.concatenate([order[:most], of_each, np.empty(0, int) if also is None else np.asarray(also)]))


def place_neighbors(
    graph: Any, points: Any, rows: Array, start: Array, watch: Watch | None = None
) -> tuple[Array, str]:
    """Positions of rows by the graph, and the method: t-SNE by openTSNE where that is installed, else by NumPy."""
    shown = points[rows]
    near = csr_array(graph_among(graph, rows))
    if near.nnz == 0:
        near = kneighbors_graph(shown, min(NEIGHBORS, rows.size - 1))
        near = near.maximum(near.T)
    near = tie_small_parts(near, shown)
    if find_spec("openTSNE") is None:
        return sampled_t_sne(near, start, watch), SAMPLED
    return t_sne(near, start, watch), "t-SNE"


def graph_among(graph: Any, rows: Array) -> Any:
    """The graph itself, or links between drawn rows from which short walks meet."""
    if rows.size == graph.shape[0]:
        return graph
    if graph.shape[0] > COARSE * rows.size:
        graph, rows = coarsen(graph, rows)
    step = strongest(walk_step(graph), VISITED)
    reached = strongest(csr_array(step[rows] @ step), VISITED)
    reached = csr_array(strongest(csr_array(reached.T), VISITED).T)
    return strongest(without_diagonal(reached @ reached.T), PARTNERS)


def coarsen(graph: Any, rows: Array) -> tuple[Any, Array]:
    """A graph with a node for the rows nearest to each of some chosen rows, and where the given rows are in it."""
    n = graph.shape[0]
    others = np.random.default_rng(0).choice(n, COARSE * rows.size, replace=False)
    nodes = np.union1d(rows, others)
    lengths = csr_array(graph, copy=True)
    lengths.data = 1 / np.maximum(lengths.data, np.finfo(np.float64).tiny)
    _, _, source = dijkstra(lengths, indices=nodes, min_only=True, return_predecessors=True)
    known = np.flatnonzero(source >= 0)
    cell = np.searchsorted(nodes, source[known])
    member = csr_array((np.ones(known.size), (known, cell)), shape=(n, nodes.size))
    return without_diagonal(member.T @ graph @ member), np.searchsorted(nodes, rows)


def walk_step(graph: Any) -> Any:
    """Each row's weights as shares of one."""
    total = np.asarray(graph.sum(axis=1), dtype=np.float64).ravel()
    return csr_array(diags_array(1 / np.where(total > 0, total, 1.0)) @ graph)


def without_diagonal(graph: Any) -> Any:
    """A graph without links from a row to itself."""
    graph = csr_array(graph)
    graph.setdiag(0)
    graph.eliminate_zeros()
    return graph


def strongest(graph: Any, most: int) -> Any:
    """The heaviest links of each row, so many at most."""
    size = np.diff(graph.indptr)
    if size.max(initial=0) <= most:
        return graph
    row = np.repeat(np.arange(graph.shape[0]), size)
    crowded = np.flatnonzero(size[row] > most)
    order = crowded[np.lexsort((-graph.data[crowded], row[crowded]))]  # those of a row stay where they were
    keep = np.ones(row.size, dtype=bool)
    keep[order[crowded - graph.indptr[row[crowded]] >= most]] = False
    return csr_array((graph.data[keep], (row[keep], graph.indices[keep])), shape=graph.shape)


def tie_small_parts(graph: Any, points: Any) -> Any:
    """The graph, in which rows of tiny components have a link to the nearest row of a larger one."""
    _, part = connected_components(graph, directed=False)
    large = np.bincount(part)[part] >= SMALL
    if large.all() or not large.any():
        return graph
    there, lone = np.flatnonzero(large), np.flatnonzero(~large)
    nearest = NearestNeighbors(n_neighbors=1).fit(points[there]).kneighbors(points[lone], return_distance=False)
    weight = np.full(lone.size, np.median(graph.data))
    ties = csr_array((weight, (lone, there[nearest[:, 0]])), shape=graph.shape)
    return csr_array(graph + ties + ties.T)


def t_sne(graph: Any, start: Array, watch: Watch | None = None) -> Array:
    """Positions by openTSNE, whose affinities are the graph's weights as shares of each row."""
    from openTSNE import TSNEEmbedding
    from openTSNE.affinity import PrecomputedAffinities

    method = "bh" if graph.shape[0] <= FEW_FORCES else "fft"
    options: dict[str, Any] = {"negative_gradient_method": method, "theta": 0.8, "n_jobs": 1, "random_state": 0}
    embedding = TSNEEmbedding(begin(start, 1e-4), PrecomputedAffinities(csr_matrix(affinities(graph))), **options)
    for first, last, exaggeration in ((0, GATHERING, EXAGGERATION), (GATHERING, STEPS, 1)):
        extra: dict[str, Any] = {"exaggeration": exaggeration}
        if watch is not None:

            def say(step: int, error: float, embedding: Any, first: int = first) -> None:
                watch("map", first + step, STEPS, "")

            extra |= {"callbacks": say, "callbacks_every_iters": 10, "use_callbacks": True}
        embedding = embedding.optimize(last - first, momentum=MOMENTUM, **extra)
    return np.asarray(embedding, dtype=np.float64)


def sampled_t_sne(graph: Any, start: Array, watch: Watch | None = None) -> Array:
    """Positions by t-SNE with NumPy alone: in each step a row is pushed away from a random choice of the others."""
    P = affinities(graph).astype(np.float32)
    n, row, rng = P.shape[0], np.repeat(np.arange(P.shape[0]), np.diff(P.indptr)), np.random.default_rng(0)
    y, others, norm = begin(start, 1e-2).astype(np.float32), min(PUSHED_BY, n), 0.0
    move = np.zeros_like(y)
    for step in range(STEPS):
        gathering = step < GATHERING
        apart = y[row] - y[P.indices]
        pull = csr_array((P.data / (1 + np.einsum("nd,nd->n", apart, apart)), P.indices, P.indptr), shape=P.shape)
        attraction = pull @ y - np.asarray(pull.sum(axis=1)).reshape(-1, 1) * y
        some = rng.choice(n, others, replace=False)
        length = np.einsum("nd,nd->n", y, y)
        kernel = 1 / (1 + np.maximum(length[:, None] + length[some] - 2 * y @ y[some].T, 0))
        kernel[some, np.arange(others)] = 0
        total = float(kernel.sum()) * n / others
        norm = 0.9 * norm + 0.1 * total if step else total
        kernel *= kernel
        repulsion = (y * kernel.sum(axis=1, keepdims=True) - kernel @ y[some]) * (n / others / max(norm, 1e-12))
        force = (EXAGGERATION if gathering else 1) * attraction + repulsion
        move = MOMENTUM * move + 4 * n / (EXAGGERATION if gathering else 4) * force
        y = y + np.clip(move, -LONGEST_MOVE, LONGEST_MOVE)
        y -= y.mean(axis=0)
        if watch is not None and step % 10 == 9:
            watch("map", step + 1, STEPS, "")
    return y.astype(np.float64)


def affinities(graph: Any) -> Any:
    """Symmetric weights that add up to one: shares of walks of one step and of two, each row's strongest."""
    step = walk_step(graph)
    share = walk_step(strongest(without_diagonal(step + step @ step), REACHED))
    both = csr_array(share + share.T)
    return csr_array(both / both.sum())


def begin(start: Array, size: float) -> Array:
    """Positions to begin with, shrunk to a size; a little noise tells equal rows apart."""
    spread = float(start[:, 0].std())
    noise = np.random.default_rng(0).standard_normal(start.shape)
    return np.asarray(start * (size / spread if spread > 0 else 0.0) + 1e-2 * size * noise)


def flatten(points: Any, modes: Array, rows: Array) -> tuple[Array, Array, float]:
    """Rows and modes on the two principal directions, and the share of all variance that these show."""
    principal = principal_axes(points)
    return principal.project(points[rows]), principal.project(modes), float(principal.shares.sum())


@dataclass(frozen=True)
class PrincipalAxes:
    """The two directions along which points differ most."""

    mean: Array
    axes: Array
    """(n_features, 2), of unit length."""
    shares: Array
    """Of the variance along each."""

    def project(self, points: Any) -> Array:
        """Points on the axes."""
        return np.asarray(points @ self.axes) - self.mean @ self.axes

    def lift(self, places: Array) -> Array:
        """The points in the plane of the axes that lie at these places."""
        return np.asarray(self.mean + places @ self.axes.T)


def principal_axes(points: Any) -> PrincipalAxes:
    """From the covariance of all points, or of a sample where there are many dimensions."""
    n, d = points.shape
    mean = np.asarray(points.mean(axis=0), dtype=np.float64).ravel()
    if d > EXACT_DIMENSIONS:
        return PrincipalAxes(mean, *sampled_axes(points))
    covariance = np.zeros((d, d))
    for start in range(0, n, max(1, CHUNK_ENTRIES // d)):
        part = as_dense(points[start : start + max(1, CHUNK_ENTRIES // d)]) - mean
        covariance += part.T @ part
    values, vectors = np.linalg.eigh(covariance)
    shares = np.maximum(values[[-1, -2]], 0) / max(values.sum(), np.finfo(float).tiny)
    return PrincipalAxes(mean, signed(vectors[:, [-1, -2]]), shares)


def sampled_axes(points: Any) -> tuple[Array, Array]:
    """Principal directions of many dimensions and their shares of the variance, from a sample of the rows."""
    from sklearn.decomposition import PCA

    n, d = points.shape
    rows = np.random.default_rng(0).choice(n, min(n, 20_000), replace=False)
    some = points[rows]
    if issparse(some) and some.shape[0] * d <= CHUNK_ENTRIES:
        some = some.toarray()
    pca = PCA(2, svd_solver="arpack" if issparse(some) else "randomized", random_state=0).fit(some)
    return signed(pca.components_.T.astype(np.float64)), np.nan_to_num(pca.explained_variance_ratio_)


def signed(axes: Array) -> Array:
    """Directions with a sign that does not depend on the library of linear algebra."""
    largest = axes[np.abs(axes).argmax(axis=0), [0, 1]]
    return np.asarray(axes * np.where(largest < 0, -1, 1))


def kept_sentence(points: Any, positions: Array) -> str:
    """How well a map keeps neighbours, in words."""
    k = min(NEIGHBORS, positions.shape[0] - 1)
    return KEPT.format(k=k, share=100 * kept_neighbors(points, positions, k)) if k > 0 else ""


def kept_neighbors(points: Any, positions: Array, k: int) -> float:
    """Share of the k nearest rows on the map that are no farther in the data than the k-th nearest row there."""
    n = positions.shape[0]
    judged = np.arange(n) if n <= JUDGED else np.sort(np.random.default_rng(0).choice(n, JUDGED, replace=False))
    own = np.arange(judged.size), judged
    apart = euclidean_distances(points[judged], points)
    apart[own] = np.inf
    farthest = np.partition(apart, k - 1, axis=1)[:, k - 1 : k]
    drawn = euclidean_distances(positions[judged], positions)
    drawn[own] = np.inf
    nearest = np.argpartition(drawn, k - 1, axis=1)[:, :k]
    return float((np.take_along_axis(apart, nearest, axis=1) <= farthest * (1 + 1e-9)).mean())
