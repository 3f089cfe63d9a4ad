"""Look at the graph, fit once, look at pairs and workers; say what was found.

What is believed of labels and workers is what `aggregate` returns (`Diagnosis.result`), fitted when
it is first asked for. Pairs and verdicts come from Dawid-Skene with the same discount: they need a
posterior that one worker's label can be taken out of, as that of a mixture cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from textwrap import shorten
from typing import Any, NamedTuple, Unpack

import numpy as np
import polars as pl

from quorate.aggregation import Plan, discount_of, fitted, order_of
from quorate.arguments import refuse_unknown
from quorate.card import Listing, card
from quorate.diagnosis import findings, graph, workers
from quorate.diagnosis.agreement import agreement_of
from quorate.diagnosis.agreement import worker_kinds as agreement_of_kinds
from quorate.diagnosis.facts import (
    AgreeingPair,
    Agreement,
    Finding,
    WorkerGraph,
    WorkerGroup,
    WorkerKind,
)
from quorate.diagnosis.theory import Knowledge, knowledge
from quorate.engines.engine import Engine
from quorate.engines.threads import Threads
from quorate.errors import require_number
from quorate.fitting import Fit, Request
from quorate.kernels import Floats
from quorate.labels import Codebook, Labels
from quorate.models import Auto
from quorate.result import Result
from quorate.trust import correlated
from quorate.trust.correlated.pairs import Pairs, Suspects, summarise_pairs
from quorate.votes import (
    Kind,
    KnownAnswers,
    Reading,
    ReadReport,
    Votes,
    gold_for,
    in_class_order,
    read_votes,
    with_gold,
)
from quorate.votes import worker_kinds as kinds_of
from quorate.votes.doubts import are_numbers
from quorate.votes.store import Progress

OPTIONS = ("gold", "ordered", "worker_kinds", "seed", "threads", "progress")
MOST_GRADES = 1000  # more numbers are left to `scores`


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """What the votes say about the crowd; `findings` say what to do about it."""

    tasks: int
    labels: int
    classes: int
    agreement: Agreement
    graph: WorkerGraph
    knowledge: Knowledge | None
    agreeing: tuple[AgreeingPair, ...]
    groups: tuple[WorkerGroup, ...]
    kinds: tuple[WorkerKind, ...]
    findings: tuple[Finding, ...]
    codebook: Codebook
    judgement: workers.Judgement | None
    read: ReadReport
    aggregated: Callable[[], Result]
    kind: Kind = Kind()
    notes: tuple[str, ...] = ()

    @cached_property
    def result(self) -> Result:
        """What `aggregate` returns of the same votes, fitted when it is first asked for."""
        return self.aggregated()

    @property
    def workers(self) -> Any:
        """The table of workers of `aggregate`, and in further columns judged (the labels that can
        be judged by others), informed (0 to 1) with its bounds, and verdict; in the caller's kind
        of table."""
        return self.kind.give(self.workers_frame)

    @cached_property
    def workers_frame(self) -> pl.DataFrame:
        """The same as a polars frame, by role."""
        frame = self.result.workers_frame
        if self.judgement is None:
            return frame
        judged = self.judgement
        return frame.with_columns(
            judged=judged.labels.round().astype(np.int64),
            informed=judged.informed,
            informed_low=judged.low,
            informed_high=judged.high,
            verdict=pl.Series(judged.verdict),
        )

    def __repr__(self) -> str:
        counts = (
            f"{self.tasks:,} tasks, {len(self.codebook.workers):,} workers, {self.labels:,} labels"
        )
        found = [
            f"  {finding.level:<8} {finding.name}: {shorten(finding.what, 70, placeholder=' ...')}"
            for finding in self.findings
        ]
        lines = [f"Diagnosis of {counts}", *(found or ["  nothing found"]), "  tables   .workers"]
        return "\n".join([*lines, *(f"  note     {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        rows = [(found.name, found.level, found.what, found.advice) for found in self.findings]
        facts = {
            "tasks": f"{self.tasks:,}",
            "workers": f"{len(self.codebook.workers):,}",
            "labels": f"{self.labels:,}",
        }
        if self.agreement.alpha is not None:
            facts["Krippendorff's alpha"] = f"{self.agreement.alpha:.3f}"
        listing = Listing("Findings", ("finding", "level", "what", "what to do"), rows)
        return card("Diagnosis", facts, [listing], self.notes)

    def as_dict(self) -> dict[str, Any]:
        """What `quorate diagnose --json` prints."""
        return {
            "read": {
                "tasks": self.tasks,
                "workers": len(self.codebook.workers),
                "labels": self.labels,
                "classes": self.classes,
                "dropped_missing": self.read.missing,
                "repeated": self.read.repeated,
            },
            "findings": [finding.as_dict() for finding in self.findings],
            "agreement": asdict(self.agreement),
            "graph": asdict(self.graph),
            "knowledge": None if self.knowledge is None else self.knowledge.as_dict(),
            "agreeing": [asdict(pair) for pair in self.agreeing],
            "groups": [asdict(group) for group in self.groups],
            "kinds": [asdict(kind) for kind in self.kinds],
            "notes": list(self.notes),
        }


def diagnose(
    votes: Any,
    *,
    gold: Any = None,
    ordered: bool | Sequence[Any] = False,
    worker_kinds: Any = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    **reading: Unpack[Reading],
) -> Diagnosis:
    """Say from the votes alone whether this crowd can be learned, by what, and whom to mistrust.

    `votes` and the options of reading them are as for `aggregate`, or a `Result` stands for the
    votes it was made of; of a worker's repeated answers to a task only the first is looked at.
    `gold` holds known answers, which help to judge workers. `ordered` says that classes have an
    order, as for `aggregate`: agreement is then measured on grades, too, as it is where labels are
    three or more numbers. `worker_kinds` says what each worker
    is, human or model for instance: a table of worker and kind, or a mapping. `seed` is for the
    bootstrap, for samples of very many pairs and as for `aggregate`, `threads` the number of
    threads, and `progress` is told what is under way.

    Examples:
        >>> ring = [(t, w % 4, "yes") for t in range(4) for w in (t, t + 1)] + [(0, 0, "no")]
        >>> found = diagnose(ring)
        >>> found.graph.not_identifiable
        ((0, 1, 2, 3),)
        >>> found.findings[0].name
        'not identifiable'
    """
    refuse_unknown("diagnose", reading, (*Reading.__annotations__, *OPTIONS))
    require_number("seed", seed, at_least=0)
    aggregated: Callable[[], Result]
    if isinstance(votes, Result):
        read = votes.own_votes
        aggregated = partial(_same, votes)
    else:
        read = read_votes(votes, gold=gold, **reading)
        known = read.known if gold is None else gold_for(votes, gold, reading)
        ordered = order_of(ordered)
        if not isinstance(ordered, bool):
            read = in_class_order(read, ordered)
        aggregated = partial(_aggregated, read, known, worker_kinds, seed, threads, ordered)
        if known is not None:
            read = with_gold(read, known)
    kinds = None
    if worker_kinds is not None:
        kinds, notes = kinds_of(worker_kinds, read.codebook.workers)
        read = read.noted(*notes)
    labels = read.labels.without_repeats() if read.report.repeated else read.labels
    values = grades_of(read.codebook.classes, ordered is not False)
    subject = Subject(labels, read, kinds, aggregated, seed, progress, values)
    with closing(Threads(threads)) as engine:
        return _diagnose(subject, engine)


def _same(result: Result) -> Result:
    return result


def grades_of(classes: pl.Series, ordered: bool) -> Floats | None:
    """The numbers that grades stand for, their places where they are words; None if classes are no
    grades, or too many."""
    if not 2 + (not ordered) <= len(classes) <= MOST_GRADES:
        return None
    if are_numbers(classes):
        return classes.cast(pl.Float64).to_numpy()
    return np.arange(len(classes), dtype=np.float64) if ordered else None


def _aggregated(
    votes: Votes,
    gold: KnownAnswers | None,
    worker_kinds: Any,
    seed: int,
    threads: int | None,
    ordered: bool | Sequence[Any],
) -> Result:
    """What `aggregate` returns by its default."""
    model = Auto(seed=seed)
    with closing(Threads(threads)) as engine:
        discount = discount_of(model, None)
        plan = Plan(model, Request(engine), ordered, discount, worker_kinds)
        return fitted(votes, gold, plan)


class Subject(NamedTuple):
    """The labels without repeats, the votes they are of, the workers' kinds if they are known, the
    result of `aggregate`, a seed, who is told of progress, and the numbers of grades if labels are
    such."""

    labels: Labels
    votes: Votes
    kinds: list[str | None] | None
    aggregated: Callable[[], Result]
    seed: int
    progress: Progress | None
    values: Floats | None

    def tell(self, what: str, done: int) -> None:
        """Say which of the steps is under way."""
        if self.progress:
            self.progress(what, done, STEPS)


STEPS = 4


class Evidence(NamedTuple):
    """What a fit says of pairs of workers, of each worker, and of all; nothing without a fit."""

    skills: Floats | None = None
    groups: correlated.Groups = ()
    pairs: Pairs | None = None
    judgement: workers.Judgement | None = None
    knowledge: Knowledge | None = None


def _diagnose(subject: Subject, engine: Engine) -> Diagnosis:
    labels, book = subject.labels, subject.votes.codebook
    subject.tell("the worker graph and agreement", 0)
    who = graph.worker_graph(labels)
    agreement = agreement_of(labels, subject.seed, subject.values)
    evidence = _look(subject, who, engine) if labels.n_classes > 1 else Evidence()
    subject.tell("findings", 3)
    groups, judgement, known = evidence.groups, evidence.judgement, evidence.knowledge
    agreeing = () if evidence.pairs is None else _agreeing(evidence.pairs.suspects, book)
    found = _graph(subject, who, evidence)
    named = _named(groups, book)
    facts = findings.Facts(labels, book, who, found, judgement, known, agreement, agreeing, named)
    kinds = subject.kinds
    subject.tell("done", STEPS)
    return Diagnosis(
        tasks=labels.n_tasks,
        labels=labels.n_labels,
        classes=labels.n_classes,
        agreement=agreement,
        graph=found,
        knowledge=known,
        agreeing=agreeing,
        groups=named,
        kinds=() if kinds is None else agreement_of_kinds(labels, kinds, judgement, groups),
        findings=findings.findings(facts),
        codebook=book,
        judgement=judgement,
        read=subject.votes.report,
        aggregated=subject.aggregated,
        kind=subject.votes.kind,
        notes=subject.votes.notes,
    )


def _look(subject: Subject, who: graph.Graph, engine: Engine) -> Evidence:
    """Fit Dawid-Skene with each group of correlated workers counting for what it is worth, and hold
    pairs and workers against it."""
    labels, seed = subject.labels, subject.seed
    subject.tell("a fit, and correlated workers", 1)
    seen = correlated.fit_groups(labels, correlated.pairs_to_test(labels, seed), engine)
    subject.tell("pairs of workers, and each worker", 2)
    prior = seen.result.params.prior
    voice = correlated.representatives(seen.groups, labels.n_workers)
    groups = seen.groups
    if labels.n_labels > correlated.MOST_LABELS:  # `aggregate` looks at a sample of them
        groups = correlated.groups_among(subject.votes.blocks, seed, engine)
    return Evidence(
        _skills(seen.result, labels.n_classes),
        groups,
        summarise_pairs(labels, seen.confusion, prior, who.told, seed, voice),
        workers.judge(seen.labels, seen.result, engine),
        knowledge(labels, seen.confusion, prior),
    )


def _named(groups: correlated.Groups, book: Codebook) -> tuple[WorkerGroup, ...]:
    """The groups by the names of their workers."""
    return tuple(
        WorkerGroup(tuple(book.workers.gather(group.workers)), group.correlation, group.worth)
        for group in groups
    )


def _graph(subject: Subject, who: graph.Graph, evidence: Evidence) -> WorkerGraph:
    """The graph in numbers; of pairs and skills only where there was something to fit."""
    found = WorkerGraph(
        components=int((who.size > 1).sum()),
        largest=int(who.size[0]),
        alone=int(who.alone.sum()),
        not_identifiable=_members(who, subject.votes.codebook),
    )
    met, skills = evidence.pairs, evidence.skills
    if met is None or skills is None:
        return found
    found = replace(found, pairs=met.pairs, sampled=met.sampled)
    found = replace(found, shared_least=met.least, shared_median=met.median)
    lowest = graph.smallest_eigenvalue(subject.labels, who.told, subject.seed)
    if lowest is None:
        return found
    bound = None if met.sampled else _skill_error(met, lowest, skills[who.told])
    return replace(found, eigenvalue=lowest.value, settled=lowest.settled, skill_error=bound)


def _skills(result: Fit, n_classes: int) -> Floats:
    """Each worker's accuracy beyond chance, s = (k p - 1) / (k - 1)."""
    p = result.tally[:, 0] / np.maximum(result.tally.sum(axis=1), 1e-12)
    skills: Floats = (n_classes * p - 1) / (n_classes - 1)
    return skills


