from __future__ import annotations

import numpy as np
import pytest

from lapmodes import LaplacianKModes, select
from lapmodes.report import report_content
from lapmodes.report.content import selection_reason, selection_rows


def test_points_are_the_rows_as_the_model_sees_them(told_rows):
    rows = told_rows + 20
    model = LaplacianKModes(3, random_state=0, n_jobs=1, metric="cosine").fit(rows)
    content = report_content(model, rows)
    np.testing.assert_allclose(np.linalg.norm(content.points, axis=1), 1)
    np.testing.assert_array_equal(content.rows, rows)


def test_what_a_person_set_is_known(told_rows):
    content = report_content(LaplacianKModes(3, tol=0.01, random_state=0, n_jobs=1).fit(told_rows), told_rows)
    assert {"n_clusters", "tol", "random_state"} <= set(content.given)
    assert not {"lam", "bandwidth", "init"} & set(content.given)


def test_a_selection_is_a_row_for_each_number_and_a_reason(told_rows):
    found = select(told_rows, range(2, 6), random_state=0, n_jobs=1)
    header, rows = selection_rows(found)
    assert header[0] == "clusters" and header[-1] == "stability"
    assert [row[0] for row in rows] == [2, 3, 4, 5]
    assert [row[-1] for row in rows] == pytest.approx(found.table["stability"].tolist())
    assert all(f"{name} says {k}" in selection_reason(found) for name, k in found.preferred.items())
