"""Exports of evaluation tools, most of them written by the tools themselves, are read as what was
entered. `exports/<tool>/make.py` enters it, and says in entered.json what it was."""

import json
import sys
import zipfile
from collections import Counter
from functools import partial
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import times

from quorate.errors import DataError
from quorate.votes.readers import nearly, reader_named, readers, recognised
from quorate.votes.readers.export import read_export
from quorate.votes.readers.opening import opened, opened_bytes
from quorate.votes.reading import read_votes

EXPORTS = Path(__file__).parent / "exports"
TOOLS = {
    "inspect_ai": "inspect",
    "promptfoo": "promptfoo",
    "deepeval": "deepeval",
    "lm_eval": "lm-eval",
    "mt_bench": "mt-bench",
    "phoenix": "phoenix",
    "mlflow": "mlflow",
    "langsmith": "langsmith",
    "langfuse": "langfuse",
}
TEXT = ("frame.csv of phoenix", "experiment.csv of langsmith", "stored.csv of langfuse")
FILES = [
    (tool, file)
    for tool in TOOLS
    for file in json.loads((EXPORTS / tool / "entered.json").read_text())
]


def entered(tool, file):
    return json.loads((EXPORTS / tool / "entered.json").read_text())[file]


def read(tool, file):
    return read_export(reader_named(TOOLS[tool]), [opened(str(EXPORTS / tool / file))])


def counted(rows, tool, file):
    """How often each row is there; in a table of text numbers and truth values are text."""
    cells = (map(str, row) if f"{file} of {tool}" in TEXT else row for row in rows)
    return Counter(map(tuple, cells))


@pytest.mark.parametrize(("tool", "file"), FILES)
def test_an_export_is_read_as_what_was_entered(tool, file):
    export = read(tool, file)
    votes = [
        (name, *row)
        for name, question in export.questions.items()
        for row in question.votes.select("task", "worker", "label").rows()
    ]
    expected = entered(tool, file)
    rows = (vote.values() for vote in expected["votes"])
    assert counted(votes, tool, file) == counted(rows, tool, file)
    assert export.dropped == expected["dropped"]


@pytest.mark.parametrize(("tool", "file"), FILES)
def test_what_people_say_in_an_export_is_known(tool, file):
    questions = read(tool, file).questions.items()
    known = [(name, *row) for name, question in questions for row in question.known.rows()]
    rows = (answer.values() for answer in entered(tool, file)["gold"])
    assert counted(known, tool, file).keys() == counted(rows, tool, file).keys()


@pytest.mark.parametrize(("tool", "file"), FILES)
def test_an_export_is_known_by_its_content(tool, file):
    assert recognised(opened(str(EXPORTS / tool / file)).look()) is reader_named(TOOLS[tool])


def test_no_other_reader_claims_an_export():
    for tool, file in FILES:
        look = opened(str(EXPORTS / tool / file)).look()
        claimed = [reader.name for reader in readers() if reader.sniff(look)]
        assert claimed == [TOOLS[tool]], file


def lines(path, *records):
    """A file of JSON lines."""
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return str(path)


def first_record(tool, file):
    """The first record of an export in JSON lines, to change."""
    return json.loads((EXPORTS / tool / file).read_text().splitlines()[0])


def votes_in(*paths, question=None):
    """Task, worker and label of each vote in files."""
    files = [opened(str(path)) for path in paths]
    export = read_export(recognised(files[0].look()), files)
    return export.about(question).votes.select("task", "worker", "label").rows()


def known_in(path, question=None):
    """Task and label of each known answer in a file."""
    file = opened(str(path))
    return read_export(recognised(file.look()), [file]).about(question).known.rows()


def dropped_in(path):
    file = opened(str(path))
    return read_export(recognised(file.look()), [file]).dropped


def test_a_file_that_is_nearly_an_export_says_what_it_lacks(tmp_path):
    file = lines(tmp_path / "samples.jsonl", {"filtered_resps": ["a"], "doc_id": 1})
    said = nearly(opened(file).look())
    assert said == "It looks like lm-evaluation-harness, but has no target."


@pytest.mark.parametrize("column", ["winner", "turn", "eval", "plan", "judge"])
def test_a_common_name_of_a_column_is_no_sign_of_a_tool(column, tmp_path):
    (tmp_path / "table.csv").write_text(f"{column},other\na,b\n")
    look = opened(str(tmp_path / "table.csv")).look()
    assert recognised(look) is None and nearly(look) is None


