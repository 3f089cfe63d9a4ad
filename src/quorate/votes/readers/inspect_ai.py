"""Inspect AI: logs of evaluations, as JSON or as an archive with a file for each sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quorate.votes.readers import verdicts
from quorate.votes.readers.opening import Look, Opened
from quorate.votes.readers.reader import Dropped, Found, Judged, Reader, Vote
from quorate.votes.readers.verdicts import ByPerson

JOURNAL = "_journal/start.json"  # in an archive, the first to be written
HEADERS = ("header.json", JOURNAL)
UNCHANGED = "UNCHANGED"  # what an edit of a score leaves as it was
Score = Mapping[str, Any]


class InspectAI(Reader):
    """A task is a sample, and a worker a scorer, with the models that it asked. Epochs are repeats.
    A scorer that judges several criteria answers a question on each. A score that somebody edited
    is the scorer's first one, and what it was changed to is a known answer."""

    name = "inspect"
    title = "Inspect AI"
    signatures = (("eval", "plan", "status"),)
    takes_archives = True

    def sniff(self, look: Look) -> bool:
        return super().sniff(look) or (look.shape == "zip" and JOURNAL in look.members)

    def lacks(self, look: Look) -> list[str]:
        return super().lacks(look) if look.shape == "object" else []

    def read(self, export: Opened) -> Iterator[Found]:
        return verdicts.settled(_found(export))


def _found(export: Opened) -> Iterator[Found | ByPerson]:
    evaluated, samples = _opened(export)
    for sample in samples:
        scores = sample.get("scores") or {}
        if not scores:
            yield Dropped("failed" if sample.get("error") else "without a score")
        vote = Vote(Judged(sample["id"], evaluated), "", "", item=sample)
        for scorer, score in scores.items():
            yield from _votes(vote, scorer, score)


def _opened(export: Opened) -> tuple[str, Iterator[Mapping[str, Any]]]:
    """What is evaluated, and the samples."""
    if export.look().shape != "zip":
        log = export.document()
        return _evaluated(log), iter(log.get("samples") or [])
    header = next(log for name in HEADERS for log in export.documents(name))
    return _evaluated(header), export.documents("samples/")


def _evaluated(log: Mapping[str, Any]) -> str:
    return f"{log['eval']['task']}, {log['eval']['model']}"


def _votes(vote: Vote, scorer: str, score: Score) -> Iterator[Found | ByPerson]:
    history = score.get("history") or []
    said = history[0]["value"] if history else score["value"]
    for question, value in _criteria(said):
        if verdicts.first(value) is None:
            yield Dropped("without a score")
        else:
            yield vote._replace(worker=_worker(scorer, score), label=value, question=question)
    edits = [edit for edit in history[1:] if edit.get("value", UNCHANGED) != UNCHANGED]
    if edits:
        editor = verdicts.fields(edits[-1].get("provenance")).get("author") or "editor"
        for question, value in _criteria(score["value"]):
            yield ByPerson(vote._replace(worker=editor, label=value, question=question))


def _criteria(value: Any) -> list[tuple[str, Any]]:
    """The values of a score, each with its question: grades and numbers are not of one kind."""
    if isinstance(value, Mapping):
        return [(str(criterion), said) for criterion, said in value.items()]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return [("score" if is_number else "grade", value)]


def _worker(scorer: str, score: Score) -> str:
    """A scorer, with the models that graded for it."""
    grading = verdicts.fields(score.get("metadata")).get("grading")
    messages = grading if isinstance(grading, list) else []
    models = dict.fromkeys(m["model"] for m in messages if isinstance(m, dict) and m.get("model"))
    return f"{scorer} ({', '.join(models)})" if models else scorer
