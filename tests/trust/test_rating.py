"""Groups are rated by the others: experts who agree are right, duplicates wrong together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.trust.test_correlated import answers, copies, discounted, judges, panel_labels, table

import quorate
from quorate import Labels
from quorate.trust.correlated import Group
from quorate.trust.correlated.agreement import label_shares
from quorate.trust.correlated.rating import rate


def laymen(random: np.random.Generator, truth: np.ndarray, n: int, knowing: float, k: int):
    """What workers say who know an answer at times, and else guess what seems likely on a task."""
    seems = random.dirichlet(np.full(k, 3.0), size=len(truth)).cumsum(axis=1)
    guess = (random.random((n, len(truth), 1)) > seems[:, :-1]).sum(axis=2)
    return np.where(random.random(guess.shape) < knowing, truth, guess)


# Experts among others.


@pytest.mark.parametrize("n_tasks", [20, 60, 300])
@pytest.mark.parametrize("k", [2, 4, 6])
@pytest.mark.parametrize("knowing", [0.0, 0.3])
def test_experts_among_laymen_count_in_full(n_tasks: int, k: int, knowing: float) -> None:
    for seed in range(5):
        random = np.random.default_rng([seed, n_tasks, k])
        truth = random.integers(k, size=n_tasks)
        experts = judges(random, truth, list(random.uniform(0.75, 1, 8)), k)
        crowd = np.vstack([experts, laymen(random, truth, 30, knowing, k)])
        assert quorate.independence(panel_labels(crowd, k)).groups == (), seed


def test_eight_experts_of_a_quiz_are_heard(data: Path) -> None:
    quiz = data.parent / "data-second" / "quiz_pokemon"
    if not quiz.is_dir():
        pytest.skip(f"no data set in {quiz}")
    found = quorate.aggregate(quiz / "labels.csv", "one-coin-bayes", discount=True)
    gold = pl.read_csv(quiz / "gold.csv", infer_schema=False)
    told = found.labels.cast(pl.String).join(gold, on="task")
    assert (told["label"] == told["label_right"]).mean() >= 0.95
    assert "every vote counts in full" in found.notes[-1]


def with_experts(labels: Labels, truth: np.ndarray, accuracy: float) -> Labels:
    """The labels of tasks whose truth is known, with those of six experts."""
    random = np.random.default_rng(1)
    known, task = np.flatnonzero(truth >= 0), np.repeat(np.arange(labels.n_tasks), labels.n_said)
    kept = (truth >= 0)[task]
    said = judges(random, truth[known], [accuracy] * 6, labels.n_classes)
    expert, place = np.indices(said.shape).reshape(2, -1)
    return Labels.from_codes(
        np.concatenate([task[kept], known[place]]),
        np.concatenate([labels.worker[kept], labels.n_workers + expert]),
        np.concatenate([labels.label[kept], said.ravel()]),
        n_classes=labels.n_classes,
    )


@pytest.mark.parametrize("name", ["adult2", "bird", "bm", "dog", "rte", "labelme"])
def test_experts_among_published_crowds_count_in_full(name: str, data: Path) -> None:
    read = quorate.read_votes(data / name / "labels.csv")
    gold = pl.read_csv(data / name / "gold.csv", infer_schema=False)
    known = dict(zip(gold["task"], gold["label"], strict=True))
    classes = read.codebook.classes.cast(pl.String).to_list()
    code = {label: i for i, label in enumerate(classes)}
    truth = np.array([code.get(known.get(str(task)), -1) for task in read.codebook.tasks])
    for accuracy in (0.8, 0.9, 0.97):
        labels = with_experts(read.labels.without_repeats(), truth, accuracy)
        assert quorate.independence(labels).groups == (), accuracy


# Duplicates.


def test_duplicates_of_a_middling_judge_are_found_too() -> None:
    random = np.random.default_rng(5)
    alone = judges(random, random.integers(2, size=500), [0.8, 0.9, 0.8, 0.75, 0.8, 0.7], 2)
    _, groups = discounted(panel_labels(np.vstack([alone, *[alone[:1]] * 3]), 2))
    assert groups == [[0, 6, 7, 8]]


def test_duplicates_of_the_best_judge_count_in_full() -> None:
    """Nothing tells them from experts."""
    random = np.random.default_rng(5)
    alone = judges(random, random.integers(2, size=500), [0.95, 0.8, 0.75, 0.8, 0.7], 2)
    _, groups = discounted(panel_labels(np.vstack([alone, *[alone[:1]] * 3]), 2))
    assert groups == []


def test_of_few_tasks_nothing_can_be_told() -> None:
    random = np.random.default_rng(1)
    alone = judges(random, random.integers(3, size=60), [0.85, 0.8, 0.8, 0.75, 0.9, 0.45], 3)
    crowd = np.vstack([alone, *[alone[5:]] * 10])
    assert discounted(panel_labels(crowd, 3))[1] == [list(range(5, 16))]
    assert discounted(panel_labels(crowd[:, :29], 3))[1] == []


# Known answers.


@pytest.fixture
def camps() -> tuple[np.ndarray, np.ndarray]:
    """Six experts, and eight others who are often wrong together: the truth, and the votes."""
    random = np.random.default_rng(3)
    truth = random.integers(3, size=400)
    common = np.where(random.random(400) < 0.4, truth, (truth + 1) % 3)
    others = copies(random, common, 8, 0.7, 3)
    return truth, np.vstack([judges(random, truth, [0.96] * 6, 3), others])


def test_known_answers_tell_experts_from_duplicates(camps: tuple[np.ndarray, np.ndarray]) -> None:
    truth, panel = camps
    labels = panel_labels(panel, 3)
    assert discounted(labels)[1] == [list(range(6))]
    gold = np.where(np.arange(400) < 20, truth, -1)
    weighed, groups = discounted(replace(labels, gold=gold.astype(np.int32)))
    assert groups == []
    assert np.mean(answers("dawid-skene", weighed) == truth) > 0.95


def test_known_answers_leave_duplicates_found() -> None:
    random = np.random.default_rng(7)
    truth = random.integers(3, size=300)
    alone = judges(random, truth, [0.85, 0.8, 0.8, 0.75, 0.9, 0.45], 3)
    panel = np.vstack([alone, *[alone[5:]] * 10])
    gold = {task: int(truth[task]) for task in range(40)}
    result = quorate.aggregate(table(panel), "dawid-skene", discount=True, gold=gold)
    assert result.workers["group"].to_list() == [None] * 5 + [1] * 11


# The rating itself.


def test_the_rating_as_the_loops_say() -> None:
    """Two groups, of which the other is one voice; votes here and there."""
    random = np.random.default_rng(2)
    worker, task = np.nonzero(random.random((7, 40)) < 0.7)
    said = random.integers(3, size=(7, 40))
    labels = Labels.from_codes(task, worker, said[worker, task], n_tasks=40, n_classes=3)
    groups = tuple(Group(np.array(w, dtype=np.int32), 0.9) for w in ([0, 1], [4, 5, 6]))
    share = label_shares(labels)
    spread = np.sqrt(1 - (share**2).sum(axis=1))
    voted = set(zip(task.tolist(), worker.tolist(), strict=True))
    found, most = np.zeros(2), np.zeros(2)  # of two others, and of the group and another
    for t in range(40):
        present = [[w for w in v if (t, w) in voted] for v in ([0, 1], [2], [3], [4, 5, 6])]
        lean = [sum((np.eye(3)[said[w, t]] - share[w]) / len(v) for w in v) for v in present]
        scale = [sum(spread[w] / len(v) for w in v) for v in present]
        for i in range(1, 4):
            for j in range(4):
                if i != j and present[0] and present[i] and present[j]:
                    found[int(j == 0)] += lean[i] @ lean[j]
                    most[int(j == 0)] += scale[i] * scale[j]
    rating = rate(0, groups, labels, share)
    np.testing.assert_allclose([rating.others, rating.group], found / most, rtol=1e-12)
