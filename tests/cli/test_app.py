from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from typer.main import get_command

from lapmodes.cli import main
from lapmodes.cli.app import app

COMMANDS = sorted(get_command(app).commands)
LINES, COLUMNS = 24, 80
SCREENS = [(), *((command,) for command in COMMANDS)]
MAIN = [sys.executable, "-c", "from lapmodes.cli import main; main()"]


def shown(lapmodes, *words):
    lines = lapmodes(*words, env={"COLUMNS": str(COLUMNS)}).stdout.splitlines()
    assert lines
    return lines


@pytest.mark.parametrize("words", [*((*command, "--help") for command in SCREENS), ("fit", "--help-more")])
def test_help_fits_one_screen(words, lapmodes):
    lines = shown(lapmodes, *words)
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS


def test_help_names_defaults(lapmodes):
    """Every option that is not a plain switch says what happens without it."""
    for name, command in get_command(app).commands.items():
        text = " ".join(shown(lapmodes, name, "--help"))
        if name == "fit":
            text += " ".join(shown(lapmodes, name, "--help-more"))
        for option in command.params:
            if option.param_type_name == "option" and not option.is_flag and not option.required:
                line = re.search(rf"{max(option.opts, key=len)} (.*?)(?=  -|$)", text)
                default = re.escape(str(option.default)) if option.default is not None else r"\S"
                assert line and re.search(rf"default:\s+\S*{default}", line[1]), (name, option.name)


def test_commands_are_all_there():
    assert {"fit", "predict", "path", "segment", "demo", "info", "reproduce"} <= set(COMMANDS)


SHELLS = {
    "bash": lambda typed: {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)},
    "zsh": lambda typed: {"_TYPER_COMPLETE_ARGS": typed},
    "fish": lambda typed: {"_TYPER_COMPLETE_ARGS": typed, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("lapmodes pre", "predict"),
        ("lapmodes fit --ban", "--bandwidth"),
        ("lapmodes fit --impute med", "median"),
        ("lapmodes fit --affinity se", "self-tuning"),
    ],
)
def test_shell_completion(shell, typed, expected):
    """What the scripts of --install-completion ask for when the tab key is pressed."""
    environment = os.environ | {"_LAPMODES_COMPLETE": f"complete_{shell}"} | SHELLS[shell](typed)
    code = "import sys; sys.argv = ['lapmodes']; from lapmodes.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert expected in re.findall(r"[\w-]+", done.stdout), done.stdout


def test_missing_typer_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "lapmodes.cli.app")
    assert main() == 1
    assert capsys.readouterr().err.splitlines() == [
        "The lapmodes command needs typer, which is not installed: pip install 'lapmodes[cli]'"
    ]


def test_info(lapmodes):
    text = lapmodes("info").stdout
    assert "numpy" in text and "threads" in text and "extra singlecell" in text


def test_fit_brings_in_no_more_than_it_needs(blobs_csv, here):
    """Cold start: of the slow packages only what scikit-learn brings itself; the report draws without plotly."""
    heavy = ["matplotlib", "plotly", "pandas", "polars", "anndata", "h5py", "rich", "dask", "PIL", "sphinx"]
    code = (
        "import sys, sklearn.cluster; before = set(sys.modules); from lapmodes.cli.app import app\n"
        "app(sys.argv[1:], standalone_mode=False)\n"
        f"print(*({{name.split('.')[0] for name in set(sys.modules) - before}} & set({heavy})))"
    )
    command = [sys.executable, "-c", code, "fit", "blobs.csv", "-k", "2"]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_help_does_not_import_the_library():
    code = "import sys; from lapmodes.cli.app import app; print('numpy' in sys.modules, 'sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_path_follows_from_k_means(blobs_csv, here, lapmodes):
    result = lapmodes("path", "blobs.csv", "-k", 2, "--steps", 4, "--labels", "steps.csv")
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 5
    assert (here / "blobs.path.csv").exists() and (here / "steps.csv").exists()


def test_segment_writes_pictures_and_fit_takes_one_too(here, lapmodes):
    import numpy as np
    from PIL import Image

    from lapmodes.datasets import make_occluder

    pixels, _ = make_occluder(random_state=0)
    Image.fromarray((255 * np.clip(pixels, 0, 1)).astype(np.uint8)).save(here / "disc.png")
    assert lapmodes("segment", "disc.png", "-k", 2).exit_code == 0
    labels = np.load(here / "disc.lapmodes" / "labels.npy")
    assert labels.shape == pixels.shape
    with Image.open(here / "disc.lapmodes" / "segments.png") as picture:
        assert picture.size == pixels.shape[::-1]
    result = lapmodes("fit", "disc.png", "-k", 2, "-o", "same")
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(np.load(here / "same" / "labels.npy"), labels)


def test_segment_has_the_defaults_of_the_library():
    from inspect import signature

    from lapmodes.cli.segment import SegmentOptions
    from lapmodes.image import segment

    defaults = {name: parameter.default for name, parameter in signature(segment).parameters.items()}
    ours = SegmentOptions(image=None)
    names = {"segments": "n_segments", "lam": "lam", "bandwidth": "bandwidth", "spatial": "spatial_scale"}
    assert {name: defaults[name] for name in names.values()} == {names[own]: getattr(ours, own) for own in names}
    assert ours.color == defaults["color_space"]


def test_demo_draws(here, lapmodes, monkeypatch):
    from lapmodes.paper import demo as module

    monkeypatch.setattr(module, "main", lambda words: print(words) or 0)
    assert lapmodes("demo", "-o", "pictures").stdout.strip() == "['--output', 'pictures']"


def test_options_offer_what_the_library_knows():
    from typing import get_args

    from lapmodes.cli.fit import AFFINITIES
    from lapmodes.cli.options import Impute, Missing, Scale
    from lapmodes.files.gaps import IMPUTATIONS, MISSING
    from lapmodes.files.recipe import SCALINGS
    from lapmodes.graph.affinity import KINDS

    assert set(AFFINITIES) == {"auto", *KINDS}
    assert set(get_args(Scale.__origin__)) == set(SCALINGS)
    assert set(get_args(Missing.__origin__)) == set(MISSING)
    assert set(get_args(get_args(Impute.__origin__)[0])) == set(IMPUTATIONS)


def test_every_option_of_the_second_screen_exists():
    from lapmodes.cli.fit import SECOND_SCREEN

    known = {option.name for option in get_command(app).commands["fit"].params}
    assert {name for names in SECOND_SCREEN.values() for name in names} <= known
