"""Votes of any kind as one long table, and the questions of an export one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import quorate
from quorate.by_question import aggregate_each
from quorate.cli import main
from quorate.errors import DataError, UsageError
from quorate.votes import convert, read_votes
from quorate.votes.conversion import stacked

ROWS = [(1, "ann", "yes", "one"), (1, "bob", None, "one"), (2, "ann", "no", "two")]
TABLE = pl.DataFrame(ROWS, schema=["task", "worker", "label", "text"], orient="row")
COMPLETE = [row for row in ROWS if None not in row]


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(main, [str(each) for each in arguments])
    return done.exit_code, done.output


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Prodigy's, with two questions, of which one has numbers as answers' tasks too."""
    said = [
        (1, "spam", "accept", "ann"),
        (1, "spam", "accept", "bob"),
        (2, "spam", "reject", "ann"),
        (2, "spam", "ignore", "bob"),
        (2, "ham", "accept", "bob"),
        (1, "ham", "reject", "bob"),
    ]
    records = [
        {
            "text": f"text {task}",
            "label": question,
            "answer": answer,
            "_input_hash": task,
            "_task_hash": task,
            "_annotator_id": worker,
            "_timestamp": 5,
        }
        for task, question, answer, worker in said
    ]
    path = tmp_path / "export.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    return path


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("of", ["csv", "jsonl", "parquet"])
def test_a_table_in_any_format_becomes_one_in_any_other(
    of: str, suffix: str, tmp_path: Path
) -> None:
    votes, out = tmp_path / f"votes.{of}", tmp_path / f"long.{suffix}"
    {"csv": TABLE.write_csv, "jsonl": TABLE.write_ndjson, "parquet": TABLE.write_parquet}[of](votes)
    code, said = run("convert", votes, "-o", out, "--keep", "text")
    assert code == 0, said
    assert "2 of 3 rows" in said and "1 with a missing field" in said
    read = {
        "csv": pl.read_csv,
        "tsv": lambda path: pl.read_csv(path, separator="\t"),
        "jsonl": pl.read_ndjson,
        "parquet": pl.read_parquet,
    }[suffix](out)
    assert read.columns == ["task", "worker", "label", "text"]
    assert read.rows() == COMPLETE


def test_columns_get_their_usual_names_and_files_are_queries(tmp_path: Path) -> None:
    TABLE.rename({"task": "item_id", "worker": "rater"}).write_csv(tmp_path / "votes.csv")
    found = convert(tmp_path / "votes.csv")
    assert isinstance(found.table, pl.LazyFrame)
    assert found.table.collect().rows() == [row[:3] for row in COMPLETE]
    assert found.table.collect_schema() == {
        "task": pl.Int64,
        "worker": pl.String,
        "label": pl.String,
    }
    with pytest.raises(UsageError, match="keep names 'rater'"):
        convert(tmp_path / "votes.csv", keep="rater")


@pytest.mark.parametrize(
    "source", [TABLE, TABLE.to_pandas(), TABLE.to_arrow(), [row[:3] for row in ROWS]]
)
def test_what_is_in_memory_is_converted_too(source: Any) -> None:
    found = convert(source)
    assert found.table.lazy().collect().rows() == [row[:3] for row in COMPLETE]
    assert (found.votes, found.report.missing) == (2, 1)


def test_repeats_are_dropped_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("task,worker,label\n1,ann,a\n1,ann,b\n")
    assert convert(path).table.lazy().collect().height == 2
    last = convert(path, repeats="last")
    assert last.table.lazy().collect().rows() == [(1, "ann", "b")]
    assert last.as_dict()["dropped_repeats"] == 1


def test_an_export_has_its_questions_in_a_column_and_says_what_was_dropped(export: Path) -> None:
    found = convert(export, keep="text")
    table = found.table.lazy().collect()
    assert table.columns == ["question", "task", "worker", "label", "time", "text"]
    assert table["question"].to_list() == ["spam"] * 3 + ["ham"] * 2
    assert found.as_dict()["dropped_of_export"] == {"ignored": 1}
    assert found.as_dict()["questions"] == {"spam": 3, "ham": 2}
    code, said = run("convert", export)
    assert code == 0
    assert "Prodigy" in said and "spam (3), ham (2)" in said and "1 ignored" in said