def test_a_table_of_votes_stays_one_whatever_else_is_in_it(tmp_path):
    row = {"task": "a", "worker": "b", "label": "c", "annotator_kind": "LLM", "span_id": "d"}
    assert read_votes(lines(tmp_path / "votes.jsonl", row)).codebook.tasks.to_list() == ["a"]


def complaint(read):
    """The sentence that reading is refused with; none if it is not."""
    try:
        read()
    except DataError as error:
        return str(error)
    return None


@pytest.mark.parametrize(("tool", "file"), FILES)
def test_an_export_that_was_cut_gives_votes_or_one_sentence(tool, file, tmp_path):
    content = (EXPORTS / tool / file).read_bytes()
    for length in (len(content) // 3, len(content) * 2 // 3, len(content) - 3):
        cut = tmp_path / Path(file).name
        cut.write_bytes(content[:length])
        export = partial(read_export, reader_named(TOOLS[tool]), [opened(str(cut))])
        said = complaint(export)
        assert export().questions if said is None else said.startswith(str(cut))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


def changed(value, data):
    """A JSON value with something in it replaced by something else."""
    if isinstance(value, (dict, list)) and value and data.draw(st.integers(0, 3)):
        key = data.draw(st.sampled_from([*value] if isinstance(value, dict) else range(len(value))))
        copy = value.copy()
        copy[key] = changed(value[key], data)
        return copy
    return data.draw(JSON)


@given(data=st.data(), tool=st.sampled_from([*TOOLS]))
@settings(max_examples=times(50, 100), deadline=None)
def test_what_is_not_as_its_tool_writes_it_gives_votes_or_one_sentence(data, tool):
    file = next(f for t, f in FILES if t == tool and f.endswith(("json", "jsonl")))
    content = (EXPORTS / tool / file).read_text()
    record = json.loads(content.splitlines()[0] if file.endswith("jsonl") else content)
    strange = opened_bytes(json.dumps(changed(record, data)).encode(), "strange")
    export = partial(read_export, reader_named(TOOLS[tool]), [strange])
    said = complaint(export)
    assert export().questions if said is None else said.startswith("strange")


# People among judges


def feedback(path, *given):
    """A file of feedback in LangSmith, of which the run, the kind of source, who it is and the
    score are given."""
    return lines(
        path / "feedback.jsonl",
        *(
            {
                "run_id": run,
                "key": "right",
                "score": score,
                "feedback_source": {"type": kind, "user_name": who},
            }
            for run, kind, who, score in given
        ),
    )


def test_people_who_agree_are_right(tmp_path):
    given = [("a", "model", "m", 0), ("a", "app", "ann", 1), ("a", "app", "bob", 1)]
    file = feedback(tmp_path, *given)
    assert votes_in(file) == [("a", "m", 0)]
    assert set(known_in(file)) == {("a", 1)}


def test_people_who_contradict_each_other_vote(tmp_path):
    given = [("a", "model", "m", 0), ("a", "app", "ann", 1), ("a", "app", "bob", 0)]
    file = feedback(tmp_path, *given)
    assert votes_in(file) == [("a", "m", 0), ("a", "ann", 1), ("a", "bob", 0)]
    assert known_in(file) == []


def test_people_vote_where_no_judge_does(tmp_path):
    given = [("a", "app", "ann", 1), ("b", "app", "bob", 1)]
    assert votes_in(feedback(tmp_path, *given)) == [("a", "ann", 1), ("b", "bob", 1)]


def test_known_answers_are_of_the_type_of_the_votes(tmp_path):
    file = feedback(tmp_path, ("a", "model", "m", 1.5), ("a", "app", "ann", 1))
    votes = read_votes(file)
    assert votes.known.labels.to_list() == [1.0]
    assert votes.known.labels.dtype == votes.codebook.classes.dtype


# Inspect AI


def log(path, model="model", **scores):
    """A log with one sample, of which the scores are given."""
    scores = {name: {"value": value} for name, value in scores.items()}
    sample = {"id": "q1", "epoch": 1, "scores": scores}
    header = {
        "version": 2,
        "status": "success",
        "eval": {"task": "sums", "model": model},
        "plan": {},
    }
    path.write_text(json.dumps({**header, "samples": [sample]}))
    return path


def test_samples_of_several_models_are_several_tasks(tmp_path):
    logs = [log(tmp_path / f"{model}.json", model, strict="C") for model in ("a", "b")]
    assert votes_in(logs[0]) == [("q1", "strict", "C")]
    assert votes_in(*logs) == [("q1 (sums, a)", "strict", "C"), ("q1 (sums, b)", "strict", "C")]


def test_grades_and_numbers_are_two_questions(tmp_path):
    file = log(tmp_path / "log.json", strict="C", loose=True, close=0.5)
    with pytest.raises(DataError, match=r"holds 2 questions: grade \(2 votes\), score \(1 vote\)"):
        read_votes(str(file))


def test_an_edit_that_leaves_the_score_is_no_known_answer(tmp_path):
    file = log(tmp_path / "log.json", strict="C")
    content = json.loads(file.read_text())
    edit = {"value": "UNCHANGED", "explanation": "said better"}
    content["samples"][0]["scores"]["strict"]["history"] = [{"value": "C"}, edit]
    file.write_text(json.dumps(content))
    assert votes_in(file) == [("q1", "strict", "C")]
    assert known_in(file) == []


def test_a_log_in_an_archive_that_is_compressed_otherwise(tmp_path):
    content = json.loads(log(tmp_path / "log.json", strict="C").read_text())
    (sample,) = content.pop("samples")
    with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps(content))
        archive.writestr("samples/q1_epoch_1.json", json.dumps(sample))
    assert votes_in(tmp_path / "log.eval") == [("q1", "strict", "C")]


