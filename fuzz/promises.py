"""What must hold for every fitted model, whatever it was fitted on."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .harness import REFUSALS, refusal, require

OFF_SIMPLEX = 1e-6
"""How far the sum of a row may be from 1."""
RISE = {np.dtype(np.float64): 1e-7, np.dtype(np.float32): 1e-3}
"""How far rounding may raise an objective, as a share of what it sums."""


def dense(values: Any) -> np.ndarray:
    """As an array."""
    return np.asarray(values.toarray() if issparse(values) else values)


def is_finite(values: Any) -> bool:
    """Whether there is neither NaN nor infinity in it."""
    return bool(np.isfinite(values.data if issparse(values) else np.asarray(values, dtype=np.float64)).all())


def on_simplex(Z: Any, what: str) -> None:
    """Rows of shares: not negative, with sum 1."""
    Z = dense(Z).astype(np.float64)
    require(is_finite(Z), f"{what}: NaN or infinity")
    require(bool((Z >= 0).all() and (Z <= 1 + OFF_SIMPLEX).all()), f"{what}: a share outside 0 to 1")
    worst = float(np.abs(Z.sum(axis=1) - 1).max(initial=0.0))
    require(worst <= OFF_SIMPLEX, f"{what}: a row off the simplex by {worst:.1e}")


def check_model(model: Any, n: int, d: int, bandwidth: Any = None, *, descends: bool = True) -> None:
    """Everything that a fitted model of n samples with d features shows."""
    K = model.n_clusters_
    require(model.assignments_.shape == (n, K), "assignments_ have the wrong shape")
    on_simplex(model.assignments_, "assignments_")
    if model.prior_ is not None:
        on_simplex(model.prior_, "prior_")
    require(model.cluster_centers_.shape == (K, d), "cluster_centers_ have the wrong shape")
    for name in ("cluster_centers_", "probabilities_", "objective_", "gap_", "lam_", "graph_", "neighbor_recall_"):
        require(is_finite(getattr(model, name)), f"{name}: NaN or infinity")
    widths = np.asarray(model.bandwidth_)
    require(bool((widths > 0).all()) and (is_finite(widths) or bandwidth == np.inf), "bandwidth_ is no positive number")
    require(bool(((model.labels_ >= 0) & (model.labels_ < K)).all()), "labels_ out of range")
    require(bool(((model.exemplars_ >= 0) & (model.exemplars_ < n)).all()), "exemplars_ out of range")
    require(model.gap_ >= 0 and model.lam_ >= 0, "gap_ or lam_ is negative")
    for name in model.history_.dtype.names:
        require(is_finite(model.history_[name]), f"history_: NaN or infinity in {name!r}")
    if descends:
        check_descent(model)


def check_descent(model: Any) -> None:
    """The objective never rises, beyond what rounding explains."""
    objective = model.history_["objective"]
    share = RISE[np.dtype(model.cluster_centers_.dtype)]
    # Rounding of the smoothness is relative to lam times the degrees, which may be far above the objective itself.
    degrees = float(model.graph_.sum()) if model.graph_.nnz else 0.0
    noise = share * (np.abs(objective).max() + 1e-6 * model.lam_ * degrees)
    rise = float(np.diff(objective).max(initial=0.0))
    require(rise <= noise, f"the objective rises by {rise:.3g} ({noise:.1e} would be rounding)")


def check_new_points(model: Any, X: Any, graph: Any = None) -> str:
    """Everything that a model says of new points; refusing them is allowed."""
    try:
        Z = model.predict_proba(X, **({} if graph is None else {"graph": graph}))
    except REFUSALS as error:
        return refusal(error)
    n = Z.shape[0]
    on_simplex(Z, "predict_proba")
    labels = model.predict(X, **({} if graph is None else {"graph": graph}))
    require(labels.shape == (n,) and bool((labels == dense(Z).argmax(axis=1)).all()), "predict is not predict_proba's")
    require(is_finite(model.transform(X)), "transform: NaN or infinity")
    if np.isfinite(model.bandwidth_).all():
        require(is_finite(model.density(X, log=True)), "density(log=True): NaN or infinity")
        density = model.density(X)
        require(is_finite(density) and bool((density >= 0).all()), "density: NaN, infinity or negative")
        require(is_finite(model.score_samples(X)), "score_samples: NaN or infinity")
        require(is_finite(model.score(X)), "score: NaN or infinity")
    if graph is None:
        scores = model.outlier_score(X)
        require(is_finite(scores) and bool(((scores >= 0) & (scores <= 1)).all()), "outlier_score not in 0 to 1")
    return "answered"


def check_saved(model: Any) -> None:
    """A model that was saved and loaded has the same bits."""
    from lapmodes import load

    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.npz")
        again = load(Path(folder) / "model.npz")
    for name in (
        "assignments_",
        "labels_",
        "cluster_centers_",
        "objective_",
        "gap_",
        "lam_",
        "bandwidth_",
        "exemplars_",
    ):
        one, two = dense(getattr(model, name)), dense(getattr(again, name))
        require(one.tobytes() == two.tobytes(), f"{name} is not the same after save and load")
