"""Models whose workers are drawn around the crowd: what pooling does, and how votes are predicted
by the states that a task can be in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.checks import random_problem
from tests.models.test_ebcc import correlated_crowd
from tests.naive.two_kinds import two_kinds

import quorate
from quorate import (
    EBCC,
    IBCC,
    MACE,
    DawidSkene,
    Hierarchical,
    Labels,
    Majority,
    OneCoinBayes,
    TwoKinds,
    UsageError,
    fit,
)
from quorate.models.one_coin_bayes import no_worse_than_chance

POOLED = [Hierarchical, OneCoinBayes, TwoKinds]


def coin_crowd(accuracy: list[float], n_tasks: int, seed: int = 0) -> tuple[Labels, np.ndarray]:
    """Everybody labels every task, of two classes."""
    random = np.random.default_rng(seed)
    truth = random.integers(2, size=n_tasks)
    right = random.random((n_tasks, len(accuracy))) < np.array(accuracy)
    label = np.where(right, truth[:, None], 1 - truth[:, None])
    task, worker = np.indices(label.shape)
    return Labels.from_codes(task.ravel(), worker.ravel(), label.ravel()), truth


@pytest.mark.parametrize("kind", [DawidSkene, IBCC, MACE, EBCC, *POOLED])
def test_chances_and_states_are_probabilities_that_make_the_confusion_and_the_posterior(
    kind: Any,
) -> None:
    labels = random_problem(0).labels(with_gold=False)
    model = kind()
    result = fit(model, labels)
    local, _ = model.sweep(labels, result.params, model.begin(labels))
    states, chances = model.states(labels, result.params, local), model.chances(result.params)
    n_states = states.shape[1]
    by_worker = chances.reshape(labels.n_workers, labels.n_classes, n_states)
    np.testing.assert_allclose(by_worker.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(states.sum(axis=1), 1.0, atol=1e-12)
    by_class = states.reshape(labels.n_tasks, labels.n_classes, -1).sum(axis=2)
    np.testing.assert_allclose(by_class, result.posterior, atol=1e-12)
    if n_states == labels.n_classes:
        np.testing.assert_array_equal(by_worker.transpose(0, 2, 1), result.confusion)


def test_two_kinds_has_the_bound_kappa_and_chances_of_the_loops() -> None:
    problem = random_problem(2)
    result = fit(TwoKinds(max_iter=12, tol=0.0), problem.labels(with_gold=False))
    slow = two_kinds(problem.votes, problem.n_workers, problem.n_classes, 12)
    np.testing.assert_allclose(result.objective, slow.objective, rtol=1e-10)
    assert result.params.kappa == pytest.approx(slow.kappa, rel=1e-10)
    chances = result.model.chances(result.params)
    for worker, rows in enumerate(slow.chances):
        for (z, m), row in rows.items():
            found = chances[worker * problem.n_classes :][: problem.n_classes, 2 * z + m]
            np.testing.assert_allclose(found, row, atol=1e-10)


@pytest.mark.parametrize("kind", [Hierarchical, OneCoinBayes])
def test_workers_who_are_alike_share_more_of_what_they_teach(kind: Any) -> None:
    alike, _ = coin_crowd([0.8] * 8, 300)
    apart, _ = coin_crowd([0.55, 0.99] * 4, 300)
    assert fit(kind(), alike).params.kappa > 2 * fit(kind(), apart).params.kappa


@pytest.mark.parametrize("kind", POOLED)
def test_of_whom_nothing_is_known_is_one_of_the_crowd(kind: Any) -> None:
    """A worker without labels, and one who was not there, have the same rows; others are nearer to
    the crowd's the larger kappa is."""
    labels, _ = coin_crowd([0.6, 0.8, 0.9, 0.95], 200)
    silent = Labels.from_codes(
        np.repeat(np.arange(labels.n_tasks), labels.n_said),
        labels.worker,
        labels.label,
        n_workers=labels.n_workers + 1,
    )
    result = fit(kind(), silent)
    new = result.model.newcomer(result.stats, result.params)
    chances = result.model.chances(new)
    np.testing.assert_allclose(chances[-4:-2], chances[-2:], atol=1e-12)
    spread = [np.ptp(fit(kind(kappa=k), labels).confusion[:, 0, 0]) for k in (1.0, 1e4)]
    assert spread[1] < spread[0]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_label_never_counts_against_the_class_it_names(n_classes: int) -> None:
    """Of workers among whom some are wrong more often than chance; the bound never falls."""
    random = np.random.default_rng(1)
    truth = random.integers(n_classes, size=150)
    accuracy = np.array([0.9, 0.85, 0.8, 0.8, 0.02, 0.05])
    wrong = (truth[:, None] + random.integers(1, n_classes, (150, 6))) % n_classes
    label = np.where(random.random((150, 6)) < accuracy, truth[:, None], wrong)
    task, worker = np.indices(label.shape)
    labels = Labels.from_codes(task.ravel(), worker.ravel(), label.ravel())
    result = fit(OneCoinBayes(tol=1e-12), labels)
    right, otherwise = result.params.log_weights.T
    np.testing.assert_allclose(right[4:], otherwise[4:], atol=1e-12)
    assert (right[:4] > otherwise[:4] + 0.5).all()
    assert np.all(np.diff(result.objective) >= -1e-9 * np.abs(result.objective[:-1]))
    wrong_by_vote = (fit(Majority(), labels).answers != truth).mean()
    assert (result.answers != truth).mean() < wrong_by_vote / 2


