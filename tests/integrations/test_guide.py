"""The code of the guide to other tools runs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore")]

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs" / "guides" / "tools.md").read_text(encoding="utf-8")
SECTIONS = {
    title: re.findall(r"```py\n(.*?)```", text, re.DOTALL)
    for title, text in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", GUIDE, re.DOTALL | re.MULTILINE)
}
NEEDS = {
    "BERTopic": "bertopic",
    "Toponymy": "toponymy",
    "scverse: AnnData and scanpy": "scanpy",
    "skops and MLflow": "skops",
    "Optuna": "optuna",
    "scikit-image": "skimage",
}
SAYS = {
    "BERTopic": "True True",
    "Toponymy": "",
    "scverse: AnnData and scanpy": "[40, 40, 40]",
    "skops and MLflow": "3",
    "Optuna": "3",
    "scikit-image": "(256, 256) 8",
}


def test_every_section_is_tested():
    assert SECTIONS.keys() == NEEDS.keys() == SAYS.keys()


@pytest.mark.parametrize("title", SECTIONS)
def test_the_code_runs(title, vectors, tmp_path, monkeypatch, capsys):
    pytest.importorskip(NEEDS[title])
    monkeypatch.chdir(tmp_path)
    X, y = vectors
    words = ["apple banana fruit", "engine car wheel", "goal match team"]
    names = {"embeddings": X, "texts": [words[k] for k in y]}
    if NEEDS[title] == "scanpy":
        import anndata

        names["adata"] = anndata.AnnData(X.astype(np.float32))
    assert SECTIONS[title]
    for block in SECTIONS[title]:
        exec(compile(block, title, "exec"), names)
    assert capsys.readouterr().out.strip() == SAYS[title]


def test_the_example_of_segmentations_draws(tmp_path, monkeypatch):
    pytest.importorskip("skimage")
    plt = pytest.importorskip("matplotlib.pyplot")
    import runpy

    monkeypatch.chdir(tmp_path)
    plt.switch_backend("agg")
    runpy.run_path(str(ROOT / "examples" / "integrations" / "compare_segmentations.py"), run_name="__main__")
    assert (tmp_path / "segmentations.png").stat().st_size > 10_000
