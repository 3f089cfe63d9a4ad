"""Votes on disk: the blocks are those that memory would have, whatever the sizes and the order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.engines.threads import Threads
from quorate.errors import DataError, UsageError
from quorate.votes import find, read_votes
from quorate.votes.blocks import ClassRecoding
from quorate.votes.store import Sizes, Source, Store, StoredBlocks, fill, in_bytes, sizes
from quorate.votes.store.shuffle import WIDEST_SPAN, merged

TINY = Sizes(batch_rows=40, part_rows=60, blocks=2)


def random_votes(seed: int, rows: int = 600, tasks: int = 90) -> pl.DataFrame:
    """Some tasks with very many votes, repeats, and rows that lack a field."""
    random = np.random.default_rng(seed)
    task = np.where(random.random(rows) < 0.2, 7, random.integers(tasks, size=rows))
    frame = pl.DataFrame(
        {
            "task": [f"t{t}" for t in task],
            "worker": [f"w{w}" for w in random.integers(12, size=rows)],
            "label": random.choice(["cat", "dog", "emu"], size=rows),
        }
    )
    lacks = pl.Series(random.random(rows) < 0.05)
    return frame.with_columns(pl.when(lacks).then(None).otherwise("worker").alias("worker"))


def write(frame: pl.DataFrame, path: Path) -> str:
    frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path)
    return str(path)


def source_of(path: str, **options: Any) -> Source:
    return Source.of(path, options)


def blocks_of(store: Store) -> StoredBlocks:
    codes = find(store.labels, store.labels.sort()).to_list()
    return store.blocks(store.root.with_name("run")).change(ClassRecoding(tuple(codes), len(codes)))


def assert_same_as_in_memory(path: str, root: Path, block_size: int, **options: Any) -> None:
    votes = read_votes(path, **options)
    store = fill(root, source_of(path, **options), TINY, n_pieces=3, size=block_size)
    expected = list(votes.labels.blocks(block_size))
    found = blocks_of(store)
    assert len(found) == len(expected) > 1
    for one, other in zip(found, expected, strict=True):
        assert one.first_task == other.first_task
        np.testing.assert_array_equal(one.indptr, other.indptr)
        np.testing.assert_array_equal(one.worker, other.worker)
        np.testing.assert_array_equal(one.label, other.label)
    assert store.report == votes.report
    assert store.workers.equals(votes.codebook.workers)
    assert store.labels.sort().equals(votes.codebook.classes)
    assert pl.concat(found.segments()).equals(votes.codebook.tasks)
    assert (found.n_tasks, found.n_labels) == (votes.labels.n_tasks, votes.labels.n_labels)
    assert sorted(p.name for p in root.iterdir()) == [
        "blocks",
        "labels.arrow",
        "votes.json",
        "workers.arrow",
    ]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("repeats", ["count", "first", "last"])
def test_blocks_are_those_of_memory(suffix: str, repeats: str, tmp_path: Path) -> None:
    path = write(random_votes(0), tmp_path / f"votes{suffix}")
    root = tmp_path / "store"
    root.mkdir()
    assert_same_as_in_memory(path, root, 50, repeats=repeats)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 400), st.integers(1, 60), st.integers(5, 80))
def test_blocks_are_those_of_memory_at_any_size(
    tmp_path_factory: pytest.TempPathFactory, seed: int, rows: int, tasks: int, size: int
) -> None:
    root = tmp_path_factory.mktemp("store")
    frame = random_votes(seed, rows, tasks).drop_nulls()
    path = write(frame, tmp_path_factory.mktemp("votes") / "votes.parquet")
    if not len(frame):
        with pytest.raises(DataError, match="no row with a task"):
            fill(root, source_of(path), TINY)
        return
    expected = list(read_votes(path).labels.blocks(size))
    found = blocks_of(fill(root, source_of(path), TINY, n_pieces=2, size=size))
    assert [b.first_task for b in found] == [b.first_task for b in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.worker, other.worker)
        np.testing.assert_array_equal(one.label, other.label)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_numbers_and_truth_values_keep_their_types(suffix: str, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "task": random.integers(80, size=500),
            "worker": random.integers(9, size=500).astype(np.float64),
            "label": random.random(500) < 0.5,
        }
    )
    if suffix == ".csv":
        frame = frame.with_columns(pl.col("worker").cast(pl.Int64))
    root = tmp_path / "store"
    root.mkdir()
    assert_same_as_in_memory(write(frame, tmp_path / f"votes{suffix}"), root, 60)


def test_several_files_are_one_table(tmp_path: Path) -> None:
    votes = tmp_path / "votes"
    votes.mkdir()
    for i in range(3):
        random_votes(i, 200).write_csv(votes / f"{i}.csv")
    root = tmp_path / "store"
    root.mkdir()
    assert_same_as_in_memory(str(votes), root, 50)


def test_files_with_types_that_differ_are_one_table(tmp_path: Path) -> None:
    votes = tmp_path / "votes"
    votes.mkdir()
    frame = random_votes(0, 200).with_columns(pl.col("task").str.slice(1).cast(pl.Int32))
    frame.write_parquet(votes / "0.parquet")
    frame.with_columns(pl.col("task").cast(pl.Int64)).write_parquet(votes / "1.parquet")
    root = tmp_path / "store"
    root.mkdir()
    assert_same_as_in_memory(str(votes), root, 50)
    frame.with_columns(pl.col("task").cast(pl.String)).write_parquet(votes / "2.parquet")
    again = tmp_path / "again"
    again.mkdir()
    assert_same_as_in_memory(str(votes), again, 50)


def test_a_store_that_is_not_whole_is_none(tmp_path: Path) -> None:
    assert Store.open(tmp_path) is None
    (tmp_path / "votes.json").write_text("{")
    with pytest.raises(DataError, match="is damaged"):
        Store.open(tmp_path)
    (tmp_path / "votes.json").write_text('{"format": 99}')
    with pytest.raises(DataError, match="another version"):
        Store.open(tmp_path)


def test_too_little_room_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="memory of 100 MB is too little"):
        Sizes.within(in_bytes("100MB"), 300_000)
    with pytest.raises(UsageError, match="such as 2GB"):
        in_bytes("lots")
    path = write(random_votes(0), tmp_path / "votes.parquet")
    root = tmp_path / "store"
    root.mkdir()
    usage = sizes.shutil.disk_usage(root)
    monkeypatch.setattr(sizes.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(DataError, match="of disk are needed beside the votes"):
        fill(root, source_of(path), TINY)
    assert not list(root.iterdir())


def test_names_that_are_numbers_need_less_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pl.DataFrame({"task": range(1000), "worker": range(1000), "label": ["yes", "no"] * 500})
    root = tmp_path / "store"
    root.mkdir()
    usage = sizes.shutil.disk_usage(root)._replace(free=80 * len(rows))
    monkeypatch.setattr(sizes.shutil, "disk_usage", lambda _: usage)
    rows.write_parquet(tmp_path / "numbers.parquet")
    assert fill(root, source_of(tmp_path / "numbers.parquet"), TINY).manifest.n_votes == 1000
    rows.cast({"task": pl.String}).write_parquet(tmp_path / "text.parquet")
    with pytest.raises(DataError, match="of disk are needed beside the votes"):
        fill(tmp_path / "another", source_of(tmp_path / "text.parquet"), TINY)


def test_a_task_with_more_votes_than_fit_in_memory_is_refused_while_votes_are_read(
    tmp_path: Path,
) -> None:
    """And not one of many in a part that is larger than was guessed."""
    limits = sizes.Limits(sizes.BASE + 100 * sizes.PART_ROW)
    heavy = pl.concat([random_votes(0, 90), random_votes(0, 400, tasks=1)])
    many = random_votes(0, 1_000, tasks=900).filter(pl.col("task") != "t7")
    for frame, part_rows in ((heavy, 60), (many, 1_000_000)):
        root = tmp_path / str(part_rows)
        root.mkdir()
        path = write(frame, tmp_path / "votes.parquet")
        limited = Sizes(40, part_rows, 2, limits)
        if frame is many:
            assert fill(root, source_of(path), limited, size=50).manifest.n_votes > 700
            continue
        with pytest.raises(DataError, match=r"The votes of task 't\d', at least about 1\d\d, need"):
            fill(root, source_of(path), limited, size=50)
        assert not (root / "gathered").exists()


def test_more_workers_than_fit_in_memory_are_refused_while_votes_are_read(tmp_path: Path) -> None:
    limits = sizes.Limits(sizes.BASE + 2 * 5 * sizes.WORKER)
    path = write(random_votes(0), tmp_path / "votes.csv")
    with pytest.raises(DataError, match="workers need about 260 MB of memory"):
        fill(tmp_path, source_of(path), Sizes(40, 60, 2, limits))
    assert not (tmp_path / "gathered").exists()


def test_a_source_of_one_path_is_not_a_path_for_each_letter() -> None:
    assert Source("v.csv").paths == ("v.csv",)  # type: ignore[arg-type]


def test_threads_fill_a_store_as_one_does(tmp_path: Path) -> None:
    paths = [
        write(
            random_votes(seed).with_columns(worker=pl.col("worker").hash() % 999), tmp_path / name
        )
        for seed, name in enumerate(("a.parquet", "b.parquet"))
    ]
    source, found = Source(tuple(paths)), []
    for name, each in (("one", map), ("three", Threads(3).map)):
        root = tmp_path / name
        root.mkdir()
        fill(root, source, TINY, each=each, n_pieces=5, size=50)
        files = sorted(path for path in root.rglob("*") if path.is_file())
        found.append({str(path.relative_to(root)): path.read_bytes() for path in files})
    assert found[0] == found[1]
    assert len(found[0]) > 20


PLACES = st.integers(-50, 50)
SPANS = st.sampled_from((0, 1, WIDEST_SPAN, 2**62))


@given(st.lists(st.lists(st.builds(int.__add__, PLACES, SPANS), max_size=30), max_size=6))
def test_numbers_have_the_codes_of_their_appearance(pieces: list[list[int]]) -> None:
    every, codes = merged([pl.Series(piece, dtype=pl.Int64) for piece in pieces])
    seen = list(dict.fromkeys(number for piece in pieces for number in piece))
    assert every.to_list() == seen
    assert [code.tolist() for code in codes] == [list(map(seen.index, piece)) for piece in pieces]


def test_numbers_beyond_64_bits_with_a_sign_have_codes() -> None:
    every, (code,) = merged([pl.Series([2**64 - 1, 2**64 - 2, 2**64 - 1], dtype=pl.UInt64)])
    assert code.tolist() == [0, 1, 0]
    assert every.to_list() == [2**64 - 1, 2**64 - 2]
