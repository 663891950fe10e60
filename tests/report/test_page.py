from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from lapmodes import KModes, LaplacianKMeans, LaplacianKModes, select
from lapmodes.plotting.layout import flatten
from lapmodes.report import report_content, write_page, write_report

LIMIT = 2_000_000
"""Bytes of a page, whatever the data."""


class Outline(HTMLParser):
    """Tags that must match, identifiers, and text outside of scripts."""

    VOID = ("meta", "link", "img", "input", "br", "wbr")

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
    words = " ".join(outline.words)
    assert "Mine & yours" in words and "<c>" in words
    for expected in (
        "cluster 2",
        "30 rows",
        "A typical row: ",
        "proven",
        "Chosen from the data",
        "random_state",
    ):
        assert expected in words, expected


def test_the_payload_is_the_data(tmp_path, told_model, told_rows):
    text = written(tmp_path, told_model, told_rows)
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    view = next(each for each in data["views"] if each["name"] == "components")
    x = np.frombuffer(base64.b64decode(view["x"]), "<u2") / 65535 * view["span"][0] + view["low"][0]
    place = flatten(told_rows, told_model.cluster_centers_, np.arange(90))[0]
    np.testing.assert_allclose(x, place[:, 0], atol=view["span"][0] / 65535)
    np.testing.assert_array_equal(np.frombuffer(base64.b64decode(data["first"]), "u1"), told_model.labels_)


def test_the_policy_allows_nothing_but_the_pages_own_style_and_script(tmp_path, told_model, told_rows):
    text = written(tmp_path, told_model, told_rows)
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', text)[1]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    for tag, key in (("style", "style-src"), ("script", "script-src")):
        inner = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        assert f"{key} 'sha256-{digest}'" in policy
    tags = Outline(text).tags
    assert not [values for _, values in tags if "style" in values or any(name.startswith("on") for name in values)]


def test_names_cannot_leave_the_data(tmp_path, told_model, told_rows):
    evil = "</script><img src=x onerror=alert(1)>"
    text = written(
        tmp_path,
        told_model,
        told_rows,
        feature_names=[evil, "<!--", "b", "c"],
        described_by={evil: [evil] * 45 + ["a"] * 45},
    )
    assert evil not in text and "<!--" not in text
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert [each["name"] for each in data["columns"]].count(evil) == 2
    assert not [values for tag, values in Outline(text).tags if tag == "img"]


def test_what_to_mind_comes_before_the_map_and_stays_readable(tmp_path, told_model, told_rows):
    lines = tuple(f"Left out column {i}: it is empty." for i in range(20))
    content = replace(report_content(told_model, told_rows), notes=("Watch out.",), preparation=lines)
    write_page(tmp_path / "r.html", content)
    text = (tmp_path / "r.html").read_text()
    assert text.index("Watch out.") < text.index("Left out column 0") < text.index('id="map"')
    assert "12 more lines" in text and "Left out column 19" in text


def test_what_sets_clusters_apart_is_said_at_the_top_and_on_their_cards(tmp_path, told_model, told_rows):
    words = " ".join(Outline(written(tmp_path, told_model, told_rows, feature_names=list("abcd"))).words)
    assert words.count("igher a") >= 2 and "what sets it apart" in words


def test_whoever_waits_is_told_how_far_the_map_is(tmp_path, told_model, told_rows):
    calls = []
    write_page(tmp_path / "r.html", report_content(told_model, told_rows), lambda *call: calls.append(call))
    assert calls[-1][:3] == ("map", calls[-1][2], calls[-1][2])


def test_one_cluster_is_not_many(tmp_path, told_rows):
    fitted = LaplacianKModes(1, random_state=0, n_jobs=1).fit(told_rows)
    words = " ".join(Outline(written(tmp_path, fitted, told_rows)).words)
    assert "1 cluster of 90 rows" in words and "1 clusters" not in words and "the smallest" not in words


def test_pictures_and_terms_and_rows(tmp_path, told_model, told_rows):
    assert written(tmp_path, told_model, told_rows, image_shape=(2, 2)).count('<img src="data:image/png') >= 3
    counts = sp.csr_array(np.maximum(told_rows, 0).round())
    fitted = LaplacianKModes(3, random_state=0, n_jobs=1).fit(counts)
    text = written(tmp_path, fitted, counts, feature_names=["alpha", "beta", "gamma", "delta"])
    assert '<ul class="terms"><li><bdi>' in text
    assert "middle half of the cluster" in written(tmp_path, told_model, told_rows)


@pytest.mark.parametrize("d", [1, 2])
def test_one_and_two_columns_are_drawn_as_they_are(tmp_path, told_rows, d):
    X = told_rows[:, :d]
    fitted = KModes(2, random_state=0, n_jobs=1).fit(X)
    text = written(tmp_path, fitted, X)
    Outline(text)
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert [each["name"] for each in data["views"]] == ["columns"] and "Principal components" not in text


@pytest.mark.parametrize(
    "estimator", [LaplacianKMeans(3), LaplacianKModes(1), LaplacianKModes(3, bandwidth="entropic")]
)
def test_every_kind_of_model_has_a_report(tmp_path, told_rows, estimator):
    Outline(written(tmp_path, estimator.set_params(random_state=0, n_jobs=1).fit(told_rows), told_rows))


def test_the_selection_is_shown(tmp_path, told_model, told_rows):
    found = select(told_rows, range(2, 6), random_state=0, n_jobs=1)
    content = replace(report_content(told_model, told_rows), selection=found, notes=("Watch out.",))
    write_page(tmp_path / "r.html", content)
    text = (tmp_path / "r.html").read_text()
    assert (
        "3 (chosen)" in text
        and "3 clusters: they come back best from halves of the rows" in text
        and "Watch out." in text
    )
    assert text.count('<th scope="row" role="rowheader">4</th>') == 1
    charts = text[text.index('id="number"') : text.index('id="uncertain"')]
    assert charts.count('class="small-chart"') == charts.count('class="chosen"') == 1 + len(found.preferred)


def test_other_rows_are_refused(tmp_path, told_model, told_rows):
    with pytest.raises(ValueError, match="must be the 90 rows of the fit"):
        write_report(tmp_path / "r.html", told_model, told_rows[:5])


def test_iris_takes_no_more_than_a_picture_would(tmp_path):
    iris = load_iris()
    fitted = LaplacianKModes(3, random_state=0, n_jobs=1).fit(iris.data)
    species = {"species": iris.target_names[iris.target]}
    text = written(tmp_path, fitted, iris.data, feature_names=iris.feature_names, described_by=species)
    assert len(text.encode()) < LIMIT / 10


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
    row, score = re.search(r"<bdi>(row \d+)</bdi></th><td.*?</td><td[^>]*>([\d.]+)</td>", listed).groups()
    assert row == "row 8" and float(score) == pytest.approx(model.outlier_score(X)[7], abs=1e-3)
