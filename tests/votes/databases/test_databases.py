"""What holds of every database: votes in, tables out, and nothing lost or half written."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import quorate
from quorate.cli import main
from quorate.errors import DataError, UsageError
from quorate.votes import Outputs, read_table, read_votes

ROWS = [(task, f"w{worker}", "cat" if (task + worker) % 3 else "dög's") for task in range(20)
        for worker in range(4)]  # fmt: skip
VOTES = pl.DataFrame(ROWS, schema=["task", "worker", "label"], orient="row")


def put(database: Any, frame: pl.DataFrame, name: str = "votes", more: str = "") -> str:
    """The address of the frame, written to the database."""
    with Outputs() as outputs:
        outputs.table(frame, database.table(name, more))
    address: str = database.table(name)
    return address


def put_all(tables: dict[str, Any]) -> None:
    """Write several tables, all or none."""
    with Outputs() as outputs:
        for place, frame in tables.items():
            outputs.table(frame, place)


def there(database: Any, name: str) -> list[tuple[Any, ...]]:
    """All rows of a table."""
    rows: list[tuple[Any, ...]] = database.run(f'SELECT * FROM "{name}"')
    return rows


def test_votes_of_a_database_give_what_the_same_rows_give(database: Any) -> None:
    url = put(database, VOTES)
    expected = quorate.aggregate(VOTES, "majority")
    assert quorate.aggregate(url, "majority").labels.equals(expected.labels)
    by_name = quorate.aggregate(database.url, "majority", table="votes")
    assert by_name.workers.equals(expected.workers)
    asked = "SELECT task, worker, label FROM votes ORDER BY task, worker;  "
    assert quorate.aggregate(database.url, "majority", query=asked).labels.equals(expected.labels)


def test_votes_on_disk_are_those_in_memory(database: Any) -> None:
    """Numbers that are whole in a column of floats are found over all batches, too."""
    numbered = VOTES.with_columns(label=pl.col("label").str.len_chars() + 0.0)
    put(database, VOTES), put(database, numbered, "numbered")
    for table in ("votes", "numbered"):
        memory = quorate.aggregate(database.url, "majority", table=table)
        disk = quorate.aggregate(database.url, "majority", table=table, engine="disk")
        assert disk.labels.collect().equals(memory.labels)
        assert disk.read == memory.read


def test_columns_are_mapped_and_given_back(database: Any) -> None:
    put(database, VOTES.rename({"task": "Bild", "worker": "who", "label": 'it\'s "ä"; --'}))
    how = {"task_column": "Bild", "worker_column": "who", "label_column": 'it\'s "ä"; --'}
    found = quorate.aggregate(database.url, "majority", **how)
    assert found.labels.columns == ["Bild", 'it\'s "ä"; --', "confidence"]


def test_gold_features_and_kinds_come_from_a_database_too(database: Any) -> None:
    url = put(database, VOTES.with_columns(truth=pl.lit("cat")))
    gold = put(database, pl.DataFrame({"task": [3], "label": ["cat"]}), "gold")
    kinds = put(database, pl.DataFrame({"worker": ["w1"], "kind": ["model"]}), "kinds")
    features = put(database, pl.DataFrame({"task": [3, 4], "feature": ["red", "blue"]}), "features")
    found = quorate.aggregate(url, "naive-bayes", gold=gold, worker_kinds=kinds, features=features)
    assert found.labels.row(3)[1:] == ("cat", 1.0)
    assert found.workers["kind"].to_list() == [None, "model", None, None]
    beside = quorate.aggregate(database.url, "majority", table="votes", gold="truth")
    assert beside.labels["label"].unique().to_list() == ["cat"]


def test_what_is_written_is_what_is_read(database: Any) -> None:
    frame = pl.DataFrame(
        {
            "whole": [1, None, -(2**63)],
            "small": pl.Series([1, 2, None], dtype=pl.UInt8),
            "number": [0.1, 1e300, None],
            "text": ["", None, "日本 'q' \"Q\"; DROP TABLE x; --\n\t"],
            "class": pl.Series(["a", "b", None], dtype=pl.Categorical),
            "truth": [True, None, False],
            "day": [datetime.date(2020, 2, 29), None, datetime.date(1, 1, 1)],
            "moment": [datetime.datetime(2020, 2, 29, 12, 30, 1, 7), None, None],
            "nothing": [None, None, None],
        }
    )
    url = put(database, frame, 'my "töble"; --')
    found = read_table(url, frame.columns).frame
    expected = frame.with_columns(
        pl.col("small").cast(pl.Int64), pl.col("class", "nothing").cast(pl.String)
    )
    if database.kind == "sqlite":
        expected = expected.with_columns(
            pl.col("truth").cast(pl.Int64), pl.col("day", "moment").cast(pl.String)
        )
    assert found.equals(expected) and found.schema == expected.schema


def test_rows_without_a_field_are_counted(database: Any) -> None:
    put(
        database, pl.DataFrame({"task": [1, 1, None], "worker": ["a", "", "c"], "label": ["x"] * 3})
    )
    assert read_votes(database.url).report.missing == 2


def test_an_empty_result_is_one_sentence(database: Any) -> None:
    put(database, VOTES)
    asked = "SELECT * FROM votes WHERE task < 0"
    for how in ({}, {"engine": "disk"}):
        with pytest.raises(DataError, match=r"^The query of .* has no row with a task, a worker"):
            quorate.aggregate(database.url, query=asked, **how)


@pytest.mark.parametrize(
    "asked", ["SELECT nope FROM votes", "SELEC", "SELECT 1; SELECT 2", "?", ")"]
)
def test_a_wrong_query_is_one_sentence(database: Any, asked: str) -> None:
    put(database, VOTES)
    with pytest.raises(UsageError, match=r"^The query of .* cannot be asked: .+\.$"):
        read_votes(database.url, query=asked)


@pytest.mark.parametrize(
    "asked",
    [
        "DELETE FROM votes",
        "DELETE FROM votes RETURNING task, worker, label",
        "SELECT * FROM votes; DROP TABLE votes",
        "SELECT * FROM votes) AS x; DELETE FROM votes; --",
        "DROP TABLE votes",
    ],
)
def test_what_is_read_is_never_changed(database: Any, asked: str) -> None:
    put(database, VOTES)
    with pytest.raises((UsageError, DataError)):
        read_votes(database.url, query=asked)
    assert len(there(database, "votes")) == len(VOTES)


def test_a_table_that_is_not_there_lists_those_that_are_the_nearest_first(database: Any) -> None:
    put(database, VOTES, "answers"), put(database, VOTES, "votes_2024"), put(database, VOTES, "zz")
    with pytest.raises(DataError, match=r"no table 'votes' in .*: its tables are votes_2024, "):
        read_votes(database.url, table="votes")
    with pytest.raises(UsageError, match=r"has the tables answers, votes_2024, zz: say which"):
        read_votes(database.url)


def test_a_database_without_tables_says_so(database: Any) -> None:
    with pytest.raises(DataError, match="There are no tables in"):
        read_votes(database.url, table="votes")


def test_a_table_that_is_there_is_replaced_or_appended_to_only_if_that_is_said(
    database: Any,
) -> None:
    put(database, VOTES.head(2))
    with pytest.raises(
        UsageError, match=r"There is a table 'votes' .* mode=append or mode=replace"
    ):
        put(database, VOTES.head(1))
    assert len(there(database, "votes")) == 2
    put(database, VOTES.select("label", "task", "worker").head(1), more="&mode=append")
    assert there(database, "votes")[2] == VOTES.row(0)
    with pytest.raises(DataError, match=r"has no column 'more' to append to: its columns are task"):
        put(database, VOTES.with_columns(more=1), more="&mode=append")
    put(database, VOTES.with_columns(more=1).head(1), more="&mode=replace")
    assert there(database, "votes") == [(*VOTES.row(0), 1)]
    put(database, VOTES.head(3), "fresh", "&mode=append")
    assert len(there(database, "fresh")) == 3


def test_outputs_appear_all_or_none(database: Any, tmp_path: Path) -> None:
    """Tables of one database are one transaction, which ends when the files are in place."""
    file = tmp_path / "out.csv"
    nested = VOTES.with_columns(a=pl.lit([1]))  # which a CSV file does not take
    with pytest.raises(DataError):
        put_all({database.table("one"): VOTES, str(file): nested})
    with pytest.raises(UsageError):
        put_all({database.table("one"): VOTES, str(file): VOTES, f"{tmp_path}/no/where.csv": VOTES})
    assert not file.exists()
    put_all({database.table("labels"): VOTES.lazy(), database.table("w"): VOTES, str(file): VOTES})
    assert file.exists() and len(there(database, "labels")) == len(VOTES)
    with pytest.raises(DataError, match="There is no table 'one'"):
        read_votes(database.url, table="one")


def test_files_are_as_they_were_if_a_database_does_not_commit(
    database: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from quorate.votes.databases.writing import Tables

    def refuse(self: Tables) -> None:
        raise DataError("The server is gone.")

    monkeypatch.setattr(Tables, "commit", refuse)
    (tmp_path / "old.csv").write_text("old")
    places = [database.table("labels"), *(str(tmp_path / name) for name in ("old.csv", "new.csv"))]
    with pytest.raises(DataError, match="The server is gone"):
        put_all(dict.fromkeys(places, VOTES))
    assert (tmp_path / "old.csv").read_text() == "old" and not (tmp_path / "new.csv").exists()
    with pytest.raises(DataError, match="There are no tables"):
        read_votes(database.url)


def test_a_store_is_used_again_for_the_same_rows_only(database: Any, tmp_path: Path) -> None:
    url = put(database, VOTES)
    store = tmp_path / "store"
    first = quorate.aggregate(url, "majority", store=store).labels.collect()
    manifest = (store / "votes.json").stat().st_mtime_ns
    assert quorate.aggregate(url, "majority", store=store).labels.collect().equals(first)
    assert (store / "votes.json").stat().st_mtime_ns == manifest
    database.run("UPDATE votes SET label = 'bird' WHERE task = 7 AND worker = 'w1'")
    with pytest.raises(UsageError, match="holds other votes, or these as they were"):
        quorate.aggregate(url, "majority", store=store)


def test_the_command_line_reads_and_writes_databases(database: Any) -> None:
    """Results may go to the database that the votes are in."""
    put(database, VOTES)
    places = {"-o": "labels", "--workers": "workers", "--posterior": "posterior"}
    outputs = [word for option, name in places.items() for word in (option, database.table(name))]
    for how in ([], ["--memory", "500MB"]):
        done = CliRunner().invoke(
            main, ["aggregate", database.url, "--table", "votes", "-m", "majority", *outputs, *how]
        )
        assert done.exit_code == 0, done.output
        assert "hush" not in done.output and "?table=labels (20 rows)" in done.output
        assert len(there(database, "labels")) == 20 and len(there(database, "workers")) == 4
        database.run(*(f"DROP TABLE {name}" for name in places.values()))


def test_an_output_is_never_the_input(database: Any) -> None:
    put(database, VOTES)
    onto = ["-o", database.table("votes", "&mode=replace")]
    for how in ([database.url, "--table", "votes"], [database.table("votes")]):
        done = CliRunner().invoke(main, ["aggregate", *how, *onto])
        assert done.exit_code == 2 and "is an input too" in done.output
    twice = ["-o", database.table("same"), "--workers", database.table("same")]
    done = CliRunner().invoke(main, ["aggregate", database.table("votes"), *twice])
    assert done.exit_code == 2 and "Two outputs go to" in done.output
    assert len(there(database, "votes")) == len(VOTES)


def test_a_table_to_write_has_a_name(database: Any) -> None:
    with pytest.raises(
        UsageError, match=r"needs the name of a table to write: .*\?table=labels\.$"
    ):
        put_all({database.url: VOTES})


def test_lists_are_refused(database: Any) -> None:
    if database.kind == "sqlite":
        database.run("CREATE TABLE votes (task, worker, label)")
        database.run("INSERT INTO votes VALUES (1, 'a', x'00')")
    else:
        database.run("CREATE TABLE votes (task int, worker int, label int[])")
    with pytest.raises(DataError, match=r"has .* in its column 'label': Quorate takes numbers"):
        read_votes(database.url)
