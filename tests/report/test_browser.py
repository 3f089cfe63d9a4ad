"""The page of a report in a real browser: light and dark, wide and narrow, on the screen and in
print."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import quorate

playwright = pytest.importorskip("playwright.sync_api")

SERIOUS = ("serious", "critical")
SCHEME = "matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    place = shutil.which("chromium") or shutil.which("chromium-browser")
    if place is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    with playwright.sync_playwright() as started:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        launched = started.chromium.launch(executable_path=place, args=flags)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    crowd = quorate.simulate(30, 120, 5, n_classes=4, spammers=0.2, seed=2)
    path = tmp_path_factory.mktemp("page") / "report.html"
    gold = dict(crowd.gold.rows()[:30])
    quorate.aggregate(crowd.votes, gold=gold).report(path, title="A crowd")
    return path


@pytest.fixture(params=[(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def page(browser: Any, page_file: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    width, scheme = request.param
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True
    )
    opened = context.new_page()
    opened.told = []
    opened.asked = []
    opened.on("console", lambda message: opened.told.append(message.text))
    opened.on("pageerror", lambda error: opened.told.append(str(error)))
    opened.on("request", lambda asked: opened.asked.append(asked.url))
    opened.goto(page_file.as_uri())
    yield opened
    context.close()


def test_it_opens_without_errors_and_asks_nobody(page: Any) -> None:
    kept = os.environ.get("QUORATE_SCREENSHOTS")  # a directory for what a person should look at
    if kept:
        name = f"report-{page.viewport_size['width']}-{page.evaluate(SCHEME)}.png"
        page.screenshot(path=Path(kept) / name, full_page=True)
    assert page.title() == "A crowd"
    assert page.told == []
    assert [url for url in page.asked if not url.startswith("file:")] == []


def test_nothing_hangs_over_the_edge(page: Any) -> None:
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0


def test_it_is_accessible(page: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    serious = [each for each in found if each["impact"] in SERIOUS]
    assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == []


@pytest.mark.parametrize("page", [(1280, "light")], indirect=True)
def test_tables_are_sorted_filtered_and_saved(page: Any) -> None:
    table = page.locator("table[data-name=workers]")
    table.get_by_role("button", name="accuracy", exact=True).click()
    shown = table.locator("tbody tr td:nth-child(3)").evaluate_all(
        "cells => cells.map(cell => Number(cell.dataset.value))"
    )
    assert shown == sorted(shown) and len(shown) == 30
    name = table.locator("tbody tr td:first-child").first.inner_text()
    page.get_by_label("Filter workers").fill(name)
    left = table.locator("tbody tr:visible").count()
    assert 1 <= left < 30
    with page.expect_download() as saved:
        page.get_by_label("Save workers as CSV").click()
    lines = Path(saved.value.path()).read_text().splitlines()
    assert lines[0].startswith("worker,labels,accuracy") and len(lines) == left + 1


@pytest.mark.parametrize("page", [(1280, "light")], indirect=True)
def test_a_link_to_a_worker_opens_the_worker(page: Any) -> None:
    first = page.locator("table[data-name=workers] tbody a").first
    address = str(first.get_attribute("href"))
    first.click()
    assert page.locator(f"[id='{address[1:]}']").get_attribute("open") is not None


@pytest.mark.parametrize("page", [(1280, "light")], indirect=True)
def test_it_prints(page: Any) -> None:
    assert page.pdf().startswith(b"%PDF")
