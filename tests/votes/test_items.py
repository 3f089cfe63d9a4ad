"""Columns of tasks that are kept: in tables of labels, in memory, on disk, of exports, saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import quorate
from quorate.errors import DataError, UsageError

ROWS = [
    (1, "ann", "yes", "one", 5),
    (1, "bob", "yes", "one", 5),
    (1, "eve", "no", "uno", 5),
    (2, "ann", "no", None, 15),
    (2, "bob", "no", "two", 15),
]
TABLE = pl.DataFrame(ROWS, schema=["task", "worker", "label", "text", "length"], orient="row")
KEPT = [("one", 5), ("two", 15)]


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    TABLE.write_csv(tmp_path / "votes.csv")
    return tmp_path / "votes.csv"


@pytest.fixture
def export(tmp_path: Path) -> Path:
    records = [
        {
            "text": f"text {task}",
            "meta": {"source": {"page": task}},
            "answer": "accept" if task % 2 else "reject",
            "_input_hash": task,
            "_task_hash": task,
            "_annotator_id": worker,
        }
        for task in (3, 4)
        for worker in ("ann", "bob")
    ]
    path = tmp_path / "export.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    return path


def test_the_first_value_is_kept_with_a_note_of_tasks_that_have_several() -> None:
    result = quorate.aggregate(TABLE, "majority", keep=["text", "length"])
    assert result.labels.columns == ["task", "label", "confidence", "text", "length"]
    assert result.labels.select("text", "length").rows() == KEPT
    assert "1 tasks have several values of 'text', of which the first is kept." in result.notes
    assert not any("'length'" in note for note in result.notes)


def test_tables_come_back_in_the_callers_kind() -> None:
    labels = quorate.aggregate(TABLE.to_pandas(), "majority", keep="text").labels
    assert isinstance(labels, pd.DataFrame)
    assert labels["text"].tolist() == ["one", "two"]
    arrow = quorate.aggregate(TABLE.to_arrow(), "majority", keep="text").labels
    assert arrow["text"].to_pylist() == ["one", "two"]


def test_a_file_in_memory_and_on_disk_gives_the_same(csv: Path, tmp_path: Path) -> None:
    TABLE.write_parquet(tmp_path / "votes.parquet")
    for path in (csv, tmp_path / "votes.parquet"):
        here = quorate.aggregate(path, "majority", keep=["text", "length"])
        there = quorate.aggregate(path, "majority", keep=["text", "length"], engine="disk")
        assert isinstance(there.labels, pl.LazyFrame)
        on_disk = there.labels.collect()
        assert on_disk.equals(here.labels)
        assert on_disk["text"].to_list() == ["one", "two"]
        assert there.notes == here.notes


def test_other_names_of_columns_stay(csv: Path) -> None:
    renamed = TABLE.rename({"task": "item_id", "label": "answer"})
    labels = quorate.aggregate(renamed, "majority", keep="text").labels
    assert labels.columns == ["item_id", "answer", "confidence", "text"]


def test_fields_of_an_export_are_kept_also_nested_ones(export: Path) -> None:
    result = quorate.aggregate(export, "majority", keep=["text", "meta.source.page", "meta"])
    assert result.labels.select("text", "meta.source.page").rows() == [("text 3", 3), ("text 4", 4)]
    assert json.loads(result.labels["meta"][0]) == {"source": {"page": 3}}


def test_a_field_that_no_task_has_is_named(export: Path, csv: Path) -> None:
    with pytest.raises(DataError, match=r"no field 'txt' to keep: they have text, meta"):
        quorate.aggregate(export, keep="txt")
    with pytest.raises(DataError, match="has no column 'txt'"):
        quorate.aggregate(csv, keep="txt")


@pytest.mark.parametrize(
    ("source", "keep", "why"),
    [
        (TABLE, ["label"], "keep names 'label', which tables have anyway"),
        (TABLE, ["text", "text"], "keep names a column twice"),
        (TABLE, [1], "keep is a name of a column or several"),
        ([(1, "ann", "a"), (1, "bob", "b")], ["text"], "these votes do not have"),
        (iter([(1, "ann", "a"), (1, "bob", "b")]), ["text"], "these votes do not have"),
    ],
)
def test_what_cannot_be_kept_is_refused(source: Any, keep: Any, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        quorate.aggregate(source, "majority", keep=keep)


def test_a_saved_result_has_them(csv: Path, tmp_path: Path) -> None:
    for engine in ("threads", "disk"):
        result = quorate.aggregate(csv, "dawid-skene", keep="text", engine=engine)
        result.save(tmp_path / "saved.quorate")
        loaded = quorate.load(tmp_path / "saved.quorate")
        assert loaded.labels.equals(pl.DataFrame(result.labels.lazy().collect()))
        assert loaded.labels["text"].to_list() == ["one", "two"]


def test_explanations_assignments_and_predictions_have_them() -> None:
    result = quorate.aggregate(TABLE, "dawid-skene", keep="text")
    assert result.explain(2).item == {"text": "two"}
    assert result.explain(2).as_dict()["item"] == {"text": "two"}
    assert result.predict(TABLE, keep="text")["text"].to_list() == ["one", "two"]
    plan = quorate.assign(TABLE, budget=1, method="dawid-skene", keep="text")
    assert plan.table["text"].to_list() == ["two"]


def test_several_right_answers_have_them() -> None:
    result = quorate.aggregate(TABLE, "majority", multilabel=True, keep="text")
    assert set(result.labels["text"]) == {"one", "two"}


def test_votes_as_a_table_have_every_vote_with_the_columns_that_are_kept(csv: Path) -> None:
    votes = quorate.read_votes(csv, keep="text")
    rows = [(task, worker, label) for task, worker, label, *_ in ROWS]
    assert votes.table.select("task", "worker", "label").rows() == rows
    assert votes.table["text"].to_list() == ["one"] * 3 + ["two"] * 2
    assert quorate.read_votes(TABLE.to_pandas()).table.columns.tolist() == [
        "task",
        "worker",
        "label",
    ]


def test_votes_of_an_export_as_a_table_have_their_seconds_and_time(tmp_path: Path) -> None:
    said = [(2, "ann", 7), (1, "ann", 5), (2, "bob", 6), (1, "bob", 4)]
    records = [
        {
            "answer": "accept",
            "_input_hash": task,
            "_task_hash": task,
            "_annotator_id": who,
            "_timestamp": when,
        }
        for task, who, when in said
    ]
    path = tmp_path / "export.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    table = quorate.read_votes(path).table
    assert table.columns == ["task", "worker", "label", "time"]
    assert table.select("task", "worker", "time").rows() == [said[i] for i in (0, 2, 1, 3)]
    last = [*records, {**records[0], "_timestamp": 9, "answer": "reject"}]
    path.write_text("\n".join(map(json.dumps, last)))
    table = quorate.read_votes(path, repeats="last").table
    assert sorted(table["time"]) == [4, 5, 6, 9]


def test_votes_on_disk_as_a_table_are_a_query(csv: Path) -> None:
    votes = quorate.aggregate(csv, "majority", engine="disk").votes
    assert votes is not None
    rows = [(task, worker, label) for task, worker, label, *_ in ROWS]
    assert votes.table.collect().rows() == rows
    assert votes.table.head(2).collect().rows() == rows[:2]