def test_an_archive_in_zstandard_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(DataError, match=r"pip install 'quorate\[zstd\]'"):
        read_votes(str(EXPORTS / "inspect_ai" / "graders.eval"))


# promptfoo


def results(path, *parts, **more):
    """Results of promptfoo with one test, of which the verdicts are given."""
    record = {
        "testIdx": 0,
        "promptIdx": 0,
        "testCase": {},
        "provider": {"id": "model"},
        "vars": {"question": "q"},
        "gradingResult": {"componentResults": [*parts]},
        **more,
    }
    return lines(path / "results.jsonl", record)


def part(type, *, verdict=True, **more):
    return {"pass": verdict, "assertion": {"type": type}, **more}


def test_assertions_without_a_name_are_called_by_their_type(tmp_path):
    file = results(tmp_path, part("equals"), part("javascript"), part("javascript", verdict=False))
    assert votes_in(file) == [
        ("q", "equals", "pass"),
        ("q", "javascript", "pass"),
        ("q", "javascript 2", "fail"),
    ]


def test_assertions_in_a_set_vote_one_by_one(tmp_path):
    together = {"pass": False, "componentResults": [part("equals"), part("regex", verdict=False)]}
    assert votes_in(results(tmp_path, together)) == [
        ("q", "equals", "pass"),
        ("q", "regex", "fail"),
    ]


def test_an_assertion_that_crashed_is_dropped(tmp_path):
    crashed = part("javascript", verdict=False, reason="Custom function threw error: x")
    assert dropped_in(results(tmp_path, part("equals"), crashed)) == {"failed": 1}


def test_the_grader_of_a_test_is_the_worker_of_what_models_grade(tmp_path):
    rubric = part("llm-rubric")
    rubric["assertion"]["value"] = "It is kind."
    test = {"options": {"provider": "judge"}}
    file = results(tmp_path, rubric, part("equals"), testCase=test)
    assert votes_in(file, question="It is kind.") == [("q", "judge", "pass")]
    assert votes_in(file, question="assertions") == [("q", "equals", "pass")]


@pytest.mark.parametrize(
    ("given", "called"),
    [
        ({"number": 1}, '{"number": 1}'),
        ({"b": "x", "a": "y"}, '{"a": "y", "b": "x"}'),
        ({}, "test 0"),
    ],
)
def test_a_test_is_called_by_its_variables(given, called, tmp_path):
    file = results(tmp_path, part("equals"), vars=given)
    assert votes_in(file) == [(called, "equals", "pass")]


def test_tests_whose_long_variables_begin_alike_are_told_apart(tmp_path):
    record = json.loads(Path(results(tmp_path, part("equals"))).read_text())
    long = [{**record, "vars": {"text": f"{'word ' * 20}{end}"}} for end in ("a", "b")]
    tasks = [task for task, _, _ in votes_in(lines(tmp_path / "two.jsonl", *long))]
    assert len(set(tasks)) == 2
    assert all(task.startswith("word word") and len(task) < 80 for task in tasks)


