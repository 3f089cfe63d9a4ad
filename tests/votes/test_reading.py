"""Sources and sinks: every kind of table reads as the same votes and comes back as its own kind."""

from __future__ import annotations

import bz2
import datetime
import errno
import gzip
import io
import json
import lzma
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from tests.effort import times

import quorate
from quorate import Majority
from quorate.errors import DataError, UsageError
from quorate.votes import (
    Outputs,
    ReadReport,
    Votes,
    find,
    match,
    output_format,
    read_answers,
    read_votes,
)
from quorate.votes.sources import stderr_held

ROWS = [(1, "ann", True), (1, "bob", False), (2, "ann", True), (1, "eve", False), (2, "bob", True)]
NAMES = ["task", "worker", "label"]
TABLE = pl.DataFrame(ROWS, schema=NAMES, orient="row")
TEXT = b"task,worker,label\n" + b"".join(
    b"%d,%s,%s\n" % (task, worker.encode(), str(label).lower().encode())
    for task, worker, label in ROWS
)


def labels(votes: Any, method: Any = "majority", **options: Any) -> list[tuple[Any, ...]]:
    """The labels by majority, whatever kind of table they come in."""
    table = quorate.aggregate(votes, method, **options).labels
    frame = pl.from_arrow(table) if isinstance(table, pa.Table) else pl.DataFrame(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.drop("confidence").rows()


# Sources


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def in_file(write_table: Callable[[pl.DataFrame, Path], Any], name: str) -> Callable[[Path], Any]:
    def source(directory: Path) -> Path:
        write_table(TABLE, directory / name)
        return directory / name

    return source


class Row(NamedTuple):
    task: int
    worker: str
    label: bool


SOURCES: dict[str, Callable[[Path], Any]] = {
    "csv": in_file(pl.DataFrame.write_csv, "v.csv"),
    "csv, as text": lambda directory: str(write(directory / "v.csv", TEXT)),
    "csv.gz": lambda directory: write(directory / "v.csv.gz", gzip.compress(TEXT)),
    "csv.zst": lambda directory: write(directory / "v.csv.zst", zstandard.compress(TEXT)),
    "tsv": lambda directory: write(directory / "v.tsv", TEXT.replace(b",", b"\t")),
    "csv with semicolons": lambda directory: write(directory / "v.csv", TEXT.replace(b",", b";")),
    "csv.gz with tabs": lambda directory: write(
        directory / "v.csv.gz", gzip.compress(TEXT.replace(b",", b"\t"))
    ),
    "tsv with bars": lambda directory: write(directory / "v.tsv", TEXT.replace(b",", b"|")),
    "txt": lambda directory: write(directory / "v.txt", TEXT.replace(b",", b"\t")),
    "no suffix": lambda directory: write(directory / "v", TEXT),
    "csv.bz2": lambda directory: write(directory / "v.csv.bz2", bz2.compress(TEXT)),
    "csv.xz": lambda directory: write(directory / "v.csv.xz", lzma.compress(TEXT)),
    "zip": lambda directory: write(directory / "v.zip", zipped(("of/v.csv", TEXT))),
    "csv.zip": lambda directory: write(directory / "v.csv.zip", zipped(("v.csv", TEXT))),
    "json": in_file(pl.DataFrame.write_json, "v.json"),
    "json of lines": in_file(pl.DataFrame.write_ndjson, "v.json"),
    "json.gz": lambda directory: write(
        directory / "v.json.gz", gzip.compress(TABLE.write_json().encode())
    ),
    "jsonl": in_file(pl.DataFrame.write_ndjson, "v.jsonl"),
    "parquet": in_file(pl.DataFrame.write_parquet, "v.parquet"),
    "polars": lambda _: TABLE,
    "polars, lazy": lambda _: TABLE.lazy(),
    "pandas": lambda _: TABLE.to_pandas(),
    "pandas indexed by task": lambda _: TABLE.to_pandas().set_index("task"),
    "pandas indexed by task and worker": lambda _: TABLE.to_pandas().set_index(["task", "worker"]),
    "pandas of objects": lambda _: TABLE.to_pandas().astype(object),
    "pandas of its own types": lambda _: TABLE.to_pandas().convert_dtypes(),
    "pandas of arrow": lambda _: TABLE.to_pandas(use_pyarrow_extension_array=True),
    "arrow table": lambda _: TABLE.to_arrow(),
    "arrow batch": lambda _: TABLE.to_arrow().to_batches()[0],
    "arrow reader": lambda _: TABLE.to_arrow().to_reader(),
    "list": lambda _: ROWS,
    "generator": lambda _: (list(row) for row in ROWS),
    "named tuples": lambda _: [Row(*row) for row in ROWS],
    "numpy scalars": lambda _: [(np.int64(t), np.str_(w), np.bool_(x)) for t, w, x in ROWS],
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_reads_the_same_and_keeps_its_types(kind: str, tmp_path: Path) -> None:
    votes = read_votes(SOURCES[kind](tmp_path))
    book = votes.codebook
    assert book.tasks.to_list() == [1, 2]
    assert book.workers.to_list() == ["ann", "bob", "eve"]
    assert book.classes.to_list() == [False, True]
    assert votes.labels.indptr.tolist() == [0, 3, 5]
    assert votes.labels.worker.tolist() == [0, 1, 2, 0, 1]
    assert votes.labels.label.tolist() == [1, 0, 0, 1, 1]
    assert votes.report == ReadReport(rows=5, missing=0, repeated=0, repeats_kept=True)
    found = labels(SOURCES[kind](tmp_path))
    assert found == [(1, False), (2, True)]
    assert [type(name) for name in found[0]] == [int, bool]


def test_a_matrix_of_tasks_by_workers() -> None:
    matrix = np.array([[1, 0, 0], [1, 1, -1]])
    assert labels(matrix) == [(0, 0), (1, 1)]
    assert labels(np.where(matrix == -1, np.nan, matrix)) == [(0, 0), (1, 1)]
    assert labels(matrix[:1].astype(bool)) == [(0, False)]
    assert labels(np.array([[2, 2]], dtype=np.uint8)) == [(0, 2)]
    votes = read_votes(matrix)
    assert votes.codebook.workers.to_list() == [0, 1, 2]
    assert votes.labels.worker.tolist() == [0, 1, 2, 0, 1]


def test_a_row_of_the_matrix_without_votes_is_counted() -> None:
    matrix = np.array([[1, 0, 0], [-1, -1, -1], [1, 1, -1]])
    assert read_votes(matrix).report.tasks_without_votes == 1
    result = quorate.aggregate(matrix)
    assert result.labels["task"].to_list() == [0, 2]
    assert result.notes == ("1 rows of the matrix hold no vote, and are left out.",)


@pytest.mark.parametrize("matrix", [np.full((2, 2), -1), np.full((2, 2), np.nan), np.empty((0, 2))])
def test_a_matrix_without_votes(matrix: Any) -> None:
    with pytest.raises(DataError, match=r"^The matrix has no votes in it: all is -1 or NaN\.$"):
        read_votes(matrix)


@pytest.mark.parametrize("matrix", [np.array([1, 0]), np.array([[b"a"]]), np.ones((1, 1, 1))])
def test_what_is_no_matrix_of_votes(matrix: Any) -> None:
    with pytest.raises(
        DataError, match=r"^A matrix of votes has tasks as rows, workers as columns"
    ):
        read_votes(matrix)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["7", "8"], [7, 8]),
        (["-7", "0"], [-7, 0]),
        (["007", "8"], ["007", "8"]),
        (["7", "x"], ["7", "x"]),
        (["1.0", "2"], ["1.0", "2"]),
        (["+7", "8"], ["+7", "8"]),
        ([" 7", "8"], [" 7", "8"]),
        (["true", "false"], [True, False]),
        (["True", "False"], ["True", "False"]),
        (["true", "0"], ["true", "0"]),
        (["99999999999999999999", "1"], ["99999999999999999999", "1"]),
        (["é", "😀"], ["é", "😀"]),
    ],
)
def test_names_in_text_files_are_numbers_or_truth_values_to_the_letter(
    written: list[str], read: list[Any], tmp_path: Path
) -> None:
    pl.DataFrame({"task": written, "worker": written, "label": written}).write_csv(
        tmp_path / "v.csv"
    )
    book = read_votes(tmp_path / "v.csv").codebook
    assert book.tasks.to_list() == read
    assert book.workers.to_list() == read
    assert sorted(book.classes.to_list()) == sorted(read)
    assert [type(name) for name in book.tasks.to_list()] == [type(name) for name in read]


