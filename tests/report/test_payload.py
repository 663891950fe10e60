from __future__ import annotations

import numpy as np
import pytest

from lapmodes.report.payload import principal_axes, ranks, sample_rows, two_largest


def test_principal_axes_are_sklearns(told_rows):
    from sklearn.decomposition import PCA

    pca = PCA(2).fit(told_rows)
    _, axes, share = principal_axes(told_rows)
    np.testing.assert_allclose(np.abs(axes.T), np.abs(pca.components_), atol=1e-10)
    assert share == pytest.approx(pca.explained_variance_ratio_.sum())


def test_shares_and_ranks():
    Z = np.array([[1.0, 0, 0], [1 / 3, 1 / 3, 1 / 3], [0.2, 0.5, 0.3]])
    first, second, weight = two_largest(Z)
    assert (first[2], second[2]) == (1, 2)
    assert weight[2] == pytest.approx(0.5 / 0.8)
    np.testing.assert_array_equal(ranks(np.array([3.0, 1.0, 2.0])), [255, 0, 128])


def test_a_sample_of_the_rows_is_in_order_and_the_same_each_time():
    assert sample_rows(5, 9).tolist() == [0, 1, 2, 3, 4]
    some = sample_rows(100, 9)
    assert len(set(some.tolist())) == 9 and (np.diff(some) > 0).all()
    np.testing.assert_array_equal(some, sample_rows(100, 9))
