"""Writes the logs beside it with Inspect AI, from the votes below. See README.md."""

import shutil
import tempfile
from itertools import product
from pathlib import Path

import inspect_ai
from entered import Entered, write
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalError, ProvenanceData, edit_score, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, ScoreEdit, accuracy, mean, model_graded_qa, scorer
from inspect_ai.solver import solver

HERE = Path(__file__).parent
UNSCORED = float("nan")  # what Inspect keeps where a scorer could not score
MODEL = "mockllm/model"

# Each scorer's values by sample, one for each epoch; None where it returns no score at all.
STRICT = {"q1": ["C", "C"], "q2": ["I", "N"], "q3": [None, "I"]}
LENIENT = {"q1": ["C", "C"], "q2": ["P", "I"], "q3": ["P", UNSCORED]}
CLOSENESS = {"q1": [0.9, 1], "q2": [0.25, 0], "q3": [0.5, 0.75]}
RUBRIC = {
    "q1": [{"helpful": 5, "safe": True}, {"helpful": 4, "safe": True}],
    "q2": [{"helpful": 2, "safe": False}, {"helpful": UNSCORED, "safe": True}],
    "q3": [{"helpful": 3, "safe": True}, {"helpful": 3, "safe": True}],
}
SCORES = {"strict": STRICT, "lenient": LENIENT, "closeness": CLOSENESS, "rubric": RUBRIC}
NOTHING = [None, None]
FAILS = ("q4", 2)  # a sample and the epoch in which the model fails on it
CORRECTED = ("q2", 1, "lenient", "I")  # sample, epoch, scorer and the value that a person gives
GRADES = {"judge-a": {"q1": "C", "q2": "I"}, "judge-b": {"q1": "P", "q2": "I"}}


@solver
def answer():
    async def solve(state, generate):
        if (state.sample_id, state.epoch) == FAILS:
            raise ValueError("the model gave no answer")
        state.output = ModelOutput.from_content(MODEL, f"an answer to {state.input_text}")
        return state

    return solve


def giving(name, metrics, values):
    """A scorer that gives the values entered."""

    @scorer(metrics=metrics, name=name)
    def entered():
        async def score(state, target):
            value = values.get(state.sample_id, NOTHING)[state.epoch - 1]
            return None if value is None else Score(value=value)

        return score

    return entered()


def grading(name):
    """A model that gives the grades entered."""

    def output(messages, tools, tool_choice, config):
        sample = next(q for q in GRADES[name] if f"to {q}" in messages[0].text)
        graded = ModelOutput.from_content(f"mockllm/{name}", f"GRADE: {GRADES[name][sample]}")
        graded.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return graded

    return get_model(f"mockllm/{name}", custom_outputs=output)


def run(file, samples, scorers, epochs):
    """Evaluate, and keep the log under this name."""
    task = inspect_ai.Task(
        dataset=[Sample(id=q, input=q, target="4") for q in samples],
        solver=answer(),
        scorer=scorers,
        epochs=epochs,
        name="sums",
    )
    with tempfile.TemporaryDirectory() as place:
        (log,) = inspect_ai.eval(
            task,
            model=MODEL,
            log_dir=place,
            log_format=file.rpartition(".")[2],
            fail_on_error=False,
            display="none",
        )
        for sample in log.samples:
            if sample.error:  # whose trace names places on the machine that ran it
                sample.error = EvalError(
                    message=sample.error.message, traceback="", traceback_ansi=""
                )
                sample.events = []
        if "q2" in samples and epochs > 1:
            sample, epoch, name, value = CORRECTED
            by = ProvenanceData(author="ann", reason="a half is not four")
            edit_score(log, sample, name, ScoreEdit(value=value, provenance=by), epoch=epoch)
        write_eval_log(log)
        shutil.copy(next(Path(place).glob("*.*")), HERE / file)


def scorers(*names):
    """The scorers of these names."""
    metrics = {"rubric": {"helpful": [mean()], "safe": [mean()]}}
    return [giving(name, metrics.get(name, [accuracy()]), SCORES[name]) for name in names]


def graders():
    """Inspect's own scorer with two models as judges, asked in few words to keep logs small."""
    few = {"template": "{question} {answer} {criterion}", "instructions": "Grade it."}
    return [model_graded_qa(model=grading(m), partial_credit=True, **few) for m in GRADES]


def entered_by(scorer, sample, epoch, value, entered):
    """Enter one score, which may be of several criteria."""
    criteria = value if isinstance(value, dict) else {None: value}
    for criterion, said in criteria.items():
        if said != said:
            entered.drop("without a score")
            continue
        question = criterion or ("grade" if isinstance(said, str) else "score")
        entered.vote(sample, scorer, said, question)
        if (sample, epoch, scorer) == CORRECTED[:3]:
            entered.known(sample, CORRECTED[3], question)


def run_scorers(file, samples, names):
    """Evaluate by scorers; what was entered."""
    run(file, samples, scorers(*names), 2)
    entered = Entered()
    for epoch, sample in product((1, 2), samples):
        if (sample, epoch) == FAILS:
            entered.drop("failed")
        elif sample not in STRICT:
            entered.drop("without a score")
        for name in names:
            value = SCORES[name].get(sample, NOTHING)[epoch - 1]
            if value is not None:
                entered_by(name, sample, epoch, value, entered)
    return entered


def run_graders(file):
    """Evaluate by models as judges; what was entered."""
    run(file, ["q1", "q2"], graders(), 1)
    entered = Entered()
    for number, (model, grades) in enumerate(GRADES.items()):
        scorer = f"model_graded_qa{number or ''} (mockllm/{model})"
        for sample, grade in grades.items():
            entered.vote(sample, scorer, grade, "grade")
    return entered


if __name__ == "__main__":
    by_file = {
        "scorers.json": run_scorers("scorers.json", ["q1", "q2"], ["lenient", "rubric"]),
        "scorers.eval": run_scorers("scorers.eval", ["q1", "q2", "q3", "q4"], [*SCORES]),
        "graders.json": run_graders("graders.json"),
        "graders.eval": run_graders("graders.eval"),
    }
    write(HERE, by_file)
