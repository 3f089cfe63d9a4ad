"""Look at the graph, fit once, look at pairs and workers; say what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate import correlated, kernels, metrics, pairs
from quorate.aggregation import with_gold
from quorate.diagnosis import findings, graph, workers
from quorate.diagnosis.findings import Finding
from quorate.diagnosis.theory import Knowledge, knowledge
from quorate.engines.threads import Threads
from quorate.errors import require_number
from quorate.fitting import Progress
from quorate.kernels import Floats
from quorate.labels import Codebook, Labels
from quorate.named import worker_kinds as kinds_of
from quorate.result import Result
from quorate.votes import Kind, ReadReport, Votes, read_gold, read_votes


@dataclass(frozen=True)
class Agreement:
    """Krippendorff's alpha (nominal) with its 95 % bootstrap interval over tasks, and Fleiss'
    kappa; None where votes leave them undefined."""

    alpha: float | None
    alpha_low: float | None
    alpha_high: float | None
    kappa: float | None


@dataclass(frozen=True)
class WorkerGraph:
    """Workers joined by the tasks they share. `components` counts those of two workers or more, and
    `alone` the workers who share no task; `not_identifiable` are the components (by the names of
    their workers) without an odd cycle, whose skills votes cannot tell.

    `pairs` share at least `shared_least` tasks, `shared_median` in the middle; when `sampled`, they
    are the pairs of a sample of the workers. `eigenvalue` is the smallest of the signless
    Laplacian of the other components, an upper bound if it has not `settled`; `skill_error` bounds
    the 2-norm of the error of all their skills together with 95 % confidence. As skills are between
    -1 and 1, a bound beyond the root of the number of workers says nothing.
    """

    components: int
    largest: int
    alone: int
    not_identifiable: tuple[tuple[Any, ...], ...]
    pairs: int
    sampled: bool
    shared_least: int
    shared_median: float
    eigenvalue: float | None
    settled: bool
    skill_error: float | None


@dataclass(frozen=True)
class CopyingPair:
    """Two workers who agree on more of their shared tasks than their skills explain; `copied` is
    the share of labels that would have to be copied for that, `p` the chance of it otherwise."""

    workers: tuple[Any, Any]
    shared: int
    agreed: int
    expected: float
    copied: float
    p: float


@dataclass(frozen=True)
class WorkerGroup:
    """Workers whose errors move together, the share of their labels that would have to be copied
    for that, and how many independent votes all of theirs are worth."""

    workers: tuple[Any, ...]
    correlation: float
    worth: float


@dataclass(frozen=True)
class WorkerKind:
    """The workers of a kind, human or model for instance: the share of their labels that agrees
    with what others say is right, how often two of them agree on a task, how often one of them and
    one of another kind do, and how many are in groups; None where there is nobody to agree."""

    kind: str | None
    workers: int
    labels: int
    agreement: float | None
    agree_within: float | None
    agree_across: float | None
    in_groups: int


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What the votes say about the crowd; `findings` say what to do about it."""

    tasks: int
    labels: int
    classes: int
    agreement: Agreement
    graph: WorkerGraph
    knowledge: Knowledge | None
    copying: tuple[CopyingPair, ...]
    groups: tuple[WorkerGroup, ...]
    kinds: tuple[WorkerKind, ...]
    findings: tuple[Finding, ...]
    codebook: Codebook
    judgement: workers.Judgement | None
    read: ReadReport
    kind: Kind = Kind()
    notes: tuple[str, ...] = ()
    per_worker: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def workers(self) -> Any:
        """A table of worker, labels (that can be judged), agreement (with what the others say is
        right), informed (0 to 1) with its bounds, and verdict, with its kind where it has one; in
        the caller's kind of table."""
        return self.kind.give(self.workers_frame)

    @cached_property
    def workers_frame(self) -> pl.DataFrame:
        names = self.codebook.workers.alias("worker")
        if self.judgement is None:
            return names.to_frame()
        judged = self.judgement
        return pl.DataFrame(
            {
                "worker": names,
                "labels": judged.labels.round().astype(np.int64),
                "agreement": judged.agreement,
                "informed": judged.informed,
                "low": judged.low,
                "high": judged.high,
                "verdict": judged.verdict,
                **self.per_worker,
            }
        )

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
            "copying": [asdict(pair) for pair in self.copying],
            "groups": [asdict(group) for group in self.groups],
            "kinds": [asdict(kind) for kind in self.kinds],
            "notes": list(self.notes),
        }


