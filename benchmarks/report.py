"""What a report costs beyond the fit, in processor time, and how large its page is.

    python benchmarks/report.py            # rte, web, llmbar and a simulated million votes
    python benchmarks/report.py rte        # some of them

Each line has seconds of the fit, of the dictionary and of the page, the ratio of the latter two to
the fit, and the size of the page; then the time and size of the card that a notebook shows.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import quorate
from quorate.report.page import page_of
from quorate.report.views import ReportOptions, report_of

DATA = Path(os.environ.get("QUORATE_DATA", Path(__file__).resolve().parents[2] / "shared/data"))
SECOND = DATA.parent / "data-second"
LIMITS = {"rte": 2.0, "million votes": 20.0}  # seconds beyond the fit
LARGEST, LARGEST_CARD = 5e6, 50e3  # bytes


def published(name: str) -> Path:
    """The votes of a published data set."""
    place = DATA / name if (DATA / name).is_dir() else SECOND / name
    return place / "labels.csv"


def simulated(n_tasks: int, labels_per_task: int) -> Any:
    """Votes of a simulated crowd of 5,000."""
    crowd = quorate.simulate(5000, n_tasks, labels_per_task, n_classes=5, spammers=0.1, seed=1)
    return crowd.votes


SUBJECTS: dict[str, Callable[[], Any]] = {
    "rte": lambda: published("rte"),
    "web": lambda: published("web"),
    "llmbar": lambda: published("llmbar"),
    "million votes": lambda: simulated(200_000, 5),
    "million tasks": lambda: simulated(1_000_000, 3),
}


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """What a function returns, and its processor time."""
    start = process_time()
    value = function()
    return value, process_time() - start


def measure(name: str) -> None:
    """Print the line of one subject."""
    votes = SUBJECTS[name]()
    result, fit = timed(lambda: quorate.aggregate(votes))
    report, views = timed(lambda: report_of(result, ReportOptions(name)))
    page, drawing = timed(lambda: page_of(report))
    card, showing = timed(result._repr_html_)
    beyond, size = views + drawing, len(page.encode())
    limit = f" (limit {LIMITS[name]:g} s)" if name in LIMITS else ""
    print(
        f"{name:<14} fit {fit:6.2f} s, report {views:6.2f} s, page {drawing:5.2f} s:"
        f" {beyond:6.2f} s beyond the fit{limit}, {beyond / max(fit, 1e-9):.1f} times the fit;"
        f" {size / 1e6:.2f} MB (limit {LARGEST / 1e6:g}); card {1000 * showing:.0f} ms,"
        f" {len(card) / 1e3:.0f} KB (limit {LARGEST_CARD / 1e3:g})",
        flush=True,
    )


if __name__ == "__main__":
    page_of(report_of(quorate.aggregate([(t, w, t % 2) for t in range(9) for w in "abc"])))  # warm
    for subject in sys.argv[1:] or SUBJECTS:
        measure(subject)
