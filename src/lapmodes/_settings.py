"""All parameters: checked by one table, resolved once into one frozen record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from numbers import Integral, Real
from typing import Any, ParamSpec

import numpy as np
from scipy.sparse import issparse

from . import _native
from ._records import MOST_EXPONENT, Units
from ._validation import parameter_error
from .graph.affinity import KINDS
from .solve.alternate import Stopping

P = ParamSpec("P")

INITS = ("auto", "consensus", "k-means", "k-means++", "random", "spectral")
GAP = 1e-4
"""Relative gap to which the assignment steps are solved, unless `tol` asks for less."""
LARGEST_WEIGHT = 1e15
"""Of the prior: beyond it nothing else could be seen."""
MOST_THREADS = 256
FEW_NEIGHBORS = 11
"""That fewer than these are all other samples is no surprise."""
SPREAD_ROWS = 10_000
"""Rows on which the spread of columns is looked at."""
MOST_SQUARED = 450
"""Exponent of two up to which squares of points, and sums of them, are numbers in the units of the user too."""
DECIDES = (0.999, 0.9)
"""Share of the variance from which on a column decides all distances, of two columns and of more."""


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names))


def is_number(value: Any, kind: type = Real, low: float = -np.inf) -> bool:
    """Whether this is a finite number of the kind (not a bool) of at least `low`."""
    return isinstance(value, kind) and not isinstance(value, bool) and bool(low <= value < np.inf)  # type: ignore


CONSTRAINTS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "n_clusters": (
        "an int of at least 1 or 'auto'",
        lambda value: is_number(value, Integral, 1) or (isinstance(value, str) and value == "auto"),
    ),
    "lam": (
        "a finite float of at least 0 or 'auto'",
        lambda value: is_number(value, low=0) or (isinstance(value, str) and value == "auto"),
    ),
    "bandwidth": (
        "a float above 0, numpy.inf, 'auto' or 'entropic'",
        lambda value: (
            (isinstance(value, str) and value in ("auto", "entropic"))
            or (isinstance(value, Real) and not isinstance(value, bool) and float(value) > 0)
        ),
    ),
    "affinity": (
        f"a callable or one of {_quoted(('auto', *KINDS, 'precomputed'))}; a graph goes to fit(X, graph=W)",
        lambda value: callable(value) or (isinstance(value, str) and value in ("auto", "precomputed", *KINDS)),
    ),
    "n_neighbors": ("an int of at least 1", lambda value: is_number(value, Integral, 1)),
    "metric": ("'euclidean' or 'cosine'", lambda value: isinstance(value, str) and value in ("euclidean", "cosine")),
    "laplacian": (
        "'unnormalized' or 'normalized'",
        lambda value: isinstance(value, str) and value in ("unnormalized", "normalized"),
    ),
    "init": (
        f"one of {_quoted(INITS)}, an array of modes or a tuple (modes, assignments)",
        lambda value: not isinstance(value, str) or value in INITS,
    ),
    "prior_weight": (
        f"a float from 0 to {LARGEST_WEIGHT:.0e}",
        lambda value: is_number(value, low=0) and value <= LARGEST_WEIGHT,
    ),
    "n_init": ("an int of at least 1", lambda value: is_number(value, Integral, 1)),
    "max_iter": ("an int of at least 1", lambda value: is_number(value, Integral, 1)),
    "tol": ("a finite float of at least 0", lambda value: is_number(value, low=0)),
    "sparse_assignments": ("True or False", lambda value: isinstance(value, (bool, np.bool_))),
    "n_jobs": (
        "None or an int other than 0",
        lambda value: value is None or (is_number(value, Integral) and value != 0),
    ),
    "random_state": ("None, an int or a RandomState", lambda value: True),
    "verbose": (
        "True, False or a callable",
        lambda value: callable(value) or isinstance(value, (bool, np.bool_, Integral)),
    ),
}
"""For each parameter what it must be, in words and as a check. Randomness is checked where it is drawn."""

RENAMED_VALUES = {("bandwidth", "adaptive"): "entropic", ("affinity", "adaptive"): "self-tuning"}
REMOVED = {
    "anchor": "It is now 'prior_weight', the weight of the prior that init='consensus' brings.",
    "balance": "It was removed: it measured no better.",
    "path": "Use lapmodes.fit_path, which yields a fitted model for each step.",
    "callback": "Pass the callable as 'verbose'.",
}
"""Parameters of 0.1, and what to write instead."""


@dataclass(frozen=True)
class Settings:
    """What a fit was asked for, each 'auto' resolved by itself as far as that is possible without the data."""

    owner: str
    """Name of the estimator, for messages."""
    n_clusters: int
    chosen_by_data: bool
    """Whether the number of clusters is yet to be chosen; until then it is 2."""
    lam: float | None
    """None: one over the graph's mean degree, less where a cluster would die of it."""
    bandwidth: float | str
    """A number, 'auto' (from the neighbours) or 'entropic' (one for each point)."""
    affinity: Any
    """The kind of graph to build, 'precomputed', or None where no graph is needed."""
    n_neighbors: int
    metric: str
    laplacian: str
    init: Any
    """The kind of start, or a given one."""
    consensus: bool
    """Whether the start is a consensus of candidates."""
    prior_weight: float
    n_init: int
    stopping: Stopping
    sparse: bool
    threads: int
    random_state: Any
    steps: Any = None
    """The path to follow: None, a number of geometric steps, or a list of (lam, bandwidth); a name in it stands for
    the resolved value."""
    units: Units = field(default_factory=Units)
    """Those of the points, and of all lengths here."""


