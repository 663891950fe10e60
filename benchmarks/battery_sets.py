"""The data of the battery: small sets with several labelings, images and texts with rows of unit length."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

SAMPLES = 20
"""Random samples of 200 images a digit."""


def folder() -> Path:
    """Where the data are."""
    return Path(os.environ["LAPMODES_DATA"])


def battery(largest: int) -> Iterator[tuple[str, np.ndarray, list[np.ndarray]]]:
    """Name, points and labelings (0 is noise) of each set."""
    with np.load(folder() / "battery_dev.npz") as stored:
        for name in sorted({key.rsplit("/", 1)[0] for key in stored.files}):
            X = stored[f"{name}/X"].astype(np.float64)
            if len(X) <= largest:
                yield name, X, [stored[key] for key in sorted(stored.files) if key.startswith(f"{name}/y")]


def peers() -> dict[str, dict[str, str]]:
    """What other algorithms score."""
    with open(folder() / "battery_dev_peers.csv") as stream:
        return {f"{row['battery']}/{row['dataset']}": row for row in csv.DictReader(stream)}


def images(largest: int, samples: int = SAMPLES) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Digits, COIL-20, samples of MNIST, TDT2 with TF-IDF, all of MNIST."""
    return (found for found in _images(samples, largest) if found[1].shape[0] <= largest)


def _images(samples: int, largest: int) -> Iterator[tuple[str, Any, np.ndarray]]:
    from sklearn.datasets import load_digits

    from lapmodes.datasets import load_tdt2

    digits = load_digits()
    yield "digits", normalize(digits.data), digits.target
    with np.load(folder() / "coil20_32.npz") as stored:
        yield "COIL-20", normalize(stored["X"].astype(np.float64)), stored["y"]
    X, y = mnist()
    for name, size, repeats in (("MNIST-2000", 200, samples), ("MNIST-10k", 1000, 1)):
        for seed in range(repeats):
            rng = np.random.default_rng(seed)
            rows = np.concatenate([rng.choice(np.flatnonzero(y == c), size, replace=False) for c in range(10)])
            yield name, X[rows].astype(np.float64), y[rows]
    if largest >= 9394:  # reading the texts takes a while
        yield ("TDT2", *load_tdt2())
    yield "MNIST-70k", X, y


def mnist() -> tuple[np.ndarray, np.ndarray]:
    """All of MNIST in single precision."""
    with np.load(folder() / "mnist70k.npz") as stored:
        return normalize(stored["X"].astype(np.float32)), stored["y"]
