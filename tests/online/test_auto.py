"""`Online` with auto: settled it is `aggregate`, and between settlings it goes on from there."""

from __future__ import annotations

import json
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.online.test_gold import crowd_gold
from tests.online.test_keeping import close
from tests.online.test_online import crowd_votes, state_of

import quorate
from quorate import Online, UsageError
from quorate.online import checkpoints


def duplicated(votes: list[Any], seed: int = 5) -> list[Any]:
    """The votes with those of three who copy one poor worker, so that there is a discount."""
    random = np.random.default_rng(seed)
    tasks = sorted({task for task, _, _ in votes})
    wrong = {task: "abc"[random.integers(3)] for task in tasks}
    return [*votes, *((t, f"copy-{i}", wrong[t]) for t in tasks for i in range(3))]


def require_equal(online: Online, batch: quorate.Result) -> None:
    """Every answer, confidence, worker and the expected error."""
    assert online.result().labels.sort("task").equals(batch.labels.sort("task"))
    for task, label, confidence in batch.labels.iter_rows():
        answer = online.label(task)
        assert answer.label == label
        assert answer.confidence == pytest.approx(confidence, abs=1e-9)
    for row in batch.workers.iter_rows(named=True):
        assert online.worker(row["worker"]).accuracy == pytest.approx(row["accuracy"], abs=1e-9)
    np.testing.assert_allclose(online.expected_error, batch.expected_error, atol=1e-9)


@pytest.mark.parametrize("n_gold", [0, 3, 40])
@pytest.mark.parametrize("copies", [False, True])
def test_settled_it_is_aggregate(n_gold: int, copies: bool) -> None:
    votes, gold = crowd_votes(120)[0], crowd_gold(n_gold, 120) or None
    votes = duplicated(votes) if copies else votes
    random = np.random.default_rng(0)
    votes = [votes[i] for i in random.permutation(len(votes))]
    online = Online("auto", gold=gold)
    for vote in votes[:200]:
        online.add(vote)
    online.add(pl.DataFrame(votes[200:], schema=["task", "worker", "label"], orient="row"))
    online.settle()
    batch = quorate.aggregate(votes, gold=gold)
    require_equal(online, batch)
    assert (
        ("group" in batch.workers.columns) == copies == ("group" in online.result().workers.columns)
    )


def test_ties_fall_as_they_do_for_aggregate() -> None:
    votes = [
        (f"t{i}", worker, label) for i in range(40) for worker, label in (("v", "b"), ("w", "a"))
    ]
    online = Online("auto")
    online.add(votes)
    online.settle()
    require_equal(online, quorate.aggregate(votes))


def test_a_class_that_only_gold_names() -> None:
    votes, gold = crowd_votes(60)[0], {"t1": "A class", "t2": "b", "none": "other"}
    online = Online("auto", gold=gold)
    online.add(votes)
    online.settle()
    require_equal(online, quorate.aggregate(votes, gold=gold))
    assert online.label("none") == ("none", "other", 1.0)


def test_later_votes_start_from_what_was_settled() -> None:
    """Bayes' rule, with the accuracy that the worker's votes have under what is believed; what has
    no new votes stays as it was settled."""
    votes, _ = crowd_votes(100)
    online = Online("auto")
    online.add(votes)
    settled = online.settle()
    posterior = dict(zip(settled.codebook.tasks, settled.posterior, strict=True))
    labels = {answer[0]: answer for answer in settled.labels.iter_rows()}
    for worker, label in (("w1", "b"), ("w2", "b")):
        answer = online.add(("t7", worker, label))
    accuracy = []
    for worker in ("w1", "w2"):
        right, wrong = online.ledger.state.sums.tally(
            np.array([online.ledger.names["worker"].require(worker)])
        )[0]
        accuracy.append((right + 2) / (right + wrong + 4))
    classes = settled.classes
    odds = np.maximum(posterior["t7"], 1e-6)
    for share in accuracy:
        odds = odds * np.where(np.array(classes) == "b", share, (1 - share) / 2)
    expected = odds / odds.sum()
    again = online.label("t7")
    assert again.label == classes[expected.argmax()] == answer.label
    assert again.confidence == pytest.approx(expected.max(), abs=1e-9)
    for task, answer_before in labels.items():
        if task != "t7":
            assert online.label(task) == answer_before
    found = {row[0]: row for row in online.result().labels.iter_rows()}
    assert found["t9"] == labels["t9"] and found["t7"][:2] == again[:2]
    # One task is normalised by Python's exponential, a table by NumPy's: the last bit may differ.
    assert found["t7"][2] == pytest.approx(again.confidence, abs=1e-15)


