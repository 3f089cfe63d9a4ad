"""PostgreSQL: its types, and a server that refuses, does not answer, or falls in the middle."""

from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from quorate.errors import DataError
from quorate.votes import Outputs, read_table, read_votes
from quorate.votes.databases import Query

pytest.importorskip("adbc_driver_postgresql")


def test_types_become_numbers_text_and_dates(postgres: Any) -> None:
    postgres.run(
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE TABLE t (u uuid, n numeric, e mood, j jsonb, c char(5), s smallint, f real,"
        " m money, odd int[], i interval)",
        "INSERT INTO t VALUES ('00000000-0000-0000-0000-00000000000a', 1.5, 'ok', '{\"a\": 1}',"
        " 'ab', 3, 0.5, 2, '{1}', '1 day')",
        "INSERT INTO t DEFAULT VALUES",
    )
    found = read_table(postgres.url, ["u", "n", "e", "j", "c", "s", "f", "m", "i"]).frame
    expected = (
        f"{'0' * 8}-0000-0000-0000-{'a':0>12}",
        1.5,
        "ok",
        '{"a": 1}',
        "ab",
        3,
        0.5,
        "$2.00",
        "1 day",
    )
    assert found.row(0) == expected and set(found.row(1)) == {None}
    postgres.run("UPDATE t SET n = 123456789012345678901")
    with pytest.raises(DataError, match=r"more than 15 digits in its column 'n'"):
        read_table(postgres.url, ["n"])


def test_columns_of_one_name_are_refused(postgres: Any) -> None:
    with pytest.raises(ValueError, match="has two columns 'a': name them apart with AS"):
        read_votes(postgres.url, query="SELECT 1 AS a, 2 AS a")


def test_a_comment_at_the_end_of_a_query_ends_there(postgres: Any) -> None:
    asked = "SELECT 1 AS task, 'w' AS worker, 'x' AS label -- of one"
    assert read_votes(postgres.url, query=asked).report.rows == 1


def test_a_schema_is_before_a_dot(postgres: Any) -> None:
    postgres.run("CREATE SCHEMA other", 'CREATE TABLE other."Votes" AS SELECT 3 AS a')
    assert read_table(postgres.table("other.Votes"), ["a"]).frame.item() == 3
    with Outputs() as outputs:
        outputs.table(pl.DataFrame({"b": [4]}), postgres.table("other.labels"))
        outputs.table(pl.DataFrame({"b": [5]}), postgres.table("no.schema"))
    assert postgres.run("SELECT b FROM other.labels") == [(4,)]
    assert postgres.run('SELECT b FROM "no.schema"') == [(5,)]


def test_a_table_that_is_appended_to_keeps_its_types(postgres: Any) -> None:
    postgres.run("CREATE TABLE t (a int, b varchar(9), c timestamptz DEFAULT now(), d numeric)")
    with Outputs() as outputs:
        frame = pl.DataFrame({"d": [0.5], "b": ["x"], "a": [1]})
        outputs.table(frame, postgres.table("t", "&mode=append"))
    assert postgres.run("SELECT a, b, d::text, c IS NULL FROM t") == [(1, "x", "0.5", False)]


def test_a_wrong_password_is_one_sentence_without_it(server: Any) -> None:
    with pytest.raises(DataError, match="password authentication failed for user") as failed:
        read_votes(server.url("not-hush"), table="votes")
    assert "hush" not in str(failed.value)


def test_a_server_that_does_not_answer_is_said() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        url = f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/db?connect_timeout=2"
        with pytest.raises(DataError, match=r"cannot be opened: .*timeout expired"):
            read_votes(url, table="votes")


def test_a_server_that_falls_while_it_is_read_is_one_sentence(postgres: Any, server: Any) -> None:
    query = Query.of(
        f"{postgres.url}?query=SELECT i, repeat('x', 100) AS x FROM generate_series(1, 3000000) i"
    )
    frames = query.frames(["i", "x"])
    assert next(frames).height + next(frames).height > 0
    server.kill_sessions()
    with pytest.raises(DataError, match=r"cannot be read: .+\.$"):
        list(frames)


def test_a_server_that_falls_while_it_is_written_has_no_table(
    postgres: Any, server: Any, tmp_path: Path
) -> None:
    file = tmp_path / "labels.csv"

    def write() -> None:
        with Outputs() as outputs:
            outputs.table(pl.DataFrame({"b": range(1000)}), postgres.table("labels"))
            outputs.table(pl.DataFrame({"b": range(1000)}), str(file))
            server.kill_sessions()

    with pytest.raises(DataError, match=r"cannot be written: .+\.$"):
        write()
    assert not file.exists()
    with pytest.raises(DataError, match="There are no tables"):
        read_votes(postgres.url)
