"""Which answers are decided: against plain loops, and over draws of what is known."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import hypergeom

import quorate
from quorate.answers import STRATA, Overview, stratum
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
from quorate.trust.selection import Rule, Sample, budgets, find_rule


def overview_of(confidence: Floats, known: int = 0) -> Overview:
    """Of tasks with these confidences, and of further ones whose answers are known."""
    posterior = np.stack([confidence, 1 - confidence], axis=1)
    overview = Overview.of(posterior, np.zeros(len(confidence), dtype=np.int32))
    return overview._replace(tasks=len(confidence) + known, known=known)


def from_above(values: Any) -> Floats:
    return np.asarray(values[::-1].cumsum()[::-1])


def sample_of(confidence: Floats, check: Check) -> Sample:
    """Stratum by stratum."""
    own, known = stratum(confidence), stratum(check.confidence)
    above = [(own >= s, known >= s) for s in range(STRATA)]
    return Sample(
        np.array([others.sum() for others, _ in above], dtype=float),
        np.array([some.sum() for _, some in above], dtype=float),
        np.array([(1 - check.right)[some].sum() for _, some in above]),
    )


def slowly(rule: Rule, confidence: Floats, check: Check) -> float:
    """How many others are decided by a rule, stratum by stratum."""
    own = stratum(confidence).tolist()
    known = list(zip(stratum(check.confidence).tolist(), check.right.tolist(), strict=True))
    top = [right for place, right in known if place >= rule.top]
    others: int = sum(place >= rule.top for place in own)
    if len(top) - sum(top) <= rule.most_wrong:
        return others
    most = 0.0
    for least in (place for place in own if place >= rule.top):
        decided = sum(place >= least for place in own)
        wrong = sum(1 - right for place, right in known if place >= least)
        if (1 + wrong) / (len(top) + 1) * others <= rule.left * (len(known) + decided):
            most = max(most, decided)
    return most


@pytest.mark.parametrize("seed", range(8))
def test_selection_in_loops(seed: int) -> None:
    random = np.random.default_rng(seed)
    n_known = int(random.integers(15, 80))
    confidence = random.beta(8, 1, size=300) * 0.5 + 0.5
    known = random.beta(8, 1, size=n_known) * 0.5 + 0.5
    check = Check(known, (random.random(n_known) < known).astype(float))
    sample = sample_of(confidence, check)
    rule = find_rule(sample.others + sample.known, sample.known, 0.1)
    assert rule is not None
    decision = decide(overview_of(confidence, n_known), Shift.of(Calibration()), check, 0.1)
    assert decision.promised
    decided = int((confidence >= decision.min_confidence).sum())
    assert decided == slowly(rule, confidence, check)
    assert decided + n_known == n_decided(overview_of(confidence, n_known), decision.min_confidence)
    without_first_step = rule._replace(most_wrong=-1, left=0.1)
    lowest = without_first_step.lowest(sample)
    assert int((stratum(confidence) >= lowest).sum()) == slowly(
        without_first_step, confidence, check
    )


@pytest.mark.parametrize(
    ("strata", "n_known", "max_error"),
    [
        ([5, 20, 40, 60, 80, 100, 120, 140], 3, 0.2),
        ([5, 5, 5, 30, 30, 30, 60, 60], 4, 0.12),
        ([0, 10, 20, 30, 40, 50, 60, 70], 2, 0.3),
        ([20, 21, 22, 23, 24, 25, 90], 5, 0.1),
    ],
)
def test_no_crowd_breaks_the_promise(strata: list[int], n_known: int, max_error: float) -> None:
    """Every crowd there is, right or wrong on each of a few tasks, over all draws of the known."""
    n = len(strata)
    crowds = np.array(list(product([0.0, 1.0], repeat=n)))
    shares, at_once = np.zeros(len(crowds)), 0
    draws = list(combinations(range(n), n_known))
    for draw in draws:
        is_known = np.isin(np.arange(n), draw)
        known, others = (
            from_above(np.bincount(np.array(strata)[some], minlength=STRATA).astype(float))
            for some in (is_known, ~is_known)
        )
        rule = find_rule(known + others, known, max_error)
        assert rule is not None
        at_once += rule.most_wrong >= 0
        for number, crowd in enumerate(crowds):
            weights = crowd * is_known
            wrong = from_above(np.bincount(strata, weights=weights, minlength=STRATA))
            decided = ~is_known & (np.array(strata) >= rule.lowest(Sample(others, known, wrong)))
            shares[number] += crowd[decided].sum() / (n_known + decided.sum())
    assert shares.max() / len(draws) <= max_error
    assert shares.max() / len(draws) > 0.5 * max_error  # and does not promise too little
    assert at_once


@pytest.mark.parametrize(("n_known", "n_others"), [(9, 27), (25, 75), (60, 900)])
def test_the_first_step_allows_as_much_as_can_be(n_known: int, n_others: int) -> None:
    """Against the sum over all draws, for every number of wrong tasks that there can be."""
    n = n_known + n_others
    left = budgets(n_known, n_others, n, 0.05)
    wrong = np.arange(n + 1)[:, None]

    def error(most_wrong: int) -> Floats:
        k = np.arange(most_wrong + 1)
        chance = hypergeom.pmf(k, n, wrong, n_known)
        return np.asarray((chance * np.maximum(wrong - k, 0)).sum(axis=1) / n)

    for most_wrong, b in enumerate(left):
        beyond = hypergeom.sf(most_wrong + 1, n, wrong[:, 0], n_known + 1)
        assert (error(most_wrong) + b * beyond).max() <= 0.05 + 1e-6
    assert error(len(left)).max() > 0.05
    assert (error(len(left) - 1) + (left[-1] + 0.001) * beyond).max() > 0.05 or left[-1] == 0.05


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
    confidence, shift = np.linspace(0.5, 1, 100_000), Shift.of(Calibration(0, 0.1))
    few = decide(overview_of(confidence, 6), shift, Check(np.full(6, 0.99), np.ones(6)), 0.05)
    assert not few.promised and "with 7 known answers" in few.note
    enough = decide(overview_of(confidence, 7), shift, Check(np.full(7, 0.99), np.ones(7)), 0.05)
    assert enough.promised


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
    said = np.where(random.random((400, 5)) < 0.75, truth[:, None], 1 - truth[:, None])
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
    assert "with 7 known answers" in alone.notes[-1]


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
