"""Votes larger than memory, from the outside: the answers are those of memory, whatever happens."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

import quorate
from quorate.cli import main
from quorate.errors import DataError, UsageError
from quorate.simulation import simulate

METHODS = [m.name for m in quorate.methods()]


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough for several blocks, in no order, with some rows that lack a field."""
    crowd = simulate(60, 120_000, 5, n_classes=2, seed=3)
    frame = pl.DataFrame(
        {
            "task": np.repeat(np.arange(120_000), 5),
            "worker": crowd.labels.worker,
            "label": crowd.labels.label,
        }
    ).sample(fraction=1, shuffle=True, seed=4)
    names = frame.select(pl.format(f"{n}-{{}}", n).alias(n) for n in frame.columns)
    names[7, "worker"] = None
    path = tmp_path_factory.mktemp("votes") / "votes.parquet"
    names.write_parquet(path)
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_a_bound_on_memory_changes_nothing_in_the_output(
    votes: Path, suffix: str, tmp_path: Path
) -> None:
    free, bound = tmp_path / f"free{suffix}", tmp_path / f"bound{suffix}"
    tables = ("workers", "posterior", "confusion")
    free_tables = [x for t in tables for x in (f"--{t}", tmp_path / f"free-{t}.csv")]
    bound_tables = [x for t in tables for x in (f"--{t}", tmp_path / f"bound-{t}.csv")]
    one = run("aggregate", votes, "-o", free, "--json", *free_tables)
    other = run("aggregate", votes, "--memory", "1GB", "-o", bound, "--json", *bound_tables)
    assert one.exit_code == other.exit_code == 0, other.output
    if suffix == ".parquet":
        assert pl.read_parquet(free).equals(pl.read_parquet(bound))
    else:
        assert free.read_bytes() == bound.read_bytes()
    for table in tables:
        expected = (tmp_path / f"free-{table}.csv").read_bytes()
        assert (tmp_path / f"bound-{table}.csv").read_bytes() == expected
    first, second = json.loads(one.output), json.loads(other.output)
    assert first["read"] == second["read"]
    assert first["read"]["dropped_missing"] == 1
    sure = [summary["found"].pop("mean_confidence") for summary in (first, second)]
    assert sure[0] == pytest.approx(sure[1], rel=1e-12)
    assert first["found"] == second["found"]
    assert first["notes"] == second["notes"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_the_same_from_disk(votes: Path, method: str, tmp_path: Path) -> None:
    few = pl.read_parquet(votes).head(3_000)
    path = tmp_path / "few.parquet"
    few.write_parquet(path)
    expected = quorate.aggregate(path, method)
    found = quorate.aggregate(path, method, engine="stream")
    assert found.labels.collect().equals(expected.labels)
    assert found.workers.equals(expected.workers)
    assert found.iterations == expected.iterations
    assert found.posterior_frame.collect().equals(expected.posterior_frame)


def test_known_answers_and_orders_hold_on_disk(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "task": random.integers(40, size=400),
            "worker": random.integers(8, size=400),
            "label": random.choice(["low", "mid", "high"], size=400),
        }
    )
    path = tmp_path / "votes.csv"
    frame.write_csv(path)
    gold = {0: "high", 3: "top", 999: "low"}
    order = ["low", "mid", "high", "top"]
    for options in ({"gold": gold}, {"ordered": order}, {"gold": gold, "ordered": order}):
        expected = quorate.aggregate(path, "dawid-skene", smoothing=0.1, **options)
        found = quorate.aggregate(path, "dawid-skene", smoothing=0.1, engine="stream", **options)
        assert found.labels.collect().equals(expected.labels)
        assert found.classes == expected.classes
        assert found.notes == expected.notes


