"""The TDT2 news corpus, which is read from a file of your own: it may not be passed on."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, load_npz

from .._records import Array
from ._download import DataNotFoundError, cache_folder, find
from ._prepare import prepared

COUNTS, CLASSES = "tdt2_30_X.npz", "tdt2_30_y.npz"


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
