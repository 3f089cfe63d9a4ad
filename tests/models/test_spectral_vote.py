"""Ghosh-SVD, EigenRatio and KOS: large matrices, crowds in pieces, and published figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.checks import assert_close
from tests.reproductions.test_published_figures import gold_codes, votes_of

import quorate
from quorate import KOS, EigenRatio, GhoshSVD, Labels, UsageError, fit, metrics
from quorate.models import make, spectral_vote
from quorate.simulation import simulate

MODELS = [GhoshSVD(), EigenRatio(), EigenRatio(variant="ratio-of-eigenvectors"), KOS()]


def crowd_of(n_workers: int, n_tasks: int = 400, per_task: int = 6, low: float = 0.4) -> Any:
    accuracy = np.random.default_rng(1).uniform(low, 0.95, n_workers)[:, None, None]
    confusion = np.where(np.eye(2, dtype=bool), accuracy, 1 - accuracy)
    return simulate(confusion, n_tasks, per_task, seed=2)


def test_many_workers_have_the_singular_vector_of_the_dense_matrix() -> None:
    labels = crowd_of(150).labels
    result = fit(GhoshSVD(), labels)
    dense = np.zeros((labels.n_tasks, labels.n_workers))
    task = np.repeat(np.arange(labels.n_tasks), np.diff(labels.indptr))
    np.add.at(dense, (task, labels.worker), 2.0 * labels.label - 1)
    vector = np.linalg.svd(dense)[2][0]
    vector *= np.sign(vector.sum()) * np.sqrt(labels.n_workers)
    assert_close(result.params.weight, vector, atol=1e-9)
    assert result.objective[-1] == pytest.approx(((dense @ vector) ** 2).sum())


@pytest.mark.parametrize("less", [None, np.linspace(-1, 2, 90)])
def test_iterating_finds_what_the_dense_matrix_has(
    less: np.ndarray | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = np.random.default_rng(5).normal(0.2, 1, (90, 200))
    matrix = csr_array(half @ half.T)
    value, vector = spectral_vote.leading_eigenvector(matrix, less)
    monkeypatch.setattr(spectral_vote, "SMALL", 100)
    dense_value, dense_vector = spectral_vote.leading_eigenvector(matrix, less)
    assert value == pytest.approx(dense_value)
    assert_close(vector, dense_vector, atol=1e-8)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_inverted_count_against_what_they_say(model: Any) -> None:
    accuracy = np.array([0.9, 0.9, 0.85, 0.85, 0.8, 0.1, 0.15])[:, None, None]
    confusion = np.where(np.eye(2, dtype=bool), accuracy, 1 - accuracy)
    crowd = simulate(confusion, 500, 5, seed=3)
    result = fit(model, crowd.labels)
    vote = fit(quorate.Majority(), crowd.labels)
    error = metrics.error(result.posterior, crowd.truth)
    assert error < 0.5 * metrics.error(vote.posterior, crowd.truth)
    assert result.workers_frame["accuracy"].to_numpy()[5:].max() < 0.3


@pytest.mark.parametrize("model", [*MODELS[:3], KOS(noise=0.0)], ids=repr)
def test_workers_who_never_meet_are_problems_of_their_own(model: Any) -> None:
    """Two crowds of which neither knows the other, one with few votes, and a worker alone."""
    large, small = crowd_of(8, 300, low=0.7).labels, crowd_of(6, 20, low=0.7).labels
    task = np.concatenate(
        [
            np.repeat(np.arange(300), np.diff(large.indptr)),
            300 + np.repeat(np.arange(20), np.diff(small.indptr)),
            [320, 321],
        ]
    )
    worker = np.concatenate([large.worker, 8 + small.worker, [14, 14]])
    label = np.concatenate([large.label, small.label, [0, 1]])
    together = fit(model, Labels.from_codes(task, worker, label))
    apart = fit(model, small)
    np.testing.assert_array_equal(together.answers[300:320], apart.answers)
    np.testing.assert_array_equal(together.answers[320:], [0, 1])


@pytest.mark.parametrize("model", [*MODELS[:3], KOS(noise=0.0)], ids=repr)
def test_two_who_always_disagree_tell_nothing(model: Any) -> None:
    labels = Labels.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0])
    assert_close(fit(model, labels).posterior, np.full((2, 2), 0.5), atol=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_one_worker_is_believed(model: Any) -> None:
    labels = Labels.from_codes([0, 1, 2], [0, 0, 0], [0, 1, 1])
    np.testing.assert_array_equal(fit(model, labels).answers, [0, 1, 1])


@pytest.mark.parametrize("model", [GhoshSVD(), EigenRatio()], ids=repr)
def test_more_than_two_classes_need_an_order(model: Any) -> None:
    labels = Labels.from_codes([0, 0, 1], [0, 1, 0], [0, 1, 2])
    with pytest.raises(UsageError, match=r"two classes, and here are 3: say ordered"):
        fit(model, labels)


def test_an_unknown_variant_is_said() -> None:
    for method in ("kos", "eigen-ratio"):
        with pytest.raises(UsageError, match="variant is one of"):
            make(method, variant="dense")


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_messages_forget_where_they_began(noise: float) -> None:
    labels = crowd_of(30).labels
    one, other = (fit(KOS(noise=noise, tol=1e-14, seed=seed), labels) for seed in (1, 2))
    assert one.converged
    assert_close(one.posterior, other.posterior, atol=1e-5)


def test_noise_does_not_turn_a_small_crowd_around() -> None:
    crowd = crowd_of(6, 20, low=0.7)
    errors = [
        metrics.error(fit(KOS(seed=seed), crowd.labels).posterior, crowd.truth)
        for seed in range(30)
    ]
    assert max(errors) < 0.2


def test_messages_that_have_no_time_to_settle_say_so() -> None:
    result = fit(KOS(max_iter=1), crowd_of(30).labels)
    assert not result.converged and result.iterations == 1


@pytest.mark.parametrize("method", ["ghosh-svd", "eigen-ratio", "kos"])
def test_a_saved_result_predicts_the_same(method: str, tmp_path: Path) -> None:
    votes = [(t, w, "yes" if (t + w) % 5 else "no") for t in range(9) for w in range(4)]
    result = quorate.aggregate(votes, method)
    result.save(tmp_path / "kept.quorate")
    loaded = quorate.load(tmp_path / "kept.quorate")
    new = [("n", 0, "no"), ("n", 1, "no"), ("n", 99, "yes")]
    assert loaded.predict(new).equals(result.predict(new))
    assert result.predict(new)["label"].to_list() == ["no"]
    assert loaded.model.seed == result.model.seed


@pytest.mark.parametrize(
    ("method", "options", "name", "percent"),
    [
        ("ghosh-svd", {}, "bird", 27.78),
        ("ghosh-svd", {}, "rte", 49.13),
        ("ghosh-svd", {}, "trec", 42.99),
        ("eigen-ratio", {}, "bird", 27.78),
        ("eigen-ratio", {}, "rte", 9.00),
        ("kos", {"variant": "centred-svd"}, "bird", 11.11),
        ("kos", {"variant": "centred-svd"}, "rte", 39.75),
        ("kos", {"variant": "centred-svd"}, "trec", 51.96),
        ("kos", {"variant": "centred-svd"}, "dog", 31.72),
        ("kos", {"variant": "centred-svd"}, "web", 42.93),
        ("kos", {"variant": "centred-svd"}, "temp", 6.28),
    ],
)
def test_error(data: Path, method: str, options: Any, name: str, percent: float) -> None:
    """Zhang, Chen, Zhou and Jordan, "Spectral Methods meet EM" (2014), Table 2; and, of temp, Ma,
    Olshevsky, Szepesvari and Saligrama, "Gradient Descent for Sparse Rank-One Matrix Completion
    for Crowd-Sourced Aggregation of Sparsely Interacting Workers" (2018), Table 1."""
    assert error_of(data, name, method, **options) == pytest.approx(percent, abs=0.01)


