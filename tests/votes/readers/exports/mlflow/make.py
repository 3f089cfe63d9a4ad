"""Writes the files beside it with MLflow, from the assessments below. See README.md."""

import os
import tempfile
from pathlib import Path

from entered import Entered, write

HERE = Path(__file__).parent
ITEMS = ("q1", "q2", "q3", "q4")

# By criterion, type and id of the source: a value for each item. None: no assessment; ?: the judge
# failed.
FEEDBACK = (
    ("correct", "LLM_JUDGE", "judge-a", ("yes", "yes", "no", "yes")),
    ("correct", "LLM_JUDGE", "judge-b", ("yes", "no", "no", "?")),
    ("correct", "CODE", "exact match", ("no", "no", None, "yes")),
    ("correct", "HUMAN", "ann", ("yes", None, "no", "yes")),
    ("correct", "HUMAN", "bob", (None, None, "yes", "yes")),
    ("helpful", "LLM_JUDGE", "judge-a", (4, 2, 1.5, 5)),
    ("helpful", "LLM_JUDGE", "judge-b", (5, 2, 2, 4)),
    ("safe", "CODE", "words", (True, False, None, True)),
)
EXPECTED = {("safe", "q1"): True, ("reply", "q1"): "4"}  # what the answer should have been
OVERRIDDEN = {("correct", "judge-a", "q2"): "no"}  # by a person, cal
UPDATED = ("correct", "exact match", "q1", "yes")  # by the source itself, which said no before


def record():
    """Enter everything; the traces, by item."""
    import mlflow
    from mlflow.entities import AssessmentError, AssessmentSource

    traces = {}
    for item in ITEMS:
        with mlflow.start_span(name="answer") as span:
            span.set_inputs({"item": item})
        traces[item] = span.trace_id
    for name, kind, judge, values in FEEDBACK:
        source = AssessmentSource(kind, judge)
        for item, value in zip(ITEMS, values, strict=True):
            said = {"value": value}
            if value == "?":
                said = {"error": AssessmentError("NO_VERDICT", "the judge gave no verdict")}
            if value is not None:
                trace = traces[item]
                one = mlflow.log_feedback(trace_id=trace, name=name, source=source, **said)
                override(trace, one.assessment_id, (name, judge, item))
    for (name, item), value in EXPECTED.items():
        mlflow.log_expectation(trace_id=traces[item], name=name, value=value)
    return traces


def override(trace, assessment, key):
    import mlflow
    from mlflow.entities import AssessmentSource

    if key in OVERRIDDEN:
        by = AssessmentSource("HUMAN", "cal")
        mlflow.override_feedback(
            trace_id=trace, assessment_id=assessment, value=OVERRIDDEN[key], source=by
        )
    if key == UPDATED[:3]:
        by = AssessmentSource("CODE", UPDATED[1])
        mlflow.override_feedback(
            trace_id=trace, assessment_id=assessment, value=UPDATED[3], source=by
        )


def entered(traces, criteria):
    """What was entered. People who agree are right, and who contradict each other vote."""
    entered = Entered()
    for name, kind, judge, values in FEEDBACK:
        for item, value in zip(ITEMS, values, strict=True):
            if value == "?":
                entered.drop("failed")
            elif value is None or name not in criteria:
                continue
            elif kind != "HUMAN" or item == "q3":
                if (name, judge, item) == UPDATED[:3]:
                    entered.drop("overridden")
                    value = UPDATED[3]
                entered.vote(traces[item], judge, value, name)
            elif judge == "ann":
                entered.known(traces[item], value, name)
    for (name, _, item), value in OVERRIDDEN.items():
        entered.known(traces[item], value, name)
    for (name, item), value in EXPECTED.items():
        if name in criteria:
            entered.known(traces[item], value, name)
        elif "safe" in criteria:
            entered.drop("known answers to what nobody judged")
    return entered


def main():
    import mlflow

    mlflow.set_tracking_uri("sqlite:///mlflow.db")
    mlflow.create_experiment("sums", artifact_location="s3://bucket/sums")
    mlflow.set_experiment("sums")
    traces = record()
    (HERE / "traces.jsonl").write_text(
        "".join(f"{trace.to_json()}\n" for trace in mlflow.search_traces(return_type="list"))
    )
    frame = mlflow.search_traces()
    frame.to_csv(HERE / "frame.csv", index=False)
    frame.to_json(HERE / "frame.json", orient="records")
    frame[["trace_id", "assessments"]].to_csv(HERE / "assessments.csv", index=False)
    everything = entered(traces, {"correct", "helpful", "safe"})
    of_text = frame[["trace_id", "state", "assessments"]].copy()
    of_text["assessments"] = [
        [one for one in said if one["assessment_name"] == "correct"]
        for said in of_text["assessments"]
    ]
    of_text.to_parquet(HERE / "correct.parquet")
    files = ("traces.jsonl", "frame.csv", "frame.json", "assessments.csv")
    write(
        HERE, dict.fromkeys(files, everything) | {"correct.parquet": entered(traces, {"correct"})}
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        os.environ |= {"LOGNAME": "ann", "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false"}
        main()
