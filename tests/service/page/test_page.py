"""The pages: without a browser what they say, in a real one that a team can work with them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from tests.browser import browser
from tests.service.serving import serving

from quorate.service.client import Client
from quorate.service.page.content import PAGES
from quorate.service.service import Service

EVIL = "<script>alert('x')</script>"


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    service = Service(str(tmp_path / "project.db"))
    with serving(service) as url:
        with Client(url) as client:
            client.create("birds", classes=["heron", "egret"], title=f"Birds {EVIL}", gold_rate=0)
            client.add_tasks([{"task": f"photo {i}", "payload": f"{EVIL} {i}"} for i in range(12)])
            client.add_workers(["ann", "bob"])
            client.vote("photo 0", EVIL, "heron")
        yield url
    service.close()


def fetch(url: str, fields: dict[str, str] | None = None) -> tuple[int, str]:
    body = None if fields is None else urlencode(fields).encode()
    try:
        with urlopen(Request(url, body), timeout=30) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.parametrize("name", [*PAGES, "label"])
def test_every_page_is_there_escaped_and_has_a_twin(url: str, name: str) -> None:
    status, page = fetch(f"{url}/projects/birds/{name}")
    assert status == 200
    assert EVIL not in page
    assert "&lt;script&gt;" in page
    HTMLParser().feed(page)
    status, twin = fetch(f"{url}/projects/birds/{name}.json")
    assert status == 200
    content: dict[str, Any] = json.loads(twin)
    assert content.get("summary", {}).get("votes", 1) == 1


def test_the_page_of_a_worker_has_a_twin(url: str) -> None:
    name = "%3Cscript%3Ealert%28%27x%27%29%3C%2Fscript%3E"
    assert "1 votes" in fetch(f"{url}/projects/birds/workers/{name}")[1]
    twin = json.loads(fetch(f"{url}/projects/birds/workers/{name}.json")[1])
    assert twin["worker"]["worker"] == EVIL
    assert fetch(f"{url}/projects/birds/nowhere")[0] == 404
    assert fetch(f"{url}/static/../routes.py")[0] == 404


def test_forms_need_what_only_the_page_knows(url: str) -> None:
    place = f"{url}/projects/birds/settings"
    assert fetch(place, {"budget": "5"})[0] == 403
    found = re.search(r'name="csrf" value="(\w+)"', fetch(place)[1])
    assert found is not None
    assert fetch(place, {"csrf": found[1], "budget": "many"})[0] == 422
    assert fetch(place, {"csrf": found[1], "budget": "5", "title": "Birds"})[0] == 200
    with Client(url, "birds") as client:
        assert client.summary()["settings"]["budget"] == 5


def test_a_project_and_its_tasks_are_made_on_the_page(url: str) -> None:
    found = re.search(r'name="csrf" value="(\w+)"', fetch(f"{url}/")[1])
    assert found is not None
    made = {"name": "frogs", "classes": "green\r\n brown \n\n", "instructions": "Look."}
    assert fetch(f"{url}/projects", made)[0] == 403
    made["csrf"] = found[1]
    assert fetch(f"{url}/projects", {**made, "classes": "a\na"})[0] == 422
    assert fetch(f"{url}/projects", {**made, "name": "a b"})[0] == 422
    status, shown = fetch(f"{url}/projects", made)
    assert status == 200 and "Add tasks" in shown
    lines = {"csrf": found[1], "tasks": "By the <lake>\nhttps://example.org/1.jpg\n"}
    assert fetch(f"{url}/projects/frogs/tasks", {**lines, "tasks": " "})[0] == 422
    assert fetch(f"{url}/projects/frogs/tasks", lines)[0] == 200
    with Client(url, "frogs") as client:
        assert client.summary()["settings"]["classes"] == ["green", "brown"]
        assert client.task("1")["payload"] == {"text": "By the <lake>"}
        assert client.task("2")["payload"] == {"image": "https://example.org/1.jpg"}


def test_two_people_label_ten_tasks_and_the_page_follows(url: str, tmp_path: Path) -> None:
    """Eleven votes in all: one was there."""
    api = pytest.importorskip("playwright.sync_api")
    with browser() as chromium:
        errors: list[str] = []

        def opened(path: str, width: int) -> Any:
            page = chromium.new_context(viewport={"width": width, "height": 844}).new_page()
            page.set_default_timeout(60_000)
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
            page.goto(url + path)
            return page

        watching = opened("/projects/birds", 1280)
        expect = api.expect
        expect.set_options(timeout=60_000)
        for person, width in (("ann", 1280), ("bob", 390)):
            page = opened("/projects/birds/label", width)
            expect(page.locator("#who")).to_be_visible()
            expect(page.locator("#undo")).to_be_hidden()  # nobody has done anything
            page.fill("input[name=worker]", person)
            page.click("text=Begin")
            for n in range(1, 6):
                expect(page.locator("#answers button").first).to_be_enabled()
                expect(page.locator("#task")).to_be_visible()
                page.keyboard.press("1") if n % 2 else page.click("text=heron")
                expect(page.locator("#count")).to_have_text("1 vote" if n == 1 else f"{n} votes")
                expect(page.locator("#undo")).to_be_visible()
            page.keyboard.press("u")
            expect(page.locator("#count")).to_have_text("4 votes")
            expect(page.locator("#answers button").first).to_be_enabled()
            page.keyboard.press("1")
            expect(page.locator("#count")).to_have_text("5 votes")
            wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
            assert not wide
        expect(watching.locator("[data-live=votes]")).to_have_text("11")
        watching.goto(f"{url}/projects/birds/workers/bob")
        watching.click("text=Pause")
        expect(watching.locator(".flag")).to_have_text("paused")
        with watching.expect_download() as download:
            watching.click("text=votes as CSV")
        rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
    assert len(rows) == 11
    assert {row["label"] for row in rows} == {"heron"}
    assert not errors
    with Client(url, "birds") as client:
        assert {w["worker"]: w["paused"] for w in client.workers()}["bob"]


def test_what_is_undone_cannot_be_undone_again(url: str) -> None:
    api = pytest.importorskip("playwright.sync_api")
    with browser() as chromium:
        page = chromium.new_context().new_page()
        page.set_default_timeout(60_000)
        api.expect.set_options(timeout=60_000)
        page.goto(f"{url}/projects/birds/label")
        page.fill("input[name=worker]", "ann")
        page.click("text=Begin")
        api.expect(page.locator("#task")).to_be_visible()
        api.expect(page.locator("#undo")).to_be_hidden()
        page.click("text=heron")
        page.click("#undo")
        api.expect(page.locator("#undo")).to_be_hidden()
        api.expect(page.locator("#count")).to_have_text("")


def test_the_votes_of_disputed_tasks_are_within_a_phone(url: str) -> None:
    """The name of a worker may be as long as a name can be."""
    pytest.importorskip("playwright.sync_api")
    with Client(url, "birds") as client:
        for i, worker in enumerate(["ann", "bob", "Maximiliane von und zu Hohenlohe", "x" * 100]):
            client.vote("photo 1", worker, ["heron", "egret"][i % 2])
    with browser() as chromium:
        page = chromium.new_context(viewport={"width": 390, "height": 844}).new_page()
        page.goto(f"{url}/projects/birds/disputed")
        votes = page.locator(".votes li")
        assert votes.count() == 5
        edges = votes.evaluate_all("all => all.map(one => one.getBoundingClientRect().right)")
        assert max(edges) <= 390
        assert page.evaluate(
            "[...document.querySelectorAll('.wide')].every(x => x.scrollWidth <= x.clientWidth)"
        )
