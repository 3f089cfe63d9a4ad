"""A result: its tables, labels for new votes, and the file it is kept in."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import times

import quorate
from quorate import DataError, Labels, Result, UsageError
from quorate.kernels import Rows
from quorate.models import METHODS, make

NAMES = ["ann", "bob", "cid", "dan"]
VOTES = [
    (task, worker, ("no", "yes", "maybe")[int(said)])
    for task, row in enumerate(["0010", "1120", "2222", "0012", "1101", "2.21", "00.0", "1.11"])
    for worker, said in zip(NAMES, row, strict=True)
    if said != "."
]
WITH_MODELS = [n for n, method in METHODS.items() if {"init", "smoothing"} <= set(method.options)]


def fitted(method: str, **options: Any) -> Result:
    """Three classes, which a method for two takes in their order."""
    ordered = METHODS[method].two_classes_only
    return quorate.aggregate(VOTES, make(method, **options), ordered=ordered)


# Tables


@pytest.mark.parametrize("method", METHODS)
def test_tables(method: str) -> None:
    result = fitted(method)
    labels, workers, posterior = result.labels, result.workers, result.posterior_table
    assert labels.columns == ["task", "label", "confidence", *result.per_task]
    assert labels["task"].to_list() == list(range(8))
    assert labels["confidence"].to_list() == result.posterior.max(axis=1).tolist()
    assert workers.columns == ["worker", "labels", "agreement", "accuracy", "low", "high"]
    assert workers["worker"].to_list() == NAMES
    assert workers["labels"].to_list() == [8, 6, 7, 8]
    np.testing.assert_allclose(workers["agreement"], result.tally[:, 0] / result.tally.sum(axis=1))
    assert (workers["low"] <= workers["accuracy"]).all()
    assert (workers["accuracy"] <= workers["high"]).all()
    assert posterior.columns == ["task", "maybe", "no", "yes"]
    assert posterior.drop("task").to_numpy().tolist() == result.posterior.tolist()
    np.testing.assert_allclose(result.posterior.sum(axis=1), 1)
    for table in (labels, workers, posterior):
        assert all(column.is_finite().all() for column in table if column.dtype.is_float())


@pytest.mark.parametrize("method", WITH_MODELS)
def test_the_table_of_confusion_matrices(method: str) -> None:
    result = fitted(method, smoothing=0.1)
    table = result.confusion_table
    assert table.columns == ["worker", "truth", "label", "probability", "low", "high"]
    assert table.height == 4 * 3 * 3
    sums = table.group_by("worker", "truth").agg(pl.col("probability").sum())["probability"]
    np.testing.assert_allclose(sums, 1)
    assert (table["low"] <= table["probability"]).all()
    assert (table["probability"] <= table["high"]).all()
    ann = table.filter(worker="ann", truth="no", label="yes")["probability"].item()
    assert ann == result.confusion_intervals.mean[0, 1, 2]


def test_majority_has_no_confusion_matrices() -> None:
    with pytest.raises(UsageError, match=r"^majority has no confusion matrices\.$"):
        _ = fitted("majority").confusion_table


def test_a_class_called_task() -> None:
    result = quorate.aggregate([(1, "ann", "task"), (1, "bob", "label")], "majority")
    assert result.posterior_table.width == 3


def test_not_converging_is_a_field() -> None:
    result = fitted("dawid-skene", max_iter=1)
    assert (result.converged, result.iterations, len(result.objective)) == (False, 1, 1)


# New votes


# On so few votes the messages of kos do not settle; glad takes tasks for new, of any difficulty.
@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("kos", "glad")])
def test_the_same_votes_get_the_same_labels(method: str) -> None:
    result = fitted(method, **({"tol": 0} if method in WITH_MODELS else {}))
    again = result.predict(VOTES)
    assert again.columns == ["task", "label", "confidence"]
    assert again["task"].to_list() == result.labels["task"].to_list()
    assert again["label"].to_list() == result.labels["label"].to_list()
    np.testing.assert_allclose(again["confidence"], result.confidence, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_labels_of_unknown_workers_count_as_the_crowds_average(method: str) -> None:
    result = fitted(method)
    found = result.predict([("x", "zoe", "yes"), ("x", "yan", "yes"), ("y", "ann", "no")])
    assert found["task"].to_list() == ["x", "y"]
    assert found["label"][0] == "yes"
    assert found["confidence"].is_finite().all()
    if method in ("dawid-skene", "fast-dawid-skene", "hybrid"):
        pooled = result.history.sum(axis=0)  # type: ignore[union-attr]
        said = (pooled / pooled.sum(axis=1, keepdims=True))[:, result.classes.index("yes")]
        belief = result.params.prior * said**2
        assert found["confidence"][0] == pytest.approx((belief / belief.sum()).max())


@pytest.mark.parametrize("method", METHODS)
def test_an_unknown_label_is_an_error(method: str) -> None:
    with pytest.raises(DataError) as raised:
        fitted(method).predict([(1, "ann", "yes"), (1, "bob", "perhaps")])
    assert str(raised.value) == (
        "The list of rows has the label 'perhaps', which is none of maybe, no, yes."
    )


def test_new_votes_of_every_kind(tmp_path: Path) -> None:
    result = fitted("dawid-skene")
    rows = [("x", "ann", "yes"), ("x", "bob", "no"), ("y", "zoe", "no")]
    table = pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")
    expected = result.predict(rows)
    table.write_csv(tmp_path / "new.csv")
    table.write_ndjson(tmp_path / "new.jsonl")
    others = table.rename({"task": "url", "worker": "who", "label": "said"})
    columns = {"task_column": "url", "worker_column": "who", "label_column": "said"}
    for found in (
        result.predict(table),
        result.predict(tmp_path / "new.csv"),
        result.predict(str(tmp_path / "new.jsonl")),
        result.predict(quorate.read_votes(rows)),
        result.predict(others, **columns).rename({"url": "task", "said": "label"}),
    ):
        assert found.equals(expected)
    assert isinstance(result.predict(table.to_pandas()), pd.DataFrame)
    assert result.predict(table.to_arrow())["label"].to_pylist() == expected["label"].to_list()


def test_votes_read_before_take_the_codes_of_the_result() -> None:
    result = fitted("majority")
    read = quorate.read_votes([("x", "ann", "yes")])
    assert result.predict(read)["label"].to_list() == ["yes"]
    with pytest.raises(DataError, match=r"^The votes have the label 'so', which is none of maybe"):
        result.predict(quorate.read_votes([("x", "ann", "so")]))


@pytest.mark.parametrize(
    ("names", "new"),
    [((0, 1), ("0", "1")), (("0", "1"), (0, 1)), ((False, True), ("false", "true"))],
)
def test_new_labels_are_compared_as_text_when_types_differ(names: Any, new: Any) -> None:
    result = quorate.aggregate([(1, 7, names[0]), (2, 7, names[1]), (2, 8, names[1])])
    found = result.predict([(5, "7", new[0]), (6, "8", new[1])])
    assert found["label"].to_list() == list(names)


def test_missing_fields_and_repeats_of_new_votes() -> None:
    result = fitted("majority")
    rows = [(1, "ann", "no"), (1, "ann", "yes"), (1, "ann", "yes"), (1, None, "no"), (2, "x", "")]
    assert result.predict(rows)["label"].to_list() == ["yes"]
    assert result.predict(rows, repeats="first")["label"].to_list() == ["no"]


# Kept in a file

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "shares": {"prior": {"yes": 0.5, "no": 0.3, "maybe": 0.2}, "smoothing": 0.5, "seed": 7},
    "history": {"worker_prior": {"ann": np.eye(3) * 5}, "zeros": "skip", "stop": "marginals"},
    "start": {"init": {"ann": np.full((3, 3), 1 / 3)}, "tol": 1e-3, "ties": "first"},
    "one-coin": {"beta": (4, 2), "low": 0.1, "high": 0.9},
}


def flat(value: Any) -> Any:
    """What two results have to have in common, comparable with ==."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tolist()
    if isinstance(value, Rows):
        return flat(value.dense())
    if isinstance(value, pl.Series):
        return str(value.dtype), value.to_list()
    if hasattr(value, "_asdict"):
        return {name: flat(field) for name, field in value._asdict().items()}
    if isinstance(value, tuple):
        return tuple(map(flat, value))
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return {name: flat(field) for name, field in vars(value).items()}
    return value


