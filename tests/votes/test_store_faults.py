"""Stores that are damaged, foreign, hostile, interrupted or used twice: one sentence, or right."""

from __future__ import annotations

import errno
import json
import pickle
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.votes.test_sources import Ranges

import quorate
from quorate.errors import DataError, QuorateError, UsageError
from quorate.simulation import simulate
from quorate.votes.store.owned import OwnedDirectory
from quorate.votes.store.seals import writing


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    simulate(15, 200, 4, n_classes=2, seed=3).votes.write_csv(path)
    return path


def labels_of(result: quorate.Result) -> pl.DataFrame:
    frame: pl.DataFrame = result.labels.lazy().collect()
    return frame


# Damage


def flipped(path: Path, random: np.random.Generator) -> None:
    content = bytearray(path.read_bytes())
    content[random.integers(len(content))] ^= 1 << int(random.integers(8))
    path.write_bytes(content)


def cut(path: Path, random: np.random.Generator) -> None:
    path.write_bytes(path.read_bytes()[: random.integers(path.stat().st_size)])


def gone(path: Path, random: np.random.Generator) -> None:
    path.unlink()


FILES = ["blocks/*/said.npy", "blocks/*/worker.npy", "blocks/*/label.npy", "blocks/*/tasks.arrow"]
FILES += ["workers.arrow", "labels.arrow"]


