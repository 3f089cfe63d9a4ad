"""The page of a report: every number of it is in the dictionary, under the name that it has there;
nothing of it is run, and it needs no network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.report.crowds import everything, hostile

import quorate
from quorate.report.page import at_place, page_of
from quorate.report.page.columns import COLUMNS
from quorate.report.views import report_of

DAY = re.compile(r"\d{4}-\d\d-\d\d")
NUMBER = re.compile(r"(?<![\w.,])[+\N{MINUS SIGN}-]?\d[\d,]*(?:\.\d+)?%?(?![\w])")


class Page(HTMLParser):
    """The texts of a page, each with the place in the dictionary that it says it is from: that of
    the nearest element with `data-at`, or of a cell the table's, its row's and its column's."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[tuple[str, str, list[str]]] = []  # class, text, places
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.scripts = 0
        self.open: list[tuple[str, list[str] | None, str]] = []  # tag, places, class
        self.table, self.row, self.columns, self.column = "", -1, [], -1
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: str(value) for name, value in attrs}
        self.scripts += tag == "script"
        self.ids += [given["id"]] if "id" in given else []
        self.addresses += [given[name] for name in ("href", "src") if name in given]
        places = [given["data-at"]] if "data-at" in given else None
        if tag == "table":
            self.table, self.row, self.columns = given.get("data-at", ""), -1, []
            places = None
        elif tag == "th" and "data-keys" in given:
            self.columns.append(given["data-keys"].split())
        elif tag == "tr":
            self.row, self.column = self.row + (self.inside("tbody")), -1
        elif tag == "td" and self.table:
            self.column += 1
            row = f"{self.table}.{self.row}"
            places = [f"{row}.{key}" for key in self.columns[self.column]]
            places += [f"{row}.item"] if self.columns[self.column] == ["task"] else []
        self.open.append((tag, places, given.get("class", "")))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        while self.open:
            if self.open.pop()[0] == tag:
                break
        if tag == "table":
            self.table = ""

    def handle_data(self, data: str) -> None:
        if not self.inside("style") and not self.inside("script"):
            places = next((p for _, p, _ in reversed(self.open) if p), [])
            self.texts.append((self.open[-1][2] if self.open else "", data, places))

    def inside(self, tag: str) -> bool:
        return any(each == tag for each, *_ in self.open)

    @property
    def text(self) -> str:
        return " ".join("".join(data for _, data, _ in self.texts).split())


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for each in value.values():
            yield from leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each)
    elif value is not None:
        yield value


def is_in(shown: str, value: Any) -> bool:
    """Whether the number, as it is shown, is one of those in the value, or in its words."""
    plain = shown.rstrip("%").replace(",", "").replace("\N{MINUS SIGN}", "-")
    digits = len(plain.partition(".")[2])
    for leaf in leaves(value):
        if isinstance(leaf, str):
            if shown in leaf:
                return True
        elif not isinstance(leaf, bool):
            near = [100 * leaf] if shown.endswith("%") else [leaf, 100 * leaf]
            if any(abs(each - float(plain)) <= 0.5000001 * 10**-digits for each in near):
                return True
    return False


def names_a_day(places: list[str]) -> bool:
    """Whether the text names a cell by its day, which is beside the shares in the dictionary."""
    return any(place.startswith("time.calendar.agreement") for place in places)


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return report_of(*everything())


def test_every_number_is_in_the_dictionary_under_its_name(report: dict[str, Any]) -> None:
    printed = json.loads(json.dumps(report, default=str))  # as --json prints it
    page = Page(page_of(report))
    compared = 0
    for kind, text, places in page.texts:
        if "tick" in kind.split():
            continue
        for shown in NUMBER.findall(DAY.sub("", text) if names_a_day(places) else text):
            values = [at_place(printed, place) for place in places]
            assert is_in(shown, values), (shown, text, places)
            compared += 1
    assert compared > 3000


def test_every_number_in_a_sentence_is_one_of_the_dictionary(report: dict[str, Any]) -> None:
    numbers = [leaf for leaf in leaves(report) if not isinstance(leaf, str)]
    numbers += [len(report["speed"]["too_fast"]), len(report["time"]["drifting"])]
    views = [view for view in report.values() if isinstance(view, dict)]
    sentences = report["headline"] + [said for view in views for said in view.get("say", [])]
    assert len(sentences) > 20
    for sentence in sentences:
        for shown in NUMBER.findall(DAY.sub("", sentence)):
            assert is_in(shown, numbers), (shown, sentence)


def test_every_part_and_every_table_is_there(report: dict[str, Any]) -> None:
    html = page_of(report)
    page = Page(html)
    parts = "findings workers disputed overruled classes agreement kinds panel repeats gold time"
    for part in (*parts.split(), "speed", "next", "record"):
        assert part in page.ids
    for sentence in report["headline"]:
        assert " ".join(sentence.split()) in page.text
    for at in COLUMNS:
        assert f'data-at="{at}"' in html or at in ("features.rows", "panel.positions.rows")


def test_names_are_shown_and_never_run() -> None:
    report = report_of(*hostile())
    html = page_of(report)
    page = Page(html)
    assert page.scripts == 1
    assert "<script>alert(1)</script>" in page.text and "<script>alert(2)" in page.text
    assert "\u202e" not in page.text and "\\u202eevil" in page.text
    assert not [address for address in page.addresses if not address.startswith("#")]
    assert len(html) < 3_000_000
    assert len(page.ids) == len(set(page.ids))


def test_features_are_listed() -> None:
    votes = [(t, w, "ab"[t % 2]) for t in range(20) for w in "xyz"]
    features = [(t, "even" if t % 2 == 0 else "odd") for t in range(20)]
    result = quorate.aggregate(votes, "naive-bayes", features=features)
    report = report_of(result)
    assert {row["feature"]: row["label"] for row in report["features"]["rows"]} == {
        "even": "a",
        "odd": "b",
    }
    assert 'data-at="features.rows"' in page_of(report)


def test_it_needs_no_network(report: dict[str, Any]) -> None:
    page = page_of(report)
    assert not re.search(r"https?://", page.replace("http-equiv", ""))
    assert "default-src 'none'" in page


def test_an_address_that_is_kept_of_a_task_is_a_link() -> None:
    url = "https://example.org/?a=1&b=<2>"
    votes = [("t", w, label, url) for w, label in zip("uvw", "aab", strict=True)]
    schema = ["task", "worker", "label", "url"]
    result = quorate.aggregate(pl.DataFrame(votes, schema=schema, orient="row"), keep=["url"])
    page = Page(page_of(report_of(result)))
    assert "https://example.org/?a=1&b=<2>" in page.addresses


def test_every_link_leads_somewhere(report: dict[str, Any]) -> None:
    page = Page(page_of(report))
    assert {address[1:] for address in page.addresses} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))


def test_a_result_writes_it(tmp_path: Path) -> None:
    crowd = quorate.simulate(6, 30, 4, seed=1)
    result = quorate.aggregate(crowd.votes)
    result.report(tmp_path / "report.html", title="A & B", pseudonyms=True)
    page = Page((tmp_path / "report.html").read_text())
    assert "A & B" in page.text and "worker 1" in page.text
