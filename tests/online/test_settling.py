"""What a settling has found is kept: opening takes it as it was, and can do without it."""

from __future__ import annotations

import shutil
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.online.test_auto import duplicated
from tests.online.test_gold import crowd_gold
from tests.online.test_online import crowd_votes, state_of

from quorate import Online
from quorate.online import keeping, online, settling, store
from quorate.online.store import packed, unpacked

Change = Callable[[bytes], bytes]
TASKS = 30
FADING = [{"method": "auto", "half_life": 40.0}, {"method": "hybrid", "half_life": 40.0}]
MADE = [
    {"method": "auto", "gold": crowd_gold(8, TASKS)},
    *FADING,
    {"method": "dawid-skene"},
    {"method": "one-coin", "gold": crowd_gold(5, TASKS)},
]


def settled_in(place: Path, **made: Any) -> dict[str, Any]:
    """Everything that is known in a directory that was settled, and closed."""
    votes = crowd_votes(TASKS)[0]
    votes = duplicated(votes) if "gold" in made else votes
    with Online.open(place, **made) as one:
        one.add(votes)
        one.settle()
        return all_of(one)


def all_of(one: Online) -> dict[str, Any]:
    """All that can be asked, to the bit."""
    result = one.result()
    explained = result.explain("t3")
    return {
        "state": state_of(one),
        "gold": one.gold,
        "labels": result.labels.rows(),
        "posterior": result.posterior.tolist(),
        "workers": result.workers.rows(named=True),
        "quality": [one.worker(name) for name in result.codebook.workers],
        "error": result.expected_error,
        "shares": result.class_shares.rows(),
        "mixture": str(result.mixture),
        "confusion": None if result.confusion is None else result.confusion_table.rows(),
        "why": (explained.label, explained.votes.rows()),
        "told": (result.method, result.notes, result.converged, result.steps),
        "next": one.next_tasks(5),
    }


