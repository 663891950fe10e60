"""The page as a browser shows it: it draws, nothing is cut or broken, no request is made, axe-core does not complain.

Needs playwright and a Chromium (CHROMIUM, or chromium on the path). axe-core's axe.min.js is named by AXE, or comes
with the package axe-playwright-python.
"""

from __future__ import annotations

import numpy as np
import pytest
from browsing import CHROMIUM, FLAGS, SIZES, axe_script

from lapmodes import LaplacianKModes
from lapmodes.report import write_report

NAMES = [
    "Production Budget",
    "a_rather_long_name_of_a_column_with_underscores",
    "Averylongnamewithoutanyplacewhereitmightbebrokenintwo",
    "שם העמודה",
    "👩‍👩‍👧 size",
    "<b>bold</b>",
]
DRAWN = "document.querySelector('canvas').getContext('2d').getImageData(0, 0, 2000, 2000).data.some((part) => part > 0)"
OVERFLOWING = """
[...document.querySelectorAll('.tiles > div, .card, .map, .glance, .list, .described, .prepared')].filter((box) => {
  const edge = box.getBoundingClientRect().right + 1;
  return [...box.querySelectorAll('*')].some((each) => !each.closest('.wide') && each.getClientRects().length
    && !each.closest('thead') && each.getBoundingClientRect().right > edge);
}).map((box) => box.className)"""
BROKEN = """
[...document.querySelectorAll('.values dt, .values dd, .tiles dd, .pairs dt, td, tbody th, h1, h3')].flatMap((box) => {
  const found = [], walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) for (const word of walker.currentNode.data.matchAll(/[^\\s_]+/g)) {
    const range = document.createRange();
    range.setStart(walker.currentNode, word.index);
    range.setEnd(walker.currentNode, word.index + word[0].length);
    const lines = new Set([...range.getClientRects()].filter((r) => r.width > 0).map((r) => Math.round(r.top)));
    if (lines.size > 1 && word[0].length <= 15) found.push(word[0]);
  }
  return found;
})"""


pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Rows whose names and values are hard to show."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(5), 30)
    X = rng.normal(size=(150, 6)) + 8 * rng.normal(size=(5, 6))[labels]
    model = LaplacianKModes(5, random_state=0, n_jobs=1).fit(X)
    rows = X * [1.2345e8, 1, 1e-9, 1e15, 1, 1] - [0, 0, 0, 0, 1e5, 0]
    model.cluster_centers_ = model.cluster_centers_ * rows.std(axis=0) / X.std(axis=0)
    file = tmp_path_factory.mktemp("report") / "report.html"
    kind = np.array(["north & east", "<img src=x>", "שלום", "a long value with several words", "e"])[labels]
    described = {"region": kind, "year": [str(1990 + i % 30) for i in range(150)]}
    write_report(file, model, rows, feature_names=NAMES, described_by=described)
    return file