def test_a_second_prompt_of_a_model_is_told_apart(tmp_path):
    first = json.loads(Path(results(tmp_path, part("equals"), promptId="x")).read_text())
    file = lines(tmp_path / "two.jsonl", first, {**first, "promptId": "y"})
    assert [task for task, _, _ in votes_in(file)] == ["q (model)", "q (model, prompt 2)"]


# lm-evaluation-harness


def sample(path, responses, target="0", metrics=("acc",)):
    record = {"doc_id": 7, "doc": {}, "target": target, "filtered_resps": responses}
    return lines(path, {**record, "metrics": [*metrics], "filter": "none"})


def test_likelihoods_that_are_numbers(tmp_path):
    file = sample(tmp_path / "samples.jsonl", [[-2.0, False], [-1.0, True]])
    assert votes_in(file) == [(7, tmp_path.name, 1)]
    assert known_in(file) == [(7, 0)]


def test_likelihoods_without_the_document_are_no_choices(tmp_path):
    responses = [["-2.0", "False"], ["-3.0", "False"], ["-1.0", "False"], ["-9.0", "False"]]
    file = sample(tmp_path / "samples.jsonl", responses, metrics=["acc", "acc_mutual_info"])
    assert votes_in(file) == [(7, tmp_path.name, 0)]


def test_the_likelihood_of_a_text_is_no_vote(tmp_path):
    file = sample(tmp_path / "samples.jsonl", [["-2.0", "False"]])
    with pytest.raises(
        DataError, match="without a vote, of which was dropped: 1 without an answer"
    ):
        read_votes(file)


def test_a_whole_solution_is_no_known_answer(tmp_path):
    file = sample(tmp_path / "samples.jsonl", ["18"], target="First 9.\nThen 18.\n#### 18")
    assert votes_in(file) == [(7, tmp_path.name, "18")]
    assert known_in(file) == []


# Others


def test_a_judge_of_mt_bench_in_a_table(tmp_path):
    frame = pl.read_ndjson(EXPORTS / "mt_bench" / "gpt_pair.jsonl")
    text = pl.col("judge").map_elements(lambda judge: str(judge.to_list()), pl.String)
    frame.with_columns(text).write_csv(tmp_path / "pairs.csv")
    from_lines = votes_in(EXPORTS / "mt_bench" / "gpt_pair.jsonl")
    assert votes_in(tmp_path / "pairs.csv") == from_lines


def test_an_annotation_of_a_document_of_a_span(tmp_path):
    row = first_record("phoenix", "annotations.jsonl")
    file = lines(tmp_path / "a.jsonl", {**row, "document_position": 2, "annotator_kind": "LLM"})
    assert votes_in(file) == [("0000000000000002, document 2", "bob", "rude")]


def test_an_assessment_of_a_span(tmp_path):
    trace = {"trace_id": "t", "assessments": [{"assessment_name": "right", "span_id": "s"}]}
    trace["assessments"][0] |= {"source": {"source_id": "judge"}, "feedback": {"value": "yes"}}
    assert votes_in(lines(tmp_path / "t.jsonl", trace)) == [("t, s", "judge", "yes")]


def test_a_score_of_a_session(tmp_path):
    score = {"dataType": "NUMERIC", "name": "n", "value": 1, "source": "EVAL", "sessionId": "s"}
    assert votes_in(lines(tmp_path / "s.jsonl", score)) == [("s", "EVAL", 1)]


def test_a_table_of_pandas_is_an_export_too():
    frame = pd.read_csv(EXPORTS / "phoenix" / "frame.csv", dtype={"span_id": str})
    read = read_votes(frame.set_index("span_id"), question="correct")
    from_file = read_votes(EXPORTS / "phoenix" / "frame.csv", question="correct")
    assert read.codebook.tasks.equals(from_file.codebook.tasks)
    assert read.report.format == "Phoenix" and read.kind.library == "pandas"


def test_a_table_of_polars_is_an_export_too():
    frame = pl.read_csv(EXPORTS / "langsmith" / "experiment.csv")
    assert set(read_votes(frame).codebook.workers) == {"gpt", "claude", "exact"}
