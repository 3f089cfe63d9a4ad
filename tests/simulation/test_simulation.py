"""Simulated crowds: they are what they claim, draws are kept apart, models find what was put in.

Statistical checks have fixed seeds, and bounds of five standard errors.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import times

import quorate
from quorate import DataError, UsageError, fit, metrics, simulate
from quorate.cli import main
from quorate.models.one_coin import one_coin_confusion
from quorate.simulation import Crowd
from quorate.simulation.assignment import ASSIGNMENTS, teams_of

SIGMAS = 5
AGAINST = {"spammers": 0.2, "inverted": 0.2, "colluders": 4}


def votes_of(crowd: Crowd) -> tuple[Any, Any, Any]:
    """Task, worker and label of each vote."""
    labels = crowd.labels
    return np.repeat(np.arange(labels.n_tasks), labels.n_said), labels.worker, labels.label


def right(crowd: Crowd) -> Any:
    task, _, label = votes_of(crowd)
    return label == crowd.truth[task]


def assert_share(hits: Any, expected: Any) -> None:
    """A share is what is expected (of all, or of each hit), within five standard errors."""
    expected = np.broadcast_to(expected, hits.shape)
    error = np.sqrt((expected * (1 - expected)).sum())
    assert abs(hits.sum() - expected.sum()) <= SIGMAS * error + 1e-9


def same_labels(one: Crowd, other: Crowd) -> bool:
    return all(
        np.array_equal(getattr(one.labels, name), getattr(other.labels, name))
        for name in ("indptr", "worker", "label")
    )


# Given matrices.


def as_ever(confusion: Any, n_tasks: int, per_task: int, prior: Any, seed: int) -> Any:
    """The draws of the first version, on which published figures hang."""
    n_workers, n_classes, _ = confusion.shape
    random = np.random.default_rng(seed)
    truth = random.choice(n_classes, n_tasks, p=prior)
    if per_task**2 > n_workers:
        lots = random.random((n_tasks, n_workers))
        worker = lots.argpartition(per_task - 1, axis=1)[:, :per_task]
    else:
        worker = random.integers(n_workers, size=(n_tasks, per_task), dtype=np.int32)
        while again := [t for t in range(n_tasks) if len(set(worker[t])) < per_task]:
            worker[again] = random.integers(n_workers, size=(len(again), per_task), dtype=np.int32)
    rows = confusion.cumsum(axis=2)[worker.ravel(), np.repeat(truth, per_task)]
    label = (random.random(worker.size)[:, None] >= rows[:, :-1]).sum(axis=1)
    return truth, worker.ravel(), label


@pytest.mark.parametrize(
    ("n_workers", "n_classes", "n_tasks", "per_task"),
    [(3, 2, 50, 3), (40, 3, 2000, 5), (14, 4, 300, 5), (60, 2, 100_000, 12), (9, 2, 7, 1)],
)
@pytest.mark.parametrize("even", [True, False])
def test_given_matrices_are_drawn_as_ever(
    n_workers: int, n_classes: int, n_tasks: int, per_task: int, even: bool
) -> None:
    random = np.random.default_rng(8)
    confusion = random.dirichlet(np.ones(n_classes), (n_workers, n_classes))
    prior = None if even else random.dirichlet(np.ones(n_classes))
    crowd = simulate(confusion, n_tasks, per_task, prior=prior, seed=3)
    truth, worker, label = as_ever(confusion, n_tasks, per_task, prior, seed=3)
    np.testing.assert_array_equal(crowd.truth, truth)
    np.testing.assert_array_equal(crowd.labels.worker, worker)
    np.testing.assert_array_equal(crowd.labels.label, label)
    np.testing.assert_array_equal(crowd.confusion, confusion)


def test_given_matrices_with_everything_else() -> None:
    confusion = one_coin_confusion(np.full(30, 0.8), 3)
    plain = simulate(confusion, 400, 5)
    mixed = simulate(confusion, 400, 5, **AGAINST, tiring=50, n_features=3)
    np.testing.assert_array_equal(plain.truth, mixed.truth)
    np.testing.assert_array_equal(plain.labels.worker, mixed.labels.worker)
    assert mixed.kind is not None
    assert Counter(mixed.kind.tolist()) == {
        "honest": 14, "spammer": 6, "inverted": 6, "colluder": 4
    }  # fmt: skip
    rested = simulate(confusion, 400, 5, **AGAINST)
    honest = (mixed.kind == "honest")[plain.labels.worker]
    np.testing.assert_array_equal(rested.labels.label[honest], plain.labels.label[honest])


# What workers know.


def test_one_coin_accuracies_are_a_shifted_beta() -> None:
    crowd = simulate(20_000, 10, n_classes=4, beta=(3, 1), low=0.4, high=0.9)
    assert crowd.accuracy.min() > 0.4 and crowd.accuracy.max() < 0.9
    mean, variance = 0.75, 3 / (16 * 5)  # of Beta(3, 1)
    error = SIGMAS * 0.5 * np.sqrt(variance / 20_000)
    assert crowd.accuracy.mean() == pytest.approx(0.4 + 0.5 * mean, abs=error)
    assert crowd.accuracy.std() == pytest.approx(0.5 * np.sqrt(variance), rel=0.03)


def test_one_coin_workers_are_right_by_their_accuracy_and_else_wrong_evenly() -> None:
    crowd = simulate(20, 30_000, n_classes=4, seed=2)
    task, worker, label = votes_of(crowd)
    hits = right(crowd)
    for w in range(20):
        assert_share(hits[worker == w], crowd.accuracy[w])
    beyond = (label - crowd.truth[task])[~hits] % 4
    for step in (1, 2, 3):
        assert_share(beyond == step, 1 / 3)


@pytest.mark.parametrize(
    "options", [{"kind": "confusion"}, {"kind": "confusion", **AGAINST}, AGAINST]
)
def test_labels_come_as_the_confusion_matrices_say(options: dict[str, Any]) -> None:
    prior = np.array([0.5, 0.3, 0.2])
    crowd = simulate(15, 60_000, n_classes=3, prior=prior, seed=3, **options)
    task, worker, label = votes_of(crowd)
    np.testing.assert_allclose(crowd.confusion.sum(axis=2), 1)
    for w in range(15):
        for z in range(3):
            given_truth = (worker == w) & (crowd.truth[task] == z)
            for said in range(3):
                assert_share(label[given_truth] == said, crowd.confusion[w, z, said])
    for z in range(3):
        assert_share(crowd.truth == z, prior[z])


def test_confusion_workers_have_accuracies_of_their_own_for_each_class() -> None:
    crowd = simulate(5000, 10, n_classes=3, kind="confusion", low=0.2, beta=(4, 2))
    accuracy = np.diagonal(crowd.confusion, axis1=1, axis2=2)
    assert accuracy.mean() == pytest.approx(0.2 + 0.8 * 4 / 6, abs=0.01)
    assert abs(np.corrcoef(accuracy[:, 0], accuracy[:, 1])[0, 1]) < SIGMAS / np.sqrt(5000)
    share = crowd.confusion[:, 0, 1] / (1 - crowd.confusion[:, 0, 0])
    assert share.std() == pytest.approx(1 / np.sqrt(12), rel=0.05)  # uniform


@pytest.mark.parametrize("n_classes", [2, 4])
def test_glad_workers_are_right_by_ability_and_easiness(n_classes: int) -> None:
    crowd = simulate(
        40, 40_000, n_classes=n_classes, kind="glad", easiness_prior=(0.5, 0.8), seed=1
    )
    task, worker, label = votes_of(crowd)
    assert crowd.ability is not None and crowd.difficulty is not None
    chance = 1 / (1 + np.exp(-crowd.ability[worker] / crowd.difficulty[task]))
    hits = right(crowd)
    for low, high in ((0, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 0.95), (0.95, 1)):
        chosen = (chance >= low) & (chance < high)
        assert chosen.sum() > 1000
        assert_share(hits[chosen], chance[chosen])
    for w in range(40):  # the mean over difficulties, by quadrature
        assert_share(hits[worker == w], crowd.accuracy[w])
    log_easiness = -np.log(crowd.difficulty)
    assert log_easiness.mean() == pytest.approx(0.5, abs=SIGMAS * 0.8 / 200)
    assert log_easiness.std() == pytest.approx(0.8, rel=0.02)
    beyond = (label - crowd.truth[task])[~hits] % n_classes
    for step in range(1, n_classes):
        assert_share(beyond == step, 1 / (n_classes - 1))


def test_accuracy_of_glad_workers_is_the_mean_over_tasks() -> None:
    crowd = simulate(30, 200_000, 1, kind="glad", ability_prior=(0.5, 2), easiness_prior=(0.3, 1.2))
    assert crowd.ability is not None and crowd.difficulty is not None
    for ability, accuracy in zip(crowd.ability, crowd.accuracy, strict=True):
        chance = 1 / (1 + np.exp(-np.clip(ability / crowd.difficulty, -500, 500)))
        assert accuracy == pytest.approx(chance.mean(), abs=SIGMAS * chance.std() / 200_000**0.5)


def test_glad_with_all_kinds_of_workers() -> None:
    crowd = simulate(40, 40_000, n_classes=3, kind="glad", groups=3, correlation=0.4, **AGAINST)
    task, worker, label = votes_of(crowd)
    assert crowd.ability is not None and crowd.kind is not None
    assert np.array_equal(np.isnan(crowd.ability), crowd.kind == "spammer")
    for w in range(40):
        assert_share(right(crowd)[worker == w], crowd.accuracy[w])
    honest = simulate(40, 10, n_classes=3, kind="glad")
    assert honest.ability is not None
    inverted = crowd.kind == "inverted"
    np.testing.assert_array_equal(crowd.ability[inverted], -honest.ability[inverted])
    for w in np.flatnonzero(crowd.kind == "spammer"):
        for z in range(3):
            said = label[(worker == w) & (crowd.truth[task] == z)]
            assert_share(said == 0, crowd.confusion[w, 0, 0])


# How they behave.


def test_spammers_answer_alike_whatever_the_truth() -> None:
    crowd = simulate(1000, 100, n_classes=3, spammers=0.25)
    assert crowd.kind is not None
    spam = crowd.confusion[crowd.kind == "spammer"]
    assert spam.shape == (250, 3, 3)
    assert (spam == spam[:, :1]).all()
    assert spam[:, 0].mean(axis=0) == pytest.approx([1 / 3] * 3, abs=SIGMAS * 0.24 / np.sqrt(250))
    assert spam[:, 0].std() == pytest.approx(np.sqrt(1 / 18), rel=0.1)  # of a flat Dirichlet


def test_inverted_workers_say_the_next_class() -> None:
    plain = simulate(20, 2000, n_classes=3)
    turned = simulate(20, 2000, n_classes=3, inverted=0.3)
    assert turned.kind is not None
    inverted = (turned.kind == "inverted")[plain.labels.worker]
    assert 0.2 < inverted.mean() < 0.4
    np.testing.assert_array_equal(turned.labels.label[~inverted], plain.labels.label[~inverted])
    for w in np.flatnonzero(turned.kind == "inverted"):
        for meant in range(3):
            said = turned.confusion[w, :, (meant + 1) % 3]
            np.testing.assert_array_equal(said, plain.confusion[w, :, meant])
    two = simulate(20, 100, inverted=0.3)
    assert two.kind is not None
    np.testing.assert_allclose(
        two.accuracy[two.kind == "inverted"],
        1 - simulate(20, 100).accuracy[two.kind == "inverted"],
    )


def shared_tasks(crowd: Crowd, chosen: Any) -> Any:
    """The labels of pairs of the chosen workers who share a task, side by side: the first two."""
    task, worker, label = votes_of(crowd)
    mine = chosen[worker]
    task, label = task[mine], label[mine]
    pair = np.flatnonzero(task[1:] == task[:-1])
    return label[pair], label[pair + 1], task[pair]


def test_colluders_give_one_answer() -> None:
    crowd = simulate(20, 3000, 8, n_classes=3, colluders=6)
    assert crowd.kind is not None
    colludes = crowd.kind == "colluder"
    one, other, _ = shared_tasks(crowd, colludes)
    assert len(one) > 1000
    assert (one == other).all()
    assert len(set(crowd.accuracy[colludes].tolist())) == 1
    task, worker, _ = votes_of(crowd)
    _, first = np.unique(task[colludes[worker]], return_index=True)
    assert_share(right(crowd)[colludes[worker]][first], crowd.accuracy[colludes][0])


@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0])
def test_judges_agree_within_groups_and_not_across(rho: float) -> None:
    """Of two judges right with p, both wrong alike: beyond chance by rho squared."""
    confusion = one_coin_confusion(np.full(12, 0.7), 2)
    crowd = simulate(confusion, 40_000, assignment="clique", groups=3, correlation=rho, seed=1)
    assert crowd.group is not None
    assert np.bincount(crowd.group).tolist() == [4, 4, 4]
    hits = right(crowd).reshape(40_000, 12)
    independent = 0.7**2 + 0.3**2
    for i in range(12):
        assert_share(hits[:, i], 0.7)
        for j in range(i):
            same = crowd.group[i] == crowd.group[j]
            expected = rho**2 + (1 - rho**2) * independent if same else independent
            assert_share(hits[:, i] == hits[:, j], expected)


def test_a_judge_of_a_group_is_right_as_its_confusion_matrix_says() -> None:
    crowd = simulate(20, 30_000, n_classes=3, groups=4, correlation=0.6, spammers=0.1, seed=5)
    task, worker, label = votes_of(crowd)
    assert crowd.group is not None and crowd.kind is not None
    assert ((crowd.group >= 0) == (crowd.kind == "honest")).all()
    for w in range(20):
        assert_share(right(crowd)[worker == w], crowd.accuracy[w])
        for z in range(3):
            assert_share(
                label[(worker == w) & (crowd.truth[task] == z)] == 0, crowd.confusion[w, z, 0]
            )


def test_who_tires_guesses_half_the_time_after_so_many_votes() -> None:
    crowd = simulate(
        one_coin_confusion(np.full(200, 0.9), 2), 1200, assignment="clique", tiring=400, seed=2
    )
    hits = right(crowd).reshape(1200, 200)
    guessed = 1 - 0.5 ** (np.arange(1200) / 400)
    chance = np.repeat(((1 - guessed) * 0.9 + guessed * 0.5)[:, None], 200, axis=1)
    for start in range(0, 1200, 200):
        assert_share(hits[start : start + 200], chance[start : start + 200])
    assert chance[400, 0] == pytest.approx(0.7)


def test_only_who_looks_tires() -> None:
    options: dict[str, Any] = {"n_classes": 3, "spammers": 0.3, "colluders": 5, "seed": 4}
    rested, tired = (simulate(20, 2000, **options, tiring=t) for t in (None, 10))
    assert rested.kind is not None
    changed = rested.labels.label != tired.labels.label
    looks = (rested.kind == "honest")[rested.labels.worker]
    assert changed[looks].mean() > 0.4
    assert not changed[~looks].any()


# Who is asked what.


def table_of(crowd: Crowd) -> Any:
    """``[task, worker]``: how many labels."""
    task, worker, _ = votes_of(crowd)
    return np.bincount(
        task * crowd.labels.n_workers + worker,
        minlength=crowd.labels.n_tasks * crowd.labels.n_workers,
    ).reshape(crowd.labels.n_tasks, -1)


@pytest.mark.parametrize(
    ("n_tasks", "n_workers", "per_task"),
    [(1000, 50, 5), (997, 31, 3), (300, 10, 9), (100, 6, 6), (400, 10, 5), (1, 7, 4), (5, 100, 3)],
)
def test_regular_gives_everyone_as_many(n_tasks: int, n_workers: int, per_task: int) -> None:
    table = table_of(simulate(n_workers, n_tasks, per_task, assignment="regular"))
    assert table.max() == 1
    assert (table.sum(axis=1) == per_task).all()
    assert np.ptp(table.sum(axis=0)) <= 1


@pytest.mark.parametrize("per_task", [3, 8])
def test_regular_is_random(per_task: int) -> None:
    """Every two workers share about as many tasks as any other two."""
    table = table_of(simulate(12, 6000, per_task, assignment="regular", seed=1))
    together = (table.T @ table)[np.triu_indices(12, 1)]
    chance = per_task * (per_task - 1) / (12 * 11)
    error = np.sqrt(6000 * chance * (1 - chance))
    assert together.mean() == pytest.approx(6000 * chance)
    assert np.abs(together - 6000 * chance).max() < SIGMAS * error
    assert together.std() > 0.5 * error


def test_random_gives_everyone_a_share_that_varies() -> None:
    table = table_of(simulate(50, 20_000, 5))
    counts = table.sum(axis=0)
    error = np.sqrt(20_000 * 0.1 * 0.9)
    assert np.abs(counts - 2000).max() < SIGMAS * error
    assert counts.std() > 0.5 * error


@pytest.mark.parametrize(("per_task", "skew"), [(1, 1.0), (4, 1.0), (4, 0.5), (12, 1.0), (3, 4.0)])
def test_skewed_activity_falls_like_a_power(per_task: int, skew: float) -> None:
    """Against the chances of successive draws, by simulation of one draw after the other."""
    crowd = simulate(20, 20_000, per_task, assignment="skewed", skew=skew)
    counts = table_of(crowd).sum(axis=0)
    weight = np.arange(1, 21) ** -skew
    assert table_of(crowd).max() == 1
    if per_task == 1:
        expected = weight / weight.sum()
    else:
        expected = drawn_in_turn(weight, 20_000, per_task).mean(axis=0)
    error = np.sqrt(2 * 20_000 * expected * (1 - expected) + 1)
    assert (np.abs(counts - 20_000 * expected) <= SIGMAS * error).all()


def drawn_in_turn(weight: Any, n_tasks: int, per_task: int) -> Any:
    """Who is drawn for each task ``[task, worker]``, by weight among those who are left."""
    random = np.random.default_rng(0)
    left = np.tile(weight, (n_tasks, 1))
    drawn = np.zeros(left.shape, dtype=bool)
    for _ in range(per_task):
        up_to = left.cumsum(axis=1)
        chosen = (random.random((n_tasks, 1)) * up_to[:, -1:] >= up_to).sum(axis=1)
        assert not drawn[np.arange(n_tasks), chosen].any()
        drawn[np.arange(n_tasks), chosen] = True
        left[drawn] = 0.0
    return drawn


def test_the_busiest_of_a_skewed_crowd() -> None:
    """What docs/guides/simulate.md says of 1,000 workers."""
    crowd = simulate(1000, 10_000, 5, assignment="skewed")
    counts = np.sort(table_of(crowd).sum(axis=0))[::-1]
    assert counts[0] / 10_000 == pytest.approx(0.52, abs=0.02)
    assert counts[:100].sum() / counts.sum() == pytest.approx(0.67, abs=0.02)


@pytest.mark.parametrize("graph", ["clique", "star", "ring"])
@pytest.mark.parametrize("n_workers", [3, 4, 11])
def test_graphs_have_their_edges_only_and_evenly(graph: str, n_workers: int) -> None:
    crowd = simulate(n_workers, 5 * n_workers + 1, assignment=graph)
    asked = Counter(tuple(np.flatnonzero(row).tolist()) for row in table_of(crowd))
    edges = [tuple(sorted(team)) for team in teams_of(graph, n_workers)]
    assert set(asked) == set(edges)
    if graph == "ring" or n_workers > 3:
        assert max(asked.values()) - min(asked.values()) <= 1
    order = crowd.labels.worker[: 2 * n_workers]
    if graph == "ring":
        assert not np.array_equal(order[::2], np.arange(n_workers))  # not in turn


def test_a_given_table_by_name(tmp_path: Path) -> None:
    rows = [("q2", "eve"), ("q1", "ann"), ("q2", "ann"), ("q1", "ann"), ("q3", "bob")]
    table = pl.DataFrame(rows, schema=["task", "worker"], orient="row")
    table.write_csv(tmp_path / "asked.csv")
    for source in (rows, table, table.to_pandas(), str(tmp_path / "asked.csv")):
        crowd = simulate(assignment=source, n_classes=3)
        pairs = set(crowd.votes.select("task", "worker").rows())
        assert pairs == set(rows)
        assert len(crowd.votes) == 4
        assert crowd.workers["worker"].to_list() == ["eve", "ann", "bob"]
        assert crowd.gold["task"].to_list() == ["q2", "q1", "q3"]


def test_a_given_table_of_codes() -> None:
    pairs = np.array([[2, 1], [0, 3], [0, 0], [2, 1]])
    crowd = simulate(one_coin_confusion(np.ones(5), 2), 4, assignment=pairs)
    task, worker, _ = votes_of(crowd)
    assert list(zip(task.tolist(), worker.tolist(), strict=True)) == [(0, 3), (0, 0), (2, 1)]
    assert crowd.labels.n_tasks == 4 and crowd.labels.n_workers == 5
    assert right(crowd).all()
    assert simulate(assignment=pairs).labels.n_workers == 4


# Features, and several right answers.


def test_features_come_at_the_rates_of_their_class() -> None:
    crowd = simulate(10, 20_000, n_classes=3, n_features=40)
    matrix = crowd.labels.features
    assert matrix is not None and crowd.feature_rate is not None
    present = matrix.toarray()
    assert present.max() == 1 and 0.1 <= crowd.feature_rate.min() < crowd.feature_rate.max() <= 0.9
    for f in range(40):
        for z in range(3):
            assert_share(present[crowd.truth == z, f], crowd.feature_rate[f, z])
    assert crowd.features is not None
    assert len(crowd.features) == matrix.nnz
    task, feature = crowd.features.row(-1)
    assert present[int(task[1:]) - 1, int(feature[1:]) - 1]


@pytest.mark.parametrize("options", [{}, {"kind": "confusion"}, {"kind": "glad"}, AGAINST])
def test_several_right_answers(options: dict[str, Any]) -> None:
    crowd = simulate(12, 15_000, 4, n_classes=3, several=0.3, **options)
    assert crowd.truth.shape == (15_000, 3) and crowd.confusion.shape == (12, 3, 2, 2)
    assert_share(crowd.truth.ravel(), 0.3)
    task, worker, label = votes_of(crowd)
    visit, at = np.unique(task * 12 + worker, return_inverse=True)
    assert len(visit) == 60_000
    named = np.zeros((60_000, 4), dtype=bool)
    named[at, label] = True  # the last column is of who names none
    assert (named[:, 3] == ~named[:, :3].any(axis=1)).all()
    assert named.sum() == len(label)
    for w in range(12):
        mine = visit % 12 == w
        for option in range(3):
            for z in (0, 1):
                these = mine & (crowd.truth[visit // 12, option] == z)
                assert_share(named[these, option], crowd.confusion[w, option, z, 1])
    hits = named[:, :3] == crowd.truth[visit // 12]
    assert hits.mean() == pytest.approx(crowd.accuracy.mean(), abs=0.01)


def test_colluders_name_the_same_set() -> None:
    crowd = simulate(6, 500, n_classes=3, several=0.5, colluders=6)
    sets = crowd.votes.group_by("task", "worker").agg(pl.col("label").sort().str.join("+"))
    assert (sets.group_by("task").agg(pl.col("label").n_unique())["label"] == 1).all()


def test_features_of_several_right_answers_have_the_mean_rate() -> None:
    crowd = simulate(5, 40_000, n_classes=3, several=0.3, n_features=4)
    matrix, rate = crowd.labels.features, crowd.feature_rate
    assert matrix is not None and rate is not None
    present = matrix.toarray()
    for truth, expected in (
        ([1, 0, 0], rate[:, 0]),
        ([1, 0, 1], rate[:, [0, 2]].mean(axis=1)),
        ([0, 0, 0], rate.mean(axis=1)),
    ):
        these = (crowd.truth == truth).all(axis=1)
        for f in range(4):
            assert_share(present[these, f], expected[f])


# Seeds and streams.

EVERYTHING: dict[str, Any] = {
    "n_classes": 3, "assignment": "skewed", **AGAINST, "groups": 2, "tiring": 30, "n_features": 4
}  # fmt: skip


@pytest.mark.parametrize("kind", ["one-coin", "confusion", "glad"])
@pytest.mark.parametrize("several", [None, 0.4])
def test_the_same_seed_gives_the_same_crowd(kind: str, several: float | None) -> None:
    options = {**EVERYTHING, "kind": kind, "several": several}
    one, again, other = (simulate(25, 300, **options, seed=seed) for seed in (7, 7, 8))
    assert same_labels(one, again) and not same_labels(one, other)
    np.testing.assert_array_equal(one.truth, again.truth)
    np.testing.assert_array_equal(one.confusion, again.confusion)
    assert one.votes.equals(again.votes) and one.workers.equals(again.workers)
    assert one.features is not None and one.features.equals(again.features)


@pytest.mark.parametrize(
    ("switched", "kept"),
    [
        ({"n_features": 5}, {"truth", "worker", "label", "confusion"}),
        ({"tiring": 1e9}, {"truth", "worker", "label", "confusion"}),
        ({"groups": 3, "correlation": 0.0}, {"truth", "worker", "label", "confusion"}),
        ({"groups": 3}, {"truth", "worker"}),
        ({"tiring": 5}, {"truth", "worker", "confusion"}),
        ({"spammers": 0.2}, {"truth", "worker"}),
        ({"inverted": 0.2}, {"truth", "worker"}),
        ({"colluders": 5}, {"truth", "worker"}),
        ({"kind": "confusion"}, {"truth", "worker"}),
        ({"kind": "glad"}, {"truth", "worker"}),
        ({"assignment": "regular"}, {"truth", "confusion"}),
        ({"assignment": "ring"}, {"truth", "confusion"}),
        ({"prior": [0.6, 0.2, 0.2]}, {"worker", "confusion"}),
        ({"beta": (9, 1)}, {"truth", "worker"}),
    ],
)
def test_to_switch_one_aspect_on_leaves_the_others(switched: Any, kept: set[str]) -> None:
    def aspects(crowd: Crowd) -> dict[str, Any]:
        return {
            "truth": crowd.truth,
            "worker": crowd.labels.worker,
            "label": crowd.labels.label,
            "confusion": crowd.confusion,
        }

    plain = aspects(simulate(20, 400, n_classes=3, seed=6))
    other = aspects(simulate(20, 400, **{"n_classes": 3, "seed": 6, **switched}))
    assert {name for name in plain if np.array_equal(plain[name], other[name])} == kept


def test_honest_workers_say_the_same_whoever_else_is_there() -> None:
    plain, mixed = (simulate(40, 500, n_classes=3, **o) for o in ({}, AGAINST))
    assert mixed.kind is not None
    honest = (mixed.kind == "honest")[plain.labels.worker]
    np.testing.assert_array_equal(plain.labels.label[honest], mixed.labels.label[honest])
    alone = simulate(40, 500, n_classes=3, spammers=0.2).kind
    assert alone is not None
    np.testing.assert_array_equal(alone == "spammer", mixed.kind == "spammer")


# Of any size.

SHARES = st.sampled_from([0.0, 0.2, 0.4])
OPTIONS = st.fixed_dictionaries(
    {
        "workers": st.integers(1, 12),
        "n_tasks": st.integers(1, 9),
        "labels_per_task": st.none() | st.integers(1, 12),
        "n_classes": st.integers(2, 30),
        "kind": st.sampled_from(["one-coin", "confusion", "glad"]),
        "assignment": st.sampled_from(ASSIGNMENTS),
        "several": st.none() | st.sampled_from([0.0, 0.5, 1.0]),
        "spammers": SHARES,
        "inverted": SHARES,
        "colluders": st.sampled_from([0, 2]),
        "groups": st.integers(0, 3),
        "tiring": st.none() | st.floats(0.01, 100),
        "n_features": st.integers(0, 3),
        "seed": st.integers(0, 1000),
    }
)


def possible(options: dict[str, Any]) -> bool:
    n, per_task = options["workers"], options["labels_per_task"]
    misbehave = [round(n * options[kind]) for kind in ("spammers", "inverted")]
    if sum(misbehave) + options["colluders"] > n or options["groups"] > n:
        return False
    if options["assignment"] in ("star", "ring"):
        return n >= 3 and per_task in (None, 2)
    if options["assignment"] == "clique":
        return per_task in (None, n)
    return per_task is None or per_task <= n


@settings(max_examples=times(66, 200))
@given(OPTIONS)
def test_any_size_gives_a_whole_crowd_or_one_sentence(options: dict[str, Any]) -> None:
    if not possible(options):
        with pytest.raises(UsageError, match=r"^[^\n]*\.$"):
            simulate(**options)
        return
    crowd = simulate(**options)
    labels = crowd.labels
    assert labels.n_tasks == options["n_tasks"] and labels.n_workers == options["workers"]
    assert labels.label.max() < options["n_classes"]
    assert (labels.n_said > 0).all()
    if options["several"] is None:
        assert table_of(crowd).max() == 1
        assert labels.label.min() >= 0
    assert ((crowd.accuracy >= 0) & (crowd.accuracy <= 1)).all()
    np.testing.assert_allclose(crowd.confusion.sum(axis=-1), 1)
    if crowd.votes["label"].count():  # somebody named something
        read = quorate.read_votes(crowd.votes, unlabelled=True)
        assert read.labels.n_labels == labels.n_labels
    assert len(crowd.workers) == options["workers"]
    assert crowd.gold["task"].n_unique() == options["n_tasks"]
    assert 0 <= crowd.vote_error <= 1
    json.dumps(crowd.as_dict(), allow_nan=False)


def test_names_sort_in_the_order_of_the_classes() -> None:
    for n_classes in (2, 26, 27, 120):
        names = simulate(5, 10, n_classes=n_classes).codebook.classes
        assert names.to_list() == sorted(names) and names.n_unique() == n_classes


def test_tables_are_read_with_the_codes_they_have() -> None:
    crowd = simulate(10, 3000, n_classes=3)
    read = quorate.read_votes(crowd.votes)
    np.testing.assert_array_equal(read.labels.label, crowd.labels.label)
    assert read.codebook.classes.to_list() == ["a", "b", "c"]
    result = fit(quorate.Majority(), quorate.Votes.of(crowd.labels, crowd.codebook))
    assert result.labels["task"].to_list() == crowd.gold["task"].to_list()
    scored = quorate.compare(crowd.votes, ["majority"], gold=crowd.gold, held_out=0).scores[0]
    assert scored.error == pytest.approx((result.answers != crowd.truth).mean())


def test_a_crowd_says_in_a_line_what_it_is() -> None:
    crowd = simulate(20, 100, 3, n_classes=4, spammers=0.1, seed=1)
    assert repr(crowd) == (
        "Crowd(100 tasks, 20 workers (18 honest, 2 spammer), 300 votes, 4 classes; mean accuracy"
        f" {crowd.accuracy.mean():.3f})"
    )


def test_a_misspelt_option_is_refused() -> None:
    with pytest.raises(UsageError, match="did you mean 'spammers'"):
        simulate(spamers=0.1)


def test_runs_of_labels_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said with a shared voice hangs on the task, not on when it is drawn."""
    from quorate.simulation import answers

    options: dict[str, Any] = {"n_classes": 3, "groups": 2, "colluders": 3, "seed": 1}
    whole = simulate(20, 300, **options)
    monkeypatch.setattr(answers, "RUN", 7)
    assert same_labels(whole, simulate(20, 300, **options))


