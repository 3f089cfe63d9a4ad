"""The votes of a project are kept as those of an `Online` in a directory are."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from quorate.errors import DataError
from quorate.online import Online
from quorate.online.keeping import Keeper
from quorate.service.failures import RepeatedError, UnavailableError
from quorate.service.store import ProjectVotes, Store, tables
from quorate.service.store.database import Changes, back_up

CLASSES = ["cat", "dog", "owl"]


def with_project(address: str) -> Store:
    store = Store(address)
    changes = Changes()
    changes.add(tables.projects, [(1, "birds", "{}", 0, False)])
    changes.add(tables.classes, [(1, i, name) for i, name in enumerate(CLASSES)])
    store.write(changes)
    return store


def opened(store: Store) -> Online:
    online = Online(classes=CLASSES)
    online.keep(Keeper(ProjectVotes(store, 1)))
    return online


def play(online: Online, seed: int) -> None:
    """Votes, one and many, known answers, removals and settlings."""
    draw = random.Random(seed)

    def vote() -> tuple[str, str, str]:
        return f"t{draw.randrange(30)}", f"w{draw.randrange(6)}", draw.choice(CLASSES)

    for _ in range(40):
        online.add(vote())
    online.add([vote() for _ in range(50)])
    online.add_gold({"t1": "cat", "new": "owl"})
    task, worker, label = vote()
    online.add((task, worker, label))
    online.remove(task, worker)
    online.settle()
    for _ in range(20):
        online.add(vote())
    online.remove_gold("t1")


def test_the_same_calls_leave_the_same_state_in_a_directory_and_in_a_project(
    address: str, tmp_path: Path
) -> None:
    store = with_project(address)
    with Online.open(tmp_path / "online", classes=CLASSES) as directory:
        play(directory, 3)
        play(opened(store), 3)
        again = opened(store)
        assert again.result().labels.rows() == directory.result().labels.rows()
        assert again.answers()[2].tolist() == directory.answers()[2].tolist()
        assert again.n_votes == directory.n_votes
        assert not again.notes
    store.close()


def test_a_checkpoint_is_where_it_goes_on_from(address: str) -> None:
    store = with_project(address)
    online = opened(store)
    play(online, 5)
    online.settle()
    online.add(("t1", "w1", "dog"))
    state = online.answers()[2].tolist()
    counted: list[int] = []
    again = Online(classes=CLASSES)
    count = again.count_again
    again.count_again = lambda ids, *rest: (counted.append(len(ids)), count(ids, *rest))[1]  # type: ignore[method-assign]
    again.keep(Keeper(ProjectVotes(store, 1)))
    assert again.answers()[2].tolist() == state
    assert sum(counted) <= 1
    store.close()


def test_one_server_leads(address: str) -> None:
    first = with_project(address)
    if first.is_postgresql:
        second = Store(address)
        with pytest.raises(UnavailableError, match="this one only reads"):
            second.write(Changes())
        first.close()
        until = time.monotonic() + 20  # the database lets go of the lock a moment later
        while not second.lead():
            assert time.monotonic() < until
            time.sleep(0.02)
        second.close()
    else:
        with pytest.raises(DataError, match="is served already"):
            Store(address)
        first.close()
        Store(address).close()


def test_a_follower_sees_what_the_leader_writes(address: str) -> None:
    leader = with_project(address)
    if not leader.is_postgresql:
        pytest.skip("SQLite has one server only")
    writing, follower = opened(leader), Store(address)
    reading = Online(classes=CLASSES)
    reading.keep(Keeper(ProjectVotes(follower, 1, read_only=True)))
    play(writing, 7)
    assert reading.n_votes == writing.n_votes
    assert reading.answers()[2].tolist() == writing.answers()[2].tolist()
    follower.close()
    leader.close()


def test_what_cannot_be_written_changes_nothing(address: str) -> None:
    store = with_project(address)
    changes = Changes()
    changes.add(tables.votes, [(1, 1, 0, 0, 0)])
    changes.add(tables.projects, [(1, "the same number", "{}", 0, False)])
    with pytest.raises(UnavailableError, match="nothing changed"):
        store.write(changes)
    assert ProjectVotes(store, 1).read({}, opened_nothing()).votes.size == 0
    store.close()


def opened_nothing() -> object:
    from quorate.online.store import Seen

    return Seen(0, 0, 0, 0)


def test_what_is_no_database_of_the_server_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("task,worker,label\n" * 100)
    with pytest.raises(DataError, match="no database of `quorate serve`"):
        Store(str(tmp_path / "text.db"))
    with pytest.raises(DataError, match="is a directory"):
        Store(str(tmp_path))
    with pytest.raises(DataError, match="there is no directory"):
        Store(str(tmp_path / "nowhere" / "project.db"))


def test_a_copy_is_the_same(tmp_path: Path) -> None:
    store = with_project(str(tmp_path / "project.db"))
    play(opened(store), 9)
    back_up(tmp_path / "project.db", tmp_path / "copy.db")
    with pytest.raises(DataError, match="there already"):
        back_up(tmp_path / "project.db", tmp_path / "copy.db")
    copy = Store(str(tmp_path / "copy.db"))
    assert opened(copy).answers()[2].tolist() == opened(store).answers()[2].tolist()
    copy.close()
    store.close()


def test_what_is_asked_for_is_found_and_nothing_else(address: str) -> None:
    store = with_project(address)
    changes = Changes()
    changes.add(tables.projects, [(2, "frogs", "{}", 0, False)])
    changes.add(
        tables.tasks,
        [(p, i, f"t{i}", f'"{p} {i}"', None, 0.0, False) for p in (1, 2) for i in range(40)],
    )
    keys = [None, "a", "b", "c'; DROP TABLE receipts"]
    changes.add(
        tables.receipts, [(1, i, key, "d", "add", i, 1, 0, "") for i, key in enumerate(keys)]
    )
    store.write(changes)
    kept = ProjectVotes(store, 1)
    assert kept.payloads([39, 3]) == {3: '"1 3"', 39: '"1 39"'}
    assert kept.payloads([3, 39], 5) == {3: '"1 3"'}
    assert kept.payloads([40]) == {}
    found = kept.receipts(["b", "zz", keys[3]])
    assert sorted(map(tuple, found)) == [("b", 2, 1, "d"), (keys[3], 3, 1, "d")]
    assert not kept.receipts(["zz"]) and not ProjectVotes(store, 2).receipts(["a"])
    store.close()


def test_what_fails_half_way_leaves_nothing(address: str) -> None:
    """Rows of two tables of which the second refuses, and rows before a statement that fails."""
    store = with_project(address)
    refused, failing = Changes(), Changes()
    for changes in (refused, failing):
        changes.add(tables.votes, [(1, 1, 0, 0, 0)])
    refused.add(tables.classes, [(1, 0, "again")])
    failing.run(text("INSERT INTO nowhere VALUES (1)"))
    with pytest.raises(RepeatedError):
        store.write(refused)
    with pytest.raises(UnavailableError, match="nowhere"):
        store.write(failing)
    votes = select(func.count()).select_from(tables.votes)
    assert store.read(lambda connection: connection.execute(votes).scalar()) == 0
    whole = Changes()
    whole.add(tables.votes, [(1, 1, 0, 0, 0)])
    store.write(whole)
    assert store.read(lambda connection: connection.execute(votes).scalar()) == 1
    store.close()
