"""Bad input from the command line: one clear sentence and an exit code, or the right answer; never
a traceback, a NaN, a silent drop or a file left behind."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from click.testing import CliRunner, Result

from quorate.cli import main

CSV = b"task,worker,label\n1,ann,yes\n1,bob,no\n1,eve,yes\n2,ann,no\n2,bob,no\n"
JSON = b"".join(
    b'{"task": %d, "worker": "%s", "label": "%s"}\n' % row
    for row in ((1, b"ann", b"yes"), (1, b"bob", b"no"), (1, b"eve", b"yes"), (2, b"ann", b"no"))
)
ANSWERS = [("1", "yes"), ("2", "no")]
NO_COLUMN = "say which it is with {0}_column (--{0}-column)."
WRITTEN = ".csv, .tsv, .jsonl, .ndjson, .parquet"
FORMATS = f"{WRITTEN}, .json, .xlsx"


def parquet(table: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(table).write_parquet(file)
    return file.getvalue()


COLUMNS = {"task": [1, 1, 2], "worker": ["ann", "bob", "ann"], "label": [True, False, True]}
PARQUET = parquet(COLUMNS)

# Name of the file, its content, what is said of it.
REFUSED: dict[str, tuple[str, bytes, str]] = {
    "empty": ("v.csv", b"", "v.csv is empty."),
    "empty parquet": ("v.parquet", b"", "v.parquet is empty."),
    "empty json": ("v.jsonl", b"", "v.jsonl is empty."),
    "blank lines only": ("v.csv", b"\n\n \n", "v.csv is empty."),
    "empty inside gzip": ("v.csv.gz", gzip.compress(b""), "v.csv.gz is empty."),
    "header only": (
        "v.csv",
        b"task,worker,label\n",
        "v.csv has no row with a task, a worker and a label.",
    ),
    "header only, no line end": (
        "v.csv",
        b"task,worker,label",
        "v.csv has no row with a task, a worker and a label.",
    ),
    "all rows lack a field": (
        "v.csv",
        b"task,worker,label\n1,ann,\n,ann,yes\n",
        "v.csv has no row with a task, a worker and a label.",
    ),
    "missing column": (
        "v.csv",
        b"task,who,label\n1,ann,yes\n",
        "v.csv has no column 'worker': its columns are task, who, label; "
        + NO_COLUMN.format("worker"),
    ),
    "missing column in parquet": (
        "v.parquet",
        parquet({"task": [1], "walker": ["ann"], "label": [True]}),
        "v.parquet has no column 'worker': its columns are walker, task, label; "
        + NO_COLUMN.format("worker"),
    ),
    "two columns that fit": (
        "v.csv",
        b"item,question,worker,label\n1,2,ann,yes\n",
        "v.csv has more than one column that could be the task: its columns are item, question,"
        " worker, label; " + NO_COLUMN.format("task"),
    ),
    "the same column twice": (
        "v.csv",
        b"task,worker,label,label\n1,ann,yes,no\n",
        "v.csv has more than one column that could be the label: its columns are label,"
        " label_duplicated_0, task, worker; " + NO_COLUMN.format("label"),
    ),
    "old line ends": (
        "v.csv",
        CSV.replace(b"\n", b"\r"),
        r"v.csv has no column 'label': its columns are 'label\r1', task, worker, ann, 'yes\r1',"
        r" bob, 'no\r1', eve, 'yes\r2', ann_duplicated_0, 'no\r2', bob_duplicated_0, no; "
        + NO_COLUMN.format("label"),
    ),
    "broken UTF-8": (
        "v.csv",
        CSV + b"3,caf\xe9,yes\n",
        "v.csv, line 7 is not valid UTF-8: save the file as UTF-8.",
    ),
    "broken UTF-8 in a column not asked for": (
        "v.csv",
        b"task,worker,label,note\n1,ann,yes,\xff\n",
        "v.csv, line 2 is not valid UTF-8: save the file as UTF-8.",
    ),
    "broken UTF-8 inside gzip": (
        "v.csv.gz",
        gzip.compress(CSV + b"3,caf\xe9,yes\n"),
        "v.csv.gz, line 7 is not valid UTF-8: save the file as UTF-8.",
    ),
    "broken UTF-8 in json": (
        "v.jsonl",
        JSON + b'{"task": 2, "worker": "\xff", "label": "no"}\n',
        "v.jsonl, line 5 is not valid UTF-8: save the file as UTF-8.",
    ),
    "UTF-16": ("v.csv", CSV.decode().encode("utf-16"), "v.csv is in UTF-16: save it as UTF-8."),
    "a field too many": (
        "v.csv",
        CSV + b"3,ann,yes,really\n",
        "v.csv, line 7 has 4 fields where the header has 3: quote fields that contain the"
        " separator.",
    ),
    "a field too many, tabs": (
        "v.tsv",
        CSV.replace(b",", b"\t") + b"3\tann\tyes\treally\n",
        "v.tsv, line 7 has 4 fields where the header has 3: quote fields that contain the"
        " separator.",
    ),
    "a field too many, after quoted line ends": (
        "v.csv",
        CSV + b'"3\n\n3",ann,yes\n4,"a, b",no\n3,ann,yes,really\n',
        "v.csv, line 11 has 4 fields where the header has 3: quote fields that contain the"
        " separator.",
    ),
    "a field too many before the columns asked for": (
        "v.csv",
        b"text,task,worker,label\nhello,1,ann,yes\nhello, you,1,bob,no\n",
        "v.csv, line 3 has 5 fields where the header has 4: quote fields that contain the"
        " separator.",
    ),
    "a field too many inside gzip": (
        "v.csv.gz",
        gzip.compress(CSV + b"3,ann,yes,really\n"),
        "v.csv.gz, line 7 has 4 fields where the header has 3: quote fields that contain the"
        " separator.",
    ),
    "a field too many inside zstd": (
        "v.csv.zst",
        zstandard.compress(CSV + b"3,ann,yes,really\n"),
        "v.csv.zst cannot be read (found more fields than defined in 'Schema'): decompress it to"
        " see where.",
    ),
    "a field too many in a file with a very long one": (
        "v.csv",
        CSV + b"3,ann," + b"y" * 300_000 + b"\n3,ann,yes,really\n",
        "v.csv, line 8 has 4 fields where the header has 3: quote fields that contain the"
        " separator.",
    ),
    "a quote never closed": (
        "v.csv",
        CSV + b'3,ann,"yes\n4,ann,no\n',
        "v.csv, line 7 opens a quote that is never closed: close it, or double it.",
    ),
    "quotes inside a field": (
        "v.csv",
        CSV + b'3,ann,5"\n4,eve,no\n4,ann,6"\n',
        "v.csv, line 7 has a quote out of place: put the whole field in quotes, and double those"
        " inside.",
    ),
    "text after a closing quote": (
        "v.csv",
        CSV + b'3,"ann"e,yes\n',
        "v.csv, line 7 has a quote out of place: put the whole field in quotes, and double those"
        " inside.",
    ),
    "binary": (
        "v.csv",
        bytes(range(256)) * 20,
        "v.csv is not text: export it as CSV, TSV, JSON lines or Parquet.",
    ),
    "binary named .jsonl": (
        "v.jsonl",
        bytes(range(256)) * 20,
        "v.jsonl is not text: export it as CSV, TSV, JSON lines or Parquet.",
    ),
    "parquet named .csv": (
        "v.csv",
        PARQUET,
        "v.csv is a Parquet file: say so with its name or with format (--format).",
    ),
    "gzip cut short": (
        "v.csv.gz",
        gzip.compress(CSV * 50)[:-20],
        "v.csv.gz is not a whole gzip file: write or fetch it again.",
    ),
    "gzip in name only": (
        "v.csv.gz",
        b"\x1f\x8b" + bytes(50),
        "v.csv.gz is not a whole gzip file: write or fetch it again.",
    ),
    "zstd cut short": (
        "v.csv.zst",
        zstandard.compress(CSV * 50)[:-5],
        "v.csv.zst cannot be read (incomplete frame): decompress it to see where.",
    ),
    "parquet cut short": (
        "v.parquet",
        PARQUET[:-20],
        "v.parquet is not a whole Parquet file: write or fetch it again.",
    ),
    "half a parquet": (
        "v.parquet",
        PARQUET[: len(PARQUET) // 2],
        "v.parquet is not a whole Parquet file: write or fetch it again.",
    ),
    "csv named .parquet": (
        "v.parquet",
        CSV,
        "v.parquet is not a whole Parquet file: write or fetch it again.",
    ),
    "a broken line of json": (
        "v.jsonl",
        JSON + b'{"task": 2, "wor\n' + JSON,
        "v.jsonl, line 5 is not valid JSON: write one object on each line.",
    ),
    "json that is one list": (
        "v.jsonl",
        b'[{"task": 1, "worker": "ann", "label": "yes"}]',
        "v.jsonl, line 1 is a list: write one object on each line.",
    ),
    "a line that is null": (
        "v.jsonl",
        JSON + b"null\n",
        "v.jsonl, line 5 is null: write one object on each line.",
    ),
    "json over many lines": (
        "v.jsonl",
        b'{\n  "task": 1,\n  "worker": "ann",\n  "label": "yes"\n}\n',
        "v.jsonl, line 1 is not valid JSON: write one object on each line.",
    ),
    "NaN in json": (
        "v.jsonl",
        JSON + b'{"task": 2, "worker": "eve", "label": NaN}\n',
        "v.jsonl, line 5 has nan in 'label', which is not JSON: write null.",
    ),
    "mixed types in json": (
        "v.jsonl",
        b'{"task": 1, "worker": "a", "label": 1}\n\n{"task": 1, "worker": "b", "label": true}\n',
        "v.jsonl, line 3 has a truth value in 'label' where line 1 has a number: make its values"
        " one type.",
    ),
    "a broken line of json inside gzip": (
        "v.jsonl.gz",
        gzip.compress(JSON + b"{\n"),
        "v.jsonl.gz, line 5 is not valid JSON: write one object on each line.",
    ),
    "lists for labels": (
        "v.jsonl",
        b'{"task": 1, "worker": "ann", "label": ["yes"]}\n',
        "v.jsonl has List(String) in its column 'label': Quorate takes numbers, text, truth values"
        " and dates.",
    ),
    "bytes for labels": (
        "v.parquet",
        parquet(COLUMNS | {"label": [b"yes", b"no", b"yes"]}),
        "v.parquet has Binary in its column 'label': Quorate takes numbers, text, truth values and"
        " dates.",
    ),
    "NaN for every label": (
        "v.parquet",
        parquet(COLUMNS | {"label": [float("nan")] * 3}),
        "v.parquet has no row with a task, a worker and a label.",
    ),
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    return tmp_path


def run(*args: str, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(main, args, input=stdin)


def refuse(code: int, sentence: str, *args: str, stdin: bytes = b"") -> None:
    """The call fails with this one sentence, prints nothing else and leaves nothing behind."""
    before = sorted(Path().rglob("*"))
    result = run("aggregate", *args, stdin=stdin)
    assert result.stderr == f"quorate: {sentence}\n"
    assert result.exit_code == code
    assert result.stdout == ""
    assert sorted(Path().rglob("*")) == before


DS = ("-m", "dawid-skene", "--set")


def answer(*args: str, stdin: bytes = b"") -> tuple[list[tuple[str, ...]], dict[str, Any]]:
    """The labels that go to standard output, and the summary."""
    result = run("aggregate", "-m", "majority", "-o", "-", "--json", *args, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stderr, parse_constant=lambda name: pytest.fail(name))
    rows = list(csv.reader(io.StringIO(result.stdout)))
    assert rows[0][2:] == ["confidence"]
    return [tuple(row[:2]) for row in rows[1:]], summary


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_file_is_refused_in_one_sentence(case: str) -> None:
    name, content, sentence = REFUSED[case]
    Path(name).write_bytes(content)
    refuse(1, sentence, name, "-o", "out/labels.csv", "--workers", "out/workers.csv")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "Standard input is empty."),
        (b" \n", "Standard input is empty."),
        (
            CSV + b"3,ann,yes,really\n",
            "Standard input, line 7 has 4 fields where the header has 3: quote fields that contain"
            " the separator.",
        ),
        (
            CSV + b"3,\xff,yes\n",
            "Standard input, line 7 is not valid UTF-8: save the file as UTF-8.",
        ),
        (
            JSON + b"{\n",
            "Standard input, line 5 is not valid JSON: write one object on each line.",
        ),
        (
            PARQUET[:-9],
            "Standard input is not a whole Parquet file: write or fetch it again.",
        ),
        (
            gzip.compress(CSV, mtime=0)[:-9],
            "Standard input is not a whole gzip file: send it again.",
        ),
        (
            bytes(100),
            "Standard input is not text: export it as CSV, TSV, JSON lines or Parquet.",
        ),
    ],
)
def test_bad_standard_input(content: bytes, sentence: str) -> None:
    refuse(1, sentence, "-", "-o", "out/labels.csv", stdin=content)


def test_a_missing_file() -> None:
    refuse(1, "There is no file votes.csv.", "votes.csv", "-o", "out/labels.csv")


def test_a_directory() -> None:
    Path("votes.csv").mkdir()
    nothing = f"votes.csv has no file in it that ends in {FORMATS}."
    refuse(1, nothing, "votes.csv", "-o", "out/labels.csv")


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may read anything")
def test_a_file_that_may_not_be_read() -> None:
    Path("v.csv").write_bytes(CSV)
    Path("v.csv").chmod(0)
    refuse(1, "v.csv cannot be read: Permission denied.", "v.csv", "-o", "out/labels.csv")


@pytest.mark.parametrize("name", ["votes.dat", "votes.dat.gz", "votes.doc"])
def test_a_name_that_does_not_say_its_format(name: str) -> None:
    Path(name).write_bytes(CSV)
    refuse(
        2,
        f"The name {name} does not say its format: use {FORMATS} (also with .gz, .zst, .bz2, .xz"
        " or .zip behind), or say it with format (--format).",
        name,
        "-o",
        "out/labels.csv",
    )
    assert answer(name, "--format", "csv")[0] == ANSWERS


@pytest.mark.parametrize("name", ["votes.txt", "votes", "votes.gz"])
def test_a_name_that_says_nothing_leaves_the_format_to_the_file(name: str) -> None:
    Path(name).write_bytes(CSV)
    assert answer(name)[0] == ANSWERS


def test_a_wide_table_and_its_options() -> None:
    wide = "id,gpt,claude,llama,human\n1,yes,yes,No ,yes\n2,no,no,no,\n3,no,yes,yes,\n"
    Path("wide.csv").write_text(wide)
    long = [("1", "yes"), ("2", "no"), ("3", "yes")]
    for more in ((), ("--wide",), ("--worker-columns", "gpt,claude,llama")):
        assert answer("wide.csv", "--gold-column", "human", "--tidy", *more)[0] == long


def test_a_compressed_parquet() -> None:
    Path("v.parquet.gz").write_bytes(gzip.compress(PARQUET))
    refuse(2, "Parquet is compressed in itself: decompress v.parquet.gz first.", "v.parquet.gz")


def test_a_wrong_format_given() -> None:
    Path("v.csv").write_bytes(CSV)
    sentence = "v.csv is not a whole Parquet file: write or fetch it again."
    refuse(1, sentence, "v.csv", "--format", "parquet", "-o", "out/labels.csv")


def test_a_column_that_is_not_there() -> None:
    Path("v.csv").write_bytes(CSV)
    sentence = "v.csv has no column 'who': its columns are task, worker, label."
    refuse(1, sentence, "v.csv", "--worker-column", "who", "-o", "out/labels.csv")


def test_many_columns_and_odd_names_stay_on_one_short_line() -> None:
    names = [f"c{i}" for i in range(3000)] + ["x" * 5000]
    Path("v.csv").write_text(",".join(['"a\nb"', *names]) + "\n")
    result = run("aggregate", "v.csv")
    assert result.stderr == (
        r"quorate: v.csv has no column 'task': its columns are 'a\nb', "
        f"{', '.join(names[:39])} and 2,962 more; say which it is with task_column"
        " (--task-column).\n"
    )


# Where the output goes


@pytest.mark.parametrize("option", ["-o", "--workers", "--posterior", "--confusion", "--save"])
def test_an_output_directory_that_does_not_exist(option: str) -> None:
    Path("v.csv").write_bytes(CSV)
    path = "nowhere/file.csv"
    sentence = "There is no directory nowhere to write file.csv in."
    refuse(2, sentence, "v.csv", option, path)
    refuse(2, sentence, "v.csv", "-o" if option != "-o" else "--workers", "out/a.csv", option, path)


def test_an_output_that_is_a_directory() -> None:
    Path("v.csv").write_bytes(CSV)
    Path("out/labels.csv").mkdir()
    sentence = "out/labels.csv is a directory: name a file to write."
    refuse(2, sentence, "v.csv", "--workers", "out/workers.csv", "-o", "out/labels.csv")


@pytest.mark.parametrize("name", ["out/labels.xlsx", "out/labels"])
def test_an_output_of_unknown_format(name: str) -> None:
    Path("v.csv").write_bytes(CSV)
    sentence = f"The name {name} does not say its format: use {WRITTEN}."
    refuse(2, sentence, "v.csv", "-o", name)


@pytest.mark.parametrize("suffix", [".csv.gz", ".jsonl.zst", ".parquet.gz"])
def test_a_compressed_output(suffix: str) -> None:
    Path("v.csv").write_bytes(CSV)
    name = f"out/labels{suffix}"
    sentence = f"Quorate does not write compressed text: name {name} without its suffix."
    refuse(2, sentence, "v.csv", "-o", name)


def test_an_unknown_output_is_known_before_the_votes_are_read() -> None:
    Path("no.csv").write_bytes(b"no votes")
    refuse(2, "There is no directory nowhere to write a.csv in.", "no.csv", "-o", "nowhere/a.csv")


def test_two_outputs_of_one_name() -> None:
    Path("v.csv").write_bytes(CSV)
    sentence = "Two outputs go to out/a.csv: give each its own name."
    refuse(2, sentence, "v.csv", "-o", "out/a.csv", "--workers", "out/a.csv")


def test_two_tables_on_standard_output() -> None:
    Path("v.csv").write_bytes(CSV)
    refuse(2, "Only one table can go to standard output.", "v.csv", "-o", "-", "--workers", "-")


def test_a_failure_keeps_the_earlier_output() -> None:
    Path("v.csv").write_bytes(CSV + b"1,2,3,4\n")
    Path("out/labels.csv").write_text("earlier")
    assert run("aggregate", "v.csv", "-o", "out/labels.csv").exit_code == 1
    assert Path("out/labels.csv").read_text() == "earlier"


# The call


def test_an_unknown_method() -> None:
    Path("v.csv").write_bytes(CSV)
    result = run("aggregate", "v.csv", "-m", "oracle")
    assert result.exit_code == 2
    assert result.stderr.startswith("quorate: There is no method 'oracle': the methods are auto")
    assert result.stderr.count("\n") == 1


def test_an_option_that_the_method_does_not_have() -> None:
    Path("v.csv").write_bytes(CSV)
    sentence = (
        "majority has no option 'smoothing': its options are ties, seed; dawid-skene,"
        " fast-dawid-skene, hybrid, hierarchical, ibcc, naive-bayes, one-coin, spectral have it."
    )
    refuse(2, sentence, "v.csv", "-m", "majority", "--smoothing", "1", "-o", "out/labels.csv")


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--smoothing", "-1", "smoothing must be a number of at least 0, not -1.0."),
        ("--tol", "nan", "tol must be a number of at least 0, not nan."),
        ("--max-iter", "0", "Invalid value for '--max-iter': 0 is not in the range x>=1."),
        (
            "--set",
            "prior=yes",
            "prior is estimated, uniform, root, or shares such as yes=0.7,no=0.3; not 'yes'.",
        ),
        (
            "--set",
            "prior=yes=0.5,yes=0.5",
            "prior is estimated, uniform, root, or shares such as yes=0.7,no=0.3; not"
            " 'yes=0.5,yes=0.5'.",
        ),
        (
            "--set",
            "prior=yes=1,maybe=1",
            "prior needs a share of at least 0 for each of the 2 classes (no, yes), not"
            " {'yes': 1.0, 'maybe': 1.0}.",
        ),
        (
            "--set",
            "prior=yes=1",
            "prior needs a share of at least 0 for each of the 2 classes (no, yes), not"
            " {'yes': 1.0}.",
        ),
        (
            "--set",
            "prior=-1,2",
            "prior needs a share of at least 0 for each of the 2 classes (no, yes), not"
            " [-1.0, 2.0].",
        ),
        (
            "--set",
            "prior=nan,1",
            "prior needs a share of at least 0 for each of the 2 classes (no, yes), not"
            " [nan, 1.0].",
        ),
        (
            "--set",
            "prior=0,0",
            "prior needs a share of at least 0 for each of the 2 classes (no, yes), not"
            " [0.0, 0.0].",
        ),
    ],
)
def test_an_option_out_of_range(option: str, value: str, sentence: str) -> None:
    Path("v.csv").write_bytes(CSV)
    refuse(2, sentence, "v.csv", "-m", "dawid-skene", option, value, "-o", "out/labels.csv")


# Other tables


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "gold.csv is empty."),
        (
            b"task,truth,by\n1,yes,ann\n",
            "gold.csv has no column 'label': its columns are task, truth, by; "
            + NO_COLUMN.format("label"),
        ),
        (b"task,label\n1,yes\n1,no\n", "gold.csv gives task '1' more than one answer."),
        (b"task,label\n1,\xff\n", "gold.csv, line 2 is not valid UTF-8: save the file as UTF-8."),
        (
            b"task,label\n1,3\n",
            "The gold label 3 is of another type than the votes' labels, such as 'no'.",
        ),
    ],
)
def test_bad_gold(content: bytes, sentence: str) -> None:
    Path("v.csv").write_bytes(CSV)
    Path("gold.csv").write_bytes(content)
    refuse(1, sentence, "v.csv", "--gold", "gold.csv", "-o", "out/labels.csv")


def test_gold_of_unknown_tasks_and_without_answers_is_counted() -> None:
    Path("v.csv").write_bytes(CSV)
    Path("gold.csv").write_bytes(b"task,label\n1,no\n9,perhaps\n8,yes\n2,\n")
    labels, summary = answer("v.csv", "--gold", "gold.csv")
    assert labels == [("1", "no"), ("2", "no")]
    assert summary["notes"] == [
        "1 of 4 gold answers lack a field, and are left out.",
        "2 of 3 gold answers are of tasks without votes, and are left out.",
    ]
    assert list(summary["found"]["class_shares"]) == ["no", "yes"]


def test_gold_without_answers_is_said() -> None:
    Path("v.csv").write_bytes(CSV)
    Path("gold.csv").write_bytes(b"task,label\n")
    assert answer("v.csv", "--gold", "gold.csv")[1]["notes"] == ["There are no gold answers."]


HISTORY = "worker,truth,label,count\n"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            "worker,label,count\n",
            "h.csv has no column 'truth': its columns are worker, label, count; name one of them"
            " truth.",
        ),
        (
            HISTORY + "ann,yes,maybe,1\n",
            "worker_prior has the label 'maybe', which is none of no, yes.",
        ),
        (
            HISTORY + "ann,maybe,yes,1\n",
            "worker_prior has the truth 'maybe', which is none of no, yes.",
        ),
        (
            HISTORY + "ann,yes,yes,-1\n",
            "worker_prior has a value that is negative, or not a number.",
        ),
        (
            HISTORY + "ann,yes,yes,inf\n",
            "worker_prior has a value that is negative, or not a number.",
        ),
    ],
)
def test_a_bad_history(content: str, sentence: str) -> None:
    Path("v.csv").write_bytes(CSV)
    Path("h.csv").write_text(content)
    refuse(1, sentence, "v.csv", *DS, "worker_prior=h.csv", "-o", "out/labels.csv")


def test_history_of_unknown_workers_is_counted() -> None:
    Path("v.csv").write_bytes(CSV)
    Path("h.csv").write_text(
        HISTORY + "ann,yes,yes,5\nzoe,yes,no,1\nzoe,no,no,1\nann,no,no,\nann,no,no,many\n"
    )
    _, summary = answer("v.csv", *DS, "worker_prior=h.csv")
    assert summary["notes"] == [
        "2 of 5 rows of worker_prior lack a field, and are left out.",
        "1 of 2 workers in worker_prior have no votes here, and are left out.",
    ]


def test_a_start_for_nobody() -> None:
    Path("v.csv").write_bytes(CSV)
    Path("i.csv").write_text("worker,truth,label,probability\nzoe,yes,yes,1\n")
    sentence = "init has no matrix for any worker of these votes."
    refuse(1, sentence, "v.csv", *DS, "init=i.csv", "-o", "out/labels.csv")


def test_a_start_that_is_not_of_probabilities() -> None:
    Path("v.csv").write_bytes(CSV)
    Path("i.csv").write_text("worker,truth,label,probability\nann,yes,yes,3\n")
    sentence = "init has probabilities of one worker and truth that do not sum to 1."
    refuse(1, sentence, "v.csv", *DS, "init=i.csv", "-o", "out/labels.csv")


@pytest.mark.parametrize("content", [b"", b"not a result", b"PK\x03\x04 nor this"])
def test_a_saved_result_that_is_none(content: bytes) -> None:
    Path("v.csv").write_bytes(CSV)
    Path("r.quorate").write_bytes(content)
    sentence = "r.quorate is not a whole result of Quorate: save it again."
    refuse(1, sentence, "v.csv", *DS, "worker_prior=r.quorate", "-o", "out/labels.csv")


# What is odd and yet right

RIGHT: dict[str, tuple[str, bytes, int]] = {
    "byte-order mark": ("v.csv", b"\xef\xbb\xbf" + CSV, 0),
    "byte-order mark and quotes": (
        "v.csv",
        b"\xef\xbb\xbf" + CSV.replace(b"task,", b'"task",'),
        0,
    ),
    "CRLF": ("v.csv", CSV.replace(b"\n", b"\r\n"), 0),
    "no last line end": ("v.csv", CSV.rstrip(), 0),
    "tabs": ("v.tsv", CSV.replace(b",", b"\t"), 0),
    "suffix in capitals": ("V.CSV", CSV, 0),
    "gzip": ("v.csv.gz", gzip.compress(CSV), 0),
    "zstd": ("v.csv.zst", zstandard.compress(CSV), 0),
    "gzip by name only, text in fact": ("v.csv.gz", CSV, 0),
    "gzip without saying so": ("v.csv", gzip.compress(CSV), 0),
    "gzip and tabs": ("v.tsv.gz", gzip.compress(CSV.replace(b",", b"\t")), 0),
    "columns in another order": (
        "v.csv",
        b"label,note,task,worker\nyes,,1,ann\nno,x,1,bob\nyes,,1,eve\nno,,2,ann\n",
        0,
    ),
    "other words for the columns": ("v.csv", CSV.replace(b"task,worker", b"Item ID,annotator"), 0),
    "short lines": ("v.csv", CSV + b"3,ann\n4\n", 2),
    "blank lines": ("v.csv", CSV + b"\n\n", 2),
    "missing fields": ("v.csv", CSV + b',ann,yes\n3,,yes\n3,ann,\n3,ann,""\n', 4),
    "NaN": ("v.csv", CSV + b"3,ann,NaN\nnan,ann,yes\n", 2),
    "json lines": ("v.jsonl", JSON, 0),
    "json lines with CRLF": ("v.ndjson", JSON.replace(b"\n", b"\r\n"), 0),
    "json lines, compressed": ("v.jsonl.gz", gzip.compress(JSON), 0),
    "json lines, compressed by zstd": ("v.jsonl.zst", zstandard.compress(JSON), 0),
    "json lines with a byte-order mark": ("v.jsonl", b"\xef\xbb\xbf" + JSON, 0),
    "json lines with blank ones": ("v.jsonl", b"\n" + JSON.replace(b"\n", b"\n\n"), 0),
    "json lines without a field": (
        "v.jsonl",
        JSON + b'{"task": 3}\n{"task": 3, "worker": "ann", "label": null}\n{}\n',
        3,
    ),
    "json lines with the words for missing": (
        "v.jsonl",
        JSON + b'{"task": 2, "worker": "", "label": "yes"}\n'
        b'{"task": 2, "worker": "bob", "label": "NaN"}\n',
        2,
    ),
    "a name with wildcards": ("v[1]*.csv", CSV, 0),
    "a name with wildcards, json": ("v[1]*.jsonl", JSON, 0),
    "a name like a partition": ("label=7.csv", CSV, 0),
    "a name with a line end": ("v\n.csv", CSV, 0),
}


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_odd_and_yet_right(case: str) -> None:
    name, content, dropped = RIGHT[case]
    Path(name).write_bytes(content)
    Path("v1.csv").write_bytes(b"task,worker,label\nwrong,file,here\n")
    Path("v1.jsonl").write_bytes(b'{"task": 0, "worker": "wrong", "label": "file"}\n')
    labels, summary = answer(name)
    assert labels == ANSWERS
    assert summary["read"]["dropped_missing"] == dropped
    assert summary["read"]["rows"] == summary["read"]["labels"] + dropped


@pytest.mark.parametrize("case", RIGHT)
def test_the_same_on_standard_input(case: str) -> None:
    name, content, dropped = RIGHT[case]
    options = ["--format", "jsonl"] if name.endswith(".jsonl.zst") else []
    labels, summary = answer("-", *options, stdin=content)
    assert labels == ANSWERS
    assert summary["read"]["dropped_missing"] == dropped


@pytest.mark.skipif(sys.platform == "win32", reason="has no named pipes")
def test_a_pipe_is_read_once() -> None:
    os.mkfifo("pipe.csv")
    writer = threading.Thread(target=Path("pipe.csv").write_bytes, args=(CSV,))
    writer.start()
    labels, _ = answer("pipe.csv")
    writer.join()
    assert labels == ANSWERS


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux only")
def test_a_name_that_is_not_text() -> None:
    name = os.fsdecode(b"v\xff.csv")
    Path(name).write_bytes(CSV)
    assert answer(name)[0] == ANSWERS
    result = run("aggregate", os.fsdecode(b"w\xff.csv"))
    assert result.stderr == "quorate: There is no file 'w\\udcff.csv'.\n"


def test_a_directory_like_a_partition() -> None:
    Path("task=7").mkdir()
    Path("task=7/v.parquet").write_bytes(PARQUET)
    assert answer("task=7/v.parquet")[0] == [("1", "false"), ("2", "true")]


def test_quoted_line_ends_separators_and_quotes() -> None:
    Path("v.csv").write_bytes(b'task,worker,label\n"a\nb",ann,"x,""y"""\n"a\nb",bob,"x,""y"""\n')
    labels, summary = answer("v.csv")
    assert labels == [("a\nb", 'x,"y"')]
    assert summary["read"]["rows"] == 2