@pytest.fixture
def page(browser, file, request):
    size, scheme, *more = request.param
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        has_touch=size == "phone",
        bypass_csp="axe" in more,
        java_script_enabled="no script" not in more,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.asked, page.wrong = [], []
    page.on("request", lambda asked: page.asked.append(asked.url))
    page.on("console", lambda said: page.wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.goto(file.as_uri())
    if "no script" not in more:
        page.wait_for_selector("canvas[data-points]")
    yield page
    context.close()


def everything(*more):
    return pytest.mark.parametrize("page", [(size, "dark", *more) for size in SIZES], indirect=True)


DESKTOP = pytest.mark.parametrize("page", [("desktop", "light")], indirect=True)


@everything()
def test_it_draws_without_errors_or_requests(page, file):
    assert page.get_attribute("canvas", "data-points") == "150"
    assert page.evaluate(DRAWN)
    for choice in page.locator("#colour option").all():
        page.select_option("#colour", choice.get_attribute("value"))
        assert page.locator("#legend > *").count() > 0
    assert page.locator("#colour option").count() == 4 + 6 + 2
    page.check("input[value='1']", force=True)
    assert page.is_visible("[data-view='1']") and not page.is_visible("[data-view='0']")
    assert page.wrong == []
    assert [url for url in page.asked if not url.startswith("data:") and url != file.as_uri()] == []


@everything()
def test_nothing_is_cut_and_no_word_is_broken(page):
    for details in page.locator("details").all():
        details.evaluate("each => each.open = true")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.evaluate(OVERFLOWING) == []
    assert page.evaluate(BROKEN) == []


@DESKTOP
def test_names_are_text_and_not_markup(page):
    assert page.locator("main img, main b:has-text('bold'):not(.facts b)").count() == 0
    assert page.locator("dt", has_text="<b>bold</b>").count() > 0


@DESKTOP
def test_a_row_is_described_where_the_mouse_is(page):
    page.focus("canvas")
    page.keyboard.press("Enter")
    tip = page.locator(".tip")
    assert tip.is_visible() and "cluster" in tip.inner_text() and "region" in tip.inner_text()
    assert tip.inner_text().startswith("row ")
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    page.locator("canvas").scroll_into_view_if_needed()
    box = page.locator("canvas").bounding_box()
    seen = set()
    for step in range(40):
        page.mouse.move(box["x"] + box["width"] * step / 40, box["y"] + box["height"] * (step % 10) / 10)
        seen.add(tip.is_visible())
    assert True in seen


@DESKTOP
def test_a_drawn_box_zooms_in_and_keys_and_buttons_too(page):
    def zoom():
        page.wait_for_timeout(60)
        return float(page.get_attribute("canvas", "data-zoom"))

    assert zoom() == 1
    page.locator("canvas").scroll_into_view_if_needed()
    box = page.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 250, steps=4)
    page.mouse.up()
    boxed = zoom()
    assert boxed > 1.5
    page.focus("canvas")
    page.keyboard.press("+")
    assert zoom() > boxed
    page.keyboard.press("0")
    assert zoom() == 1
    page.click("[data-zoom=in]")
    page.keyboard.press("Tab")
    assert zoom() > 1
    page.click("[data-zoom=all]")
    assert zoom() == 1
    page.focus("canvas")
    page.keyboard.press("ArrowLeft")
    page.dblclick("canvas")
    assert zoom() == 1 and page.wrong == []


@pytest.mark.parametrize("page", [("phone", "light")], indirect=True)
def test_a_finger_names_a_row_and_two_zoom(page):
    page.locator("canvas").scroll_into_view_if_needed()
    box = page.locator("canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    session = page.context.new_cdp_session(page)

    def touch(kind, *places):
        points = [{"x": x + dx, "y": y, "id": i} for i, dx in enumerate(places)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", -20, 20)
    for step in range(1, 6):
        touch("touchMove", -20 - 12 * step, 20 + 12 * step)
    touch("touchEnd")
    page.wait_for_timeout(60)
    assert float(page.get_attribute("canvas", "data-zoom")) > 2
    page.tap("[data-zoom=all]")
    for across in range(-100, 101, 20):
        touch("touchStart", across)
        touch("touchEnd")
        if page.is_visible(".tip"):
            break
    assert page.inner_text(".tip").startswith("row ") and page.wrong == []


@DESKTOP
def test_the_theme_follows_the_button_and_the_keyboard(page):
    paper = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(paper)
    page.focus("#theme")
    page.keyboard.press("Enter")
    assert page.evaluate(paper) != before and page.inner_text("#theme") == "Light"
    page.focus("input[value='0']")
    page.keyboard.press("ArrowRight")
    assert page.is_checked("input[value='1']")
    page.click("#legend button >> nth=2")
    assert page.get_attribute("#legend button >> nth=2", "aria-pressed") == "true"


@everything("no script")
def test_everything_but_the_map_can_be_read_without_script(page):
    assert page.is_visible("text=The map needs JavaScript") and not page.is_visible(".map")
    assert page.is_visible(".glance") and page.is_visible(".card") and page.is_visible("#described table")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 21, 24)"  # dark, as asked for


@pytest.mark.skipif(axe_script() is None, reason="no axe-core: axe-playwright-python is not installed, AXE is not set")
@pytest.mark.parametrize(
    "page", [(size, scheme, "axe") for size in SIZES for scheme in ("light", "dark")], indirect=True
)
def test_axe_finds_nothing(page):
    for details in page.locator("details").all():
        details.evaluate("each => each.open = true")
    page.evaluate(axe_script().read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [(each["id"], each["impact"], [node["html"] for node in each["nodes"]][:3]) for each in found] == []