def test_a_store_is_used_again_by_the_same_votes_only(votes: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    arguments = ("aggregate", votes, "--store", store, "-o")
    assert run(*arguments, tmp_path / "one.csv").exit_code == 0
    blocks = sorted(store.glob("blocks/*/worker.npy"))
    times = [block.stat().st_mtime_ns for block in blocks]
    assert len(blocks) > 1
    again = run(*arguments, tmp_path / "two.csv", "--method", "majority")
    assert again.exit_code == 0, again.output
    assert [block.stat().st_mtime_ns for block in blocks] == times
    other = tmp_path / "other.csv"
    other.write_text("task,worker,label\n1,a,x\n")
    refused = run("aggregate", other, "--store", store)
    assert refused.exit_code != 0
    assert "holds other votes" in refused.output
    assert "Traceback" not in refused.output


def test_a_directory_with_other_things_in_it_is_left_alone(votes: Path, tmp_path: Path) -> None:
    (tmp_path / "blocks").mkdir()
    (tmp_path / "blocks" / "thesis.txt").write_text("years of work")
    refused = run("aggregate", votes, "--store", tmp_path)
    assert refused.exit_code != 0
    assert "is not empty" in refused.output
    assert (tmp_path / "blocks" / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--memory", "10MB"), "is too little"),
        (("--memory", "much"), "memory is a size such as 2GB"),
        (("--memory", "1GB", "--save", "r.quorate"), "save keeps what is in memory"),
        (("--memory", "1GB", "--multilabel"), "are for votes in memory"),
        (("--resume",), "name the store"),
        (("--engine", "ray", "--address", "127.0.0.1:1"), "needs a store"),
        (("--engine", "ray", "-o", "-"), "name one for each table"),
        (("--memory", "1GB", "--method", "telepathy"), "telepathy"),
    ],
)
def test_what_cannot_be_is_said_before_it_starts(
    votes: Path,
    options: tuple[str, ...],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("aggregate", votes, *options)
    assert result.exit_code != 0
    assert sentence in result.output
    assert result.output.count("\n") <= 4
    assert not list(tmp_path.iterdir())


def test_standard_input_and_tables_are_for_memory(tmp_path: Path) -> None:
    for source in ("-", [("a", "b", "c")], pl.DataFrame({"task": [1]})):
        with pytest.raises(UsageError, match="name a file"):
            quorate.aggregate(source, engine="stream")


def test_too_many_workers_for_the_memory_is_said(tmp_path: Path) -> None:
    rows = 60_000
    path = tmp_path / "votes.parquet"
    frame = pl.DataFrame({"task": range(rows), "worker": range(rows), "label": range(rows)})
    frame.with_columns(pl.col("label") % 100).write_parquet(path)
    with pytest.raises(DataError, match="60,000 workers and 100 classes need about"):
        quorate.aggregate(path, memory="1GB")


def test_memory_is_bounded_as_the_system_counts_it(tmp_path: Path) -> None:
    """A file that needs more than twice the bound when it is read at once."""
    random = np.random.default_rng(0)
    rows = 6_000_000
    frame = pl.DataFrame(
        {
            "task": random.integers(rows // 5, size=rows),
            "worker": random.integers(1000, size=rows),
            "label": random.integers(3, size=rows),
        }
    )
    path = tmp_path / "votes.parquet"
    names = frame.select(pl.format(f"the-{n}-{{}}", n).alias(n) for n in frame.columns)
    names.write_parquet(path)
    free, bound = (peak_of(path, tmp_path, *o) for o in ((), ("--memory", "450MB")))
    assert bound < 1.2 * 450e6 < free


def peak_of(path: Path, place: Path, *options: str) -> int:
    """Measured by a small process: one counts the memory of who started it as its own."""
    command = [sys.executable, "-m", "quorate", "aggregate", str(path), "--max-iter", "2"]
    output = ["-o", str(place / "labels.parquet"), *options]
    measure = (
        "import os, subprocess, sys;"
        "process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL);"
        "_, status, usage = os.wait4(process.pid, 0);"
        "print(-1 if status else usage.ru_maxrss)"
    )
    small = [sys.executable, "-c", measure, *command, *output]
    peak = int(subprocess.run(small, capture_output=True, check=True).stdout)
    assert peak > 0
    return peak * 1024


def test_what_was_killed_goes_on_where_it_was(votes: Path, tmp_path: Path) -> None:
    store, labels = tmp_path / "store", tmp_path / "labels.csv"
    command = [sys.executable, "-m", "quorate", "aggregate", str(votes), "-o", str(labels)]
    options = ["--store", str(store), "--tol", "0", "--max-iter", "40", "--json"]
    process = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL)
    wait_for_iterations(3, store, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not labels.exists()
    done = subprocess.run([*command, *options, "--resume"], capture_output=True, check=True)
    notes = json.loads(done.stdout)["notes"]
    assert any(note.startswith("It went on from iteration") for note in notes), notes
    expected = quorate.aggregate(votes, tol=0.0, max_iter=40).labels
    assert pl.read_csv(labels).equals(expected)


def wait_for_iterations(n: int, store: Path, process: Any) -> None:
    seen: set[int] = set()
    until = time.monotonic() + 120
    while len(seen) < n:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < until
        if (store / "checkpoint.pickle").exists():
            seen.add((store / "checkpoint.pickle").stat().st_mtime_ns)
        time.sleep(0.002)
