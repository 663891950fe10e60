"""The page in a browser: every act by mouse or keyboard, seen in the server's state and on the page.

Needs playwright and a Chromium (CHROMIUM, or chromium on the path). axe-core's axe.min.js is named by AXE, or comes
with the package axe-playwright-python. WebGL is drawn in software; once there is none.
"""

from __future__ import annotations

import csv
import math
import time

import numpy as np
import pytest
from browsing import CHROMIUM, FLAGS, SIZES, axe_script
from scipy.sparse import csr_array

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

from lapmodes import LaplacianKModes
from lapmodes.explore.server import running
from lapmodes.explore.study import study_of
from lapmodes.explore.worker import Explorer

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
NASTY = "<img src=x onerror='document.title=1'>"
WEBGL = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, *WEBGL])
        yield browser
        browser.close()


@pytest.fixture
def study(groups, base):
    kinds = [NASTY if i % 7 == 0 else f"kind {i % 3}" for i in range(80)]
    study = study_of(
        base.model, groups, title=f"{NASTY}.csv", feature_names=[NASTY, "b", "c"], described_by={"kind": kinds}
    )
    object.__setattr__(study, "base", base)  # with few levels, computed once for all tests
    base.layers()
    return study


@pytest.fixture
def server(study):
    with running(Explorer(study, ahead=False)) as server:
        yield server


class Page:
    """A page, and words for what a person does on it."""

    def __init__(self, browser, server, *, query="", size="desktop", scheme="light", axe=False):
        width, height = SIZES[size]
        self.context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            has_touch=size == "phone",
            reduced_motion="reduce",
            bypass_csp=axe,
            accept_downloads=True,
        )
        self.server, self.page = server, self.context.new_page()
        self.asked, self.wrong = [], []
        self.page.on("request", lambda asked: self.asked.append(asked.url))
        self.page.on(
            "console", lambda said: self.wrong.append(said.text) if said.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.goto(server.url + query)
        self.page.wait_for_selector("html[data-ready]")

    @property
    def state(self):
        return self.server.explorer.state

    @property
    def version(self):
        return int(self.page.evaluate("document.documentElement.dataset.version || 0"))

    def until(self, true, what):
        """Wait until something holds."""
        for _ in range(1000):
            if true():
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"{what}; the page says: {self.page.inner_text('#news')}")

    def act(self, work):
        """Do something that leads to a new state, and wait for it."""
        before = self.version
        work()
        self.until(lambda: self.version > before, "nothing happened")
        assert self.version == self.server.explorer.version
        return self.state

    def press(self, where, key, times=1):
        self.page.focus(where)
        for _ in range(times):
            self.page.keyboard.press(key)

    def text(self, where):
        return self.page.inner_text(where)

    def open_cluster(self, k):
        self.page.click("#tab-clusters")
        box = self.page.locator(f"[data-cluster='{k}']")
        if not box.evaluate("box => box.open"):
            box.locator("summary").click()
        return box

    def lasso(self, rows):
        """Draw a line around a row's place, wide enough for its neighbours."""
        self.page.check("input[name='tool'][value='lasso']", force=True)
        box = self.page.locator("#map canvas").last.bounding_box()
        x, y = box["x"] + box["width"] * rows[0], box["y"] + box["height"] * rows[1]
        reach = rows[2] * box["height"]
        self.page.mouse.move(x + reach, y)
        self.page.mouse.down()
        for i in range(1, 21):
            self.page.mouse.move(x + reach * math.cos(i / 20 * 2 * math.pi), y + reach * math.sin(i / 20 * 2 * math.pi))
        self.page.mouse.up()
        self.until(lambda: "(" in self.text("#tab-rows"), "nothing is selected")
        return int(self.text("#tab-rows").split("(")[1].rstrip(")"))

    def select_all(self):
        """By the keyboard: all rows in sight."""
        self.press("#map canvas:last-child", "s")
        self.until(lambda: "(80)" in self.text("#tab-rows"), "not all rows are selected")

    def close(self):
        own = f"http://127.0.0.1:{self.server.port}/"
        strangers = [
            url for url in self.asked if not url.startswith((own, "data:", "blob:", own.replace("http", "ws")))
        ]
        self.context.close()
        assert strangers == []
        assert self.wrong == []


@pytest.fixture
def page(browser, server):
    page = Page(browser, server)
    yield page
    page.close()


