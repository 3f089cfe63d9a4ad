"""Known answers of an `Online`: the answers of their tasks, by which workers are judged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.naive import online as naive
from tests.online.test_online import METHODS, crowd_votes, state_of, votes_of

import quorate
from quorate import DataError, Online, UsageError
from quorate.models import make
from quorate.online import checkpoints
from quorate.online.database import GOLD_SCHEMA


def crowd_gold(n: int = 20, of: int = 300) -> dict[str, str]:
    _, crowd = crowd_votes(of)
    return {f"t{i}": "abc"[crowd.truth[i]] for i in range(n)}


@pytest.mark.parametrize("method", METHODS)
@given(votes=votes_of, data=st.data())
def test_it_is_the_slow_oracle(method: str, votes: list[Any], data: Any) -> None:
    options = {"ties": "first", "smoothing": 0.5}
    online = Online(method, classes=[0, 1, 2], **options)
    slow = naive.Online(make(method, **options), n_classes=3)
    for vote in votes:
        if data.draw(st.integers(0, 2)) == 0:
            task, label = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 2))
            if task in slow.gold:
                online.remove_gold(task)
                slow.know(task, None)
            else:
                online.add_gold((task, label))
                slow.know(task, label)
        answer, belief = online.add(vote), slow.add([vote])
        assert answer.confidence == pytest.approx(max(belief), abs=1e-8)
    assert online.gold == slow.gold
    for task, belief in slow.believed.items():
        code = online.ledger.names["task"].require(task)
        np.testing.assert_allclose(online.ledger.state.belief.rows[code], belief, atol=1e-8)
    for task, label in slow.gold.items():
        assert online.label(task) == (task, label, 1.0)


@pytest.mark.parametrize("method", METHODS)
@given(votes=votes_of, data=st.data())
def test_what_is_taken_back_was_never_there(method: str, votes: list[Any], data: Any) -> None:
    """Votes before and after answers became known."""
    online = Online(method, classes=[0, 1, 2])
    done: list[tuple[Any, ...]] = []
    for vote in votes:
        online.add(vote)
        done.append(vote)
        if data.draw(st.integers(0, 2)) == 0:
            known = (data.draw(st.integers(0, 5)), data.draw(st.integers(0, 2)))
            online.add_gold(known)
            done.append(known)
        survivors = [d for d in done if len(d) == 3]
        if survivors and data.draw(st.integers(0, 3)) == 0:
            task, worker, _ = data.draw(st.sampled_from(survivors))
            online.remove(task, worker)
            del done[max(i for i, d in enumerate(done) if len(d) == 3 and d[:2] == (task, worker))]
    scratch = Online(method, classes=[0, 1, 2])
    for one in done:
        scratch.add(one) if len(one) == 3 else scratch.add_gold(one)
    assert state_of(online) == state_of(scratch) and online.gold == scratch.gold


def test_a_table_counts_as_its_rows_do() -> None:
    votes, gold = crowd_votes(60)[0], crowd_gold(15)
    frame = pl.DataFrame(votes, schema=["task", "worker", "label"], orient="row")
    by_table, by_rows = Online(gold=gold), Online(gold=list(gold.items()))
    by_table.add(frame)
    by_rows.add(votes)
    assert state_of(by_table) == state_of(by_rows)
    assert by_table.result().labels.equals(by_rows.result().labels)
    assert by_table.add(frame.head(4))["confidence"].to_list() == [1.0]


@pytest.mark.parametrize("method", METHODS)
def test_settling_keeps_them(method: str) -> None:
    votes, gold = crowd_votes()[0], crowd_gold(40)
    wrong = {task: "abc"[("abc".index(label) + 1) % 3] for task, label in gold.items()}
    online = Online(method, gold=wrong)
    online.add(votes)
    result = online.settle()
    found = dict(result.labels.select("task", "label").iter_rows())
    assert {task: found[task] for task in wrong} == wrong
    assert all(online.label(task) == (task, label, 1.0) for task, label in wrong.items())
    batch = quorate.aggregate(votes, method, gold=wrong)
    assert result.overview.known == batch.overview.known == 40


def test_workers_are_judged_by_them() -> None:
    """Two who agree are wrong, as it turns out."""
    online = Online("one-coin", smoothing=1.0)
    for i in range(20):
        online.add([(i, "ann", "a"), (i, "bob", "a"), (i, "eve", "b")])
    assert online.worker("eve").accuracy < 0.3 < online.worker("ann").accuracy
    online.add_gold(dict.fromkeys(range(20), "b"))
    assert online.worker("eve").accuracy == 1 and online.worker("ann").accuracy == 0
    online.add([(99, "ann", "a"), (99, "eve", "b")])
    assert online.label(99).label == "b"
    online.remove_gold(3)
    assert online.label(3).label == "b" and 3 not in online.gold


def test_they_may_come_before_the_votes_and_name_a_new_class() -> None:
    online = Online("dawid-skene", smoothing=0.5, gold={"t1": "c"})
    assert online.label("t1") == ("t1", "c", 1.0) and online.n_votes == 0
    assert online.add(("t1", "ann", "a")) == ("t1", "c", 1.0)
    assert online.worker("ann").accuracy == 0
    online.add_gold(("t1", "a"))
    assert online.label("t1").label == "a" and online.worker("ann").accuracy == 1
    assert set(online.result().classes) == {"a", "c"}


@pytest.mark.parametrize(
    ("gold", "sentence"),
    [
        ({"t": "maybe"}, "There is no label 'maybe': there are 'yes', 'no'"),
        ({1: "yes"}, "name every task in numbers, or every one in words"),
        ([("t", "yes"), ("t", "no")], "more than one answer"),
        ([("t", "yes"), ("u", None)], "1 of 2 known answers lack a task or a label"),
    ],
)
def test_one_that_is_wrong_changes_nothing(gold: Any, sentence: str) -> None:
    online = Online(classes=["yes", "no"])
    online.add(("first", "w", "yes"))
    before = state_of(online)
    with pytest.raises(DataError, match=sentence):
        online.add_gold(gold)
    assert state_of(online) == before and not online.gold
    with pytest.raises(DataError, match="The answer of task 't' is not known"):
        online.remove_gold("t")


def test_votes_are_named_as_they_are() -> None:
    online = Online(gold={1: "yes"})
    with pytest.raises(DataError, match="name every task in numbers"):
        online.add(("t", "w", "yes"))


# In a directory.


@pytest.mark.parametrize("half_life", [None, 30])
def test_opened_again_it_is_the_same(
    half_life: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With checkpoints among them, votes taken back, and classes that gold named first."""
    monkeypatch.setattr(checkpoints, "FEWEST", 9)
    votes, gold = crowd_votes(30)[0], crowd_gold(30)
    plain = Online("dawid-skene", half_life=half_life, smoothing=0.5)
    for i, vote in enumerate(votes):
        with Online.open(tmp_path, "dawid-skene", half_life=half_life, smoothing=0.5) as online:
            for one in (online, plain):
                if i % 7 == 0:
                    one.add_gold({f"t{i // 7}": gold[f"t{i // 7}"], f"later-{i}": f"class-{i % 3}"})
                one.add(vote)
                if i % 11 == 10:
                    one.remove(*votes[i - 5][:2])
                if i % 40 == 20:
                    one.remove_gold(f"t{i // 7}")
                if i % 50 == 30:
                    one.settle()
    with Online.open(tmp_path) as online:
        assert online.gold == plain.gold and not online.notes
        ours, theirs = state_of(online), state_of(plain)
        assert ours["labels"].keys() == theirs["labels"].keys()
        for task, answer in ours["labels"].items():
            assert answer.label == theirs["labels"][task].label
            assert answer.confidence == pytest.approx(theirs["labels"][task].confidence, abs=1e-9)
    with closing(sqlite3.connect(tmp_path / "votes.db")) as tables:
        assert dict(tables.execute("SELECT * FROM gold_by_name")) == plain.gold