def test_very_long_fields() -> None:
    task, worker, label = "t" * 200_000, "w" * 200_000, "l" * 200_000
    Path("v.csv").write_text(f"task,worker,label\n{task},{worker},{label}\n{task},bob,no\n")
    result = run("aggregate", "v.csv", "-m", "majority")
    assert result.exit_code == 0
    assert len(result.stdout) < 5000
    assert run("aggregate", "v.csv", "-m", "majority", "-o", "out/l.jsonl").exit_code == 0
    assert json.loads(Path("out/l.jsonl").read_text())["task"] == task


def test_repeated_rows_count_unless_told_otherwise() -> None:
    Path("v.csv").write_bytes(b"task,worker,label\n1,ann,yes\n1,ann,no\n1,ann,no\n1,bob,yes\n")
    labels, summary = answer("v.csv")
    assert labels == [("1", "no")]
    assert summary["read"]["repeats_counted"] == 2 and summary["read"]["labels"] == 4
    for keep, expected in (("first", "yes"), ("last", "no")):
        labels, summary = answer("v.csv", "--repeats", keep)
        assert labels == [("1", expected)]
        assert summary["read"]["dropped_repeats"] == 2 and summary["read"]["labels"] == 2
        assert summary["read"]["repeats_counted"] == 0


def test_other_words_for_missing() -> None:
    rows = [("1", "ann", "yes"), ("1", "bob", "n/a"), ("2", "ann", "NaN"), ("2", "-", "no")]
    table = pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")
    table.write_csv("v.csv")
    table.write_ndjson("v.jsonl")
    table.write_parquet("v.parquet")
    Path("gold.csv").write_text("task,label\n1,n/a\n2,NaN\n")
    for name in ("v.csv", "v.jsonl", "v.parquet"):
        options = (name, "--missing", "n/a", "--missing", "-", "--gold", "gold.csv")
        labels, summary = answer(*options)
        assert labels == [("1", "yes"), ("2", "NaN")]
        assert summary["read"]["dropped_missing"] == 2
        counted, lacking, *doubts = summary["notes"]
        assert counted.startswith("'NaN' (1 vote) is counted as a label")
        assert lacking == "1 of 2 gold answers lack a field, and are left out."
        assert doubts == ["All votes are of one worker: how sure the answers are cannot be told."]