@pytest.mark.parametrize(
    "value",
    [
        3,
        2**63 + 5,
        2**100,
        "x",
        "",
        True,
        2.5,
        float("inf"),
        datetime.date(2024, 2, 29),
        datetime.datetime(2024, 2, 29, 12, 30),
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_names_of_any_type_go_through_and_out(value: Any, suffix: str, tmp_path: Path) -> None:
    result = quorate.aggregate([(value, value, value)], "majority", missing=())
    assert result.labels["task"].to_list() == [value]
    assert result.classes == [value]
    assert result.workers["worker"].to_list() == [value]
    with Outputs() as outputs:
        outputs.table(result.labels, str(tmp_path / f"out{suffix}"))
    if suffix == ".parquet":
        assert pl.read_parquet(tmp_path / "out.parquet").equals(result.labels)


def test_missing_fields_are_dropped_and_counted() -> None:
    rows = [
        (1, "ann", "yes"),
        (None, "ann", "yes"),
        (1, None, "yes"),
        (1, "bob", None),
        (float("nan"), "ann", "yes"),
        (1, "eve", pd.NA),
        (1, "eve", ""),
        (1, "nan", "yes"),
    ]
    votes = read_votes(rows)
    assert (votes.report.rows, votes.report.missing, votes.labels.n_labels) == (8, 7, 1)
    table = pd.DataFrame(rows[:5], columns=NAMES)
    assert read_votes(table).report.missing == 4
    assert read_votes(table).codebook.tasks.to_list() == [1]
    assert read_votes(rows, missing="yes").codebook.classes.to_list() == [""]


def test_numbers_that_a_missing_one_made_floats_are_whole_again() -> None:
    table = pl.DataFrame(
        {"task": [1.0, float("nan"), 3.0], "worker": [1, 2, 3], "label": [0, 1, 1]}
    )
    assert labels(table) == [(1, 0), (3, 1)]


def test_repeats() -> None:
    rows = [(1, "ann", "a"), (2, "ann", "b"), (1, "ann", "b"), (1, "bob", "a"), (1, "ann", "b")]
    votes = read_votes(rows)
    assert (votes.labels.n_labels, votes.report.repeated, votes.report.repeats_kept) == (5, 2, True)
    first = read_votes(rows, repeats="first")
    assert (first.labels.n_labels, first.report.repeated) == (3, 2)
    assert first.labels.label.tolist() == [0, 0, 1]
    last = read_votes(rows, repeats="last")
    assert not last.report.repeats_kept
    assert labels(rows, Majority(ties="first"), repeats="last") == [(2, "b"), (1, "a")]
    with pytest.raises(UsageError, match=r"^repeats is one of count, first, last, not 'all'\.$"):
        read_votes(rows, repeats="all")  # type: ignore[arg-type]


# Columns


@pytest.mark.parametrize(
    "names",
    [
        ["task", "worker", "label"],
        ["item", "annotator", "answer"],
        ["Task ID", "worker_id", "LABEL"],
        ["question_id", "raterId", "class"],
    ],
)
def test_columns_are_guessed_when_there_is_no_doubt(names: list[str]) -> None:
    table = TABLE.rename(dict(zip(NAMES, names, strict=True))).with_columns(when=pl.lit(3))
    assert labels(table) == [(1, False), (2, True)]


def test_the_exact_name_goes_before_a_guess() -> None:
    assert labels(TABLE.with_columns(item=pl.lit(0))) == [(1, False), (2, True)]


@pytest.mark.parametrize("name", ["a b", "*", "^.*$", "", "täsk", "x" * 300])
@pytest.mark.parametrize("kind", ["csv", "polars", "pandas"])
def test_any_column_name_can_be_given(name: str, kind: str, tmp_path: Path) -> None:
    table: Any = TABLE.rename({"task": name})
    if kind == "pandas":
        table = table.to_pandas()
    if kind == "csv":
        table.write_csv(tmp_path / "v.csv")
        table = tmp_path / "v.csv"
    assert labels(table, task_column=name) == [(1, False), (2, True)]


def test_two_pandas_columns_of_one_name() -> None:
    table = pd.DataFrame([[1, 2, "ann", True]], columns=["task", "task", "worker", "label"])
    with pytest.raises(
        DataError, match=r"^The pandas table has more than one column that could be"
    ):
        read_votes(table)


# In memory, but wrong


@pytest.mark.parametrize(
    ("votes", "sentence"),
    [
        ([], "The list of rows has no row with a task, a worker and a label."),
        (["abc"], "There is no file abc."),
        (
            ["abc.dat"],
            "The name abc.dat does not say its format: use .csv, .tsv, .jsonl, .ndjson, .parquet,"
            " .json, .xlsx (also with .gz, .zst, .bz2, .xz or .zip behind), or say it with format"
            " (--format).",
        ),
        ([(1, 2, 3), (1, 2)], "Row 1 is (1, 2), where (task, worker, label) was expected."),
        ([5], "Row 0 is 5, where (task, worker, label) was expected."),
        (
            [{"task": 1, "worker": 2, "label": 3}],
            "Row 0 is {'task': 1, 'worker': 2, 'label': 3}, where (task, worker, label) was"
            " expected.",
        ),
        ([{1, 2, 3}], "Row 0 is {1, 2, 3}, where (task, worker, label) was expected."),
        (
            {"task": list(range(1000)), "worker": [], "label": []},
            "Row 0 is ('task', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 1..., where (task,"
            " worker, label) was expected.",
        ),
        ([(1, 2, 3), (1, 2, "x")], "Column 'label' mixes int and str: make its values one type."),
        ([(1, 2, 3), (1, 2, True)], "Column 'label' mixes bool and int: make its values one type."),
        ([(1, 2, True), (1, 3, 1)], "Column 'label' mixes bool and int: make its values one type."),
        (
            [(1, 2, 3), (1, 2, 2.5)],
            "Column 'label' mixes float and int: make its values one type.",
        ),
        (
            [(1, 2, [3])],
            "The list of rows has List(Int64) in its column 'label': Quorate takes numbers, text,"
            " truth values and dates.",
        ),
        (
            [(1, 2, 1j)],
            "The list of rows has Object in its column 'label': Quorate takes numbers, text, truth"
            " values and dates.",
        ),
        (
            [(1, 2, b"x")],
            "The list of rows has Binary in its column 'label': Quorate takes numbers, text, truth"
            " values and dates.",
        ),
        (None, "Quorate cannot read a table from an object of type NoneType."),
        (7, "Quorate cannot read a table from an object of type int."),
        (b"task,worker,label", "Quorate cannot read a table from an object of type bytes."),
        (
            TABLE.lazy().select(pl.col("nothing")),
            'The polars query cannot be read (unable to find column "nothing"; valid columns:'
            ' ["task", "worker", "label"]).',
        ),
        (
            pd.DataFrame({"task": [1], "worker": [2], "label": [1j]}),
            "The pandas table has Object in its column 'label': Quorate takes numbers, text, truth"
            " values and dates.",
        ),
        (
            pd.DataFrame({"task": [], "worker": [], "label": []}),
            "The pandas table has no row with a task, a worker and a label.",
        ),
        (
            pd.DataFrame({"task": [1, "x"], "worker": [2, 2], "label": [1, 1]}),
            "Column 'task' mixes int and str: make its values one type.",
        ),
        (
            pa.table({"task": [1]}),
            "The Arrow table has no column 'worker': its columns are task; say which it is with"
            " worker_column (--worker-column).",
        ),
    ],
)
def test_wrong_tables_in_memory(votes: Any, sentence: str) -> None:
    with pytest.raises((DataError, UsageError)) as raised:
        read_votes(votes)
    assert str(raised.value) == sentence


@pytest.mark.parametrize("value", [2**200, "\ud800"])
def test_values_that_no_table_can_hold(value: Any) -> None:
    with pytest.raises(DataError, match=r"^Column 'label' cannot be read "):
        read_votes([(1, 2, value)])


def test_an_unknown_format() -> None:
    known = "csv, tsv, jsonl, parquet"
    with pytest.raises(UsageError, match=rf"^format is one of {known}, .*, not 'xls'"):
        read_votes("v.xls", format="xls")


# Answers, and names against names


@pytest.mark.parametrize(
    "gold",
    [
        {"a": "x", "b": "y"},
        pd.Series({"a": "x", "b": "y"}),
        pd.DataFrame({"label": ["x", "y"], "task": ["a", "b"]}),
        pl.DataFrame({"item": ["a", "b"], "answer": ["x", "y"]}),
        pa.table({"task": ["a", "b"], "label": ["x", "y"]}),
        [("a", "x"), ("b", "y"), ("a", "x")],
    ],
)
def test_answers_from_any_table(gold: Any) -> None:
    answers = read_answers(gold)
    assert answers.tasks.to_list() == ["a", "b"]
    assert answers.labels.to_list() == ["x", "y"]
    assert answers.missing == 0


def test_answers_that_contradict_each_other() -> None:
    with pytest.raises(DataError, match=r"^The list of rows gives task 'a' more than one answer"):
        read_answers([("a", "x"), ("b", "x"), ("a", "y")])


@pytest.mark.parametrize(
    ("names", "known", "codes"),
    [
        (["b", "z", "a"], ["a", "b"], [1, None, 0]),
        ([2, 1], ["1", "2"], [1, 0]),
        (["2", "1", "01"], [1, 2], [1, 0, None]),
        (["true", "True"], [False, True], [1, None]),
        ([], [1, 2], []),
        ([1], [], [None]),
    ],
)
def test_find(names: list[Any], known: list[Any], codes: list[int | None]) -> None:
    assert find(pl.Series(names), pl.Series(known)).to_list() == codes


def test_match_names_the_stranger_and_the_known() -> None:
    with pytest.raises(DataError) as raised:
        match(pl.Series(["a", "x\ny"]), pl.Series(["a", "b\nc", "d" * 99]), "There is")
    assert str(raised.value) == (rf"There is 'x\ny', which is none of a, 'b\nc', '{'d' * 56}....")


# Tables come back as the caller's own kind


def test_pandas_in_pandas_out() -> None:
    table = pd.DataFrame(ROWS, columns=NAMES)
    result = quorate.aggregate(table, "majority")
    expected = pd.DataFrame({"task": [1, 2], "label": [False, True], "confidence": [2 / 3, 1.0]})
    assert_frame_equal(result.labels, expected)
    assert isinstance(result.workers, pd.DataFrame)
    assert result.workers["worker"].tolist() == ["ann", "bob", "eve"]
    assert isinstance(result.predict(table), pd.DataFrame)


@pytest.mark.parametrize(
    "dtypes",
    [
        {"task": "int8", "worker": "string", "label": "boolean"},
        {"task": "Int64", "worker": "category", "label": "category"},
        {"task": "float64", "worker": object, "label": object},
        {"task": "string", "worker": "str", "label": "int32"},
        {"task": "int64[pyarrow]", "worker": "string[pyarrow]", "label": "bool[pyarrow]"},
    ],
)
def test_pandas_types_come_back(dtypes: dict[str, Any]) -> None:
    table = pd.DataFrame(ROWS, columns=NAMES).astype(dtypes)
    result = quorate.aggregate(table, "majority")
    for column in ("task", "label"):
        assert result.labels[column].dtype == table[column].dtype
    assert result.workers["worker"].dtype == table["worker"].dtype
    assert result.labels["task"].tolist() == table["task"].unique().tolist()


def test_a_class_that_the_pandas_category_lacks_comes_back_as_text() -> None:
    table = pd.DataFrame([(1, "ann", "yes")], columns=NAMES).astype({"label": "category"})
    result = quorate.aggregate(table, "majority", gold={1: "maybe"})
    assert result.labels["label"].tolist() == ["maybe"]


def test_polars_and_path_in_polars_out(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "v.csv")
    for source in (TABLE, TABLE.lazy(), tmp_path / "v.csv", ROWS, np.array([[1]])):
        result = quorate.aggregate(source, "majority")
        assert isinstance(result.labels, pl.DataFrame)
        assert isinstance(result.workers, pl.DataFrame)
        assert isinstance(result.predict(source), pl.DataFrame)


@pytest.mark.parametrize(
    "dtype", [pl.Int8, pl.UInt64, pl.String, pl.Categorical, pl.Enum(["0", "1"])]
)
def test_polars_types_come_back(dtype: Any) -> None:
    text = pl.Series(["0", "1", "1"])
    names = text.cast(dtype) if text.cast(dtype, strict=False).null_count() == 0 else text
    result = quorate.aggregate(pl.DataFrame({"task": names, "worker": names, "label": names}))
    assert result.labels.schema["task"] == result.labels.schema["label"] == names.dtype
    assert result.workers.schema["worker"] == names.dtype


def test_arrow_in_arrow_out() -> None:
    result = quorate.aggregate(TABLE.to_arrow(), "majority")
    assert isinstance(result.labels, pa.Table) and isinstance(result.workers, pa.Table)
    assert result.labels.column_names == ["task", "label", "confidence"]
    assert result.labels["label"].to_pylist() == [False, True]


# Sinks

READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".csv": pl.read_csv,
    ".tsv": lambda path: pl.read_csv(path, separator="\t"),
    ".jsonl": pl.read_ndjson,
    ".ndjson": pl.read_ndjson,
    ".parquet": pl.read_parquet,
    ".CSV": pl.read_csv,
}


@pytest.mark.parametrize("suffix", READERS)
def test_the_suffix_says_the_format(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"out{suffix}"
    with Outputs() as outputs:
        outputs.table(TABLE, str(path))
        assert not path.exists()
    assert READERS[suffix](path).equals(TABLE)
    assert list(tmp_path.iterdir()) == [path]


def test_written_tables_read_back_as_the_same_votes(tmp_path: Path) -> None:
    odd = [("a,b", "c\nd", 'e"f'), ("\t", "é", " g"), ("", "x", "y"), ("a,b", "'", "#")]
    table = pl.DataFrame(odd, schema=NAMES, orient="row")
    expected = read_votes(table)
    for suffix in (".csv", ".tsv", ".jsonl", ".parquet"):
        path = str(tmp_path / f"v{suffix}")
        with Outputs() as outputs:
            outputs.table(table, path)
        votes = read_votes(path)
        assert votes.codebook.tasks.to_list() == expected.codebook.tasks.to_list()
        assert votes.codebook.workers.to_list() == expected.codebook.workers.to_list()
        assert votes.codebook.classes.to_list() == expected.codebook.classes.to_list()
        assert votes.report == expected.report


def test_an_output_is_replaced_at_the_end_only(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("earlier")
    with Outputs() as outputs:
        outputs.table(TABLE, str(path))
        assert path.read_text() == "earlier"
    assert path.read_text().startswith("task,worker,label")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, DataError])
def test_a_failure_leaves_nothing(error: type[BaseException], tmp_path: Path) -> None:
    def fail() -> None:
        with Outputs() as outputs:
            outputs.table(TABLE, str(tmp_path / "a.csv"))
            outputs.table(TABLE, str(tmp_path / "b.parquet"))
            raise error

    with pytest.raises(error):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    def fill(file: io.BufferedIOBase) -> None:
        file.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fail() -> None:
        with Outputs() as outputs:
            outputs.table(TABLE, str(tmp_path / "a.csv"))
            outputs.file(str(path), fill)

    path = tmp_path / "b.quorate"
    with pytest.raises(DataError) as raised:
        fail()
    assert str(raised.value) == f"{path} cannot be written: No space left on device."
    assert list(tmp_path.iterdir()) == []


def test_what_a_format_cannot_hold_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with pytest.raises(DataError) as raised, Outputs() as outputs:
        outputs.table(pl.DataFrame({"task": [[1]]}), str(path))
    assert str(raised.value).startswith(f"{path} cannot be written: ")
    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_place_taken_meanwhile(tmp_path: Path) -> None:
    def fail() -> None:
        with Outputs() as outputs:
            outputs.table(TABLE, str(path))
            outputs.table(TABLE, str(tmp_path / "c.csv"))
            path.mkdir()

    path = tmp_path / "b.csv"
    with pytest.raises(DataError) as raised:
        fail()
    assert str(raised.value) == f"{path} cannot be written: Is a directory."
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["", ".", "/", "nowhere/a.csv"])
def test_no_place_for_a_file(name: str) -> None:
    with pytest.raises(UsageError), Outputs() as outputs:
        outputs.file(name, lambda file: file.write(b"x"))


