"""An `Online` in a directory: killed at any moment, torn, damaged, and opened twice."""

from __future__ import annotations

import datetime
import json
import os
import random
import sqlite3
import struct
import subprocess
import sys
import textwrap
import threading
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.effort import times
from tests.online.test_online import METHODS, crowd_votes, state_of

import quorate
from quorate import DataError, Online, UsageError
from quorate.models import make
from quorate.online import checkpoints, ledger
from quorate.online.state import State

# A process that has imported everything forks one after the other; each goes on with the votes
# where the log ends, acknowledges what has returned through a pipe, and is killed: some moments
# after it began, or after so many votes, however slow the machine is.
KILLING = """
import os, random, signal, sys, time
from pathlib import Path
from quorate import Online
from quorate.online import checkpoints
from tests.online.test_online import crowd_votes, state_of

directory, method, kills = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
checkpoints.FEWEST = 40
votes, _ = crowd_votes(3_000)
chance = random.Random(7)
moved = 0

def work(pipe):
    online = Online.open(directory, method)
    for i in range(online.n_votes, len(votes)):
        online.add(votes[i])
        os.write(pipe, (i + 1).to_bytes(4, "little"))

for kill in range(kills):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        work(writing)
        os._exit(0)
    os.close(writing)
    said, wanted = b"", 4 * chance.choice([0, chance.randrange(1, 40)])
    while len(said) < wanted and (part := os.read(reading, wanted - len(said))):
        said += part
    time.sleep(chance.uniform(0, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while part := os.read(reading, 2**16):
        said += part
    os.close(reading)
    acknowledged = int.from_bytes(said[-4:], "little") if said else 0
    with Online.open(directory, method) as online:
        assert online.n_votes >= acknowledged, (online.n_votes, acknowledged)
        moved += bool(said)
        if kill % 10 == 9:
            scratch = Online(method)
            for vote in votes[: online.n_votes]:
                scratch.add(vote)
            assert state_of(online) == state_of(scratch)
print(moved, online.n_votes)
"""


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    """Sixty times, at random moments, and the state is that of the votes that are there."""
    command = [sys.executable, "-c", KILLING, str(tmp_path / "kept"), "fast-dawid-skene", "60"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    moved, votes = map(int, done.stdout.split())
    assert moved > 10 and votes > 100, "the kills came before anything was done"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("half_life", [None, 30])
def test_opened_again_it_is_the_same(
    method: str, half_life: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "FEWEST", 25)
    votes, _ = crowd_votes(60)
    plain = Online(method, half_life=half_life)
    for i, vote in enumerate(votes):
        with Online.open(tmp_path, method, half_life=half_life) as online:
            online.add(vote)
            plain.add(vote)
            if i % 50 == 20:
                online.remove(votes[i - 5][0], votes[i - 5][1])
                plain.remove(votes[i - 5][0], votes[i - 5][1])
            if i % 100 == 60:
                assert online.settle().labels.equals(plain.settle().labels)
        if i > 80:
            break
    with Online.open(tmp_path) as online:
        assert plain.n_votes == online.n_votes
        assert close(state_of(online), state_of(plain))
        assert not online.notes


def close(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(close, one, other))
    return one == other or (isinstance(one, float) and abs(one - other) < 1e-9)


def test_two_writers_are_refused(tmp_path: Path) -> None:
    with Online.open(tmp_path), pytest.raises(DataError, match="is open already"):
        Online.open(tmp_path)
    other = f"from quorate import Online; Online.open({str(tmp_path)!r})"
    with Online.open(tmp_path):
        done = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True)
    assert "is open already" in done.stderr
    assert subprocess.run([sys.executable, "-c", other]).returncode == 0