def test_a_new_class_may_win_after_settling() -> None:
    online = Online("auto")
    online.add(crowd_votes(60)[0])
    online.settle()
    for i in range(12):
        online.add(("t1", f"w{i}", "new"))
    assert online.label("t1").label == "new"


def test_an_answer_that_is_not_known_any_more_is_what_the_votes_say() -> None:
    votes, _ = crowd_votes(60)
    said = {task: [v[2] for v in votes if v[0] == task] for task in ("t0", "t1", "t2", "t3")}
    task = next(t for t in said if len(set(said[t])) < 3)
    other = next(c for c in "abc" if c not in said[task])
    online = Online("auto", gold={task: other})
    online.add(votes)
    online.settle()
    assert online.label(task) == (task, other, 1.0)
    online.remove_gold(task)
    assert online.label(task).label in said[task]


@pytest.mark.parametrize("together", [3])
def test_opened_again_it_is_the_same(
    together: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "FEWEST", 9)
    votes = crowd_votes(30)[0]
    plain = Online("auto")
    for i in range(0, len(votes), together):
        with Online.open(tmp_path, "auto") as online:
            for one in (online, plain):
                one.add(votes[i : i + together])
                if i % 21 == 0:
                    one.add_gold((votes[i][0], votes[i][2]))
                if i % 35 == 28:
                    one.settle()
                if i % 42 == 35:
                    one.remove(*votes[i - 9][:2])
    assert close(state_of(online), state_of(plain))
    with Online.open(tmp_path) as online:
        assert online.method == "auto" and not online.notes
        assert close(state_of(online), state_of(plain))


def test_taking_back_is_as_if_it_had_never_come() -> None:
    votes, _ = crowd_votes(40)
    online, other = Online("auto"), Online("auto")
    for one in (online, other):
        one.add(votes)
        one.settle()
        one.add(("t3", "w1", "a"))
    before = state_of(online)
    online.add([("t3", "late", "b"), ("t5", "late", "c")])
    online.remove("t3", "late")
    online.remove("t5", "late")
    assert state_of(online) == before == state_of(other)


def test_it_goes_on_from_a_fit(tmp_path: Path) -> None:
    votes, _ = crowd_votes(80)
    gold = crowd_gold(10, 80)
    for known in (None, gold):
        result = quorate.aggregate(votes[:200], gold=known)
        online = Online(start=result, votes=votes[:200], gold=known)
        label, confidence = result.labels.row(by_predicate=pl.col("task") == "t12")[1:]
        assert online.method == "auto" and online.label("t12") == ("t12", label, confidence)
        online.add(votes[200:])
        online.settle()
        require_equal(online, quorate.aggregate(votes, gold=known))
    with pytest.raises(UsageError, match="only with its votes"):
        Online(start=result)


def test_it_is_the_default_but_not_of_what_was_made_before(tmp_path: Path) -> None:
    """What was made without a method is what the default was then."""
    assert Online().method == "auto"
    for place, method in (("new", "auto"), ("old", "fast-dawid-skene")):
        with Online.open(tmp_path / place) as online:
            online.add(("t", "w", "a"))
        if place == "old":
            without_method(tmp_path / place / "votes.db")
        with Online.open(tmp_path / place) as online:
            assert online.method == method and online.n_votes == 1


def without_method(database: Path) -> None:
    with closing(sqlite3.connect(database)) as tables, tables:
        tables.execute("DELETE FROM checkpoints")
        kept = (json.dumps({}), zlib.crc32(b"settings" + b"{}"))
        tables.execute("UPDATE settings SET value = ?, checksum = ? WHERE name = 'settings'", kept)


def test_it_says_what_counts_between_settlings() -> None:
    online = Online("auto", gold={"t": "a"})
    online.add(("t", "w", "a"))
    about = "1 votes on 1 tasks by 1 workers, 1 known answers"
    assert repr(online) == f"Online(auto, one-coin between settlings: {about})"
