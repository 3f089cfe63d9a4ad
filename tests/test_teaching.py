"""Known answers: hidden one fold after the other, and what they teach."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import quorate
from quorate.crossfit import CrossFit, crossfit
from quorate.engines.threads import Threads
from quorate.fitting import Request, fit_labels
from quorate.labels import Labels
from quorate.models import DawidSkene, Majority, OneCoin, Taught
from quorate.models.taught import corrected
from quorate.teaching import RIDGES, teach
from quorate.votes.blocks import MemoryBlocks


def misled(n_tasks: int = 300, seed: int = 0) -> tuple[Labels, Any]:
    """Nine workers who share an error on a third of the tasks, and three who do not."""
    random = np.random.default_rng(seed)
    truth = random.integers(2, size=n_tasks)
    lure = np.where(random.random(n_tasks) < 0.35, 1 - truth, truth)
    crowd = np.where(random.random((n_tasks, 9)) < 0.9, lure[:, None], 1 - lure[:, None])
    few = np.where(random.random((n_tasks, 3)) < 0.85, truth[:, None], 1 - truth[:, None])
    said = np.concatenate([crowd, few], axis=1)
    task, worker = np.divmod(np.arange(said.size), said.shape[1])
    return Labels.from_codes(task, worker, said.ravel()), truth


def known(labels: Labels, truth: Any, n: int) -> Labels:
    gold = np.where(np.arange(labels.n_tasks) < n, truth, -1).astype(np.int32)
    return replace(labels, gold=gold)


def cross_of(model: Any, labels: Labels, engine: Any = None) -> CrossFit:
    found = crossfit(model, MemoryBlocks(labels), Request(engine or Threads(1)))
    assert found is not None
    return found


def test_every_known_answer_is_met_by_a_fit_that_has_not_seen_it() -> None:
    labels, truth = misled()
    with_gold = known(labels, truth, 23)
    cross = cross_of(DawidSkene(), with_gold)
    assert sorted(np.bincount(cross.fold).tolist()) == [4, 4, 5, 5, 5]
    assert cross.truth.tolist() == truth[:23].tolist()
    for fold in range(5):
        hidden = np.flatnonzero(cross.fold == fold)
        gold = np.array(with_gold.gold)
        gold[hidden] = -1
        alone = fit_labels(DawidSkene(), replace(labels, gold=gold), Threads(1))
        np.testing.assert_array_equal(cross.posterior[hidden], alone.posterior[hidden])


def test_too_few_known_answers_teach_nothing() -> None:
    labels, truth = misled(40)
    few = MemoryBlocks(known(labels, truth, 4))
    assert crossfit(Majority(), few, Request(Threads(1))) is None
    assert crossfit(Majority(), MemoryBlocks(labels), Request(Threads(1))) is None
    result = quorate.aggregate(votes_of(labels), gold={0: int(truth[0])})
    assert result.check is None


def votes_of(labels: Labels) -> pl.DataFrame:
    task = labels.task_of_label()
    return pl.DataFrame({"task": task, "worker": labels.worker, "label": labels.label})


def test_the_correction_in_loops() -> None:
    labels = Labels.from_codes([0, 0, 0, 1], [0, 1, 2, 1], [0, 1, 1, 0], n_classes=3)
    posterior = np.array([[0.7, 0.2, 0.1], [0.5, 0.5, 0.0]])
    weights = [0.5, -0.25, 1.0]
    found = corrected(labels, posterior, 0.8, np.array(weights))
    votes = {0: [(0, 0), (1, 1), (2, 1)], 1: [(1, 0)]}
    for task, said in votes.items():
        scores = [
            max(posterior[task, c], 1e-6) ** 0.8
            * math.exp(sum(weights[w] for w, label in said if label == c))
            for c in range(3)
        ]
        np.testing.assert_allclose(found[task], np.array(scores) / sum(scores))


def test_the_lesson_is_where_no_step_makes_known_answers_likelier() -> None:
    """By one ridge alone: the penalised likelihood falls in every direction."""
    from quorate.teaching import _learn

    labels, truth = misled(120)
    cross = cross_of(OneCoin(smoothing=1), known(labels, truth, 60))
    everything = np.full(60, True)
    for ridge in (10.0, 3.0):
        scale, weights = _learn(cross, everything, ridge)

        def objective(log_scale: float, b: Any, ridge: float = ridge) -> float:
            q = corrected(cross.labels, cross.posterior, math.exp(log_scale), b)
            fit = np.log(q[np.arange(60), cross.truth]).sum()
            return float(fit - log_scale**2 / (2 * 0.6**2) - ridge / 2 * (b**2).sum())

        best = objective(math.log(scale), weights)
        for step in np.random.default_rng(0).normal(0, 0.02, size=(20, 13)):
            assert objective(math.log(scale) + step[0], weights + step[1:]) <= best + 1e-6


def test_known_answers_show_whom_to_believe() -> None:
    labels, truth = misled(600)
    rest = np.arange(600) >= 80
    before = quorate.fit(quorate.Auto(), labels)
    gold = {t: int(truth[t]) for t in range(80)}
    after = quorate.aggregate(votes_of(labels), gold=gold)
    assert isinstance(after.model, Taught) and after.method == "auto"
    wrong_before = (before.answers != truth)[rest].mean()
    wrong_after = (after.answers != truth)[rest].mean()
    assert wrong_after < wrong_before - 0.1
    weights = after.model.vote_weights
    assert weights[9:].min() > weights[:9].max()
    assert (after.answers[:80] == truth[:80]).all()
    low, high = after.expected_error[1:]
    assert low < wrong_after < high


def test_what_the_consensus_gets_right_is_left_alone() -> None:
    random = np.random.default_rng(3)
    truth = random.integers(3, size=300)
    right = random.random((300, 7)) < 0.75
    said = np.where(right, truth[:, None], random.integers(3, size=(300, 7)))
    task, worker = np.divmod(np.arange(said.size), 7)
    labels = Labels.from_codes(task, worker, said.ravel())
    before = quorate.fit(quorate.Auto(), labels).answers
    gold = {t: int(truth[t]) for t in range(60)}
    after = quorate.aggregate(votes_of(labels), gold=gold)
    assert (after.answers != before)[60:].mean() < 0.02
    assert np.abs(after.model.vote_weights).max() < 0.5  # type: ignore[attr-defined]


def test_cross_validation_weighs_the_ridges() -> None:
    """Where votes say nothing beyond the posterior the mean correction is nearly none."""
    random = np.random.default_rng(0)
    labels, _ = misled(200)
    posterior = random.dirichlet([1, 1], size=200)
    truth = (random.random(200) < posterior[:, 1]).astype(np.int32)
    cross = CrossFit(replace(labels, gold=truth), np.arange(200) % 5, posterior)
    lesson = teach(cross)
    assert np.abs(lesson.correction.vote_weights).max() < 0.3
    assert 0.6 < lesson.correction.scale < 1.5
    assert lesson.posterior.shape == (200, 2)
    assert np.isinf(RIDGES[0])


def test_other_methods_are_checked_and_not_corrected() -> None:
    labels, truth = misled()
    gold = {t: int(truth[t]) for t in range(50)}
    result = quorate.aggregate(votes_of(labels), "dawid-skene", gold=gold)
    assert isinstance(result.model, DawidSkene)
    assert result.check is not None and len(result.check.right) == 50
    without = quorate.aggregate(votes_of(labels), "dawid-skene")
    truly_wrong = float((result.answers != truth)[50:].mean())
    assert abs(result.expected_error.error - truly_wrong) < abs(
        without.expected_error.error - truly_wrong
    )


def test_the_disk_teaches_the_same(tmp_path: Path) -> None:
    labels, truth = misled()
    path = tmp_path / "votes.parquet"
    votes_of(labels).write_parquet(path)
    gold = {t: int(truth[t]) for t in range(40)}
    here = quorate.aggregate(path, gold=gold, max_error=0.1)
    there = quorate.aggregate(
        path, gold=gold, max_error=0.1, engine="disk", store=tmp_path / "store"
    )
    np.testing.assert_array_equal(there.posterior, here.posterior)
    assert there.decision == here.decision
    assert there.expected_error == pytest.approx(here.expected_error)


def test_ordered_classes_are_taught_too() -> None:
    random = np.random.default_rng(0)
    truth = random.integers(3, size=120)
    said = np.clip(truth[:, None] + random.integers(-1, 2, size=(120, 6)), 0, 2)
    task, worker = np.divmod(np.arange(said.size), 6)
    votes = pl.DataFrame({"task": task, "worker": worker, "label": said.ravel()})
    result = quorate.aggregate(votes, ordered=True, gold={t: int(truth[t]) for t in range(30)})
    np.testing.assert_allclose(result.posterior.sum(axis=1), 1)
    assert result.method == "auto, ordered"
