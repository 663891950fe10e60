"""The pictures of README and docs, each made by one function.

Every file in docs/images carries the facts that it shows (numbers of clusters, accuracies) in a text field, so that
a picture that no longer tells the truth is found out even where it cannot be drawn again.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from picture_files import Picture, png, screenshots
from PIL import Image
from transcripts import run_command, working_in, write_tables

from lapmodes import LaplacianKModes, fit_layers, select
from lapmodes.datasets import make_moons_with_outliers, make_spirals
from lapmodes.image import mean_colors, plot_segmentation, segment
from lapmodes.metrics import adjusted_rand, clustering_accuracy
from lapmodes.paper import figure2, figure3
from lapmodes.plotting import cluster_colors, plot_clusters, plot_density, plot_selection

WIDTH = 9.6
"""Inches of a picture as wide as a page, so that its letters are as large there as those of the text."""
K_TRIED = (2, 3, 4, 6)
WIDTHS = (0.25, 1, 4, 12)
"""Parts of the automatic bandwidth."""
SMOOTHNESSES = (0, 1, 100, 1000)
"""Parts of the automatic smoothness."""
DIGITS = ["zeros", "ones", "twos", "threes", "fours", "fives", "sixes", "sevens", "eights", "nines"]
UNITS = ("as measured", "standardised")


def row_of_panels(n: int, height: float, n_rows: int = 1) -> tuple[Figure, Any]:
    """A figure without a window, as wide as a page, and its panels."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(n_rows, n, squeeze=False)


def finish(ax: Any, title: str) -> None:
    """A panel with a title and without ticks."""
    ax.set_title(title, fontsize=11)
    ax.set(xticks=[], yticks=[])


# The paper's figures, as the demo draws them.


@cache
def spirals() -> Any:
    """The five spirals and their fits."""
    X, y = make_spirals(random_state=0)
    return X, figure2.cluster(X, y)


@cache
def moons() -> Any:
    """The moons among outliers and their fits."""
    X, y = make_moons_with_outliers(random_state=0)
    return X, figure3.cluster(X, y)


def accuracies(fits: Any) -> dict[str, float]:
    """What each algorithm got right."""
    return {fit.algorithm: round(fit.accuracy, 3) for fit in fits}


# How to choose: what K, the bandwidth and the smoothness do.


@cache
def four_blobs() -> Any:
    """Four groups, two of which lie near each other."""
    from sklearn.datasets import make_blobs

    centres = [[0, 0], [4.8, 0], [10, 1], [8, 8]]
    return make_blobs([120] * 4, centers=centres, cluster_std=[0.8, 0.8, 1.0, 1.2], random_state=0)


@cache
def numbers_of_clusters() -> Any:
    """Models with several K, and what `select` says."""
    X, _ = four_blobs()
    models = [LaplacianKModes(k, random_state=0).fit(X) for k in K_TRIED]
    return models, select(X, range(2, 9), random_state=0)


def clusters_facts() -> dict[str, Any]:
    """Agreement with the four groups for each K, and the recommended K."""
    (_, y), (models, found) = four_blobs(), numbers_of_clusters()
    return {
        "ARI": [round(adjusted_rand(y, model.labels_), 2) for model in models],
        "recommended": int(found.n_clusters),
    }