def forbid_fitting(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("It was fitted again.")

    monkeypatch.setattr(online, "run", refuse)
    monkeypatch.setattr(settling, "fitted", refuse)


def rewrite_checkpoints(place: Path, change: Change) -> int:
    """Change the states that are kept; their checksums are right. Returns how many there are."""
    with closing(sqlite3.connect(place / "votes.db")) as tables, tables:
        rows = tables.execute("SELECT vote, settling, state FROM checkpoints").fetchall()
        for vote, number, state in rows:
            new = change(state)
            tables.execute(
                "UPDATE checkpoints SET state = ?, checksum = ? WHERE vote = ? AND settling = ?",
                (new, zlib.crc32(new), vote, number),
            )
    return len(rows)


def without_fit(state: bytes) -> bytes:
    """As versions wrote it that did not keep what was settled."""
    return packed(unpacked(state)._replace(fit=None))


def with_another_fit(result: bytes) -> Change:
    def change(state: bytes) -> bytes:
        found = unpacked(state)
        fit = found.fit and found.fit._replace(result=result)
        return packed(found._replace(fit=fit))

    return change


@pytest.mark.parametrize("made", MADE, ids=str)
def test_opening_takes_what_was_settled_and_it_is_what_is_fitted_again(
    made: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = settled_in(tmp_path / "one", **made)
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    assert rewrite_checkpoints(tmp_path / "other", without_fit)
    with Online.open(tmp_path / "other") as again:
        assert all_of(again) == known and not again.notes
    forbid_fitting(monkeypatch)
    for reading in (True, False):
        with Online.open(tmp_path / "one", read_only=reading) as kept:
            assert all_of(kept) == known and not kept.notes


def test_a_directory_of_before_is_fitted_once_more_and_then_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = settled_in(tmp_path, method="auto")
    rewrite_checkpoints(tmp_path, without_fit)
    with monkeypatch.context() as patched:
        forbid_fitting(patched)
        with Online.open(tmp_path, read_only=True) as reader:
            assert "could not be counted: It was fitted again." in reader.notes[0]
    with Online.open(tmp_path) as first:
        assert all_of(first) == known
    forbid_fitting(monkeypatch)
    with Online.open(tmp_path) as second:
        assert all_of(second) == known and not second.notes


def test_a_killed_process_has_kept_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a kill leaves it: a copy of the files of one that is still open."""
    with Online.open(tmp_path / "one", "auto") as one:
        one.add(crowd_votes(TASKS)[0])
        one.settle()
        shutil.copytree(tmp_path / "one", tmp_path / "killed")
        known = all_of(one)
    forbid_fitting(monkeypatch)
    with Online.open(tmp_path / "killed") as again:
        assert all_of(again) == known and not again.notes


@pytest.mark.parametrize(
    "change", [with_another_fit(b"none"), with_another_fit(b""), lambda state: state[:-9]]
)
def test_what_cannot_be_read_is_made_anew(change: Change, tmp_path: Path) -> None:
    known = settled_in(tmp_path, method="auto")
    assert rewrite_checkpoints(tmp_path, change)
    with Online.open(tmp_path) as again:
        assert all_of(again) == known and not again.notes


def test_a_flipped_bit_in_it_makes_no_difference(tmp_path: Path) -> None:
    known = settled_in(tmp_path, method="dawid-skene")
    with closing(sqlite3.connect(tmp_path / "votes.db")) as tables, tables:
        state = bytearray(tables.execute("SELECT max(state) FROM checkpoints").fetchone()[0])
        state[len(state) // 2] ^= 4
        tables.execute("UPDATE checkpoints SET state = ?", (bytes(state),))
    with Online.open(tmp_path) as again:
        assert all_of(again) == known and not again.notes


def test_the_fit_of_another_version_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = settled_in(tmp_path, method="auto")
    monkeypatch.setattr(store, "__version__", "another")
    fits = []
    monkeypatch.setattr(
        settling, "fitted", lambda *given, fit=settling.fitted: fits.append(1) or fit(*given)
    )
    with Online.open(tmp_path) as again:
        assert all_of(again) == known and fits == [1]
    with Online.open(tmp_path) as again:
        assert all_of(again) == known and fits == [1]


def test_the_fit_of_other_votes_is_not_taken(tmp_path: Path) -> None:
    """A vote before the settling is taken back: the settling is another one."""
    votes, _ = crowd_votes(TASKS)
    with Online.open(tmp_path / "one", "dawid-skene") as one:
        one.add(votes)
        one.settle()
        one.remove(*votes[3][:2])
    plain = Online("dawid-skene")
    plain.add(votes[:3] + votes[4:])
    plain.settle()
    with Online.open(tmp_path / "one") as again:
        found = {row[0]: row[1:] for row in again.result().labels.iter_rows()}
        for task, label, confidence in plain.result().labels.iter_rows():
            assert found[task][0] == label
            assert found[task][1] == pytest.approx(confidence, abs=1e-9)


@pytest.mark.parametrize("made", [*FADING, {"method": "dawid-skene"}], ids=str)
@pytest.mark.parametrize("before", [False, True])
def test_a_vote_that_came_after_it_and_is_taken_back_leaves_it_as_it_was(
    made: dict[str, Any], before: bool, tmp_path: Path
) -> None:
    """In another process too, and in a directory of before."""
    known = settled_in(tmp_path, **made)
    if before:
        rewrite_checkpoints(tmp_path, without_fit)
    with Online.open(tmp_path) as again:
        again.add(("t1", "w1", "b"))
        again.remove("t1", "w1")
        assert all_of(again) == known


def test_known_answers_that_come_after_it_are_counted(tmp_path: Path) -> None:
    plain = Online("auto")
    with Online.open(tmp_path, "auto") as one:
        for each in (one, plain):
            each.add(crowd_votes(TASKS)[0])
            each.settle()
            each.add_gold({"t3": "a", "t5": "b"})
        known = state_of(one)
    with Online.open(tmp_path) as again:
        assert state_of(again) == known == state_of(plain) and again.ledger.settled is None
        np.testing.assert_array_equal(again.result().posterior, plain.result().posterior)


def test_without_room_for_it_the_settling_is_kept_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise OSError("No space left on device")

    with Online.open(tmp_path, "dawid-skene") as one:
        one.add(crowd_votes(TASKS)[0])
        with monkeypatch.context() as patched:
            patched.setattr(keeping, "kept_fit", full)
            one.settle()
            known = all_of(one)
        assert "No space left on device" in one.notes[0]
    with Online.open(tmp_path) as again:
        assert all_of(again) == known
