"""The sentences that each part of a report begins with: what its figures say, before the figures.

They name no worker, so that they can stand under pseudonyms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from quorate.votes import named
from quorate.words import count, does

View = Mapping[str, Any]
WORTH_SAYING = 0.001  # of an expected error
LEAST_SHARE = 0.05  # of the wrong votes that a guideline should change
CLEARLY = 1.5  # times the share of wrong votes that an average pair of classes has


def workers(view: View) -> Iterator[str]:
    """Who is to be looked at, and what the chart shows."""
    flags = view["flags"]
    if flags["too few labels"]:
        n = flags["too few labels"]
        yield (
            f"Of {count(n, 'worker')} too little is known to tell {does(n, 'it', 'them')} from"
            " guessers."
        )
    yield (
        f"Accuracy is judged by what the other workers say, with its {view['level']:.0%} interval."
        f" One who guesses is right on {view['chance']:.1%}: workers in the shaded zone cannot be"
        " told from that."
    )


def disputed(view: View) -> Iterator[str]:
    """How many answers are settled, and what a weight is."""
    yield (
        f"{view['settled_share']:.1%} of the answers have a confidence of {view['settled_at']:.0%}"
        f" or more; {count(view['near_ties'], 'task')} {does(view['near_ties'], 'is', 'are')} near"
        " a tie. The least certain come first."
    )
    yield (
        "Each vote has its weight in decibans: how far it moves the odds of the answer against the"
        " next label. Ten are ten to one."
    )


def overruled(view: View) -> Iterator[str]:
    """How often, and where."""
    n = view["without_majority"]
    also = f" {count(n, 'task')} {does(n, 'has', 'have')} no majority at all." if n else ""
    yield (
        f"On {count(view['of'], 'task')} ({view['share']:.1%}) most votes name another label than"
        f" the answer: workers with a better record, or a known answer, outweigh them.{also}"
    )


def classes(view: View) -> Iterator[str]:
    """Which two classes need a clearer instruction."""
    first = next(iter(view["guidelines"]), None)
    even = 1 / max(view["of"] * (view["of"] - 1) / 2, 1)
    if first is not None and first["share"] > max(CLEARLY * even, LEAST_SHARE):
        yield (
            f"A clearer guideline on {named(first['label'])} and {named(first['other'])} would help"
            f" most: {first['share']:.0%} of the wrong votes mix them up."
        )


def agreement(view: View) -> Iterator[str]:
    """Who is not independent."""
    for n, what in ((len(view["groups"]), "group"), (view["pairs"]["of"], "pair")):
        if n and what == "group":
            yield (
                f"{count(n, 'group')} of workers {does(n, 'is', 'are')} correlated beyond what"
                " their accuracies explain, and counts for less than its votes."
            )
        elif n:
            yield (
                f"{count(n, 'pair')} of workers {does(n, 'agrees', 'agree')} more than expected:"
                " duplicates, or experts among others who know less."
            )
    if not view["groups"] and not view["pairs"]["of"]:
        yield "No two workers agree more than their accuracies explain."


def kinds(view: View) -> Iterator[str]:
    """How models and humans compare."""
    rated = [row for row in view["rows"] if row["agreement"] is not None]
    best = max(rated, key=lambda row: row["agreement"], default=None)
    if best is not None and len(rated) > 1:
        yield (
            f"By what the others say, workers of the kind {named(best['kind'] or 'not said')} are"
            f" right most often, on {best['agreement']:.1%}."
        )


def panel(view: View) -> Iterator[str]:
    """How many independent judges the workers are worth, and whom position sways most."""
    yield (
        f"{count(view['judges'], 'judge')} are worth {view['effective']:.1f} independent ones"
        f" (95 %: {view['low']:.1f} to {view['high']:.1f}), by their errors against"
        f" {view['against']}."
    )
    first = view["positions"]["rows"][0] if view["positions"] is not None else None
    if first is not None and not first["low"] <= 0 <= first["high"]:
        where = "first" if first["bias"] > 0 else "second"
        yield (
            f"{named(first['worker'])} names the answer that comes {where}"
            f" {abs(first['bias']):.1%} too often."
        )


def repeats(view: View) -> Iterator[str]:
    """How often the same is said again."""
    n = view["of"]
    yield (
        f"Asked again about a task, {count(n, 'worker')} {does(n, 'says', 'say')} the same in"
        f" {view['alike']:.1%} of the pairs of answers."
    )


def gold(view: View) -> Iterator[str]:
    """How often votes are right, what is found without them, and which may be wrong themselves."""
    yield (
        f"{view['votes_right']:.1%} of {count(view['votes'], 'vote')} on"
        f" {count(view['known'], 'known answer')} are right, and {view['majority_right']:.1%} of"
        " the majorities."
    )
    again = view["found_again"]
    if again is not None:
        yield (
            f"Hidden and found again, {again['right']:.1%} of {count(again['tasks'], 'answer')} are"
            " right: that is how good the answers to the other tasks should be."
        )
    if view["of"]:
        n = view["of"]
        yield (
            f"Most votes contradict {count(n, 'known answer')}, which may be wrong"
            f" {does(n, 'itself', 'themselves')}."
        )


def time(view: View) -> Iterator[str]:
    """Whether quality has changed."""
    rows, n = view["days"]["rows"], len(view["drifting"])
    if len(rows) > 1:
        busiest = max(rows, key=lambda row: row["votes"])
        yield (
            f"Votes came on {count(view['days']['of'], 'day')}, most on {busiest['day']}:"
            f" {busiest['votes']:,}."
        )
    if n:
        yield (
            f"The agreement of {count(n, 'worker')} with the answers differs significantly between"
            " the first and the second half of their votes."
        )
    else:
        yield "Nobody's agreement with the answers has changed significantly."
    if view["fatigue"]:
        first, last = view["fatigue"][0], view["fatigue"][-1]
        tired = last["high"] < first["low"]
        yield (
            f"In long sessions agreement {'falls' if tired else 'does not clearly fall'}:"
            f" {first['agreement']:.1%} in the first {first['to']:,} votes,"
            f" {last['agreement']:.1%} from vote {last['from']:,} on."
        )


def speed(view: View) -> Iterator[str]:
    """What is normal, and who is much faster."""
    yield f"The median vote takes {view['median_seconds']:,.1f} seconds."
    n = len(view["too_fast"])
    if n:
        yield (
            f"{count(n, 'worker')} {does(n, 'needs', 'need')} less than a quarter of that,"
            f" {view['too_fast_below']:,.1f} seconds."
        )
    if len(view["parts"]) > 1:
        first, last = view["parts"][0], view["parts"][-1]
        yield (
            f"Of the fastest votes {first['agreement']:.1%} agree with the answers, of the slowest"
            f" {last['agreement']:.1%}."
        )


def features(view: View) -> Iterator[str]:
    """How many there are."""
    yield (
        f"The method learned from {count(view['of'], 'feature')} of the tasks. Those that tell most"
        " come first."
    )


def asking(view: View) -> Iterator[str]:
    """What votes would buy, and what need not be asked."""
    if view["error_now"] - view["error_after"] < WORTH_SAYING:
        yield "More votes of these workers would hardly lower the expected error."
    else:
        yield (
            f"{count(view['of'], 'more vote')} on these tasks would lower the expected error from"
            f" {view['error_now']:.2%} to {view['error_after']:.2%}."
        )
    stop, n = view["settled"], view["stop_asking"]["of"]
    if stop:
        yield f"{count(stop, 'task')} {does(stop, 'is', 'are')} settled and need no more votes."
    if n:
        yield f"{count(n, 'worker')} should not be asked again."


BY_VIEW: Mapping[str, Callable[[View], Iterator[str]]] = {
    "workers": workers,
    "disputed": disputed,
    "overruled": overruled,
    "classes": classes,
    "agreement": agreement,
    "kinds": kinds,
    "panel": panel,
    "repeats": repeats,
    "gold": gold,
    "time": time,
    "speed": speed,
    "features": features,
    "next": asking,
}


def said_of(name: str, view: View | None) -> dict[str, Any] | None:
    """The view with its sentences, under `say`."""
    return None if view is None else {"say": list(BY_VIEW[name](view)), **view}
