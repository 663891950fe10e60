import re
import sys

import pytest
from matplotlib.image import imread

from lapmodes.paper.demo import main


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "pictures"


@pytest.fixture(scope="module")
def printed(output):
    from contextlib import redirect_stdout
    from io import StringIO

    text = StringIO()
    with redirect_stdout(text):
        assert main(["--output", str(output)]) == 0
    return text.getvalue()


def accuracies(printed, algorithm):
    return re.findall(rf" {algorithm} +(\d\.\d{{3}}) ", printed)


def test_laplacian_kmodes_separates_both_sets(printed):
    assert accuracies(printed, "Laplacian K-modes") == ["1.000", "1.000"]


@pytest.mark.parametrize("algorithm", ["(?<!Laplacian )K-modes", "K-means"])
def test_convex_clusters_do_not(printed, algorithm):
    (accuracy,) = accuracies(printed, algorithm)
    assert float(accuracy) < 0.9


@pytest.mark.parametrize("name", ["figure2_spirals.png", "figure3_moons.png"])
def test_pictures_are_wide_and_have_content(printed, output, name):
    assert str(output / name) in printed
    picture = imread(output / name)
    assert 1900 < picture.shape[1] < 2100
    panels = [picture[:, i * 500 : (i + 1) * 500, :3] for i in range(4)]
    assert all(panel.std() > 0.05 for panel in panels)


def test_missing_matplotlib_is_one_sentence(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["--output", str(tmp_path / "none")]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == ["Plots need matplotlib, which is not installed: pip install 'lapmodes[plot]'"]
    assert not (tmp_path / "none").exists()