def test_error_of_eigen_ratio_on_trec(data: Path) -> None:
    """Table 2 has 43.96, which is the error of answering the second class everywhere."""
    assert error_of(data, "trec", "eigen-ratio") == pytest.approx(38.68, abs=0.3)
    result = quorate.aggregate(votes_of(data, "trec"), "majority")
    truth = gold_codes(data, "trec", result)
    second = np.tile([0.0, 1.0], (len(truth), 1))
    assert 100 * metrics.error(second, truth) == pytest.approx(43.96, abs=0.005)


def test_error_of_ghosh_svd_on_dog(data: Path) -> None:
    """On three thresholds. Table 2 has the same figure, perhaps by chance, for the vote on dog,
    which no public file gives."""
    assert error_of(data, "dog", "ghosh-svd", ordered=True) == pytest.approx(19.58, abs=0.005)


@pytest.mark.parametrize(
    ("name", "percent"),
    [("bird", 27.78), ("rte", 50.25), ("trec", 42.77), ("dog", 18.96), ("web", 5.39)],
)
def test_error_of_messages(data: Path, name: str, percent: float) -> None:
    """What reproductions/spectral/notes.md says."""
    assert error_of(data, name, "kos") == pytest.approx(percent, abs=0.06)


def error_of(data: Path, name: str, method: str, **options: Any) -> float:
    ordered = options.pop("ordered", False)
    model = make(method, **options)
    result = quorate.aggregate(votes_of(data, name), model, ordered=ordered)
    return 100 * metrics.error(result.posterior, gold_codes(data, name, result))
