"""EBCC against loops, against enumeration, and against IBCC, which it is with one subtype."""

from __future__ import annotations

import numpy as np
import pytest
from tests.naive.ebcc import Priors, Sizes, Vote, ebcc, enumerated

import quorate
from quorate import EBCC, IBCC, Labels


def random_votes(seed: int, sizes: Sizes, share: float = 0.8) -> list[Vote]:
    random = np.random.default_rng(seed)
    truth = random.integers(sizes.classes, size=sizes.tasks)
    votes = []
    for task in range(sizes.tasks):
        for worker in range(sizes.workers):
            if random.random() < share:
                right = random.random() < 0.7
                label = truth[task] if right else random.integers(sizes.classes)
                votes.append((task, worker, int(label)))
    return votes


def labels_of(votes: list[Vote], sizes: Sizes) -> Labels:
    task, worker, label = (list(column) for column in zip(*votes, strict=True))
    return Labels.from_codes(
        task,
        worker,
        label,
        n_tasks=sizes.tasks,
        n_workers=sizes.workers,
        n_classes=sizes.classes,
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("subtypes", [1, 2, 5])
def test_it_does_what_the_loops_do(seed: int, subtypes: int) -> None:
    sizes = Sizes(12, 5, 3)
    votes = random_votes(seed, sizes)
    model = EBCC(subtypes=subtypes, max_iter=15, tol=0.0)
    result = quorate.fit(model, labels_of(votes, sizes))
    posterior, bounds = ebcc(votes, sizes, Priors(subtypes), 15)
    np.testing.assert_allclose(result.posterior, posterior, atol=1e-9)
    np.testing.assert_allclose(result.objective, bounds, rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_below_the_evidence_and_never_falls(seed: int) -> None:
    sizes = Sizes(4, 3, 2)
    votes = random_votes(seed, sizes, share=1.0)
    for subtypes in (1, 2):
        exact, _ = enumerated(votes, sizes, Priors(subtypes))
        for restarts in (0, 3):
            model = EBCC(subtypes=subtypes, restarts=restarts, tol=1e-12, max_iter=500)
            objective = quorate.fit(model, labels_of(votes, sizes)).objective
            assert objective[-1] < exact
            assert objective[-1] > exact - 4  # and not far below
            assert np.all(np.diff(objective) >= -1e-9)


def test_its_posterior_is_near_the_exact_one_where_votes_tell() -> None:
    sizes = Sizes(4, 4, 2)
    votes = [(t, w, (t + (w == 3)) % 2) for t in range(4) for w in range(4)]
    _, exact = enumerated(votes, sizes, Priors(2))
    found = quorate.fit(EBCC(subtypes=2), labels_of(votes, sizes)).posterior
    np.testing.assert_allclose(found, exact, atol=0.06)
    assert (found.argmax(axis=1) == exact.argmax(axis=1)).all()


def test_with_one_subtype_it_is_ibcc() -> None:
    sizes = Sizes(40, 8, 3)
    labels = labels_of(random_votes(5, sizes), sizes)
    one = quorate.fit(EBCC(subtypes=1, right=2.5, wrong=0.5, class_prior=0.5), labels)
    ibcc = quorate.fit(IBCC(smoothing=0.5, diagonal=2.0), labels)
    np.testing.assert_allclose(one.posterior, ibcc.posterior, atol=1e-9)
    np.testing.assert_allclose(one.confusion, ibcc.confusion, atol=1e-9)
    np.testing.assert_allclose(one.objective, ibcc.objective, rtol=1e-9)


def correlated_crowd(seed: int) -> tuple[Labels, np.ndarray]:
    """Two kinds of tasks in each class; on those of the second kind most workers err alike."""
    random = np.random.default_rng(seed)
    truth, hard = random.integers(2, size=400), random.random(400) < 0.25
    accuracy = np.where(np.arange(9) < 3, 0.9, 0.2)  # on hard tasks; 0.9 on the others
    chance = np.where(hard[:, None], accuracy, 0.9)
    right = random.random((400, 9)) < chance
    label = np.where(right, truth[:, None], 1 - truth[:, None])
    task, worker = np.indices(label.shape)
    return Labels.from_codes(task.ravel(), worker.ravel(), label.ravel()), truth


def test_subtypes_find_what_one_matrix_cannot() -> None:
    wrong = {"ebcc": 0.0, "ibcc": 0.0}
    for seed in range(5):
        labels, truth = correlated_crowd(seed)
        for name, model in (("ebcc", EBCC(subtypes=2)), ("ibcc", IBCC())):
            wrong[name] += float((quorate.fit(model, labels).answers != truth).mean()) / 5
    assert wrong["ebcc"] < 0.06 < 0.12 < wrong["ibcc"]


def test_restarts_never_end_below_the_vote_alone_by_much_and_depend_on_the_seed_only() -> None:
    labels, _ = correlated_crowd(0)
    alone = quorate.fit(EBCC(subtypes=3), labels).objective[-1]
    tried = quorate.fit(EBCC(subtypes=3, restarts=4), labels)
    again = quorate.fit(EBCC(subtypes=3, restarts=4), labels)
    assert tried.objective[-1] >= alone - 1e-3 * abs(alone)
    np.testing.assert_array_equal(tried.posterior, again.posterior)
