"""What was found, as sentences, each with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.diagnosis.facts import AgreeingPair, Agreement, Finding, WorkerGraph, WorkerGroup
from quorate.diagnosis.graph import Graph
from quorate.diagnosis.theory import Knowledge
from quorate.diagnosis.workers import Judgement
from quorate.labels import Codebook, Labels
from quorate.words import count, does

LOW_ALPHA = 0.2
LABELS_PER_CELL = 5  # of a confusion matrix, for it to be learned
CERTAIN = "Certain: it follows from who voted on what."
BY_THE_FIT = "As sure as a fit of Dawid-Skene is right about the workers: a rough guide."
FALSE_ALARMS = (
    "Judged by what the others say: at most 5 % of those who are named are expected to be named"
    " wrongly."
)


class Facts(NamedTuple):
    """What findings are made of."""

    labels: Labels
    book: Codebook
    who: Graph
    graph: WorkerGraph
    judgement: Judgement | None
    knowledge: Knowledge | None
    agreement: Agreement
    agreeing: Sequence[AgreeingPair]
    groups: Sequence[WorkerGroup]

    def named(self, which: NDArray[np.bool_]) -> pl.Series:
        """The names of these workers."""
        return self.book.workers.filter(pl.Series(which))

    def series(self, names: Sequence[object]) -> pl.Series:
        """Names of workers, each once."""
        known = pl.Series("worker", names, dtype=self.book.workers.dtype)
        return known.unique(maintain_order=True)


def findings(facts: Facts) -> tuple[Finding, ...]:
    """The worst first."""
    order = ("problem", "warning", "note")
    looks = (_one_class, _graph, _crowd, _workers, _correlated, _few_labels, _methods)
    found = [finding for look in looks for finding in look(facts)]
    return tuple(sorted(found, key=lambda finding: order.index(finding.level)))


def _one_class(facts: Facts) -> Iterator[Finding]:
    if facts.labels.n_classes == 1:
        yield Finding(
            "one class",
            "problem",
            f"All votes say {facts.book.classes[0]!r}.",
            "There is nothing to decide, and nothing that tells workers apart.",
            CERTAIN,
        )


def _graph(facts: Facts) -> Iterator[Finding]:
    """Whether the workers meet so that they can be judged."""
    who, graph = facts.who, facts.graph
    if who.open.any():
        members = who.open[who.component]
        yield Finding(
            "not identifiable",
            "problem",
            f"{count(int(members.sum()), 'worker')} in {count(int(who.open.sum()), 'group')} meet"
            " in pairs only, without an odd cycle: votes cannot tell one side's skills from the"
            " other's, however many there are.",
            "Let three of a group label the same task, or two of one side share tasks, or give"
            " known answers (gold) for some of their tasks.",
            CERTAIN,
            facts.named(members),
        )
    if who.alone.any():
        yield Finding(
            "alone",
            "warning" if who.alone.sum() < len(who.alone) else "problem",
            f"{count(int(who.alone.sum()), 'worker')}"
            f" {does(int(who.alone.sum()), 'shares', 'share')} no task with anybody.",
            "Nothing tells how good they are: give their tasks to others too, or give known"
            " answers.",
            CERTAIN,
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
            CERTAIN,
        )


def _crowd(facts: Facts) -> Iterator[Finding]:
    """Whether all workers together say enough."""
    alpha = facts.agreement.alpha
    if alpha is not None and alpha < LOW_ALPHA:
        yield Finding(
            "low agreement",
            "warning",
            f"The workers hardly agree: Krippendorff's alpha is {alpha:.2f}.",
            "Check the instructions and the classes; if a few workers are much better than the"
            " rest, methods that weigh workers may still find the truth. Do not use the plain"
            " vote.",
            _alpha_sure(facts),
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
            BY_THE_FIT,
        )
    if known.kappa <= 0 < facts.labels.n_classes - 1 and facts.labels.n_workers >= 3:
        yield Finding(
            "wrong more often than right",
            "warning",
            "In one of three groups of the workers, for some class, another label is given at least"
            " as often as the right one.",
            "Start from known answers (gold) or from known workers (init, worker_prior): by votes"
            " alone a class may be taken for another.",
            BY_THE_FIT,
        )


def _alpha_sure(facts: Facts) -> str:
    low, high = facts.agreement.alpha_low, facts.agreement.alpha_high
    if low is None or high is None:
        return "There are too few tasks for an interval."
    return f"The 95 % interval of alpha is {low:.2f} to {high:.2f}."


def _workers(facts: Facts) -> Iterator[Finding]:
    """Workers whose votes say nothing, or the opposite."""
    judged = facts.judgement
    if judged is None:
        return
    if judged.spammer.any():
        yield Finding(
            "spammers",
            "warning",
            f"{count(int(judged.spammer.sum()), 'worker')}"
            f" {does(int(judged.spammer.sum()), 'answers', 'answer')} much the same whatever"
            " the truth.",
            "dawid-skene gives their votes next to no weight; for the plain vote, leave them out."
            " Do not ask them again.",
            FALSE_ALARMS,
            facts.named(judged.spammer),
        )
    if judged.inverted.any():
        yield Finding(
            "inverted",
            "warning",
            f"{count(int(judged.inverted.sum()), 'worker')}"
            f" {does(int(judged.inverted.sum()), 'is', 'are')} wrong more often than a guesser.",
            "They may have mixed up the classes: ask them. dawid-skene reads them the right way"
            " round; the plain vote does not.",
            FALSE_ALARMS,
            facts.named(judged.inverted),
        )


def _correlated(facts: Facts) -> Iterator[Finding]:
    """Workers whose votes are not independent."""
    if facts.agreeing:
        names = [name for pair in facts.agreeing for name in pair.workers]
        yield Finding(
            "unusual agreement",
            "warning",
            f"{count(len(facts.agreeing), 'pair')} of workers"
            f" {does(len(facts.agreeing), 'agrees', 'agree')} more than expected: duplicates"
            " (an account used by two, a model behind both), or experts"
            " among others who know less.",
            "Known answers (gold) to some of their tasks tell which, or a look at tasks where such"
            " a pair contradicts the others: duplicates are wrong together there, experts right."
            " Of duplicates keep one; experts need nothing.",
            "That they agree unusually: at most 5 % of the pairs that are named are expected to be"
            " by chance. Which of the two it is: not at all, without known answers.",
            facts.series(names),
        )
    if facts.groups:
        names = [name for group in facts.groups for name in group.workers]
        worth = ", ".join(
            f"{len(group.workers):,} that are worth {group.worth:.1f}" for group in facts.groups[:3]
        )
        yield Finding(
            "correlated workers",
            "warning",
            f"{count(len(names), 'worker')} are in {count(len(facts.groups), 'group')} whose"
            f" errors are correlated beyond what their skills explain: {worth}"
            f"{' ...' if len(facts.groups) > 3 else ''}.",
            "auto counts a group for what it is worth; other methods do with --discount"
            " (discount=True).",
            "Found in the tasks where they differ from the others; without known answers, experts"
            " who share a view can look the same.",
            facts.series(names),
        )


def _few_labels(facts: Facts) -> Iterator[Finding]:
    """Workers of whom too little is known."""
    judged = facts.judgement
    if judged is not None and judged.few.any():
        needed = f"about {judged.needed:,.0f}" if judged.needed < 1e6 else "very many"
        yield Finding(
            "too few labels",
            "note" if judged.few.mean() < 0.5 else "warning",
            f"{count(int(judged.few.sum()), 'worker')} of {len(judged.few):,} have too few labels"
            f" on tasks with another opinion to be told from a guesser: here that takes {needed}.",
            "Use a method with one number for each worker or with smoothing, and do not act on"
            " their accuracies.",
            "With that few labels a good worker passes for a guesser more than once in twenty"
            " times.",
            facts.named(judged.few),
        )


def _methods(facts: Facts) -> Iterator[Finding]:
    """The methods that fit these votes, if any does."""
    labels, judged = facts.labels, facts.judgement
    if judged is None:
        return
    if labels.gold is None and not (np.diff(labels.indptr) > 1).any():
        yield Finding(
            "one vote a task",
            "problem",
            "No task has votes of two workers.",
            "The only vote is the answer; nothing can be learned about the workers.",
            CERTAIN,
        )
        return
    (first, second), why = _fitting(facts, judged)
    yield Finding(
        "methods",
        "note",
        f"What fits these votes: `{first}` or `{second}`, since {why}.",
        "`quorate compare` scores them on held-out votes.",
        "A rule of thumb from the number of votes: the comparison is the test.",
    )


def _fitting(facts: Facts, judged: Judgement) -> tuple[tuple[str, str], str]:
    """Methods whose parameters these votes can tell, and why these."""
    labels = facts.labels
    if not (np.diff(labels.indptr) > 2).any():
        return ("rank-one", "one-coin"), "no task has three workers"
    typical = np.sort(judged.labels)[::-1]
    middle = typical[np.searchsorted(typical.cumsum(), typical.sum() / 2)]
    if middle < LABELS_PER_CELL * labels.n_classes**2:
        return ("one-coin", "glad"), (
            f"half of the labels are of workers with {middle:,.0f} or fewer, for matrices of"
            f" {labels.n_classes} by {labels.n_classes}"
        )
    many = "most labels are of workers with many"
    if facts.who.open.any() or facts.graph.components > 1:
        return ("dawid-skene", "one-coin"), many
    return ("dawid-skene", "spectral"), many