def drawn(page):
    """How many pixels of the map are not of its ground."""
    from io import BytesIO

    from PIL import Image

    picture = np.asarray(Image.open(BytesIO(page.page.locator("#map").screenshot())).convert("RGB")).astype(int)
    return int((np.abs(picture - picture[2, 2]).sum(axis=2) > 60).sum())


# ---- the map


@pytest.mark.parametrize("query", ["", "&webgl=0"])
def test_the_map_is_drawn_with_and_without_webgl(browser, server, query):
    page = Page(browser, server, query=query)
    page.until(lambda: drawn(page) > 80 * 6, "no dots")
    assert page.text("#sizes") == "80 rows · 3 clusters"
    page.close()


def test_without_webgl_everything_can_be_done_too(browser, server):
    page = Page(browser, server, query="&webgl=0")
    page.until(lambda: drawn(page) > 200, "no dots")
    assert page.lasso((0.5, 0.5, 0.4)) > 5
    page.page.click("#tab-rows")
    page.act(lambda: page.page.select_option("#rows select", "1"))
    assert (page.state.known >= 0).sum() > 5
    page.page.click("text=Whole map")
    page.close()


def test_places_and_colours(page):
    page.page.check("input[name='view'][value='columns']", force=True)
    page.until(lambda: page.page.get_attribute("#map canvas:last-child", "data-view") == "columns:0,1", "no columns")
    page.page.select_option("#up", "2")
    page.until(lambda: page.page.get_attribute("#map canvas:last-child", "data-view") == "columns:0,2", "no columns")
    seen = set()
    for choice in ("soft", "density", "entropy", "column:1", "column:3", "cluster"):
        page.page.select_option("#colour", choice)
        page.page.wait_for_timeout(150)
        seen.add(page.text("#legend"))
    assert len(seen) >= 5
    page.page.select_option("#colour", "search:")
    page.page.fill("#term", "kind 1")
    page.until(lambda: "rows with “kind 1”" in page.text("#legend"), "no search")


def test_neighbours_are_placed_when_asked_for(page):
    pytest.importorskip("openTSNE")
    page.page.check("input[name='view'][value='neighbours']", force=True)
    page.until(lambda: page.page.get_attribute("#map canvas:last-child", "data-view") == "neighbours", "not placed")
    assert "side by side" in page.text("#caption")


def test_a_row_is_told_by_mouse_and_by_keyboard(page):
    page.press("#map canvas:last-child", "Enter")
    page.page.wait_for_selector("#tip:not([hidden])")
    assert "row" in page.text("#tip") and "cluster" in page.text("#tip")
    page.press("#map canvas:last-child", "Escape")
    page.page.wait_for_selector("#tip", state="hidden")


def test_zoom_by_buttons_keys_and_wheel(page):
    def zoom():
        return float(page.page.get_attribute("#map canvas:last-child", "data-zoom"))

    page.page.click("[data-zoom='in']")
    page.until(lambda: zoom() > 1.2, "no zoom")
    page.press("#map canvas:last-child", "+", 2)
    page.until(lambda: zoom() > 2.5, "no zoom")
    page.press("#map canvas:last-child", "ArrowLeft")
    page.press("#map canvas:last-child", "0")
    page.until(lambda: zoom() == 1, "not the whole map")
    page.page.mouse.move(400, 400)
    page.page.mouse.wheel(0, -300)
    page.until(lambda: zoom() > 1.2, "no zoom")


# ---- knobs


@pytest.mark.parametrize("knob", ["lam", "bandwidth", "prior_weight"])
def test_a_knob_is_turned_by_the_keyboard(page, base, knob):
    name = f"{knob}_" if knob != "prior_weight" else knob
    state = page.act(lambda: page.press(f"#knob-{knob}", "ArrowRight"))
    assert state.notches[knob] == 1
    assert getattr(state.model, name) > getattr(base.model, name)
    assert "×" in page.text("#changed") and "objective" in page.text("#changed")
    page.act(lambda: page.page.click("#undo"))
    assert page.page.input_value(f"#knob-{knob}") == "0"
    assert np.array_equal(page.state.labels, base.model.labels_)


def test_the_number_of_clusters_steps_through_levels(page):
    page.act(lambda: page.press("#knob-clusters", "ArrowRight"))
    assert page.state.n_clusters == 4
    assert page.page.locator(".cluster").count() == 4
    assert "4 clusters" in page.text("#sizes")


