"""DeepEval: test runs as it keeps them, and what its `evaluate` returns, as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quorate.votes.readers.opening import Opened
from quorate.votes.readers.reader import Dropped, Found, Reader, Vote
from quorate.votes.readers.verdicts import first, passed

METRICS = "metrics"  # the question that those without a model answer
CASES = ("testCases", "conversationalTestCases", "test_results")


class DeepEval(Reader):
    """A task is a test case. A metric that a model judges is a question, and the worker is the
    model; any other metric is a worker."""

    name = "deepeval"
    title = "DeepEval"
    signatures = (
        ("testCases", "conversationalTestCases"),
        ("testRunData",),
        ("test_results", "confident_link"),
    )

    def read(self, export: Opened) -> Iterator[Found]:
        run = export.document()
        run = run.get("testRunData", run)
        for case in (case for kind in CASES for case in run.get(kind) or []):
            for metric in first(case.get("metricsData"), case.get("metrics_data")) or []:
                yield _verdict(case, metric)


def _verdict(case: Mapping[str, Any], metric: Mapping[str, Any]) -> Found:
    if metric.get("error"):
        return Dropped("failed")
    if metric.get("success") is None:
        return Dropped("without a verdict")
    judge = first(metric.get("evaluationModel"), metric.get("evaluation_model"))
    name = str(metric["name"])
    worker, question = (judge, name) if judge else (name, METRICS)
    return Vote(case["name"], worker, passed(metric["success"]), question, item=case)
