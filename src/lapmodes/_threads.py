"""How many threads to use."""

from __future__ import annotations

from . import _native


def effective_threads(n_jobs: int | None) -> int:
    """None: what OpenMP would use; -1: all processors, -2: all but one, and so on."""
    if n_jobs is None:
        return int(_native.max_threads())
    from joblib import cpu_count

    return n_jobs if n_jobs > 0 else max(1, cpu_count() + 1 + n_jobs)