def test_before_and_after_side_by_side(page):
    page.act(lambda: page.press("#knob-clusters", "ArrowLeft"))
    page.page.click("#compare")
    page.page.wait_for_selector("#before canvas:last-child[data-view]")
    assert page.page.locator(".plane canvas").count() == 4
    page.page.click("#compare")
    assert page.page.locator(".plane canvas").count() == 2


# ---- clusters


def test_clusters_are_renamed_painted_and_hidden(page):
    box = page.open_cluster(0)
    box.locator("input[type='text']").fill(NASTY)
    page.act(lambda: page.page.keyboard.press("Enter"))
    assert page.state.names[0] == NASTY
    assert page.page.locator("[data-cluster='0'] strong").inner_text() == NASTY
    assert page.page.locator("#clusters img, #legend img").count() == 0
    page.act(lambda: page.open_cluster(1).locator("input[type='color']").fill("#ff0000"))
    assert page.state.colors[1] == "#ff0000"
    before = drawn(page)
    page.act(lambda: page.open_cluster(1).get_by_role("button", name="Hide").click())
    assert page.state.hidden == (False, True, False)
    page.until(lambda: drawn(page) < before, "it is still there")


def test_clusters_are_split_and_merged(page):
    page.act(lambda: page.open_cluster(0).get_by_role("button", name="Split").click())
    assert page.state.n_clusters == 4
    assert "split" in page.text("#moved")
    page.act(lambda: page.open_cluster(0).get_by_label("Merge with …").select_option("3"))
    assert page.state.n_clusters == 3


def test_a_cluster_says_what_sets_it_apart(page):
    page.until(lambda: page.page.locator(".cluster .what").count() == 3, "no words")
    box = page.open_cluster(0)
    page.until(lambda: box.locator(".strip").count() == 3, "no values")
    assert "Typical" in box.inner_text()


# ---- selected rows


def test_a_lasso_and_what_can_be_done_with_it(page):
    n = page.lasso((0.5, 0.5, 0.4))
    assert 5 < n < 80
    page.until(lambda: page.page.locator("#rows tbody tr").count() == n, "not all rows are listed")
    page.act(lambda: page.page.select_option("#rows select", "2"))
    assert (page.state.known == 2).sum() == n
    assert (page.state.labels[page.state.known == 2] == 2).all()
    page.act(lambda: page.page.click("text=Take back decisions"))
    assert (page.state.known >= 0).sum() == 0
    page.act(lambda: page.page.click("text=They belong together"))
    assert len(page.state.links) == 1 and len(page.state.links[0]) == n
    page.act(lambda: page.page.click("text=Leave them out"))
    assert page.state.left_out.sum() == n
    assert f"{n} left out" in page.text("#sizes")
    for _ in range(4):
        page.act(lambda: page.page.keyboard.press("Control+z"))
    assert np.array_equal(page.state.labels, page.server.explorer.study.base.model.labels_)
    assert page.page.is_disabled("#undo") and not page.page.is_disabled("#redo")
    page.act(lambda: page.page.keyboard.press("Control+y"))
    assert page.page.locator("#acts li.undone").count() == 3


def test_selected_rows_are_sorted_and_exported(page):
    page.select_all()
    page.page.wait_for_selector("#rows thead button")
    page.page.locator("#rows thead button", has_text="b").last.click()
    page.until(lambda: "↑" in page.text("#rows thead"), "not sorted")
    column = [text.split(" ")[0] for text in page.text("#rows thead").split("\t")].index("b")
    values = [row.locator("td, th").nth(column).inner_text() for row in page.page.locator("#rows tbody tr").all()[:20]]
    numbers = [float(value.replace("−", "-")) for value in values]
    assert numbers == sorted(numbers)
    with page.page.expect_download() as waiting:
        page.page.click("text=Export as CSV")
    with open(waiting.value.path(), newline="", encoding="utf-8") as stream:
        lines = list(csv.reader(stream))
    assert len(lines) == 81 and lines[0][:4] == ["row", "name", "cluster", "cluster_name"]
    assert [int(line[2]) for line in lines[1:]] == page.state.labels.tolist()


# ---- rows to check


