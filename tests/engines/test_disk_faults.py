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
from tests.effort import THOROUGH

import quorate
from quorate.engines import disk
from quorate.errors import DataError
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
    for _ in range(10):  # a moment may pass while this process waits for its turn
        with started(votes, temporary, "-o", tmp_path / "labels.csv") as process:
            while not has_come_to(moment, temporary) and process.poll() is None:
                time.sleep(0.001)
            process.send_signal(sent)
            _, said = process.communicate(timeout=60)
        if process.returncode:
            break
        (tmp_path / "labels.csv").unlink()
    assert process.returncode == (143 if sent == signal.SIGTERM else 130), said
    assert "Traceback" not in said
    assert not list(temporary.iterdir())
    assert not (tmp_path / "labels.csv").exists()


def started(votes: Path, temporary: Path, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(votes, "--engine", "disk", *arguments),
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def has_come_to(moment: str, temporary: Path) -> bool:
    """Whether there is something in a directory of that name, while others come and go."""
    return any(Path(at).name == moment and (d or f) for at, d, f in os.walk(temporary))


def limited(size: int) -> Any:
    """A limit on the size of files, as a disk that is full at some moment."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


GLAD = quorate.GLAD(max_iter=3, tol=0.0)
SIZES = (10, 1_000, 30_000, 300_000, 500_000, 700_000, 1_000_000)  # at which a disk is full


@pytest.fixture(scope="module")
def expected(votes: Path) -> pl.DataFrame:
    labels: pl.DataFrame = quorate.aggregate(votes, GLAD).labels
    return labels


@pytest.mark.parametrize(
    ("where", "size"),
    [
        *(("--store", size) for size in SIZES),
        *(("--engine", size) for size in (SIZES if THOROUGH else SIZES[1::2])),
    ],
)
def test_a_full_disk_is_one_sentence(
    votes: Path, expected: pl.DataFrame, where: str, size: int, tmp_path: Path
) -> None:
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
        again = quorate.aggregate(votes, GLAD, store=store, resume=True)
        assert again.labels.collect().equals(expected)


def test_memory_that_only_caches_files_is_available() -> None:
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert disk.available_memory() > 0.9 * free


@pytest.mark.usefixtures("cluster")
@pytest.mark.filterwarnings("ignore::Warning")
def test_damage_and_repeats_on_a_cluster(tmp_path: Path) -> None:
    """A damaged block is one sentence from there too, and repeats are the same."""
    path, store = tmp_path / "votes.csv", tmp_path / "store"
    rows = simulate(15, 200, 4, n_classes=2, seed=3).votes
    again = rows.head(50).with_columns(label=pl.lit("only-in-repeats"))
    pl.concat([rows, again]).write_csv(path)
    engine = quorate.Ray(n_cpus=2, store=store)
    try:
        found = quorate.aggregate(path, "glad", repeats="first", engine=engine)
        expected = quorate.aggregate(path, "glad", repeats="first")
        assert found.classes == expected.classes
        assert found.labels.collect().equals(expected.labels)
        block = next(store.glob("blocks/*/worker.npy"))
        content = bytearray(block.read_bytes())
        content[-3] ^= 4
        block.write_bytes(content)
        with pytest.raises(DataError, match="is damaged") as refused:
            quorate.aggregate(path, "glad", repeats="first", engine=engine)
        assert str(block) in str(refused.value)
    finally:
        engine.close()
