"""The page as a reader meets it, in a headless Chromium."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from simpgcn.report.chart_library import chart_library
from simpgcn.report.comparison import comparison_facts
from simpgcn.report.facts import run_facts
from simpgcn.report.node_arrays import by_doubt
from simpgcn.report.page import page

HAS_BROWSER = bool(shutil.which("chromium") and shutil.which("chromedriver"))
pytestmark = pytest.mark.skipif(
    not HAS_BROWSER and not os.environ.get("CI"), reason="needs chromium and chromium-driver: make browser"
)
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # The driver is named, so that Selenium does not look for one on the network.
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.get("about:blank")  # and no more of the browser's own first page
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory, make_record):
    """Where the pages are: ``one`` run with odd names, ``two`` compared, and one without names or trust (``plain``)."""
    folder = tmp_path_factory.mktemp("pages")
    one, other = make_record(0, name="one"), make_record(1, trust=False, name="<two>")
    for name, runs in {"one": [one], "two": [one, other], "plain": [make_record(trust=False, own=False)]}.items():
        write(folder / f"{name}.html", runs)
    return folder


def write(path, runs):
    path.write_text(page(runs, [run_facts(run) for run in runs], comparison_facts(runs), chart_library()))


@pytest.fixture
def open_page(browser, pages):
    """Opens a page and waits for its nodes and charts; afterwards, nothing must have been complained of or fetched."""

    opened = []

    def open_one(name="one", *, width=1200, hash=""):
        opened.append(pages / f"{name}.html")
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get("about:blank")
        browser.get(opened[-1].as_uri() + hash)
        wait(browser, "return document.documentElement.dataset.charts === 'drawn'")
        return browser

    for kind in ("browser", "performance"):
        browser.get_log(kind)
    yield open_one
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
    own = ("chrome://", "chrome-untrusted://")  # what the browser's first page, left before, may still be loading
    asked = {url.partition("#")[0] for url in asked if not url.startswith(own)}
    assert asked == {path.as_uri() for path in opened}
    assert browser.title != "broken"


def wait(browser, script, *arguments):
    return WebDriverWait(browser, 20, 0.02).until(lambda driver: driver.execute_script(script, *arguments))


def find(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector)


def shown(browser):
    """The id of the node in view."""
    return browser.execute_script("return document.getElementById('node').dataset.node")


def rows(browser):
    """The ids in the list, from the top as far as they exist."""
    return browser.execute_script("return [...document.querySelectorAll('.row-id')].map((row) => row.textContent)")


def choose(browser, field, value):
    script = "const [field, value] = arguments; const element = document.getElementById(field); element.value = value;"
    browser.execute_script(script + "element.dispatchEvent(new Event('change'))", field, value)


def search(browser, text):
    field = find(browser, "#search")
    field.clear()
    # Selenium cannot type beyond the basic plane; pasting can.
    browser.execute_script(
        "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))", field, text
    )
    return field


def test_charts_are_drawn_and_fit(open_page):
    browser = open_page()
    assert browser.execute_script("return document.querySelectorAll('.plot').length") == 11
    for plot in browser.find_elements(By.CSS_SELECTOR, ".plot"):
        svg = plot.find_element(By.TAG_NAME, "svg")
        assert 200 < svg.size["width"] <= plot.size["width"] + 1
        assert plot.get_attribute("aria-label")
    assert "</script>" in find(browser, "#errors").text


def test_the_list_is_sorted_by_doubt_as_numpy_sorts_it(open_page, make_record):
    run = make_record()
    ids = run.node_ids.to_pylist()
    browser = open_page()
    expected = [ids[node] for node in by_doubt(run.probabilities)]
    assert rows(browser) == expected[: len(rows(browser))]
    assert shown(browser) == expected[0]
    choose(browser, "sort", "wrong")
    wrong = (run.labels >= 0) & (run.labels != run.predicted)
    order = np.lexsort((run.probabilities.max(axis=1), ~wrong))[: wrong.sum()][::-1]
    assert rows(browser)[:8] == [ids[node] for node in order[:8]]
    choose(browser, "sort", "id")
    assert rows(browser)[:8] == sorted(ids)[:8]


def test_filters_show_what_they_say(open_page, make_record):
    run = make_record()
    browser = open_page()

    def count():
        return int(find(browser, "#count").text.split()[0].replace(",", ""))

    assert count() == 300
    for name, mask in (("train", run.data.train_mask), ("test", run.data.test_mask)):
        choose(browser, "set", name)
        assert count() == int(mask.sum())
    find(browser, "#wrong").click()
    assert count() == (run.labels != run.predicted)[run.test].sum()
    find(browser, "#wrong").click()
    choose(browser, "set", "unlabelled")
    assert count() == 20


def test_search_finds_ids_of_any_characters(open_page, make_record):
    browser = open_page()
    for id in make_record().node_ids.to_pylist()[:7]:
        search(browser, id).send_keys(Keys.ENTER)
        wait(browser, "return document.getElementById('node').dataset.node === arguments[0]", id)
        assert find(browser, "#node h3").text == id
    search(browser, "no such id")
    assert find(browser, ".empty").is_displayed()
    find(browser, "#search").send_keys(Keys.ESCAPE)
    assert not find(browser, ".empty").is_displayed()


def test_a_neighbour_is_one_click_away_and_so_is_the_way_back(open_page):
    browser = open_page(hash="#node=customer%20100")
    assert shown(browser) == "customer 100"
    link = find(browser, ".company a")
    other = link.text
    link.click()
    wait(browser, "return document.getElementById('node').dataset.node === arguments[0]", other)
    browser.back()
    wait(browser, "return document.getElementById('node').dataset.node === 'customer 100'")
    find(browser, "nav a[href='#errors']").click()
    assert shown(browser) == "customer 100"
    for address, id in (("#node=gone", "gone"), ("#node=100%", "100%")):
        browser.execute_script("location.hash = arguments[0]", address)
        wait(browser, "return document.getElementById('node').textContent === arguments[0]", f"There is no node {id}.")


def test_the_node_view_says_what_the_run_says(open_page, make_record):
    run = make_record()
    browser = open_page(hash="#node=customer%20200")
    text = find(browser, "#node .why").text
    assert f"Predicted {run.class_names[run.predicted[200]]} ({run.probabilities[200].max():.0%} sure)" in text
    links = run.neighbours.others[run.neighbours.start[200] : run.neighbours.start[201]]
    assert f"of {len(links)} neighbours in the graph" in text
    assert "of 20 look-alikes are" in text
    source = ("the graph", "look-alikes", "itself")[run.leans[200].argmax()]
    assert f"It leans most on {source} ({run.leans[200].max():.2f})" in text
    around = [item.text for item in browser.find_elements(By.CSS_SELECTOR, ".company section:first-child .other")]
    assert around == [run.node_ids[int(other)].as_py() for other in links]


def test_keys_are_enough(open_page, make_record):
    browser = open_page()
    body = find(browser, "body")
    body.send_keys("/")
    assert browser.switch_to.active_element.get_attribute("id") == "search"
    browser.switch_to.active_element.send_keys("customer 1", Keys.ARROW_DOWN)
    assert browser.switch_to.active_element.get_attribute("id") == "list"
    listed = rows(browser)
    assert shown(browser) == listed[0]
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    wait(browser, "return document.getElementById('node').dataset.node === arguments[0]", listed[2])
    active = "document.getElementById(document.getElementById('list').getAttribute('aria-activedescendant'))"
    assert listed[2] in browser.execute_script(f"return {active}.textContent")
    browser.switch_to.active_element.send_keys(Keys.END)
    last = str(sum("customer 1" in id for id in make_record().node_ids.to_pylist()))
    wait(browser, f"return {active}?.getAttribute('aria-posinset') === arguments[0]", last)
    assert len(rows(browser)) < 40


def test_dark_and_light(open_page):
    browser = open_page()
    ground = "return getComputedStyle(document.body).backgroundColor"
    ink = "return getComputedStyle(document.querySelector('.plot svg text') ?? document.body).fill"
    for scheme in ("light", "dark"):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        open_page()
        red, green, blue = map(int, browser.execute_script(ground).strip("rgb()").split(","))
        assert (red + green + blue > 3 * 128) == (scheme == "light")
        before = browser.execute_script(ground), browser.execute_script(ink)
        find(browser, "#theme").click()
        assert browser.execute_script(ground) != before[0]
        wait(browser, f"{ink} !== arguments[0]", before[1])
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("name", ["one", "two", "plain"])
def test_a_phone_shows_it_without_scrolling_sideways(open_page, name):
    browser = open_page(name, width=375)
    assert browser.execute_script("return document.scrollingElement.scrollWidth <= innerWidth")
    assert browser.execute_script("return innerWidth") == 375


def test_runs_are_laid_side_by_side(open_page, make_record):
    first, second = make_record(0), make_record(1, trust=False)
    browser = open_page("two")
    assert "McNemar" in find(browser, "#short").text
    assert "<two>" in find(browser, "#short").text
    find(browser, "#differ").click()
    differing = np.flatnonzero(first.predicted != second.predicted)
    assert find(browser, "#count").text == f"{len(differing)} nodes"
    find(browser, ".row").click()
    node = first.node_ids.to_pylist().index(shown(browser))
    cells = [row.text for row in browser.find_elements(By.CSS_SELECTOR, ".by-run tr")]
    for run, cell in zip((first, second), cells, strict=True):
        assert run.class_names[run.predicted[node]] in cell


def test_a_hundred_thousand_nodes(open_page, pages):
    spec = importlib.util.spec_from_file_location(
        "report_size", Path(__file__).parents[2] / "benchmarks" / "report_size.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    run = module.made_up_run(100_000, classes=4, degree=4, k=5)
    write(pages / "large.html", [run])
    browser = open_page("large")
    search(browser, "customer 099999").send_keys(Keys.ENTER)
    wait(browser, "return document.getElementById('node').dataset.node === 'customer 099999'")
    assert rows(browser) == ["customer 099999"]
    search(browser, "")
    browser.execute_script("const list = document.getElementById('list'); list.scrollTop = list.scrollHeight")
    last = f"customer {by_doubt(run.probabilities)[-1]:06}"
    wait(browser, "return [...document.querySelectorAll('.row-id')].at(-1).textContent === arguments[0]", last)
    assert len(rows(browser)) < 40
    (pages / "large.html").unlink()
