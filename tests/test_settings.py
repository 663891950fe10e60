"""Parameters: one table that checks them, one record that they are resolved into, and the names of version 0.1."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.base import clone

import lapmodes
from lapmodes import KModes, LaplacianKMeans, LaplacianKModes, fit_path, select
from lapmodes._settings import CONSTRAINTS, effective_threads, resolve_settings

ESTIMATORS = [LaplacianKModes, KModes, LaplacianKMeans]
X = np.random.default_rng(0).normal(size=(40, 2))
SAMPLES = {
    "n_clusters": 3,
    "lam": 0.5,
    "bandwidth": 0.7,
    "affinity": "heat",
    "n_neighbors": 4,
    "metric": "cosine",
    "laplacian": "normalized",
    "init": "k-means",
    "prior_weight": 1.5,
    "n_init": 3,
    "max_iter": 7,
    "tol": 0.01,
    "sparse_assignments": True,
    "n_jobs": 2,
    "random_state": 5,
    "verbose": True,
}
"""A value for each parameter that is not its default."""


def settings(graph_given=False, steps=None, **parameters):
    values = LaplacianKModes().get_params() | parameters
    return resolve_settings("LaplacianKModes", values, graph_given, steps)


def test_the_table_holds_the_parameters_of_the_constructor():
    assert list(CONSTRAINTS) == list(inspect.signature(LaplacianKModes).parameters)
    for special in (KModes, LaplacianKMeans):
        assert set(inspect.signature(special).parameters) < set(CONSTRAINTS)
        assert all(hasattr(special(), name) for name in CONSTRAINTS)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_parameters_are_kept_as_they_were_given(estimator):
    names = set(inspect.signature(estimator).parameters)
    model = estimator(**{name: SAMPLES[name] for name in names})
    assert model.get_params() == clone(model).get_params() == {name: SAMPLES[name] for name in names}
    assert {name for name, value in estimator().get_params().items() if value is SAMPLES[name]} == set()


def test_fit_does_not_touch_the_parameters(blobs):
    for estimator in ESTIMATORS:
        model = estimator(3, random_state=0)
        before = model.get_params()
        assert model.fit(blobs[0]).get_params() == before


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in ("n_clusters", "verbose")])
def test_each_parameter_is_resolved_alone(name):
    """What is typed for one parameter changes that entry of the record and no other."""
    entry = {"sparse_assignments": "sparse", "n_jobs": "threads", "max_iter": "stopping", "tol": "stopping"}
    plain, typed = settings(n_jobs=1), settings(**{"n_jobs": 1, name: SAMPLES[name]})
    changed = {field for field in vars(plain) if getattr(plain, field) != getattr(typed, field)}
    assert changed == {entry.get(name, name)} | ({"consensus"} if name == "init" else set())


@pytest.mark.parametrize(
    ("asked", "init", "affinity"),
    [
        ({}, "consensus", "self-tuning"),
        ({"lam": 2.0, "bandwidth": 0.1}, "consensus", "self-tuning"),
        ({"bandwidth": np.inf}, "consensus", "self-tuning"),
        ({"graph_given": True}, "consensus", "precomputed"),
        ({"graph_given": True, "affinity": "precomputed", "lam": 0}, "consensus", "precomputed"),
        ({"lam": 0}, "k-means", None),
        ({"lam": 0, "init": "consensus"}, "consensus", "self-tuning"),
        ({"lam": 0, "init": "spectral", "affinity": "binary"}, "spectral", "binary"),
        ({"lam": 0, "affinity": "heat"}, "k-means", None),
        ({"lam": 0, "steps": [(0.0, 1.0), (0.5, 1.0)]}, "consensus", "self-tuning"),
        ({"steps": [(0.0, np.inf), (0.0, 1.0)]}, "k-means", None),
    ],
)
def test_the_start_is_a_consensus_wherever_there_is_a_graph(asked, init, affinity):
    found = settings(**asked)
    assert (found.init, found.affinity, found.consensus) == (init, affinity, init == "consensus")


def test_threads_are_counted_as_joblib_does():
    from joblib import effective_n_jobs

    for n_jobs in (1, 3, -1, -2):
        assert effective_threads(n_jobs) == effective_n_jobs(n_jobs)
    assert effective_threads(None) >= 1
    assert effective_threads(-1000) == 1


# Names of version 0.1


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("old", "new"),
    [("anchor", "'prior_weight'"), ("balance", "removed"), ("path", "fit_path"), ("callback", "'verbose'")],
)
def test_old_parameters_say_what_took_their_place(estimator, old, new):
    with pytest.raises(TypeError, match=f"{estimator.__name__} has no parameter '{old}' since version 0.2.*{new}"):
        estimator(3, **{old: None})
    if estimator is LaplacianKModes and old != "path":
        for function in (fit_path, select):
            with pytest.raises(TypeError, match=f"no parameter '{old}' since version 0.2.*{new}"):
                function(X, 3 if function is fit_path else [3], **{old: None})


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_names_that_never_were_are_plain_errors(estimator):
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_cluster'"):
        estimator(n_cluster=3)


@pytest.mark.parametrize(
    ("parameter", "new"), [("bandwidth", "entropic"), ("affinity", "self-tuning")], ids=["bandwidth", "affinity"]
)
def test_old_values_say_what_they_are_called_now(parameter, new):
    with pytest.raises(ValueError, match=f"'{parameter}' parameter .* 'adaptive' of version 0.1 is now called '{new}'"):
        LaplacianKModes(3, **{parameter: "adaptive"}).fit(X)
    with pytest.raises(ValueError, match=f"is now called '{new}'"):
        fit_path(X, 3, **{parameter: "adaptive"})


@pytest.mark.parametrize(("old", "new"), [("votes_", "prior_"), ("anchor_", "prior_weight"), ("path_", "fit_path")])
def test_old_attributes_say_what_took_their_place(old, new):
    for model in (LaplacianKModes(2, random_state=0), LaplacianKModes(2, random_state=0).fit(X)):
        assert not hasattr(model, old)
        with pytest.raises(AttributeError, match=f"no '{old}' since version 0.2: see .*{new}"):
            getattr(model, old)


@pytest.mark.parametrize("old", ["PathPoint", "Solution"])
def test_old_public_names_say_what_took_their_place(old):
    with pytest.raises(
        AttributeError, match=f"lapmodes.{old} is gone since version 0.2: fit_path yields fitted models"
    ):
        getattr(lapmodes, old)
    assert old not in dir(lapmodes)
