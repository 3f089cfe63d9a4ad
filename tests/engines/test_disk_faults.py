"""A run on disk that is stopped, or whose disk is full: one sentence, and nothing left behind."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import quorate
from quorate.engines import disk
from quorate.simulation import simulate


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("votes") / "votes.csv"
    simulate(30, 60_000, 5, n_classes=3, seed=3).votes.write_csv(path)
    return path


def command(votes: Path, *arguments: object) -> list[str]:
    program = [sys.executable, "-m", "quorate", "aggregate", str(votes), "-m", "glad"]
    return [*program, "--tol", "0", *map(str, arguments)]


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("moment", ["scattered", "blocks", "states"])
def test_a_run_that_is_stopped_leaves_nothing(
    votes: Path, sent: signal.Signals, moment: str, tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        command(votes, "--engine", "disk", "-o", tmp_path / "labels.csv"),
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while not list(temporary.glob(f"**/{moment}/*")):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(sent)
    _, said = process.communicate(timeout=60)
    assert process.returncode == (143 if sent == signal.SIGTERM else 130), said
    assert "Traceback" not in said
    assert not list(temporary.iterdir())
    assert not (tmp_path / "labels.csv").exists()


def limited(size: int) -> Any:
    """A limit on the size of files, as a disk that is full at some moment."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.parametrize("size", [10, 1_000, 30_000, 300_000, 500_000, 700_000, 1_000_000])
@pytest.mark.parametrize("where", ["--store", "--engine"])
def test_a_full_disk_is_one_sentence(votes: Path, size: int, where: str, tmp_path: Path) -> None:
    store, temporary = tmp_path / "store", tmp_path / "temporary"
    temporary.mkdir()
    options = (where, store if where == "--store" else "disk", "-o", tmp_path / "labels.parquet")
    found = subprocess.run(
        command(votes, "--max-iter", "3", *options),
        env={**os.environ, "TMPDIR": str(temporary)},
        preexec_fn=limited(size),
        capture_output=True,
        text=True,
    )
    if found.returncode:
        assert found.returncode == 1, found.stderr
        assert len(found.stderr.strip().splitlines()) == 1, found.stderr
        assert "full" in found.stderr or "File too large" in found.stderr, found.stderr
        assert not (tmp_path / "labels.parquet").exists()
    assert not list(temporary.iterdir())
    if where == "--store":
        given: dict[str, Any] = {"method": quorate.GLAD(max_iter=3, tol=0.0)}
        again = quorate.aggregate(votes, **given, store=store, resume=True)
        expected: pl.DataFrame = quorate.aggregate(votes, **given).labels
        assert again.labels.collect().equals(expected)


def test_memory_that_only_caches_files_is_available() -> None:
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert disk.available_memory() > 0.9 * free