def test_standard_output_is_utf8_whatever_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="ascii"))
    with Outputs() as outputs:
        outputs.table(pl.DataFrame({"label": ["é"]}), "-")
        assert shown.getvalue() == b""
    assert shown.getvalue() == "label\né\n".encode()


def test_a_failure_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        with Outputs() as outputs:
            outputs.table(TABLE, "-")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert capsys.readouterr().out == ""


def test_output_formats(tmp_path: Path) -> None:
    assert output_format(str(tmp_path / "a.ndjson")) == "jsonl"
    with pytest.raises(UsageError, match="does not say its format"):
        output_format(str(tmp_path / "a.txt"))
    with pytest.raises(UsageError, match="does not write compressed text"):
        output_format(str(tmp_path / "a.csv.gz"))


# Any bytes give rows or one DataError


def accept(source: Any, **options: Any) -> None:
    """Either votes that hang together, or one sentence."""
    try:
        votes = read_votes(source, **options)
    except DataError as error:
        sentence = str(error)
        assert sentence.endswith(".") and len(sentence) < 1000
        assert sentence.isprintable()
    else:
        check(votes)


def check(votes: Votes) -> None:
    report, found, book = votes.report, votes.labels, votes.codebook
    assert report.rows - report.missing == found.n_labels > 0
    assert found.n_tasks == len(book.tasks) == book.tasks.n_unique()
    assert found.n_workers == len(book.workers) == book.workers.n_unique()
    assert found.n_classes == len(book.classes) == book.classes.n_unique()
    for codes, names in ((found.worker, book.workers), (found.label, book.classes)):
        assert codes.min() >= 0 and codes.max() < len(names)
    for names in (book.tasks, book.workers, book.classes):
        assert names.null_count() == 0
        assert not names.dtype.is_float() or not names.is_nan().any()


