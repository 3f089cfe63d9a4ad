"""Files that are read as a whole: archives, JSON arrays, Excel; and what cannot be read of them."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import sys
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import quorate
from quorate.errors import DataError, UsageError
from quorate.votes import read_votes

TABLE = pl.DataFrame({"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": ["x", "y", "x"]})


def zipped(files: dict[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


def fails(path: Path, **options: Any) -> str:
    with pytest.raises((DataError, UsageError)) as raised:
        read_votes(path, **options)
    return str(raised.value)


def test_an_archive_of_several_files_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "v.zip"
    path.write_bytes(zipped({"a.csv": TABLE.write_csv(), "b.csv": "x"}))
    assert fails(path) == (
        f"{path} holds 2 files: a.csv, b.csv; an archive of one table can be read: unpack it, and"
        " name those to read."
    )


def test_what_systems_put_into_an_archive_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "v.zip"
    path.write_bytes(zipped({"a.csv": TABLE.write_csv(), "__MACOSX/._a.csv": "x"}))
    assert read_votes(path).labels.n_labels == 3


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"votes": [{"task": 1}]}, "is no table, which in JSON is an array of flat objects"),
        ([1, 2], "is no table"),
        ([], "is empty."),
        ([{"task": 1, "worker": {"id": 3}, "label": "x"}], "has Struct({'id': Int64}) in its"),
    ],
)
def test_json_that_is_no_table_is_one_sentence(value: Any, said: str, tmp_path: Path) -> None:
    path = tmp_path / "v.json"
    path.write_text(json.dumps(value, indent=1))
    assert said in fails(path)


def test_json_with_numbers_that_are_none_and_keys_that_lack(tmp_path: Path) -> None:
    path = tmp_path / "v.json"
    path.write_text('[{"task": 1, "worker": "a", "label": NaN}, {"task": 1, "label": 2},'
                    ' {"task": 1, "worker": "b", "label": 2}]')  # fmt: skip
    votes = read_votes(path)
    assert (votes.report.rows, votes.report.missing) == (3, 2)
    assert votes.codebook.classes.to_list() == [2]


@pytest.mark.parametrize("name", ["v.json", "v.csv.xz", "v.csv.bz2", "v.zip"])
def test_on_disk_what_is_read_as_a_whole_is_one_sentence(name: str, tmp_path: Path) -> None:
    content = TABLE.write_csv().encode()
    packed = {
        "v.json": json.dumps(TABLE.to_dicts()).encode(),
        "v.csv.xz": lzma.compress(content),
        "v.csv.bz2": bz2.compress(content),
        "v.zip": zipped({"v.csv": content.decode()}),
    }
    path = tmp_path / name
    path.write_bytes(packed[name])
    with pytest.raises(UsageError) as raised:
        quorate.aggregate(path, engine="disk")
    assert str(raised.value) == (
        f"{path} has to be read as a whole: leave out memory, store and engine, or save it as CSV,"
        " JSON lines or Parquet."
    )


def test_a_directory_of_files_that_are_read_as_a_whole(tmp_path: Path) -> None:
    for day in ("monday", "tuesday"):
        rows = TABLE.with_columns(pl.col("worker") + day).to_dicts()
        (tmp_path / f"{day}.json").write_text(json.dumps(rows))
    assert read_votes(tmp_path).labels.n_labels == 6
    assert read_votes(str(tmp_path / "*.json")).labels.n_workers == 4


class Input(NamedTuple):
    buffer: io.BytesIO


@pytest.mark.parametrize("content", [
    json.dumps(TABLE.to_dicts()).encode(),
    bz2.compress(TABLE.write_csv().encode()),
    TABLE.write_csv(separator=";").encode(),
    zipped({"v.csv": TABLE.write_csv()}),
])  # fmt: skip
def test_standard_input_takes_them_too(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Input(io.BytesIO(content)))
    assert read_votes("-").labels.n_labels == 3


# Separators


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("task;worker;label\n1;a;x, or y\n2;b;x\n", 2),
        ("task|worker|label\n1|a|x\n", 1),
        ('task;worker;label\n1;"a;b";x\n2;b;x\n', 2),
        ("task,worker,label\n1;2,a|b,x\n", 1),
        ("task;n,worker,label\n1;2,a|b,x\n", None),
    ],
)
def test_another_separator_is_taken_only_where_the_usual_one_is_not(
    text: str, n: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "v.csv"
    path.write_text(text)
    if n is None:
        assert "has no column 'task'" in fails(path)
    else:
        assert read_votes(path).labels.n_labels == n


def test_the_line_with_too_many_fields_is_found_with_another_separator(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("task;worker;label\n" + "1;a;x\n" * 30 + "1;a;x;y\n")
    assert "line 32 has 4 fields where the header has 3" in fails(path)


# Excel


def test_excel_without_its_library_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    path = tmp_path / "v.xlsx"
    path.write_bytes(zipped({"xl/workbook.xml": "x"}))
    assert fails(path) == (
        f"{path} is an Excel file, which needs fastexcel: pip install 'quorate[excel]'."
    )


def test_the_first_sheet_of_a_workbook_is_read(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    writer = pytest.importorskip("xlsxwriter")
    path = tmp_path / "v.xlsx"
    with writer.Workbook(path) as book:
        for sheet in ("votes", "notes"):
            page = book.add_worksheet(sheet)
            for number, row in enumerate([TABLE.columns, *TABLE.rows()]):
                page.write_row(number, 0, row)
    votes = read_votes(path)
    assert votes.labels.n_labels == 3
    assert votes.codebook.tasks.to_list() == [1, 2]
    assert votes.notes == (f"{path}: the sheet votes is read, and not notes.",)


def test_a_damaged_workbook_is_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    path = tmp_path / "v.xlsx"
    path.write_bytes(zipped({"xl/workbook.xml": "x"}))
    assert fails(path).startswith(f"{path} cannot be read as Excel (")