def test_at_chance_is_the_middle_for_two_classes() -> None:
    moved, _ = no_worse_than_chance(np.array([[2.0, 6.0], [6.0, 2.0]]), others=1)
    np.testing.assert_allclose(moved, [[4.0, 4.0], [6.0, 2.0]], atol=1e-12)


def test_two_kinds_finds_what_one_matrix_cannot() -> None:
    def share_wrong(model: Any) -> float:
        crowds = [correlated_crowd(seed, on_hard=0.45) for seed in range(4)]
        return float(
            np.mean([(fit(model, each).answers != truth).mean() for each, truth in crowds])
        )

    assert share_wrong(TwoKinds()) < 0.03
    assert share_wrong(Hierarchical()) > 0.05


@pytest.mark.parametrize("kind", POOLED)
def test_a_label_of_weight_two_is_the_same_label_twice(kind: Any) -> None:
    problem = random_problem(3)
    rows = [(t, w, c) for t, said in enumerate(problem.votes) for w, c in said]
    twice = [row for row in rows for _ in range(1 + (row[0] % 3 == 0))]
    weight = [1.0 + (t % 3 == 0) for t, _, _ in rows]
    sizes = {"n_tasks": len(problem.votes), "n_workers": problem.n_workers, "n_classes": 3}
    columns, repeated = (
        [list(column) for column in zip(*some, strict=True)] for some in (rows, twice)
    )
    weighted = fit(kind(), Labels.from_codes(*columns, **sizes, weight=weight))
    expected = fit(kind(), Labels.from_codes(*repeated, **sizes))
    np.testing.assert_allclose(weighted.posterior, expected.posterior, atol=1e-10)


@pytest.mark.parametrize("method", ["hierarchical", "one-coin-bayes", "two-kinds"])
def test_saved_is_loaded_and_predicts_the_same(method: str, tmp_path: Path) -> None:
    votes = [
        (f"t{t}", w, c)
        for t, said in enumerate(["aab", "bba", "aaa"])
        for w, c in zip("xyz", said, strict=True)
    ]
    result = quorate.aggregate(votes, method=method)
    result.save(tmp_path / "crowd.quorate")
    loaded = quorate.load(tmp_path / "crowd.quorate")
    new = [("new", "x", "a"), ("new", "stranger", "b")]
    assert loaded.predict(new).rows() == result.predict(new).rows()
    np.testing.assert_array_equal(loaded.confusion, result.confusion)


@pytest.mark.parametrize("kind", POOLED)
def test_kappa_must_be_positive(kind: Any) -> None:
    with pytest.raises(UsageError, match="kappa"):
        kind(kappa=0)
