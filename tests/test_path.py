from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from lapmodes import KModes, LaplacianKMeans, LaplacianKModes, fit_path


def test_one_solution_a_step_in_any_direction(blobs):
    X, _ = blobs
    for widths in ([2.0, 1.0, 0.5], [0.5, 1.0, 2.0]):
        path = list(fit_path(X, 3, lam=0.1, bandwidth=widths, init="k-means", random_state=0))
        assert [point.bandwidth for point in path] == widths
        assert all(point.lam == 0.1 for point in path)
    path = list(fit_path(X, 3, lam=[0, 0.1], bandwidth=[np.inf, 0.5], init="k-means", random_state=0))
    assert [(p.lam, p.bandwidth) for p in path] == [(0, np.inf), (0.1, 0.5)]


def test_steps_are_solved_only_when_asked_for(blobs):
    seen = []
    walk = fit_path(
        blobs[0], 3, lam=0.1, bandwidth=[2, 1, 0.5], callback=lambda *a: seen.append(a[0]), tol=0, max_iter=2
    )
    assert seen == []
    with pytest.warns(ConvergenceWarning):
        next(walk)
    assert seen.count("alternate") == 2


def test_a_path_that_ends_without_smoothing_still_has_its_graph(blobs):
    first, _, last = fit_path(blobs[0], 3, lam=[1.0, 0.1, 0.0], bandwidth=0.7, init="k-means", random_state=0)
    assert np.any((first.solution.Z > 0) & (first.solution.Z < 1))
    assert np.all((last.solution.Z == 0) | (last.solution.Z == 1))
    model = KModes(3, path=[(1.0, 0.5)], random_state=0).fit(blobs[0])
    assert model.predict(blobs[0]).shape == (180,)


def test_densities_follow_the_fitted_bandwidth(blobs):
    ends_infinite = LaplacianKModes(3, lam=0.1, bandwidth=0.5, path=[(0.1, 0.5), (0.1, np.inf)]).fit(blobs[0])
    assert not hasattr(ends_infinite, "density")
    ends_finite = LaplacianKMeans(3, path=[(0.0, 0.5)]).fit(blobs[0])
    assert np.isfinite(ends_finite.density(blobs[0])).all()


def test_warm_start_continues_from_the_step_before(blobs):
    X, _ = blobs
    first, second = fit_path(X, 3, lam=0.1, bandwidth=[0.8, 0.8], init="random", random_state=0)
    assert second.solution.n_iter <= 2
    assert second.solution.objective <= first.solution.objective + 1e-12


def test_counted_path_leads_from_k_means_to_the_target(blobs):
    X, _ = blobs
    model = LaplacianKModes(3, lam=0.2, bandwidth=0.5, path=6, init="k-means", random_state=0).fit(X)
    assert len(model.path_) == 6
    assert (model.path_[0].lam, model.path_[0].bandwidth) == (0, np.inf)
    assert (model.lam_, model.bandwidth_) == (pytest.approx(0.2), pytest.approx(0.5))
    lams, widths = ([getattr(p, name) for p in model.path_[1:]] for name in ("lam", "bandwidth"))
    np.testing.assert_allclose(np.diff(np.log(lams)), np.log(100) / 4)
    assert np.ptp(np.diff(np.log(widths))) < 1e-9
    adaptive = LaplacianKModes(3, bandwidth="adaptive", path=3, random_state=0).fit(X)
    assert adaptive.path_[1].bandwidth.shape == (len(X),)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lam": [1, 2], "bandwidth": [1, 2, 3]}, "same length.*Got 2 and 3"),
        ({"lam": []}, "at least one value"),
        ({"n_init": 3}, "follows one start"),
        ({"n_clusters": -3}, "'n_clusters' parameter"),
        ({"lam": -1.0}, "'lam' parameter.*at least 0"),
        ({"bandwidth": [1.0, -1.0]}, "'bandwidth' parameter"),
        ({"lam": [1.0, -1.0, 1.0], "bandwidth": 1.0}, "'path' parameter"),
    ],
)
def test_bad_paths(blobs, arguments, message):
    with pytest.raises(ValueError, match=message):
        fit_path(blobs[0], **{"n_clusters": 3, **arguments})
