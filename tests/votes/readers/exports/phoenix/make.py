"""Writes the files beside it with Phoenix, from the annotations below. See README.md."""

import json
import sys
import time
from pathlib import Path

from entered import Entered, write

HERE = Path(__file__).parent
PROJECT = "sums"
SPANS = [f"{number:016x}" for number in range(1, 6)]

# By criterion, kind of annotator, identifier and metadata: a label or score for each span. Nothing:
# an annotation with an explanation only. None: no annotation.
ANNOTATIONS = (
    ("correct", "LLM", "judge-a", {}, ("yes", "yes", "no", "yes", "no")),
    ("correct", "LLM", "", {"model": "judge-b"}, ("yes", "no", "no", "yes", "")),
    ("correct", "CODE", "exact match", {}, ("yes", "no", "no", None, "no")),
    ("correct", "HUMAN", "ann", {}, ("yes", "no", None, "yes", None)),
    ("correct", "HUMAN", "bob", {}, ("yes", None, None, "no", None)),
    ("helpful", "LLM", "judge-a", {}, (4.0, 3.0, 1.5, 5.0, 2.0)),
    ("helpful", "CODE", "", {}, (5.0, None, 1.0, 4.0, 2.0)),
    ("tone", "HUMAN", "ann", {}, ("kind", "kind", None, None, None)),
    ("tone", "HUMAN", "bob", {}, ("kind", "rude", None, None, None)),
)


def spans():
    when = {"start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:01Z"}
    for span in SPANS:
        context = {"trace_id": span * 2, "span_id": span}
        yield {"name": "answer", "context": context, "span_kind": "LLM", "status_code": "OK"} | when


def annotations():
    for name, kind, identifier, metadata, said in ANNOTATIONS:
        for span, value in zip(SPANS, said, strict=True):
            if value is not None:
                result = {"explanation": "as entered"}
                if value:
                    result["label" if isinstance(value, str) else "score"] = value
                yield {
                    "span_id": span,
                    "name": name,
                    "annotator_kind": kind,
                    "identifier": identifier,
                    "metadata": metadata,
                    "result": result,
                }


def entered():
    """What was entered. People who agree are right, where others judge too; else they vote."""
    entered = Entered()
    for name, kind, identifier, metadata, said in ANNOTATIONS:
        worker = identifier or metadata.get("model") or kind
        for span, value in zip(SPANS, said, strict=True):
            if value == "":
                entered.drop("without a label or score")
            elif value is not None and (kind != "HUMAN" or name == "tone" or span == SPANS[3]):
                entered.vote(span, worker, value, name)
            elif value is not None and [SPANS[0], "bob"] != [span, identifier]:
                entered.known(span, value, name)
    return entered


if __name__ == "__main__":
    from phoenix.client import Client

    client = Client(base_url=sys.argv[1]).spans
    client.log_spans(project_identifier=PROJECT, spans=[*spans()])
    time.sleep(10)  # Phoenix writes spans behind the scenes
    client.log_span_annotations(span_annotations=[*annotations()], sync=True)
    asked = {"span_ids": SPANS, "project_identifier": PROJECT}
    said = client.get_span_annotations(**asked)
    (HERE / "annotations.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in said))
    frame = client.get_span_annotations_dataframe(**asked)
    frame.to_csv(HERE / "frame.csv")
    frame.reset_index().to_json(HERE / "frame.jsonl", orient="records", lines=True)
    write(HERE, dict.fromkeys(("annotations.jsonl", "frame.csv", "frame.jsonl"), entered()))
