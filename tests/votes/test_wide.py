"""Wide tables: one column for each worker gives the votes of its cells, whatever it is kept in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quorate
from quorate.errors import DataError, UsageError
from quorate.votes import Votes, read_votes

JUDGED = pl.DataFrame(
    {
        "id": ["q1", "q2", "q3", "q4"],
        "text": ["Why?", "How?", "Who?", "What?"],
        "length": [4.5, 7.1, 3.3, 9.0],
        "gpt": ["A", "B", "tie", "A"],
        "claude": ["A", "B", "B", None],
        "llama": ["B", "B", "tie", "A"],
        "human": ["A", None, None, None],
    }
)
JUDGES = ["gpt", "claude", "llama"]


def cells(votes: Votes) -> list[tuple[Any, Any, Any]]:
    """All votes by name, in task order."""
    found, book = votes.labels, votes.codebook
    return [
        (book.tasks[int(task)], book.workers[int(worker)], book.classes[int(label)])
        for task, worker, label in zip(
            found.task_of_label(), found.worker, found.label, strict=True
        )
    ]


def filled(frame: pl.DataFrame, task: str, workers: list[str]) -> list[tuple[Any, Any, Any]]:
    """The cells that are filled, by plain loops."""
    return [
        (row[task], worker, row[worker])
        for row in frame.iter_rows(named=True)
        for worker in workers
        if row[worker] is not None
    ]


def written(write: Callable[[pl.DataFrame, Path], Any], name: str) -> Callable[..., Any]:
    def source(frame: pl.DataFrame, directory: Path) -> Path:
        write(frame, directory / name)
        return directory / name

    return source


KINDS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "polars": lambda frame, _: frame,
    "polars, lazy": lambda frame, _: frame.lazy(),
    "pandas": lambda frame, _: frame.to_pandas(),
    "pandas, indexed": lambda frame, _: frame.to_pandas().set_index(frame.columns[0]),
    "arrow": lambda frame, _: frame.to_arrow(),
    "csv": written(pl.DataFrame.write_csv, "w.csv"),
    "csv with semicolons": written(lambda f, path: f.write_csv(path, separator=";"), "s.csv"),
    "parquet": written(pl.DataFrame.write_parquet, "w.parquet"),
    "jsonl": written(pl.DataFrame.write_ndjson, "w.jsonl"),
    "json": written(lambda f, path: path.write_text(json.dumps(f.to_dicts())), "w.json"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_wide_table_is_found_by_itself(kind: str, tmp_path: Path) -> None:
    votes = read_votes(KINDS[kind](JUDGED.drop("human"), tmp_path))
    assert cells(votes) == filled(JUDGED, "id", JUDGES)
    assert votes.report.rows == 11 and votes.report.missing == 0
    assert votes.notes == (
        "A wide table: id as task, gpt, claude, llama as workers; left out: text, length.",
    )
    assert dict(votes.kind.columns) == {"task": "id"}


WORDS = st.one_of(st.none(), st.sampled_from(["A", "B", "tie", "[[A]]", "pass", " a", "ä,;|\t'"]))


@st.composite
def wide_frames(draw: st.DrawFn) -> pl.DataFrame:
    n, workers = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    values = draw(
        st.one_of(
            st.just(WORDS),
            st.just(st.one_of(st.none(), st.integers(-3, 9))),
            st.just(st.one_of(st.none(), st.booleans())),
        )
    )
    columns = {f"judge {i}": draw(st.lists(values, min_size=n, max_size=n)) for i in range(workers)}
    return pl.DataFrame({"item": [f"t{i}" for i in range(n)], **columns}, infer_schema_length=None)


@pytest.mark.parametrize("kind", KINDS)
@given(frame=wide_frames())
def test_any_cells_give_exactly_their_votes(
    kind: str, frame: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory
) -> None:
    workers = frame.columns[1:]
    expected = filled(frame, "item", workers)
    source = KINDS[kind](frame, tmp_path_factory.mktemp("wide"))
    if not expected:
        with pytest.raises(DataError, match="has no row with a task, a worker and a label"):
            read_votes(source, workers=workers)
        return
    votes = read_votes(source, workers=workers)
    assert cells(votes) == expected
    assert votes.report.tasks_without_votes == len(frame) - len({task for task, _, _ in expected})


@given(cells_of=st.lists(st.lists(st.one_of(st.none(), WORDS), min_size=3, max_size=3), min_size=1))
def test_any_matrix_of_words_gives_exactly_its_votes(cells_of: list[list[Any]]) -> None:
    rows = [
        (task, worker, label)
        for task, row in enumerate(cells_of)
        for worker, label in enumerate(row)
        if label is not None
    ]
    if not rows:
        return
    assert cells(read_votes(np.array(cells_of, dtype=object))) == rows


def test_on_disk_the_answers_are_those_in_memory(tmp_path: Path) -> None:
    frame = JUDGED.drop("human")
    expected = quorate.aggregate(frame, "majority")
    for kind in ("csv", "parquet", "jsonl"):
        source = KINDS[kind](frame, tmp_path)
        result = quorate.aggregate(source, "majority", engine="disk")
        assert result.labels.collect().equals(expected.labels)
        assert result.notes == expected.notes
    alone = JUDGED.select(JUDGES)
    path = KINDS["parquet"](alone, tmp_path)
    numbered = quorate.aggregate(path, "majority", engine="disk").labels.collect()
    assert numbered["task"].to_list() == [0, 1, 2, 3]
    assert numbered.equals(quorate.aggregate(alone, "majority").labels)


def test_a_store_of_a_wide_table_is_used_again_with_the_same_workers_only(tmp_path: Path) -> None:
    path, store = KINDS["csv"](JUDGED, tmp_path), tmp_path / "store"
    for gold in ("human", "human"):
        quorate.aggregate(path, "majority", store=store, gold=gold)
    with pytest.raises(UsageError, match="holds other votes"):
        quorate.aggregate(path, "majority", store=store)


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_of_gold_is_no_worker(kind: str, tmp_path: Path) -> None:
    source = KINDS[kind](JUDGED, tmp_path)
    counted = read_votes(source)
    assert "human" in counted.codebook.workers
    assert counted.notes[1] == (
        "If human, which has 1 of 4 cells filled, holds known answers, say gold='human'"
        " (--gold-column human)."
    )
    result = quorate.aggregate(source, "majority", gold="human")
    assert result.codebook.workers.to_list() == JUDGES
    assert pl.DataFrame(result.workers)["gold_accuracy"].to_list() == [1, 1, 0]


def test_a_column_that_is_called_gold_is_left_out_and_named() -> None:
    votes = read_votes(JUDGED.rename({"human": "gold"}))
    assert votes.codebook.workers.to_list() == JUDGES
    assert votes.notes[1] == ("If gold holds known answers, say gold='gold' (--gold-column gold).")


def test_every_verb_takes_wide_tables_with_gold() -> None:
    many = pl.concat([JUDGED.with_columns(pl.col("id") + f"-{i}") for i in range(10)])
    assert quorate.compare(many, ["majority"], gold="human").table["method"].to_list()
    assert quorate.diagnose(many, gold="human").graph
    assert quorate.assign(many.drop("human"), 2).table.height == 2
    known = quorate.aggregate(many, "majority", gold="human")
    assert known.predict(many.drop("human")).height == 40


def test_labels_stay_as_people_write_them(tmp_path: Path) -> None:
    for first, second in (("[[A]]", "[[B]]"), ("pass", "fail"), ("True", "False"), ("C", "tie")):
        frame = pl.DataFrame({"id": [1, 2], "x": [first, second], "y": [first, first]})
        path = tmp_path / "v.csv"
        frame.write_csv(path)
        assert read_votes(path).codebook.classes.to_list() == sorted([first, second])
    numbers = pl.DataFrame({"id": [11, 12], "x": [1, 2], "y": [2, 1]})
    assert cells(read_votes(numbers)) == [(11, "x", 1), (11, "y", 2), (12, "x", 2), (12, "y", 1)]


# Which column is the task


def test_a_frame_of_annotators_by_item_as_cleanlab_takes_it() -> None:
    frame = pd.DataFrame([[0, 1, np.nan], [1, 1, np.nan], [np.nan, 0, 1]], index=[7, 8, 9])
    votes = read_votes(frame)
    assert cells(votes) == [(7, 0, 0), (7, 1, 1), (8, 0, 1), (8, 1, 1), (9, 1, 0), (9, 2, 1)]
    assert votes.notes[0] == "A wide table: rows as tasks, 0, 1, 2 as workers."


def test_a_label_matrix_of_snorkel_abstains_with_minus_one() -> None:
    matrix = np.array([[-1, 0, 1], [1, -1, -1]])
    expected = [(0, 1, 0), (0, 2, 1), (1, 0, 1)]
    assert cells(read_votes(matrix)) == expected
    frame = pd.DataFrame(matrix)
    assert cells(read_votes(frame, missing="-1")) == expected
    assert (
        "-1 (3 votes) is counted as a label: missing (--missing -1) leaves it out."
        in read_votes(frame).notes
    )


def test_columns_of_a_matrix_can_be_named() -> None:
    matrix = np.array([["A", ""], ["B", "A"]])
    assert cells(read_votes(matrix, workers=["gpt", "claude"])) == [
        (0, "gpt", "A"),
        (1, "gpt", "B"),
        (1, "claude", "A"),
    ]
    with pytest.raises(UsageError, match=r"^workers names 1 columns: the matrix has 2\.$"):
        read_votes(matrix, workers=["gpt"])


@pytest.mark.parametrize(
    ("columns", "task"),
    [
        ({"sample_id": ["a", "b", "c", "d"], "prompt": ["p"] * 4}, "sample_id"),
        ({"Unnamed: 0": [0, 1, 2, 3], "text": ["x", "y", "z", "x"]}, "Unnamed: 0"),
        ({"photo": ["1.jpg", "2.jpg", "3.jpg", "4.jpg"], "size": [1.5] * 4}, "photo"),
        ({"note": ["x", "x", "y", "z"]}, None),
    ],
)
def test_the_task_is_found_by_name_or_as_the_only_column_that_tells_rows_apart(
    columns: dict[str, list[Any]], task: str | None
) -> None:
    votes = read_votes(pl.DataFrame(columns).hstack(JUDGED.select(JUDGES)))
    expected = list(range(4)) if task is None else columns[task]
    assert votes.codebook.tasks.to_list() == expected


def test_rows_of_several_files_have_no_numbers(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        JUDGED.select(JUDGES).write_csv(tmp_path / name)
    with pytest.raises(DataError, match=r"rows of several files have no numbers: say which"):
        read_votes(tmp_path)
    for name in ("a.csv", "b.csv"):
        JUDGED.select(pl.col("id") + name, *JUDGES).write_csv(tmp_path / name)
    assert read_votes(tmp_path).labels.n_tasks == 8


# Doubts


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (
            JUDGED.rename({"gpt": "model_a", "claude": "model_b"}).drop("llama", "human"),
            "looks wide: model_a, model_b may be workers, which is in doubt; if they are, say"
            " workers=['model_a', 'model_b'] (--worker-columns model_a,model_b).",
        ),
        (
            pl.DataFrame({"id": [1, 2], "x": [1, 5], "y": [5, 1], "turn": [1, 2]}),
            "looks wide: x, y, turn may be workers",
        ),
        (
            pl.DataFrame({"id": [1], "x": ["A"], "y": ["A"]}),
            "looks wide: x, y may be workers",
        ),
        (
            JUDGED.with_columns(p=pl.lit("good"), q=pl.lit("good")).drop("human"),
            "looks wide: gpt, claude, llama may be workers",
        ),
        (
            JUDGED.rename({"id": "photo"}).drop("human").rename({"text": "reply"}),
            "but the task may be photo or reply: say which with task_column (--wide --task-column"
            " photo).",
        ),
        (
            pl.DataFrame({"task": [1, 2], "label": ["a", "b"], "truth": ["a", "b"]}),
            "no column 'wor",
        ),
    ],
)
def test_in_doubt_the_error_says_what_to_type(frame: pl.DataFrame, said: str) -> None:
    with pytest.raises(DataError) as raised:
        read_votes(frame)
    assert said in str(raised.value)


def test_what_is_said_goes_before_any_doubt() -> None:
    frame = JUDGED.rename({"gpt": "model_a", "claude": "model_b"})
    assert read_votes(frame, wide=True).labels.n_workers == 4
    named = read_votes(frame, workers=["model_a", "model_b"], task_column="text")
    assert named.codebook.workers.to_list() == ["model_a", "model_b"]
    assert named.codebook.tasks.to_list() == JUDGED["text"].to_list()
    with pytest.raises(DataError, match="has no column 'worker'"):
        read_votes(JUDGED, wide=False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"workers": ["nobody"]}, r"has no column 'nobody': its columns are "),
        ({"workers": ["gpt", "gpt"]}, r"^workers names a column twice"),
        ({"workers": "gpt"}, r"^workers are names of columns, in a list, not 'gpt'\.$"),
        ({"wide": True, "worker_column": "gpt"}, r"^worker_column is of tables with a vote in"),
        ({"wide": True, "task_column": "nothing"}, r"has no column 'nothing'"),
    ],
)
def test_options_that_do_not_fit(options: Any, said: str) -> None:
    with pytest.raises((DataError, UsageError), match=said):
        read_votes(JUDGED, **options)


def test_workers_of_several_types_are_one_sentence() -> None:
    frame = pl.DataFrame({"id": [1], "x": [True], "y": ["yes"]})
    with pytest.raises(DataError, match=r"has workers' labels of several types, Boolean in x and"):
        read_votes(frame, workers=["x", "y"])


def test_a_worker_called_expert_is_a_column_of_a_wide_table() -> None:
    votes = read_votes(JUDGED.rename({"llama": "expert"}).drop("human"))
    assert votes.codebook.workers.to_list() == ["gpt", "claude", "expert"]
