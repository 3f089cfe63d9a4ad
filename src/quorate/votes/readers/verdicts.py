"""What readers of evaluation tools share: verdicts of people among those of judges."""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from quorate.votes.readers.reader import Dropped, Found, Known, Vote

PASS, FAIL = "pass", "fail"
NOBODY_JUDGED = Dropped("known answers to what nobody judged")


class ByPerson(NamedTuple):
    """A vote by a person, where judges vote too."""

    vote: Vote


def settled(found: Iterator[Found | ByPerson]) -> Iterator[Found]:
    """Votes of judges, with those of people as known answers: but for tasks on which people
    contradict each other, and for questions that only people answer, where people vote."""
    people: list[Vote] = []
    known: list[Known] = []
    judged = set()
    for one in found:
        if isinstance(one, ByPerson):
            people.append(one.vote)
        elif isinstance(one, Known):
            known.append(one)
        else:
            judged |= {one.question} if isinstance(one, Vote) else set()
            yield one
    said = defaultdict(set)
    for vote in people:
        said[vote.question, vote.task].add(repr(vote.label))
    for vote in people:
        agreed = len(said[vote.question, vote.task]) == 1
        is_known = agreed and vote.question in judged
        yield Known(vote.task, vote.label, vote.question) if is_known else vote
    answered = judged | {vote.question for vote in people}
    yield from (one if one.question in answered else NOBODY_JUDGED for one in known)


def first(*values: Any) -> Any:
    """The first of the values that is there."""
    return next((v for v in values if v is not None and v != "" and v == v), None)


def passed(verdict: bool) -> str:
    """What it is called that something passed, or did not."""
    return PASS if verdict else FAIL


def fields(cell: Any) -> Mapping[str, Any]:
    """The fields of an object; none of what is no object."""
    value = nested(cell)
    return value if isinstance(value, Mapping) else {}


def nested(cell: Any) -> Any:
    """A nested value, which in a table is text, as JSON or as Python prints it."""
    if not isinstance(cell, str):
        return cell
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def model_of(metadata: Any) -> Any:
    """The model that metadata names as the judge."""
    named = fields(metadata)
    return first(named.get("model"), named.get("model_name"))
