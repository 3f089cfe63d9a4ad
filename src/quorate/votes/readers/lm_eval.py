"""lm-evaluation-harness: samples, a model's answers to the documents of a task, in JSON lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from quorate.votes.readers.opening import Opened
from quorate.votes.readers.reader import Dropped, Found, Known, Reader, Vote

NAME = re.compile(r"samples_(?P<task>.+)_\d{4}-\d\d-\d\dT.*\.jsonl")
INVALID = "[invalid]"  # what a filter gives where it finds no answer
UNCONDITIONAL = "acc_mutual_info"  # with which a second half of likelihoods is without the document
Sample = Mapping[str, Any]


class LmEval(Reader):
    """Models are the workers here, and their answers the votes: a text, or the number of the choice
    that is most likely. A task is a document, a question a task of the harness, and the target is
    the known answer. The files are named as the harness does: by model (the directory) and task."""

    name = "lm-eval"
    title = "lm-evaluation-harness"
    signatures = (("filtered_resps", "doc_id", "target"),)

    def read(self, export: Opened) -> Iterator[Found]:
        place = PurePath(export.origin)
        named = NAME.fullmatch(place.name)
        question = named["task"] if named else ""
        model = place.parent.name or place.stem
        for sample in export.records():
            filter = sample.get("filter") or "none"
            worker = model if filter == "none" else f"{model} ({filter})"
            vote = Vote(sample["doc_id"], worker, "", question, item=sample["doc"])
            yield from _votes(vote, sample)


def _votes(vote: Vote, sample: Sample) -> Iterator[Found]:
    answers, known = _chosen(sample) if _has_choices(sample) else _written(sample)
    for answer in answers:
        if answer is None:
            yield Dropped("without an answer")
        else:
            yield vote._replace(label=answer)
    if known is not None:
        yield Known(vote.task, known, vote.question)


def _has_choices(sample: Sample) -> bool:
    """Whether the responses are log-likelihoods, each with whether it is of the greedy choice."""
    responses = sample["filtered_resps"]
    return all(
        isinstance(one, list) and len(one) == 2 and str(one[1]) in ("True", "False")
        for one in responses
    )


def _chosen(sample: Sample) -> tuple[list[int | None], int | None]:
    """The choice that is most likely, and that which is right, by their numbers."""
    likelihoods = [float(one[0]) for one in sample["filtered_resps"]]
    if UNCONDITIONAL in sample.get("metrics", ()):
        likelihoods = likelihoods[: len(likelihoods) // 2]
    if len(likelihoods) < 2:  # a text whose likelihood was asked for, without a choice
        return [None], None
    target = str(sample["target"])
    is_number = target.isdecimal() and int(target) < len(likelihoods)
    return [likelihoods.index(max(likelihoods))], int(target) if is_number else None


def _written(sample: Sample) -> tuple[list[str | None], str | None]:
    """The texts, and the target if it is one line: a whole solution is no answer to vote for."""
    responses = sample["filtered_resps"]
    texts = [text for one in responses for text in (one if isinstance(one, list) else [one])]
    answers = (str(text).strip() for text in texts)
    target = sample["target"]
    is_answer = isinstance(target, str) and "\n" not in target.strip()
    known = target.strip() if is_answer else None
    return [answer if answer not in ("", INVALID) else None for answer in answers], known
