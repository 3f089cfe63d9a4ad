"""Iterative weighted and max-margin majority voting: published figures, and what they promise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.reproductions.test_published_figures import gold_codes, votes_of

import quorate
from quorate import IWMV, M3V, Labels, fit, metrics


@pytest.mark.parametrize(
    ("name", "ties", "error"),
    [
        ("rte", "shared", 0.0713),
        ("temp", "shared", 0.0584),
        ("dog", "shared", 0.1698),
        ("web", "shared", 0.1557),
        ("web", "first", 0.1504),
    ],
)
def test_error_of_iwmv(data: Path, name: str, ties: str, error: float) -> None:
    """The rank-one paper's Table 1 has rte .08, temp .06, dog .19 and web .22."""
    result = quorate.aggregate(votes_of(data, name), IWMV(ties=ties))
    assert result.converged
    truth = gold_codes(data, name, result)
    assert metrics.error(result.posterior, truth) == pytest.approx(error, abs=5e-5)


@pytest.mark.parametrize(
    ("name", "published", "errors"),
    [
        ("rte", 0.0813, (0.0787, 0.0775, 0.0775)),
        ("temp", 0.0606, (0.0584, 0.0584, 0.0563)),
        ("dog", 0.1822, (0.1772, 0.1784, 0.1797)),
        ("web", 0.1847, (0.1063, 0.1221, 0.1304)),
    ],
)
@pytest.mark.parametrize("cost", [0.1, 0.3, 1.0])
def test_error_of_m3v(
    data: Path, name: str, published: float, errors: tuple[float, ...], cost: float
) -> None:
    """The rank-one paper's Table 1; what is published is an upper bound, what is found pinned."""
    error = dict(zip((0.1, 0.3, 1.0), errors, strict=True))[cost]
    result = quorate.aggregate(votes_of(data, name), M3V(cost=cost))
    found = metrics.error(result.posterior, gold_codes(data, name, result))
    assert found <= published
    assert found == pytest.approx(error, abs=5e-5)


def test_iwmv_weighs_against_a_worker_who_is_mostly_wrong() -> None:
    random = np.random.default_rng(5)
    truth = random.integers(2, size=300)
    accuracy = np.array([0.9, 0.85, 0.8, 0.1])
    right = random.random((300, 4)) < accuracy
    label = np.where(right, truth[:, None], 1 - truth[:, None])
    labels = Labels.from_codes(np.repeat(np.arange(300), 4), np.tile(range(4), 300), label.ravel())
    result = fit(IWMV(), labels)
    np.testing.assert_allclose(result.params.accuracy, accuracy, atol=0.06)
    assert metrics.error(result.posterior, truth) < (right.mean(axis=1) <= 0.5).mean()


def test_m3v_separates_what_can_be_separated() -> None:
    """Two workers agree on everything, a third on half: at a high cost all leads reach the margin,
    and the weights of least length are the first two's alone."""
    task, worker = np.repeat(np.arange(40), 3), np.tile(range(3), 40)
    truth = np.arange(40) % 2
    label = np.stack([truth, truth, np.arange(40) // 2 % 2], axis=1)
    labels = Labels.from_codes(task, worker, label.ravel())
    result = fit(M3V(cost=10.0, rounding=0.01, tol=1e-12, max_iter=20_000), labels)
    np.testing.assert_allclose(result.params.weight, [0.5, 0.5, 0.0], atol=0.01)
    np.testing.assert_array_equal(result.answers, truth)


@pytest.mark.parametrize("method", ["iwmv", "m3v"])
@pytest.mark.parametrize(
    "votes",
    [
        [("t", "a", "x")],
        [("t", "a", "x"), ("t", "b", "x"), ("u", "c", "y")],
        [("t", "a", "x"), ("u", "b", "y"), ("v", "c", "z")],
        [("t", "a", "x"), ("t", "a", "x"), ("t", "b", "x"), ("u", "b", "y")],
    ],
    ids=["one-vote", "two-crowds", "nobody-met", "repeats"],
)
def test_where_little_is_known_the_votes_stand(
    votes: list[tuple[str, str, str]], method: str
) -> None:
    result = quorate.aggregate(votes, method=method)
    assert result.converged
    expected = {task: label for task, _, label in votes}
    assert dict(result.labels.select("task", "label").rows()) == expected


@pytest.mark.parametrize("method", ["iwmv", "m3v"])
def test_a_saved_result_predicts_the_same(method: str, data: Path, tmp_path: Path) -> None:
    result = quorate.aggregate(votes_of(data, "dog"), method=method)
    result.save(tmp_path / "dog.quorate")
    again = quorate.load(tmp_path / "dog.quorate")
    new = [("new", "a stranger", result.classes[1]), ("new", "another", result.classes[1])]
    assert again.predict(new).rows() == result.predict(new).rows()
    assert again.predict(new)["label"].to_list() == [result.classes[1]]


@pytest.mark.parametrize("method", ["iwmv", "m3v"])
def test_not_converging_is_said(method: str, data: Path) -> None:
    assert not quorate.aggregate(votes_of(data, "web"), method=method, max_iter=2).converged
