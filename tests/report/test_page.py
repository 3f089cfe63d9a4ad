"""The page of a report: every number is in it, nothing of it is run, and it needs no network."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import quorate
from quorate.report.page import page_of, share
from quorate.report.views import report_of

HOSTILE = "<script>alert(1)</script>"


class Page(HTMLParser):
    """The text, the ids and the addresses of a page, and its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.scripts = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            if name in ("href", "src"):
                self.addresses.append(str(value))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    crowd = quorate.simulate(8, 50, 4, n_classes=3, seed=5)
    return report_of(quorate.aggregate(crowd.votes, gold=dict(crowd.gold.rows()[:10])))


def test_every_part_is_there(report: dict[str, Any]) -> None:
    page = Page(page_of(report))
    for part in ("findings", "workers", "disputed", "classes", "agreement", "gold", "record"):
        assert part in page.ids
    for sentence in report["headline"]:
        assert " ".join(sentence.split()) in page.text


def test_numbers_of_the_dictionary_are_on_the_page(report: dict[str, Any]) -> None:
    text = Page(page_of(report)).text
    for row in report["workers"]["rows"]:
        assert share(row["accuracy"]) in text and str(row["worker"]) in text
    for row in report["disputed"]["rows"]:
        assert share(row["confidence"]) in text and str(row["task"]) in text
    for row in report["classes"]["rows"]:
        assert f"{share(row['low'])} to {share(row['high'])}" in text
    assert share(report["gold"]["votes_right"]) in text


def test_names_are_shown_and_never_run() -> None:
    votes = [(HOSTILE, f'"><img src=x onerror=alert({w})>', HOSTILE) for w in range(4)]
    votes += [(f"t{t}", w, label) for t in range(6) for w, label in (("a", HOSTILE), ("b", "&"))]
    page = Page(page_of(report_of(quorate.aggregate(votes))))
    assert page.scripts == 1
    assert HOSTILE in page.text
    assert not [address for address in page.addresses if not address.startswith("#")]


def test_it_needs_no_network(report: dict[str, Any]) -> None:
    page = page_of(report)
    assert not re.search(r"https?://", page.replace("http-equiv", ""))
    assert "default-src 'none'" in page


def test_every_link_leads_somewhere_in_a_small_crowd(report: dict[str, Any]) -> None:
    page = Page(page_of(report))
    assert {address[1:] for address in page.addresses} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))


def test_a_result_writes_it(tmp_path: Path) -> None:
    crowd = quorate.simulate(6, 30, 4, seed=1)
    result = quorate.aggregate(crowd.votes)
    result.report(tmp_path / "report.html", title="A & B", pseudonyms=True)
    page = Page((tmp_path / "report.html").read_text())
    assert "A & B" in page.text and "worker 1" in page.text
