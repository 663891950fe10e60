from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from lapmodes import KModes, LaplacianKMeans, LaplacianKModes, select
from lapmodes.report import report_content, write_page, write_report
from lapmodes.report.payload import project

LIMIT = 10 * 2**20


class Outline(HTMLParser):
    """Tags that must match, identifiers, and text outside of scripts."""

    VOID = ("meta", "link", "img", "input", "br")

    def __init__(self, text):
        super().__init__()
        self.stack, self.ids, self.links, self.words, self.tags = [], [], [], [], []
        self.feed(text)
        assert self.stack == []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.tags.append((tag, values))
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "a":
            self.links.append(values["href"])
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if not self.stack or self.stack[-1] not in ("script", "style"):
            self.words.append(data)


def written(tmp_path, model, X, **options):
    write_report(tmp_path / "report.html", model, X, **options)
    return (tmp_path / "report.html").read_text()


def test_the_page_is_well_formed_and_complete_in_itself(tmp_path, told_model, told_rows):
    text = written(tmp_path, told_model, told_rows, feature_names=["a", "b", "<c>", 'd"'], title="Mine & yours")
    outline = Outline(text)
    assert len(set(outline.ids)) == len(outline.ids)
    assert all(link[1:] in outline.ids for link in outline.links if link.startswith("#"))
    assert not [values for tag, values in outline.tags if str(values.get("src", "data:"))[:5] != "data:"]
    assert not [values for tag, values in outline.tags if tag == "link" and values["href"] != "data:,"]
    assert "default-src 'none'" in text
    words = " ".join(outline.words)
    assert "Mine & yours" in words and "<c>" in words
    for expected in (
        "cluster 2",
        "30 rows",
        "A typical row: row",
        "proven",
        "Chosen from the data",
        "random_state",
    ):
        assert expected in words, expected


def test_the_payload_is_the_data(tmp_path, told_model, told_rows):
    text = written(tmp_path, told_model, told_rows)
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    x = np.frombuffer(base64.b64decode(data["x"]), "<u2") / 65535 * data["span"][0] + data["low"][0]
    place = project(told_rows, told_model.cluster_centers_, tuple("abcd"))
    np.testing.assert_allclose(x, place.positions[:, 0], atol=data["span"][0] / 65535)
    np.testing.assert_array_equal(np.frombuffer(base64.b64decode(data["first"]), "u1"), told_model.labels_)
    assert len(data["objective"]) == told_model.n_iter_


def test_pictures_and_terms_and_rows(tmp_path, told_model, told_rows):
    assert written(tmp_path, told_model, told_rows, image_shape=(2, 2)).count('<img src="data:image/png') >= 3
    counts = sp.csr_array(np.maximum(told_rows, 0).round())
    fitted = LaplacianKModes(3, random_state=0, n_jobs=1).fit(counts)
    text = written(tmp_path, fitted, counts, feature_names=["alpha", "beta", "gamma", "delta"])
    assert '<ul class="terms"><li>' in text
    assert "standard deviations above average" in written(tmp_path, told_model, told_rows)


@pytest.mark.parametrize("d", [1, 2])
def test_one_and_two_columns_are_drawn_as_they_are(tmp_path, told_rows, d):
    X = told_rows[:, :d]
    fitted = KModes(2, random_state=0, n_jobs=1).fit(X)
    place = project(X, fitted.cluster_centers_, ("a", "b")[:d])
    np.testing.assert_allclose(place.positions[:, 0], X[:, 0])
    Outline(written(tmp_path, fitted, X))


@pytest.mark.parametrize(
    "estimator", [LaplacianKMeans(3), LaplacianKModes(1), LaplacianKModes(3, bandwidth="entropic")]
)
def test_every_kind_of_model_has_a_report(tmp_path, told_rows, estimator):
    Outline(written(tmp_path, estimator.set_params(random_state=0, n_jobs=1).fit(told_rows), told_rows))


def test_the_selection_is_shown(tmp_path, told_model, told_rows):
    from dataclasses import replace

    found = select(told_rows, range(2, 6), random_state=0, n_jobs=1)
    content = replace(report_content(told_model, told_rows), selection=found, notes=("Watch out.",))
    write_page(tmp_path / "r.html", content)
    text = (tmp_path / "r.html").read_text()
    assert "3 (chosen)" in text and "3 clusters: it is the largest number" in text and "Watch out." in text
    assert text.count('<th scope="row">4</th>') == 1


def test_other_rows_are_refused(tmp_path, told_model, told_rows):
    with pytest.raises(ValueError, match="must be the 90 rows of the fit"):
        write_report(tmp_path / "r.html", told_model, told_rows[:5])


def test_missing_plotly_names_the_extra(tmp_path, told_model, told_rows, monkeypatch):
    monkeypatch.setattr("lapmodes.report.page.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'lapmodes\[cli\]'"):
        write_report(tmp_path / "r.html", told_model, told_rows)
    assert not (tmp_path / "r.html").exists()


def test_a_hundred_thousand_points_stay_small(tmp_path):
    X = np.random.default_rng(0).normal(size=(100_000, 2))
    fitted = KModes(20, bandwidth=0.5, init="random", max_iter=1, random_state=0, n_jobs=1)
    with pytest.warns(ConvergenceWarning):
        fitted.fit(X)
    write_report(tmp_path / "r.html", fitted, X)
    assert (tmp_path / "r.html").stat().st_size < LIMIT


def test_outliers_are_listed_with_their_scores(tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 2)) + np.repeat([[0], [9]], 40, axis=0)
    X[7] = 30.0
    model = LaplacianKModes(2, random_state=0, n_jobs=1).fit(X)
    text = written(tmp_path, model, X)
    listed = text[text.index('id="outliers"') : text.index('id="proof"')]
    row, score = re.search(r'<tr><th scope="row">(row \d+)</th><td>.*?</td><td>([\d.]+)</td>', listed).groups()
    assert row == "row 8" and float(score) == pytest.approx(model.outlier_score(X)[7], abs=1e-3)
