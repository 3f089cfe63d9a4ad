"""What makes answers doubtful whatever the method, and labels that cannot be classes."""

from __future__ import annotations

from typing import Any

import pytest

import quorate
from quorate import DataError
from quorate.votes import read_votes
from quorate.votes.doubts import doubts

PAIRS = [("t", "ann"), ("t", "bob"), ("u", "ann"), ("u", "bob")]


def numbered(n: int, shape: str) -> list[tuple[str, str, str]]:
    return [(f"t{i}", worker, shape.format(i)) for i in range(n) for worker in ("ann", "bob")]


@pytest.mark.parametrize(
    ("votes", "sentence"),
    [
        ([(*pair, "yes") for pair in PAIRS], "All votes say 'yes'"),
        ([("t", "ann", "yes"), ("u", "ann", "no")], "All votes are of one worker"),
        ([("t", "ann", "yes"), ("u", "bob", "no")], "No task has two votes"),
        (numbered(11, "{}"), "The labels are 11 different numbers"),
        (numbered(12, "{}.5"), "The labels are 12 different numbers"),
        (numbered(101, "text {}"), "101 different labels: is this the label column?"),
    ],
)
def test_a_doubt_is_a_note_of_every_method(votes: Any, sentence: str) -> None:
    for method in ("auto", "majority"):
        notes = quorate.aggregate(votes, method).notes
        assert sum(note.startswith(sentence) for note in notes) == 1


@pytest.mark.parametrize(
    "votes",
    [
        [(*pair, label) for pair, label in zip(PAIRS, ("yes", "no", "no", "no"), strict=True)],
        numbered(11, "class {}"),
        numbered(5, "{}"),
        numbered(100, "text {}"),
    ],
)
def test_nothing_is_said_of_usual_votes(votes: Any) -> None:
    assert doubts(read_votes(votes)) == []


def test_numbers_in_order_and_one_vote_a_task_with_known_answers_are_no_doubt() -> None:
    assert doubts(read_votes(numbered(20, "{}")), ordered=True) == []
    votes = [("t", "ann", "yes"), ("u", "bob", "no")]
    assert quorate.aggregate(votes, "majority", gold={"t": "yes"}).notes == ()


@pytest.mark.parametrize("method", ["dawid-skene", "ebcc", "ibcc"])
def test_labels_that_are_no_classes_are_refused_before_the_memory_is_gone(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorate.fitting.available_memory", lambda: 2e8)
    votes = numbered(2_000, "text {}")
    with pytest.raises(DataError, match=r"^2,000 different labels: is this the label column\?"):
        quorate.aggregate(votes, method)


@pytest.mark.parametrize("method", ["majority", "auto"])
def test_methods_without_matrices_take_labels_that_are_no_classes(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorate.fitting.available_memory", lambda: 2e8)
    assert len(quorate.aggregate(numbered(2_000, "text {}"), method).labels) == 2_000