@pytest.mark.parametrize("harm", [flipped, cut, gone])
@pytest.mark.parametrize("name", FILES)
def test_damage_is_one_sentence_that_names_the_file(
    votes: Path, name: str, harm: Callable[..., None], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    quorate.aggregate(votes, "majority", store=store)
    (path,) = store.glob(name)
    whole = path.read_bytes()
    for seed in range(1 if harm is gone else 8):
        path.write_bytes(whole)
        harm(path, np.random.default_rng(seed))
        with pytest.raises(DataError, match="is damaged") as refused:
            labels_of(quorate.aggregate(votes, quorate.DawidSkene(max_iter=2), store=store))
        assert str(path) in str(refused.value) and "\n" not in str(refused.value)


def test_a_damaged_manifest_is_one_sentence(votes: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    quorate.aggregate(votes, "majority", store=store)
    path = store / "votes.json"
    whole = path.read_bytes()
    for seed in range(60):
        path.write_bytes(whole)
        (cut if seed % 3 == 0 else flipped)(path, np.random.default_rng(seed))
        with pytest.raises(DataError, match=r"is damaged|another version"):
            quorate.aggregate(votes, "majority", store=store)
    assert (store / "blocks").exists()


@pytest.mark.parametrize("name", ["said", "worker", "label"])
def test_codes_that_lead_outside_are_refused_though_their_checksums_are_right(
    votes: Path, name: str, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    quorate.aggregate(votes, "majority", store=store)
    (path,) = store.glob(f"blocks/*/{name}.npy")
    array = np.load(path)
    array[5] = array.max() + 100
    np.save(path, array)
    manifest = json.loads((store / "votes.json").read_text())
    manifest.pop("checksum")
    manifest["seals"][0][{"said": 3, "worker": 4, "label": 5}[name]] = zlib.crc32(path.read_bytes())
    manifest["checksum"] = zlib.crc32(json.dumps(manifest, sort_keys=True).encode())
    (store / "votes.json").write_text(json.dumps(manifest))
    with pytest.raises(DataError, match="do not fit together"):
        quorate.aggregate(votes, "dawid-skene", store=store)


# What belongs to others


def test_a_directory_that_only_looks_like_a_store_is_left_alone(
    votes: Path, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "notes.txt").write_text("important")
    quorate.aggregate(votes, "majority").save(precious / ".quorate")
    (precious / "votes.json").write_text("{}")
    before = {path.name: path.read_bytes() for path in precious.iterdir()}
    with pytest.raises(UsageError, match="is not empty"):
        quorate.aggregate(votes, store=precious)
    assert {path.name: path.read_bytes() for path in precious.iterdir()} == before


def test_own_files_in_a_store_that_was_cut_short_stay(votes: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    expected = labels_of(quorate.aggregate(votes, "one-coin", store=store))
    (store / "votes.json").unlink()
    left = store / "scattered" / "00000" / f"00000-{'0' * 32}-000000.arrow"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    own = [store / "notes.txt", store / "blocks" / "thesis.txt", store / "scattered" / "plan.md"]
    own.append(store / "mine" / "worker.npy")
    for path in own:
        path.parent.mkdir(exist_ok=True)
        path.write_text("years of work")
    assert labels_of(quorate.aggregate(votes, "one-coin", store=store)).equals(expected)
    assert [path.read_text() for path in own] == ["years of work"] * len(own)
    assert not left.exists()


def test_an_earlier_result_does_not_become_the_later_one(votes: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    one = quorate.aggregate(votes, "majority", store=store)
    before, posterior = labels_of(one), one.posterior_table.collect()
    other = quorate.aggregate(votes, "dawid-skene", store=store)
    assert labels_of(one).equals(before) and one.posterior_table.collect().equals(posterior)
    assert not labels_of(other).equals(before)


# What killed runs leave


def test_what_killed_runs_left_is_removed_and_what_lives_is_not(
    votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, temporary = tmp_path / "store", tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    alive = quorate.aggregate(votes, "majority", store=store)
    script = (
        "import os, sys; from pathlib import Path;"
        "from quorate.votes.store.owned import OwnedDirectory;"
        "made = [OwnedDirectory.new(Path(p), n) for p, n in zip(sys.argv[1::2], sys.argv[2::2])];"
        "[(d.path / 'states').mkdir() for d in made];"
        "[(d.path / 'states' / f'{0:015d}-0.state').touch() for d in made];"
        "os.kill(os.getpid(), 9)"
    )
    arguments = [str(store), "run", str(temporary), "quorate"]
    subprocess.run([sys.executable, "-c", script, *arguments], check=False)
    foreign = temporary / "quorate-mine"
    foreign.mkdir()
    assert len(list(store.glob("run-*"))) == 2 and len(list(temporary.iterdir())) == 2
    quorate.aggregate(votes, "majority", store=store)
    assert len(list(store.glob("run-*"))) == 1
    assert len(labels_of(alive)) == 200
    quorate.aggregate(votes, "majority", engine="disk")
    assert list(temporary.iterdir()) == [foreign]


def test_a_directory_has_one_owner_at_a_time(tmp_path: Path) -> None:
    first = OwnedDirectory.claim(tmp_path / "one")
    assert first is not None and OwnedDirectory.claim(tmp_path / "one") is None
    (first.path / "thesis.txt").write_text("years of work")
    first.release()
    second = OwnedDirectory.claim(tmp_path / "one")
    assert second is not None
    second.remove()
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["thesis.txt"]


# Repeats


@pytest.mark.parametrize("repeats", ["first", "last"])
def test_repeats_are_the_same_on_disk(repeats: Any, tmp_path: Path) -> None:
    """Also where a class, or what makes numbers text, is only in rows that are dropped."""
    random = np.random.default_rng(5)
    texts = ["t1,ann,yes\nt1,bob,no\nt1,bob,maybe\nt2,ann,no\n", "1,a,x\n1,a,0\n1,a,y\n2,a,1\n"]
    for _ in range(25):
        rows = random.integers([5, 4, 4], size=(random.integers(2, 30), 3))
        texts.append("".join(f"{t},{w},{'abc7'[k]}\n" for t, w, k in rows))
    for text in texts:
        path = tmp_path / "votes.csv"
        path.write_text(f"task,worker,label\n{text}")
        found, expected = (
            quorate.aggregate(path, quorate.OneCoin(max_iter=3), repeats=repeats, engine=engine)
            for engine in ("disk", None)
        )
        assert found.classes == expected.classes, text
        assert labels_of(found).equals(expected.labels), text
        assert found.workers.equals(expected.workers), text


# Remote votes


class Served(Ranges):
    """Serves votes, with an entity tag if it is `tagged`."""

    tagged = True

    def end_headers(self) -> None:
        if self.tagged:
            self.send_header("ETag", f'"{zlib.crc32(self.content)}"')
        super().end_headers()


@pytest.mark.parametrize("tagged", [True, False])
def test_remote_votes_that_have_changed_are_noticed(
    tagged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Served, "tagged", tagged)
    Served.content = b"task,worker,label\n1,a,x\n2,a,y\n"
    store = tmp_path / "store"
    with ThreadingHTTPServer(("127.0.0.1", 0), Served) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/votes.csv"
        first = labels_of(quorate.aggregate(address, "majority", store=store))
        assert labels_of(quorate.aggregate(address, "majority", store=store)).equals(first)
        Served.content = b"task,worker,label\n1,a,y\n2,a,y\n"
        with pytest.raises(UsageError, match="or these as they were"):
            quorate.aggregate(address, "majority", store=store)
        server.shutdown()


# Interrupted fits


class StopError(Exception):
    """Interrupts a fit."""


def stop_at(iteration: int) -> Callable[..., None]:
    def progress(what: str, done: float, total: float | None, how: str = "") -> None:
        if what.startswith("iteration") and done == iteration:
            raise StopError

    return progress


METHODS = [m.name for m in quorate.methods()]


@pytest.mark.parametrize("method", METHODS)
def test_the_same_bits_after_an_interruption_at_any_moment(
    votes: Path, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    few: dict[str, Any] = {"max_iter": 6, "tol": 0.0}
    options = next(m for m in quorate.methods() if m.name == method).options
    few = {name: value for name, value in few.items() if name in options}
    given: dict[str, Any] = {"method": method, **few, "store": store}
    whole = quorate.aggregate(votes, **given)
    expected = labels_of(whole)
    for iteration in range(2, whole.iterations, 2):
        with pytest.raises(StopError):
            quorate.aggregate(votes, **given, progress=stop_at(iteration))
        again = quorate.aggregate(votes, **given, resume=True)
        assert any("was resumed" in note for note in again.notes)
        assert labels_of(again).equals(expected)

    def stopped(*_: Any) -> None:
        raise StopError

    with monkeypatch.context() as patch:
        patch.setattr("quorate.answers.KeepInFiles.__call__", stopped)
        with pytest.raises(StopError):
            quorate.aggregate(votes, **given)
    again = quorate.aggregate(votes, **given, resume=True)
    assert any("was resumed" in note for note in again.notes) or whole.iterations == 1
    assert labels_of(again).equals(expected)
    assert not list(store.glob("unfinished-*"))


def interrupted(votes: Path, **given: Any) -> Path:
    """The checkpoint of an interrupted fit."""
    with pytest.raises(StopError):
        quorate.aggregate(votes, "glad", **given, progress=stop_at(4))
    (checkpoint,) = given["store"].glob("unfinished-*/checkpoint.*")
    return Path(checkpoint)


class Hostile:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_a_hostile_or_damaged_checkpoint_runs_nothing(votes: Path, tmp_path: Path) -> None:
    store, harmed = tmp_path / "store", tmp_path / "harmed"
    expected = labels_of(quorate.aggregate(votes, "glad", store=store))
    pickled = pickle.dumps(("key", Hostile(harmed), 3))
    for content in (pickled, b"", b"quorate1", None):
        checkpoint = interrupted(votes, store=store)
        whole = checkpoint.read_bytes()
        checkpoint.write_bytes(whole[:-9] if content is None else content)
        again = quorate.aggregate(votes, "glad", store=store, resume=True)
        assert any("began anew" in note for note in again.notes)
        assert labels_of(again).equals(expected)
    for content in (pickled, b""):
        for state in interrupted(votes, store=store).parent.glob("states/*"):
            state.write_bytes(content)
        with pytest.raises(DataError, match="run again without resume"):
            quorate.aggregate(votes, "glad", store=store, resume=True)
    assert not harmed.exists()


def test_a_checkpoint_is_not_taken_for_other_known_answers(votes: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    interrupted(votes, store=store, gold={"t1": "a", "t2": "b"})
    gold = {"t1": "b", "t2": "a"}
    again = quorate.aggregate(votes, "glad", store=store, gold=gold, resume=True)
    assert not any("resumed" in note for note in again.notes)
    assert labels_of(again).equals(quorate.aggregate(votes, "glad", gold=gold).labels)


# Two at once


def test_a_fit_that_another_run_is_at_is_not_resumed(votes: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    expected = labels_of(quorate.aggregate(votes, "glad", store=store))
    other = OwnedDirectory.claim(interrupted(votes, store=store).parent)
    assert other is not None
    again = quorate.aggregate(votes, "glad", store=store, resume=True)
    assert "Another run is at the same fit, so this one began anew." in again.notes
    assert labels_of(again).equals(expected)
    assert (other.path / "checkpoint.state").exists()


PAIR = """
import sys, quorate
from quorate.errors import QuorateError
votes, method, store, output = sys.argv[1:]
print("ready", flush=True); sys.stdin.readline()
quorate.aggregate(votes, method, max_iter=5, store=store).labels.sink_parquet(output)
"""


@pytest.mark.parametrize(
    ("methods", "filled"),
    [
        (("glad", "glad"), True),
        (("glad", "one-coin"), True),
        (("glad", "glad"), False),
        (("one-coin", "dawid-skene"), False),
    ],
)
def test_two_runs_on_one_store_are_both_right(
    methods: tuple[str, str], filled: bool, tmp_path: Path
) -> None:
    votes, store = tmp_path / "votes.parquet", tmp_path / "store"
    simulate(30, 20_000, 5, n_classes=3, seed=3).votes.write_parquet(votes)
    if filled:
        quorate.aggregate(votes, "majority", store=store)
    runs = []
    for number, method in enumerate(methods):
        arguments = [str(votes), method, str(store), str(tmp_path / f"{number}.parquet")]
        runs.append(
            subprocess.Popen(
                [sys.executable, "-c", PAIR, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    for run in runs:
        assert run.stdout is not None and run.stdout.readline() == "ready\n"
    for run in runs:
        run.communicate("go\n")
    assert [run.returncode for run in runs] == [0, 0]
    for number, method in enumerate(methods):
        expected = quorate.aggregate(votes, method, max_iter=5).labels
        assert pl.read_parquet(tmp_path / f"{number}.parquet").equals(expected)
    assert not [path for path in store.iterdir() if path.name.startswith(("run", "unf"))]


def test_other_votes_into_a_store_that_is_being_filled_are_refused(tmp_path: Path) -> None:
    store = tmp_path / "store"
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("task,worker,label\n1,a,x\n2,a,y\n")
    other.write_text("task,worker,label\n1,a,y\n2,a,x\n")
    outcomes: list[Any] = []

    def use(path: Path) -> None:
        try:
            found = labels_of(quorate.aggregate(path, "majority", store=store))
            outcomes.append(found.equals(quorate.aggregate(path, "majority").labels))
        except QuorateError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=use, args=(path,)) for path in (one, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert True in outcomes
    assert any("holds other votes" in str(outcome) for outcome in outcomes)


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError("No space left on device (os error 28)"),  # as polars says it
        OSError("120000 requested and 99824 written"),  # and NumPy
    ],
)
def test_a_full_disk_is_known_by_whatever_says_so(error: OSError, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the disk is full"), writing(tmp_path):
        raise error
