"""Votes one by one: the paper's schedule, votes taken back, and what a later fit makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import times
from tests.naive import online as naive

import quorate
from quorate import DataError, Online, UsageError, kernels
from quorate.fitting import fit_labels
from quorate.models import make
from quorate.models.one_coin import one_coin_confusion
from quorate.online.names import Names
from quorate.online.state import State
from quorate.simulation import simulate

METHODS = ("dawid-skene", "fast-dawid-skene", "hybrid", "one-coin")
OPTIONS: tuple[dict[str, Any], ...] = ({}, {"smoothing": 0.5}, {"prior": "uniform"})

Vote = tuple[int, int, int]
votes_of = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=25
)


def state_of(online: Online) -> dict[str, Any]:
    """All that there is, by name and in no order."""
    assert online.n_votes >= 0
    state, names = online.ledger.state, online.ledger.names
    tasks, workers = names["task"].names, names["worker"].names
    counts = state.sums.counts.rows
    return {
        "beliefs": {t: state.belief.rows[i].tolist() for i, t in enumerate(tasks)},
        "sums": {w: counts[i].tolist() for i, w in enumerate(workers)},
        "classes": dict(zip(names["label"].names, state.classes, strict=True)),
        "hard": state.hard,
        "labels": {t: online.label(t) for t in tasks},
    }


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@given(votes=votes_of)
def test_it_is_the_slow_oracle(method: str, options: dict[str, Any], votes: list[Vote]) -> None:
    online = Online(method, classes=[0, 1, 2], ties="first", **options)
    slow = naive.Online(make(method, ties="first", **options), n_classes=3)
    for vote in votes:
        answer = online.add(vote)
        belief = slow.add([vote])
        assert answer.confidence == pytest.approx(max(belief), abs=1e-8)
    for task, belief in slow.believed.items():
        code = online.ledger.names["task"].require(task)
        np.testing.assert_allclose(online.ledger.state.belief.rows[code], belief, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
@given(votes=votes_of, data=st.data())
def test_what_is_taken_back_was_never_there(method: str, votes: list[Vote], data: Any) -> None:
    """Any interleaving of add and remove is the state of the surviving votes in their order."""
    online = Online(method, classes=[0, 1, 2])
    surviving: list[Vote] = []
    for vote in votes:
        online.add(vote)
        surviving.append(vote)
        while surviving and data.draw(st.integers(0, 3)) == 0:
            task, worker, _ = data.draw(st.sampled_from(surviving))
            online.remove(task, worker)
            last = max(i for i, v in enumerate(surviving) if v[:2] == (task, worker))
            del surviving[last]
    scratch = Online(method, classes=[0, 1, 2])
    for vote in surviving:
        scratch.add(vote)
    assert online.n_votes == len(surviving)
    assert state_of(online) == state_of(scratch)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=times(10, 20))
@given(votes=votes_of)
def test_one_task_in_python_is_one_task_in_arrays(method: str, votes: list[Vote]) -> None:
    """Both ways of the schedule, on the same votes."""
    states = [State(make(method), 3) for _ in range(2)]
    for task, worker, label in votes:
        for state in states:
            state.grow(6, 4)
        states[0].add(task, [(worker, label)])
        codes = (np.array([code], dtype=np.int32) for code in (task, worker, label))
        states[1].add_table(*codes)
    one, other = states
    np.testing.assert_allclose(one.belief.rows, other.belief.rows, atol=1e-9)
    np.testing.assert_allclose(one.sums.of(slice(None)), other.sums.of(slice(None)), atol=1e-9)
    np.testing.assert_allclose(one.classes, other.classes, atol=1e-9)
    assert one.hard == other.hard


def crowd_votes(n_tasks: int = 300, per_task: int = 4, seed: int = 0) -> tuple[list[Any], Any]:
    accuracy = np.random.default_rng(3).uniform(0.55, 0.95, 12)
    crowd = simulate(one_coin_confusion(accuracy, 3), n_tasks, per_task, seed=seed)
    task = np.repeat(np.arange(n_tasks), per_task)
    rows = zip(
        task.tolist(), crowd.labels.worker.tolist(), crowd.labels.label.tolist(), strict=True
    )
    return [(f"t{t}", f"w{w}", "abc"[c]) for t, w, c in rows], crowd


@pytest.mark.parametrize("method", METHODS)
def test_settling_is_the_batch_fit_from_the_same_start(method: str) -> None:
    votes, _ = crowd_votes()
    online = Online(method)
    for vote in votes:
        online.add(vote)
    start = online._model.confusion(online.ledger.state.params())
    settled = online.settle()
    labels = online.ledger.state.ballots.labels(3)
    batch = fit_labels(make(method, init=start), labels)
    np.testing.assert_allclose(settled.posterior, batch.posterior, atol=1e-9)
    np.testing.assert_array_equal(settled.answers, batch.answers)
    for i, task in enumerate(settled.codebook.tasks):
        assert online.label(task).confidence == pytest.approx(settled.confidence[i], abs=1e-9)
    np.testing.assert_allclose(online.result().posterior, batch.posterior, atol=1e-9)
    # What is counted from then on is what the fit believes.
    hard = np.eye(3)[batch.answers] if batch.params.state.hard else batch.posterior
    np.testing.assert_allclose(online.ledger.state.belief.rows, hard, atol=1e-9)
    online.add(("t0", "w99", "a"))
    assert online.worker("w99").labels == 1


@pytest.mark.parametrize("method", METHODS)
def test_it_goes_on_from_a_fit(method: str) -> None:
    votes, _ = crowd_votes()
    half = len(votes) // 2
    frame = pl.DataFrame(votes[:half], schema=["task", "worker", "label"], orient="row")
    result = quorate.aggregate(frame, method=method)
    with_votes, without = Online(start=result, votes=frame), Online(start=result)
    for online in (with_votes, without):
        for vote in votes[half:]:
            online.add(vote)
    ours, theirs = with_votes.label("t299"), without.label("t299")
    assert ours.label == theirs.label
    assert ours.confidence == pytest.approx(theirs.confidence, abs=1e-8)
    counts = [online.ledger.state.sums.of(slice(None)) for online in (with_votes, without)]
    np.testing.assert_allclose(*counts, atol=1e-7)
    assert with_votes.add(("t0", "w11", "a")).task == "t0"
    with pytest.raises(DataError, match="its votes are not known"):
        without.add(("t0", "w11", "a"))
    with pytest.raises(UsageError, match="votes of the start are not known"):
        without.result()
    with pytest.raises(UsageError, match="one that the start was fitted to"):
        with_votes.remove("t0", votes[0][1])
    with pytest.raises(DataError, match="not the votes that the start was fitted to"):
        Online(start=result, votes=frame.head(7))


@pytest.mark.parametrize("width", [1, 2, 5, 40])
@pytest.mark.parametrize("seed", [0, 7, -3, 2**63])
def test_random_numbers_of_one_key_are_those_of_many(width: int, seed: int) -> None:
    keys = [0, 1, 4_294_967_295, 2**63, 2**64 - 1]
    together = kernels.hashed_uniform(np.array(keys, dtype=np.uint64), width, seed)
    assert [kernels.hashed_uniform_row(key, width, seed) for key in keys] == together.tolist()


def test_the_keys_of_names_are_the_same_one_by_one_and_together() -> None:
    odd = ["7", "007", "-0", "-12", "+7", " 7", "1.0", "1e3", "true", "ann", "\u0667", str(2**63)]
    for names in ([*odd, *map(str, range(-50, 50))], list(range(-60, 60)), [0.5, 7.0, 1e20]):
        known = Names("task", names)
        codes = list(range(len(names)))
        assert known.keys(codes).tolist() == [int(known.keys([code])[0]) for code in codes]


def test_it_learns_whom_to_trust() -> None:
    votes, crowd = crowd_votes(2_000, 5)
    online = Online()
    for vote in votes:
        online.add(vote)
    truth = np.array(list("abc"))[crowd.truth]
    right = np.mean([online.label(f"t{i}").label == truth[i] for i in range(2_000)])
    vote_result = quorate.aggregate(votes, method="majority")
    by_vote = np.mean(vote_result.labels["label"].to_numpy() == truth)
    assert right > by_vote + 0.01
    accuracy = np.trace(crowd.confusion, axis1=1, axis2=2) / 3
    found = [online.worker(f"w{w}").accuracy for w in range(12)]
    np.testing.assert_allclose(found, accuracy, atol=0.06)


def test_a_half_life_follows_a_worker_who_changes() -> None:
    """Right at first, then wrong: with a half-life that is seen."""
    votes, _ = crowd_votes(600, 5)
    turncoat = [
        (f"t{i}", "turncoat", "abc"[(j + (i >= 300)) % 3])
        for i in range(600)
        for j in [["a", "b", "c"].index(votes[5 * i][2])]
    ]
    steady, drifting = Online("dawid-skene"), Online("dawid-skene", half_life=20)
    for i in range(600):
        for online in (steady, drifting):
            online.add([*votes[5 * i : 5 * i + 5], turncoat[i]])
    assert drifting.worker("turncoat").accuracy < 0.2 < steady.worker("turncoat").accuracy
    assert drifting.worker("turncoat").labels < 40


@pytest.mark.parametrize("method", METHODS)
def test_a_half_life_weighs_alike_one_by_one_and_together(method: str) -> None:
    votes, _ = crowd_votes(30, 3)
    counts = []
    for together in (False, True):
        online = Online(method, half_life=5, classes=["a", "b", "c"])
        for i in range(0, len(votes), 3):
            chunk = votes[i : i + 3]
            if together:
                frame = pl.DataFrame(chunk, schema=["task", "worker", "label"], orient="row")
                online.add(frame)
            else:
                online.add(chunk)
        counts.append(online.ledger.state.sums.of(slice(None)))
    np.testing.assert_allclose(*counts, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=times(15, 40))
@given(votes=votes_of, half_life=st.sampled_from([0.01, 0.5, 3, 200]), size=st.integers(1, 4))
def test_with_a_half_life_it_is_the_slow_oracle(
    method: str, votes: list[Vote], half_life: float, size: int
) -> None:
    """Votes on one task together, a few at a time; with smoothing, so that no rounding decides."""
    online = Online(method, classes=[0, 1, 2], ties="first", smoothing=0.5, half_life=half_life)
    model = make(method, ties="first", smoothing=0.5)
    slow = naive.Online(model, n_classes=3, half_life=half_life)
    for start in range(0, len(votes), size):
        together = [(votes[start][0], *vote[1:]) for vote in votes[start : start + size]]
        (answer,) = online.add(together)
        belief = slow.add(together)
        assert answer.confidence == pytest.approx(max(belief), abs=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("half_life", [0.001, 0.3, 20, 200])
@pytest.mark.parametrize("batch", [1, 10, 100])
def test_no_half_life_and_no_batch_gives_what_is_no_number(
    method: str, half_life: float, batch: int
) -> None:
    """Long runs of votes at random, as rows and as tables."""
    random = np.random.default_rng(int(half_life * 10) + batch)
    task, worker, label = (random.integers(n, size=times(300, 900)).tolist() for n in (200, 7, 4))
    online = Online(method, half_life=half_life)
    for start in range(0, len(task), batch):
        some = slice(start, start + batch)
        rows = list(zip(task[some], worker[some], label[some], strict=True))
        as_table = batch > 1 and start % (2 * batch)
        frame = pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")
        online.add(frame) if as_table else online.add(rows)
        counts = online.ledger.state.sums.counts.rows
        assert (counts >= 0).all() and np.isfinite(counts).all()
    posterior = online.result().posterior
    assert np.isfinite(posterior).all() and np.allclose(posterior.sum(axis=1), 1)
    accuracy = [online.worker(w).accuracy for w in set(worker)]
    assert min(accuracy) >= 0 and max(accuracy) <= 1 + 1e-9


# Kinds of input.


def test_tables_give_tables() -> None:
    import pandas as pd

    frame = pl.DataFrame({"task": ["b", "a"], "worker": ["ann", "ann"], "label": [1, 0]})
    answers = Online().add(frame)
    assert answers.columns == ["task", "label", "confidence"]
    assert dict(answers.select("task", "label").iter_rows()) == {"a": 0, "b": 1}
    assert isinstance(Online().add(frame.to_pandas()), pd.DataFrame)
    assert len(Online().add(frame.head(0))) == 0


def test_rows_of_several_tasks_are_counted_together() -> None:
    online = Online()
    answers = online.add([("a", "ann", "yes"), ("b", "ann", "no"), ("a", "bob", "yes")])
    assert {(answer.task, answer.label) for answer in answers} == {("a", "yes"), ("b", "no")}


@pytest.mark.parametrize("ties", ["first", "random", "shared"])
@pytest.mark.parametrize("n_tasks", [4, 300], ids=["often", "hardly"])
def test_a_table_counts_as_its_rows_do(n_tasks: int, ties: str) -> None:
    """Whether names are repeated often or hardly, and known before or not."""
    random = np.random.default_rng(0)
    task, worker, label = (random.integers(n, size=400) for n in (n_tasks, 20, 3))
    frame = pl.DataFrame({"task": task, "worker": worker, "label": label})
    by_table, by_rows = Online(ties=ties), Online(ties=ties)
    for part in (frame.head(200), frame.tail(200)):
        answers = by_table.add(part)
        expected = {answer.task: answer for answer in by_rows.add(part.rows())}
        assert answers["task"].to_list() == part["task"].unique(maintain_order=True).to_list()
        assert {answer[0]: answer for answer in answers.iter_rows()} == expected
    assert state_of(by_table) == state_of(by_rows)


def test_new_classes_come_as_they_are_named() -> None:
    online = Online("dawid-skene")
    for i in range(4):
        online.add([(f"t{i}", "ann", "ab"[i % 2]), (f"t{i}", "bob", "ab"[i % 2])])
    before = online.worker("ann")
    online.add([("t9", "ann", "c"), ("t9", "bob", "c")])
    assert online.label("t9").label == "c" and online.label("t0").label == "a"
    assert online.worker("ann").labels == before.labels + 1
    assert online.result().classes == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("votes", "sentence"),
    [
        (("t", "w", "maybe"), "There is no label 'maybe': there are 'yes', 'no'"),
        ((None, "w", "yes"), "A vote has no task"),
        (("t", float("nan"), "yes"), "A vote has no worker"),
        (("t", "w", ""), "A vote has no label"),
        ((1, "w", "yes"), "name every task in numbers, or every one in words"),
        ([("t", "w")], "A vote is a task, a worker and a label"),
        (("t", "w"), "A vote is a task, a worker and a label"),
        (pl.DataFrame({"task": ["t"], "worker": [None], "label": ["yes"]}), "1 of 1 rows lack"),
        (pl.DataFrame({"task": ["t"]}), "worker"),
        ([("t", "w", "yes"), ("u", "w", "maybe")], "There is no label 'maybe'"),
    ],
)
def test_a_vote_that_is_wrong_changes_nothing(votes: Any, sentence: str) -> None:
    online = Online(classes=["yes", "no"])
    online.add(("first", "w", "yes"))
    before = state_of(online)
    with pytest.raises(DataError, match=sentence):
        online.add(votes)
    assert state_of(online) == before
    assert online.result().labels.shape == (1, 3)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda o: o.label("x"), "There is no vote of task 'x'"),
        (lambda o: o.worker("x"), "There is no vote of worker 'x'"),
        (lambda o: o.remove("t", "x"), "There is no vote of worker 'x'"),
        (lambda o: o.remove("u", "w"), "Worker 'w' has no vote on task 'u'"),
    ],
)
def test_what_is_not_known(call: Any, sentence: str) -> None:
    online = Online()
    online.add([("t", "w", 1), ("u", "v", 1)])
    with pytest.raises(DataError, match=sentence):
        call(online)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"method": "glad"}, "glad does not go online"),
        ({"method": "majority"}, "majority does not go online"),
        ({"half_life": 0}, "half_life"),
        ({"votes": []}, "votes are those of a start"),
        (
            {"method": "one-coin", "worker_prior": np.ones((1, 2, 2))},
            "worker_prior does not go online",
        ),
        ({"colour": 1}, "has no option 'colour'"),
    ],
)
def test_options(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        Online(**arguments)


def test_names_of_two_kinds_at_once() -> None:
    with pytest.raises(DataError, match="name every task in numbers"):
        Online().add([("t", "w", 1), (2, "w", 1)])


def test_nothing_yet() -> None:
    with pytest.raises(DataError, match="There are no labels"):
        Online().result()


def test_a_model_is_a_method() -> None:
    votes, _ = crowd_votes()
    by_name, by_model = Online("hybrid", smoothing=0.5), Online(make("hybrid", smoothing=0.5))
    for online in (by_name, by_model):
        online.add(votes)
    assert by_model.method == "hybrid"
    np.testing.assert_array_equal(by_name.result().posterior, by_model.result().posterior)
    with pytest.raises(UsageError, match="majority does not go online"):
        Online(quorate.Majority())


def test_it_says_in_a_line_what_it_holds() -> None:
    votes, _ = crowd_votes()
    online = Online("fast-dawid-skene")
    online.add(votes)
    tasks, workers = ({vote[at] for vote in votes} for at in (0, 1))
    counts = f"{len(votes):,} votes on {len(tasks):,} tasks by {len(workers):,} workers"
    assert repr(online) == f"Online(fast-dawid-skene: {counts})"


def test_repeats_count_and_the_last_is_taken_back_first() -> None:
    online = Online("dawid-skene")
    for label in ("a", "b"):
        online.add(("t", "w", label))
    online.remove("t", "w")
    assert online.label("t").label == "a" and online.worker("w").labels == 1


def answers(online: Online, tasks: Sequence[str]) -> list[Any]:
    return [online.label(task).label for task in tasks]


def test_taking_back_after_settling() -> None:
    votes, _ = crowd_votes(50)
    online, other = Online(), Online()
    for vote in votes:
        online.add(vote)
        if vote != votes[7]:
            other.add(vote)
    online.settle()
    other.settle()
    online.remove(votes[7][0], votes[7][1])
    tasks = [f"t{i}" for i in range(50)]
    assert answers(online, tasks) == answers(other, tasks)