@pytest.mark.parametrize(
    ("method", "options"),
    [
        (name, options)
        for name, method in METHODS.items()
        for options, given in OPTIONS.items()
        if set(given) <= set(method.options)
    ],
)
def test_everything_comes_back_from_the_file(method: str, options: str, tmp_path: Path) -> None:
    result = fitted(method, **OPTIONS[options])
    result.save(tmp_path / "r.quorate")
    back = quorate.load(tmp_path / "r.quorate")
    assert type(back.model) is type(result.model)
    for part in ("model", "params", "stats", "steps", "converged", "posterior", "answers", "tally"):
        assert flat(getattr(back, part)) == flat(getattr(result, part)), part
    assert flat(back.codebook) == flat(result.codebook)
    assert (back.method, back.seconds) == (result.method, result.seconds)
    assert back.labels.equals(result.labels)
    assert back.workers.equals(result.workers)
    assert back.objective == result.objective
    new = [("x", "ann", "yes"), ("x", "zoe", "no"), ("y", "bob", "maybe")]
    assert back.predict(new).equals(result.predict(new))


def test_what_was_read_and_the_notes_come_back(tmp_path: Path) -> None:
    result = quorate.aggregate([*VOTES, (1, "ann", None)], gold={1: "no", 99: "no"})
    result.save(tmp_path / "r.quorate")
    back = quorate.load(tmp_path / "r.quorate")
    assert back.notes == result.notes != ()
    assert back.read == result.read


