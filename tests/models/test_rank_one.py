"""Rank-one completion: the paper's table and figure, components, known answers, and the solver."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.checks import assert_sound
from tests.effort import seeds
from tests.reproductions.test_published_figures import gold_codes, votes_of

import quorate
from quorate import EigenRatio, GhoshSVD, Labels, RankOne, Result, fit, metrics
from quorate.model import AnyModel as Model
from quorate.models.rank_one import VARIANTS
from reproductions.rank_one.teams import crowd_on


@pytest.mark.parametrize(
    ("name", "variant", "error"),
    [
        ("rte", "auto", 0.0725),
        ("temp", "auto", 0.0606),
        ("dog", "one-skill", 0.1660),
        ("dog", "one-vs-rest", 0.1648),
        ("dog", "beyond-chance", 0.1648),
        ("dog", "auto", 0.1660),
        ("web", "one-skill", 0.1677),
        ("web", "one-vs-rest", 0.2141),
        ("web", "auto", 0.1368),
    ],
)
@pytest.mark.parametrize("order", ["together", "in-turn"])
def test_error(data: Path, name: str, variant: str, error: float, order: str) -> None:
    """Table 1, in which dog is .1660, rte .07, temp .0512 and web .1485."""
    votes = votes_of(data, name)
    result = quorate.aggregate(votes, RankOne(variant=variant, order=order))
    assert result.converged
    truth = gold_codes(data, name, result)
    assert metrics.error(result.posterior, truth) == pytest.approx(error, abs=5e-5)


@pytest.mark.parametrize(
    ("name", "chosen"), [("dog", "one-skill"), ("web", "beyond-chance"), ("weather", "one-skill")]
)
def test_the_variant_is_chosen_without_gold(data: Path, name: str, chosen: str) -> None:
    result = quorate.aggregate(votes_of(data, name), method="rank-one")
    assert VARIANTS[result.params.variant] == chosen


@pytest.mark.parametrize("graph", ["clique", "star", "ring"])
def test_error_falls_with_the_number_of_tasks(graph: str) -> None:
    """Figure 2: 11 workers, skills on a grid from 0.8 to -0.3 at random, the workers of one
    edge (on the clique all) for each task. Beyond the figure's 330 tasks it goes on falling."""
    errors = [mean_error(graph, n_tasks) for n_tasks in (11, 330, 3300)]
    assert errors[0] > errors[1] > errors[2]


QUICK = RankOne(tol=1e-4)


@pytest.mark.parametrize("rival", [EigenRatio(), GhoshSVD()], ids=["eigen-ratio", "ghosh-svd"])
def test_on_the_ring_it_beats_vectors_of_all_agreements(rival: Model) -> None:
    assert mean_error("ring", 330) + 0.01 < mean_error("ring", 330, rival)


@cache
def mean_error(graph: str, n_tasks: int, model: Model = QUICK) -> float:
    errors = []
    for seed in seeds(24, 60):
        random = np.random.default_rng(seed)
        skill = random.permutation(np.linspace(0.8, -0.3, 11))
        crowd = crowd_on(graph, n_tasks, skill, random)
        errors.append(metrics.error(fit(model, crowd.labels).posterior, crowd.truth))
    return float(np.mean(errors))


def test_each_component_has_its_own_sign() -> None:
    """Two crowds that never meet, each mostly right, with an inverted worker in each."""
    random = np.random.default_rng(3)
    skill = np.array([0.8, 0.7, -0.8, 0.6, 0.8, 0.7, -0.8, 0.6])
    worker = np.array([range(4)] * 200 + [range(4, 8)] * 200)
    truth = random.integers(2, size=400)
    right = random.random(worker.shape) < (1 + skill[worker]) / 2
    label = np.where(right, truth[:, None], 1 - truth[:, None])
    labels = Labels.from_codes(np.repeat(np.arange(400), 4), worker.ravel(), label.ravel())
    result = fit(RankOne(), labels)
    np.testing.assert_allclose(result.params.skill[:, 0], skill, atol=0.15)
    alone = fit(RankOne(), labels[:200])
    np.testing.assert_allclose(alone.params.skill[:4], result.params.skill[:4], atol=1e-6)