def test_a_killed_process_lets_go(tmp_path: Path) -> None:
    waiting = f"""
    import time
    from quorate import Online
    online = Online.open({str(tmp_path)!r})
    online.add(("t", "w", "yes"))
    print("ready", flush=True)
    time.sleep(60)
    """
    command = [sys.executable, "-c", textwrap.dedent(waiting)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
        finally:
            process.kill()
    with Online.open(tmp_path) as online:
        assert online.n_votes == 1


def test_the_settings_of_the_first_opening_hold(tmp_path: Path) -> None:
    with Online.open(tmp_path, "dawid-skene", smoothing=0.5, classes=["a", "b"]) as online:
        online.add(("t", "w", "a"))
    with Online.open(tmp_path) as online:
        assert online.method == "dawid-skene" and online._model.smoothing == 0.5
        with pytest.raises(DataError, match="There is no label 'c'"):
            online.add(("t", "w", "c"))
    with pytest.raises(UsageError, match=r"was made with smoothing 0\.5, not 0\.1"):
        Online.open(tmp_path, smoothing=0.1)
    with pytest.raises(UsageError, match="'dawid-skene', not 'one-coin'"):
        Online.open(tmp_path, "one-coin")


def test_settings_that_are_wrong_leave_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="glad does not go online"):
        Online.open(tmp_path / "new", "glad")
    with Online.open(tmp_path / "new", "one-coin") as online:
        online.add(("t", "w", 1))


@pytest.mark.parametrize("with_votes", [True, False])
def test_it_goes_on_from_a_fit(with_votes: bool, tmp_path: Path) -> None:
    votes, _ = crowd_votes(80)
    frame = pl.DataFrame(votes[:200], schema=["task", "worker", "label"], orient="row")
    result = quorate.aggregate(frame, method="fast-dawid-skene")
    given = {"start": result, **({"votes": frame} if with_votes else {})}
    plain = Online(**given)
    with Online.open(tmp_path, **given) as online:
        for vote in votes[200:260]:
            assert online.add(vote) == plain.add(vote)
    with Online.open(tmp_path) as online:
        for vote in votes[260:]:
            assert online.add(vote) == plain.add(vote)
    with pytest.raises(UsageError, match="has begun already"):
        Online.open(tmp_path, start=result)


def test_a_model_is_kept_by_its_name_and_options(tmp_path: Path) -> None:
    model = make("fast-dawid-skene", smoothing=0.5)
    with Online.open(tmp_path, model) as online:
        online.add([("t", "w", "a"), ("t", "v", "b")])
        before = online.label("t")
    with Online.open(tmp_path) as online:
        assert online.method == "fast-dawid-skene" and online.label("t") == before
    with Online.open(tmp_path, model) as online:
        assert online.n_votes == 2
    with pytest.raises(UsageError, match=r"was made with smoothing 0\.5"):
        Online.open(tmp_path, make("fast-dawid-skene", smoothing=0.1))


def test_a_closed_one_takes_no_votes(tmp_path: Path) -> None:
    online = Online.open(tmp_path)
    online.close()
    online.close()
    with pytest.raises(UsageError, match="is closed"):
        online.add(("t", "w", 1))


def test_a_place_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be opened"):
        Online.open(tmp_path / "file")


def test_tables_are_kept_as_one_step(tmp_path: Path) -> None:
    votes, _ = crowd_votes(40)
    frame = pl.DataFrame(votes, schema=["task", "worker", "label"], orient="row")
    plain = Online()
    with Online.open(tmp_path) as online:
        assert online.add(frame).equals(plain.add(frame))
    with Online.open(tmp_path) as online:
        assert state_of(online) == state_of(plain)


def rows_of(directory: Path, query: str) -> list[Any]:
    connection = sqlite3.connect(directory / "votes.db")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


@pytest.mark.parametrize(("sync", "level"), [(False, 1), (True, 2)])
def test_sync_waits_for_the_disk(sync: bool, level: int, tmp_path: Path) -> None:
    with Online.open(tmp_path, sync=sync) as online:
        database = online._keeper.database  # type: ignore[union-attr]
        assert database._connection.execute("PRAGMA synchronous").fetchone() == (level,)


def test_votes_and_answers_can_be_read_with_any_tool(tmp_path: Path) -> None:
    with Online.open(tmp_path, "dawid-skene", smoothing=1.0) as online:
        online.add([("t1", "ann", True), ("t1", "bob", True), ("t2", "ann", False)])
        online.remove("t2", "ann")
        answer = online.label("t1")
    assert rows_of(tmp_path, "SELECT task, worker, label, removed FROM votes_by_name") == [
        ("t1", "ann", 1, 0),
        ("t1", "bob", 1, 0),
        ("t2", "ann", 0, 1),
    ]
    assert rows_of(tmp_path, "SELECT * FROM answers_by_name") == [("t1", 1, answer.confidence)]
    with Online.open(tmp_path) as online:
        assert online.label("t1") == answer and online.label("t1").label is True


