"""Short, slow, independent references that the tests compare with."""

from __future__ import annotations

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist


def project(v):
    """Projection onto the simplex by sorting (Duchi et al. 2008)."""
    u = np.sort(v)[::-1]
    excess = np.cumsum(u) - 1
    rank = np.flatnonzero(u - excess / np.arange(1, len(v) + 1) > 0)[-1]
    return np.maximum(v - excess[rank] / (rank + 1), 0)


def simplex_qp(P, q, n, k):
    """Minimise x'Px/2 + q'x over n rows of k on the simplex, by an interior-point solver."""
    rows = sp.kron(sp.eye(n), np.ones((1, k)))
    constraints = sp.vstack([rows, -sp.eye(n * k)]).tocsc()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    cones = [clarabel.ZeroConeT(n), clarabel.NonnegativeConeT(n * k)]
    bounds = np.concatenate([np.ones(n), np.zeros(n * k)])
    solver = clarabel.DefaultSolver(sp.triu(sp.csc_matrix(P)).tocsc(), q, constraints, bounds, cones, settings)
    return np.array(solver.solve().x).reshape(n, k)


def best_assignments(L, B, lam):
    """The exact Z-step."""
    n, k = B.shape
    return simplex_qp(2 * lam * sp.kron(sp.csr_matrix(L), sp.eye(k)), -B.ravel(), n, k)


def dense_laplacian(graph):
    """L as an array, in double precision."""
    return graph.laplacian.toarray().astype(float)


def energy(L, B, lam, Z):
    """The objective at fixed modes."""
    return lam * np.sum(Z * (L @ Z)) - np.sum(B * Z)


def squared_distances(X, C):
    """|x_n - c_k|^2, (N, K), in double precision."""
    return np.square(X[:, None, :].astype(float) - C[None, :, :]).sum(axis=2)


def kernel(X, C, sigma):
    """B (N, K) with one width or one a point; minus the squared distances for infinite width."""
    d2 = squared_distances(X, C)
    if np.isinf(sigma).all():
        return -d2
    return np.exp(-0.5 * d2 / np.square(np.broadcast_to(sigma, len(X)).astype(float))[:, None])


def mapped(cross, Z, B, distances, lam, sample_weight=None, degrees=None):
    """The out-of-sample mapping by its formula, in double precision; to the nearest mode where it has no answer."""
    cross, Z, B = (np.asarray(each, dtype=float) for each in (cross, Z, B))
    if sample_weight is not None:
        cross = cross * np.sqrt(sample_weight.astype(float))
    total = cross.sum(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        if degrees is None:
            mean, pull = cross @ Z / total, B / (2 * lam * total)
        else:
            mean, pull = (cross / np.sqrt(np.where(degrees > 0, degrees, 1))) @ Z / np.sqrt(total), B / (2 * lam)
        V = mean + pull
    usable = (total[:, 0] > 0) & np.isfinite(V).all(axis=1)
    nearest = np.eye(Z.shape[1])[distances.argmin(axis=1)]
    return np.array([project(v) if ok else near for v, ok, near in zip(V, usable, nearest, strict=True)])


def errors(y, labels):
    """Wrong labels after the best matching."""
    from scipy.optimize import linear_sum_assignment

    table = np.zeros((y.max() + 1, labels.max() + 1), dtype=int)
    np.add.at(table, (y, labels), 1)
    rows, columns = linear_sum_assignment(-table)
    return len(y) - table[rows, columns].sum()


def random_affinity(rng, n, density=0.4):
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    return sp.csr_array(W + W.T)


def neighbor_graph(X, k=8):
    """Self-tuning weights between k nearest neighbours, from all distances; CSR."""
    D = cdist(X, X)
    order = np.argsort(D, axis=1, kind="stable")
    near = np.zeros(D.shape, dtype=bool)
    np.put_along_axis(near, order[:, 1 : k + 1], True, axis=1)
    scale = np.take_along_axis(D, order[:, [min(7, len(D) - 1)]], axis=1)
    return sp.csr_array(np.where(near | near.T, np.exp(-D * D / (scale * scale.T)), 0.0))


def dense_cut(W, labels, K):
    """Normalised cut of a dense affinity by its definition."""
    total = 0.0
    for k in range(K):
        inside = labels == k
        weight = W[inside].sum()
        total += W[np.ix_(inside, ~inside)].sum() / weight if weight else 1.0
    return total
