"""The first lines of a report, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

WORTH_SAYING = 0.0005  # of an expected error


def headline(report: Mapping[str, Any]) -> list[str]:
    """What a lead should know before anything else."""
    return [*_answers(report), *_crowd(report), *_tasks(report), *_known(report), *_plan(report)]


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
        what = "looks like a spammer" if flags["spammer"] == 1 else "look like spammers"
        yield f"{flags['spammer']:,} of {of:,} workers {what}."
    if flags["inverted"]:
        verb = "seems" if flags["inverted"] == 1 else "seem"
        yield f"{flags['inverted']:,} of {of:,} workers {verb} to have mixed up the classes."
    groups = report["agreement"]["groups"]
    if groups:
        n = sum(len(group["workers"]) for group in groups)
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
        verb = "is near a tie and needs" if near == 1 else "are near a tie and need"
        yield f"{_count(near, 'task')} {verb} another look."
    over = report["overruled"]
    if over["of"]:
        share = f"{over['share']:.1%}"
        yield f"On {_count(over['of'], 'task')} ({share}) the answer is not what most votes say."


def _known(report: Mapping[str, Any]) -> Iterator[str]:
    gold = report["gold"]
    if gold is not None:
        right = f"{gold['votes_right']:.1%}"
        yield f"{right} of the votes on {_count(gold['known'], 'known answer')} are right."
        if gold["of"]:
            verb = "is" if gold["of"] == 1 else "are"
            answers = _count(gold["of"], "known answer")
            yield f"{answers} {verb} contradicted by most votes: have another look."


def _plan(report: Mapping[str, Any]) -> Iterator[str]:
    plan = report["next"]
    if plan is None or not plan["of"]:
        return
    if plan["error_now"] - plan["error_after"] < WORTH_SAYING:
        yield "More votes of these workers would hardly lower the expected error."
    else:
        yield (
            f"{_count(plan['of'], 'more vote')} where they help most would lower the expected error"
            f" from {plan['error_now']:.1%} to {plan['error_after']:.1%}."
        )


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
