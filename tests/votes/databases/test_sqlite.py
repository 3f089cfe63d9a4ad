"""SQLite: a value has its own type, and a file may be anything."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.errors import DataError, UsageError
from quorate.votes import Outputs, read_table, read_votes
from quorate.votes.databases import sqlite as module

TABLE = pl.DataFrame({"task": [1], "label": ["cat"]})


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("(1), (NULL), (3)", [1, None, 3]),
        ("(1), (2.5)", [1.0, 2.5]),
        ("(1), ('x'), (2.5)", ["1", "x", "2.5"]),
        ("(NULL)", [None]),
    ],
)
def test_a_column_of_several_types_is_text_if_one_is_text(
    sqlite: Any, cells: str, expected: list[Any]
) -> None:
    sqlite.run("CREATE TABLE t (a)", f"INSERT INTO t VALUES {cells}")
    assert read_table(sqlite.url, ["a"]).frame["a"].to_list() == expected


def test_numbers_that_a_float_cannot_tell_apart_are_refused(sqlite: Any) -> None:
    sqlite.run("CREATE TABLE t (a)", f"INSERT INTO t VALUES ({2**53 + 1}), (0.5)")
    with pytest.raises(DataError, match=r"more than 15 digits in its column 'a'"):
        read_table(sqlite.url, ["a"])


CELLS = st.one_of(
    st.none(),
    st.integers(-(2**52), 2**52),
    st.floats(-1e15, 1e15),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
)


@given(st.lists(st.tuples(CELLS, CELLS), max_size=8))
def test_any_values_are_read_as_numbers_or_text(rows: list[tuple[Any, Any]]) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as place:
        with closing(sqlite3.connect(f"{place}/v.db")) as connection, connection:
            connection.execute("CREATE TABLE t (a, b)")
            connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        found = read_table(f"sqlite:///{place}/v.db", ["a", "b"]).frame
    for index, column in enumerate(found):
        cells = [row[index] for row in rows]
        if any(isinstance(cell, str) for cell in cells):
            assert all(f == c for f, c in zip(column, cells, strict=True) if isinstance(c, str))
            assert [f is None for f in column] == [c is None for c in cells]
        else:
            assert column.to_list() == cells


def test_a_file_that_is_not_there_or_no_database_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^There is no file .*nope\.db\.$"):
        read_votes(f"sqlite:///{tmp_path}/nope.db")
    assert not (tmp_path / "nope.db").exists()
    (tmp_path / "text.db").write_text("task,worker,label\n" * 100)
    with pytest.raises(DataError, match=r"cannot be (opened|read): file is not a database"):
        read_votes(f"sqlite:///{tmp_path}/text.db")


def test_a_new_file_is_removed_if_the_run_fails(tmp_path: Path) -> None:
    refused = pytest.raises(UsageError, match="does not say its format")
    with refused, Outputs() as outputs:
        for name in (f"sqlite:///{tmp_path}/new.db?table=a", "nowhere.txt"):
            outputs.table(TABLE, name)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="There is no directory"), Outputs() as outputs:
        outputs.table(TABLE, f"sqlite:///{tmp_path}/nowhere/new.db?table=a")


def test_a_file_that_another_program_writes_is_said(
    sqlite: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.1)
    sqlite.run("CREATE TABLE t (a)")
    path = sqlite.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(DataError, match="another program is writing it: try again"):
            read_table(sqlite.url, ["a"])
        with pytest.raises(DataError, match="another program is writing it"), Outputs() as outputs:
            outputs.table(TABLE, sqlite.table("labels"))


def test_text_that_is_not_utf_8_is_one_sentence(sqlite: Any) -> None:
    sqlite.run("CREATE TABLE t (a)", "INSERT INTO t VALUES (CAST(x'ff41' AS TEXT))")
    with pytest.raises(DataError, match=r"cannot be read: Could not decode to UTF-8"):
        read_table(sqlite.url, ["a"])


def test_names_of_tables_are_found_in_any_case_and_views_are_tables(sqlite: Any) -> None:
    sqlite.run("CREATE TABLE Votes (a)", "INSERT INTO Votes VALUES (1)")
    sqlite.run('CREATE VIEW "v.w" AS SELECT a + 1 AS a FROM votes')
    assert read_table(sqlite.table("votes"), ["a"]).frame["a"].to_list() == [1]
    assert read_table(sqlite.table("v.w"), ["a"]).frame["a"].to_list() == [2]
