"""GLAD beyond what every model is checked for: what it finds, where it stops, and real votes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.checks import random_problem
from tests.naive.glad import joint_probability, log_density
from tests.reproductions.test_published_figures import gold_codes, votes_of

import quorate
from quorate import GLAD, Labels, UsageError, fit, metrics

VOTES = [
    (f"t{task}", worker, label)
    for task, said in enumerate(["aab", "aaa", "bbb", "bbb", "aaa"])
    for worker, label in zip("xyz", said, strict=True)
]


def test_it_stops_where_the_papers_objective_is_flat() -> None:
    """By differences in each ability and each log easiness, truths summed out by loops."""
    problem = random_problem(3, n_classes=3, n_tasks=8, n_workers=4)
    result = fit(GLAD(tol=0, max_iter=3000), problem.labels(False))
    ability = result.params.ability.tolist()
    log_easiness = (-np.log(result.per_task["difficulty"])).tolist()

    def objective(at: list[float]) -> float:
        total = sum(log_density(value, 1, 1) for value in at)
        for said, u in zip(problem.votes, at[len(ability) :], strict=True):
            total += math.log(sum(joint_probability(said, [1 / 3] * 3, at, math.exp(u), None)))
        return total

    at = ability + log_easiness
    assert objective(at) == pytest.approx(result.objective[-1], rel=1e-10)
    for i in range(len(at)):
        up, down = list(at), list(at)
        up[i] += 1e-5
        down[i] -= 1e-5
        assert (objective(up) - objective(down)) / 2e-5 == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_finds_abilities_and_difficulties(n_classes: int) -> None:
    """Tasks with 30 labels, of which the hard ones are told from the easy; one worker in ten is
    against us."""
    random = np.random.default_rng(5)
    n_tasks, n_workers, per_task = 400, 50, 30
    ability = np.where(np.arange(n_workers) % 10 == 0, -1.0, random.uniform(0.3, 2, n_workers))
    log_easiness = random.normal(0, 1, n_tasks)
    truth = random.integers(n_classes, size=n_tasks)
    worker = random.permuted(np.tile(np.arange(n_workers), (n_tasks, 1)), axis=1)[:, :per_task]
    right = random.random(worker.shape) < 1 / (
        1 + np.exp(-ability[worker] * np.exp(log_easiness)[:, None])
    )
    wrong = (truth[:, None] + random.integers(1, n_classes, worker.shape)) % n_classes
    label = np.where(right, truth[:, None], wrong)
    labels = Labels.from_codes(
        np.repeat(np.arange(n_tasks), per_task), worker.ravel(), label.ravel()
    )
    result = fit(GLAD(easiness_prior=(0, 1)), labels)
    vote = fit(quorate.Majority(), labels)
    error, error_of_vote = (metrics.error(r.posterior, truth) for r in (result, vote))
    assert error < 0.06 and error <= error_of_vote
    found = -np.log(result.per_task["difficulty"])
    assert np.corrcoef(result.params.ability, ability)[0, 1] > 0.97
    assert np.corrcoef(found, log_easiness)[0, 1] > 0.8
    assert (result.params.ability[::10] < 0).all()


def test_difficulties_are_a_column_of_the_labels_and_are_kept(tmp_path: Path) -> None:
    result = quorate.aggregate(VOTES, method="glad")
    assert result.labels.columns == ["task", "label", "confidence", "difficulty"]
    split, agreed, *_ = result.labels["difficulty"]
    assert split > agreed > 0
    result.save(tmp_path / "crowd.quorate")
    loaded = quorate.load(tmp_path / "crowd.quorate")
    assert loaded.labels.rows() == result.labels.rows()
    new = [("new", "x", "a"), ("new", "stranger", "b")]
    assert loaded.predict(new).rows() == result.predict(new).rows()
    assert loaded.predict(new)["label"].to_list() == ["a"]


def test_a_stranger_counts_as_the_labels_average() -> None:
    result = quorate.aggregate(VOTES, method="glad")
    assert result.params.crowd == pytest.approx(result.params.ability.mean())


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(UsageError, match="ability_prior"):
        GLAD(ability_prior=(1, 0))
    with pytest.raises(UsageError, match="prior"):
        GLAD(prior="flat")


@pytest.mark.parametrize(
    ("name", "percent"), [("rte", 92.5), ("sp", 91.7), ("web", 82.2), ("bird", 72.2), ("bm", 69.3)]
)
def test_accuracy_on_real_votes(data: Path, name: str, percent: float) -> None:
    """Within a quarter of a point of another implementation, which stops elsewhere."""
    result = quorate.aggregate(votes_of(data, name), method="glad")
    accuracy = 100 * (1 - metrics.error(result.posterior, gold_codes(data, name, result)))
    assert accuracy == pytest.approx(percent, abs=0.25)
