"""The estimator on a Dask cluster: parameters and attributes of `lapmodes.LaplacianKModes`, rows that stay apart."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._archives import available_memory
from .._estimator import LaplacianKModes as SingleMachine
from .._persistence import load as load_single
from .._progress import watch
from .._records import Array, Units
from .._settings import CONSTRAINTS, Settings, refuses_old_names, resolve_settings
from .._validation import check_graph, check_init, parameter_error
from .._warnings import warn_of
from . import assignments, mapping
from .cluster import Size, Tasks, check_cluster, check_memory, close_local, find_client
from .fit import Fitted, Options, fit_source
from .parts import Data, in_order
from .sample import gather_sample
from .sources import Source, find_source
from .storage import Checkpoint, gather_model, read_folder, write_folder, write_labels

GATHERED_SHARE = 0.25
"""A model is gathered into this process if it takes no more than this share of the free memory."""
ONLY_HERE = ("exact", "parts", "client", "checkpoint")
"""Parameters that one machine does not have."""


class LaplacianKModes(ClusterMixin, BaseEstimator):
    """Laplacian K-modes clustering on a Dask cluster, for data that outgrow one machine.

    The same model as :class:`lapmodes.LaplacianKModes`, minimised over parts of the data that live on the workers of a
    cluster: the certificate `gap_` covers all points. The start comes from a sample of at most 100,000 rows. Nothing of
    the size of the data comes to this process unless it is asked for.

    Parameters
    ----------
    n_clusters, lam, bandwidth, affinity, n_neighbors, metric, laplacian, init, prior_weight, n_init, max_iter, tol, \