def resolve_settings(owner: str, values: dict[str, Any], graph_given: bool, steps: Any = None) -> Settings:
    """Check all parameters, and resolve those that can be resolved without the data."""
    check_parameters(owner, values)
    lam, init = values["lam"], values["init"]
    affinity = _graph_kind(values, graph_given, steps)
    if isinstance(init, str) and init == "auto":
        init = "k-means" if affinity is None else "consensus"
    tol, chosen_by_data = float(values["tol"]), isinstance(values["n_clusters"], str)
    if chosen_by_data and not (isinstance(init, str) and init == "consensus"):
        raise ValueError("n_clusters='auto' needs a graph and the start 'consensus': leave 'lam' and 'init' at 'auto'.")
    return Settings(
        owner=owner,
        n_clusters=2 if chosen_by_data else int(values["n_clusters"]),
        chosen_by_data=chosen_by_data,
        lam=None if isinstance(lam, str) else float(lam),
        bandwidth=values["bandwidth"] if isinstance(values["bandwidth"], str) else float(values["bandwidth"]),
        affinity=affinity,
        n_neighbors=int(values["n_neighbors"]),
        metric=values["metric"],
        laplacian=values["laplacian"],
        init=init,
        consensus=isinstance(init, str) and init == "consensus",
        prior_weight=float(values["prior_weight"]),
        n_init=int(values["n_init"]) if isinstance(init, str) else 1,
        stopping=Stopping(tol, min(GAP, tol) or GAP, int(values["max_iter"])),
        sparse=bool(values["sparse_assignments"]),
        threads=effective_threads(values["n_jobs"]),
        random_state=values["random_state"],
        steps=steps,
    )


def in_units(settings: Settings, units: Units, dtype: Any) -> Settings:
    """The same settings for points in other units: lengths, and what is measured in their squares."""
    if abs(units.exponent) > MOST_EXPONENT[dtype]:
        raise ValueError(
            f"X must hold numbers whose distances are numbers too, in {dtype}. The largest one is around "
            f"{units.around:.0e}: divide X by it."
        )
    owner, kind, steps = settings.owner, settings.affinity, settings.steps
    widths = [settings.bandwidth, *([width for _, width in steps] if isinstance(steps, list) else [])]
    if abs(units.exponent) > MOST_SQUARED and (isinstance(steps, int) or np.inf in widths):
        raise ValueError(
            f"An infinite bandwidth measures squared distances, which are no numbers for values of X around "
            f"{units.around:.0e}. Divide X by {units.around:.0e} first."
        )
    pairs = [(settings.lam, settings.bandwidth), *(steps if isinstance(steps, list) else [])]
    pairs = [_in_units(owner, each, width, units) for each, width in pairs]
    (lam, bandwidth), steps = pairs[0], pairs[1:] if isinstance(steps, list) else steps
    affinity = (lambda distances: kind(units.outside(distances))) if callable(kind) else kind
    return replace(settings, lam=lam, bandwidth=bandwidth, steps=steps, affinity=affinity, units=units)


