"""What sets clusters apart, and how columns that were not used describe them."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
import scipy.sparse as sp

from lapmodes import LaplacianKModes
from lapmodes.report import report_content
from lapmodes.report.clusters import (
    CARDS,
    cluster_cards,
    cluster_traits,
    descriptions,
    in_words,
    portray,
    profile,
    surprises,
)

LABELS = np.repeat([0, 1, 2], 100)


def words(X, features, labels=LABELS):
    return [in_words(each) for each in cluster_traits(X, labels, 3, features)]


def test_words_name_the_columns_that_differ_and_the_direction():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[LABELS == 0, 0] += 9
    X[LABELS == 1, 1] -= 1.2
    labels = np.where(np.arange(300) < 50, 0, np.maximum(LABELS, 1))
    X[50:100, 0] -= 9
    found = words(X, ["a", "b", "c"], labels)
    assert found[0] == "much higher a" and "lower b" in found[1]
    assert " c" not in " ".join(found)


def test_words_do_not_depend_on_units_order_or_a_wild_value():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4)) + 3 * rng.normal(size=(3, 4))[LABELS]
    expected = words(X, list("abcd"))
    assert words(1e9 * X - 7, list("abcd")) == expected
    order = rng.permutation(300)
    assert words(X[order], list("abcd"), LABELS[order]) == expected
    X[0] = 1e12
    assert words(X, list("abcd")) == expected


def test_columns_of_few_values_are_compared_by_their_means_and_constant_ones_not_at_all():
    rng = np.random.default_rng(0)
    yes = rng.random(300) < np.array([0.7, 0.1, 0.1])[LABELS]
    X = np.column_stack([yes, np.full(300, 5.0), rng.normal(size=300)]).astype(float)
    assert words(X, ["late", "same", "noise"]) == ["higher late", "lower late", "lower late"]


def test_an_empty_cluster_and_a_single_one_have_no_words():
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[:30] += 9
    found = cluster_traits(X, np.repeat([0, 2], 30), 3, ["a", "b"])
    assert in_words(found[1]) == "" and in_words(found[0]).count("higher") == 2
    assert in_words(cluster_traits(X, np.zeros(60, dtype=int), 1, ["a", "b"])[0]) == ""


def test_sparse_rows_are_described_by_the_terms_that_they_have_more_of():
    rng = np.random.default_rng(0)
    X = rng.random((300, 5)) * (rng.random((300, 5)) < 0.3)
    X[LABELS == 1, 2] += 1
    dense = [X[LABELS == 1].mean(axis=0) - X[LABELS != 1].mean(axis=0)]
    found = cluster_traits(sp.csr_array(X), LABELS, 3, ["ant", "bee", "cat", "dog", "eel"])[1]
    assert found[0].name == "cat" and in_words(found, sparse=True).startswith("more cat")
    np.testing.assert_allclose([each.difference for each in found], [dense[0][each.column] for each in found])


def test_a_sample_of_many_rows_gives_nearly_the_same_profile():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=60_000)
    X = rng.normal(size=(60_000, 3)) + 2 * rng.normal(size=(3, 3))[labels]
    found, exact = profile(X, labels, 3), np.array([np.median(X[labels == k], axis=0) for k in range(3)])
    np.testing.assert_allclose(found.inside[:, 1], exact, atol=0.08)


@pytest.fixture
def described(told_model, told_rows):
    kind = np.array(["<ant>", "bee", "cat"])[told_model.labels_]
    noise = np.array(["odd", "even"])[np.arange(90) % 2]
    many = [f"value {i % 15}" for i in range(90)]
    own = [f"row {i}" for i in range(90)]
    columns = {"noise": noise, "kind": kind, "many": many, "own name": own, "same": ["x"] * 90}
    return report_content(told_model, told_rows, described_by=columns)


def test_columns_that_were_not_used_describe_clusters_the_most_telling_first(described, told_model):
    text = descriptions(described, np.bincount(told_model.labels_))
    assert re.findall(r"<h3><bdi>(.*?)</bdi></h3>", text) == ["kind", "noise", "many"]
    kind, noise, _ = text.split("<article")[1:]
    assert "100\u202f% <bdi>&lt;ant&gt;</bdi>, 3.0 times its share of all rows" in kind
    assert "spread over the clusters much as in all rows" in noise
    assert "other (5 values)" in text and "<ant>" not in text


def test_the_cells_of_a_table_add_up_to_the_sizes(described, told_model):
    many = descriptions(described, np.bincount(told_model.labels_)).split("<article")[3]
    lines = [re.findall(r'class="heat h\d">([\d,]+) <small>', line) for line in many.split("<tr")[2:]]
    totals = [sum(map(int, line)) for line in lines]
    assert totals == [*np.bincount(told_model.labels_).tolist(), 90]


def test_rare_values_surprise_nobody():
    counts = np.array([[1, 50, 50], [0, 60, 40]])
    assert surprises(counts)[0, 0] == 0
    sure = surprises(np.array([[40, 0, 60], [0, 40, 60]]))
    assert sure[0, 0] == sure[1, 1] > 0 and sure[0, 1] == sure[0, 2] == 0


def test_values_of_other_lengths_are_refused(told_model, told_rows):
    with pytest.raises(ValueError, match=r"'described_by' must have a value for each of the 90 rows\. Got 3 in 'kind'"):
        report_content(told_model, told_rows, described_by={"kind": ["a", "b", "c"]})


def test_a_data_frame_with_gaps_describes_too(told_model, told_rows):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"kind": ["a", None] * 45, "size": [1.5, np.nan] * 45})
    content = report_content(told_model, told_rows, described_by=frame)
    assert content.described_by["kind"][:2] == ("a", "no value") and content.described_by["size"][:2] == (
        "1.5",
        "no value",
    )


def test_cards_show_values_of_the_mode_and_a_typical_row(told_model, told_rows):
    content = replace(
        report_content(told_model, told_rows, feature_names=["length", "width", "<height>", "depth"]),
        describe=lambda row: [("length", 1.0), ("title", f"Row {row} & more")],
    )
    text = cluster_cards(content, portray(content))
    assert text.count("<article") == 3 and text.count('class="strip"') == 12
    assert f"Row {told_model.exemplars_[0]} & more" in unescape(text) and "<height>" not in text
    assert "ore columns" not in text


def test_many_clusters_and_columns_make_a_page_of_bounded_size():
    rng = np.random.default_rng(0)
    centers = 20 * rng.normal(size=(70, 60))
    X = np.repeat(centers, 4, axis=0) + rng.normal(size=(280, 60))
    model = LaplacianKModes(70, n_neighbors=3, random_state=0, n_jobs=1).fit(X)
    content = report_content(model, X, feature_names=[f"measure {i}" for i in range(60)])
    text = cluster_cards(content, portray(content))
    assert text.count("<article") == CARDS and f"first {CARDS} of 70 clusters" in text
    assert "of 54 more columns" in text and len(text) < 1_500_000