def test_one_question_is_a_table_without_that_column(export: Path) -> None:
    table = convert(export, question="ham").table.lazy().collect()
    assert table.columns == ["task", "worker", "label", "time"]
    assert table.select("task", "label").rows() == [(2, "accept"), (1, "reject")]
    with pytest.raises(DataError, match="no question 'eggs'"):
        convert(export, question="eggs")


def test_a_converted_table_reads_as_the_same_votes(export: Path, tmp_path: Path) -> None:
    out = tmp_path / "votes.parquet"
    code, said = run("convert", export, "--question", "spam", "-o", out, "-q")
    assert code == 0, said
    before, after = read_votes(export, question="spam"), read_votes(out)
    assert after.table.rows() == before.table.rows()


def test_known_answers_that_are_not_there_are_one_sentence(export: Path, tmp_path: Path) -> None:
    code, said = run("convert", export, "--gold-output", tmp_path / "gold.csv")
    assert code == 1
    assert "no known answers" in said
    assert not (tmp_path / "gold.csv").exists()


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("task,worker,label\n1,ann,\n")
    with pytest.raises(DataError, match="no row with a task"):
        convert(tmp_path / "votes.csv")
    (tmp_path / "votes.csv").write_text("task,label\n1,a\n")
    with pytest.raises(DataError, match="no column 'worker'"):
        convert(tmp_path / "votes.csv")


# Questions


def test_questions_of_an_export_are_named_with_their_votes(export: Path, tmp_path: Path) -> None:
    assert quorate.questions(export) == {"spam": 3, "ham": 2}
    TABLE.write_csv(tmp_path / "votes.csv")
    assert quorate.questions(tmp_path / "votes.csv") == {}


def test_every_question_is_a_run_of_its_own(export: Path, tmp_path: Path) -> None:
    out, workers = tmp_path / "labels.csv", tmp_path / "workers.csv"
    arguments = ["-m", "majority", "--question", "all", "--keep", "text"]
    code, said = run("aggregate", export, *arguments, "-o", out, "--workers", workers)
    assert code == 0, said
    assert "Question spam" in said and "Question ham" in said
    labels = pl.read_csv(out)
    assert labels.columns == ["question", "task", "label", "confidence", "text"]
    for question in ("spam", "ham"):
        alone = quorate.aggregate(export, "majority", question=question, keep="text").labels
        part = labels.filter(pl.col("question") == question).drop("question")
        assert part.rows() == alone.rows()
    assert pl.read_csv(workers)["question"].to_list() == ["spam", "spam", "ham"]


def test_every_question_is_a_summary_in_json(export: Path) -> None:
    code, said = run("aggregate", export, "-m", "majority", "--question", "all", "--json")
    assert code == 0
    found = json.loads(said)
    assert list(found["questions"]) == ["spam", "ham"]
    assert found["questions"]["ham"]["read"]["labels"] == 2


def test_a_question_that_cannot_be_aggregated_is_left_out_and_named(
    export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aggregate = quorate.aggregate

    def failing(votes: Any, *more: Any, **how: Any) -> Any:
        if votes.report.question == "ham":
            raise DataError("These are no classes.")
        return aggregate(votes, *more, **how)

    monkeypatch.setattr("quorate.by_question.aggregate", failing)
    found = aggregate_each(export, "majority", question="all")
    assert list(found.results) == ["spam"]
    assert found.left_out == {"ham": "These are no classes."}
    code, said = run("aggregate", export, "-m", "majority", "--question", "all")
    assert code == 0
    assert "The question 'ham' is left out: These are no classes." in said


def test_what_is_of_one_question_is_refused_for_all(export: Path, tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "votes.csv")
    for arguments, why in (
        ([export, "--save", tmp_path / "x.quorate"], "result of one question"),
        ([export, "--gold", export], "gold is of one question"),
        ([tmp_path / "votes.csv"], "which holds one question"),
    ):
        code, said = run("aggregate", *arguments, "--question", "all")
        assert code in (1, 2)
        assert why in said


def test_tables_with_columns_of_several_types_are_stacked_as_text() -> None:
    one, other = pl.DataFrame({"label": [1], "a": [0.5]}), pl.DataFrame({"label": ["x"], "b": [1]})
    assert stacked([one, other]).rows() == [("1", 0.5, None), ("x", None, 1)]
    whole = pl.DataFrame({"label": [2]})
    assert stacked([one.drop("a"), whole])["label"].to_list() == [1, 2]
