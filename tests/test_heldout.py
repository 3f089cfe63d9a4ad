"""Whether the classes of held-out votes have an order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import quorate
from quorate.heldout import Gain

NOTE = "The labels look ordered"


def grades(n_classes: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Grades of 300 tasks by eight of eighty workers each, who are off by more or less."""
    random = np.random.default_rng(seed)
    truth, spread = random.integers(n_classes, size=300), random.uniform(1, 3, size=80)
    worker = np.array([random.choice(80, 8, replace=False) for _ in range(300)])
    grade = np.rint(truth[:, None] + random.normal(0, spread[worker]))
    return truth, worker, np.clip(grade, 0, n_classes - 1).astype(int)


def votes_of(worker: Any, label: Any) -> list[tuple[int, int, Any]]:
    tasks = range(len(worker))
    return [
        (t, int(w), v) for t in tasks for w, v in zip(worker[t], label[t].tolist(), strict=True)
    ]


def notes_of(votes: Any, **options: Any) -> list[str]:
    return [note for note in quorate.aggregate(votes, **options).notes if NOTE in note]


def test_a_scale_is_noted_and_its_order_gives_better_labels() -> None:
    truth, worker, grade = grades(10)
    votes = votes_of(worker, grade)
    (note,) = notes_of(votes)
    assert "--ordered" in note and "nats a vote" in note
    wrong = {}
    for ordered in (False, True):
        labels = quorate.aggregate(votes, ordered=ordered).labels
        wrong[ordered] = np.mean([label != truth[t] for t, label in labels["task", "label"].rows()])
    assert wrong[True] < wrong[False]


def test_a_scale_without_a_gain_is_noted_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    _, worker, grade = grades(7)
    for gain, found in (
        (Gain(0.02, 0.02), "no better"),
        (Gain(-0.2, 0.02), "worse, by 0.200 nats"),
        (Gain(0.1, 0.02), "better, by 0.100 nats"),
    ):
        monkeypatch.setattr("quorate.aggregation.gain_of_order", lambda *_, gain=gain: gain)
        (note,) = notes_of(votes_of(worker, grade))
        assert found in note


def test_numbers_that_are_names_are_not_taken_for_a_scale() -> None:
    _, worker, grade = grades(10)
    mixed = np.random.default_rng(1).permutation(10)
    assert notes_of(votes_of(worker, mixed[grade])) == []


@pytest.mark.parametrize(
    "options", [{"ordered": True}, {"method": "dawid-skene"}, {"method": "majority"}]
)
def test_nobody_waits_for_it_unasked(options: dict[str, Any]) -> None:
    _, worker, grade = grades(10)
    assert notes_of(votes_of(worker, grade), **options) == []


def test_words_two_numbers_and_names_have_no_order_to_gain_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*given: Any) -> None:
        raise AssertionError("votes were held out")

    monkeypatch.setattr("quorate.aggregation.gain_of_order", refuse)
    _, worker, grade = grades(7)
    words = np.array(["awful", "bad", "poor", "fair", "good", "better", "best"])
    assert notes_of(votes_of(worker, words[grade])) == []
    assert notes_of(votes_of(worker, np.minimum(grade, 1))) == []
    mixed = np.array([2, 6, 0, 4, 1, 5, 3])
    assert notes_of(votes_of(worker, mixed[grade])) == []
    with pytest.raises(AssertionError, match="held out"):
        notes_of(votes_of(worker, grade))
