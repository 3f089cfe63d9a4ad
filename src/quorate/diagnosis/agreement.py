"""How far workers agree: all of them, those of a kind, and one kind with the others."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from quorate import kernels, metrics
from quorate.diagnosis.facts import Agreement, GradedAgreement, WorkerKind
from quorate.diagnosis.workers import Judgement
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.trust.correlated import Groups, group_numbers

MOST_RATINGS = 20_000_000  # cells of a table of tasks by ratings


def agreement_of(labels: Labels, seed: int, values: Floats | None = None) -> Agreement:
    """Agreement of all workers; on grades, too, where classes in order have `values`."""
    votes, count = vote_kinds(labels)
    alpha = metrics.krippendorff_alpha(votes, count)
    interval = None if alpha is None else metrics.alpha_interval(votes, count, seed)
    low, high = interval or (None, None)
    graded = None if values is None else _graded(labels, (votes, count), values, seed)
    kappa, ac1 = metrics.fleiss_kappa(votes, count), metrics.gwet_ac(votes, count)
    return Agreement(alpha, low, high, kappa, ac1, graded)


def _graded(
    labels: Labels,
    kinds: tuple[NDArray[np.int64], NDArray[np.int64]],
    values: Floats,
    seed: int,
) -> GradedAgreement:
    votes, count = kinds
    alpha = metrics.krippendorff_alpha(votes, count, "ordinal")
    low, high = _bounds(alpha, metrics.alpha_interval(votes, count, seed, level="ordinal"))
    ac2_of = partial(metrics.gwet_ac, votes, weights="quadratic", values=values)
    ac2 = ac2_of(count)
    ac2_low, ac2_high = _bounds(ac2, metrics.agreement_interval(ac2_of, count, seed))
    table, form = _ratings(labels, values)
    icc = None if table is None else metrics.icc(table, form)
    return GradedAgreement(
        alpha=alpha,
        alpha_low=low,
        alpha_high=high,
        ac2=ac2,
        ac2_low=ac2_low,
        ac2_high=ac2_high,
        kappa=_weighted_kappa(labels, kinds, values),
        icc=None if icc is None else icc.value,
        icc_low=None if icc is None else icc.low,
        icc_high=None if icc is None else icc.high,
        icc_form=form,
    )


def _bounds(
    value: float | None, interval: tuple[float, float] | None
) -> tuple[float, float] | tuple[None, None]:
    return (None, None) if value is None or interval is None else interval


def _weighted_kappa(
    labels: Labels, kinds: tuple[NDArray[np.int64], NDArray[np.int64]], values: Floats
) -> float | None:
    """Kappa with quadratic weights: Cohen's where there are two workers, else Fleiss'."""
    if labels.n_workers != 2:
        return metrics.fleiss_kappa(*kinds, "quadratic", values)
    codes = np.full((2, labels.n_tasks), -1)
    codes[labels.worker, labels.task_of_label()] = labels.label
    return metrics.cohen_kappa(codes[0], codes[1], "quadratic", values)


def _ratings(labels: Labels, values: Floats) -> tuple[Floats | None, int]:
    """The ratings ``[task, worker]`` and form 2 of the intraclass correlation, where everyone rated
    every task; elsewhere those of a task in any order, and form 1. None where they are too many."""
    said = labels.n_said
    complete = bool((said == labels.n_workers).all())
    width = int(said.max(initial=0))
    if labels.n_tasks * width > MOST_RATINGS:
        return None, 1
    table = np.full((labels.n_tasks, width), np.nan)
    place = np.arange(labels.n_labels) - np.repeat(labels.indptr[:-1], said)
    table[labels.task_of_label(), labels.worker if complete else place] = values[labels.label]
    return table, 2 if complete and width > 1 else 1


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


def worker_kinds(
    labels: Labels,
    kinds: list[str | None],
    judgement: Judgement | None,
    groups: Groups,
) -> tuple[WorkerKind, ...]:
    """A line for each kind, in alphabetical order; None, who has none, comes last."""
    grouped = group_numbers(groups, labels.n_workers) > 0
    lines = []
    for kind in sorted(set(kinds), key=lambda kind: (kind is None, kind)):
        mine = np.array([of == kind for of in kinds])
        judged = None
        if judgement is not None:
            judged = _ratio((judgement.agreement * judgement.labels)[mine], judgement.labels[mine])
        within, across = _agreements(labels, mine)
        lines.append(
            WorkerKind(
                kind=kind,
                workers=int(mine.sum()),
                labels=int(mine[labels.worker].sum()),
                agreement=judged,
                agree_within=within,
                agree_across=across,
                in_groups=int(grouped[mine].sum()),
            )
        )
    return tuple(lines)


def _agreements(labels: Labels, mine: NDArray[np.bool_]) -> tuple[float | None, float | None]:
    """How often two of these workers agree on a task, and how often one of them with another."""
    everyone = labels.weighted_votes(np.ones(labels.n_workers))
    votes = labels.weighted_votes(mine.astype(np.float64))
    n, m = votes.sum(axis=1), everyone.sum(axis=1)
    return (
        _ratio(votes * (votes - 1), n * (n - 1)),
        _ratio(votes * (everyone - votes), n * (m - n)),
    )


def _ratio(part: Floats, of: Floats) -> float | None:
    whole = float(of.sum())
    return float(part.sum()) / whole if whole > 0 else None
