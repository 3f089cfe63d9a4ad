"""Columns by name: synonyms, what is said of them, and errors that name the likeliest."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import quorate
from quorate.errors import DataError
from quorate.votes import read_votes
from quorate.votes.columns import MOST_LISTED, likeliest

ROWS: dict[str, list[Any]] = {
    "task": ["a", "a", "b"],
    "worker": ["ann", "bob", "ann"],
    "label": ["x", "x", "y"],
}


def table(names: list[str], **more: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(dict(zip(names, ROWS.values(), strict=True)) | more)


@pytest.mark.parametrize(
    ("names", "more", "said"),
    [
        (["item", "judge", "verdict"], [], "item as task, judge as worker, verdict as label"),
        (["Task", "WORKER", "Label"], [], "Task as task, WORKER as worker, Label as label"),
        (["task", "annotator_id", "label"], [], "annotator_id as worker"),
        (["example_id", "reviewer", "rating"], ["text"], None),
        (["question_id", "judge name", "judgment"], ["question", "response"], None),
        (["text", "username", "score"], [], "text as task, username as worker, score as label"),
        (["sample-id", "grader", "grade"], ["score", "prompt"], None),
    ],
)
def test_columns_that_are_found_by_another_name_are_named(
    names: list[str], more: list[str], said: str | None
) -> None:
    found = read_votes(table(names, **{name: ["1", "2", "3"] for name in more}))
    assert found.codebook.tasks.to_list() == ["a", "b"]
    assert found.codebook.workers.to_list() == ["ann", "bob"]
    assert found.codebook.classes.to_list() == ["x", "y"]
    roles = zip(names, ROWS, strict=True)
    said = said or ", ".join(f"{name} as {role}" for name, role in roles)
    assert found.notes == (f"Columns: {said}.",)


def test_nothing_is_said_of_columns_that_were_named() -> None:
    votes = table(["thing", "who", "what"])
    options: Any = {"task_column": "thing", "worker_column": "who", "label_column": "what"}
    assert read_votes(votes, **options).notes == ()
    assert read_votes(table(list(ROWS))).notes == ()


def test_an_error_lists_all_columns_and_the_likeliest_first() -> None:
    frame = table(["task", "anotator", "label"], **{f"f{i}": [1, 2, 3] for i in range(12)})
    with pytest.raises(DataError) as raised:
        read_votes(frame)
    others = ", ".join(f"f{i}" for i in range(12))
    assert str(raised.value) == (
        "The polars table has no column 'worker': its columns are anotator, task, label,"
        f" {others}; say which it is with worker_column (--worker-column)."
    )


def test_a_list_of_very_many_columns_is_cut() -> None:
    names = [f"c{i}" for i in range(1000)]
    assert likeliest(names, ["c"]).endswith(f" and {1000 - MOST_LISTED} more")
    assert len(likeliest(["x" * 59] * 100, ["y"])) < 700


@pytest.mark.parametrize("kind", ["frame", "csv"])
def test_seconds_and_times_of_votes_are_kept(kind: str, tmp_path: Path) -> None:
    more: dict[str, list[Any]] = {
        "lead_time": [1.5, None, 3.0],
        "Created At": ["2024-01-01", "2024-01-02", "2024-01-03"],
    }
    source: Any = table(["task", "worker", "label"], **more).with_columns(task=pl.Series([1, 1, 2]))
    if kind == "csv":
        source.write_csv(tmp_path / "v.csv")
        source = tmp_path / "v.csv"
    votes = read_votes(source)
    assert votes.details is not None
    assert votes.details.to_dict(as_series=False) == {
        "task": [1, 1, 2],
        "worker": ["ann", "bob", "ann"],
        "seconds": [1.5, None, 3.0],
        "time": more["Created At"],
    }
    assert votes.report.missing == 0
    assert list(quorate.aggregate(source, "majority").labels.columns) == [
        "task",
        "label",
        "confidence",
    ]


def test_times_keep_their_type_and_follow_the_votes_that_are_kept() -> None:
    when = [datetime(2024, 1, day) for day in (1, 2, 3)]
    frame = table(["task", "worker", "label"], timestamp=when)
    twice = pl.concat([frame, frame.with_columns(timestamp=pl.lit(when[0]))])
    details = read_votes(twice, repeats="last").details
    assert details is not None
    assert details["time"].to_list() == [when[0]] * 3


def test_a_table_without_times_has_no_details() -> None:
    assert read_votes(table(["task", "worker", "label"])).details is None
    of_lists = table(["task", "worker", "label"], seconds=[[1], [2], [3]])
    assert read_votes(of_lists).details is None
    label = read_votes(table(["task", "worker", "seconds"]), label_column="seconds")
    assert label.details is None and label.codebook.classes.to_list() == ["x", "y"]
