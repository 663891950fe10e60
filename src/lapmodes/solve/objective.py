"""The objective, eq. (5) of the paper, and its certificate: the only place with the formula.

E(Z, C) = lam tr(Z' L Z) - tr(B' Z), with b_nk = w_n G(|(x_n - c_k) / sigma_n|^2) and w_n the sample weight.
With balance L has c d d' added, d its diagonal and c = balance / sum(d): convex, and c d d' <= balance diag(d).
For infinite bandwidth the kernel's expansion leaves b_nk = -w_n |x_n - c_k|^2 (Laplacian K-means).
"""

from __future__ import annotations

import numpy as np

from .. import _native
from .._records import Array, Certificate, Graph
from .points import Points, kernel_values


def fidelity(points: Points, C: Array, sigma: float | Array, sample_weight: Array | None) -> Array:
    """B (N, K), the linear term of the objective at modes C."""
    B = kernel_values(points, C, sigma, squared=is_infinite(sigma))
    if sample_weight is not None:
        B *= sample_weight[:, None]
    return B


def is_infinite(sigma: float | Array) -> bool:
    """Whether this bandwidth is the K-means limit."""
    return bool(np.isinf(sigma).all())


def statistics(n: int) -> Array:
    """Room for what the native sweeps sum over each block of rows."""
    return np.empty((-(-n // _native.BLOCK_ROWS), 4))


def certificate_from(stats: Array, lam: float, least: float = 0.0) -> Certificate:
    """Energy and gap from the block sums of a sweep; `least` is what even masses cost."""
    smoothness, linear, gap = stats[:, :3].sum(axis=0)
    return Certificate(float(lam * (smoothness + least) - linear), float(gap))


def certify(graph: Graph, B: Array, lam: float, Z: Array, threads: int = 1) -> Certificate:
    """Energy of Z and a bound on E(Z) - min E, in double precision.

    The Z-step is convex, so with g the gradient, sum_n (<g_n, z_n> - min_k g_nk) is such a bound.
    """
    stats = statistics(Z.shape[0])
    _native.certify(*graph.arrays, B, lam, even_masses(graph, Z, threads), Z, stats, threads)
    return certificate_from(stats, lam, least_unevenness(graph, Z.shape[1]))


def even_masses(graph: Graph, Z: Array, threads: int) -> Array:
    """The vector c (Z'd - s/K) with s = sum(d), by which the native loops add c d d' to L; empty without balance.

    Where rows of Z sum to 1, s/K changes neither steps nor certificate, and the energy by a constant that would
    drown the rest in single precision.
    """
    if graph.evenness == 0:
        return np.empty(0, dtype=Z.dtype)
    sums = np.empty((-(-Z.shape[0] // _native.BLOCK_ROWS), Z.shape[1]))
    _native.masses(graph.diagonal, Z, sums, threads)
    total = sums.sum(axis=0)
    return (graph.evenness * (total - total.mean())).astype(Z.dtype)


def least_unevenness(graph: Graph, K: int) -> float:
    """The balance c |Z'd|^2 where all masses are the same: c s^2 / K."""
    return balance_of(graph) * float(graph.diagonal.sum(dtype=np.float64)) / K if graph.evenness else 0.0


def balance_of(graph: Graph) -> float:
    """The weight of the balance beside the Laplacian: c sum(d)."""
    return graph.evenness * float(graph.diagonal.sum(dtype=np.float64))


def scale_of(B: Array, threads: int = 1) -> float:
    """What a relative gap is relative to: sum_n max_k b_nk (above the row's minimum where that is negative)."""
    sums = np.empty(-(-B.shape[0] // _native.BLOCK_ROWS))
    _native.spreads(np.ascontiguousarray(B), sums, threads)
    return float(sums.sum())