@pytest.mark.parametrize("what", ["Between clusters", "Outliers"])
def test_rows_are_checked_one_by_one(page, what):
    page.page.click("#tab-check")
    page.page.get_by_role("button", name=what).click()
    page.page.wait_for_selector(f"#check button[aria-pressed='true']:has-text('{what}')")
    page.page.wait_for_selector("#check .shares button")
    first = page.text("#check h3")
    page.page.get_by_role("button", name="Skip").click()
    page.until(lambda: page.text("#check h3") != first, "the same row")
    second = page.text("#check h3")
    page.act(lambda: page.page.locator("#check .shares button").nth(1).click())
    row = int(second.split(" ")[1]) - 1
    assert page.state.known[row] >= 0 and (page.state.known >= 0).sum() == 1
    page.until(lambda: "1 decision" in page.text("#check"), "not counted")
    page.act(lambda: page.page.get_by_role("button", name="Leave it out").click())
    assert page.state.left_out.sum() == 1


# ---- tabs, reloads, names


def test_two_tabs_and_a_reload(browser, server):
    one, other = Page(browser, server), Page(browser, server)
    one.act(lambda: one.press("#knob-lam", "ArrowRight"))
    other.until(lambda: other.version == 1, "the other page was not told")
    assert other.page.input_value("#knob-lam") == "1"
    other.act(lambda: other.press("#knob-lam", "ArrowRight"))
    one.until(lambda: one.version == 2, "the first page was not told")
    one.page.reload()
    one.page.wait_for_selector("html[data-ready]")
    assert one.page.input_value("#knob-lam") == "2"
    assert one.page.locator("#acts li").count() == 2
    one.close()
    other.close()


def test_names_are_text_everywhere(page):
    page.page.select_option("#colour", "column:3")
    page.select_all()
    page.page.wait_for_selector("#rows tbody td")
    page.press("#map canvas:last-child", "Enter")
    page.page.wait_for_selector("#tip:not([hidden])")
    assert page.page.locator("#legend img, #rows img, #tip img, h1 img").count() == 0
    assert NASTY in page.text("h1") and page.page.title().startswith("<img")


# ---- saving


def test_the_map_as_a_picture(page, tmp_path):
    from PIL import Image

    page.page.click("#save")
    for name, head in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
        with page.page.expect_download() as waiting:
            page.page.click(f"text=Map as {name}")
        content = waiting.value.path().read_bytes()
        assert content.startswith(head)
        if name == "SVG":
            assert content.count(b"<circle") == 80 and b"<script" not in content
        else:
            (tmp_path / "map.png").write_bytes(content)
            assert len(np.unique(np.asarray(Image.open(tmp_path / "map.png")).reshape(-1, 4), axis=0)) > 10


def test_everything_is_saved(browser, groups, tmp_path, base):
    study = study_of(base.model, groups, tmp_path / "out", feature_names=["a", "b", "c"])
    object.__setattr__(study, "base", base)
    with running(Explorer(study, ahead=False)) as server:
        page = Page(browser, server)
        page.act(lambda: page.press("#knob-lam", "ArrowRight"))
        page.page.click("#save")
        page.page.click("#save-all")
        page.until(lambda: "Saved to" in page.text("#saved"), "not saved")
        page.close()
    assert {"model.npz", "report.html", "labels.csv", "recipe.toml", "recipe.py"} <= {
        f.name for f in (tmp_path / "out").iterdir()
    }


# ---- kinds of data


def test_pictures(browser):
    from sklearn.datasets import load_digits

    X = load_digits().data[:300]
    model = LaplacianKModes(5, random_state=0, n_jobs=1).fit(X)
    with running(Explorer(study_of(model, X, image_shape=(8, 8)), ahead=False)) as server:
        page = Page(browser, server)
        page.open_cluster(0)
        page.page.wait_for_selector(".gallery img:nth-child(2)")
        mode = page.page.locator(".gallery img").first
        page.until(
            lambda: mode.evaluate("image => image.complete && image.naturalWidth") == 8, "no picture of the mode"
        )
        page.press("#map canvas:last-child", "Enter")
        page.page.wait_for_selector("#tip img")
        page.close()