def test_gold_by_the_column_names_of_the_votes() -> None:
    Path("v.csv").write_bytes(CSV.replace(b"task,worker,label", b"url,who,says"))
    columns = ("--task-column", "url", "--worker-column", "who", "--label-column", "says")
    for header in (b"url,says\n", b"task,label\n", b"url,label\n"):
        Path("gold.csv").write_bytes(header + b"1,no\n")
        labels, summary = answer("v.csv", *columns, "--gold", "gold.csv")
        assert labels == [("1", "no"), ("2", "no")]
        assert summary["notes"] == []


def test_the_callers_column_names_come_back() -> None:
    Path("v.csv").write_bytes(CSV.replace(b"task,worker", b"Item ID,annotator"))
    result = run("aggregate", "v.csv", "-o", "labels.csv", "--workers", "workers.csv")
    assert result.exit_code == 0, result.stderr
    assert Path("labels.csv").read_text().startswith("Item ID,label,confidence\n")
    assert Path("workers.csv").read_text().startswith("annotator,labels,")


# Little to go by


@pytest.mark.parametrize("method", ["majority", "dawid-skene", "fast-dawid-skene", "one-coin"])
@pytest.mark.parametrize(
    ("votes", "labels"),
    [
        ("1,ann,yes", [("1", "yes")]),
        ("1,ann,yes\n2,ann,yes", [("1", "yes"), ("2", "yes")]),
        ("1,ann,yes\n2,ann,no", [("1", "yes"), ("2", "no")]),
        ("1,ann,yes\n1,bob,yes\n2,bob,yes", [("1", "yes"), ("2", "yes")]),
        (
            "1,ann,yes\n1,bob,yes\n1,eve,yes\n2,ann,yes\n2,bob,yes\n2,eve,no",
            [("1", "yes"), ("2", "yes")],
        ),
    ],
    ids=["one vote", "one class", "one worker", "two workers agree", "a label seen once"],
)
def test_little_to_go_by(method: str, votes: str, labels: list[tuple[str, str]]) -> None:
    Path("v.csv").write_text(f"task,worker,label\n{votes}\n")
    found, summary = answer("v.csv", "-m", method)
    assert found == labels
    if "no" not in votes:
        assert summary["notes"] == ["All votes say 'yes': there is nothing to decide."]
