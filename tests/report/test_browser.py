"""The page of a report in a real browser: light and dark, wide and narrow, on the screen and in
print. Pictures are kept in `screenshots`, for a person to look at."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tests.browser
from tests.report.crowds import report_named

from quorate.report.page import page_of

SERIOUS = ("serious", "critical")
PICTURES = Path(__file__).resolve().parents[2] / "screenshots" / "reports"
CROWDS = ("everything", "hostile", "large", "rte", "web", "llmbar")
MODES = ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark"))
PICTURED = ((1280, "light"), (390, "dark"))

# Numbers that are cut, words that leave their chart, and ticks of a chart that cover each other.
FAULTS = """() => {
  const faults = [];
  for (const e of document.querySelectorAll("td.n, .tile b, .tile small, .headline li"))
    if (e.clientWidth && e.scrollWidth > e.clientWidth + 1) faults.push("cut: " + e.textContent);
  const apart = (a, b) => a.right <= b.left + 0.5 || b.right <= a.left + 0.5 ||
    a.bottom <= b.top + 0.5 || b.bottom <= a.top + 0.5;
  for (const svg of document.querySelectorAll("svg.chart")) {
    const box = svg.getBoundingClientRect();
    if (!box.width) continue;
    const boxes = [...svg.querySelectorAll("text.tick")].map((t) => [t, t.getBoundingClientRect()]);
    boxes.forEach(([t, b], i) => {
      const wide = b.left < box.left - 1 || b.right > box.right + 1;
      if (wide || b.top < box.top - 1 || b.bottom > box.bottom + 1)
        faults.push("outside: " + t.textContent);
      if (svg.classList.contains("matrix")) return;
      for (const [other, o] of boxes.slice(i + 1))
        if (!apart(b, o)) faults.push("covered: " + t.textContent + " and " + other.textContent);
    });
  }
  return faults;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with tests.browser.browser() as launched:
        yield launched


@cache
def page_file(crowd: str) -> Path:
    PICTURES.mkdir(parents=True, exist_ok=True)
    path = PICTURES / f"{crowd}.html"
    path.write_text(page_of(report_named(crowd)), encoding="utf-8")
    return path


def opened(browser: Any, crowd: str, width: int = 1280, scheme: str = "light") -> Any:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True
    )
    page = context.new_page()
    page.told, page.asked = [], []
    page.on("console", lambda message: page.told.append(message.text))
    page.on("pageerror", lambda error: page.told.append(str(error)))
    page.on("request", lambda asked: page.asked.append(asked.url))
    page.goto(page_file(crowd).as_uri())
    return page


@pytest.mark.parametrize("crowd", CROWDS)
def test_it_can_be_looked_at(browser: Any, crowd: str) -> None:
    for width, scheme in MODES:
        page = opened(browser, crowd, width, scheme)
        if (width, scheme) in PICTURED:
            kept = PICTURES / f"{crowd}-{width}-{scheme}.jpg"
            page.screenshot(path=kept, full_page=True, type="jpeg", quality=60)
        assert page.told == []
        assert [url for url in page.asked if not url.startswith("file:")] == []
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert page.evaluate(FAULTS) == []
        page.context.close()


# What can be seen depends on the width, and how well on the scheme: each is tried, not each pair.
LOOKS = [
    *(("everything", 1280, "dark"), ("everything", 390, "light"), ("hostile", 1280, "dark")),
    *(("large", 390, "light"), ("rte", 390, "dark"), ("web", 1280, "light")),
    ("llmbar", 1280, "dark"),
]


@pytest.mark.parametrize(("crowd", "width", "scheme"), LOOKS)
def test_it_is_accessible(browser: Any, crowd: str, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = opened(browser, crowd, width, scheme)
    page.locator("details.page").first.locator("summary").click()
    found = axe.Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    serious = [each for each in found if each["impact"] in SERIOUS]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in serious] == []
    page.context.close()


@pytest.mark.parametrize("crowd", CROWDS)
def test_it_prints(browser: Any, crowd: str) -> None:
    page = opened(browser, crowd, scheme="dark")
    page.pdf(path=PICTURES / f"{crowd}.pdf", format="A4", print_background=True)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible() and not page.locator(".tools").first.is_visible()
    page.context.close()


def test_tables_are_folded_sorted_filtered_and_saved(browser: Any) -> None:
    page = opened(browser, "everything")
    table = page.locator("table[data-at='workers.rows']")
    visible = table.locator("tbody tr:visible")
    assert visible.count() == 12
    page.locator(".wide:has(table[data-at='workers.rows']) + .all").click()
    assert visible.count() == 25
    table.get_by_role("button", name="accuracy", exact=True).click()
    head = table.locator("th", has_text="accuracy")
    assert head.get_attribute("aria-sort") == "descending"
    column = "rows => rows.map(row => Number(row.cells[3].dataset.value))"
    shown = table.locator("tbody tr").evaluate_all(column)
    assert shown == sorted(shown, reverse=True)
    page.get_by_label("Filter workers").fill("model-")
    left = visible.count()
    assert 1 <= left < 25
    with page.expect_download() as saved:
        page.get_by_label("Save workers as CSV").click()
    lines = Path(saved.value.path()).read_text().splitlines()
    assert lines[0].startswith("worker,flag,labels,accuracy,low,high,agreement,informed")
    assert len(lines) == left + 1
    page.context.close()


# Chromium drops what is downloaded beyond ten files in a second.
AT_ONCE, A_SECOND = 9, 1100


def test_every_table_is_saved(browser: Any) -> None:
    page = opened(browser, "everything")
    for number, table in enumerate(page.locator("table[data-at]").all(), start=1):
        name = table.get_attribute("data-name")
        if number % AT_ONCE == 0:
            page.wait_for_timeout(A_SECOND)
        with page.expect_download() as saved:
            page.get_by_label(f"Save {name} as CSV", exact=True).click()
        lines = Path(saved.value.path()).read_text().splitlines()
        assert len(lines) == 1 + table.locator("tbody tr").count(), name
    page.context.close()


def test_a_link_opens_what_is_folded(browser: Any) -> None:
    page = opened(browser, "everything")
    first = page.locator("table[data-at='workers.rows'] tbody a").first
    address = str(first.get_attribute("href"))
    first.click()
    assert page.locator(f"[id='{address[1:]}']").get_attribute("open") is not None
    last = page.locator("table[data-at='disputed.rows'] tbody tr").last
    assert not last.is_visible()
    page.evaluate(f"location.hash = {json.dumps(last.get_attribute('id'))}")
    page.wait_for_function("document.querySelector('table[data-at=\"disputed.rows\"] tr:target')")
    assert last.is_visible()
    page.context.close()