def diagnose(
    votes: Any,
    *,
    gold: Any = None,
    worker_kinds: Any = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> Diagnosis:
    """Say from the votes alone whether this crowd can be learned, by what, and whom to mistrust.

    `votes` and the options of reading them are as for `aggregate`; of a worker's repeated answers
    to a task only the first is looked at. `gold` holds known answers, which help to judge workers.
    `worker_kinds` says what each worker is, human or model for instance: a table of worker and
    kind, or a mapping.
    `seed` is for the bootstrap and for samples of very many pairs.

    Examples:
        >>> ring = [(t, w % 4, "yes") for t in range(4) for w in (t, t + 1)] + [(0, 0, "no")]
        >>> found = diagnose(ring)
        >>> found.graph.not_identifiable
        ((0, 1, 2, 3),)
        >>> found.findings[0].name
        'not identifiable'
    """
    require_number("seed", seed, at_least=0)
    read = read_votes(votes, **reading)
    notes: list[str] = []
    if gold is not None:
        read = with_gold(read, read_gold(gold, reading), notes)
    labels = read.labels.without_repeats() if read.report.repeated else read.labels
    kinds = None if worker_kinds is None else kinds_of(worker_kinds, read.codebook.workers, notes)
    return _diagnose(labels, read, kinds, tuple(notes), seed, Threads(threads), progress)


def _diagnose(
    labels: Labels,
    read: Votes,
    kinds: list[str | None] | None,
    notes: tuple[str, ...],
    seed: int,
    engine: Threads,
    progress: Progress | None,
) -> Diagnosis:
    book = read.codebook
    who = graph.worker_graph(labels)
    agreement = _agreement(labels, seed)
    result = judgement = known = met = None
    groups: correlated.Groups = ()
    if labels.n_classes > 1:
        seen = correlated.look(labels, correlated.meet(labels, seed), engine, progress)
        result, groups = seen.result, seen.groups
        prior, voice = result.params.prior, correlated.voices(groups, labels.n_workers)
        met = pairs.look_at_pairs(labels, seen.confusion, prior, who.told, seed, voice)
        judgement = workers.judge(seen.labels, result, engine)
        known = knowledge(labels, seen.confusion, prior)
        del seen
    found = _graph(labels, who, met, result, seed, book)
    copying = () if met is None else _copying(met.copying, book)
    together = tuple(
        WorkerGroup(tuple(book.workers.gather(group.workers)), group.correlation, group.worth)
        for group in groups
    )
    facts = findings.Facts(
        labels, book, who, found, judgement, known, agreement.alpha, copying, together
    )
    return Diagnosis(
        tasks=labels.n_tasks,
        labels=labels.n_labels,
        classes=labels.n_classes,
        agreement=agreement,
        graph=found,
        knowledge=known,
        copying=copying,
        groups=together,
        kinds=() if kinds is None else _kinds(labels, kinds, judgement, groups),
        findings=findings.findings(facts),
        codebook=book,
        judgement=judgement,
        read=read.report,
        kind=read.kind,
        notes=notes,
        per_worker={} if kinds is None else {"kind": kinds},
    )


def _graph(
    labels: Labels,
    who: graph.Graph,
    met: pairs.Pairs | None,
    result: Result | None,
    seed: int,
    book: Codebook,
) -> WorkerGraph:
    lowest = None if met is None else graph.smallest_eigenvalue(labels, who.told, seed)
    bound = None
    if met is not None and result is not None and lowest is not None and not met.sampled:
        bound = _skill_error(met, lowest, _skills(result, labels.n_classes)[who.told])
    return WorkerGraph(
        components=int((who.size > 1).sum()),
        largest=int(who.size[0]),
        alone=int(who.alone.sum()),
        not_identifiable=_members(who, book),
        pairs=0 if met is None else met.pairs,
        sampled=met is not None and met.sampled,
        shared_least=0 if met is None else met.least,
        shared_median=0.0 if met is None else met.median,
        eigenvalue=None if lowest is None else lowest.value,
        settled=lowest is not None and lowest.settled,
        skill_error=bound,
    )


def _skills(result: Result, n_classes: int) -> Floats:
    """Each worker's accuracy beyond chance, s = (k p - 1) / (k - 1)."""
    p = result.tally[:, 0] / np.maximum(result.tally.sum(axis=1), 1e-12)
    skills: Floats = (n_classes * p - 1) / (n_classes - 1)
    return skills


def _skill_error(met: pairs.Pairs, lowest: graph.Eigenvalue, skills: Floats) -> float | None:
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


def _copying(suspects: pairs.Suspects, book: Codebook) -> tuple[CopyingPair, ...]:
    names = (book.workers.gather(end).to_list() for end in suspects.pairs[:2])
    columns = (*suspects.pairs[2:], suspects.expected, suspects.copied, suspects.p)
    rows = zip(*names, *(column.tolist() for column in columns), strict=True)
    return tuple(CopyingPair((first, second), *row) for first, second, *row in rows)


def _kinds(
    labels: Labels,
    kinds: list[str | None],
    judgement: workers.Judgement | None,
    groups: correlated.Groups,
) -> tuple[WorkerKind, ...]:
    """A line for each kind, in alphabetical order; None, who has none, comes last."""
    grouped = correlated.number_of(groups, labels.n_workers) > 0
    count = np.bincount(labels.worker, minlength=labels.n_workers)
    everyone = labels.weighted_votes(np.ones(labels.n_workers))
    lines = []
    for kind in sorted(set(kinds), key=lambda kind: (kind is None, kind)):
        mine = np.array([of == kind for of in kinds])
        votes = labels.weighted_votes(mine.astype(np.float64))
        n, m = votes.sum(axis=1), everyone.sum(axis=1)
        judged = None
        if judgement is not None:
            judged = _ratio((judgement.agreement * judgement.labels)[mine], judgement.labels[mine])
        lines.append(
            WorkerKind(
                kind=kind,
                workers=int(mine.sum()),
                labels=int(count[mine].sum()),
                agreement=judged,
                agree_within=_ratio(votes * (votes - 1), n * (n - 1)),
                agree_across=_ratio(votes * (everyone - votes), n * (m - n)),
                in_groups=int(grouped[mine].sum()),
            )
        )
    return tuple(lines)


def _ratio(part: Floats, of: Floats) -> float | None:
    whole = float(of.sum())
    return float(part.sum()) / whole if whole > 0 else None


def _agreement(labels: Labels, seed: int) -> Agreement:
    votes, count = vote_kinds(labels)
    alpha = metrics.krippendorff_alpha(votes, count)
    interval = None if alpha is None else metrics.alpha_interval(votes, count, seed)
    low, high = interval or (None, None)
    return Agreement(alpha, low, high, metrics.fleiss_kappa(votes, count))


def vote_kinds(labels: Labels) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The kinds of tasks by their votes ``[kind, class]``, and how many there are of each."""
    random = np.random.default_rng(0)
    mix = random.integers(1, 2**63, size=labels.n_classes, dtype=np.uint64) * 2 + 1
    votes, counts = [], []
    for block in labels.blocks():
        table = kernels.weighted_votes(
            block.indptr, block.label, np.ones(block.n_labels), block.n_classes
        ).astype(np.int64)
        first, count = _alike(table, mix, np.ones(len(table), dtype=np.int64))
        votes.append(table[first])
        counts.append(count)
    table, count = np.concatenate(votes), np.concatenate(counts)
    first, count = _alike(table, mix, count)
    return table[first], count


def _alike(
    table: NDArray[np.int64], mix: NDArray[np.uint64], count: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first row of each kind, and the sum of the counts. Rows are told apart by a 64-bit sum:
    sorting one number a row is many times faster than sorting rows."""
    key = (table.astype(np.uint64) * mix).sum(axis=1, dtype=np.uint64)
    _, first, kind = np.unique(key, return_index=True, return_inverse=True)
    return first, np.bincount(kind, count).astype(np.int64)
