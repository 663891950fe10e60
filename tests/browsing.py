"""What tests that drive a browser share: where Chromium and axe-core are, if anywhere."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--headless", "--no-sandbox", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync"]
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


def axe_script():
    """Where axe-core's script is, if anywhere."""
    if "AXE" in os.environ:
        return Path(os.environ["AXE"])
    spec = find_spec("axe_playwright_python")
    return None if spec is None else Path(spec.origin).parent / "axe.min.js"
