from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "src" / "lapmodes" / "native"
COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
HEADERS = sorted(header.name for header in NATIVE.glob("*.hpp") if header.name != "bindings.hpp")
"""All but the one that needs nanobind."""


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("header", HEADERS)
def test_header_compiles_alone(header):
    options = ["-std=c++20", "-fsyntax-only", "-fopenmp-simd", "-Wall", "-Wextra", "-Werror"]
    source = f'#include "{header}"\n'
    command = [COMPILER, *options, "-x", "c++", "-I", str(NATIVE), "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