def _in_units(owner: str, lam: Any, bandwidth: Any, units: Units) -> tuple[Any, Any]:
    """A pair of parameters in other units; a lam that goes with an infinite bandwidth is a squared length."""
    found = []
    for name, value, power in (("lam", lam, 2 if bandwidth == np.inf else 0), ("bandwidth", bandwidth, 1)):
        if isinstance(value, (str, type(None))) or value in (0, np.inf):
            found.append(value)
            continue
        with np.errstate(over="ignore", under="ignore"):
            inside = float(units.inside(value, power))
        if not np.finfo(np.float64).tiny < inside < np.inf:
            expected = f"a number that can be compared with values of X around {units.around:.0e}"
            raise parameter_error(owner, name, expected, value)
        found.append(inside)
    return found[0], found[1]


def check_parameters(owner: str, values: dict[str, Any]) -> None:
    """Refuse a parameter that is not what the table says."""
    for name, (expected, is_valid) in CONSTRAINTS.items():
        value = values[name]
        if not is_valid(value):
            new = RENAMED_VALUES.get((name, value)) if isinstance(value, str) else None
            hint = f" {value!r} of version 0.1 is now called {new!r}." if new else ""
            raise parameter_error(owner, name, expected, value, hint)


def doubts_about(settings: Settings, X: Any, n_distinct: int, names: Any) -> list[str]:
    """Sentences on input that is valid but hardly what was meant: what is odd, what follows, what to do."""
    n, K, n_neighbors = X.shape[0], settings.n_clusters, settings.n_neighbors
    found = []
    if n_distinct < K and not settings.chosen_by_data:
        rows, clusters = ("row", "cluster") if n_distinct == 1 else ("rows", "clusters")
        found.append(
            f"X has {n_distinct} distinct {rows}, fewer than n_clusters={K}: clusters are empty, or equal rows are in "
            f"different ones. Ask for at most {n_distinct} {clusters}."
        )
    if n_neighbors >= max(n, FEW_NEIGHBORS):
        found.append(
            f"n_neighbors={n_neighbors} is more than the {n - 1} other samples: all of them are taken. Use a smaller "
            "number, or the graph has no structure."
        )
    if not issparse(X):
        variance = X[:: -(-n // SPREAD_ROWS)].var(axis=0, dtype=np.float64)
        top, total, varying = int(variance.argmax()), float(variance.sum()), int(np.count_nonzero(variance))
        if varying > 1 and variance[top] > DECIDES[varying > 2] * total:
            column = repr(str(names[top])) if names is not None else f"{top} (counted from 0)"
            found.append(
                f"Column {column} decides all distances: it has {variance[top] / total:.1%} of the variance of X. If "
                "the columns have different units, scale them first, for example with "
                "make_pipeline(lapmodes.Scaler(), ...)."
            )
    return found


class OldAttribute:
    """An attribute of 0.1: reading it says what took its place."""

    def __init__(self, instead: str) -> None:
        self.instead = instead

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> None:
        raise AttributeError(f"{owner.__name__} has no {self.name!r} since version 0.2: see {self.instead}.")


def refuses_old_names(init: Callable[P, None]) -> Callable[P, None]:
    """A constructor that says what took the place of parameters that are no more."""

    @wraps(init)
    def checked(*args: P.args, **parameters: P.kwargs) -> None:
        for name in parameters:
            if name in REMOVED:
                owner = type(args[0]).__name__
                raise TypeError(f"{owner} has no parameter {name!r} since version 0.2. {REMOVED[name]}")
        init(*args, **parameters)

    return checked


def _graph_kind(values: dict[str, Any], graph_given: bool, steps: Any) -> Any:
    """The affinity to build, 'precomputed', or None where no graph is needed."""
    kind, init = values["affinity"], values["init"]
    if graph_given and kind not in ("auto", "precomputed"):
        raise ValueError(
            f"A 'graph' was given to fit, but 'affinity' is {kind!r}. Leave 'graph' out or use affinity='precomputed'."
        )
    if kind == "precomputed" and not graph_given:
        raise ValueError("affinity='precomputed' needs the graph: call fit(X, graph=W).")
    if graph_given:
        return "precomputed"
    lams = [lam for lam, _ in steps] if isinstance(steps, list) else [values["lam"]]
    start_needs_it = isinstance(init, str) and init in ("spectral", "consensus")
    if not start_needs_it and all(lam == 0 for lam in lams):
        return None
    return "self-tuning" if kind == "auto" else kind


def effective_threads(n_jobs: int | None) -> int:
    """None: what OpenMP would use; -1: all processors, -2: all but one, and so on."""
    if n_jobs is None:
        return int(_native.max_threads())
    from joblib import cpu_count

    return min(n_jobs, MOST_THREADS) if n_jobs > 0 else max(1, cpu_count() + 1 + n_jobs)
