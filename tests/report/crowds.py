"""Crowds whose reports are looked at, made here or read from the published data sets."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import quorate
from quorate.report.views import ReportOptions, report_of

LETTERS = "abcdefghijklmnopqrstuvwxyz"
CLASSES = ("cat", "dog", "bird", "fish")
START = datetime(2026, 3, 1, 9)


def spelt(n: int) -> str:
    """A number in letters, so that names have no digits."""
    return LETTERS[n // 676 % 26] + LETTERS[n // 26 % 26] + LETTERS[n % 26]


def everything() -> tuple[quorate.Result, ReportOptions]:
    """A crowd with all that votes can tell: times, seconds, kinds, repeats, known answers, text."""
    crowd = quorate.simulate(24, 150, 5, n_classes=4, spammers=0.2, seed=2)
    random = np.random.default_rng(5)
    task, worker, label = (crowd.votes[name].to_list() for name in ("task", "worker", "label"))
    place = {name: i for i, name in enumerate(dict.fromkeys(task))}
    person = {name: i for i, name in enumerate(sorted(set(worker)))}
    code = {name: i for i, name in enumerate(sorted(set(label)))}
    nth = [worker[:i].count(name) for i, name in enumerate(worker)]  # fifteen a day, one a minute
    seconds = random.lognormal(2, 0.5, len(task))
    votes = pl.DataFrame(
        {
            "task": [spelt(place[name]) for name in task],
            "worker": [_called(person[name]) for name in worker],
            "label": [CLASSES[code[name]] for name in label],
            "time": [START + timedelta(days=n // 15, minutes=n % 15) for n in nth],
            "seconds": seconds * np.array([0.1 if person[w] == 3 else 1 for w in worker]),
            "text": [f"what is {spelt(place[name])}" for name in task],
        }
    )
    wrong = crowd.votes.join(crowd.gold, on="task").filter(pl.col("label") != pl.col("label_right"))
    worst = person[wrong["worker"].value_counts(sort=True)["worker"][0]]
    copied = votes.filter(pl.col("worker") == _called(worst))
    copied = copied.with_columns(worker=pl.lit("model-copy"))
    votes = pl.concat([votes, copied, votes.sample(60, seed=1)])
    gold = {spelt(place[t]): CLASSES[code[label]] for t, label in crowd.gold.rows()[:40]}
    for name in list(gold)[:5]:  # which are wrong
        gold[name] = CLASSES[CLASSES.index(gold[name]) - 1]
    kinds = {_called(i): "model" if i % 3 == 0 else "human" for i in range(24)}
    kinds["model-copy"] = "model"
    result = quorate.aggregate(votes, gold=gold, keep=["text"], worker_kinds=kinds)
    return result, ReportOptions("Everything")


def _called(person: int) -> str:
    return f"{'model' if person % 3 == 0 else 'human'}-{spelt(person)}"


def hostile() -> tuple[quorate.Result, ReportOptions]:
    """Sixty classes and names that would be run, turn the direction of writing or never end."""
    random = np.random.default_rng(1)
    classes = ["<script>alert(1)</script>", "\u202eevil\u200f", "é" * 300, "a|b", '"><b>']
    classes += [f"class {i}" for i in range(55)]
    workers = ['"><img src=x onerror=alert(1)>', "w" * 250, "\u202eworker", "שלום", "a#b/c?d&e=%20"]
    workers += [f"worker-{i}" for i in range(9)]
    rows = [
        (f"<i>{t}</i>" if t else "x" * 300, w, classes[t % 60 if random.random() < 0.7 else w_i])
        for t in range(150)
        for w_i, w in enumerate(workers)
        if random.random() < 0.4
    ]
    return quorate.aggregate(rows), ReportOptions("<script>alert(2)</script>")


def large() -> tuple[quorate.Result, ReportOptions]:
    """More workers and tasks than tables show."""
    crowd = quorate.simulate(1500, 6000, 4, n_classes=3, spammers=0.1, seed=3)
    return quorate.aggregate(crowd.votes), ReportOptions("Large", pseudonyms=True)


def published(name: str) -> tuple[quorate.Result, ReportOptions]:
    """One of the published data sets, which are beside those of `QUORATE_DATA`."""
    default = Path(__file__).resolve().parents[3] / "shared" / "data"
    first = Path(os.environ.get("QUORATE_DATA", default))
    for place in (first, first.parent / "data-second"):
        if (place / name).is_dir():
            return quorate.aggregate(place / name / "labels.csv"), ReportOptions(name)
    pytest.skip(f"{name} is not among the published data sets: set QUORATE_DATA")


MADE = {"everything": everything, "hostile": hostile, "large": large}


def report_named(name: str) -> dict[str, object]:
    """The report of one of these crowds."""
    result, options = MADE[name]() if name in MADE else published(name)
    return report_of(result, options)
