"""Places of rows, and pictures of many: counted pixel by pixel as NumPy counts them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from lapmodes import LaplacianKModes, _native
from lapmodes.explore.maps import (
    CODES,
    SHEET,
    Plane,
    Sheet,
    columns_view,
    components_view,
    load_places,
    neighbours_view,
    save_places,
    spread_places,
)


@pytest.fixture(scope="module")
def places():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(3000, 2)), rng.normal(size=(2000, 2)) * 0.1 + 3]).astype(np.float32)


@pytest.fixture(scope="module")
def plane(places):
    return Plane.of(places, places.min(axis=0).astype(float) - 0.1, places.max(axis=0).astype(float) + 0.1)


@pytest.fixture(scope="module")
def colors():
    palette = np.zeros((CODES, 4), dtype=np.uint32)
    palette[0], palette[1] = (200, 100, 50, 1), (0, 255, 10, 1)
    return palette


def count(places, codes, palette, window, size, dot=1):
    """Sums of colours and numbers of points in each pixel, one point after the other."""
    left, right, bottom, top = window
    sums = np.zeros((size[1], size[0], 4), dtype=np.uint32)
    x = np.floor((places[:, 0] - np.float32(left)) * np.float32(size[0] / (right - left))).astype(int)
    y = np.floor((np.float32(top) - places[:, 1]) * np.float32(size[1] / (top - bottom))).astype(int)
    for column, line, code in zip(x, y, codes, strict=True):
        if 0 <= column < size[0] and 0 <= line < size[1]:
            first = max(0, line - (dot - 1) // 2), max(0, column - (dot - 1) // 2)
            last = line - (dot - 1) // 2 + dot, column - (dot - 1) // 2 + dot
            sums[first[0] : last[0], first[1] : last[1]] += palette[code]
    return sums


@pytest.mark.parametrize("dot", [1, 2, 3])
@pytest.mark.parametrize("window", [(-4, 4, -4, 4), (2.5, 3.5, 2.5, 3.5), (-1, 0, 0, 0.3), (50, 60, 50, 60)])
def test_pixels_are_counted(places, colors, window, dot):
    codes = (np.arange(len(places)) % 3).astype(np.uint16)  # the third is hidden
    left, right, bottom, top = map(float, window)
    sums = np.zeros((40, 60, 4), dtype=np.uint32)
    ranges = np.array([[0, 1000], [1000, len(places)]])
    across, down = 60 / (right - left), 40 / (top - bottom)
    seen = _native.add_pixels(places, codes, colors, ranges, left, top, across, down, dot, sums)
    expected = count(places, codes, colors, (left, right, bottom, top), (60, 40), dot)
    assert np.array_equal(sums, expected)
    if dot == 1:
        assert seen == expected[..., 3].sum()


def test_levels_hold_the_same_points(plane, colors):
    codes = np.zeros(len(plane.xy), dtype=np.uint16)
    sheet = Sheet(plane, codes, colors)
    assert sheet.levels[0].shape == (SHEET, SHEET, 4)
    assert all(np.array_equal(level.sum(axis=(0, 1)), [1e6, 5e5, 2.5e5, 5000]) for level in sheet.levels)


@pytest.mark.parametrize("zoom", [0.8, 1, 1.3, 2, 5, 40, 1000])
def test_a_picture_shows_what_is_there(plane, places, colors, zoom):
    """Wherever the picture has a colour there are points, and the other way round, at every zoom."""
    sheet = Sheet(plane, np.zeros(len(places), dtype=np.uint16), colors)
    middle = places[4000].astype(float)
    half = (plane.high - plane.low) / 2 / zoom
    window = (middle[0] - half[0], middle[0] + half[0], middle[1] - half[1], middle[1] + half[1])
    pixels, shown = sheet.picture(window, (300, 200))
    height, width = pixels.shape[:2]
    assert max(width, height) <= 2 * SHEET and shown[1] > shown[0]
    x = (places[:, 0] - shown[0]) / (shown[1] - shown[0]) * width
    y = (shown[3] - places[:, 1]) / (shown[3] - shown[2]) * height
    inside = (x > 0.01) & (y > 0.01) & (x < width - 0.01) & (y < height - 0.01)
    # Rounding to single precision may move a point into the next pixel, but not away from all of them.
    lit = np.pad(pixels[..., 3] > 0, 1)
    line, column = y[inside].astype(int) + 1, x[inside].astype(int) + 1
    around = np.stack([lit[line + a, column + b] for a in (-1, 0, 1) for b in (-1, 0, 1)])
    assert around.any(axis=0).all()
    centers = np.argwhere(pixels[..., 3] > 0)[:, ::-1] + 0.5
    assert (cKDTree(np.column_stack([x, y])).query(centers)[0] < 6).all()
    assert set(map(tuple, pixels[pixels[..., 3] > 0][:, :3])) <= {(200, 100, 50)}


def test_hidden_points_are_not_drawn(plane, colors):
    sheet = Sheet(plane, np.full(len(plane.xy), CODES - 1, dtype=np.uint16), colors)
    assert sheet.picture((-4, 4, -4, 4), (100, 100))[0][..., 3].max() == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_row_is_found(plane, places, seed):
    x, y = np.random.default_rng(seed).normal(size=2)
    apart = ((places - [x, y]) ** 2).sum(axis=1)
    assert apart[plane.nearest(x, y, (2.0, 2.0))] == pytest.approx(apart.min(), rel=1e-5)
    assert plane.nearest(x + 100, y, (1.0, 1.0)) == -1


def test_a_lasso_has_the_rows_inside(plane, places):
    corners = np.array([[0.0, 0], [2, 0.2], [1, 1], [2, 2], [-0.5, 2]])
    rows = plane.inside(corners)
    path = pytest.importorskip("matplotlib.path").Path(corners)
    assert np.array_equal(rows, np.flatnonzero(path.contains_points(places.astype(float))))


def test_ranges_miss_no_point(plane, places):
    window = (0.3, 0.9, -0.2, 0.5)
    at = plane.points_in(window)
    x, y = places.T
    expected = np.flatnonzero((x >= 0.3) & (x <= 0.9) & (y >= -0.2) & (y <= 0.5))
    assert np.array_equal(np.sort(plane.order[at]), expected)


def test_places_of_a_constant_column():
    rows = np.ones((30, 2), dtype=np.float32)
    view = columns_view(rows, (0, 1), ("a", "b"), lambda modes: modes)
    assert np.isfinite(view.bounds).all() and (view.bounds[1] > view.bounds[0]).all()
    assert view.plane.inside(np.array([[0.0, 0], [2, 0], [2, 2], [0, 2]])).size == 30


def test_columns_are_in_their_units():
    rows = np.arange(20.0).reshape(10, 2)
    view = columns_view(rows, (1, 0), ("a", "b"), lambda modes: modes * 2)
    assert view.axes == ("b", "a")
    assert np.array_equal(view.positions, rows[:, ::-1])
    assert np.array_equal(view.to_plane(rows[:2]), 2 * rows[:2, ::-1])


def test_modes_and_rows_share_the_components():
    X = np.random.default_rng(0).normal(size=(500, 6)).astype(np.float32)
    view = components_view(X)
    assert np.allclose(view.to_plane(X[:5]), view.positions[:5], atol=1e-4)
    assert np.allclose(components_view(csr_array(X)).positions, view.positions, atol=1e-3)


def test_rows_that_were_not_placed_lie_among_their_neighbours():
    graph = csr_array(np.diag(np.ones(9), 1) + np.diag(np.ones(9), -1))
    rows = np.array([0, 9])
    placed = spread_places(graph, rows, np.array([[0.0, 0], [9, 9]]), np.zeros((10, 2)))
    assert np.array_equal(placed[rows], [[0, 0], [9, 9]])
    assert (np.diff(placed[:, 0]) >= 0).all()


def test_places_are_kept(tmp_path, groups):
    pytest.importorskip("openTSNE")
    model = LaplacianKModes(3, random_state=0, n_jobs=1).fit(groups)
    told = []
    view = neighbours_view(model, groups, components_view(groups).positions, lambda *step: told.append(step))
    assert told and view.positions.shape == (80, 2)
    save_places(tmp_path / "map.npz", view, "mark")
    again = load_places(tmp_path / "map.npz", 80, "mark")
    assert np.array_equal(again.positions, view.positions)
    assert load_places(tmp_path / "map.npz", 80, "another") is None
    assert load_places(tmp_path / "map.npz", 81, "mark") is None
    (tmp_path / "map.npz").write_bytes(b"nonsense")
    assert load_places(tmp_path / "map.npz", 80, "mark") is None


@pytest.mark.parametrize(
    "change",
    [
        {"ranges": np.array([[0, 9999999]])},
        {"ranges": np.array([[5, 2]])},
        {"codes": np.zeros(3, dtype=np.uint16)},
        {"palette": np.zeros((4, 4), dtype=np.uint32)},
        {"sums": np.zeros((4, 4, 3), dtype=np.uint32)},
        {"dot": 0},
    ],
)
def test_kernels_refuse_wrong_shapes(places, colors, change):
    arguments = {
        "xy": places,
        "codes": np.zeros(len(places), dtype=np.uint16),
        "palette": colors,
        "ranges": np.array([[0, 10]]),
        "left": 0.0,
        "top": 0.0,
        "across": 1.0,
        "down": 1.0,
        "dot": 1,
        "sums": np.zeros((4, 4, 4), dtype=np.uint32),
    }
    with pytest.raises(ValueError, match="must"):
        _native.add_pixels(**arguments | change)


def test_a_picture_lies_inside_of_its_sums():
    sums = np.zeros((8, 8, 4), dtype=np.uint32)
    with pytest.raises(ValueError, match="inside"):
        _native.shade_pixels(sums, 4, 4, 0.3, np.zeros((5, 2, 4), dtype=np.uint8))
    with pytest.raises(ValueError, match="half"):
        _native.halve_pixels(sums, np.zeros((8, 8, 4), dtype=np.uint32))