@pytest.mark.parametrize(
    ("vote", "sentence"),
    [
        (("t", ("site", "ann"), "a"), "worker .'site', 'ann'. is neither text nor a 64-bit number"),
        (("t", "w", ("cat", "dog")), "is neither text nor a 64-bit number"),
        ((datetime.date(2020, 1, 1), "w", "a"), "is neither text nor a 64-bit number"),
        (("t", ["ann"], "a"), "worker .'ann'. is neither text nor a 64-bit number"),
        ((2**80, "w", "a"), "is neither text nor a 64-bit number"),
        (("\ud800", "w", "a"), "half a character"),
    ],
)
def test_what_cannot_be_kept_is_not_acknowledged(vote: Any, sentence: str, tmp_path: Path) -> None:
    with Online.open(tmp_path) as online:
        if not isinstance(vote[0], str):
            online = Online()
        else:
            online.add(("t0", "w0", "a"))
        before = online.n_votes
        with pytest.raises(DataError, match=sentence):
            online.add(vote)
        assert online.n_votes == before
    with Online.open(tmp_path) as online:
        assert online.n_votes == before and not online.notes


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    with Online.open(tmp_path) as online:
        online.add((np.int64(7), np.str_("w"), np.float64(0.5)))
    with Online.open(tmp_path) as online:
        assert online.label(7).label == 0.5


def test_a_vote_taken_back_before_a_settling_takes_nothing_with_it(tmp_path: Path) -> None:
    with Online.open(tmp_path) as online:
        online.add(("t0", "w0", "a"))
        online.settle()
        for i in range(1, 101):
            online.add((f"t{i}", f"w{i % 5}", "ab"[i % 2]))
        online.remove("t0", "w0")
        assert online.label("t5").label == "b" and online.n_votes == 100
    with Online.open(tmp_path) as online:
        assert online.n_votes == 100 and not online.notes


def test_what_a_settling_found_is_there_again_when_what_came_after_is_taken_back(
    tmp_path: Path,
) -> None:
    votes, _ = crowd_votes(20)
    with Online.open(tmp_path, "dawid-skene") as online:
        online.add(votes)
        online.settle()
        known = known_of(online)
        online.add(("t1", "late", "a"))
        online.remove("t1", "late")
        assert known_of(online) == known
    with Online.open(tmp_path) as online:
        assert close(known_of(online), known)


def test_a_name_that_comes_back_is_the_same_name(tmp_path: Path) -> None:
    """Also when others came first meanwhile, and in another process."""
    plain = Online("dawid-skene")
    with Online.open(tmp_path, "dawid-skene") as online:
        for one in (online, plain):
            one.add([("t1", "ann", "a"), ("t2", "bob", "b"), ("t3", "ann", "c")])
            one.remove("t1", "ann")
            one.add(("t4", "eve", "b"))
    with Online.open(tmp_path) as online:
        for one in (online, plain):
            one.add(("t1", "ann", "a"))
        assert close(state_of(online), state_of(plain))
    assert rows_of(tmp_path, "SELECT count(*), count(DISTINCT name) FROM tasks") == [(4, 4)]
    with Online.open(tmp_path) as online:
        assert close(state_of(online), state_of(plain))