def test_texts(browser):
    rng = np.random.default_rng(0)
    X = np.zeros((90, 9))
    for i in range(90):
        X[i, 3 * (i // 30) + rng.integers(0, 3, 4)] = 1 + rng.random()
    words = ["goal", "match", "team", "bread", "oven", "flour", "orbit", "comet", "star"]
    model = LaplacianKModes(3, random_state=0, n_jobs=1, metric="cosine").fit(csr_array(X))
    study = study_of(model, csr_array(X), feature_names=words)
    with running(Explorer(study, ahead=False)) as server:
        page = Page(browser, server)
        page.page.wait_for_selector(".cluster .what")
        assert "bread" in page.text("#clusters")
        page.page.select_option("#colour", "search:")
        page.page.fill("#term", "comet")
        page.until(lambda: "rows with “comet”" in page.text("#legend"), "no search")
        page.close()


def test_many_rows_are_pictures_of_the_server(browser, monkeypatch, study):
    from lapmodes.explore import answers

    monkeypatch.setattr(answers, "DRAWN", 50)
    with running(Explorer(study, ahead=False)) as server:
        page = Page(browser, server)
        page.until(lambda: drawn(page) > 200, "no dots")
        assert page.lasso((0.5, 0.5, 0.45)) > 5
        page.act(lambda: page.press("#knob-clusters", "ArrowRight"))
        page.page.select_option("#colour", "density")
        page.page.wait_for_timeout(300)
        page.close()


# ---- everybody


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.skipif(axe_script() is None, reason="no axe-core: axe-playwright-python is not installed, AXE is not set")
def test_axe_finds_nothing(browser, server, size, scheme):
    page = Page(browser, server, size=size, scheme=scheme, axe=True)
    page.act(lambda: page.press("#knob-lam", "ArrowRight"))
    page.page.evaluate(axe_script().read_text())
    found = []
    for tab in ("clusters", "rows", "check", "acts"):
        page.page.click(f"#tab-{tab}")
        if tab == "clusters":
            page.open_cluster(0)
        if tab == "rows":
            page.select_all()
            page.page.wait_for_selector("#rows tbody td")
        page.page.wait_for_timeout(250)
        found += page.page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    page.page.click("#save")
    found += page.page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in found] == []
    page.close()


def test_nothing_is_cut_off_on_a_phone(browser, server):
    page = Page(browser, server, size="phone")
    page.act(lambda: page.press("#knob-lam", "ArrowRight"))
    for tab in ("clusters", "rows", "check", "acts"):
        page.page.click(f"#tab-{tab}")
        page.page.wait_for_timeout(150)
        assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
    page.close()


def test_a_whole_visit_by_the_keyboard_alone(page):
    """Tab reaches everything, and each act can be done without a mouse."""
    keyboard = page.page.keyboard

    def reach(selector):
        for _ in range(90):
            if page.page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
            keyboard.press("Tab")
        raise AssertionError(f"Tab does not reach {selector}")

    page.page.evaluate("document.body.focus()")
    reach("#map canvas")
    keyboard.press("+")
    keyboard.press("s")
    page.until(lambda: "(" in page.text("#tab-rows"), "nothing is selected")
    reach("#knob-lam")
    page.act(lambda: keyboard.press("ArrowRight"))
    reach("#tab-rows")
    reach("#rows select")
    page.act(lambda: keyboard.press("ArrowDown"))
    assert (page.state.known >= 0).any()
    page.page.focus("#tab-rows")
    keyboard.press("ArrowRight")
    page.page.wait_for_selector("#check .shares button")
    reach("#check .shares button")
    page.act(lambda: keyboard.press("Enter"))
    page.page.focus("#tab-check")
    keyboard.press("ArrowLeft")
    keyboard.press("ArrowLeft")
    reach("#clusters summary")
    keyboard.press("Enter")
    reach("#clusters input[type='text']")
    keyboard.type("typed")
    page.act(lambda: keyboard.press("Enter"))
    assert page.state.names[0] == "typed"
    page.act(lambda: page.press("#undo", "Enter"))
    assert page.state.names[0] == ""


def test_light_and_dark(page):
    before = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.page.click("#theme")
    assert page.page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_a_server_that_is_gone_is_said(browser, study):
    with running(Explorer(study, ahead=False)) as server:
        page = Page(browser, server)
    page.page.wait_for_selector("#lost:not([hidden])")
    page.context.close()


def test_a_fit_under_way_can_be_stopped(browser, study):
    explorer = Explorer(study, ahead=False)
    plain = explorer._hook

    def slow(what):
        hook = plain(what)

        def wait(*step):
            time.sleep(0.05)
            return hook(*step)

        return wait

    explorer._hook = slow
    with running(explorer) as server:
        page = Page(browser, server)
        page.press("#knob-lam", "End")
        page.page.wait_for_selector("#work:not([hidden])")
        page.page.click("#stop")
        page.until(lambda: "Stopped" in page.text("#news"), "not stopped")
        page.until(lambda: page.page.input_value("#knob-lam") == "0", "the knob did not go back")
        assert explorer.session.acts == []
        page.close()
