"""EBCC against loops, against enumeration, and against IBCC, which it is with one subtype."""

from __future__ import annotations

import numpy as np
import pytest
from tests.naive.ebcc import Priors, Sizes, Vote, ebcc, enumerated

from quorate.aggregation import fit
from quorate.labels import Labels
from quorate.models import EBCC, IBCC


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
    result = fit(model, labels_of(votes, sizes))
    posterior, bounds = ebcc(votes, sizes, Priors(subtypes), 15)
    np.testing.assert_allclose(result.posterior, posterior, atol=1e-9)
    np.testing.assert_allclose(result.objective, bounds[: result.iterations], rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_below_the_evidence_and_never_falls(seed: int) -> None:
    sizes = Sizes(4, 3, 2)
    votes = random_votes(seed, sizes, share=1.0)
    for subtypes in (1, 2):
        exact, _ = enumerated(votes, sizes, Priors(subtypes))
        for restarts in (0, 3):
            model = EBCC(subtypes=subtypes, restarts=restarts, tol=1e-12, max_iter=500)
            objective = fit(model, labels_of(votes, sizes)).objective
            assert objective[-1] < exact
            assert objective[-1] > exact - 4  # and not far below
            assert np.all(np.diff(objective) >= -1e-9)


def test_its_posterior_is_near_the_exact_one_where_votes_tell() -> None:
    sizes = Sizes(4, 4, 2)
    votes = [(t, w, (t + (w == 3)) % 2) for t in range(4) for w in range(4)]
    _, exact = enumerated(votes, sizes, Priors(2))
    found = fit(EBCC(subtypes=2), labels_of(votes, sizes)).posterior
    np.testing.assert_allclose(found, exact, atol=0.06)
    assert (found.argmax(axis=1) == exact.argmax(axis=1)).all()


def test_with_one_subtype_it_is_ibcc() -> None:
    sizes = Sizes(40, 8, 3)
    labels = labels_of(random_votes(5, sizes), sizes)
    one = fit(EBCC(subtypes=1, right=2.5, wrong=0.5, class_prior=0.5), labels)
    ibcc = fit(IBCC(smoothing=0.5, diagonal=2.0), labels)
    np.testing.assert_allclose(one.posterior, ibcc.posterior, atol=1e-9)
    np.testing.assert_allclose(one.confusion, ibcc.confusion, atol=1e-9)
    np.testing.assert_allclose(one.objective, ibcc.objective, rtol=1e-9)


def correlated_crowd(seed: int, on_hard: float) -> tuple[Labels, np.ndarray]:
    """Two kinds of tasks in each class: on hard ones six of nine workers are right with a lower
    probability, so that given the class alone their errors are correlated."""
    random = np.random.default_rng(seed)
    truth, hard = random.integers(2, size=600), random.random(600) < 0.3
    accuracy = np.where(np.arange(9) < 3, 0.9, on_hard)
    right = random.random((600, 9)) < np.where(hard[:, None], accuracy, 0.9)
    label = np.where(right, truth[:, None], 1 - truth[:, None])
    task, worker = np.indices(label.shape)
    return Labels.from_codes(task.ravel(), worker.ravel(), label.ravel()), truth


def share_wrong(model: EBCC | IBCC, on_hard: float) -> float:
    crowds = (correlated_crowd(seed, on_hard) for seed in range(4))
    return float(
        np.mean([(fit(model, labels).answers != truth).mean() for labels, truth in crowds])
    )


def test_subtypes_find_what_one_matrix_cannot() -> None:
    assert share_wrong(EBCC(subtypes=2), on_hard=0.45) < 0.03
    assert share_wrong(EBCC(), on_hard=0.45) < 0.03
    assert share_wrong(IBCC(), on_hard=0.45) > 0.05


def test_random_restarts_find_a_better_place_where_the_vote_misleads() -> None:
    assert share_wrong(EBCC(subtypes=2), on_hard=0.35) > 0.15
    assert share_wrong(EBCC(subtypes=2, restarts=10), on_hard=0.35) < 0.05


def test_restarts_depend_on_the_seed_only() -> None:
    labels, _ = correlated_crowd(0, 0.35)
    one, again = (fit(EBCC(subtypes=3, restarts=4), labels) for _ in range(2))
    np.testing.assert_array_equal(one.posterior, again.posterior)
    assert one.objective[-1] >= fit(EBCC(subtypes=3), labels).objective[-1]
