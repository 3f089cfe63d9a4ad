"""Readers of exports: what is no vote, files that are nearly a tool's, and damaged ones."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quorate
from quorate.errors import DataError, QuorateError
from quorate.votes.readers import reader_named, recognised
from quorate.votes.readers.export import Export, read_export
from quorate.votes.readers.opening import opened, opened_bytes
from quorate.votes.reading import read_votes

EXPORTS = Path(__file__).parent / "exports"


def export_of(name: str, records: Any) -> Export:
    content = records if isinstance(records, bytes) else json.dumps(records).encode()
    return read_export(reader_named(name), [opened_bytes(content, "The file")])


def votes_of(export: Export, question: str | None = None) -> list[tuple[Any, ...]]:
    return export.about(question).votes.select("task", "worker", "label").rows()


# Label Studio


def annotation(worker: Any, *results: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"completed_by": worker, "result": list(results), **more}


def choice(*chosen: str, **more: Any) -> dict[str, Any]:
    return {"from_name": "q", "type": "choices", "value": {"choices": list(chosen), **more}}


def labelled(*annotations: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"id": 7, "data": {"text": "hi"}, "annotations": list(annotations), **more}]


def test_what_label_studio_keeps_that_is_no_answer_is_counted() -> None:
    box = {"from_name": "b", "type": "rectanglelabels", "value": {"x": 1, "rectanglelabels": ["c"]}}
    remark = {"from_name": "t", "type": "textarea", "value": {"text": ["fine"]}}
    records = labelled(
        annotation(1, choice("a"), box, remark),
        annotation(2, choice("b", start=0, end=2)),
        annotation(3),
        12,
        predictions=[{"model_version": "quorate 0.1", "result": [choice("a")]}, 4],
    )
    export = export_of("label-studio", records)
    assert votes_of(export) == [(7, 1, "a")]
    assert export.dropped == {
        "regions (rectanglelabels)": 1,
        "free text": 1,
        "regions (choices)": 1,
        "empty": 1,
        "annotations without their answers": 1,
        "predictions of Quorate": 1,
        "predictions without their answers": 1,
    }


def test_annotations_of_old_label_studio_are_completions_that_may_be_skipped() -> None:
    given = [annotation(1, choice("a")), annotation(2, choice("b"), skipped=True)]
    export = export_of("label-studio", [{"id": 7, "data": {}, "completions": given}])
    assert votes_of(export) == [(7, 1, "a")] and export.dropped == {"cancelled": 1}


def test_answers_of_label_studio_other_than_choices() -> None:
    taxonomy = {"taxonomy": [["animal", "cat"], ["animal", "dog"]]}
    results = [
        {"from_name": "tree", "type": "taxonomy", "value": taxonomy},
        {"from_name": "count", "type": "number", "value": {"number": 3}},
        {"from_name": "better", "type": "pairwise", "value": {"selected": "left"}},
    ]
    export = export_of("label-studio", labelled(annotation({"id": 4}, *results)))
    assert votes_of(export, "tree") == [(7, 4, "animal / cat"), (7, 4, "animal / dog")]
    assert votes_of(export, "count") == [(7, 4, 3)]
    assert votes_of(export, "better") == [(7, 4, "left")]


def test_a_first_task_of_label_studio_larger_than_what_is_looked_at() -> None:
    many = [annotation(n, choice("a")) for n in range(5000)]
    content = json.dumps([{"id": 1, "annotations": many, "data": {}}]).encode()
    look = opened_bytes(content, "The file").look()
    reader = recognised(look)
    assert reader is not None and reader.name == "label-studio"
    assert len(content) > 1 << 18 and len(votes_of(export_of("label-studio", content))) == 5000


def test_a_table_of_label_studio_in_which_all_agree_does_not_tell_its_questions() -> None:
    table = b"annotation_id,annotator,id,kind,text\n1,5,1,ham,hi\n2,6,1,ham,hi\n"
    with pytest.raises(DataError, match=r"^The file is not as Label Studio .*nobody disagrees"):
        export_of("label-studio", table)


def test_an_export_may_be_in_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for member in ("one.json", "two.json"):
            archive.writestr(member, json.dumps(labelled(annotation(member, choice("a")))))
    assert sorted(read_votes(path).codebook.workers) == ["one.json", "two.json"]


# Others


def test_views_of_prodigy_that_mark_parts_of_an_input_are_no_votes() -> None:
    line = {"_input_hash": 1, "_task_hash": 2, "answer": "accept", "_annotator_id": "ann"}
    lines = [line | {"_view_id": "ner_manual", "spans": []}, line | {"_view_id": "classification"}]
    content = "\n".join(map(json.dumps, lines)).encode()
    export = export_of("prodigy", content)
    assert votes_of(export) == [(1, "ann", "accept")] and export.dropped == {"spans and boxes": 1}


def test_nobody_can_be_told_in_a_shared_project_of_doccano() -> None:
    with pytest.raises(DataError, match=r"together.zip is of a project in which members share"):
        read_votes(EXPORTS / "doccano" / "together.zip")


def test_spans_of_doccano_are_no_votes(tmp_path: Path) -> None:
    lines = [
        {"id": 1, "text": "hi", "label": [[0, 2, "WORD"]], "Comments": []},
        {"id": 2, "text": "hi", "label": ["a"], "Comments": []},
    ]
    path = tmp_path / "ann.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    export = read_export(reader_named("doccano"), [opened(str(path))])
    assert export.dropped == {"spans and boxes": 1} and votes_of(export) == [(2, "ann", "a")]


def test_labelbox_has_to_say_who_created_a_label() -> None:
    with pytest.raises(DataError, match=r"23 without created_by \(export it with label_details\)"):
        read_votes(EXPORTS / "labelbox" / "without_details.ndjson")


def test_a_job_of_cvat_without_assignee_needs_a_name_that_tells(tmp_path: Path) -> None:
    path = tmp_path / "annotations.xml"
    path.write_bytes((EXPORTS / "cvat" / "ann.xml").read_bytes())
    with pytest.raises(DataError, match=r"annotations.xml names no assignee"):
        read_votes(path)


def test_damaged_xml_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "ann.xml"
    path.write_bytes((EXPORTS / "cvat" / "ann.xml").read_bytes()[:-30])
    with pytest.raises(DataError, match=r"ann.xml, after 7 answers, is not as CVAT writes it"):
        read_votes(path)


def test_responses_of_ground_truth_are_read_from_their_directory(tmp_path: Path) -> None:
    with zipfile.ZipFile(EXPORTS / "ground_truth" / "worker-response.zip") as archive:
        archive.extractall(tmp_path)
    votes = read_votes(tmp_path, question="crowd-classifier")
    assert votes.codebook.tasks.to_list() == [str(number) for number in range(8)]
    assert votes.report.format == "SageMaker Ground Truth"


def test_a_text_question_of_argilla_with_spans_is_no_vote() -> None:
    spans = [{"value": [{"start": 0, "end": 2, "label": "x"}], "user_id": "u"}]
    label = [{"value": "a", "user_id": "u"}]
    record = {"id": "r", "fields": {}, "suggestions": {}, "responses": {"s": spans, "q": label}}
    export = export_of("argilla", [record])
    assert votes_of(export) == [("r", "u", "a")] and export.dropped == {"spans and rankings": 1}


def test_records_of_argilla_by_their_id() -> None:
    record = {"id": "r", "fields": {}, "suggestions": {}, "responses": {"q": [
        {"value": "a", "user_id": "u"}
    ]}}  # fmt: skip
    assert votes_of(export_of("argilla", {"r": record})) == [("r", "u", "a")]


def test_a_form_in_a_batch_of_mturk_that_is_no_choice() -> None:
    form = json.dumps([{"box": {"boundingBoxes": [1]}, "kind": {"label": "ham"}}]).replace(
        '"', '""'
    )
    table = f'HITId,WorkerId,AssignmentStatus,Answer.taskAnswers\nh,w,Approved,"{form}"\n'
    export = export_of("mturk", table.encode())
    assert votes_of(export) == [("h", "w", "ham")]
    assert export.dropped == {"answers that are no choices": 1}


def test_an_item_with_an_id_is_the_task_where_a_hit_holds_several() -> None:
    head = "HITId,WorkerId,AssignmentStatus,Input.text_1,Input.id_1,Answer.kind_1"
    export = export_of("mturk", f"{head}\nh,w,Approved,hi,item-9,ham\n".encode())
    assert votes_of(export, "kind") == [("item-9", "w", "ham")]


def test_several_tasks_of_toloka_without_numbers_are_told_by_all_inputs() -> None:
    head = "INPUT:a\tINPUT:b\tOUTPUT:q\tASSIGNMENT:worker_id\tASSIGNMENT:status"
    export = export_of("toloka", f"{head}\n1\t2\tyes\tw\tAPPROVED\n".encode())
    assert votes_of(export) == [('{"a": "1", "b": "2"}', "w", "yes")]


def test_options_that_nobody_chose_are_votes_only_where_some_chose_several() -> None:
    line = {"_input_hash": 1, "_task_hash": 2, "answer": "accept", "options": []}
    lines = [line | {"_annotator_id": who, "accept": said} for who, said in SAID]
    one = export_of("prodigy", "\n".join(map(json.dumps, lines[:2])).encode())
    assert votes_of(one) == [(1, "ann", "a")] and one.dropped == {"without a label": 1}
    several = export_of("prodigy", "\n".join(map(json.dumps, lines)).encode())
    assert (1, "bob", None) in votes_of(several) and several.dropped == {}


SAID = (("ann", ["a"]), ("bob", []), ("cyd", ["a", "b"]))


def test_numbers_in_a_table_of_text_are_numbers() -> None:
    table = (EXPORTS / "label_studio" / "export.csv").read_bytes()
    export = export_of("label-studio", table)
    assert export.about("stars").votes.schema["label"] == pl.Int64
    assert export.about("sentiment").votes.schema["worker"] == pl.Int64


# From the export to an answer


def test_known_answers_of_an_export_are_gold() -> None:
    path = EXPORTS / "label_studio" / "export.json"
    result = quorate.aggregate(path, question="sentiment")
    assert result.workers["gold_labels"].to_list() == [2, 2, 2]
    several = quorate.aggregate(path, question="topics", multilabel=True)
    assert any("2 tasks are taken as gold" in note for note in several.notes)


def test_an_export_with_several_questions_says_which_there_are() -> None:
    with pytest.raises(DataError, match=r"3 questions: topics \(32 votes\), sentiment .* stars"):
        quorate.aggregate(EXPORTS / "label_studio" / "export.json")


NEARLY = {
    "annotation_id,id,kind\n1,1,ham\n": "It looks like Label Studio, but has no annotator.",
    "HITId,AssignmentId,Answer.kind\nh,a,ham\n": "Amazon Mechanical Turk, but has no WorkerId",
    "INPUT:a\tASSIGNMENT:worker_id\n1\tw\n": "like Toloka, but has no ASSIGNMENT:status",
    "_unit_id,sentiment\n1,good\n": "It looks like Appen, but has no _worker_id.",
    '{"data_row": {"id": "r"}}\n{"data_row": {"id": "s"}}\n': "Labelbox, but has no projects.",
}


@pytest.mark.parametrize("content", NEARLY)
def test_a_file_that_is_nearly_a_tools_says_what_it_lacks(content: str, tmp_path: Path) -> None:
    path = tmp_path / ("votes.jsonl" if content.startswith("{") else "votes.csv")
    path.write_text(content)
    with pytest.raises(QuorateError, match=NEARLY[content]):
        read_votes(path)


def test_a_manifest_without_workers_says_where_they_are() -> None:
    with pytest.raises(QuorateError, match=r"SageMaker Ground Truth, but has no workers: read ann"):
        read_votes(EXPORTS / "ground_truth" / "consolidated.manifest")


# Damage

JSON_FILES = (
    ("label-studio", "label_studio/export.json"),
    ("label-studio", "label_studio/min.json"),
    ("argilla", "argilla/nested.json"),
    ("argilla", "argilla/flat.json"),
    ("argilla", "argilla/columns.json"),
    ("ground-truth", "ground_truth/request.json"),
    ("labelbox", "labelbox/export.ndjson"),
    ("prodigy", "prodigy/choice.jsonl"),
    ("doccano", "doccano/users.jsonl"),
)
ODD = st.sampled_from([None, 0, -1.5, "", "x", [], [None], {}, {"id": []}, True])


def places(value: Any, path: tuple[Any, ...] = ()) -> Sequence[tuple[Any, ...]]:
    """Paths to everything in a JSON value."""
    if not isinstance(value, (dict, list)):
        return [path]
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    return [path, *(found for key, part in parts for found in places(part, (*path, key)))]


def changed(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    """The value with something odd at the end of this path."""
    if not path:
        return odd
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = changed(value[path[0]], path[1:], odd)
    return copied


def came_out(name: str, content: bytes) -> bool:
    """Whether reading gave votes, or a sentence about the file."""
    try:
        return bool(export_of(name, content).questions)
    except DataError as error:
        return str(error).startswith("The file") and "\n" not in str(error)


@given(st.sampled_from(JSON_FILES), st.data())
def test_an_odd_value_anywhere_gives_votes_or_one_sentence(
    file: tuple[str, str], data: st.DataObject
) -> None:
    name, path = file
    text = (EXPORTS / path).read_text()
    lines = path.endswith(("jsonl", "ndjson"))
    value = [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
    value = value[:2] if isinstance(value, list) else value
    where = data.draw(st.sampled_from(places(value)[1:]))
    value = changed(value, where, data.draw(ODD))
    content = "\n".join(map(json.dumps, value)) if lines else json.dumps(value)
    assert came_out(name, content.encode())


@given(st.sampled_from(sorted(EXPORTS.glob("*/*.*"))), st.integers(0, 5000), st.binary(max_size=9))
def test_damaged_bytes_give_votes_or_one_sentence(path: Path, at: int, odd: bytes) -> None:
    content = path.read_bytes()
    damaged = content[:at] + odd + content[at + len(odd) :]
    reader = recognised(opened_bytes(damaged, "The file").look())
    assert reader is None or came_out(reader.name, damaged)


def test_every_export_has_its_origin_beside_it() -> None:
    tools = {path.parent for path in EXPORTS.glob("*/entered.json")}
    assert len(tools) >= 10
    assert all((tool / "README.md").exists() and list(tool.glob("make*")) for tool in tools)
    assert all(opened(str(path)).look() for tool in tools for path in tool.iterdir())