def draw_clusters() -> Image.Image:
    """The clusters for several K, and what speaks for each K."""
    (X, _), (models, found) = four_blobs(), numbers_of_clusters()
    figure = Figure(figsize=(WIDTH, 4.6), layout="constrained")
    places = figure.add_gridspec(2, 3)
    panels = [figure.add_subplot(places[i // 3, i % 3]) for i in range(len(K_TRIED))]
    for ax, k, model, score in zip(panels, K_TRIED, models, clusters_facts()["ARI"], strict=True):
        plot_clusters(model, X, ax).set_aspect("auto")
        finish(ax, f"K = {k}: ARI {score:.2f}")
    chart = plot_selection(found, figure.add_subplot(places[1, 1:]))
    chart.set_title("what select compares", fontsize=12)
    chart.set_ylabel("")
    chart.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    return png(figure)


@cache
def bandwidths() -> Any:
    """The moons with some outliers, and a model for each bandwidth."""
    X, y = make_moons_with_outliers(500, n_outliers=40, random_state=0)
    auto = LaplacianKModes(2, random_state=0).fit(X).bandwidth_
    return X, y, [LaplacianKModes(2, bandwidth=part * auto, random_state=0).fit(X) for part in WIDTHS]


def bandwidth_facts() -> dict[str, Any]:
    """Bandwidths, accuracies, and how far a mode is from the data, the farther of both."""
    X, y, models = bandwidths()
    modes = [model.cluster_centers_ for model in models]
    return {
        "bandwidth": [round(float(model.bandwidth_), 2) for model in models],
        "right": [round(clustering_accuracy(y, model.labels_, noise=2), 3) for model in models],
        "distance of a mode": [
            round(float(np.linalg.norm(X[:, None] - C, axis=2).min(axis=0).max()), 2) for C in modes
        ],
    }


def draw_bandwidths() -> Image.Image:
    """Densities and modes for each bandwidth."""
    X, _, models = bandwidths()
    facts = bandwidth_facts()
    figure, (panels,) = row_of_panels(4, 2.2)
    for ax, model, part, far in zip(panels, models, WIDTHS, facts["distance of a mode"], strict=True):
        plot_density(model, X, ax=ax)
        x, y = model.cluster_centers_.T
        ax.scatter(x, y, s=90, c=cluster_colors(2), marker=">", edgecolors="black", linewidths=1.3, zorder=3)
        name = "auto" if part == 1 else f"{part:g} × auto"
        finish(ax, f"σ = {model.bandwidth_:.2f} ({name})")
        ax.set_xlabel(f"modes: up to {far:.2f} from the data", fontsize=9)
    return png(figure)


@cache
def smoothnesses() -> Any:
    """Two moons from a K-means start, and a crowd with a small neighbour, with a model for each smoothness."""
    from sklearn.datasets import make_blobs

    uneven = make_blobs([400, 60], centers=[[0, 0], [3.0, 0]], cluster_std=[1.0, 0.5], random_state=0)
    even = make_moons_with_outliers(500, n_outliers=0, random_state=0)
    found = []
    for (X, y), common in ((even, {"init": "k-means", "bandwidth": 0.3}), (uneven, {})):
        auto = LaplacianKModes(2, random_state=0, **common).fit(X).lam_
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a cluster ends up empty is the point of the last one
            models = [LaplacianKModes(2, lam=part * auto, random_state=0, **common).fit(X) for part in SMOOTHNESSES]
        found.append((X, y, models))
    return found


def smoothness_facts() -> dict[str, Any]:
    """Accuracies on both sets, and the size of the smaller cluster of the second."""
    rows = smoothnesses()
    right = [[round(clustering_accuracy(y, model.labels_), 2) for model in models] for _, y, models in rows]
    small = [int(np.bincount(model.labels_, minlength=2).min()) for model in rows[1][2]]
    return {"moons": right[0], "uneven": right[1], "smaller cluster": small}


def draw_smoothnesses() -> Image.Image:
    """The clusters of both sets for each smoothness."""
    facts = smoothness_facts()
    figure, rows = row_of_panels(4, 3.9, n_rows=2)
    names = ["λ = 0", *(f"λ = {part:g} × auto" if part > 1 else "λ = auto" for part in SMOOTHNESSES[1:])]
    for panels, kind, (X, _, models) in zip(rows, ("moons", "uneven"), smoothnesses(), strict=True):
        for i, (ax, model) in enumerate(zip(panels, models, strict=True)):
            finish(plot_clusters(model, X, ax), names[i] if kind == "moons" else "")
            below = "" if kind == "moons" else f", {facts['smaller cluster'][i]} in the smaller"
            ax.set_xlabel(f"{facts[kind][i]:.0%} right{below}", fontsize=9)
    return png(figure)


@cache
def scalings() -> Any:
    """Wine in its own units and standardised, as pipelines."""
    from sklearn.datasets import load_wine
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    wine = load_wine()
    steps = (FunctionTransformer(), StandardScaler())
    return wine, [make_pipeline(step, LaplacianKModes(3, random_state=0)).fit(wine.data) for step in steps]


def scaling_facts() -> dict[str, Any]:
    """Agreement with the three growers."""
    wine, pipelines = scalings()
    return {"ARI": [round(adjusted_rand(wine.target, pipeline[-1].labels_), 2) for pipeline in pipelines]}


def draw_scalings() -> Image.Image:
    """The clusters on the principal axes of what the model sees."""
    wine, pipelines = scalings()
    figure, (panels,) = row_of_panels(2, 3.4)
    names = [f"wine, {name}: ARI {score:.2f}" for name, score in zip(UNITS, scaling_facts()["ARI"], strict=True)]
    for ax, pipeline, name in zip(panels, pipelines, names, strict=True):
        plot_clusters(pipeline, wine.data, ax).set_aspect("auto")
        finish(ax, name)
    return png(figure)


# A photograph: scikit-learn's flower.


@cache
def flower() -> Any:
    """The photograph at half its size, and its segments."""
    from sklearn.datasets import load_sample_image

    image = load_sample_image("flower.jpg")[::2, ::2]
    return image, segment(image, 4, random_state=0)


def flower_facts() -> dict[str, Any]:
    """Sizes of the segments."""
    sizes = np.bincount(flower()[1].labels.ravel()) / flower()[1].labels.size
    return {"percent": sorted(np.round(100 * sizes).astype(int).tolist())}


def draw_flower() -> Image.Image:
    """Borders, mean colours and one soft map."""
    image, found = flower()
    figure, (panels,) = row_of_panels(3, 2.45)
    means = mean_colors(image, found.labels, 4)
    plot_segmentation(image, found, panels[0])
    panels[1].imshow(means[found.labels])
    petals = int(means.sum(axis=1, dtype=int).argmax())
    panels[2].imshow(found.assignments[:, :, petals], cmap="viridis", vmin=0, vmax=1)
    for ax, title in zip(panels, ("Segments and modes", "Mean colours", "Soft map of the petals"), strict=True):
        finish(ax, title)
        ax.set_axis_off()
    return png(figure)


# Pages, as a browser shows them.


@cache
def summary_of(command: str) -> dict[str, Any]:
    """What a command that writes a folder says in its summary."""
    return json.loads(in_folder(command, lambda folder: next(folder.glob("*.lapmodes/summary.json")).read_text()))


def in_folder(command: str, use: Callable[[Path], Any]) -> Any:
    """Run a command in a folder with the tables and the flower, and use what it wrote."""
    with TemporaryDirectory() as folder, working_in(Path(folder)):
        write_tables(Path(folder))
        Image.fromarray(flower()[0]).save("flower.png")
        run_command(command)
        return use(Path(folder))


FIT = "lapmodes fit wine.csv -k 3 --quiet"
SEGMENT = "lapmodes segment flower.png -k 4 --quiet"
PAGE = "*.lapmodes/report.html"


def report_facts() -> dict[str, Any]:
    """What the report of the wines is about."""
    return {name: summary_of(FIT)[name] for name in ("file", "n_clusters", "sizes")}


def segments_facts() -> dict[str, Any]:
    """What the page of the flower is about."""
    return {name: summary_of(SEGMENT)[name] for name in ("image", "n_segments", "mean_colors")}


def draw_report() -> Image.Image:
    """The report of the wines."""
    return in_folder(FIT, lambda folder: screenshots(next(folder.glob(PAGE)).as_uri()))


def draw_segments_page() -> Image.Image:
    """The page of the flower."""
    return in_folder(SEGMENT, lambda folder: screenshots(next(folder.glob(PAGE)).as_uri()))


@cache
def digits_explored() -> Any:
    """The scanned digits as a person would mend them: a cluster of eights and ones is split, two of ones are joined."""
    from sklearn.datasets import load_digits

    from lapmodes.explore.acts import Merge, Name, Split
    from lapmodes.explore.study import study_of
    from lapmodes.explore.worker import Explorer

    digits = load_digits()
    model = LaplacianKModes(10, random_state=0).fit(digits.data)
    described = {"digit": digits.target}
    explorer = Explorer(study_of(model, digits.data, title="digits", image_shape=(8, 8), described_by=described))

    def most() -> list[int]:
        labels = explorer.session.state.labels
        return [int(np.bincount(digits.target[labels == k]).argmax()) for k in range(labels.max() + 1)]

    explorer.session.do(Split(int(np.bincount(model.labels_).argmax()), 2))
    found = most()
    twice = next(digit for digit in found if found.count(digit) > 1)
    one, other = (k for k, digit in enumerate(found) if digit == twice)
    explorer.session.do(Merge(one, other))
    for k, digit in enumerate(most()):
        explorer.session.do(Name(k, DIGITS[digit]))
    return explorer


def explorer_facts() -> dict[str, Any]:
    """What the explorer shows of the digits."""
    state = digits_explored().session.state
    return {"sizes": np.bincount(state.labels).tolist(), "names": list(state.names)}


def draw_explorer() -> Image.Image:
    """The explorer with the digits by neighbours, and a cluster that is opened."""
    from lapmodes.explore.server import running

    def prepare(page: Any) -> None:
        page.wait_for_selector("html[data-ready]")
        page.check("input[name='view'][value='neighbours']", force=True)
        page.wait_for_selector("#map canvas[data-view='neighbours']", timeout=120_000)
        page.locator(".cluster summary").nth(2).click()
        page.wait_for_selector(".gallery img:nth-child(4)")
        page.evaluate("scrollTo(0, 0)")

    with running(digits_explored()) as server:
        return screenshots(server.url, (1400, 1000), prepare)


# Several levels.


@cache
def digits_on_levels() -> Any:
    """The scanned digits on three levels."""
    from sklearn.datasets import load_digits

    return fit_layers(load_digits().data, [3, 10, 20], random_state=0)


def draw_levels() -> Image.Image:
    """The tree of levels."""
    figure, panels = row_of_panels(1, 2.2)
    digits_on_levels().plot(panels[0, 0])
    return png(figure)


PICTURES = [
    Picture("figure2_spirals", lambda: accuracies(spirals()[1]), lambda: png(figure2.draw(*spirals()), dpi=110)),
    Picture("figure3_moons", lambda: accuracies(moons()[1]), lambda: png(figure3.draw(*moons()), dpi=110)),
    Picture("choosing_clusters", clusters_facts, draw_clusters),
    Picture("choosing_bandwidth", bandwidth_facts, draw_bandwidths),
    Picture("choosing_smoothness", smoothness_facts, draw_smoothnesses),
    Picture("choosing_scaling", scaling_facts, draw_scalings),
    Picture("layers", lambda: {"sizes": digits_on_levels().table["size"].tolist()}, draw_levels),
    Picture("photograph", flower_facts, draw_flower),
    Picture("report", report_facts, draw_report, needs_browser=True),
    Picture("explorer", explorer_facts, draw_explorer, needs_browser=True),
    Picture("segments", segments_facts, draw_segments_page, needs_browser=True),
]
