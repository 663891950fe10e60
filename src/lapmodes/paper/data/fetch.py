"""Real data, ready for use: MNIST, Fashion-MNIST, USPS, COIL-20 and TDT2."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import csr_array, load_npz

from ..._records import Array
from ..._settings import is_number
from ..._validation import parameter_error
from .sources import COIL20, FASHION_MNIST, MNIST, USPS, DataNotFoundError, Dataset, cache_folder, find, load_arrays

COUNTS, CLASSES = "tdt2_30_X.npz", "tdt2_30_y.npz"
"""Files of TDT2, which may not be passed on and is never downloaded."""


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
    return _labelled_points(MNIST, per_class, unit_norm, dtype, random_state)


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
    return _labelled_points(FASHION_MNIST, per_class, unit_norm, dtype, random_state)


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
    return _labelled_points(USPS, None, unit_norm, dtype)


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
    return _labelled_points(COIL20, None, unit_norm, dtype)


def load_tdt2(*, tfidf: bool = True, unit_norm: bool = True, dtype: Any = np.float32) -> tuple[Any, Array]:
    """The 9,394 documents in the 30 largest categories of NIST's TDT2 corpus, 36,771 terms.

    The corpus is licensed by the Linguistic Data Consortium (LDC2001T57, https://catalog.ldc.upenn.edu/LDC2001T57)
    and never downloaded. Two files are read from the folder that the environment variable LAPMODES_DATA names, or
    from the cache: `tdt2_30_X.npz`, the term counts as written by ``scipy.sparse.save_npz``, and `tdt2_30_y.npz`
    with the array y.

    Parameters
    ----------
    tfidf : bool, default=True
        Weigh the counts as Cai et al. do: (1 + log count) * log(documents / documents with the term).
    unit_norm : bool, default=True
        Scale each document to unit length, as the paper does.
    dtype : {float32, float64}, default=float32
        Precision.

    Returns
    -------
    X : CSR matrix of shape (n_documents, n_terms)
    y : ndarray of shape (n_documents,)
        Number of the category, from 0.

    Examples
    --------
    >>> from lapmodes.datasets import load_tdt2
    >>> X, y = load_tdt2()  # doctest: +SKIP
    """
    counts, classes = find(COUNTS), find(CLASSES)
    if counts is None or classes is None:
        raise DataNotFoundError(
            "TDT2 is licensed by the Linguistic Data Consortium (https://catalog.ldc.upenn.edu/LDC2001T57) and cannot "
            f"be downloaded. Put {COUNTS} (term counts, by scipy.sparse.save_npz) and {CLASSES} (an array y) into the "
            f"folder that the environment variable LAPMODES_DATA names, or into {cache_folder()}."
        )
    X = csr_array(load_npz(counts), dtype=np.float64)
    with np.load(classes, allow_pickle=False) as stored:
        y = stored["y"].astype(np.int64)
    return prepared(term_weights(X) if tfidf else X, unit_norm, dtype), y


def term_weights(counts: Any) -> Any:
    """TF-IDF of a CSR matrix of counts."""
    X = counts.copy()
    X.eliminate_zeros()
    documents = np.bincount(X.indices, minlength=X.shape[1])
    X.data = (1 + np.log(X.data)) * np.log(X.shape[0] / np.maximum(documents, 1))[X.indices]
    return X


def _labelled_points(
    dataset: Dataset, per_class: int | None, unit_norm: bool, dtype: Any, random_state: Any = None
) -> tuple[Array, Array]:
    """The points of a data set, or a sample of them, and their classes."""
    X, y = load_arrays(dataset)
    if per_class is not None:
        chosen = sample_per_class(y, per_class, random_state)
        X, y = X[chosen], y[chosen]
    return prepared(X, unit_norm, dtype), y.astype(np.int64)


def prepared(X: Any, unit_norm: bool, dtype: Any) -> Any:
    """X in the precision asked for, bytes scaled to [0, 1], rows scaled to unit length if asked for."""
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise parameter_error("the fetchers", "dtype", "float32 or float64", dtype)
    scaled = X.astype(dtype)
    if X.dtype == np.uint8:
        scaled /= 255
    if unit_norm:
        from sklearn.preprocessing import normalize

        normalize(scaled, copy=False)
    return scaled


def sample_per_class(y: Array, per_class: int, random_state: Any) -> Array:
    """Rows of a random sample with equally many of each class, in their order."""
    smallest = int(np.unique(y, return_counts=True)[1].min())
    if not is_number(per_class, Integral, 1) or per_class > smallest:
        raise parameter_error("the fetchers", "per_class", f"None or an int from 1 to {smallest}", per_class)
    rng = np.random.default_rng(random_state)
    chosen = [rng.choice(np.flatnonzero(y == label), per_class, replace=False) for label in np.unique(y)]
    return np.sort(np.concatenate(chosen))