def parquet(compression: Any) -> bytes:
    file = io.BytesIO()
    pl.concat([TABLE] * 40).write_parquet(file, compression=compression)
    return file.getvalue()


def zipped(*files: tuple[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


VALID: dict[str, list[bytes]] = {
    ".csv": [TEXT, TEXT.replace(b"ann", b'"a, ""b""\nc"'), gzip.compress(TEXT, mtime=0)],
    ".tsv": [TEXT.replace(b",", b"\t")],
    ".jsonl": [
        TABLE.write_ndjson().encode(),
        zstandard.compress(TABLE.write_ndjson().encode()),
    ],
    ".parquet": [parquet(c) for c in ("uncompressed", "zstd", "snappy", "lz4", "gzip")],
    ".json": [json.dumps(TABLE.to_dicts()).encode(), gzip.compress(b'[{"task": 1}]', mtime=0)],
    ".txt": [TEXT.replace(b",", b";"), bz2.compress(TEXT), lzma.compress(TEXT)],
    ".zip": [zipped(("v.csv", TEXT)), zipped(("v.json", json.dumps(TABLE.to_dicts()).encode()))],
}

CELLS = st.sampled_from(
    b'1|ann|yes|| |"|""|"a\nb"|\xff|\0|NaN|\r|-0|{|}|[1]|{"task": 1}|"task":|null|1e999|\\'.split(
        b"|"
    )
)
GLUE = st.sampled_from([b",", b"\t", b"\n", b"\r\n", b":", b"", b'","'])
PIECES = st.lists(st.tuples(CELLS, GLUE), max_size=30).map(
    lambda pieces: b"".join(cell + glue for cell, glue in pieces)
)
HEADERS = st.sampled_from(
    [
        b"",
        b"task,worker,label\n",
        b"task\tworker\tlabel\n",
        b"\xef\xbb\xbftask,worker,label\r\n",
        b"PAR1",
        b"\x1f\x8b",
        b"\x28\xb5\x2f\xfd",
        b'{"task": 1, "worker": 2, "label": 3}\n',
        b'[{"task": 1, "worker": 2, "label": 3},',
        b"id;gpt;claude\n1;A;B\n2;B;B\n",
        b"PK\x03\x04",
        b"BZh",
    ]
)
ANYTHING = st.tuples(HEADERS, st.one_of(PIECES, st.binary(max_size=200))).map(b"".join)


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any")


@pytest.mark.parametrize("suffix", [*VALID, ".csv.gz", ".csv.zst", ".jsonl.gz"])
@given(content=ANYTHING)
@settings(max_examples=times(50, 150))
@example(content=b"task,worker,label\n1,a,x\n\n")
@example(content=b'task,worker,"label\n1,a,x\n')
@example(content=b"\xef\xbb\xbf")
def test_any_bytes_give_rows_or_one_error(scratch: Path, suffix: str, content: bytes) -> None:
    accept(write(scratch / f"any{suffix}", content))


class Change(NamedTuple):
    """One byte of a file (counted from the end, where a Parquet file has its index) altered, and
    the file cut short or not."""

    at: int
    to: int
    cut: int


CHANGES = st.builds(
    Change, st.integers(0, 3000), st.integers(0, 255), st.one_of(st.just(0), st.integers(0, 3000))
)


@pytest.mark.parametrize(
    ("suffix", "number"), [(suffix, i) for suffix in VALID for i in range(len(VALID[suffix]))]
)
@given(change=CHANGES)
@settings(max_examples=times(50, 100))
def test_any_damage_gives_rows_or_one_error(
    scratch: Path, suffix: str, number: int, change: Change
) -> None:
    content = bytearray(VALID[suffix][number])
    content[-1 - change.at % len(content)] = change.to
    if change.cut:
        content = content[: change.cut % len(content)]
    accept(write(scratch / f"damaged{suffix}", bytes(content)))


class Input(NamedTuple):
    buffer: io.BytesIO


@given(content=st.one_of(ANYTHING, st.sampled_from([c for cs in VALID.values() for c in cs])))
@settings(max_examples=times(66, 200))
def test_any_bytes_on_standard_input(content: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", Input(io.BytesIO(content)))
        accept("-")


NAME = st.one_of(
    st.none(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.sampled_from(["a", "1", "true", "NaN", "", " ", "007", '"', ",", "\r\n"]),
)


@given(rows=st.lists(st.tuples(NAME, NAME, NAME), min_size=1, max_size=12))
@settings(max_examples=times(50, 100))
def test_any_text_reads_the_same_from_every_format(scratch: Path, rows: list[Any]) -> None:
    """CSV makes numbers of what looks like numbers; but for that all formats are one."""
    rows = [("kept", "kept", "kept"), *rows]
    expected = read_votes(rows)
    check(expected)
    table = pl.DataFrame(rows, schema=dict.fromkeys(NAMES, pl.String), orient="row")
    for suffix in (".csv", ".tsv", ".jsonl", ".parquet"):
        path = str(scratch / f"same{suffix}")
        with Outputs() as outputs:
            outputs.table(table, path)
        if suffix in (".csv", ".tsv") and b"\0" in Path(path).read_bytes():
            continue
        votes = read_votes(path)
        check(votes)
        assert votes.report == expected.report
        for part in ("tasks", "workers", "classes"):
            assert getattr(votes.codebook, part).equals(
                getattr(expected.codebook, part), check_names=False
            )


# A panic of polars


def test_a_panic_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    TABLE.write_parquet(tmp_path / "v.parquet")

    def panic(*_: Any, **__: Any) -> None:
        raise pl.exceptions.PanicException("index out of bounds")

    monkeypatch.setattr(pl.LazyFrame, "collect", panic)
    with pytest.raises(DataError, match=r"v\.parquet is not a whole Parquet file: write or fetch"):
        read_votes(tmp_path / "v.parquet")


def test_what_rust_prints_of_a_panic_is_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    def panic() -> None:
        with stderr_held():
            os.write(2, b"thread panicked\n")
            raise pl.exceptions.PanicException("panicked")

    with pytest.raises(pl.exceptions.PanicException):
        panic()
    assert capfd.readouterr().err == ""
    with stderr_held():
        os.write(2, b"something else\n")
    assert capfd.readouterr().err == "something else\n"


def test_json_written_is_json(tmp_path: Path) -> None:
    with Outputs() as outputs:
        outputs.table(TABLE, str(tmp_path / "v.jsonl"))
    lines = (tmp_path / "v.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == TABLE.to_dicts()


def test_an_old_matrix_is_a_matrix() -> None:
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[0, 1], [1, -1]])
    assert read_votes(matrix).labels.label.tolist() == [0, 1, 1]


def test_missing_may_be_none_or_one_word() -> None:
    rows = [("t", "ann", "x"), ("t", "bob", "y"), ("u", "ann", "nan")]
    assert read_votes(rows, missing=None).codebook.classes.to_list() == ["x", "y"]
    assert read_votes(rows, missing="x").codebook.classes.to_list() == ["nan", "y"]
    for wrong in (5, [5]):
        with pytest.raises(UsageError, match="missing is a text or several"):
            read_votes(rows, missing=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("n_classes", [127, 128, 300])
def test_many_classes_have_codes_of_their_own(n_classes: int) -> None:
    votes = read_votes([(f"t{i % 50}", "ann", 1000 + i) for i in range(n_classes)])
    assert votes.codebook.classes.to_list() == list(range(1000, 1000 + n_classes))
    said = [i for task in range(50) for i in range(task, n_classes, 50)]
    assert votes.labels.label.tolist() == said
