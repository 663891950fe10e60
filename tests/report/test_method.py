from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from lapmodes import LaplacianKModes, fit_layers
from lapmodes.report import report_content
from lapmodes.report.method import HIDDEN, MEANING, level_tree, parameter_table, proof


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


def test_the_tree_of_levels_has_a_bar_for_each_cluster(told_rows):
    layers = fit_layers(told_rows, [2, 3, 6], random_state=0, n_jobs=1)
    text = level_tree(report_content(layers[3], told_rows, layers=layers))
    for K, bars in zip(layers.n_clusters, re.findall(r"<svg.*?</svg>", text), strict=True):
        rows = layers.table[layers.table["n_clusters"] == K]
        widths = np.array(re.findall(r'width="([\d.]+)"', bars), dtype=float)
        np.testing.assert_allclose(widths, 1000 * rows["size"] / len(told_rows), atol=0.051)
        named = [f"cluster {k} of {K}: {size} row" in bars for k, size in rows[["cluster", "size"]].tolist()]
        assert all(named)
        # Coarser clusters are grey; others have the colour of the page's own level.
        colors = [int(k) for k in re.findall(r'class="k(\d+)"', bars)]
        wanted = {2: [], 3: rows["cluster"].tolist(), 6: rows["parent"].tolist()}
        assert colors == wanted[K]
    assert text.count("<tr") == 1 + 11
    with pytest.raises(ValueError, match="'model' must be one of the levels"):
        report_content(LaplacianKModes(2, random_state=0, n_jobs=1).fit(told_rows), told_rows, layers=layers)
