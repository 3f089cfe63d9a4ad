"""DuckDB: its types, and its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from quorate.errors import DataError, UsageError
from quorate.votes import Outputs, read_table, read_votes

pytest.importorskip("duckdb")


def test_types_become_numbers_text_and_dates(duckdb: Any) -> None:
    duckdb.run(
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE TABLE t AS SELECT '00000000-0000-0000-0000-00000000000a'::uuid u,"
        " 1.5::decimal(10, 2) d, sum(12) h, 'ok'::mood e, 7::utinyint i, time '10:30:00' c",
    )
    found = read_table(duckdb.url, ["u", "d", "h", "e", "i", "c"]).frame
    assert found.row(0) == (f"{'0' * 8}-0000-0000-0000-{'a':0>12}", 1.5, 12.0, "ok", 7, "10:30:00")
    duckdb.run("CREATE OR REPLACE TABLE t AS SELECT 123456789012345678901::hugeint u")
    with pytest.raises(DataError, match=r"more than 15 digits in its column 'u'"):
        read_table(duckdb.url, ["u"])


def test_a_variable_of_this_program_is_not_a_table(duckdb: Any) -> None:
    duckdb.run("CREATE TABLE t AS SELECT 1 a")
    columns = pl.DataFrame({"task": [1], "worker": [1], "label": [1]})
    with pytest.raises(ValueError, match="cannot be asked"):
        read_votes(duckdb.url, query="SELECT * FROM columns")
    assert columns.height == 1


def test_a_schema_is_before_a_dot(duckdb: Any) -> None:
    duckdb.run("CREATE SCHEMA other", "CREATE TABLE other.votes AS SELECT 3 a")
    assert read_table(duckdb.table("other.votes"), ["a"]).frame.item() == 3
    with Outputs() as outputs:
        outputs.table(pl.DataFrame({"b": [4]}), duckdb.table("other.labels"))
    assert duckdb.run("SELECT b FROM other.labels") == [(4,)]


def test_a_file_that_is_no_database_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "text.duckdb").write_text("task,worker,label\n" * 100)
    with pytest.raises(DataError, match=r"cannot be opened: .*not a valid DuckDB"):
        read_votes(f"duckdb:///{tmp_path}/text.duckdb")


def test_a_new_file_is_removed_if_the_run_fails(tmp_path: Path) -> None:
    rows = pl.DataFrame({"b": [4]})
    refused = pytest.raises(UsageError, match="does not say its format")
    with refused, Outputs() as outputs:
        for name in (f"duckdb:///{tmp_path}/new.duckdb?table=a", "nowhere.txt"):
            outputs.table(rows, name)
    assert [path.name for path in tmp_path.iterdir()] == []
