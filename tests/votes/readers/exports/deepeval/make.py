"""Writes the files beside it with DeepEval, from the votes below. See README.md."""

import os
import tempfile
from pathlib import Path

from entered import Entered, write

HERE = Path(__file__).parent
CASES = ("q1", "q2", "q3", "q4", "q5")

# Scores of each case by metric and model that judges (None: the metric itself); with a threshold
# of a half, they pass or fail. ?: the metric fails.
SCORES = {
    ("Correctness", "judge-a"): (0.9, 0.5, 0.1, 1.0, 0.0),
    ("Correctness", "judge-b"): (0.8, 0.4, 0.2, 1.0, "?"),
    ("Relevance", "judge-a"): (1.0, 1.0, 0.7, 0.3, 0.6),
    ("Exact match", None): (1.0, 0.0, 0.0, 1.0, 0.0),
    ("Same length", None): (1.0, 1.0, 0.0, "?", 0.0),
}


def metric(title, model, scores):
    """A metric of DeepEval's that gives the scores entered."""
    from deepeval.metrics import BaseMetric

    class Entered(BaseMetric):
        threshold = 0.5
        evaluation_model = model
        __name__ = title

        def measure(self, case):
            score = scores[CASES.index(case.name)]
            if score == "?":
                raise ValueError("the judge gave no verdict")
            self.score, self.reason = score, "as entered"
            self.success = score >= self.threshold
            return score

        async def a_measure(self, case, *_, **__):
            return self.measure(case)

        def is_successful(self):
            return self.success

    return Entered()


def evaluated():
    """What DeepEval's `evaluate` returns; it writes to the folder of results besides."""
    from deepeval import evaluate
    from deepeval.evaluate import DisplayConfig, ErrorConfig
    from deepeval.test_case import LLMTestCase

    return evaluate(
        [LLMTestCase(name=case, input=f"What is {case}?", actual_output="4") for case in CASES],
        [metric(*judge, scores) for judge, scores in SCORES.items()],
        error_config=ErrorConfig(ignore_errors=True),
        display_config=DisplayConfig(print_results=False, show_indicator=False),
    )


def entered():
    entered = Entered()
    for (title, model), scores in SCORES.items():
        question, worker = (title, model) if model else ("metrics", title)
        for case, score in zip(CASES, scores, strict=True):
            if score == "?":
                entered.drop("failed")
            else:
                entered.vote(case, worker, "pass" if score >= 0.5 else "fail", question)
    return entered


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        os.environ |= {"DEEPEVAL_RESULTS_FOLDER": place, "DEEPEVAL_TELEMETRY_OPT_OUT": "YES"}
        result = evaluated()
        (HERE / "evaluation_result.json").write_text(result.model_dump_json())
        (run,) = Path(place).glob("test_run_*.json")
        (HERE / "test_run.json").write_bytes(run.read_bytes())
        latest = Path(place) / ".deepeval" / ".latest_test_run.json"
        (HERE / "latest_test_run.json").write_bytes(latest.read_bytes())
    files = ("test_run.json", "latest_test_run.json", "evaluation_result.json")
    write(HERE, dict.fromkeys(files, entered()))
