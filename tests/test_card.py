"""Cards of every public object: short, escaped, and with the figures that its repr has."""

from __future__ import annotations

from functools import cache
from typing import Any

import quorate

VOTES = [(f"t{i % 20}", f"w{i % 7}", "<b>x" if (i * 7) % 3 else "y") for i in range(200)]


@cache
def objects() -> dict[str, Any]:
    result = quorate.aggregate(VOTES)
    online = quorate.Online()
    online.add(VOTES[:20])
    return {
        "result": result,
        "multilabel": quorate.aggregate(VOTES, "majority", multilabel=True),
        "comparison": quorate.compare(VOTES, ["majority", "one-coin"]),
        "diagnosis": quorate.diagnose(VOTES),
        "assignment": quorate.assign(VOTES, 5),
        "explanation": result.explain("t1"),
        "votes": quorate.read_votes(VOTES),
        "online": online,
        "crowd": quorate.simulate(5, 20, 3, seed=1),
        "labels": result.votes.labels,
        "codebook": result.codebook,
        "independence": quorate.independence(result.votes.labels),
        "threads": quorate.Threads(1),
        "disk": quorate.Disk(1),
        "method": quorate.methods()[0],
        "model": quorate.DawidSkene(smoothing=0.5),
    }


def test_a_card_is_small_and_shows_names_as_they_are() -> None:
    for name, each in objects().items():
        html = each._repr_html_()
        assert html.startswith("<style>") and html.endswith("</div>"), name
        assert len(html) < 50_000, name
        assert "<b>x" not in html, name


def test_every_public_class_has_a_card() -> None:
    public = [getattr(quorate, name) for name in quorate.__all__ if name[0].isupper()]
    without = [
        each.__name__
        for each in public
        if not hasattr(each, "_repr_html_") and not issubclass(each, Exception)
    ]
    assert without == []


def test_the_card_of_a_result_has_its_figures() -> None:
    result, html = objects()["result"], objects()["result"]._repr_html_()
    assert f"{result.expected_error.error:.1%}" in html
    assert "&lt;b&gt;x" in html
    least = min(result.labels.rows(), key=lambda row: row[2])
    assert f"{least[2]:.1%}" in html


def test_long_names_are_cut_and_many_rows_counted() -> None:
    votes = [(f"t{i}" + "x" * 500, f"w{i % 3}", f"label {i % 40}") for i in range(400)]
    html = quorate.aggregate(votes, "majority")._repr_html_()
    assert "x" * 100 not in html and "more</div>" in html