# What makes no sense.


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"workers": 3, "labels_per_task": 4}, "4 labels per task need as many workers, not 3."),
        ({"workers": 0}, "workers must be a number of at least 1, not 0."),
        ({"workers": 2.5}, "workers must be a whole number, not 2.5."),
        ({"n_tasks": 0}, "n_tasks must be a number of at least 1, not 0."),
        ({"labels_per_task": 0}, "labels_per_task must be a number of at least 1, not 0."),
        ({"n_classes": 1}, "n_classes must be a number of at least 2, not 1."),
        ({"seed": -1}, "seed must be a number of at least 0, not -1."),
        ({"kind": "coin"}, "kind is one of one-coin, confusion, glad, not 'coin'."),
        (
            {"assignment": "rnig"},
            "assignment is one of random, regular, skewed, clique, star, ring, or a table of task"
            " and worker, not 'rnig'.",
        ),
        ({"workers": 2, "assignment": "ring"}, "A ring needs at least 3 workers, not 2."),
        ({"workers": 2, "assignment": "star"}, "A star needs at least 3 workers, not 2."),
        (
            {"workers": 9, "assignment": "ring", "labels_per_task": 5},
            "A ring of 9 workers has 2 labels per task, not 5: leave the number out.",
        ),
        (
            {"assignment": [("t", "w")], "labels_per_task": 1},
            "A table of assignments says who labels what: leave labels_per_task out.",
        ),
        (
            {"assignment": [("t", "w")], "workers": 2},
            "The table of assignments has 1 workers, not 2.",
        ),
        ({"spammers": 1.2}, "spammers is a share from 0 to 1, not 1.2."),
        ({"inverted": -0.1}, "inverted must be a number of at least 0, not -0.1."),
        (
            {"spammers": 0.7, "inverted": 0.7},
            "The shares of spammers and inverted add up to 1.4, which is more than 1.",
        ),
        (
            {"workers": 10, "spammers": 0.5, "colluders": 6},
            "11 spammers, inverted workers and colluders are more than the 10 workers.",
        ),
        ({"colluders": 1}, "colluders are 0, or at least 2: one alone shares with nobody."),
        ({"groups": 51}, "51 groups are more than the 50 workers."),
        (
            {"correlation": 0.2},
            "correlation is of judges in groups: say how many groups there are.",
        ),
        ({"tiring": 0}, "tiring must be a number of votes above 0, not 0."),
        ({"skew": -1, "assignment": "skewed"}, "skew must be a number of at least 0, not -1."),
        ({"low": 0.8, "high": 0.2}, "low must be less than high, not 0.8 and 0.2."),
        ({"low": -0.1}, "low must be a number of at least 0, not -0.1."),
        ({"skew": 11, "assignment": "skewed"}, "skew must be a number from 0 to 10, not 11."),
        ({"tiring": "x"}, "tiring must be a number of at least 0, not 'x'."),
        ({"spammers": None}, "spammers must be a number of at least 0, not None."),
        ({"workers": "ten"}, "workers must be a number of at least 1, not 'ten'."),
        ({"beta": 3}, "beta is two numbers, not 3."),
        ({"beta": (1,)}, "beta is two numbers, not (1,)."),
        ({"beta": (0, 1)}, "beta must be a number of at least 1e-06, not 0."),
        (
            {"prior": [0.5, 0.2, 0.3]},
            "prior has 3 shares, and there are 2 classes: give one for each.",
        ),
        ({"prior": [0.5, 0.6]}, "prior must be shares that add up to 1, not to 1.1."),
        ({"prior": "even"}, "prior must be numbers, not 'even'."),
        ({"several": 2}, "several is a share from 0 to 1, not 2."),
        (
            {"several": 0.5, "prior": [0.5, 0.5]},
            "prior is for one right answer: with several, leave it out.",
        ),
        (
            {"workers": np.ones((3, 2))},
            "workers is their number, or confusion matrices [worker, truth, label]; not an array of"
            " the shape (3, 2).",
        ),
        (
            {"workers": np.full((3, 2, 2), 0.6)},
            "Every row of a confusion matrix must be shares that add up to 1.",
        ),
        (
            {"workers": np.full((3, 2, 2), 0.5), "n_classes": 3},
            "The confusion matrices are of 2 classes, not 3.",
        ),
        (
            {"workers": np.full((9, 2, 2), 0.5), "kind": "glad"},
            "Confusion matrices say all of the workers: leave kind out.",
        ),
    ],
)
def test_what_makes_no_sense_is_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        simulate(**options)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        (np.array([[0, 1, 2]]), "this one has the shape (1, 3) and the type int64."),
        (np.array([[0.5, 1.0]]), "this one has the shape (1, 2) and the type float64."),
        (np.array([[0, -1]]), "The array of assignments has a worker beyond 0 to -1."),
        (np.array([[0, 50]]), "The array of assignments has a worker beyond 0 to 49."),
        ([("t", None)], "has no row with a task and a worker."),
    ],
)
def test_a_table_that_makes_no_sense(pairs: Any, sentence: str) -> None:
    with pytest.raises(DataError) as caught:
        simulate(50 if "49" in sentence else None, assignment=pairs)
    assert str(caught.value).endswith(sentence)


