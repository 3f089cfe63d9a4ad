"""Thresholds on the scale of grades: recovered, in the order that is given, and said."""

from __future__ import annotations

import numpy as np
import pytest

import quorate
from quorate.errors import UsageError
from quorate.labels import Labels
from quorate.models.ordinal import log_rows

STRICT, EXACT, LENIENT = [0.6, 0.3, 0.0, -0.3, -0.6], [0.0] * 5, [-0.6, -0.3, 0.0, 0.3, 0.6]


def crowd(n_tasks: int = 1500) -> tuple[Labels, np.ndarray, np.ndarray]:
    """Labels of nine judges, strict, exact and lenient ones, with the truth and their numbers."""
    random = np.random.default_rng(0)
    leanings = np.array([STRICT, EXACT, LENIENT] * 3)
    numbers = np.column_stack([leanings, np.tile([0.8, 1.0, 1.3], 3)])
    chance = np.exp(log_rows(numbers))
    truth = random.integers(5, size=n_tasks)
    task = np.repeat(np.arange(n_tasks), 4)
    worker = np.concatenate([random.permutation(9)[:4] for _ in range(n_tasks)])
    drawn = random.random(len(task))[:, None] > chance[worker, truth[task]].cumsum(axis=1)
    return Labels.from_codes(task, worker, drawn.sum(axis=1), n_classes=5), truth, numbers


def test_thresholds_and_precisions_are_recovered_and_answers_better_than_the_vote() -> None:
    labels, truth, numbers = crowd()
    result = quorate.fit(quorate.Ordinal(), labels)
    vote = quorate.fit(quorate.Majority(), labels)
    assert (result.answers != truth).mean() < 0.95 * (vote.answers != truth).mean()
    middle = np.arange(1, 5) - 0.5
    true = middle - np.diff(numbers[:, :-1], axis=1) / numbers[:, -1:]
    found = result.model.thresholds(result.params)
    np.testing.assert_allclose(found, true, atol=0.35)
    assert np.corrcoef(found.mean(axis=1), true.mean(axis=1))[0, 1] > 0.95
    np.testing.assert_allclose(result.params.worker[:, -1], numbers[:, -1], atol=0.3)


def test_the_order_is_what_is_given_and_nothing_is_wrapped() -> None:
    said = {"t1": "LLM", "t2": "MMH", "t3": "HHM", "t4": "LML"}
    votes = [(task, w, label) for task in said for w, label in zip("abc", said[task], strict=True)]
    result = quorate.aggregate(votes, "ordinal", ordered=["L", "M", "H"])
    assert result.method == "ordinal"
    assert dict(result.labels.select("task", "label").rows())["t3"] == "H"
    assert not any("grades in the order" in note for note in result.notes)
    noted = quorate.aggregate(votes, "ordinal")
    assert any("grades in the order H, L, M" in note for note in noted.notes)
    numbers = quorate.aggregate([(t, w, "LMH".index(x)) for t, w, x in votes], "ordinal")
    assert not any("order" in note for note in numbers.notes)
    np.testing.assert_allclose(numbers.posterior, result.posterior, atol=1e-12)


def test_too_many_grades_are_refused_and_newcomers_are_of_the_crowd() -> None:
    many = Labels.from_codes([0, 0], [0, 1], [0, 200])
    with pytest.raises(UsageError, match="quorate scores"):
        quorate.fit(quorate.Ordinal(), many)
    labels, *_ = crowd(100)
    result = quorate.fit(quorate.Ordinal(), labels)
    more = result.model.newcomer(result.stats, result.params)
    np.testing.assert_allclose(np.exp(more.log_confusion[-5:]).sum(axis=0), 1.0)
