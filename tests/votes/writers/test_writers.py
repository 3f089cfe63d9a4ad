"""What other tools import: what was found, in each tool's form, from the tool's own export."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner

import quorate
from quorate.cli import main
from quorate.errors import DataError, UsageError
from quorate.votes.readers.export import read_export
from quorate.votes.readers.opening import opened
from quorate.votes.readers.prodigy import Prodigy
from quorate.votes.writers import MODULES, writer_for

SAID = {1: ["Positive"] * 3, 2: ["Negative", "Negative", "Positive"], 3: ["Negative"] * 3}
WORKERS = ("ann", "bob", "eve")
VOTES = [
    (task, worker, label)
    for task, labels in SAID.items()
    for worker, label in zip(WORKERS, labels, strict=True)
]


def written(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.fixture
def result() -> quorate.Result:
    return quorate.aggregate(VOTES, "dawid-skene", smoothing=0.5)


def answers(result: quorate.Result) -> dict[int, tuple[str, float]]:
    return {task: (label, sure) for task, label, sure in result.labels.rows()}


# Label Studio


def label_studio_tasks() -> list[dict[str, Any]]:
    def said(label: str) -> dict[str, Any]:
        choice = {"from_name": "mood", "to_name": "text", "type": "choices"}
        return {**choice, "value": {"choices": [label]}}

    return [
        {
            "id": task,
            "data": {"text": f"text {task}"},
            "annotations": [{"completed_by": w, "result": [said(x)]} for w, x in enumerate(labels)],
            "predictions": [],
        }
        for task, labels in SAID.items()
    ]


def test_label_studio_gets_tasks_with_predictions_that_say_the_answer_as_annotations_do(
    result: quorate.Result, tmp_path: Path
) -> None:
    export = written(tmp_path / "export.json", label_studio_tasks())
    result.write_as("label-studio", tmp_path / "out.json", export)
    tasks = json.loads((tmp_path / "out.json").read_text())
    assert [task["data"] for task in tasks] == [{"text": f"text {task}"} for task in SAID]
    assert not any("annotations" in task for task in tasks)
    for task in tasks:
        label, confidence = answers(result)[task["id"]]
        (prediction,) = task["predictions"]
        assert prediction["score"] == confidence
        assert prediction["model_version"].startswith("quorate ")
        (region,) = prediction["result"]
        assert region["value"] == {"choices": [label]}
        names = (region["from_name"], region["to_name"], region["type"])
        assert names == ("mood", "text", "choices")


def test_label_studio_gets_predictions_for_tasks_that_are_there(
    result: quorate.Result, tmp_path: Path
) -> None:
    export = written(tmp_path / "export.json", label_studio_tasks())
    result.write_as("label-studio-predictions", tmp_path / "out.json", export)
    found = json.loads((tmp_path / "out.json").read_text())
    assert [each["task"] for each in found] == list(SAID)
    assert set(found[0]) == {"task", "model_version", "score", "result"}


def test_ratings_stay_numbers_and_undecided_tasks_have_no_prediction(tmp_path: Path) -> None:
    tasks = label_studio_tasks()
    for task in tasks:
        region = task["annotations"][0]["result"][0]
        region |= {"type": "rating", "value": {"rating": 4}}
        del task["annotations"][1:]
    export = written(tmp_path / "export.json", tasks)
    votes = [(task, w, "5" if label == "Positive" else "1") for task, w, label in VOTES]
    result = quorate.aggregate(votes, "majority", min_confidence=0.9)
    result.write_as("label-studio", tmp_path / "out.json", export)
    found = json.loads((tmp_path / "out.json").read_text())
    values = [p["result"][0]["value"] for task in found for p in task["predictions"]]
    assert values == [{"rating": 5}, {"rating": 1}]
    assert found[1]["predictions"] == []


def test_several_labels_are_several_choices(tmp_path: Path) -> None:
    votes = [(task, w, x) for task in (1, 2) for w in WORKERS for x in ("Positive", "Negative")]
    result = quorate.aggregate(votes, "majority", multilabel=True)
    export = written(tmp_path / "export.json", label_studio_tasks())
    result.write_as("label-studio", tmp_path / "out.json", export)
    found = json.loads((tmp_path / "out.json").read_text())
    regions = [task["predictions"][0]["result"][0] for task in found]
    assert [region["value"]["choices"] for region in regions] == [["Negative", "Positive"]] * 2


# Argilla


def test_argilla_gets_suggestions_beside_those_there_are(
    result: quorate.Result, tmp_path: Path
) -> None:
    other = {"other": {"value": "x", "score": None, "agent": "somebody"}}
    records = [
        {
            "id": str(task),
            "fields": {"text": f"text {task}"},
            "metadata": {"page": task},
            "suggestions": other,
            "responses": {"mood": [{"value": x, "user_id": w} for w, x in enumerate(labels)]},
            "vectors": {},
            "status": "completed",
            "_server_id": "abc",
        }
        for task, labels in SAID.items()
    ]
    export = written(tmp_path / "export.json", records)
    with pytest.raises(UsageError, match="by question"):
        result.write_as("argilla", tmp_path / "out.json", export)
    named = quorate.result.replace(
        result, read=quorate.result.replace(result.read, question="mood")
    )
    named.write_as("argilla", tmp_path / "out.json", export)
    found = json.loads((tmp_path / "out.json").read_text())
    for record, before in zip(found, records, strict=True):
        label, confidence = answers(result)[int(record["id"])]
        suggested = record["suggestions"].pop("mood")
        assert (suggested["value"], suggested["score"]) == (label, confidence)
        assert record["suggestions"] == other
        assert "responses" not in record
        assert record["metadata"] == before["metadata"]


# Prodigy


def prodigy_lines(binary: bool = False) -> str:
    options = [{"id": label, "text": label} for label in ("Positive", "Negative")]
    lines = []
    for task, worker, label in VOTES:
        record: dict[str, Any] = {
            "text": f"text {task}",
            "_input_hash": task,
            "_task_hash": task + 100,
            "_view_id": "classification" if binary else "choice",
            "_annotator_id": worker,
            "_timestamp": 7,
        }
        if binary:
            record |= {"answer": "accept" if label == "Positive" else "reject", "label": "GOOD"}
        else:
            record |= {"answer": "accept", "accept": [label], "options": options}
        lines.append(json.dumps(record))
    return "\n".join(lines)


@pytest.mark.parametrize("binary", [False, True])
def test_prodigy_gets_a_task_for_each_input_with_its_versions_and_reads_as_one_annotator(
    binary: bool, tmp_path: Path
) -> None:
    export = written(tmp_path / "export.jsonl", prodigy_lines(binary))
    out = tmp_path / "review.jsonl"
    run = CliRunner().invoke(
        main, ["aggregate", str(export), "-m", "majority", "-o", str(out), "--as", "prodigy", "-q"]
    )
    assert run.exit_code == 0, run.output
    tasks = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(t["_input_hash"], t["_task_hash"]) for t in tasks] == [(n, n + 100) for n in SAID]
    good, bad = ("accept", "reject") if binary else ("Positive", "Negative")
    second = {json.dumps(v["sessions"]): v for v in tasks[1]["versions"]}
    said = [v["answer"] if binary else v["accept"][0] for v in second.values()]
    assert dict(zip(second, said, strict=True)) == {'["ann", "bob"]': bad, '["eve"]': good}
    assert [v["default"] for v in second.values()] == [True, False]
    assert tasks[1]["meta"]["confidence"] == pytest.approx(2 / 3, abs=1e-6)
    (question,) = read_export(Prodigy(), [opened(str(out))]).questions.values()
    assert question.votes["label"].to_list() == [good, bad, bad]
    assert question.votes["worker"].n_unique() == 1


def test_choices_of_several_options_are_one_answer_in_whatever_order(tmp_path: Path) -> None:
    said = {"ann": ["b", "a"], "bob": ["a", "b"], "eve": []}
    about = {"options": [{"id": "a"}, {"id": "b"}], "answer": "accept", "_input_hash": 1}
    records = [
        {**about, "_task_hash": 2, "accept": chosen, "_annotator_id": worker}
        for worker, chosen in said.items()
    ]
    export = written(tmp_path / "export.jsonl", "\n".join(map(json.dumps, records)))
    result = quorate.aggregate(export, "majority", multilabel=True)
    result.write_as("prodigy", tmp_path / "review.jsonl", export)
    (task,) = [json.loads(line) for line in (tmp_path / "review.jsonl").read_text().splitlines()]
    assert task["accept"] == ["a", "b"]
    found = [(v["accept"], v["sessions"], v["default"]) for v in task["versions"]]
    assert found == [(["a", "b"], ["ann", "bob"], True), ([], ["eve"], False)]


# Mechanical Turk


def test_mturk_approves_but_for_workers_who_are_surely_bad(tmp_path: Path) -> None:
    export = tmp_path / "batch.csv"
    votes, rows = [], []
    for task in range(60):
        for worker in ("A1", "A2", "A3", "BAD"):
            truth = "yes" if task % 2 else "no"
            wrong = "no" if task % 2 else "yes"
            label = wrong if worker == "BAD" and task % 5 else truth
            status = "Approved" if task == 0 else "Submitted"
            votes.append((f"H{task}", worker, label))
            rows.append((f"H{task}", f"{worker}-{task}", worker, status, 'a "b", c', label))
    names = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "Input.t", "Answer.x"]
    with export.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([names, *rows])
    result = quorate.aggregate(votes, "dawid-skene", smoothing=0.5)
    result.write_as("mturk", tmp_path / "out.csv", export, reject_below=0.6)
    with (tmp_path / "out.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    assert [tuple(row[name] for name in names) for row in found] == rows
    for row in found:
        approved, rejected = row["Approve"], row["Reject"]
        if row["AssignmentStatus"] == "Approved":
            assert (approved, rejected) == ("", "")
        elif row["WorkerId"] == "BAD":
            assert approved == "" and "60% were needed" in rejected
        else:
            assert (approved, rejected) == ("x", "")
    result.write_as("mturk", tmp_path / "out.csv", export, reject_below=0)
    with (tmp_path / "out.csv").open(newline="") as file:
        assert not any(row["Reject"] for row in csv.DictReader(file))


# Hugging Face


def test_hugging_face_gets_codes_with_names_the_posterior_and_the_votes(tmp_path: Path) -> None:
    table = pl.DataFrame(VOTES, schema=["task", "worker", "label"], orient="row").with_columns(
        pl.format("text {}", "task").alias("text")
    )
    result = quorate.aggregate(table, "majority", keep="text", min_confidence=0.9)
    result.write_as("huggingface", tmp_path / "out.parquet")
    found = pl.read_parquet(tmp_path / "out.parquet")
    about = json.loads(parquet.read_schema(tmp_path / "out.parquet").metadata[b"huggingface"])
    features = about["info"]["features"]
    assert list(features) == found.columns
    names = features["label"]["names"]
    codes = found["label"].to_list()
    assert [None if code is None else names[code] for code in codes] == [
        "Positive",
        None,
        "Negative",
    ]
    assert [names[code] for code in found["votes"][1]] == SAID[2]
    assert found["workers"][1].to_list() == list(WORKERS)
    assert found["posterior"][1].to_list() == pytest.approx([2 / 3, 1 / 3])
    assert found["text"].to_list() == ["text 1", "text 2", "text 3"]


def test_hugging_face_gets_lists_where_there_are_several_right_answers(tmp_path: Path) -> None:
    votes = [(task, w, x) for task in (1, 2) for w in WORKERS for x in ("a", "b")]
    result = quorate.aggregate([*votes, (3, "ann", None)], "majority", multilabel=True)
    result.write_as("huggingface", tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet")["label"].to_list() == [[0, 1], [0, 1], []]


# What cannot be written


def test_what_cannot_be_written_is_one_sentence(result: quorate.Result, tmp_path: Path) -> None:
    other = written(tmp_path / "other.json", [{"id": 99, "data": {}, "annotations": []}])
    strange = written(tmp_path / "strange.json", [{"a": 1}])
    out = tmp_path / "out"
    with pytest.raises(DataError, match=r"no annotation|several questions"):
        result.write_as("label-studio", out, other)
    tasks = [{**task, "id": task["id"] + 90} for task in label_studio_tasks()]
    with pytest.raises(DataError, match=r"none of the tasks that were answered, such as '1', '2'"):
        result.write_as("label-studio", out, written(tmp_path / "far.json", tasks))
    for tool in MODULES:
        if tool != "huggingface":
            with pytest.raises(UsageError, match="needs its export"):
                result.write_as(tool, out)
        if tool not in ("huggingface", "argilla"):
            with pytest.raises(DataError, match="record 1 has no"):
                result.write_as(tool, out, strange)
    with pytest.raises(UsageError, match="has no effect"):
        result.write_as("prodigy", out, other, reject_below=0.5)
    with pytest.raises(UsageError, match="tool"):
        writer_for("excel", None, {})
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--as", "huggingface"], "writes a file"),
        (["--as", "huggingface", "-o", "-"], "writes a file"),
        (["--reject-below", "0.5"], "is for --as mturk"),
        (["--as", "prodigy", "-o", "x.jsonl", "--reject-below", "0.5"], "has no effect"),
    ],
)
def test_the_command_line_refuses_what_makes_no_sense(
    arguments: list[str], why: str, tmp_path: Path
) -> None:
    votes = tmp_path / "votes.csv"
    pl.DataFrame(VOTES, schema=["task", "worker", "label"], orient="row").write_csv(votes)
    run = CliRunner().invoke(main, ["aggregate", str(votes), *arguments])
    assert run.exit_code == 2
    assert why in run.output