def _skill_error(met: Pairs, lowest: graph.Eigenvalue, skills: Floats) -> float | None:
    """Theorem 3 with the noise that Hoeffding's inequality allows. The paper divides by the
    eigenvalue of ``2 (D + N)``; its Eq. 4, without the 2, gives the bound that is used here."""
    floor = float(np.abs(skills).min()) ** 2 * lowest.value
    if not lowest.settled or floor <= 0:
        return None
    return met.weight_norm * met.noise_norm / floor


def _members(who: graph.Graph, book: Codebook) -> tuple[tuple[Any, ...], ...]:
    """The names of the workers in each component whose skills cannot be told."""
    inside = np.flatnonzero(who.open[who.component])
    inside = inside[np.argsort(who.component[inside], kind="stable")]
    cuts = np.flatnonzero(np.diff(who.component[inside])) + 1
    names = book.workers.gather(inside).to_list()
    edges = [0, *cuts.tolist(), len(inside)] if len(inside) else [0]
    return tuple(tuple(names[a:b]) for a, b in pairwise(edges))


def _agreeing(suspects: Suspects, book: Codebook) -> tuple[AgreeingPair, ...]:
    names = (book.workers.gather(end).to_list() for end in suspects.pairs[:2])
    columns = (*suspects.pairs[2:], suspects.expected, suspects.copied, suspects.p)
    rows = zip(*names, *(column.tolist() for column in columns), strict=True)
    return tuple(AgreeingPair((first, second), *row) for first, second, *row in rows)