@pytest.mark.parametrize("method", ["fast-dawid-skene", "one-coin"])
@pytest.mark.parametrize("half_life", [None, 5])
def test_cut_short_anywhere_it_has_happened_or_not(
    method: str, half_life: float | None, tmp_path: Path
) -> None:
    """An exception at many a line that is gone through: what is there then is what a fresh one has
    that got the same. (`make chaos` tries every line.)"""
    votes, _ = crowd_votes(12, 3)
    frame = pl.DataFrame(votes[20:26], schema=["task", "worker", "label"], orient="row")
    first = votes[:18]

    def begun(place: Path | None) -> Online:
        given = {"half_life": half_life}
        online = Online(method, **given) if place is None else Online.open(place, method, **given)
        for vote in first:
            online.add(vote)
        return online

    calls: list[Callable[[Online], Any]] = [
        lambda o: o.add(("new", "w1", "b")),
        lambda o: o.add(frame),
        lambda o: (o.remove(*votes[3][:2]), o.n_votes),
        lambda o: o.settle(),
    ]
    step = {False: times(67, 29), True: times(331, 149)}
    for number, call in enumerate(calls):
        without, with_it = begun(None), begun(None)
        call(with_it)
        possible = [known_of(without), known_of(with_it)]
        for kept in (False, True):
            for line in range(len(method), 100_000, step[kept]):
                place = tmp_path / f"{number}-{line}" if kept else None
                online = begun(place)
                if not cut_short(lambda online=online, call=call: call(online), line):
                    online.close()
                    break
                known = known_of(online)
                assert any(close(known, one) for one in possible), (number, line)
                online.close()
                if place is not None:
                    with Online.open(place) as again:
                        assert close(known_of(again), known), (number, line)


def known_of(online: Online) -> dict[str, Any]:
    tasks = sorted(online.ledger.names["task"].names) if online.n_votes else []
    workers = sorted(online.ledger.names["worker"].names)
    answers = {task: tuple(online.label(task)) for task in tasks}
    return {"n": online.n_votes, **answers, **{w: tuple(online.worker(w)) for w in workers}}


class CutShort(BaseException):
    pass


def cut_short(call: Callable[[], Any], line: int) -> bool:
    """Whether the call went through so many lines of the package, where it was then ended."""
    left = line

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal left
        if "quorate/online" not in frame.f_code.co_filename:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                raise CutShort
        return trace

    sys.settrace(trace)
    try:
        call()
    except CutShort:
        return True
    finally:
        sys.settrace(None)
    return False


