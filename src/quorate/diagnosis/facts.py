"""What is measured and found of a crowd, each by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

Level = Literal["problem", "warning", "note"]


@dataclass(frozen=True)
class GradedAgreement:
    """Agreement on labels that have an order: Krippendorff's alpha (ordinal) and Gwet's AC2
    (quadratic weights), with 95 % bootstrap intervals over tasks, kappa with quadratic weights
    (Cohen's of two workers, else Fleiss'), and the intraclass correlation of single ratings, of
    form 2 where all workers rated all tasks and 1 elsewhere, with its 95 % interval."""

    alpha: float | None
    alpha_low: float | None
    alpha_high: float | None
    ac2: float | None
    ac2_low: float | None
    ac2_high: float | None
    kappa: float | None
    icc: float | None
    icc_low: float | None
    icc_high: float | None
    icc_form: int


@dataclass(frozen=True)
class Agreement:
    """Krippendorff's alpha (nominal) with its 95 % bootstrap interval over tasks, Fleiss' kappa and
    Gwet's AC1; None where votes leave them undefined. `graded` is there for labels that are numbers
    or said to be ordered."""

    alpha: float | None
    alpha_low: float | None
    alpha_high: float | None
    kappa: float | None
    ac1: float | None = None
    graded: GradedAgreement | None = None


@dataclass(frozen=True)
class WorkerGraph:
    """Workers joined by the tasks they share.

    `components` counts those of two workers or more, and
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
    pairs: int = 0
    sampled: bool = False
    shared_least: int = 0
    shared_median: float = 0.0
    eigenvalue: float | None = None
    settled: bool = False
    skill_error: float | None = None


@dataclass(frozen=True)
class AgreeingPair:
    """Two workers who agree on more of their shared tasks than their accuracies explain, duplicates
    or experts among others; `copied` is the share of labels that would have to be copied for that,
    `p` the chance of it otherwise."""

    workers: tuple[Any, Any]
    shared: int
    agreed: int
    expected: float
    copied: float
    p: float


@dataclass(frozen=True)
class WorkerGroup:
    """Correlated workers: the share of their labels that would have to be copied for that, and how
    many independent votes all of theirs are worth."""

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
class Finding:
    """`what` was found, what to do about it (`advice`), how `sure` that is, and the `workers` whom
    it concerns."""

    name: str
    level: Level
    what: str
    advice: str
    sure: str
    workers: pl.Series | None = None

    def as_dict(self) -> dict[str, Any]:
        workers = [] if self.workers is None else self.workers.to_list()
        return {**vars(self), "workers": workers}
