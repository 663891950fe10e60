"""The page as a browser shows it: no error, no request, no serious accessibility problem.

Needs playwright, a Chromium (CHROMIUM, or chromium on the path), and axe-core's axe.min.js (AXE) for the last check.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from lapmodes.report import write_report

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory, told_model, told_rows):
    file = tmp_path_factory.mktemp("report") / "report.html"
    write_report(
        file, told_model, told_rows, feature_names=["length", "width", "height", "a rather long name of a column"]
    )
    return file


@pytest.fixture
def page(browser, file, request):
    size, scheme, bypass = request.param
    width, height = SIZES[size]
    viewport = {"width": width, "height": height}
    context = browser.new_context(viewport=viewport, color_scheme=scheme, bypass_csp=bypass)
    page = context.new_page()
    page.asked, page.wrong = [], []
    page.on("request", lambda asked: page.asked.append(asked.url))
    page.on("console", lambda said: page.wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_selector("#map-chart .main-svg")
    page.wait_for_selector("#convergence-chart .main-svg")
    yield page
    context.close()


@pytest.mark.parametrize("page", [("desktop", "light", False), ("phone", "dark", False)], indirect=True)
def test_it_draws_without_errors_requests_or_sideways_scrolling(page, file):
    for choice in ("soft", "density", "entropy", "cluster"):
        page.check(f"input[value={choice}]")
        assert page.is_visible("#legend") == (choice in ("soft", "cluster"))
    assert page.locator("#map-chart .points path").count() >= 90
    assert page.wrong == []
    assert [url for url in page.asked if not url.startswith(("data:", "blob:")) and url != file.as_uri()] == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.parametrize("page", [("desktop", "light", False)], indirect=True)
def test_the_theme_follows_the_button_and_the_keyboard(page):
    paper = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(paper)
    page.focus("#theme")
    page.keyboard.press("Enter")
    assert page.evaluate(paper) != before
    assert page.get_attribute("#theme", "aria-pressed") == "true"
    page.focus("input[value=cluster]")
    page.keyboard.press("ArrowRight")
    assert page.is_checked("input[value=soft]")


@pytest.mark.skipif("AXE" not in os.environ, reason="AXE does not name axe-core's axe.min.js")
@pytest.mark.parametrize(
    "page", [(size, scheme, True) for size in SIZES for scheme in ("light", "dark")], indirect=True
)
def test_axe_finds_nothing_serious(page):
    page.evaluate(Path(os.environ["AXE"]).read_text())
    found = page.evaluate("axe.run()")["violations"]
    assert [(each["id"], each["impact"]) for each in found if each["impact"] in ("serious", "critical")] == []