# The models find what was put in.


def test_one_coin_finds_the_accuracies() -> None:
    crowd = simulate(30, 4000, n_classes=3, beta=(4, 2), low=0.3, seed=1)
    result = quorate.aggregate(crowd.votes, "one-coin")
    found = dict(result.workers.select("worker", "accuracy").rows())
    votes = np.array(crowd.workers["votes"])
    error = np.sqrt(crowd.accuracy * (1 - crowd.accuracy) / votes)
    by_name = np.array([found[name] for name in crowd.workers["worker"]])
    assert (np.abs(by_name - crowd.accuracy) <= SIGMAS * error).all()


def test_dawid_skene_finds_the_matrices_and_beats_the_vote_on_misbehaving_crowds() -> None:
    crowd = simulate(
        20, 8000, 7, n_classes=3, kind="confusion", spammers=0.3, inverted=0.1, beta=(6, 2), seed=2
    )
    result = fit(quorate.DawidSkene(smoothing=0.1), crowd.labels)
    assert metrics.error(result.posterior, crowd.truth) < 0.5 * crowd.vote_error
    assert result.confusion is not None
    rows = 8000 * 7 / 20 / 3
    error = np.sqrt(crowd.confusion * (1 - crowd.confusion) / rows)
    assert (np.abs(result.confusion - crowd.confusion) <= 6 * error + 0.01).all()


