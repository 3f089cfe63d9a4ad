"""Writes the samples beside it with lm-evaluation-harness, from the answers below."""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

from entered import Entered, write

HERE = Path(__file__).parent
TIME = "2026-01-01T00-00-00.000000"  # in place of that of the run, for names that stay the same
CHOICES = ("positive", "negative", "neutral")
GOLD = (0, 1, 2, 1)

# By model: the choice it finds most likely of each document, and its two texts on each.
CHOSEN = {"org/model-a": (0, 1, 0, 1), "org/model-b": (0, 2, 2, 1)}
TEXTS = (
    ("It is positive.", "positive"),
    ("negative", "I would say neutral"),
    ("I cannot say.", "neutral"),
    ("negative", "negative"),
)

PLAIN = {
    "dataset_path": "json",
    "dataset_kwargs": {"data_files": {"test": "documents.jsonl"}},
    "test_split": "test",
    "doc_to_text": "Document {{number}}:",
}
CHOOSING = PLAIN | {
    "task": "choosing",
    "output_type": "multiple_choice",
    "doc_to_choice": [*CHOICES],
    "doc_to_target": "{{gold}}",
    "metric_list": [{"metric": "acc"}],
}
WORD = {"function": "regex", "regex_pattern": f"({'|'.join(CHOICES)})"}
WRITING = PLAIN | {
    "task": "writing",
    "output_type": "generate_until",
    "doc_to_target": "{{" + str([*CHOICES]) + "[gold]}}",
    "repeats": 2,
    "generation_kwargs": {"until": ["\n"]},
    "filter_list": [
        {"name": "first", "filter": [WORD, {"function": "take_first"}]},
        {"name": "each", "filter": [WORD]},
    ],
    "metric_list": [{"metric": "exact_match"}],
}


def register():
    """The model `entered`, which gives the answers above."""
    from lm_eval.api.model import LM
    from lm_eval.api.registry import register_model

    @register_model("entered")
    class Model(LM):
        def __init__(self, pretrained):
            super().__init__()
            self.chosen = CHOSEN[pretrained]

        @classmethod
        def create_from_arg_obj(cls, arguments, _=None):
            return cls(arguments["pretrained"])

        def loglikelihood(self, requests, **_):
            said = ((number(r), CHOICES.index(r.args[1].strip())) for r in requests)
            return [(-1.0 if self.chosen[n] == choice else -9.0, False) for n, choice in said]

        def generate_until(self, requests, **_):
            seen = [number(r) for r in requests]
            return [TEXTS[n][seen[:place].count(n)] for place, n in enumerate(seen)]

        def loglikelihood_rolling(self, requests, **_):
            raise NotImplementedError

    return Model


def number(request):
    return int(re.search(r"\d+", request.args[0])[0])


def evaluate(model, tasks, place):
    """Run the harness as its command does, and keep the samples."""
    from lm_eval.__main__ import cli_evaluate

    run = f"lm_eval run --model entered --model_args pretrained={model} --tasks {tasks}"
    sys.argv = [*run.split(), "--include_path", ".", "--log_samples", "--output_path", "out"]
    cli_evaluate()
    for samples in Path(place).glob(f"out/{model.replace('/', '__')}/samples_*.jsonl"):
        kept = HERE / samples.parent.name / f"{samples.name.rsplit('_', 1)[0]}_{TIME}.jsonl"
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(samples.read_bytes())


def chose(model):
    entered = Entered()
    for document, choice in enumerate(CHOSEN[model]):
        entered.vote(document, model.replace("/", "__"), choice, "choosing")
        entered.known(document, GOLD[document], "choosing")
    return entered


def wrote(model):
    entered = Entered()
    for document, texts in enumerate(TEXTS):
        entered.known(document, CHOICES[GOLD[document]], "writing")
        for filter, text in (("first", texts[0]), *(("each", text) for text in texts)):
            word = re.search(WORD["regex_pattern"], text)
            if word:
                worker = f"{model.replace('/', '__')} ({filter})"
                entered.vote(document, worker, word[0], "writing")
            else:
                entered.drop("without an answer")
    return entered


if __name__ == "__main__":
    register()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        documents = ({"number": n, "gold": gold} for n, gold in enumerate(GOLD))
        Path("documents.jsonl").write_text("".join(f"{json.dumps(d)}\n" for d in documents))
        for task in (CHOOSING, WRITING):
            Path(f"{task['task']}.yaml").write_text(json.dumps(task))
        evaluate("org/model-a", "choosing,writing", place)
        evaluate("org/model-b", "choosing", place)
    write(
        HERE,
        {
            f"org__model-a/samples_choosing_{TIME}.jsonl": chose("org/model-a"),
            f"org__model-a/samples_writing_{TIME}.jsonl": wrote("org/model-a"),
            f"org__model-b/samples_choosing_{TIME}.jsonl": chose("org/model-b"),
        },
    )