sparse_assignments, random_state, verbose
        As in :class:`lapmodes.LaplacianKModes`, but for ``affinity="anchor"``, which is not there. A given start
        ``init=(modes, assignments)`` may hold a dask array.
    n_jobs : ignored
        Each task uses one thread; the workers' threads work on several parts at once.
    exact : bool, default=True
        False: fit the sample only, map its assignments to all rows, and certify them in one pass. `gap_` then says how
        far from optimal they are at most.
    parts : int or 'auto', default='auto'
        Number of parts. 'auto' depends on the data only: about 320,000 rows each, fewer where rows are wide. More parts
        need less memory at once and send more. The result is the same for the same parts on any number of workers, and
        for other parts within `gap_`.
    client : distributed.Client or None, default=None
        None: the current client, else one of a new local cluster, which ends with this model or with :meth:`close`.
    checkpoint : path or None, default=None
        A folder that all workers see. Parts and graph are written there once, assignments and modes every few minutes.
        A fit with the same data and parameters goes on from it.

    Attributes
    ----------
    labels_, assignments_, probabilities_, prior_ : dask arrays
        As in :class:`lapmodes.LaplacianKModes`, lazy, in the order of the input's rows and in its blocks. `prior_` is
        None where the start brought no prior. With ``sparse_assignments=True`` blocks of two dimensions are CSR.
    cluster_centers_, exemplars_, sizes_ : ndarray
        Modes, the number of the row nearest to each, and the rows of each cluster.
    objective_, gap_, status_, n_iter_, history_, lam_, bandwidth_, n_components_, neighbor_recall_
        As in :class:`lapmodes.LaplacianKModes`.
    n_clusters_, n_samples_, n_features_in_, n_parts_ : int
        Clusters, rows, columns and parts.
    halo_share_ : float
        Rows of other parts that a part needs, for each of its own, on average.
    traffic_ : ndarray of shape (n_iter, 4)
        For each alternation: exchanges, sweeps, halo rows that were sent because they had changed, and their bytes.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from lapmodes.distributed import LaplacianKModes
    >>> groups = 9 * (da.arange(900, chunks=300) % 3)[:, None]
    >>> X = groups + da.random.default_rng(0).normal(size=(900, 2), chunks=(300, 2))
    >>> with Client(processes=False, n_workers=2, dashboard_address="127.0.0.1:0") as client:
    ...     model = LaplacianKModes(3, parts=2, random_state=0).fit(X)
    >>> sorted(model.sizes_.tolist()), model.labels_.chunks
    ([300, 300, 300], ((300, 300, 300),))
    """

    @refuses_old_names
    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        lam: float | str = "auto",
        bandwidth: float | str = "auto",
        affinity: str | Callable[[Array], Array] = "auto",
        n_neighbors: int = 10,
        metric: str = "euclidean",
        laplacian: str = "unnormalized",
        init: Any = "auto",
        prior_weight: float = 2.0,
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-3,
        sparse_assignments: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | Callable[[str, int, int | None, str], Any] = False,
        exact: bool = True,
        parts: int | str = "auto",
        client: Any = None,
        checkpoint: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.lam = lam
        self.bandwidth = bandwidth
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.laplacian = laplacian
        self.init = init
        self.prior_weight = prior_weight
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.sparse_assignments = sparse_assignments
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.exact = exact
        self.parts = parts
        self.client = client
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any = None, *, graph: Any = None, sample_weight: Any = None) -> LaplacianKModes:
        """Cluster the rows of X.

        Parameters
        ----------
        X : dask array, dask data frame, path, or array-like of shape (n_samples, n_features)
            Chunks of unknown size are counted. A path or pattern names Parquet files, a Zarr array or an NPY file that
            all workers can read. Columns must hold numbers, without gaps. Rows are read two times, by tasks.
        y : ignored
            As in other clusterings.
        graph : sparse matrix of shape (n_samples, n_samples), optional
            A symmetric non-negative affinity to use in place of a neighbour graph; it comes from this process.
        sample_weight : dask array or array-like of shape (n_samples,), optional
            As in :class:`lapmodes.LaplacianKModes`, but above 0.

        Returns
        -------
        self
        """
        settings = self._settings(graph is not None)
        client, made = find_client(self.client)
        if made:
            self._ended = weakref.finalize(self, close_local, client)
        limits, tasks = check_cluster(client), Tasks(client)
        kept = None if self.checkpoint is None else Checkpoint(self.checkpoint, tasks)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=2 + settings.n_init).tolist()
        if isinstance(self.random_state, Integral):
            seeds[2] = int(self.random_state)  # where the sample is all of the data, the start is that of one machine
        options = Options(self.exact, self.parts, seeds, self._plain(), kept)

        def check(data: Data, n_parts: int) -> tuple[Any, Any]:
            size = data.n, data.n_features, settings.n_clusters, settings.n_neighbors, data.dtype.itemsize
            check_memory(Size(*size), n_parts, limits)
            init = settings.init if isinstance(settings.init, str) else self._checked_init(settings, data)
            return init, None if graph is None else check_graph(graph, data.n, data.dtype)

        with watch(self, self.verbose) as progress:
            data, fitted = fit_source(tasks, X, sample_weight, settings, options, check, progress)
            self._store(fitted, data.firsts, data.source.names, data.dtype)
        if fitted.solution.status.message:
            warn_of(fitted.solution.status)
        return self

    def _settings(self, graph_given: bool) -> Settings:
        """All parameters, checked."""
        name = type(self).__name__
        settings = resolve_settings(name, {each: getattr(self, each) for each in CONSTRAINTS}, graph_given)
        whole = isinstance(self.parts, Integral) and not isinstance(self.parts, bool) and self.parts >= 1
        if not whole and not (isinstance(self.parts, str) and self.parts == "auto"):
            raise parameter_error(name, "parts", "an int of at least 1 or 'auto'", self.parts)
        if not isinstance(self.exact, (bool, np.bool_)):
            raise parameter_error(name, "exact", "True or False", self.exact)
        if self.checkpoint is not None and not isinstance(self.checkpoint, (str, os.PathLike)):
            raise parameter_error(name, "checkpoint", "a path or None", self.checkpoint)
        if settings.affinity == "anchor":
            raise ValueError("affinity='anchor' is not there in lapmodes.distributed. Use another one, such as 'auto'.")
        if self.checkpoint is not None and (settings.n_init > 1 or isinstance(settings.init, tuple)):
            raise ValueError("'checkpoint' goes with one start and no given assignments. Leave 'n_init' at 1.")
        if not self.exact and not isinstance(settings.init, str):
            raise ValueError("exact=False fits a sample, which has a start of its own. Leave 'init' at 'auto'.")
        return settings

    def _checked_init(self, settings: Settings, data: Data) -> Any:
        """A given start, checked as far as it is here."""
        import dask.array as da

        init = settings.init
        if isinstance(init, tuple) and len(init) == 2 and isinstance(init[1], da.Array):
            if init[1].shape != (data.n, settings.n_clusters):
                raise ValueError(
                    f"The assignments in 'init' must have shape ({data.n}, {settings.n_clusters}). Got {init[1].shape}."
                )
            if init[0] is None:
                return init
            modes = check_init(settings.owner, init[0], data, settings.n_clusters, Units())
            return modes, init[1]
        return check_init(settings.owner, init, data, settings.n_clusters, Units())

    def _plain(self) -> dict[str, Any]:
        """Parameters that decide the result, as JSON."""
        left_out = ("client", "checkpoint", "verbose", "n_jobs", "max_iter", "random_state")
        values = {name: value for name, value in self.get_params(deep=False).items() if name not in left_out}
        values = {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
        return {
            name: value if isinstance(value, (bool, int, float, str)) else "given" for name, value in values.items()
        }

    def _store(self, fitted: Fitted, firsts: Array, names: Any, dtype: Any) -> None:
        """Everything that a user reads."""
        problem, solution = fitted.problem, fitted.solution
        self._fitted, self._firsts, self._dtype = fitted, firsts, np.dtype(dtype)
        self.cluster_centers_, self.sizes_ = solution.C, solution.sizes
        self.objective_, self.gap_, self.status_ = solution.objective, solution.gap, solution.status.name
        self.history_, self.n_iter_, self.traffic_ = solution.history, len(solution.history), solution.traffic
        self.n_clusters_, self.n_features_in_ = (int(size) for size in solution.C.shape)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        self.n_samples_, self.n_parts_ = int(firsts[-1]), len(problem.parts)
        self.lam_, self.neighbor_recall_ = problem.lam, problem.recall
        self.n_components_ = problem.graph.n_components
        self.halo_share_ = problem.graph.halo_rows / int(problem.starts[-1])
        self.exemplars_ = mapping.nearest_rows(self._training)
        rounds = solution.rounds
        self.labels_ = self._in_order(assignments.labels_of, rounds, dtype=np.int32)
        self.probabilities_ = self._in_order(assignments.shares_of, rounds, dtype=self._dtype)
        K, sparse = self.n_clusters_, bool(self.sparse_assignments)
        self.assignments_ = self._in_order(assignments.assignments_of, rounds, K=K, dtype=self._dtype, sparse=sparse)
        self.prior_ = None
        if fitted.priors[0] is not None:
            self.prior_ = self._in_order(assignments.prior_of, fitted.priors, K=K, dtype=self._dtype, sparse=sparse)
        self.bandwidth_ = problem.bandwidth
        if problem.graph.widths is not None:
            self.bandwidth_ = self._in_order(assignments.widths_of, problem.graph.widths, dtype=self._dtype)

    def _in_order(self, function: Any, values: list[Any], **kind: Any) -> Any:
        problem = self._fitted.problem
        calls = [(function, part, value) for part, value in zip(problem.parts, values, strict=True)]
        return in_order(problem.tasks, problem.parts, calls, self._firsts, **kind)

    @property
    def _training(self) -> mapping.Training:
        """What new points are compared with."""
        return mapping.training_of(self._fitted, self.n_neighbors, self.laplacian, self.metric, self.sparse_assignments)

    def _new(self, X: Any) -> Source:
        """The blocks of new points."""
        check_is_fitted(self)
        if self._fitted.problem.rule is None and self._fitted.problem.lam > 0:
            raise ValueError(
                "This model was fitted on a given graph: it cannot map new points. Gather it with gather(), and pass "
                "graph= to the methods of the single-machine model."
            )
        return find_source(X, self._fitted.problem.tasks)

    def predict(self, X: Any) -> Any:
        """Cluster of largest assignment for new points: a lazy dask array."""
        return mapping.map_source(self._training, self._new(X), "labels")

    def predict_proba(self, X: Any) -> Any:
        """Soft assignments of new points by the out-of-sample mapping: a lazy dask array.

        Neighbours are searched only in the parts that can hold them. A row that is equal to a training row has its
        `assignments_`.
        """
        return mapping.map_source(self._training, self._new(X), "shares")

    def outlier_score(self, X: Any) -> Any:
        """How unusual points are for members of their cluster, between 0 and 1: a lazy dask array."""
        source, training = self._new(X), self._training
        sizes = np.diff(self._fitted.problem.starts)
        return mapping.map_source(training, source, "outliers", mapping.member_tails(training, sizes))

    def score_samples(self, X: Any) -> Any:
        """Log density of all clusters together at new points: a lazy dask array. Exact sums over all training rows."""
        if self._fitted.problem.bandwidth is not None and np.isinf(self._fitted.problem.bandwidth):
            raise AttributeError("With infinite bandwidth the clusters have no density. Use a finite 'bandwidth'.")
        return mapping.score_source(self._training, self._new(X))

    def write_labels(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write clusters and shares as a Parquet dataset, a file for each block of rows, by the workers.

        The folder must exist, and all workers must see it. Each file appears whole or not at all.
        """
        check_is_fitted(self)
        tasks, place = self._fitted.problem.tasks, os.path.abspath(os.fspath(folder))
        graph = dict(self.labels_.__dask_graph__()) | dict(self.probabilities_.__dask_graph__())
        number, files = tasks.number(), []
        for b, first in enumerate(self._firsts[:-1].tolist()):
            files.append(os.path.join(place, f"part-{b:05d}.parquet"))
            values = (self.labels_.name, b), (self.probabilities_.name, b)
            graph[tasks.key("labels", number, b)] = (write_labels, files[-1], *values, first)
        wanted = [tasks.key("labels", number, b) for b in range(len(files))]
        tasks.gather(list(tasks.run(graph, wanted).values()))
        return files

    def gather(self, rows: Any = None) -> SingleMachine:
        """The same model for one machine, if this process has the memory for it.

        Parameters
        ----------
        rows : array-like of int, optional
            Numbers of some rows, to see only these; the graph of the answer is one of these rows alone.

        Returns
        -------
        lapmodes.LaplacianKModes
            Fitted.
        """
        check_is_fitted(self)
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name not in ONLY_HERE}
        parameters["verbose"], problem = False, self._fitted.problem
        if rows is None:
            names = getattr(self, "feature_names_in_", None)
            return gather_model(self._fitted, parameters, names, self.laplacian, self.metric)
        width = "entropic" if problem.bandwidth is None else problem.bandwidth
        values = parameters | {"lam": problem.lam, "bandwidth": width, "n_clusters": self.n_clusters_}
        settings = resolve_settings("LaplacianKModes", values, False)
        return gather_sample(self._fitted, np.asarray(rows), SingleMachine(**parameters), settings)

    def fits_here(self) -> bool:
        """Whether the model would take no more than a quarter of the memory that is free in this process."""
        size = self.n_samples_, self.n_features_in_, self.n_clusters_, self.n_neighbors, self._dtype.itemsize
        whole = Size(*size).kept + (0 if self.sparse_assignments else 2 * size[0] * size[2] * size[4])
        return bool(whole <= GATHERED_SHARE * available_memory())

    def save(self, file: str | os.PathLike[str], *, partitioned: bool | str = "auto") -> None:
        """Write the fitted model.

        Parameters
        ----------
        file : path
            One `.npz` file that :func:`lapmodes.load` reads, or a folder that :func:`lapmodes.distributed.load` reads
            and that all workers see. Written whole or not at all.
        partitioned : bool or 'auto', default='auto'
            Whether to write a folder with a file for each part. 'auto': where the model would take more than a quarter
            of the memory that is free here.
        """
        check_is_fitted(self)
        if partitioned not in (True, False, "auto"):
            raise parameter_error(type(self).__name__, "partitioned", "True, False or 'auto'", partitioned)
        if partitioned is False or (partitioned == "auto" and self.fits_here()):
            self.gather().save(file)
            return
        facts = {"dtype": str(self._dtype), "firsts": self._firsts.tolist()}
        facts["names"] = list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None
        parameters = {name: value for name, value in self._plain().items() if value != "given"}
        write_folder(Path(file), self._fitted, parameters, facts)

    def close(self) -> None:
        """End the local cluster that this model started, if it did; lazy results are gone with it."""
        if hasattr(self, "_ended"):
            self._ended()


def load(file: str | os.PathLike[str], client: Any = None) -> Any:
    """Read a model that ``save`` wrote.

    Parameters
    ----------
    file : path
        A folder with a file for each part, which the workers read when they are needed, or one `.npz` file.
    client : distributed.Client, optional
        As in :class:`LaplacianKModes`; not needed for one file.

    Returns
    -------
    estimator
        Fitted: :class:`LaplacianKModes` of this module for a folder, else the class that was saved.
    """
    path = Path(file)
    if not path.is_dir():
        return load_single(path)
    client, made = find_client(client)
    header, fitted = read_folder(path, Tasks(client))
    model = LaplacianKModes(**header["parameters"], client=client)
    if made:
        model._ended = weakref.finalize(model, close_local, client)
    model._store(fitted, np.asarray(header["firsts"]), header["names"], header["dtype"])
    return model