def test_glad_finds_difficulties_and_abilities() -> None:
    crowd = simulate(40, 500, 30, kind="glad", easiness_prior=(0, 1), seed=3)
    assert crowd.ability is not None and crowd.difficulty is not None
    result = fit(quorate.GLAD(easiness_prior=(0, 1)), crowd.labels)
    found = np.log(result.per_task["difficulty"])
    assert np.corrcoef(found, np.log(crowd.difficulty))[0, 1] > 0.75
    assert np.corrcoef(result.params.ability, crowd.ability)[0, 1] > 0.97


def test_naive_bayes_gains_by_the_features() -> None:
    crowd = simulate(20, 2000, 2, n_classes=3, beta=(4, 3), n_features=15, seed=4)
    wrong = {
        weight: metrics.error(
            fit(quorate.NaiveBayes(feature_weight=weight), crowd.labels).posterior, crowd.truth
        )
        for weight in (0.0, 1.0)
    }
    assert wrong[1.0] < 0.5 * wrong[0.0]
    result = fit(quorate.NaiveBayes(feature_weight=1.0), crowd.labels)
    np.testing.assert_allclose(result.params.feature_rate, crowd.feature_rate, atol=0.12)
    by_table = quorate.aggregate(
        crowd.votes, quorate.NaiveBayes(feature_weight=1.0), features=crowd.features
    )
    np.testing.assert_allclose(by_table.posterior, result.posterior, atol=1e-6)


