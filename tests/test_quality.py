"""Quality of the default, guarded: generated sets on which it must not become worse.

Each floor is the lowest adjusted Rand index of the seeds, less 0.03 for other machines. To measure again after a change
of the start, and print the table as it should stand here: ``python tests/test_quality.py``.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from lapmodes import LaplacianKModes
from lapmodes.datasets import make_moons_with_outliers

SEEDS = range(3)
SLACK = 0.03


def circle(rng, n, radius, noise=0.0):
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]) * (radius + noise * rng.normal(size=n))[:, None]


def labelled(*parts):
    """Parts as (points, classes)."""
    return np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def rings(rng):
    """Three rings around each other."""
    return labelled(*(circle(rng, 100 * radius, radius, 0.1) for radius in (1, 2, 3)))


def ring_disc_and_blob(rng):
    """A ring around a disc, and a far blob: three shapes that no single rule finds."""
    return labelled(circle(rng, 300, 5, 0.1), rng.normal(size=(200, 2)), 0.4 * rng.normal(size=(60, 2)) + 9)


def moons_with_outliers(rng):
    """The paper's moons; the outliers have no class."""
    return make_moons_with_outliers(random_state=int(rng.integers(1000)))


def unlike_densities(rng):
    """Three blobs whose densities differ by a factor of 400."""
    centers = np.array([[0.0, 0.0], [14.0, 0.0], [7.0, 12.0]])
    return labelled(
        *(center + width * rng.normal(size=(250, 2)) for center, width in zip(centers, (0.15, 1, 3), strict=True))
    )


def unlike_sizes(rng):
    """Blobs of 20, 100, 500 and 1000 points."""
    centers = np.array([[0.0, 0.0], [7.0, 0.0], [0.0, 7.0], [8.0, 8.0]])
    return labelled(
        *(center + rng.normal(size=(n, 2)) for center, n in zip(centers, (20, 100, 500, 1000), strict=True))
    )


def thin_chains(rng):
    """Four long wavy lines."""
    lines = []
    for k in range(4):
        t = np.sort(rng.uniform(0, 20, 250))
        lines.append(np.column_stack([t, 2.2 * k + np.sin(t)]) + 0.12 * rng.normal(size=(250, 2)))
    return labelled(*lines)


def spirals_of_few_points(rng):
    """Two spiral arms of 200 points each."""
    t = 3 * np.pi * np.sqrt(rng.uniform(0.05, 1, (2, 200)))
    arms = [np.column_stack([turn * a * np.cos(a), turn * a * np.sin(a)]) for a, turn in zip(t, (1, -1), strict=True)]
    return labelled(*(arm + 0.25 * rng.normal(size=arm.shape) for arm in arms))


def overlapping_gaussians(rng):
    """Three Gaussians that run into each other: no clustering is perfect."""
    centers = 3.2 * np.array([[0, 0], [1, 0], [0.5, 0.87]])
    return labelled(*(center + rng.normal(size=(300, 2)) for center in centers))


def stretched_gaussians(rng):
    """Two long Gaussians side by side, at an angle."""
    turn = np.array([[0.8, 0.6], [-0.6, 0.8]])
    return labelled(*((rng.normal(size=(300, 2)) * [4, 0.5] + [0, 3.5 * k]) @ turn for k in range(2)))


def high_dimension(rng):
    """Six Gaussians in 100 dimensions."""
    centers = rng.normal(size=(6, 100))
    return labelled(*(center + 1.6 * rng.normal(size=(120, 100)) for center in centers))


def high_dimension_with_hubs(rng):
    """Five Gaussians of unlike width in 50 dimensions: the narrow ones are everybody's neighbours."""
    centers = 1.2 * rng.normal(size=(5, 50))
    return labelled(
        *(
            center + width * rng.normal(size=(120, 50))
            for center, width in zip(centers, (0.5, 0.8, 1.1, 1.4, 1.7), strict=True)
        )
    )


def blobs_in_noise(rng):
    """Four blobs in uniform noise, which has no class."""
    centers = np.array([[2.0, 2.0], [8.0, 2.0], [2.0, 8.0], [8.0, 8.0]])
    X, y = labelled(*(center + 0.5 * rng.normal(size=(150, 2)) for center in centers), rng.uniform(0, 10, (120, 2)))
    return X, y


BATTERY = [
    rings,
    ring_disc_and_blob,
    moons_with_outliers,
    unlike_densities,
    unlike_sizes,
    thin_chains,
    spirals_of_few_points,
    overlapping_gaussians,
    stretched_gaussians,
    high_dimension,
    high_dimension_with_hubs,
    blobs_in_noise,
]
WITHOUT_CLASS = {"moons_with_outliers": 2, "blobs_in_noise": 4}
"""Sets whose points from this class on are noise: they are clustered, and not scored."""
FLOORS = {
    "rings": 0.97,
    "ring_disc_and_blob": 0.96,
    "moons_with_outliers": 0.97,
    "unlike_densities": 0.96,
    "unlike_sizes": 0.97,
    "thin_chains": 0.97,
    "spirals_of_few_points": 0.97,
    "overlapping_gaussians": 0.56,
    "stretched_gaussians": 0.95,
    "high_dimension": 0.97,
    "high_dimension_with_hubs": 0.92,
    "blobs_in_noise": 0.97,
}


def score(make, seed):
    """Adjusted Rand index of the default on one draw."""
    X, y = make(np.random.default_rng(seed))
    known = y < WITHOUT_CLASS.get(make.__name__, y.max() + 1)
    labels = LaplacianKModes(int(y[known].max()) + 1, random_state=0).fit(X).labels_
    return adjusted_rand_score(y[known], labels[known])


@pytest.mark.parametrize("make", BATTERY, ids=lambda make: make.__name__)
def test_the_default_keeps_its_quality(make):
    assert min(score(make, seed) for seed in SEEDS) >= FLOORS[make.__name__]


def test_every_set_has_a_floor_that_means_something():
    assert set(FLOORS) == {make.__name__ for make in BATTERY}
    assert np.mean(list(FLOORS.values())) > 0.85


def main() -> None:
    """Print what is measured now, and the floors that follow from it."""
    warnings.simplefilter("ignore")
    floors = {}
    for make in BATTERY:
        scores = [score(make, seed) for seed in SEEDS]
        floors[make.__name__] = max(0.0, np.floor(100 * (min(scores) - SLACK)) / 100)
        old = FLOORS.get(make.__name__, np.nan)
        print(
            f"# {make.__name__:26}",
            *(f"{each:.3f}" for each in scores),
            f"  floor {old:.2f} -> {floors[make.__name__]:.2f}",
        )
    print("FLOORS = {", *(f'    "{name}": {floor:.2f},' for name, floor in floors.items()), "}", sep="\n")


if __name__ == "__main__":
    main()
