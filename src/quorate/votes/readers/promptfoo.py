"""promptfoo: results of an evaluation, as one JSON object or in JSON lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from quorate.votes.readers import verdicts
from quorate.votes.readers.opening import Look, Opened
from quorate.votes.readers.reader import Dropped, Found, Judged, Reader, Vote
from quorate.votes.readers.verdicts import ByPerson

ASSERTIONS = "assertions"  # the question that those without a model of their own answer
LONGEST_NAME = 60
HUMAN = "human"  # the type of a rating in promptfoo's page
GRADED = ("llm-rubric", "model-graded", "g-eval", "factuality", "answer-relevance", "context-")
CRASHES = ("Custom function threw", "Python code execution failed", "Ruby code execution failed")
Part = Mapping[str, Any]


class Promptfoo(Reader):
    """A task is a test, called by its variables, so that repeats are of one task. What a model
    grades is a question, called by its metric, and the worker is the model; any other assertion is
    a worker, called by its metric or type. A person's rating is a known answer."""

    name = "promptfoo"
    title = "promptfoo"
    signatures = (("testIdx", "promptIdx", "testCase"),)

    def sniff(self, look: Look) -> bool:
        return _is_whole(look) or super().sniff(look)

    def read(self, export: Opened) -> Iterator[Found]:
        whole = _is_whole(export.look())
        results = export.within("results", "results") if whole else export.records()
        return verdicts.settled(_found(results))


def _is_whole(look: Look) -> bool:
    """Whether a file is one object with all results in it."""
    return any("prompts" in verdicts.fields(record.get("results")) for record in look.first)


def _found(results: Iterator[Part]) -> Iterator[Found | ByPerson]:
    prompts: dict[str, list[Any]] = {}
    for result in results:
        task = Judged(_test(result), _model(result, prompts))
        parts = [*_parts(verdicts.fields(result.get("gradingResult")))]
        if not parts:
            yield Dropped("failed" if result.get("error") else "without a verdict")
        options = verdicts.fields(verdicts.fields(result.get("testCase")).get("options"))
        seen: Counter[str] = Counter()
        for part in parts:
            seen[_type(part)] += 1
            vote = Vote(task, "", "", ASSERTIONS, item=verdicts.fields(result.get("vars")))
            yield _verdict(part, vote, options.get("provider"), seen[_type(part)])


def _test(result: Part) -> str:
    """A test, called by its variables, since its number says little and repeats have others."""
    given = verdicts.fields(result.get("vars"))
    if not given:
        return f"test {result.get('testIdx')}"
    only = next(iter(given.values())) if len(given) == 1 else None
    text = only if isinstance(only, str) else json.dumps(given, sort_keys=True)
    short = " ".join(text.split())[:LONGEST_NAME].strip()
    return text if text == short else f"{short}... {sha256(text.encode()).hexdigest()[:8]}"


def _model(result: Part, prompts: dict[str, list[Any]]) -> str:
    """The model that is tested, with the number of its prompt if it has several."""
    model = _called(result["provider"])
    of_model = prompts.setdefault(model, [])
    prompt = result.get("promptId") or verdicts.fields(result.get("prompt")).get("raw")
    if prompt not in of_model:
        of_model.append(prompt)
    number = of_model.index(prompt) + 1
    return model if number == 1 else f"{model}, prompt {number}"


def _called(provider: Any) -> str:
    named = verdicts.fields(provider)
    return str(verdicts.first(named.get("label"), named.get("id"), provider))


def _parts(graded: Part) -> Iterator[Part]:
    """The verdicts of assertions, also of those that are in sets."""
    for part in graded.get("componentResults") or []:
        if part.get("componentResults"):
            yield from _parts(part)
        elif part.get("assertion"):
            yield part


def _type(part: Part) -> str:
    return str(part["assertion"].get("type"))


def _verdict(part: Part, vote: Vote, grader: Any, number: int) -> Found | ByPerson:
    """The verdict of an assertion; `number` counts those of its type that judge the test."""
    if verdicts.fields(part.get("metadata")).get("graderError"):
        return Dropped("without a verdict")
    if str(part.get("reason")).startswith(CRASHES):
        return Dropped("failed")
    assertion, kind = part["assertion"], _type(part)
    vote = vote._replace(label=verdicts.passed(part["pass"]))
    if kind == HUMAN:
        return ByPerson(vote._replace(worker=HUMAN))
    judge = assertion.get("provider") or (grader if kind.startswith(GRADED) else None)
    if judge:
        asked = verdicts.first(assertion.get("metric"), assertion.get("value"), kind)
        return vote._replace(worker=_called(judge), question=str(asked))
    by_type = kind if number == 1 else f"{kind} {number}"
    return vote._replace(worker=assertion.get("metric") or by_type)
