"""A model file from anybody: whatever its arrays hold, it is refused as damaged or it answers; nothing crashes."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import lapmodes
from lapmodes import LaplacianKModes

MUTATIONS = {
    "empty": lambda array: array[:0] if array.ndim else array.reshape(1)[:0],
    "one more axis": lambda array: array[None],
    "doubled": lambda array: np.concatenate([np.atleast_1d(array)] * 2),
    "cut": lambda array: np.atleast_1d(array)[:-1],
    "text": lambda array: np.full(array.shape, "x"),
    "bytes": lambda array: np.zeros(array.shape, dtype=np.int8),
    "complex": lambda array: np.zeros(array.shape, dtype=np.complex128),
    "huge": lambda array: np.full(array.shape, 2**62, dtype=np.int64),
    "negative": lambda array: np.full(array.shape, -(2**31), dtype=np.int64),
    "not a number": lambda array: np.full(array.shape, np.nan),
}
OPTIONS = {
    "entropic": {"bandwidth": "entropic", "affinity": "self-tuning", "laplacian": "normalized"},
    "anchors": {"affinity": "anchor"},
}


@pytest.fixture(scope="module", params=OPTIONS)
def arrays(request, tmp_path_factory):
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0], [9]], 30, axis=0)
    model = LaplacianKModes(2, random_state=0, n_jobs=1, **OPTIONS[request.param])
    model.fit(X, sample_weight=np.r_[0.0, np.ones(59)])
    file = tmp_path_factory.mktemp("model") / "model.npz"
    model.save(file)
    with np.load(file) as stored:
        return {name: stored[name] for name in stored.files}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_mutated_arrays_are_refused_or_harmless(arrays, mutation, tmp_path):
    new = np.random.default_rng(1).normal(size=(5, 2))
    refused = 0
    for name, array in arrays.items():
        np.savez(tmp_path / "model.npz", **(arrays | {name: MUTATIONS[mutation](array)}))
        try:
            model = lapmodes.load(tmp_path / "model.npz")
        except ValueError:  # the only error there may be
            refused += 1
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert model.predict_proba(new).shape == (5, 2), name
    assert refused > len(arrays) / 3


WRONG = [None, "x", [], {}, -1, 0, 2**70, float("nan"), float("inf"), [[0]], {"a": {}}, True]


def test_mutated_headers_are_refused_or_harmless(arrays, tmp_path):
    new = np.random.default_rng(1).normal(size=(5, 2))
    header = json.loads(str(arrays["header"][()]))
    mutants = [{name: value for name, value in header.items() if name != gone} for gone in header]
    mutants += [header | {name: value} for name in header for value in WRONG]
    for name in ("parameters", "affinity"):
        mutants += [header | {name: header[name] | {key: value}} for key in header[name] for value in WRONG]
    mutants += [header | {"parameters": header["parameters"] | {"callback": 1}}, [], 3, "x"]
    for mutant in mutants:
        np.savez(tmp_path / "model.npz", **(arrays | {"header": np.asarray(json.dumps(mutant))}))
        try:
            model = lapmodes.load(tmp_path / "model.npz")
        except ValueError as error:  # the only error there may be
            assert "not a lapmodes model" in str(error) or "another version" in str(error)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                assert model.predict_proba(new).shape == (5, 2)
            except ValueError as error:  # of a parameter that is told when it is used
                assert "parameter" in str(error) or "graph" in str(error), mutant
