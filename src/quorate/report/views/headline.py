"""The first lines of a report, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quorate.report.views.sentences import WORTH_SAYING
from quorate.words import count, does


def headline(report: Mapping[str, Any]) -> list[str]:
    """What a lead should know before anything else."""
    parts = (_answers, _crowd, _tasks, _known, _times, _plan)
    return [sentence for part in parts for sentence in part(report)]


def _answers(report: Mapping[str, Any]) -> Iterator[str]:
    read, found = report["read"], report["found"]
    yield (
        f"{read['workers']:,} workers gave {read['labels']:,} labels to {read['tasks']:,} tasks."
    )
    error, unknown = found["expected_error"], read["tasks"] - found["known_answers"]
    which = "the" if unknown == read["tasks"] else f"the {unknown:,}"
    if unknown:
        yield (
            f"About {error['error']:.1%} of {which} answers{_not_known(report)} are expected to be"
            f" wrong ({error['low']:.1%} to {error['high']:.1%})."
        )
    decided = found["decided"]
    if decided is not None:
        yield f"{decided['share']:.1%} of the tasks are decided, {found['undecided']:,} are not."


def _not_known(report: Mapping[str, Any]) -> str:
    return " that are not known" if report["found"]["known_answers"] else ""


def _crowd(report: Mapping[str, Any]) -> Iterator[str]:
    flags, of = report["workers"]["flags"], report["workers"]["of"]
    if not flags["spammer"]:
        yield f"None of the {of:,} workers looks like a spammer."
    else:
        looks = does(flags["spammer"], "looks like a spammer", "look like spammers")
        yield f"{flags['spammer']:,} of {of:,} workers {looks}."
    if flags["inverted"]:
        verb = does(flags["inverted"], "seems", "seem")
        yield f"{flags['inverted']:,} of {of:,} workers {verb} to have mixed up the classes."
    groups = report["agreement"]["groups"]
    if groups:
        n = sum(group["n"] for group in groups)
        worth = sum(group["worth"] for group in groups)
        yield f"{n:,} workers are correlated: together they are worth {worth:.1f} independent ones."
    alpha = report["agreement"]["alpha"]
    if alpha is not None:
        yield f"Workers {_strength(alpha)} (Krippendorff's alpha {alpha:.2f})."


def _strength(alpha: float) -> str:
    steps = (
        (0.8, "agree well"),
        (0.667, "agree fairly well"),
        (0.4, "agree moderately"),
        (0.2, "agree little"),
    )
    return next((word for least, word in steps if alpha >= least), "hardly agree")


def _tasks(report: Mapping[str, Any]) -> Iterator[str]:
    near = report["found"]["near_ties"]
    if near:
        verb = does(near, "is near a tie and needs", "are near a tie and need")
        yield f"{count(near, 'task')} {verb} another look."
    over = report["overruled"]
    if over["of"]:
        share = f"{over['share']:.1%}"
        yield f"On {count(over['of'], 'task')} ({share}) the answer is not what most votes say."


def _known(report: Mapping[str, Any]) -> Iterator[str]:
    gold = report["gold"]
    if gold is not None:
        right = f"{gold['votes_right']:.1%}"
        yield f"{right} of the votes on {count(gold['known'], 'known answer')} are right."
        if gold["of"]:
            verb = does(gold["of"], "is", "are")
            answers = count(gold["of"], "known answer")
            yield f"{answers} {verb} contradicted by most votes: have another look."


def _times(report: Mapping[str, Any]) -> Iterator[str]:
    speed, time = report["speed"], report["time"]
    if speed is not None and speed["too_fast"]:
        n = len(speed["too_fast"])
        than = "a quarter of the median time"
        yield f"{count(n, 'worker')} {does(n, 'needs', 'need')} less than {than} for a vote."
    if time is not None and time["drifting"]:
        n = len(time["drifting"])
        yield f"The quality of {count(n, 'worker')} has changed over time."


def _plan(report: Mapping[str, Any]) -> Iterator[str]:
    plan = report["next"]
    if plan is None or not plan["of"]:
        return
    if plan["error_now"] - plan["error_after"] < WORTH_SAYING:
        yield "More votes of these workers would hardly lower the expected error."
    else:
        yield (
            f"{count(plan['of'], 'more vote')} where they help most would lower the expected error"
            f" from {plan['error_now']:.1%} to {plan['error_after']:.1%}."
        )
