"""The estimator on a Dask cluster: the parameters and attributes of `lapmodes.LaplacianKModes`, rows that stay apart."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state

from .._progress import watch
from .._records import Array
from .._settings import CONSTRAINTS, Settings, refuses_old_names, resolve_settings
from .._validation import check_init, parameter_error
from .._warnings import warn_of
from . import fit as way
from .cluster import Tasks, check_cluster, close_local, find_client
from .parts import usual_parts
from .start import start_on_sample


class LaplacianKModes(ClusterMixin, BaseEstimator):
    """Laplacian K-modes clustering on a Dask cluster."""

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
        settings = self._settings(graph is not None)
        client, own = find_client(self.client)
        if own:
            weakref.finalize(self, close_local, client)
        limit = check_cluster(client)
        tasks = Tasks(client)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=3 + settings.n_init).tolist()
        with watch(self, self.verbose) as progress:
            with progress.phase("reading") as step:
                data = way.look_over(tasks, X, sample_weight, settings, seeds[0], step)
            settings, init = self._checked_init(settings, data)
            n_parts = usual_parts(data.n, data.n_features, settings.n_clusters) if self.parts == "auto" else self.parts
            workers = len(client.scheduler_info(n_workers=-1)["workers"])
            way.check_memory(data, settings, n_parts, limit, workers)
            given = None if graph is None else way.checked_graph(graph, data.n, data.dtype)
            start = None
            if init is None:
                on_sample = replace(settings, affinity="self-tuning") if given is not None else settings
                on_sample = replace(on_sample, threads=1, random_state=None)
                starts = tasks.each(
                    "start", start_on_sample, [(data.sample, on_sample, seed, not self.exact) for seed in seeds[3:]]
                )
            merge = graph is None
            Z0 = init[1] if isinstance(init, tuple) else None
            with progress.phase("parts"):
                cells, parts, facts = way.make_parts(tasks, data, n_parts, seeds[1], sample_weight, Z0, settings, merge)
            problem = way.build_problem(tasks, cells, parts, facts, settings, given, progress)
            with progress.phase("start") as step:
                if init is None:
                    begins = [
                        way.begin_from_sample(problem, start, data.dtype, settings.prior_weight, self.exact)
                        for start in starts
                    ]
                else:
                    begins = [way.begin_as_given(problem, init, data.dtype)]
                step(1)
            with progress.phase("alternate") as step:
                runs = [way.solve(problem, begin, settings, step, self.exact) for begin in begins]
            best = min(
                runs, key=lambda run: (bool(run.solution.status.message), -run.problem.lam, run.solution.objective)
            )
        self._store(best, data, settings)
        if best.solution.status.message:
            warn_of(best.solution.status)
        return self

    def _settings(self, graph_given: bool) -> Settings:
        values = {name: getattr(self, name) for name in CONSTRAINTS}
        return resolve_settings(type(self).__name__, values, graph_given)

    def _checked_init(self, settings: Settings, data: Any) -> tuple[Settings, Any]:
        if isinstance(settings.init, str):
            return settings, None
        return settings, check_init(settings.owner, settings.init, data.n, data.n_features, settings.n_clusters)

    def _store(self, fitted: Any, data: Any, settings: Settings) -> None:
        solution, problem = fitted.solution, fitted.problem
        self.cluster_centers_ = solution.C
        self.objective_, self.gap_, self.history_ = solution.objective, solution.gap, solution.history
        self.status_ = solution.status.name
        self.lam_, self.bandwidth_ = problem.lam, problem.bandwidth
        self.neighbor_recall_ = problem.recall
        self.n_components_ = problem.graph.n_components
        self.sizes_ = solution.sizes
        self.traffic_ = solution.traffic
        self._fitted, self._data = fitted, data
