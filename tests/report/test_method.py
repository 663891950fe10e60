from __future__ import annotations

import pytest
from sklearn.exceptions import ConvergenceWarning

from lapmodes import LaplacianKModes
from lapmodes.report import report_content
from lapmodes.report.method import HIDDEN, MEANING, parameter_table, proof


def test_every_parameter_is_explained():
    assert set(LaplacianKModes().get_params()) - set(HIDDEN) == set(MEANING)


def test_the_proof_says_how_the_fit_ended(told_model, told_rows):
    assert told_model.status_ == "converged"
    text = proof(report_content(told_model, told_rows))
    assert "came to rest after" in text and "proven to the accuracy asked for" in text
    with pytest.warns(ConvergenceWarning):
        short = LaplacianKModes(3, max_iter=1, tol=1e-9, init="random", random_state=0, n_jobs=1).fit(told_rows)
    assert short.status_ == "not converged"
    assert "was stopped before it came to rest" in proof(report_content(short, told_rows))


def test_the_table_says_who_chose_each_value(told_rows):
    model = LaplacianKModes(3, bandwidth="entropic", tol=0.01, random_state=0, n_jobs=1).fit(told_rows)
    rows = parameter_table(report_content(model, told_rows)).split("<tr>")
    row = {name: next(each for each in rows if f"<code>{name}</code>" in each) for name in ("bandwidth", "tol", "init")}
    assert "one for each row, about" in row["bandwidth"] and "rule “entropic”" in row["bandwidth"]
    assert "Set for this run." in row["tol"] and "rule “auto”" in row["init"]
