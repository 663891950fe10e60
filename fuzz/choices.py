"""The functions around the estimator: `select`, `fit_layers` and `fit_path`, on hostile rows and parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import lapmodes

from .fits import draw_given, source
from .harness import REFUSALS, Draw, only_documented_warnings, refusal, require
from .promises import check_model, check_new_points, is_finite
from .values import NOT_OF_HALVES, TYPES, Rng, chance, contained, magnitude, pick, typed
from .values import rows as random_rows

LARGEST = 60
"""Rows: these functions compare many partitions."""
NAN_ALLOWED = ("separation", "agreement", "mixture")
"""Fields of a selection that are not known on a given graph, or where the points do not look like Gaussians."""


@dataclass(frozen=True)
class Call:
    """One call of a function on some rows."""

    function: str
    X: np.ndarray
    container: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def check(self) -> str:
        """Call it, and look at everything that comes back."""
        with only_documented_warnings():
            try:
                found = getattr(lapmodes, self.function)(contained(self.X, self.container), **self.parameters)
                found = list(found) if self.function == "fit_path" else found
            except REFUSALS as error:
                return f"refused: {' '.join(refusal(error).split()[:5])}"
            return CHECKS[self.function](found, self.X)

    def smaller(self) -> Iterator[Call]:
        """Without a parameter, with fewer rows."""
        for name in self.parameters:
            if name != "n_clusters":
                left = {key: each for key, each in self.parameters.items() if key != name}
                yield replace(self, parameters=left)
        n = len(self.X)
        for keep in (slice(n // 2), slice(n // 2, n), slice(1, n)):
            if n > 3:
                yield replace(self, X=self.X[keep])
        if self.container != "array":
            yield replace(self, container="array")

    def write(self, folder: Path) -> None:
        """A script that calls again."""
        words = "".join(f", {name}={source(value)}" for name, value in self.parameters.items())
        call = f"found = lapmodes.{self.function}(contained(X, {self.container!r}){words})"
        lines = [
            "import numpy as np",
            "from numpy import inf, nan",
            "from scipy.sparse import csr_array",
            "import lapmodes",
            "from fuzz.choices import CHECKS",
            "from fuzz.values import contained",
            "",
            f"X = {source(self.X)}",
            call,
            f"CHECKS[{self.function!r}](list(found) if {self.function == 'fit_path'} else found, X)",
        ]
        (folder / "reproduce.py").write_text("\n".join(lines) + "\n")


def check_selection(found: Any, X: np.ndarray) -> str:
    """Numbers in the table are numbers, and labels are those of each K."""
    for name in found.table.dtype.names:
        values = found.table[name].astype(float)
        values = values[~np.isnan(values)] if name in NAN_ALLOWED else values
        values = values[values != np.inf] if name == "bandwidth" else values
        require(is_finite(values), f"select: {name!r} not finite")
    for K, labels in found.labels.items():
        require(labels.shape == (len(X),) and bool(((labels >= 0) & (labels < K)).all()), "select: labels out of range")
    require(1 <= found.n_clusters <= len(X), "select: n_clusters out of range")
    require(bool(found.bandwidth > 0) and not np.isnan(found.lam), "select: lam or bandwidth")
    str(found)
    return f"selected: {found.verdict}"


def check_layers(found: Any, X: np.ndarray) -> str:
    """Each level is a model, and the tree hangs together."""
    for model in found.models:
        check_model(model, *X.shape)
    require(found.labels.shape == (len(X), len(found.models)), "layers: labels")
    require(is_finite(found.consistency) and is_finite(found.agreement), "layers: NaN or infinity")
    str(found)
    return f"{len(found.models)} levels"


def check_path(found: Any, X: np.ndarray) -> str:
    """Each step is a model that answers."""
    for model in found:
        check_model(model, *X.shape, bandwidth=model.bandwidth)
    if not found[-1].graph_given_ and not hasattr(found[-1], "feature_names_in_"):
        check_new_points(found[-1], X[:2])
    return f"{len(found)} steps"


CHECKS: dict[str, Callable[[Any, np.ndarray], str]] = {
    "select": check_selection,
    "fit_layers": check_layers,
    "fit_path": check_path,
}


def draw_for(function: str) -> Draw:
    """A target that calls this function."""

    def draw(rng: Rng, folder: Path) -> Call:
        X = typed(random_rows(rng)[:LARGEST], pick(rng, *TYPES))
        given = draw_given(rng, X) if chance(rng, 0.3) else {}
        given = {name: given[name] for name in ("graph", "neighbors", "sample_weight") if name in given}
        parameters = {"random_state": 0, "n_jobs": 1} | given | own_parameters(rng, function, len(X))
        container = pick(rng, "array", "array", "csr", "pandas")
        container = "array" if X.dtype == np.float16 and container in NOT_OF_HALVES else container
        return Call(function, X, container, parameters)

    return draw


def own_parameters(rng: Rng, function: str, n: int) -> dict[str, Any]:
    """Parameters of the function itself, and some of the estimator."""
    few = sorted({int(K) for K in rng.integers(2, max(3, min(9, n)), size=2)})
    drawn: dict[str, Any] = {}
    if function == "fit_path":
        drawn["n_clusters"] = int(pick(rng, 1, 2, 3, min(n, 6)))
        if chance(rng, 0.5):
            drawn["n_steps"] = int(pick(rng, 2, 3, 5))
        else:
            drawn |= {"lam": [magnitude(rng) for _ in range(2)], "bandwidth": [pick(rng, np.inf, magnitude(rng)), 1.0]}
    else:
        drawn["n_clusters"] = pick(rng, few, few, few, few, "auto" if function == "fit_layers" else few)
        if chance(rng, 0.03):
            drawn["n_clusters"] = pick(rng, [1], [0], [], "many", 3, None)
    if function == "fit_layers" and chance(rng, 0.3):
        drawn["nested"] = True
    if chance(rng, 0.2):
        drawn["n_neighbors"] = int(pick(rng, 1, 3, 20))
    if chance(rng, 0.15):
        drawn["metric"] = "cosine"
    if chance(rng, 0.15):
        drawn["laplacian"] = "normalized"
    if function == "select" and chance(rng, 0.2):
        drawn["path"] = [(magnitude(rng), magnitude(rng)), (1.0, pick(rng, np.inf, 1.0))]
    return drawn