@pytest.mark.parametrize(
    "names", [(1, 2), ("a", "ß\n"), (False, True), (0.5, 2.5), (2**63, 1), ("1", "01")]
)
def test_names_of_any_type_come_back(names: tuple[Any, Any], tmp_path: Path) -> None:
    first, second = names
    result = quorate.aggregate([(first, first, first), (second, second, second)])
    result.save(tmp_path / "r.quorate")
    back = quorate.load(str(tmp_path / "r.quorate"))
    assert back.labels.equals(result.labels)
    assert back.workers.equals(result.workers)
    assert back.classes == result.classes


def test_a_result_is_saved_whole_or_not_at_all(tmp_path: Path) -> None:
    result = fitted("majority")
    with pytest.raises(
        UsageError, match=r"^There is no directory .*nowhere to write r\.quorate in"
    ):
        result.save(tmp_path / "nowhere" / "r.quorate")
    (tmp_path / "r.quorate").write_bytes(b"earlier")
    result.save(tmp_path / "r.quorate")
    assert [path.name for path in tmp_path.iterdir()] == ["r.quorate"]
    assert quorate.load(tmp_path / "r.quorate").method == "majority"


def test_nothing_is_pickled(tmp_path: Path) -> None:
    fitted("dawid-skene").save(tmp_path / "r.quorate")
    with zipfile.ZipFile(tmp_path / "r.quorate") as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert {name.rpartition(".")[2] for name in names} == {"json", "npy", "parquet"}
        json.loads(archive.read("result.json"))
        for name in names:
            if name.endswith(".npy"):
                np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)


WRONG = "{} is not a whole result of Quorate: save it again."


def refuse(path: Path) -> None:
    with pytest.raises(DataError) as raised:
        quorate.load(path)
    assert str(raised.value) == WRONG.format(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^There is no file .*r\.quorate\.$"):
        quorate.load(tmp_path / "r.quorate")


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", b"PK\x05\x06" + bytes(18)])
def test_a_foreign_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "r.quorate").write_bytes(content)
    refuse(tmp_path / "r.quorate")


def test_a_directory(tmp_path: Path) -> None:
    refuse(tmp_path)


@pytest.mark.parametrize(
    "about",
    ["", "nonsense", "[]", "3", "null", "{}", '{"quorate": 3}', '{"quorate": 3, "model": 3}'],
)
def test_a_foreign_archive(about: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "r.quorate", "w") as archive:
        archive.writestr("result.json", about)
    refuse(tmp_path / "r.quorate")


def test_a_format_of_later(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "r.quorate", "w") as archive:
        archive.writestr("result.json", '{"quorate": 99}')
    with pytest.raises(DataError, match="in format 99; this Quorate reads 3"):
        quorate.load(tmp_path / "r.quorate")


def test_a_pickle_inside_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.quorate"
    fitted("majority").save(path)
    objects = io.BytesIO()
    np.lib.format.write_array(objects, np.array(["an object"], dtype=object))
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert "tally.npy" in parts
    parts["tally.npy"] = objects.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    refuse(path)


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "r.quorate"
    fitted("dawid-skene", worker_prior={"ann": np.eye(3)}).save(path)
    return path


@given(length=st.integers(0, 10**6))
@settings(max_examples=times(50, 100))
def test_a_file_cut_short(saved: Path, length: int) -> None:
    content = saved.read_bytes()
    path = saved.with_name("cut.quorate")
    path.write_bytes(content[: length % len(content)])
    refuse(path)


@given(changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1))
@settings(max_examples=times(100, 300))
def test_any_damage_gives_a_result_or_one_error(
    saved: Path, changes: list[tuple[int, int]]
) -> None:
    content = bytearray(saved.read_bytes())
    for at, to in changes:
        content[at % len(content)] = to
    path = saved.with_name("damaged.quorate")
    path.write_bytes(content)
    try:
        quorate.load(path)
    except DataError as error:
        sentence = str(error)
        assert sentence == WRONG.format(path) or "in format" in sentence


