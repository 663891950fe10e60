"""Real images, downloaded once: MNIST, Fashion-MNIST, USPS and COIL-20."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from .._records import Array
from ._download import Dataset, Source, load_arrays
from ._prepare import prepared, sample_per_class


def _from_keras(files: list[Path]) -> tuple[Array, Array]:
    """Training and test images of Keras's archive, in this order."""
    with np.load(files[0], allow_pickle=False) as stored:
        X = np.concatenate([stored["x_train"], stored["x_test"]])
        return X.reshape(len(X), -1), np.concatenate([stored["y_train"], stored["y_test"]])


def _from_idx(files: list[Path]) -> tuple[Array, Array]:
    """Images, labels, images, labels in the format of MNIST's home page: a header, then bytes."""
    images, labels, more_images, more_labels = (gzip.decompress(file.read_bytes()) for file in files)
    X = np.concatenate([np.frombuffer(each, np.uint8, offset=16) for each in (images, more_images)])
    return X.reshape(-1, 28 * 28), np.concatenate([np.frombuffer(y, np.uint8, offset=8) for y in (labels, more_labels)])


def _from_libsvm(files: list[Path]) -> tuple[Array, Array]:
    """Sparse text with pixels from -1 to 1 and labels from 1 to 10."""
    from sklearn.datasets import load_svmlight_files

    X, y, more_X, more_y = load_svmlight_files([str(file) for file in files], n_features=16 * 16)
    pixels = np.concatenate([X.toarray(), more_X.toarray()])
    return ((pixels + 1) / 2).astype(np.float32), np.concatenate([y, more_y]).astype(np.uint8) - 1


def _from_matlab(files: list[Path]) -> tuple[Array, Array]:
    """Pixels from 0 to 1, each image column by column, and labels from 1."""
    from scipy.io import loadmat

    stored = loadmat(files[0])
    return stored["X"].astype(np.float32), stored["Y"].ravel().astype(np.int16) - 1


FASHION = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/b2617bb6d3ffa2e429640350f613e3291e10b141/"
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/"
SKFEATURE = "https://raw.githubusercontent.com/jundongl/scikit-feature/48cffad4e88ff4b9d2f1c7baffb314d1b3303792/"

