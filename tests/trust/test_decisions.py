"""Which answers are decided: against plain loops, and over draws of what is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import hypergeom

import quorate
from quorate.answers import Overview, stratum
from quorate.kernels import Floats
from quorate.model import Calibration
from quorate.trust import (
    Check,
    ExpectedError,
    Shift,
    decide,
    error_of_the_decided,
    n_decided,
)


def overview_of(confidence: Floats, known: int = 0) -> Overview:
    """Of tasks with these confidences, and of further ones whose answers are known."""
    posterior = np.stack([confidence, 1 - confidence], axis=1)
    overview = Overview.of(posterior, np.zeros(len(confidence), dtype=np.int32))
    return overview._replace(tasks=len(confidence) + known, known=known)


def slowly(confidence: Floats, check: Check, max_error: float) -> int:
    """How many others are decided by conformal selection, stratum by stratum."""
    own, known = stratum(confidence).tolist(), stratum(check.confidence).tolist()
    most = 0
    for least in set(own):
        decided = sum(place >= least for place in own)
        wrong = sum(
            (1 - right) * (place >= least)
            for place, right in zip(known, check.right.tolist(), strict=True)
        )
        if (1 + wrong) / (len(known) + 1) * len(own) <= max_error * (len(known) + decided):
            most = max(most, decided)
    return most


@pytest.mark.parametrize("seed", range(5))
def test_conformal_selection_in_loops(seed: int) -> None:
    random = np.random.default_rng(seed)
    confidence = random.beta(8, 1, size=300) * 0.5 + 0.5
    known = random.beta(8, 1, size=60) * 0.5 + 0.5
    check = Check(known, (random.random(60) < known).astype(float))
    overview = overview_of(confidence, known=60)
    decision = decide(overview, Shift.of(Calibration()), check, 0.1)
    assert decision.promised
    decided = int((confidence >= decision.min_confidence).sum())
    assert decided == slowly(confidence, check, 0.1)
    assert decided + 60 == n_decided(overview, decision.min_confidence)


def test_the_promise_holds_over_draws_of_the_known() -> None:
    """However badly confidences are calibrated: here nobody is right as often as is said."""
    random = np.random.default_rng(0)
    confidence = random.uniform(0.6, 1, size=400)
    right = (random.random(400) < 1 - 2 * (1 - confidence) ** 1.5).astype(float)
    for n_known, least in ((20, 0.01), (80, 0.06)):
        errors = []
        for _ in range(300):
            known, others = np.split(random.permutation(400), [n_known])
            overview = overview_of(confidence[others], n_known)
            check = Check(confidence[known], right[known])
            decision = decide(overview, Shift.of(Calibration()), check, 0.1)
            chosen = others[confidence[others] >= decision.min_confidence]
            errors.append((1 - right[chosen]).sum() / (n_known + len(chosen)))
        assert least < np.mean(errors) < 0.1 + 2 * np.std(errors) / 300**0.5


def most_wrong(n_known: int, n_others: int, max_error: float, price: float) -> float:
    """The mean share of wrong answers among the decided, of the worst crowd that there can be.

    The tasks are gone through from the least confident up. An adversary who knows which known and
    which other answers are wrong above says whether the next task is right or wrong, and stops at
    the worst stratum that would be taken. ``worst[known][v, k]`` is what that comes to with v wrong
    ones among the others above and k among the known.
    """
    before: list[Floats] = []
    for others in range(n_others + 1):
        worst: list[Floats] = []
        v = np.arange(others + 1.0)[:, None]
        for known in range(n_known + 1):
            k = np.arange(known + 1.0)
            errors = (price + k) / (n_known + 1) * n_others
            taken = errors <= max_error * (n_known + others) + 1e-12
            stopped = np.where(taken, v / (n_known + others), 0.0)
            wrong, right = np.zeros((2, *stopped.shape))
            n_wrong = np.maximum(v + k, 1)
            n_right = np.maximum(others - v + known - k, 1)
            if others:
                wrong[1:] += (v / n_wrong)[1:] * before[known]
                right[:-1] += ((others - v) / n_right)[:-1] * before[known]
            if known:
                wrong[:, 1:] += (k / n_wrong)[:, 1:] * worst[known - 1]
                right[:, :-1] += ((known - k) / n_right)[:, :-1] * worst[known - 1]
            worst.append(np.maximum(stopped, np.maximum(wrong, right)))
        before = worst
    means = []
    for n_wrong_in_all in range(n_known + n_others + 1):
        drawn = np.arange(max(0, n_wrong_in_all - n_others), min(n_known, n_wrong_in_all) + 1)
        chances = hypergeom.pmf(drawn, n_known + n_others, n_wrong_in_all, n_known)
        means.append(float(chances @ before[n_known][n_wrong_in_all - drawn, drawn]))
    return max(means)


@pytest.mark.parametrize(("n_known", "n_others"), [(19, 40), (25, 75), (10, 40)])
def test_no_crowd_breaks_the_promise_and_its_price_is_not_too_high(
    n_known: int, n_others: int
) -> None:
    assert most_wrong(n_known, n_others, 0.05, price=1) <= 0.05
    if n_known > 10:
        assert most_wrong(n_known, n_others, 0.05, price=0.9) > 0.05
        assert most_wrong(n_known, n_others, 0.05, price=0.7) > 0.06


def test_known_answers_are_decided_and_right() -> None:
    confidence = np.full(300, 0.9)
    overview, shift = overview_of(confidence, known=100), Shift.of(Calibration(0.0, 0.01))
    error = error_of_the_decided(overview, shift, 0.5).error
    assert error == pytest.approx(0.75 * ExpectedError.of(overview, shift).error)
    assert error_of_the_decided(overview, shift, 1.0) == (0, 0, 0)
    assert (
        decide(overview, shift, None, 0.08).min_confidence == 0
    )  # 0.1 of the others, 0.075 of all
    assert decide(overview._replace(known=0), shift, None, 0.08).min_confidence == 1


def test_too_few_known_answers_promise_nothing() -> None:
    confidence = np.linspace(0.5, 1, 100)
    check = Check(np.full(18, 0.99), np.ones(18))
    few = decide(overview_of(confidence), Shift.of(Calibration(0, 0.1)), check, 0.05)
    assert not few.promised and "19 known answers" in few.note
    enough = Check(np.full(19, 0.99), np.ones(19))
    assert decide(overview_of(confidence), Shift.of(Calibration(0, 0.1)), enough, 0.05).promised


def test_by_the_model_alone_the_mean_error_of_the_decided_is_what_was_asked() -> None:
    confidence = np.random.default_rng(0).uniform(0.5, 1, size=5000)
    decision = decide(overview_of(confidence), Shift.of(Calibration(0.0, 0.01)), None, 0.1)
    chosen = confidence >= decision.min_confidence
    assert not decision.promised
    assert 0.09 < 1 - confidence[chosen].mean() <= 0.1


def test_all_or_nothing() -> None:
    shift = Shift.of(Calibration(0.0, 0.01))
    sure, unsure = overview_of(np.full(50, 0.999)), overview_of(np.full(50, 0.6))
    assert decide(sure, shift, None, 0.05).min_confidence == 0
    nothing = decide(unsure, shift, None, 0.05).min_confidence
    assert nothing == 1 and n_decided(unsure, nothing) == 0


def votes_and_truth(seed: int = 0) -> tuple[list[tuple[int, int, str]], dict[int, str]]:
    random = np.random.default_rng(seed)
    truth = random.integers(2, size=400)
    said = np.where(random.random((400, 5)) < 0.8, truth[:, None], 1 - truth[:, None])
    votes = [(t, w, "ny"[said[t, w]]) for t in range(400) for w in range(5)]
    return votes, {t: "ny"[truth[t]] for t in range(400)}


def test_max_error_decides_and_says_how() -> None:
    votes, truth = votes_and_truth()
    gold = {t: truth[t] for t in range(100)}
    result = quorate.aggregate(votes, gold=gold, max_error=0.05)
    assert result.decision is not None and result.decision.promised
    table = result.labels
    undecided = table.filter(pl.col("label").is_null())
    assert len(undecided) == result.overview.undecided > 0
    assert set(table.drop_nulls()["task"]) >= set(gold)
    assert undecided["confidence"].max() < result.min_confidence
    rest = [row for row in table.drop_nulls().rows() if row[0] not in gold]
    assert np.mean([label != truth[task] for task, label, _ in rest]) < 0.1
    assert result.expected_error_of_decided.error < result.expected_error.error
    assert "conformal selection" in result.notes[-1]
    alone = quorate.aggregate(votes, max_error=0.05)
    assert alone.decision is not None and not alone.decision.promised
    assert "19 known answers" in alone.notes[-1]


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"max_error": 1.5}, "probability"),
        ({"max_error": 0.0}, "above 0"),
        ({"max_error": 0.1, "min_confidence": 0.9}, "leave min_confidence out"),
        ({"max_error": 0.1, "multilabel": True}, "one right answer"),
    ],
)
def test_what_cannot_be_meant_is_refused(how: dict[str, Any], says: str) -> None:
    with pytest.raises(quorate.QuorateError, match=says):
        quorate.aggregate([(0, 0, "a"), (0, 1, "a")], **how)


def test_a_decision_is_saved_and_loaded(tmp_path: Any) -> None:
    votes, truth = votes_and_truth()
    result = quorate.aggregate(votes, gold={t: truth[t] for t in range(60)}, max_error=0.1)
    result.save(tmp_path / "a.quorate")
    loaded = quorate.load(tmp_path / "a.quorate")
    assert loaded.labels.equals(result.labels)
    assert loaded.decision == result.decision
    assert loaded.expected_error == result.expected_error
    assert loaded.expected_error_of_decided == result.expected_error_of_decided
    new = [("new", 0, "y"), ("new", 1, "y"), ("new", 7, "n")]
    assert loaded.predict(new).equals(result.predict(new))