def test_known_answers_tell_the_sign() -> None:
    """Most of this crowd is wrong, so that its own agreement has it upside down."""
    random = np.random.default_rng(4)
    skill = np.array([-0.8, -0.7, -0.6, 0.5])
    truth = random.integers(2, size=200)
    right = random.random((200, 4)) < (1 + skill) / 2
    label = np.where(right, truth[:, None], 1 - truth[:, None])
    gold = np.where(np.arange(200) < 20, truth, -1)
    task, worker = np.repeat(np.arange(200), 4), np.tile(np.arange(4), 200)
    told = fit(RankOne(), Labels.from_codes(task, worker, label.ravel(), gold=gold))
    untold = fit(RankOne(), Labels.from_codes(task, worker, label.ravel()))
    assert metrics.error(told.posterior, truth) < 0.1
    assert metrics.error(untold.posterior, truth) > 0.9


@pytest.mark.parametrize(
    "votes",
    [
        [("t", "a", "x")],
        [("t", "a", "x"), ("t", "b", "x"), ("u", "c", "y")],
        [("t", "a", "x"), ("u", "b", "y"), ("v", "c", "z")],
        [("t", "a", "x"), ("t", "a", "x"), ("t", "b", "x"), ("u", "b", "y")],
    ],
    ids=["one-vote", "met-once", "nobody-met", "repeats"],
)
def test_where_little_is_known_the_votes_stand(votes: list[tuple[str, str, str]]) -> None:
    result = quorate.aggregate(votes, method="rank-one")
    expected = {task: label for task, _, label in votes}
    assert dict(result.labels.select("task", "label").rows()) == expected
    assert result.converged


def test_a_skill_that_tends_to_nothing_stays_finite() -> None:
    """Two workers who agree as often as not: the smaller their skills, the longer the steps that
    are tried, and each is cut many times."""
    votes = [[(1, 0), (0, 0), (1, 1), (0, 1)], [(0, 1), (0, 1), (1, 0)], [(0, 1)], [(1, 1)]]
    rows = np.array([(t, *vote) for t, said in enumerate(votes) for vote in said])
    result = fit(RankOne(max_sweeps=20), Labels.from_codes(*rows.T))
    assert_sound(result)
    assert np.abs(result.params.skill).max() < 1e-9


@pytest.fixture(scope="module")
def web(data: Path) -> Result:
    return quorate.aggregate(votes_of(data, "web"), method="rank-one")


def test_a_saved_result_predicts_the_same(web: Result, tmp_path: Path) -> None:
    web.save(tmp_path / "web.quorate")
    again = quorate.load(tmp_path / "web.quorate")
    worker, label = web.codebook.workers[0], web.classes[2]
    new = [("new", worker, label), ("new", "a stranger", label)]
    assert again.predict(new).rows() == web.predict(new).rows()
    assert again.predict(new)["label"].to_list() == [label]


def test_not_converging_is_said(data: Path) -> None:
    result = quorate.aggregate(votes_of(data, "rte"), RankOne(max_sweeps=2))
    assert not result.converged
    assert result.params.sweeps == 2


@pytest.mark.parametrize("order", ["together", "in-turn"])
def test_more_steps_never_raise_the_loss(data: Path, order: str) -> None:
    labels = quorate.read_votes(votes_of(data, "rte")).labels
    models = [RankOne(order=order, max_sweeps=n, tol=0) for n in range(1, 30)]
    losses = [fit(model, labels).params.loss for model in models]
    assert (np.diff(losses) <= 1e-9 * losses[0]).all()


@pytest.mark.parametrize("said", ["acbcbbcc", "bcbaccca", "cbbaaaaa"])
def test_a_descent_that_only_rounding_holds_up_has_arrived(said: str) -> None:
    labels = Labels.from_codes([0] * 8, range(8), [ord(c) - ord("a") for c in said])
    result = fit(RankOne(), labels)
    assert result.converged and result.params.sweeps < 100