MNIST = Dataset(
    "MNIST",
    "mnist70k.npz",
    (
        Source(
            "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz",
            "sha256:731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1",
        ),
    ),
    _from_keras,
    "Creative Commons BY-SA 3.0, Y. LeCun and C. Cortes.",
)
FASHION_MNIST = Dataset(
    "Fashion-MNIST",
    "fashion_mnist.npz",
    tuple(
        Source(f"{FASHION}data/fashion/{name}-ubyte.gz", f"sha256:{checksum}")
        for name, checksum in (
            ("train-images-idx3", "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
            ("train-labels-idx1", "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
            ("t10k-images-idx3", "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
            ("t10k-labels-idx1", "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
        )
    ),
    _from_idx,
    "MIT, Zalando SE.",
)
USPS = Dataset(
    "USPS",
    "usps.npz",
    (
        Source(f"{LIBSVM}usps.bz2", "md5:ec16c51db3855ca6c91edd34d0e9b197"),
        Source(f"{LIBSVM}usps.t.bz2", "md5:8ea070ee2aca1ac39742fdd1ef5ed118"),
    ),
    _from_libsvm,
    "none stated; collected by the US Postal Service (J. J. Hull 1994), for research.",
)
COIL20 = Dataset(
    "COIL-20",
    "coil20_32.npz",
    (
        Source(
            f"{SKFEATURE}skfeature/data/COIL20.mat",
            "sha256:4595ebdda07f47b0eb014fcfaddc22b452f9aed9c1d9261a0d5bc336c1ee1344",
        ),
    ),
    _from_matlab,
    "for research only, Columbia University (S. A. Nene, S. K. Nayar and H. Murase 1996).",
)


def fetch_mnist(
    *, per_class: int | None = None, unit_norm: bool = False, dtype: Any = np.float32, random_state: Any = None
) -> tuple[Array, Array]:
    """The 70,000 handwritten digits of MNIST, 28 x 28 pixels, the 60,000 for training first.

    Read from `mnist70k.npz` in the folder that the environment variable LAPMODES_DATA names, or from the cache
    (LAPMODES_CACHE, or the user's cache folder), to which it is downloaded once (11 MB).

    Parameters
    ----------
    per_class : int or None, default=None
        Only this many random images of each digit; the paper uses 200. None: all.
    unit_norm : bool, default=False
        Scale each image to unit length, as the paper does.
    dtype : {float32, float64}, default=float32
        Precision.
    random_state : int, Generator or None, default=None
        Seed of the choice of images.

    Returns
    -------
    X : ndarray of shape (n_samples, 784)
        Pixels between 0 and 1.
    y : ndarray of shape (n_samples,)
        The digit.

    Examples
    --------
    >>> from lapmodes.datasets import fetch_mnist
    >>> X, y = fetch_mnist(per_class=200, unit_norm=True, random_state=0)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (2000, 784)
    """
    return _fetch(MNIST, per_class, unit_norm, dtype, random_state)


def fetch_fashion_mnist(
    *, per_class: int | None = None, unit_norm: bool = False, dtype: Any = np.float32, random_state: Any = None
) -> tuple[Array, Array]:
    """The 70,000 pictures of clothes of Fashion-MNIST, 28 x 28 pixels, the 60,000 for training first.

    Read from `fashion_mnist.npz`, found or downloaded (31 MB) as by :func:`fetch_mnist`.

    Parameters
    ----------
    per_class, unit_norm, dtype, random_state
        As in :func:`fetch_mnist`.

    Returns
    -------
    X : ndarray of shape (n_samples, 784)
        Pixels between 0 and 1.
    y : ndarray of shape (n_samples,)
        0 to 9: T-shirt, trousers, pullover, dress, coat, sandal, shirt, sneaker, bag, ankle boot.

    Examples
    --------
    >>> from lapmodes.datasets import fetch_fashion_mnist
    >>> X, y = fetch_fashion_mnist()  # doctest: +SKIP
    """
    return _fetch(FASHION_MNIST, per_class, unit_norm, dtype, random_state)


def fetch_usps(*, unit_norm: bool = False, dtype: Any = np.float32) -> tuple[Array, Array]:
    """The 9,298 handwritten digits of USPS, 16 x 16 pixels, the 7,291 for training first.

    Read from `usps.npz`, found or downloaded (8 MB) as by :func:`fetch_mnist`.

    Parameters
    ----------
    unit_norm, dtype
        As in :func:`fetch_mnist`.

    Returns
    -------
    X : ndarray of shape (9298, 256)
        Pixels between 0 and 1.
    y : ndarray of shape (9298,)
        The digit.

    Examples
    --------
    >>> from lapmodes.datasets import fetch_usps
    >>> X, y = fetch_usps()  # doctest: +SKIP
    """
    return _fetch(USPS, None, unit_norm, dtype)


def fetch_coil20(*, unit_norm: bool = False, dtype: Any = np.float32) -> tuple[Array, Array]:
    """COIL-20: 72 pictures of each of 20 objects on a turntable, 32 x 32 pixels.

    Read from `coil20_32.npz`, found or downloaded (3 MB) as by :func:`fetch_mnist`. Each row is an image column by
    column: ``X[0].reshape(32, 32).T`` stands upright.

    Parameters
    ----------
    unit_norm, dtype
        As in :func:`fetch_mnist`.

    Returns
    -------
    X : ndarray of shape (1440, 1024)
        Pixels between 0 and 1.
    y : ndarray of shape (1440,)
        Number of the object, from 0.

    Examples
    --------
    >>> from lapmodes.datasets import fetch_coil20
    >>> X, y = fetch_coil20(unit_norm=True)  # doctest: +SKIP
    """
    return _fetch(COIL20, None, unit_norm, dtype)


def _fetch(
    dataset: Dataset, per_class: int | None, unit_norm: bool, dtype: Any, random_state: Any = None
) -> tuple[Array, Array]:
    X, y = load_arrays(dataset)
    if per_class is not None:
        chosen = sample_per_class(y, per_class, random_state)
        X, y = X[chosen], y[chosen]
    return prepared(X, unit_norm, dtype), y.astype(np.int64)