def test_multilabel_finds_the_sets() -> None:
    crowd = simulate(
        15, 1500, 7, n_classes=4, several=0.3, kind="confusion", spammers=0.3, beta=(6, 2), seed=5
    )
    vote = quorate.aggregate(crowd.votes, "majority", multilabel=True)
    result = quorate.aggregate(crowd.votes, "dawid-skene", multilabel=True, smoothing=0.1)
    assert result.classes == ["a", "b", "c", "d"]
    wrong = (result.answers != crowd.truth).mean()
    assert (vote.answers != crowd.truth).mean() == pytest.approx(crowd.vote_error)
    assert wrong < 0.5 * crowd.vote_error
    known = quorate.aggregate(crowd.votes, multilabel=True, gold=crowd.gold)
    np.testing.assert_array_equal(known.answers, crowd.truth.astype(bool))


def test_diagnose_finds_who_misbehaves() -> None:
    crowd = simulate(30, 3000, 8, n_classes=3, low=0.6, **AGAINST, seed=6)
    found = quorate.diagnose(crowd.votes)
    verdict = dict(found.workers.select("worker", "verdict").rows())
    for worker, kind, accuracy in crowd.workers.select("worker", "kind", "accuracy").rows():
        if kind == "inverted":
            assert verdict[worker] == "inverted", accuracy
    colluders = set(crowd.workers.filter(pl.col("kind") == "colluder")["worker"])
    assert {worker for pair in found.agreeing for worker in pair.workers} == colluders


