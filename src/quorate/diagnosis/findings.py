"""What was found, as sentences, each with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.diagnosis.graph import Graph
from quorate.diagnosis.theory import Knowledge
from quorate.diagnosis.workers import Judgement
from quorate.labels import Codebook, Labels
from quorate.models import METHODS

if TYPE_CHECKING:
    from quorate.diagnosis.diagnose import CopyingPair, WorkerGraph, WorkerGroup

Level = Literal["problem", "warning", "note"]
LOW_ALPHA = 0.2
LABELS_PER_CELL = 5  # of a confusion matrix, for it to be learned


@dataclass(frozen=True, eq=False)
class Finding:
    """`what` was found, what to do about it (`advice`), and the `workers` whom it concerns."""

    name: str
    level: Level
    what: str
    advice: str
    workers: pl.Series | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "level": self.level,
            "what": self.what,
            "advice": self.advice,
            "workers": [] if self.workers is None else self.workers.to_list(),
        }


class Facts(NamedTuple):
    labels: Labels
    book: Codebook
    who: Graph
    graph: WorkerGraph
    judgement: Judgement | None
    knowledge: Knowledge | None
    alpha: float | None
    copying: Sequence[CopyingPair]
    groups: Sequence[WorkerGroup]

    def named(self, which: NDArray[np.bool_]) -> pl.Series:
        return self.book.workers.filter(pl.Series(which))


def findings(facts: Facts) -> tuple[Finding, ...]:
    """The worst first."""
    order = ("problem", "warning", "note")
    found = [*_graph(facts), *_crowd(facts), *_workers(facts), *_methods(facts)]
    return tuple(sorted(found, key=lambda finding: order.index(finding.level)))


def _graph(facts: Facts) -> Iterator[Finding]:
    who, graph = facts.who, facts.graph
    if facts.labels.n_classes == 1:
        yield Finding(
            "one class",
            "problem",
            f"All votes say {facts.book.classes[0]!r}.",
            "There is nothing to decide, and nothing that tells workers apart.",
        )
    if who.open.any():
        members = who.open[who.component]
        yield Finding(
            "not identifiable",
            "problem",
            f"{_count(int(members.sum()), 'worker')} in {_count(int(who.open.sum()), 'group')} meet"
            " in pairs only, without an odd cycle: votes cannot tell one side's skills from the"
            " other's, however many there are.",
            "Let three of a group label the same task, or two of one side share tasks, or give"
            " known answers (gold) for some of their tasks.",
            facts.named(members),
        )
    if who.alone.any():
        yield Finding(
            "alone",
            "warning" if who.alone.sum() < len(who.alone) else "problem",
            f"{_count(int(who.alone.sum()), 'worker')} share{_s(int(who.alone.sum()))} no task with"
            " anybody.",
            "Nothing tells how good they are: give their tasks to others too, or give known"
            " answers.",
            facts.named(who.alone),
        )
    if graph.components > 1:
        yield Finding(
            "separate groups",
            "warning",
            f"The workers fall into {graph.components:,} groups that share no task; the largest has"
            f" {graph.largest:,}.",
            "Each group is judged by itself, and one whose workers are mostly wrong is taken for"
            " right: let some workers label tasks of several groups.",
        )


def _crowd(facts: Facts) -> Iterator[Finding]:
    if facts.alpha is not None and facts.alpha < LOW_ALPHA:
        yield Finding(
            "low agreement",
            "warning",
            f"The workers hardly agree: Krippendorff's alpha is {facts.alpha:.2f}.",
            "Check the instructions and the classes; if a few workers are much better than the"
            " rest, methods that weigh workers may still find the truth. Do not use the plain"
            " vote.",
        )
    known = facts.knowledge
    if known is None:
        return
    per_task = facts.labels.n_labels / facts.labels.n_tasks
    if known.labels_least > per_task:
        needed = (
            f"at least {known.labels_least:,.1f}" if np.isfinite(known.labels_least) else "more"
        )
        yield Finding(
            "too little said",
            "problem",
            f"{per_task:.1f} labels a task from workers like these leave a constant share of the"
            f" answers wrong, whatever the method: two of the classes take {needed}.",
            "Ask more or better workers for each task, or merge classes that nobody can tell"
            " apart.",
        )
    if known.kappa <= 0 < facts.labels.n_classes - 1 and facts.labels.n_workers >= 3:
        yield Finding(
            "wrong more often than right",
            "warning",
            "In one of three groups of the workers, for some class, another label is given at least"
            " as often as the right one.",
            "Start from known answers (gold) or from known workers (init, worker_prior): by votes"
            " alone a class may be taken for another.",
        )


def _workers(facts: Facts) -> Iterator[Finding]:
    judged = facts.judgement
    if judged is None:
        return
    if judged.spammer.any():
        yield Finding(
            "spammers",
            "warning",
            f"{_count(int(judged.spammer.sum()), 'worker')} answer{_s(int(judged.spammer.sum()))}"
            " much the same whatever the truth.",
            "dawid-skene gives their votes next to no weight; for the plain vote, leave them out."
            " Do not ask them again.",
            facts.named(judged.spammer),
        )
    if judged.inverted.any():
        yield Finding(
            "inverted",
            "warning",
            f"{_count(int(judged.inverted.sum()), 'worker')}"
            f" {'is' if judged.inverted.sum() == 1 else 'are'} wrong more often than a guesser.",
            "They may have mixed up the classes: ask them. dawid-skene reads them the right way"
            " round; the plain vote does not.",
            facts.named(judged.inverted),
        )
    if facts.copying:
        names = [name for pair in facts.copying for name in pair.workers]
        yield Finding(
            "copying",
            "warning",
            f"{_count(len(facts.copying), 'pair')} of workers agree{_s(len(facts.copying))} more"
            " than their skills explain.",
            "Their votes are not independent, and count as one: keep one of each pair, or look for"
            " a shared source (an account used by two, a model behind both).",
            pl.Series("worker", names, dtype=facts.book.workers.dtype).unique(maintain_order=True),
        )
    if facts.groups:
        names = [name for group in facts.groups for name in group.workers]
        worth = ", ".join(
            f"{len(group.workers):,} that are worth {group.worth:.1f}" for group in facts.groups[:3]
        )
        yield Finding(
            "errors move together",
            "warning",
            f"{_count(len(names), 'worker')} are in {_count(len(facts.groups), 'group')} whose"
            f" errors move together beyond what their skills explain: {worth}"
            f"{' ...' if len(facts.groups) > 3 else ''}.",
            "auto counts a group for what it is worth; other methods do with --discount"
            " (discount=True).",
            pl.Series("worker", names, dtype=facts.book.workers.dtype),
        )
    if judged.few.any():
        needed = f"about {judged.needed:,.0f}" if judged.needed < 1e6 else "very many"
        yield Finding(
            "too few labels",
            "note" if judged.few.mean() < 0.5 else "warning",
            f"{_count(int(judged.few.sum()), 'worker')} of {len(judged.few):,} have too few labels"
            f" on tasks with another opinion to be told from a guesser: here that takes {needed}.",
            "Use a method with one number for each worker or with smoothing, and do not act on"
            " their accuracies.",
            facts.named(judged.few),
        )


def _methods(facts: Facts) -> Iterator[Finding]:
    labels, judged = facts.labels, facts.judgement
    if judged is None:
        return
    workers_of = np.diff(labels.indptr)
    if not (workers_of > 1).any() and labels.gold is None:
        yield Finding(
            "one vote a task",
            "problem",
            "No task has votes of two workers.",
            "The only vote is the answer; nothing can be learned about the workers.",
        )
        return
    cells = labels.n_classes**2
    typical = np.sort(judged.labels)[::-1]
    middle = typical[np.searchsorted(typical.cumsum(), typical.sum() / 2)]
    if not (workers_of > 2).any():
        methods, why = ("rank-one", "one-coin"), "no task has three workers"
    elif middle < LABELS_PER_CELL * cells:
        methods, why = ("one-coin", "glad"), f"half of the labels are of workers with {middle:,.0f}"
        why += f" or fewer, for matrices of {labels.n_classes} by {labels.n_classes}"
    elif facts.who.open.any() or facts.graph.components > 1:
        methods, why = ("dawid-skene", "one-coin"), "most labels are of workers with many"
    else:
        methods, why = ("dawid-skene", "spectral"), "most labels are of workers with many"
    there = [f"`{name}`" for name in methods if name in METHODS]
    yield Finding(
        "methods",
        "note",
        f"What fits these votes: {' or '.join(there)}, since {why}.",
        "`quorate compare` scores them on votes that are hidden from them.",
    )


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" + ("" if n == 1 else "s")


def _s(n: int) -> str:
    """The verb's ending."""
    return "s" if n == 1 else ""
