"""A fit in parts is the fit of one machine, within the certified gap."""

from __future__ import annotations

import warnings

import dask.array as da
import numpy as np
import pytest
from distributed import Client
from parted import groups
from sklearn.base import clone

import lapmodes
from lapmodes.datasets import make_spirals
from lapmodes.distributed import LaplacianKModes
from lapmodes.solve.objective import certify
from lapmodes.solve.terms import linear_term


def test_rows_come_back_in_order_and_in_their_blocks(parted, whole, points):
    assert parted.labels_.chunks == ((1000, 1000, 1000),)
    assert (parted.labels_.compute() == whole.labels_).mean() > 0.999
    Z = parted.assignments_.compute()
    assert Z.dtype == np.float32 and np.allclose(Z.sum(axis=1), 1, atol=1e-5)
    assert np.array_equal(Z.argmax(axis=1), parted.labels_.compute())
    assert np.array_equal(Z.max(axis=1), parted.probabilities_.compute())
    assert np.array_equal(np.bincount(parted.labels_.compute(), minlength=4), parted.sizes_)
    nearest = np.linalg.norm(points[parted.exemplars_] - parted.cluster_centers_, axis=1)
    assert np.allclose(
        nearest, np.linalg.norm(points[:, None] - parted.cluster_centers_, axis=2).min(axis=0), atol=1e-5
    )


def test_graph_and_prior_are_those_of_one_machine(parted, whole):
    """In few dimensions the search is exact across parts; a sample of all rows gives the start of one machine."""
    one = parted.gather()
    assert abs(one.graph_ - whole.graph_).max() < 1e-6
    assert parted.neighbor_recall_ == 1 and parted.n_components_ == whole.n_components_
    assert parted.halo_share_ > 0
    assert np.array_equal(parted.prior_.compute(), whole.prior_)
    assert np.isclose(parted.lam_, whole.lam_) and np.isclose(parted.bandwidth_, whole.bandwidth_)


def test_objective_differs_by_no_more_than_both_gaps(parted, whole):
    assert parted.status_ == whole.status_ == "converged"
    assert abs(parted.objective_ - whole.objective_) <= parted.gap_ + whole.gap_
    assert parted.n_iter_ == len(parted.history_) == len(parted.traffic_)


def test_certificate_covers_all_points(parted):
    """Energy and gap, computed anew from the whole graph and all assignments, are what the parts said."""
    trained = parted.gather()._trained.fitted
    problem, solution = trained.problem, trained.solution
    term = linear_term(problem, solution.C, sparse=False)
    proof = certify(problem.graph, term.B, problem.lam, solution.Z)
    assert np.isclose(proof.energy, parted.objective_, rtol=1e-6)
    assert parted.gap_ <= 1e-4 * term.scale
    assert proof.energy - proof.gap <= parted.objective_


PARAMETERS = [
    {"laplacian": "normalized"},
    {"bandwidth": "entropic"},
    {"bandwidth": np.inf},
    {"affinity": "heat", "bandwidth": 1.0},
    {"affinity": "entropic", "metric": "cosine"},
    {"affinity": "binary", "prior_weight": 0.0},
    {"lam": 0.0},
    {"lam": 5.0},
    {"init": "k-means"},
    {"sparse_assignments": True},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=lambda value: "-".join(value))
def test_every_parameter_means_what_it_means_on_one_machine(here, parameters):
    X, _ = groups(1500, dtype=np.float64)
    here = lapmodes.LaplacianKModes(4, random_state=0, n_jobs=1, **parameters).fit(X)
    there = LaplacianKModes(4, parts=3, random_state=0, **parameters).fit(X)
    # Both alternate until the modes rest, up to their tolerance, from the same start and on the same graph.
    assert abs(there.objective_ - here.objective_) <= there.gap_ + here.gap_ + 1e-6 * abs(here.objective_)
    assert (there.labels_.compute() == here.labels_).mean() > 0.99
    assert there.lam_ == pytest.approx(here.lam_)
    Z = there.assignments_.compute() if "sparse_assignments" not in parameters else None
    assert Z is None or np.allclose(Z.sum(axis=1), 1)


def test_sparse_blocks_hold_no_zeros(here):
    X, _ = groups(900)
    model = LaplacianKModes(4, parts=2, sparse_assignments=True, random_state=0).fit(X)
    block = model.assignments_.blocks[0].compute()
    assert (block.data > 0).all() and block.shape == (900, 4)
    assert np.array_equal(np.asarray(block.argmax(axis=1)).ravel(), model.labels_.compute())


def test_sample_weights(here):
    X, _ = groups(1200, dtype=np.float64)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X))
    X[7] = X[8]  # equal rows are one row that weighs as much as both
    here = lapmodes.LaplacianKModes(4, random_state=0, n_jobs=1).fit(X, sample_weight=weight)
    there = LaplacianKModes(4, parts=3, random_state=0)
    there.fit(da.from_array(X, chunks=500), sample_weight=da.from_array(weight, chunks=400))
    assert abs(there.objective_ - here.objective_) <= there.gap_ + here.gap_
    assert there.labels_.compute()[7] == there.labels_.compute()[8]


