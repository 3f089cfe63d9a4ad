"""An `Online` in a directory: killed at any moment, torn, damaged, and opened twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.online.test_online import METHODS, crowd_votes, state_of

import quorate
from quorate import DataError, Online, UsageError
from quorate.models import make
from quorate.online import keeping

# A process that has imported everything forks one after the other; each goes on with the votes
# where the log ends, acknowledges what has returned through a pipe, and is killed.
KILLING = """
import os, random, signal, sys, time
from pathlib import Path
from quorate import Online
from quorate.online import keeping
from tests.online.test_online import crowd_votes, state_of

directory, method, kills = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
keeping.FEWEST = 40
votes, _ = crowd_votes(3_000)
chance = random.Random(7)
torn = moved = 0

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
    time.sleep(chance.uniform(0, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    said = b""
    while part := os.read(reading, 2**16):
        said += part
    os.close(reading)
    acknowledged = int.from_bytes(said[-4:], "little") if said else 0
    with Online.open(directory, method) as online:
        torn += bool(online.notes)
        assert online.n_votes >= acknowledged, (online.n_votes, acknowledged)
        moved += bool(said)
        if kill % 10 == 9:
            scratch = Online(method)
            for vote in votes[: online.n_votes]:
                scratch.add(vote)
            assert state_of(online) == state_of(scratch)
        if chance.random() < 0.5:
            online._settled = True  # leave without a snapshot, as if this one was killed too
print(moved, online.n_votes)
"""


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    """A hundred times, at random moments, and the state is that of the votes that are there."""
    command = [sys.executable, "-c", KILLING, str(tmp_path / "kept"), "fast-dawid-skene", "100"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    moved, votes = map(int, done.stdout.split())
    assert moved > 20 and votes > 500, "the kills came before anything was done"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("half_life", [None, 30])
def test_opened_again_it_is_the_same(
    method: str, half_life: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "FEWEST", 25)
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
    assert len(list(tmp_path.glob("snapshot-*.zip"))) <= 2


def close(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(close, one, other))
    return one == other or (isinstance(one, float) and abs(one - other) < 1e-9)


@pytest.mark.parametrize("cut", [1, 3, 7, 9, 20])
def test_a_torn_record_is_cut_off(cut: int, tmp_path: Path) -> None:
    online = Online.open(tmp_path)
    online.add(("t1", "ann", "yes"))
    online.add(("t2", "ann", "no"))
    online._kept.close()  # type: ignore[union-attr]
    log = tmp_path / "votes.log"
    whole = log.read_bytes()
    log.write_bytes(whole[:-cut])
    with Online.open(tmp_path) as online:
        assert online.n_votes == 1 and online.label("t1").label == "yes"
        (note,) = online.notes
        assert "did not finish" in note
        online.add(("t3", "ann", "yes"))
    with Online.open(tmp_path) as online:
        assert online.n_votes == 2 and not online.notes


def test_a_log_that_is_damaged_in_the_middle_is_not_cut(tmp_path: Path) -> None:
    online = Online.open(tmp_path)
    for i in range(5):
        online.add((f"t{i}", "ann", "yes"))
    online._kept.close()  # type: ignore[union-attr]
    log = tmp_path / "votes.log"
    content = bytearray(log.read_bytes())
    content[12] ^= 1
    log.write_bytes(content)
    with pytest.raises(DataError, match="is damaged at byte 0"):
        Online.open(tmp_path)
    assert log.read_bytes() == content


def test_a_snapshot_that_is_damaged_is_done_without(tmp_path: Path) -> None:
    with Online.open(tmp_path) as online:
        online.add(("t1", "ann", "yes"))
    (kept,) = tmp_path.glob("snapshot-*.zip")
    kept.write_bytes(kept.read_bytes()[:100])
    with Online.open(tmp_path) as online:
        assert online.n_votes == 1


def test_a_log_shorter_than_its_snapshot(tmp_path: Path) -> None:
    with Online.open(tmp_path) as online:
        online.add(("t1", "ann", "yes"))
    (tmp_path / "votes.log").write_bytes(b"")
    with pytest.raises(DataError, match="shorter than when it was last written"):
        Online.open(tmp_path)


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
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
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
    (tmp_path / "settings.json").write_text("{")
    with pytest.raises(DataError, match=r"settings\.json is damaged"):
        Online.open(tmp_path)
    (tmp_path / "settings.json").write_text(json.dumps({"quorate": 99}))
    with pytest.raises(DataError, match="is in format 99"):
        Online.open(tmp_path)


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


def test_a_disk_that_is_full_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Online.open(tmp_path) as online:
        online.add(("t1", "ann", "yes"))
        before = state_of(online)
        write = os.write
        monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:5]))
        with pytest.raises(DataError, match="so nothing changed"):
            online.add(("t2", "ann", "no"))
        monkeypatch.undo()
        assert state_of(online) == before
        online.add(("t3", "ann", "no"))
    with Online.open(tmp_path) as online:
        assert online.n_votes == 2 and not online.notes


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


def test_names_that_json_cannot_hold(tmp_path: Path) -> None:
    import datetime

    with Online.open(tmp_path) as online, pytest.raises(DataError, match="numbers or text"):
        online.add((datetime.date(2020, 1, 1), "w", "yes"))


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


def test_sync_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    with Online.open(tmp_path, sync=True) as online:
        online.add(("t", "w", 1))
        assert len(synced) == 1


def test_tables_are_kept_as_one_step(tmp_path: Path) -> None:
    votes, _ = crowd_votes(40)
    frame = pl.DataFrame(votes, schema=["task", "worker", "label"], orient="row")
    plain = Online()
    with Online.open(tmp_path) as online:
        assert online.add(frame).equals(plain.add(frame))
        online._settled = object()  # type: ignore[assignment]  # no snapshot: the log has to do
    with Online.open(tmp_path) as online:
        assert state_of(online) == state_of(plain)


def test_random_bytes_for_a_log_give_votes_or_one_sentence(tmp_path: Path) -> None:
    with Online.open(tmp_path) as online:
        online.add(("t", "w", "yes"))
    for kept in tmp_path.glob("snapshot-*.zip"):
        kept.unlink()
    whole = (tmp_path / "votes.log").read_bytes()
    chance = random.Random(1)
    for _ in range(60):
        content = bytearray(whole * 2)
        content[chance.randrange(len(content))] = chance.randrange(256)
        (tmp_path / "votes.log").write_bytes(content[: chance.randrange(len(content) + 1)])
        with suppress(DataError), Online.open(tmp_path) as online:
            assert online.n_votes <= 2
        for kept in tmp_path.glob("snapshot-*.zip"):
            kept.unlink()
