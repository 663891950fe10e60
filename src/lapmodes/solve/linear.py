"""The linear term of the assignment problem: B whole, or its largest entries where there are many clusters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._records import Array, Assignments, Graph
from .assignments import solve_assignments
from .objective import fidelity, scale_of
from .points import Points
from .sparse_assignments import certify_sparse, solve_sparse
from .sparse_term import KEPT, SparseTerm, make_sparse_term


@dataclass(frozen=True)
class DenseTerm:
    """B as an array, for assignments that are one."""

    B: Array

    @property
    def best(self) -> Array:
        """Column of the largest entry of each row."""
        return self.B.argmax(axis=1)

    @property
    def highest(self) -> Array:
        """Largest entry of each row."""
        return np.asarray(self.B.max(axis=1))

    @cached_property
    def scale(self) -> float:
        """What a relative gap is relative to."""
        return scale_of(self.B)


def linear_term(
    points: Points, C: Array, sigma: float | Array, sample_weight: Array | None, pull: Any, like: Any, lam: float
) -> DenseTerm | SparseTerm:
    """B at modes C with `pull` added, stored in the way of the assignments `like`."""
    if issparse(like):
        kept = KEPT if lam > 0 else 1
        return make_sparse_term(points, C, sigma, sample_weight, pull, kept=kept)
    B = fidelity(points, C, sigma, sample_weight)
    if pull is not None:
        B += pull
    return DenseTerm(B)


def minimise(graph: Graph, term: DenseTerm | SparseTerm, lam: float, Z0: Any, tol: float, threads: int) -> Assignments:
    """The Z-step, to a certified gap."""
    if isinstance(term, DenseTerm):
        return solve_assignments(graph, term.B, lam, Z0, tol=tol, threads=threads)
    return solve_sparse(graph, term, lam, Z0, tol=tol, threads=threads)


def unsmoothed(term: DenseTerm | SparseTerm, Z: Any, threads: int) -> Assignments:
    """The Z-step's result without smoothing, where Z is known."""
    if isinstance(term, DenseTerm):
        energy = -float((term.B * Z).sum(dtype=np.float64))
    else:
        energy = certify_sparse(None, term, 0.0, Z, threads).energy
    return Assignments(Z, energy, 0.0, 1, True)