# The command line.


def succeed(line: str = "") -> Any:
    result = CliRunner().invoke(main, ["simulate", *line.split()])
    assert result.exit_code == 0, result.output
    return result


def test_the_command_writes_what_python_draws(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    printed = succeed(
        "-o votes.csv --truth gold.csv --workers workers.parquet --features-out f.jsonl"
        " --n-tasks 300 --n-workers 40 --n-classes 3 --votes-per-task 4 --kind confusion --beta 5,2"
        " --low 0.2 --high 0.9 --prior 0.5,0.3,0.2 --assignment skewed --skew 0.7 --spammers 0.1"
        " --inverted 0.05 --colluders 3 --groups 2 --correlation 0.3 --tiring 80 --n-features 6"
        " --seed 11"
    ).stdout
    crowd = simulate(
        40, 300, 4, n_classes=3, kind="confusion", beta=(5, 2), low=0.2, high=0.9,
        prior=[0.5, 0.3, 0.2], assignment="skewed", skew=0.7, spammers=0.1, inverted=0.05,
        colluders=3, groups=2, correlation=0.3, tiring=80, n_features=6, seed=11,
    )  # fmt: skip
    assert pl.read_csv("votes.csv").equals(crowd.votes)
    assert pl.read_csv("gold.csv").equals(crowd.gold)
    assert pl.read_parquet("workers.parquet").equals(crowd.workers)
    assert pl.read_ndjson("f.jsonl").equals(crowd.features)
    said = [" ".join(line.split()) for line in printed.splitlines()]
    assert "votes 1,200" in said
    assert "workers 40: 31 honest, 4 spammers, 3 colluders, 2 inverted" in said
    assert f"error of the vote {crowd.vote_error:.1%}" in said


def test_glad_and_several_on_the_command_line(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    succeed("--kind glad --ability-prior 2,0.5 --easiness-prior 0,1 --truth g.csv")
    assert pl.read_csv("g.csv").columns == ["task", "label", "difficulty"]
    expected = simulate(kind="glad", ability_prior=(2, 0.5), easiness_prior=(0, 1))
    assert pl.read_csv("g.csv")["difficulty"].to_list() == pytest.approx(
        expected.gold["difficulty"].to_list()
    )
    succeed("--several 0.4 --n-classes 3 -o v.csv --truth g.csv")
    result = quorate.aggregate("v.csv", multilabel=True, gold="g.csv")
    truth = simulate(several=0.4, n_classes=3).truth
    np.testing.assert_array_equal(result.answers, truth.astype(bool))


def test_a_table_of_pairs_on_the_command_line(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text("item,annotator\n1,ann\n1,bob\n2,ann\n")
    succeed("--assignment pairs.csv -o v.csv")
    assert pl.read_csv("v.csv").select("task", "worker").rows() == [
        (1, "ann"), (1, "bob"), (2, "ann")
    ]  # fmt: skip


def test_json_and_standard_output() -> None:
    result = succeed("-o - --n-tasks 20 --json")
    votes = pl.read_csv(io.BytesIO(result.stdout_bytes))
    assert votes.columns == ["task", "worker", "label"] and len(votes) == 100
    summary = json.loads(result.stderr)
    assert summary["votes"] == 100 and summary["kinds"] == {"honest": 50}
    assert json.loads(succeed("--json").stdout)["tasks"] == 1000
    assert "The votes themselves" in succeed().stderr


def test_votes_flow_into_aggregate() -> None:
    quorate_ = f"{sys.executable} -m quorate"
    command = (
        f"{quorate_} simulate --n-tasks 50 --seed 3 -o - 2> /dev/null | {quorate_} aggregate - -o -"
    )
    run = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert len(run.stdout.splitlines()) == 51


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--beta", "4"], "beta is two numbers such as 4,2; not '4'."),
        (["--prior", "0.7,x"], "--prior is numbers such as 0.7,0.3; not '0.7,x'."),
        (
            ["--features-out", "f.csv"],
            "There are no features to write: say how many with --n-features.",
        ),
        (["-o", "votes"], "The name votes does not say its format"),
        (["--assignment", "absent.csv"], "absent.csv"),
        (["-o", "-", "--truth", "-"], "Only one table can go to standard output."),
        (["--kind", "x"], "'x' is not one of 'one-coin', 'confusion', 'glad'."),
    ],
)
def test_failures_are_one_sentence(args: list[str], sentence: str) -> None:
    result = CliRunner().invoke(main, ["simulate", *args])
    assert result.exit_code in (1, 2)
    assert sentence in result.stderr
    assert result.stderr.startswith("quorate: ") and len(result.stderr.splitlines()) == 1
