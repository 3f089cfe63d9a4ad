"""Writes the files beside it with the classes of LangSmith's SDK. See README.md."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from entered import Entered, write

HERE = Path(__file__).parent
WHEN = datetime(2026, 1, 1, tzinfo=UTC)
RUNS = [UUID(int=number) for number in range(1, 5)]

# By criterion, type of source, its model or its user: a score or value for each run. None: no
# feedback; "": feedback with a comment only.
FEEDBACK = (
    ("correctness", "model", "judge-a", (1, 1, 0, 1)),
    ("correctness", "model", "judge-b", (1, 0, 0, "")),
    ("correctness", "auto_eval", None, (1, 0, 1, 1)),
    ("correctness", "app", "ann", (1, None, 0, None)),
    ("correctness", "app", "bob", (None, None, 1, None)),
    ("tone", "api", None, ("kind", "kind", "rude", "kind")),
    ("tone", "model", "judge-a", ("kind", "rude", "rude", "kind")),
)
# By evaluator, which is a judge: its verdict on each example; None: it gives none.
VERDICTS = {
    "gpt": (True, True, False, False, None),
    "claude": (True, False, False, False, True),
    "exact": (True, False, True, False, False),
}


def feedback():
    """Feedback as the SDK's `list_feedback` gives it, and what was entered."""
    from langsmith.schemas import Feedback, FeedbackSourceBase

    records, entered = [], Entered()
    for key, kind, who, said in FEEDBACK:
        by = {"metadata": {"model": who} if who else {}}
        if kind == "app":
            by = {"user_id": UUID(int=99), "user_name": who}
        for run, value in zip(RUNS, said, strict=True):
            if value is None:
                continue
            content = {"comment": "as entered"}
            if value != "":
                content["value" if isinstance(value, str) else "score"] = value
            number = UUID(int=100 + len(records))
            source = FeedbackSourceBase(type=kind, **by)
            record = {"id": number, "run_id": run, "trace_id": run, "key": key} | content
            when = {"created_at": WHEN, "modified_at": WHEN, "feedback_source": source}
            records.append(Feedback(**record, **when))
            if value == "":
                entered.drop("without a value or score")
            elif kind != "app" or run == RUNS[2]:  # on which people contradict each other
                entered.vote(str(run), who or kind, value, key)
            else:
                entered.known(str(run), value, key)
    return records, entered


def evaluator(name, verdicts):
    def judge(run, example):
        verdict = verdicts[example.inputs["number"]]
        return {"key": name, "score": verdict, "comment": "as entered"}

    return judge


def experiment():
    """What `evaluate` gives, and what was entered."""
    from langsmith import Client
    from langsmith.schemas import Example

    numbers = range(len(VERDICTS["gpt"]))
    examples = [
        Example(
            id=UUID(int=number + 1),
            inputs={"number": number, "question": "What is it?"},
            outputs={"answer": "4"},
            dataset_id=UUID(int=50),
            created_at=WHEN,
        )
        for number in numbers
    ]
    results = Client(api_url="http://127.0.0.1:1", api_key="none").evaluate(
        lambda inputs: {"answer": "4"},
        data=examples,
        evaluators=[evaluator(*judge) for judge in VERDICTS.items()],
        upload_results=False,
    )
    entered = Entered()
    for name, verdicts in VERDICTS.items():
        for example, verdict in zip(examples, verdicts, strict=True):
            if verdict is None:
                entered.drop("without a score")
            else:
                entered.vote(str(example.id), name, verdict)
    return results, entered


if __name__ == "__main__":
    os.environ |= {"LANGSMITH_TRACING": "false"}
    records, fed_back = feedback()
    lines = "".join(f"{record.model_dump_json()}\n" for record in records)
    (HERE / "feedback.jsonl").write_text(lines)
    array = [json.loads(record.model_dump_json()) for record in records]
    (HERE / "feedback.json").write_text(json.dumps(array))
    results, judged = experiment()
    frame = results.to_pandas()
    frame.to_csv(HERE / "experiment.csv", index=False)
    frame.to_json(HERE / "experiment.jsonl", orient="records", lines=True, default_handler=str)
    feedback_files = dict.fromkeys(("feedback.jsonl", "feedback.json"), fed_back)
    write(HERE, feedback_files | dict.fromkeys(("experiment.csv", "experiment.jsonl"), judged))