def test_threads_take_turns(tmp_path: Path) -> None:
    votes, _ = crowd_votes(500)
    with Online.open(tmp_path) as online:

        def work(part: list[Any]) -> None:
            for vote in part:
                online.add(vote)

        threads = [threading.Thread(target=work, args=(votes[i::3],)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert online.n_votes == len(votes)
        state = state_of(online)
    scratch = Online()
    query = "SELECT task, worker, label FROM votes_by_name ORDER BY id"
    for vote in rows_of(tmp_path, query):
        scratch.add(vote)
    assert state == state_of(scratch)


def test_a_forked_process_is_refused(tmp_path: Path) -> None:
    with Online.open(tmp_path) as online:
        online.add(("t1", "w", "a"))
        child = os.fork()
        if not child:
            try:
                online.add(("t2", "w", "b"))
            except UsageError as error:
                os._exit(17 if "was forked" in str(error) else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17
        online.add(("t3", "w", "a"))
    with Online.open(tmp_path) as online:
        assert online.n_votes == 2 and online.label("t3").label == "a"


def test_others_may_read_and_are_up_to_date(tmp_path: Path) -> None:
    votes, _ = crowd_votes(30)
    with Online.open(tmp_path) as online:
        online.add(votes[:50])
        reader = Online.open(tmp_path, read_only=True)
        for vote in votes[50:80]:
            online.add(vote)
            assert reader.label(vote[0]) == online.label(vote[0])
        online.remove(*votes[60][:2])
        online.settle()
        online.add(votes[90])
        assert close(known_of(reader), known_of(online))
        with pytest.raises(UsageError, match="to read only"):
            reader.add(votes[0])
        reader.close()
    with pytest.raises(DataError, match="There is no Online"):
        Online.open(tmp_path / "nothing", read_only=True)


def test_taking_back_the_last_vote_does_not_count_everything_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    votes, _ = crowd_votes(3_000)
    frame = pl.DataFrame(votes, schema=["task", "worker", "label"], orient="row")
    with Online.open(tmp_path) as online:
        online.add(frame)
        for i in range(20):
            online.add((f"late-{i}", f"w{i % 12}", "abc"[i % 3]))
        before = state_of(online)
        online.add(("t3", "w9", "a"))
        counted: list[int] = []
        again = Online.count_again
        monkeypatch.setattr(
            Online,
            "count_again",
            lambda self, ids, *of: (counted.append(len(ids)), again(self, ids, *of)),
        )
        online.remove("t3", "w9")
        assert state_of(online) == before and not counted
        online.remove("late-15", "w3")
        assert online.n_votes == len(votes) + 19 and counted == [1] * 4


def test_an_old_vote_is_taken_back_from_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "FEWEST", 50)
    monkeypatch.setattr(ledger, "MOST_BELIEFS", 10)
    votes, _ = crowd_votes(300)
    counted: list[int] = []
    again = Online.count_again
    monkeypatch.setattr(
        Online,
        "count_again",
        lambda self, ids, *of: (counted.append(len(ids)), again(self, ids, *of)),
    )
    for place in (None, tmp_path):
        online = Online() if place is None else Online.open(place)
        scratch = Online()
        for i, vote in enumerate(votes):
            online.add(vote)
            if i != len(votes) - 200:
                scratch.add(vote)
        counted.clear()
        online.remove(*votes[-200][:2])
        assert state_of(online) == state_of(scratch)
        assert 199 <= sum(counted) < 400, "from the beginning it would be twelve hundred"
        online.close()


def test_a_disk_that_is_full_changes_nothing(tmp_path: Path) -> None:
    """A limit on the size of files, in a process of its own."""
    script = f"""
    import resource, signal
    from quorate import DataError, Online
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    online = Online.open({str(tmp_path)!r})
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    done = 0
    try:
        for i in range(100_000):
            online.add((f"t{{i // 3}}", f"w{{i % 7}}", "ab"[i % 2]))
            done += 1
    except DataError as error:
        assert "so nothing changed" in str(error), error
    assert online.n_votes == done
    for _ in range(3):
        try:
            online.add([(f"u{{i}}", "w", "a") for i in range(9_000)])
        except DataError as error:
            pass
    assert online.n_votes == done
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    online.add(("last", "w", "a"))
    online.close()
    print(done + 1)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    with Online.open(tmp_path) as online:
        assert online.n_votes == int(done.stdout) > 50


@pytest.mark.parametrize("seed", range(3))
def test_a_flipped_bit_is_a_sentence_or_makes_no_difference(seed: int, tmp_path: Path) -> None:
    votes, _ = crowd_votes(60)
    with Online.open(tmp_path / "kept") as online:
        for vote in votes[:-5]:
            online.add(vote)
        online.remove(*votes[7][:2])
        online.settle()
        online.add(votes[-5:])
        known = known_of(online)
    whole = (tmp_path / "kept" / "votes.db").read_bytes()
    chance, refused = random.Random(seed), 0
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        (tmp_path / "kept" / "votes.db").write_bytes(damaged)
        try:
            with Online.open(tmp_path / "kept") as online:
                assert close(known_of(online), known)
        except DataError:
            refused += 1
        for left in (tmp_path / "kept").glob("votes.db-*"):
            left.unlink()
    assert refused > 5


def test_a_damaged_log_of_a_killed_process_is_refused(tmp_path: Path) -> None:
    script = f"""
    import os, signal
    from quorate import Online
    online = Online.open({str(tmp_path)!r})
    for i in range(50):
        online.add((f"t{{i}}", "w", "a"))
    os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    log = tmp_path / "votes.db-wal"
    whole = log.read_bytes()
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 4
    log.write_bytes(damaged)
    for _ in range(2):
        with pytest.raises(DataError, match=r"wal is damaged: of .* pages .* can be read"):
            Online.open(tmp_path)
        assert log.read_bytes() == damaged, "nothing that may still be repaired is touched"
    with Online.open(tmp_path, recover=True) as online:
        assert 0 < online.n_votes < 50 and "it was kept as" in online.notes[0]
    assert (tmp_path / "votes.db-wal.damaged").read_bytes() == damaged


def test_a_log_that_a_power_cut_left_opens_with_what_is_whole(tmp_path: Path) -> None:
    """Cut off anywhere in its last change, or followed by zeros."""
    made = tmp_path / "made"
    script = f"""
    import os, signal
    from quorate import Online
    online = Online.open({str(made)!r})
    for i in range(50):
        online.add((f"t{{i}}", "w", "a"))
    os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False)
    whole = (made / "votes.db-wal").read_bytes()
    lost = [whole[:-length] for length in (1, 8, 2_000, 2_071)]
    for number, log in enumerate([whole + bytes(n) for n in (8, 16, 4_096, 100_000)] + lost):
        place = tmp_path / str(number)
        place.mkdir()
        (place / "votes.db").write_bytes((made / "votes.db").read_bytes())
        (place / "votes.db-wal").write_bytes(log)
        with Online.open(place) as online:
            assert online.n_votes == 50 - (log in lost)
            online.add(("t0", "v", "a"))
        with Online.open(place) as online:
            assert online.n_votes == 51 - (log in lost) and not online.notes


def test_closing_on_a_full_disk_lets_others_open_it(tmp_path: Path) -> None:
    script = f"""
    import resource, signal
    from quorate import Online
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    online = Online.open({str(tmp_path)!r})
    for i in range(3_000):
        online.add((f"t{{i // 3}}", f"w{{i % 7}}", "ab"[i % 2]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
    online.close()
    assert "so nothing changed" in online.notes[-1], online.notes
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with Online.open({str(tmp_path)!r}) as online:
        assert online.n_votes == 3_000
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", [str, int, (0.5).__add__, bool])
def test_tasks_of_any_kind_come_back_one_by_one_and_together(
    kind: Callable[[int], Any], tmp_path: Path
) -> None:
    names = list(dict.fromkeys(map(kind, range(120))))
    half = (len(names) + 1) // 2
    with Online.open(tmp_path) as online:
        for name in names[:half]:
            online.add((name, "w", "a"))
        online.add(pl.DataFrame({"task": names, "worker": "v", "label": "b"}))
    with Online.open(tmp_path) as online:
        assert not online.notes and online.n_votes == half + len(names)
        tasks = [online.label(name).task for name in names]
        assert tasks == names and set(map(type, tasks)) == {type(names[0])}


def test_names_of_any_text_come_back(tmp_path: Path) -> None:
    names = [
        'a"b',
        "\\",
        "\\u0041",
        "\n",
        "\x01",
        "a\x00b",
        "é",
        "\U0001f600",
        "[1,2]",
        "null",
        "1",
        " ",
    ]
    with Online.open(tmp_path, "one-coin") as online:
        for name in names:
            online.add((name, name, name))
        known = state_of(online)
    with Online.open(tmp_path) as online:
        assert online.ledger.names["task"].names == names and not online.notes
        assert state_of(online) == known


def test_what_is_kept_and_cannot_be_counted_does_not_keep_it_from_opening(tmp_path: Path) -> None:
    with Online.open(tmp_path, classes=["a", "b"]) as online:
        online.add(("t1", "w", "a"))
        database = online._keeper.database  # type: ignore[union-attr]
        database.add({"task": [(1, 5)]}, [(2, 1, 0, 0)])  # a number among words
        database.add_vote((3, 0, 0, 1), {})
    with Online.open(tmp_path) as online:
        assert online.n_votes == 2
        assert "1 votes that are kept could not be counted" in online.notes[0]
        online.add(("t3", "w", "b"))
    with Online.open(tmp_path) as online:
        assert online.n_votes == 3


@pytest.mark.parametrize("kept", [True, False])
def test_a_vote_that_can_no_longer_be_counted_is_left_out(
    kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of counting, as a fault of our own would be."""
    votes = [(f"t{i % 4}", f"w{i % 3}", "ab"[i % 2]) for i in range(12)]
    online = Online.open(tmp_path) if kept else Online()
    for vote in votes:
        online.add(vote)
    add = State.add

    def fails(self: State, task: int, new: Any) -> Any:
        found = add(self, task, new)
        if self.ballots.n_votes == 6:
            monkeypatch.setattr(State, "add", add)
            raise ArithmeticError("something is wrong")
        return found

    monkeypatch.setattr(State, "add", fails)
    if kept:
        online.close()
        with closing(sqlite3.connect(tmp_path / "votes.db", isolation_level=None)) as database:
            database.execute("DELETE FROM checkpoints")
        online = Online.open(tmp_path)
    else:
        online.remove(*votes[0][:2])
    assert online.n_votes == 11 - (not kept)
    assert "could not be counted" in online.notes[0]
    left = 5 if kept else 6
    scratch = Online()
    for i, vote in enumerate(votes):
        if i != left and (kept or i != 0):
            scratch.add(vote)
    assert close(known_of(online), known_of(scratch))
    online.close()


def test_files_that_are_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "votes.db").write_bytes(b"something else " * 100)
    with pytest.raises(DataError, match="damaged"):
        Online.open(tmp_path)
    assert (tmp_path / "votes.db").read_bytes() == b"something else " * 100
    (tmp_path / "votes.db").unlink()
    connection = sqlite3.connect(tmp_path / "votes.db")
    connection.execute("CREATE TABLE mine (a)")
    connection.close()
    with pytest.raises(DataError, match="no file of Quorate"):
        Online.open(tmp_path)


# Directories of versions before.


def old_record(*what: Any) -> bytes:
    content = json.dumps(what, ensure_ascii=False).encode(errors="surrogatepass")
    return struct.pack("<II", len(content), zlib.crc32(content)) + content


def old_directory(place: Path, records: Sequence[bytes], settings: str) -> None:
    place.mkdir()
    (place / "votes.log").write_bytes(b"".join(records))
    (place / "settings.json").write_text(settings)


OLD = '{"quorate": 1, "method": "dawid-skene", "smoothing": 0.5}'


def test_an_old_directory_is_taken_over(tmp_path: Path) -> None:
    votes, _ = crowd_votes(20)
    records = [old_record("add", *votes[:10]), *(old_record("add", v) for v in votes[10:50])]
    records += [old_record("remove", *votes[12][:2]), old_record("settle")]
    records += [old_record("add", v) for v in votes[50:]]
    old_directory(tmp_path / "old", records, OLD)
    plain = Online("dawid-skene", smoothing=0.5)
    plain.add(votes[:10])
    for vote in votes[10:50]:
        plain.add(vote)
    plain.remove(*votes[12][:2])
    plain.settle()
    for vote in votes[50:]:
        plain.add(vote)
    with Online.open(tmp_path / "old") as online:
        assert close(state_of(online), state_of(plain))
        assert f"{len(votes) - 1} votes were taken over" in online.notes[0]
    with Online.open(tmp_path / "old") as online:
        assert close(state_of(online), state_of(plain)) and not online.notes
    assert (tmp_path / "old" / "votes.log").read_bytes() == b"".join(records)


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (lambda r: [*r, b"\0" * 4096], 4),  # as a power cut leaves them
        (lambda r: [*r[:-1], r[-1][:9]], 3),  # cut short
        (lambda r: [r[0], b"\xff" + r[1][1:], *r[2:]], 3),  # a length that is wrong
        (lambda r: [*r, old_record("add", ("t9", ("site", "ann"), "a"))], 5),  # a tuple for a name
        (lambda r: [*r, old_record("add", (5, "ann", "a"))], 4),  # a number among words
        (lambda r: [r[0], old_record("settle"), old_record("remove", "t0", "ann"), *r[1:]], 3),
    ],
    ids=["zeros", "torn", "length", "tuple", "number", "settled"],
)
def test_old_directories_that_did_not_open(broken: Any, expected: int, tmp_path: Path) -> None:
    records = [old_record("add", (f"t{i}", "ann", "ab"[i % 2])) for i in range(4)]
    old_directory(tmp_path / "old", broken(records), OLD)
    with Online.open(tmp_path / "old") as online:
        assert online.n_votes == expected and online.label("t2").label == "a"
    with Online.open(tmp_path / "old") as online:
        assert online.n_votes == expected


def test_an_old_directory_without_settings(tmp_path: Path) -> None:
    old_directory(tmp_path / "old", [old_record("add", ("t", "w", "a"))], "[]")
    with Online.open(tmp_path / "old", "one-coin") as online:
        assert online.method == "one-coin" and online.n_votes == 1
        assert any("settings.json could not be read" in note for note in online.notes)
