"""The numbers in the prose of README and docs, each tied to what gives it.

A claim is a document, a regular expression whose groups are numbers, and a function that gives them: a small run, a
constant of the source, or the entry in docs/measurements.md that the sentence quotes. Figures of docs/measurements.md
that need minutes or data of their own are not here; each names the command that measures it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pictures
from transcripts import ROOT

from lapmodes import LaplacianKModes, _gaussians, _n_clusters, scaling
from lapmodes import image as segmentation
from lapmodes._records import MANY_CLUSTERS
from lapmodes._row_map import ORDERED_ROWS
from lapmodes.datasets import make_moons_with_outliers
from lapmodes.explore import acts, maps
from lapmodes.graph import affinity, approximate, laplacian, neighbors
from lapmodes.metrics import adjusted_rand
from lapmodes.solve import terms
from lapmodes.start import communities, consensus, mixture

CARDINALS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
ORDINALS = [
    "zeroth",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
]
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"
WORD = rf"({'|'.join(CARDINALS)})"
ORDINAL = rf"({'|'.join(ORDINALS)})"


@dataclass(frozen=True)
class Claim:
    """Numbers in a sentence, and where they come from."""

    document: str
    sentence: str
    """A regular expression; a space in it may be a line break in the document."""
    values: Callable[[], Sequence[float]]
    tolerance: float = 0.0
    """How far the value may be from the number, beyond rounding."""

    def find(self) -> tuple[str, list[re.Match[str]]]:
        """The document and the places where the sentence stands."""
        text = Path(ROOT / self.document).read_text(encoding="utf-8")
        return text, list(re.finditer(self.sentence.replace(" ", r"\s+"), text, flags=re.DOTALL))

    def problems(self) -> list[str]:
        """What is wrong with it, in words; nothing if it holds."""
        _, matches = self.find()
        if len(matches) != 1:
            return [f"{self.document}: {len(matches)} places match {self.sentence!r}; one was expected"]
        values = list(self.values())
        written = matches[0].groups()
        if len(values) != len(written):
            return [f"{self.document}: {len(written)} numbers in {self.sentence!r}, but {len(values)} values"]
        return [
            f"{self.document}: {text!r} should be {render(value, text)!r} in {matches[0][0]!r}"
            for text, value in zip(written, values, strict=True)
            if abs(read(text) - value) > self.tolerance + 0.5001 * unit(text)
        ]

    def renew(self) -> None:
        """Write the values of today into the document."""
        text, (match,) = self.find()
        for group, value in reversed(list(enumerate(self.values(), start=1))):
            start, end = match.span(group)
            text = text[:start] + render(value, match[group]) + text[end:]
        Path(ROOT / self.document).write_text(text, encoding="utf-8")


def read(text: str) -> float:
    """A number as it is written: digits or a word."""
    for words in (CARDINALS, ORDINALS):
        if text.lower() in words:
            return words.index(text.lower())
    return float(text.replace(",", ""))


def unit(text: str) -> float:
    """One unit of the last digit that is written; none where the number is whole."""
    decimals = len(text.partition(".")[2])
    return 10.0**-decimals if decimals else 0.0


def render(value: float, like: str) -> str:
    """A value in the manner of the number that stands there."""
    for words in (CARDINALS, ORDINALS):
        if like.lower() in words and value < len(words):
            return words[int(value)]
    return f"{value:,.{len(like.partition('.')[2])}f}"


def measured(pattern: str) -> list[float]:
    """Numbers in docs/measurements.md."""
    (found,) = re.findall(pattern, (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8"))
    return [read(text) for text in ([found] if isinstance(found, str) else found)]


def default(function: Any, *names: str) -> list[Any]:
    """Defaults of parameters."""
    parameters = inspect.signature(function).parameters
    return [parameters[name].default for name in names]


@cache
def candidates() -> tuple[Any, ...]:
    """The candidates of the consensus for iris."""
    from sklearn.datasets import load_iris

    seen: list[Any] = []
    original = consensus.list_candidates
    consensus.list_candidates = lambda *inputs: seen.append(original(*inputs)) or seen[-1]
    try:
        LaplacianKModes(3, random_state=0).fit(load_iris().data)
    finally:
        consensus.list_candidates = original
    return tuple(seen[0])


def members(family: str | None = None) -> int:
    """How many candidates there are, in all or of one family."""
    return sum(family in (None, each.family) for each in candidates())


def families() -> int:
    """How many families of candidates there are."""
    return len({each.family for each in candidates()})


@cache
def raw_and_standardised(name: str) -> tuple[float, float]:
    """The adjusted Rand index of a set of scikit-learn, its columns as they are and standardised."""
    import sklearn.datasets
    from sklearn.preprocessing import StandardScaler

    data = getattr(sklearn.datasets, f"load_{name}")()
    model = LaplacianKModes(len(data.target_names), random_state=0)
    both = (data.data, StandardScaler().fit_transform(data.data))
    raw, standardised = (adjusted_rand(data.target, model.fit(X).labels_) for X in both)
    return raw, standardised


@cache
def wine_rows() -> list[int]:
    """Rows of the table of wines."""
    from sklearn.datasets import load_wine

    return [len(load_wine().data)]


def checked_problems() -> list[float]:
    """How many random problems a test compares with the interior-point solver."""
    text = (ROOT / "tests" / "solve" / "test_assignments.py").read_text(encoding="utf-8")
    return [float(re.findall(r"max_examples=(\d+)", text)[0])]


def in_percent(values: Sequence[float]) -> list[float]:
    """Shares as percentages."""
    return [100 * value for value in values]


def neighbors_of_graphs() -> list[float]:
    """Neighbours of the graphs on which communities are found, with the default number of neighbours."""
    (k,) = default(LaplacianKModes, "n_neighbors")
    return [k, *(round(share * k) for _, share in consensus.GRAPHS)]


DEFAULTS, CHOOSING, LARGE = "docs/defaults.md", "docs/start/choosing.md", "docs/guides/large_data.md"
IMAGES, METHOD, MEASUREMENTS = "docs/guides/images.md", "docs/method.md", "docs/measurements.md"
N_NEIGHBORS = partial(default, LaplacianKModes, "n_neighbors")
MOST = [_n_clusters.MOST_CLUSTERS]
SHARES = r"`predict` right on the 10,000 others \| ([\d.]+) %"
SURE, UNSURE = r"share is above 0.999 .*?\| ([\d.]+) %", r"between 0.5 and 0.8 .*?\| (\d+) %"

CLAIMS = [
    Claim("README.md", rf"scikit-learn's table of {NUMBER} wines", wine_rows),
    Claim("README.md", rf"moons lie among {NUMBER} outliers", lambda: default(make_moons_with_outliers, "n_outliers")),
    Claim("README.md", rf"checks {NUMBER} random problems", checked_problems),
    Claim(
        CHOOSING,
        rf"\(ARI\) of {NUMBER}\. .{{0,80}} index is {NUMBER}, where",
        lambda: pictures.scaling_facts()["ARI"],
        0.02,
    ),
    Claim(CHOOSING, rf"the index from {NUMBER} to {NUMBER}\.", lambda: raw_and_standardised("digits"), 0.02),
    Claim(CHOOSING, rf"differ by no more than a factor of {WORD}", lambda: [scaling.UNEVEN]),
    Claim(CHOOSING, rf"skewed by more than {NUMBER}", lambda: [scaling.SKEWED]),
    Claim(CHOOSING, rf"`select` recommends {NUMBER} clusters", lambda: [pictures.clusters_facts()["recommended"]]),
    Claim(CHOOSING, rf"point to its {ORDINAL} neighbour", lambda: [affinity.LOCAL_NEIGHBOR]),
    Claim(
        CHOOSING,
        rf"leave the data: from {NUMBER} at the automatic bandwidth to {NUMBER} at {WORD} times",
        lambda: [*(pictures.bandwidth_facts()["distance of a mode"][i] for i in (1, 3)), pictures.WIDTHS[-1]],
        0.02,
    ),
    Claim(
        CHOOSING,
        rf"mode, and {NUMBER} % of them are right",
        lambda: in_percent(pictures.smoothness_facts()["moons"][:1]),
        1,
    ),
    Claim(
        CHOOSING,
        rf"at {NUMBER} times the automatic value {NUMBER} points are left",
        lambda: [pictures.SMOOTHNESSES[2], pictures.smoothness_facts()["smaller cluster"][2]],
        2,
    ),
    Claim(
        DEFAULTS,
        rf"are found: {NUMBER} for the graph, {NUMBER} for the start",
        lambda: [N_NEIGHBORS()[0], 2 * N_NEIGHBORS()[0]],
    ),
    Claim(DEFAULTS, rf"linked with their {NUMBER} nearest", N_NEIGHBORS),
    Claim(DEFAULTS, rf"distance of the points to their {NUMBER}th neighbour", lambda: [affinity.LOCAL_NEIGHBOR]),
    Claim(DEFAULTS, rf"the default is {NUMBER}, and 0 leaves", lambda: default(LaplacianKModes, "prior_weight")),
    Claim(
        DEFAULTS, rf"consensus makes {WORD} partitions by methods of {WORD} \*families", lambda: [members(), families()]
    ),
    Claim(DEFAULTS, rf"communities \| {NUMBER} \|", lambda: [members("communities")]),
    Claim(DEFAULTS, rf"best of {NUMBER} runs", lambda: [communities.RUNS]),
    Claim(DEFAULTS, rf"density modes \| {NUMBER} \|", lambda: [members("density modes")]),
    Claim(DEFAULTS, rf"linkages \| {NUMBER} \|", lambda: [members("linkages")]),
    Claim(DEFAULTS, rf"mixture \| {NUMBER} \|", lambda: [members("mixture")]),
    Claim(
        DEFAULTS,
        rf"up to {NUMBER} dimensions and {NUMBER} clusters",
        lambda: [mixture.MIXTURE_DIMENSIONS, MANY_CLUSTERS - 1],
    ),
    Claim(
        DEFAULTS,
        rf"above {NUMBER} dimensions along the {NUMBER} leading",
        lambda: [_gaussians.FULL_DIMENSIONS, _gaussians.AXES],
    ),
    Claim(
        DEFAULTS, rf"Up to {NUMBER} points and {NUMBER} clusters", lambda: [consensus.HUGE_POINTS, MANY_CLUSTERS - 1]
    ),
    Claim(
        DEFAULTS,
        rf"default of {NUMBER} neighbours, .{{0,60}} with {NUMBER} and with {NUMBER} .{{0,40}} weighs {NUMBER} neigh",
        neighbors_of_graphs,
    ),
    Claim(DEFAULTS, rf"the {ORDINAL} power of its adjusted", lambda: [consensus.TRUST_POWER]),
    Claim(DEFAULTS, rf"into 2 to {NUMBER} clusters in {WORD} fast ways", lambda: [*MOST, len(_n_clusters.WAYS)]),
    Claim(DEFAULTS, rf"the same with {WORD} random halves", lambda: [_n_clusters.DRAWS]),
    Claim(DEFAULTS, rf"numbers within {NUMBER} of it, the largest", lambda: [_n_clusters.TIE]),
    Claim(DEFAULTS, rf"If even {NUMBER} clusters are all", lambda: MOST),
    Claim(
        DEFAULTS,
        rf"less than {NUMBER} together, and no separation reaches {NUMBER},",
        lambda: [_n_clusters.CLEAR, _n_clusters.APART],
    ),
    Claim(
        DEFAULTS,
        rf"a likeness of at least {NUMBER}\) and if at least\s+{NUMBER} of",
        lambda: [_gaussians.LOOK, _gaussians.RETURN],
    ),
    Claim(DEFAULTS, rf"at least {NUMBER} and at most {NUMBER}\. On", lambda: _n_clusters.SOME_ROWS),
    Claim(DEFAULTS, rf"`predict` is right on {NUMBER} % of the", lambda: measured(SHARES)),
    Claim(DEFAULTS, rf"on {NUMBER} % of those whose share is above", lambda: measured(SURE)),
    Claim(DEFAULTS, rf"on {NUMBER} % of those whose share is between", lambda: measured(UNSURE)),
    Claim("docs/migration.md", rf"candidates: {WORD} of {WORD} families", lambda: [members(), families()]),
    Claim("CHANGELOG.md", rf"consensus has {WORD} candidates of {WORD} families", lambda: [members(), families()]),
    Claim(METHOD, rf"distance of x_n to its {NUMBER}th neighbour", lambda: [affinity.LOCAL_NEIGHBOR]),
    Claim(METHOD, rf"weighs {WORD} times the mean degree", lambda: [laplacian.LINK]),
    Claim(LARGE, rf"is {NUMBER} bytes a point beyond X for 10⁷ points", lambda: measured(r"10⁷ \| [^|]*\| ([\d,]+)")),
    Claim(LARGE, rf"and {NUMBER} for 10⁶", lambda: measured(r"10⁶ \| [^|]*\| ([\d,]+)")),
    Claim(LARGE, rf"is {NUMBER} bytes a point for 10⁵", lambda: measured(r"`sparse_assignments=True` \| ([\d,]+)")),
    Claim(LARGE, rf"Up to {NUMBER} dimensions the neighbour search", lambda: [neighbors.TREE_DIMENSIONS]),
    Claim(LARGE, rf"keeps the {NUMBER} largest entries", lambda: [terms.KEPT]),
    Claim(LARGE, rf"dense, up to {NUMBER} dimensions", lambda: [neighbors.TREE_DIMENSIONS]),
    Claim(LARGE, rf"groups of about {NUMBER} by two", lambda: [approximate.CELL_ROWS]),
    Claim(LARGE, rf"of the {NUMBER} cells around it", lambda: [approximate.AROUND]),
    Claim(
        LARGE,
        rf"partitions follow, {WORD} at most, until {NUMBER}",
        lambda: [approximate.MAX_PARTITIONS, approximate.CHECKED_ROWS],
    ),
    Claim(LARGE, rf"show a recall of {NUMBER}\. At", lambda: [approximate.RECALL]),
    Claim(LARGE, rf"along {NUMBER} principal axes", lambda: [approximate.COMPONENTS]),
    Claim(
        LARGE,
        rf"a trial with {NUMBER} rows .{{0,40}} keeps {NUMBER} %",
        lambda: [approximate.TRIED_ROWS, 100 * approximate.ENOUGH],
    ),
    Claim(LARGE, rf"built, more than {NUMBER} dense rows", lambda: [ORDERED_ROWS]),
    Claim(
        LARGE, rf"Above {NUMBER} points, and from {NUMBER} clusters on", lambda: [consensus.HUGE_POINTS, MANY_CLUSTERS]
    ),
    Claim(IMAGES, rf"size, {NUMBER} × {NUMBER} pixels, divided", lambda: pictures.flower()[0].shape[:2]),
    Claim(IMAGES, rf"larger `lam` \(default {NUMBER}\)", lambda: default(segmentation.segment, "lam")),
    Claim(IMAGES, rf"`bandwidth` \(default {NUMBER};", lambda: default(segmentation.segment, "bandwidth")),
    Claim(IMAGES, rf"`spatial_scale` \(default {NUMBER}:", lambda: default(segmentation.segment, "spatial_scale")),
    Claim(IMAGES, rf"Images of more than {NUMBER} pixels", lambda: [segmentation.FULL_SIZE_PIXELS]),
    Claim(
        IMAGES,
        rf"took about {NUMBER} bytes a pixel for six segments and {NUMBER} for two",
        lambda: measured(r"2 segments \| (\d+); (\d+)"),
    ),
    Claim(MEASUREMENTS, rf"\| wine \| {NUMBER} \| {NUMBER} \|", lambda: raw_and_standardised("wine"), 0.02),
    Claim(
        MEASUREMENTS,
        rf"\| breast cancer \| {NUMBER} \| {NUMBER} \|",
        lambda: raw_and_standardised("breast_cancer"),
        0.02,
    ),
    Claim(MEASUREMENTS, rf"\| iris \(ratio 4\) \| {NUMBER} \| {NUMBER} \|", lambda: raw_and_standardised("iris"), 0.02),
    Claim("docs/guides/explore.md", rf"Up to {NUMBER} rows are drawn by the browser", lambda: [maps.DRAWN]),
    Claim(
        "docs/guides/explore.md",
        rf"{WORD} notches of λ double it, {WORD} of σ",
        lambda: [acts.PER_DOUBLING["lam"], acts.PER_DOUBLING["bandwidth"]],
    ),
]
