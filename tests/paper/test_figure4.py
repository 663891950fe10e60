import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapmodes.datasets import make_occluder
from lapmodes.paper import figure4
from lapmodes.paper.figure4 import (
    NAMES,
    SweepPoint,
    occluder_error,
    perfect_range,
    segment_all,
    sigma_sweep,
    width,
)
from lapmodes.paper.results import Setting


@pytest.fixture(scope="module")
def image():
    return make_occluder(random_state=0)


def sweep_of(flags):
    return [SweepPoint(2.0**i, 0.0 if good else 0.1, 0.2, 0.2) for i, good in enumerate(flags)]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.booleans(), max_size=12))
def test_range_is_the_longest_run_of_perfect_sigmas(flags):
    text = "".join(".#"[good] for good in flags)
    longest = max(map(len, text.split(".")), default=0)
    ends = perfect_range(sweep_of(flags), "laplacian_kmodes")
    assert (ends is None) == (longest == 0)
    assert width(sweep_of(flags), "laplacian_kmodes") == (2.0 ** (longest - 1) if longest else 0.0)
    if ends is not None:
        low, high = (int(np.log2(end)) for end in ends)
        assert text[low : high + 1] == "#" * longest


def test_error_counts_pixels_on_either_side():
    mask = np.zeros((4, 5), dtype=bool)
    mask[1:3, 1:4] = True
    labels = np.where(mask, 3, 1)
    assert occluder_error(labels, mask) == 0
    labels[1, 1] = 2  # missed
    labels[0, 0] = 3  # too much
    assert occluder_error(labels, mask) == 2 / mask.size


def test_wide_kernel_loses_normalised_cut_but_not_laplacian_kmodes(image):
    near, wide = sigma_sweep(*image, [0.1, 0.25])
    assert near.laplacian_kmodes == near.either_cut == wide.laplacian_kmodes == 0
    assert wide.normalized_cut > 0 and wide.regularized_cut > 0
    assert wide.either_cut == min(wide.normalized_cut, wide.regularized_cut)


def test_same_seed_same_labels(image):
    first, second = (segment_all(image[0], 0.1, random_state=3) for _ in range(2))
    assert set(first) == set(NAMES)
    assert all(np.array_equal(first[name], second[name]) for name in NAMES)


def test_claim_counts_images():
    wide = [SweepPoint(0.1, 0, 0, 0.1), SweepPoint(0.2, 0, 0.1, 0.1)]
    even = [SweepPoint(0.1, 0, 0, 0.1), SweepPoint(0.2, 0, 0.1, 0)]
    narrow = [SweepPoint(0.1, 0.1, 0, 0.1), SweepPoint(0.2, 0.1, 0.1, 0.1)]
    assert "wider on 1, equal on 1, narrower on 1 of 3" in figure4.claim([wide, even, narrow]).measured
    assert figure4.claim([wide, wide, even]).holds
    assert not figure4.claim([wide, even, narrow]).holds
    assert not figure4.claim([even]).holds


def test_result(monkeypatch):
    monkeypatch.setattr(figure4, "QUICK", figure4.Scale(1, 4))
    result = figure4.run(Setting(quick=True))
    ranges, errors = result.tables
    assert len(ranges.rows) == 1 and len(errors.rows) == 4
    assert [len(picture.figure.axes) for picture in result.pictures] == [4, 1]
    curves = {line.get_label() for line in result.pictures[0].figure.axes[1].lines}
    assert set(NAMES.values()) <= curves