def test_a_result_of_a_function_is_not_saved(tmp_path: Path) -> None:
    result = quorate.aggregate([("t", "ann", "a"), ("t", "bob", "b")], Labels.vote_shares)
    with pytest.raises(UsageError, match="is a function, which no file can keep"):
        result.save(tmp_path / "kept.quorate")
    assert not list(tmp_path.iterdir())


# Files that somebody else has made


def rewritten(saved: Path, parts: dict[str, Any]) -> Path:
    """The saved result with some of its entries changed."""
    path = saved.with_name("hostile.quorate")
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, parts[name](content) if name in parts else content)
    return path


def with_values(change: Any) -> Any:
    def changed(content: bytes) -> bytes:
        array = np.load(io.BytesIO(content))
        file = io.BytesIO()
        np.lib.format.write_array(file, change(array), version=(1, 0))
        return file.getvalue()

    return changed


def put(array: Any, value: float) -> Any:
    array.flat[0] = value
    return array


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("answers/posterior.npy", lambda a: put(a, np.nan)),
        ("answers/posterior.npy", lambda a: put(a, np.inf)),
        ("answers/posterior.npy", lambda a: put(a, -0.5)),
        ("answers/posterior.npy", lambda a: a / 2),
        ("answers/posterior.npy", lambda a: a[:-1]),
        ("answers/posterior.npy", lambda a: a[:, :-1]),
        ("answers/codes.npy", lambda a: put(a, 3)),
        ("answers/codes.npy", lambda a: put(a, -1)),
        ("answers/codes.npy", lambda a: a.astype(float)),
        ("answers/codes.npy", lambda a: a[:-1]),
        ("tally.npy", lambda a: put(a, np.nan)),
        ("tally.npy", lambda a: put(a, np.inf)),
        ("tally.npy", lambda a: put(a, -1.0)),
        ("tally.npy", lambda a: a[:-1]),
        ("spread/accuracy.npy", lambda a: put(a, 2.0)),
        ("spread/low.npy", lambda a: a[:-1]),
        ("confusion/mean.npy", lambda a: a[:-1]),
        ("confusion/mean.npy", lambda a: put(a, 2.0)),
        ("stats/counts.npy", lambda a: put(a, np.nan)),
        ("params/log_confusion.npy", lambda a: a[:-3]),
        ("params/log_confusion.npy", lambda a: a[:, :-1]),
    ],
)
def test_values_that_cannot_be_are_refused(saved: Path, name: str, change: Any) -> None:
    with zipfile.ZipFile(saved) as archive:
        assert name in archive.namelist()
    refuse(rewritten(saved, {name: with_values(change)}))


@pytest.mark.parametrize("min_confidence", [2, -1, "NaN"])
def test_a_confidence_that_cannot_be_is_refused(saved: Path, min_confidence: Any) -> None:
    def change(content: bytes) -> bytes:
        value = float(min_confidence)
        return json.dumps(json.loads(content) | {"min_confidence": value}).encode()

    refuse(rewritten(saved, {"result.json": change}))


@pytest.mark.parametrize("name", ["tasks", "workers", "classes"])
def test_a_name_twice_is_refused(saved: Path, name: str) -> None:
    def change(content: bytes) -> bytes:
        frame = pl.read_parquet(io.BytesIO(content))
        file = io.BytesIO()
        pl.concat([frame[:-1], frame[:1]]).write_parquet(file)
        return file.getvalue()

    refuse(rewritten(saved, {f"names/{name}.parquet": change}))


def many_rows(content: bytes) -> bytes:
    file = io.BytesIO()
    pl.DataFrame({"name": np.zeros(20_000_000, dtype=np.int64)}).write_parquet(file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("result.json", lambda content: content[:-2] + b" " * 60_000_000 + content[-2:]),
        ("answers/posterior.npy", with_values(lambda a: np.full((10_000_000, 3), 1 / 3, "f2"))),
        ("stats/counts.npy", with_values(lambda a: np.zeros(60_000_000, dtype=np.int8))),
        ("answers/codes.npy", lambda content: content.replace(b"(8,), }", b"(9**9,)}")),
        ("names/tasks.parquet", many_rows),
    ],
)
def test_what_would_fill_the_memory_is_refused_before_it_is_unpacked(
    saved: Path, name: str, change: Any
) -> None:
    path = rewritten(saved, {name: change})
    assert path.stat().st_size < 2_000_000
    tracemalloc.start()
    refuse(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000