def test_a_reader_is_up_to_date(tmp_path: Path) -> None:
    with Online.open(tmp_path) as online:
        online.add(("t", "w", "a"))
        with Online.open(tmp_path, read_only=True) as reader:
            online.add_gold({"t": "b", "u": "c"})
            assert reader.label("t") == ("t", "b", 1.0) and reader.gold == online.gold
            online.remove_gold("t")
            assert reader.label("t").label == "a" and reader.gold == {"u": "c"}
            with pytest.raises(UsageError, match="read only"):
                reader.add_gold({"t": "a"})


def test_given_when_it_is_opened_they_are_added(tmp_path: Path) -> None:
    for gold in ({"t": "a"}, {"t": "a", "u": "b"}):
        with Online.open(tmp_path, gold=gold) as online:
            assert online.gold == gold
    with closing(sqlite3.connect(tmp_path / "votes.db")) as tables:
        assert tables.execute("SELECT count(*) FROM gold").fetchone() == (2,)
    with Online.open(tmp_path) as online:
        assert online.gold == {"t": "a", "u": "b"}


def test_a_changed_row_is_noticed(tmp_path: Path) -> None:
    with Online.open(tmp_path) as online:
        online.add([("t", "w", "a"), ("u", "w", "b")])
        online.add_gold({"t": "b"})
    with closing(sqlite3.connect(tmp_path / "votes.db")) as tables, tables:
        tables.execute("UPDATE gold SET label = 0")
    with pytest.raises(DataError, match="damaged at row 1 of gold"):
        Online.open(tmp_path)


def as_format_1(directory: Path) -> None:
    """Make the file what the format before known answers was."""
    with closing(sqlite3.connect(directory / "votes.db", isolation_level=None)) as tables:
        tables.execute("DROP VIEW gold_by_name")
        tables.execute("DROP TABLE gold")
        tables.execute("PRAGMA user_version = 1")
        assert "CREATE TABLE gold" in GOLD_SCHEMA


def test_a_database_without_them_is_opened(tmp_path: Path) -> None:
    votes = crowd_votes(20)[0]
    with Online.open(tmp_path) as online:
        online.add(votes)
        before = state_of(online)
    as_format_1(tmp_path)
    with Online.open(tmp_path, read_only=True) as reader:
        assert state_of(reader) == before and reader.gold == {}
        with Online.open(tmp_path) as online:
            assert state_of(online) == before
            online.add_gold({"t0": "c"})
            assert reader.gold == {"t0": "c"}
    with Online.open(tmp_path) as online:
        assert online.gold == {"t0": "c"}
