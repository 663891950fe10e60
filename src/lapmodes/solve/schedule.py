"""The default homotopy: from K-means, (lam, sigma) = (0, infinity), to the target."""

from __future__ import annotations

from typing import Any

import numpy as np

LAM_RATIO = 100.0


def geometric_steps(n: int, lam: float, sigma: Any, spread: float) -> list[tuple[float, Any]]:
    """K-means, then n - 1 geometric steps: sigma from the spread of the data, lam from a hundredth."""
    typical = float(np.median(sigma))
    if not np.isfinite(typical):
        return [(0.0, np.inf), *((lam * share, np.inf) for share in np.geomspace(1 / LAM_RATIO, 1, n - 1))]
    widest = max(spread / typical, 1.0)
    walk = zip(np.geomspace(1 / LAM_RATIO, 1, n - 1), np.geomspace(widest, 1, n - 1), strict=True)
    return [(0.0, np.inf), *((lam * share, sigma * wide) for share, wide in walk)]