def test_given_graph_and_start(here, points, whole):
    start = whole.cluster_centers_, whole.assignments_
    fixed = {"lam": 3 * whole.lam_, "bandwidth": whole.bandwidth_, "init": start}
    here = lapmodes.LaplacianKModes(4, n_jobs=1, **fixed).fit(points, graph=whole.graph_)
    there = LaplacianKModes(4, parts=5, **fixed).fit(points, graph=whole.graph_)
    assert abs(there.objective_ - here.objective_) <= there.gap_ + here.gap_
    without = LaplacianKModes(4, parts=2, **fixed | {"init": (None, da.from_array(start[1]))})
    assert without.fit(points, graph=whole.graph_).prior_ is None
    with pytest.raises(ValueError, match="given graph"):
        there.predict(points)


@pytest.mark.parametrize("parts", [1, 7])
def test_result_depends_on_the_parts_within_the_gap_only(here, points, whole, parts):
    other = LaplacianKModes(4, parts=parts, random_state=0).fit(points)
    assert abs(other.objective_ - whole.objective_) <= other.gap_ + whole.gap_
    assert (other.labels_.compute() == whole.labels_).mean() > 0.999


def test_one_part_has_the_bits_of_one_machine(here, points, whole):
    model = LaplacianKModes(4, parts=1, random_state=0).fit(points)
    assert model.objective_ == whole.objective_ and model.gap_ == whole.gap_
    assert np.array_equal(model.assignments_.compute(), whole.assignments_)


@pytest.mark.parametrize("n_workers", [1, 3])
def test_same_parts_give_the_same_bits_on_any_number_of_workers(parted, points, n_workers):
    place = {"processes": False, "dashboard_address": "127.0.0.1:0", "set_as_default": False}
    with Client(n_workers=n_workers, threads_per_worker=2, **place) as client:
        other = LaplacianKModes(4, parts=4, random_state=0, client=client).fit(da.from_array(points, chunks=(1000, 8)))
        assert other.objective_ == parted.objective_ and other.gap_ == parted.gap_
        assert np.array_equal(client.compute(other.assignments_, sync=True), parted.assignments_.compute())
        assert np.array_equal(other.cluster_centers_, parted.cluster_centers_)


def test_only_changed_halo_rows_are_sent(parted):
    rounds, sweeps, rows, size = parted.traffic_.T
    assert size.sum() <= 1.3 * 4 * 4 * rows.sum()  # K = 4, float32
    total = parted.halo_share_ * parted.n_samples_
    assert rows.sum() <= total * rounds.sum() and sweeps[0] > 0


def test_long_graphs_are_certified_in_parts_too(here):
    """Where parts cut spirals, plain rounds are slow: accelerated ones take over."""
    X, _ = make_spirals(n_samples=400, random_state=0)
    fixed = {"lam": 10.0, "bandwidth": 0.2, "affinity": "heat", "n_neighbors": 5, "init": "k-means", "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few points leave a mode without any
        one = lapmodes.LaplacianKModes(5, n_jobs=1, **fixed).fit(X)
        two = LaplacianKModes(5, parts=2, **fixed).fit(X)
    assert abs(two.objective_ - one.objective_) <= two.gap_ + one.gap_ + 1e-6 * abs(one.objective_)
    assert two.traffic_[0, 0] > 8


def test_quick_mode_says_how_far_from_optimal_it_is(here):
    X, _ = groups(3000)
    quick = LaplacianKModes(4, parts=3, exact=False, random_state=0).fit(X)
    exact = LaplacianKModes(4, parts=3, random_state=0).fit(X)
    assert quick.n_iter_ == 1
    assert quick.objective_ - quick.gap_ <= exact.objective_ + 1e-6 * abs(exact.objective_)
    assert (quick.labels_.compute() == exact.labels_.compute()).mean() > 0.99


def test_number_of_clusters_from_the_data(here):
    X = np.concatenate([groups(300, K=1, seed=s)[0] + 20 * s for s in range(3)])
    model = LaplacianKModes("auto", parts=2, random_state=0).fit(X)
    assert model.n_clusters_ == 3 and model.sizes_.tolist() == [300, 300, 300]


def test_progress_is_seen_and_can_stop_the_fit(here, points):
    seen = []

    def watch(phase, done, total, info):
        seen.append(phase)
        return phase == "alternate"

    model = LaplacianKModes(4, parts=2, random_state=0, verbose=watch).fit(points)
    assert model.status_ == "stopped" and model.n_iter_ == 1
    assert list(dict.fromkeys(seen)) == ["reading", "parts", "neighbours", "start", "alternate"]


def test_it_is_an_estimator():
    model = clone(LaplacianKModes(4, parts=2, exact=False))
    assert model.get_params()["parts"] == 2 and model.get_params()["exact"] is False
    ours, theirs = (set(each().get_params()) for each in (LaplacianKModes, lapmodes.LaplacianKModes))
    assert ours - theirs == {"client", "parts", "checkpoint", "exact"} and theirs <= ours
