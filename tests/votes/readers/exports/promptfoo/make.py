"""Writes the files beside it with promptfoo, from the votes below. See README.md."""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from entered import Entered, write

HERE = Path(__file__).parent
MODELS = ("model-a", "model-b")
QUESTIONS = ("1 + 1", "2 + 2", "3 + 3", "it fails")
PORT = 15599

# Whether each question passes, by judge, the same for each model.
ASSERTIONS = {"brief": "TTF", "polite": "TFT"}
RUBRIC = "It is right."
GRADERS = {"judge-a": "TTF", "judge-b": "TF?"}  # ?: a judge who does not answer as asked
HUMAN = {"2 + 2": False}  # rated by a person in the web page


def verdicts(text):
    said = zip(QUESTIONS, text, strict=False)
    return {question: verdict == "T" for question, verdict in said if verdict != "?"}


def named():
    """Assertions in JavaScript that give what was entered, named as judges."""
    for name, text in ASSERTIONS.items():
        code = f"({json.dumps(verdicts(text))})[context.vars.question]"
        yield {"type": "javascript", "metric": name, "value": code}


def graded():
    """Assertions that models judge."""
    for name, text in GRADERS.items():
        config = {"name": name, "verdicts": verdicts(text)}
        provider = {"id": "file://grader.js", "label": name, "config": config}
        yield {"type": "llm-rubric", "metric": "right", "value": RUBRIC, "provider": provider}


def evaluate(models, assertions, *arguments):
    """Evaluate, and let promptfoo write its files."""
    config = {
        "prompts": ["{{question}}"],
        "providers": [{"id": "file://model.js", "label": model} for model in models],
        "defaultTest": {
            "assert": assertions,
            "options": {"rubricPrompt": "{{output}} {{rubric}}"},  # short, to keep files small
        },
        "tests": [{"vars": {"question": question}} for question in QUESTIONS],
    }
    file = HERE / "config.json"
    file.write_text(json.dumps(config))
    promptfoo("eval", "-c", file.name, "--no-cache", *arguments).wait()
    file.unlink()


def promptfoo(*arguments):
    program = [sys.argv[1], *arguments]
    return subprocess.Popen(program, cwd=HERE, stdout=subprocess.DEVNULL)


def rate(results):
    """Rate results by way of promptfoo's server, as its page does."""
    server = promptfoo("view", "--no", "--port", str(PORT))
    time.sleep(15)
    for result in results["results"]["results"]:
        if result["vars"]["question"] in HUMAN:
            post(results["evalId"], result, HUMAN[result["vars"]["question"]])
    server.terminate()
    server.wait()


def post(evaluation, result, passed):
    human = {
        "pass": passed,
        "score": float(passed),
        "reason": "Manual result (overrides all other grading results)",
        "assertion": {"type": "human"},
    }
    components = [*result["gradingResult"]["componentResults"], human]
    rated = {**result["gradingResult"], **human, "componentResults": components}
    request = urllib.request.Request(
        f"http://127.0.0.1:{PORT}/api/eval/{evaluation}/results/{result['id']}/rating",
        json.dumps(rated).encode(),
        {"Content-Type": "application/json"},
    )
    urllib.request.urlopen(request).close()


def entered(models, judges, repeats):
    """What was entered, by model and in each repeat."""
    entered = Entered()
    for model in [model for model in models for _ in range(repeats)]:
        entered.drop("failed")  # on the last question
        for number, question in enumerate(QUESTIONS[:-1]):
            task = question if len(models) == 1 else f"{question} ({model})"
            for worker, text, criterion in judges:
                if text[number] == "?":
                    entered.drop("without a verdict")
                else:
                    entered.vote(task, worker, said(text[number] == "T"), criterion)
            if repeats == 1 and question in HUMAN:
                entered.known(task, said(HUMAN[question]), "assertions")
    return entered


def said(passed):
    return "pass" if passed else "fail"


def main():
    evaluate(MODELS, [*named()], "--repeat", "2", "-o", "repeated.jsonl")
    evaluate(MODELS[:1], [*named(), *graded()], "-o", "graded.json")
    results = json.loads((HERE / "graded.json").read_text())
    rate(results)
    promptfoo("export", "eval", results["evalId"], "-o", "graded.json").wait()
    scripts = [(name, text, "assertions") for name, text in ASSERTIONS.items()]
    models = [(name, text, "right") for name, text in GRADERS.items()]
    repeated = entered(MODELS, scripts, 2)
    graded_by_models = entered(MODELS[:1], [*scripts, *models], 1)
    write(HERE, {"repeated.jsonl": repeated, "graded.json": graded_by_models})


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        os.environ |= {
            "PROMPTFOO_CONFIG_DIR": place,
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
        }
        main()
