"""Simulate crowds with known truth, for every model there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
from scipy.sparse import csr_array

from quorate.arguments import refuse_unknown, some_of
from quorate.errors import UsageError
from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.simulation.answers import answers, draw_features
from quorate.simulation.assignment import ASSIGNMENTS, Assignment, assign, from_table
from quorate.simulation.crowd import Crowd, choices
from quorate.simulation.people import (
    Conduct,
    Questions,
    Skills,
    Streams,
    draw_people,
    require_share,
    require_whole,
)

WORKERS, TASKS = 50, 1000
OPTIONS = ("workers", "n_tasks", "labels_per_task", "n_classes", "assignment", "seed")


class SimulateOptions(TypedDict, total=False):
    """Keyword arguments of `simulate` beside those in its signature: those of `Skills`, of
    `Conduct`, and four more."""

    kind: Literal["one-coin", "confusion", "glad"] | None
    beta: tuple[float, float]
    low: float
    high: float
    ability_prior: tuple[float, float]
    easiness_prior: tuple[float, float]
    spammers: float
    inverted: float
    colluders: int
    groups: int
    correlation: float | None
    tiring: float | None
    prior: Floats | Sequence[float] | None
    several: float | None
    skew: float
    n_features: int


def simulate(
    workers: int | Floats | None = None,
    n_tasks: int | None = None,
    labels_per_task: int | None = None,
    *,
    n_classes: int | None = None,
    assignment: Any = "random",
    seed: int = 0,
    **how: Unpack[SimulateOptions],
) -> Crowd:
    """Simulate a crowd whose truth is known: tasks, workers, assignment and answers.

    Each aspect has a random stream of its own: switching one on does not change what is drawn for
    the others.

    Options (all but the first three by name):
        workers: number of workers (50), or their confusion matrices ``[worker, truth, label]``.
        n_tasks: number of tasks (1000).
        labels_per_task: number of different workers on each task (5, or all if they are fewer).
        n_classes: number of classes (2).
        kind: the model of workers. ``"one-coin"``: one accuracy, wrong answers equally likely.
            ``"confusion"``: an accuracy for each class, and errors of the worker's own.
            ``"glad"``: right by ability times the task's easiness.
        beta, low, high: accuracies are low + (high - low) * Beta(a, b).
        ability_prior, easiness_prior: mean and standard deviation of GLAD's abilities, and of the
            logarithms of easiness.
        prior: the class shares; uniform by default.
        several: tasks have several right answers: each class is right with this probability, and
            workers name each class or not.
        assignment: ``"random"``; ``"regular"``, equally many tasks for all workers; ``"skewed"``, a
            few workers do most; ``"clique"``, every worker labels every task; ``"star"`` (one
            worker with each other, and the next two with each other) or ``"ring"``, two workers for
            each task; or a table of task and worker.
        skew: the i-th worker of a skewed crowd has the weight i to the power of -skew.
        spammers: the share of workers who answer independently of the truth, each with class
            shares of its own.
        inverted: the share of workers who say the next class instead of the one they mean; in GLAD
            the share with a negated ability.
        colluders: the number of workers who all give the answer of the first of them.
        groups: the number of groups of judges that the honest workers are in.
        correlation: the rate at which a judge gives its group's common answer to the task (0.5),
            which is as accurate as its members are on average; else its own.
        tiring: the number of votes after which half of a worker's answers are guesses; three
            quarters after twice as many.
        n_features: number of binary features of tasks, with a rate for each class from 0.1 to 0.9.
        seed: seed of the random streams.

    Examples:
        >>> crowd = simulate(20, 100, 3, n_classes=4, spammers=0.1, seed=1)
        >>> crowd.votes.head(2).rows()
        [('t1', 'w19', 'a'), ('t1', 'w10', 'd')]
        >>> crowd.workers["kind"].value_counts(sort=True).rows()
        [('honest', 18), ('spammer', 2)]
        >>> ring = simulate(np.full((5, 2, 2), 0.5), n_tasks=100, assignment="ring")
        >>> ring.labels.n_labels
        200
    """
    refuse_unknown("simulate", how, (*SimulateOptions.__annotations__, *OPTIONS))
    given = None if workers is None or np.ndim(workers) == 0 else _matrices(workers)
    classes = _classes(n_classes, how.get("prior"), how.get("several"), given)
    skills = Skills(**{**some_of(how, Skills), "kind": how.get("kind") or "one-coin"})
    conduct = Conduct(**some_of(how, Conduct))
    require_whole("n_features", how.get("n_features", 0), at_least=0)
    _refuse_with_matrices(given, how)
    streams = _streams(seed, given is not None)
    n_workers: Any = workers if given is None else len(given)
    asked = _from_table(assignment, n_tasks, n_workers, labels_per_task)
    n_tasks = _count("n_tasks", n_tasks, TASKS) if asked is None else asked.n_tasks
    truth = classes.truth(n_tasks, streams.truth)
    if asked is None:
        n_workers = _count("workers", n_workers, WORKERS)
        if labels_per_task is not None:
            labels_per_task = _count("labels_per_task", labels_per_task)
        size = (n_tasks, n_workers, labels_per_task)
        asked = assign(assignment, *size, how.get("skew", 1.0), streams.assignment)
    people = draw_people(skills, conduct, given, asked.n_workers, classes.questions, streams)
    easiness = None
    if people.ability is not None:
        easiness = np.exp(streams.easiness.normal(*skills.easiness_prior, n_tasks))
    said = answers(people, conduct, asked, truth, easiness, streams)
    rate, features = _features(how.get("n_features", 0), truth, classes.n, streams.features)
    several = classes.several is not None
    return Crowd(
        _labels(asked, said, classes, features),
        np.ascontiguousarray(truth.T) if several else truth[0],
        np.swapaxes(people.confusion, 0, 1) if several else people.confusion[0],
        prior=classes.shares,
        kind=people.kind,
        group=people.group,
        ability=None if people.ability is None else people.ability[: asked.n_workers],
        difficulty=None if easiness is None else 1 / easiness,
        feature_rate=rate,
        task_names=asked.task_names,
        worker_names=asked.worker_names,
    )


def _refuse_with_matrices(given: Floats | None, how: SimulateOptions) -> None:
    """Refuse options that contradict given confusion matrices."""
    for option in ("kind", "several"):
        if given is not None and how.get(option) is not None:
            raise UsageError(f"Confusion matrices say all of the workers: leave {option} out.")


def _features(
    n_features: int, truth: Codes, n_classes: int, random: np.random.Generator
) -> tuple[Floats | None, csr_array | None]:
    """Draw the rate of each feature in each class, and the features of the tasks."""
    if not n_features:
        return None, None
    rate = random.uniform(0.1, 0.9, (n_features, n_classes))
    return rate, draw_features(rate, truth, n_classes, random)


@dataclass(frozen=True, eq=False)
class _Classes:
    """Number of classes, and how often each is right: one of them, or each by itself."""

    n: int
    prior: Floats | None
    several: float | None

    @property
    def questions(self) -> Questions:
        return Questions(1, self.n) if self.several is None else Questions(self.n, 2)

    @property
    def shares(self) -> Floats:
        share = 1 / self.n if self.several is None else self.several
        return np.full(self.n, share) if self.prior is None else self.prior

    def truth(self, n_tasks: int, random: np.random.Generator) -> Codes:
        """Draw the right answers ``[question, task]``."""
        if self.several is None:
            return random.choice(self.n, n_tasks, p=self.prior).astype(np.int32)[None]
        right = random.random((n_tasks, self.n)) < self.several
        return np.ascontiguousarray(right.T, dtype=np.int32)


def _classes(n: int | None, prior: Any, several: float | None, given: Floats | None) -> _Classes:
    if given is None:
        require_whole("n_classes", 2 if n is None else n, at_least=2)
        n = 2 if n is None else int(n)
    elif n not in (None, given.shape[1]):
        raise UsageError(f"The confusion matrices are of {given.shape[1]} classes, not {n}.")
    else:
        n = given.shape[1]
    if several is not None:
        require_share("several", several)
        if prior is not None:
            raise UsageError("prior is for one right answer: with several, leave it out.")
    return _Classes(n, None if prior is None else _prior(prior, n), several)


def _prior(prior: Any, n_classes: int) -> Floats:
    shares = _numbers("prior", prior)
    if shares.shape != (n_classes,):
        raise UsageError(
            f"prior has {shares.size} shares, and there are {n_classes} classes: give one for each."
        )
    if not (shares >= 0).all() or abs(shares.sum() - 1) > 1e-8:
        raise UsageError(f"prior must be shares that add up to 1, not to {shares.sum():g}.")
    return shares


def _matrices(given: Any) -> Floats:
    matrices = _numbers("workers", given)
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2] or not matrices.size:
        raise UsageError(
            "workers is their number, or confusion matrices [worker, truth, label]; not an array"
            f" of the shape {matrices.shape}."
        )
    if not (matrices >= 0).all() or (abs(matrices.sum(axis=2) - 1) > 1e-6).any():
        raise UsageError("Every row of a confusion matrix must be shares that add up to 1.")
    return matrices


def _numbers(option: str, values: Any) -> Floats:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise UsageError(f"{option} must be numbers, not {values!r}.") from None


def _streams(seed: int, by_matrices: bool) -> Streams:
    """Random streams of all aspects. With given matrices truth, assignment and answers all come
    from the first stream, as they did before there were others."""
    require_whole("seed", seed, at_least=0)
    first = np.random.default_rng(int(seed))
    streams = Streams(*first.spawn(len(Streams._fields)))
    if by_matrices:
        return streams._replace(truth=first, assignment=first, answers=first)
    return streams


def _count(option: str, value: Any, default: int = 1) -> int:
    value = default if value is None else value
    require_whole(option, value, at_least=1)
    return int(value)


def _from_table(
    assignment: Any, n_tasks: int | None, n_workers: int | None, labels_per_task: int | None
) -> Assignment | None:
    """Read the assignment from a table; None if it is to be drawn."""
    if isinstance(assignment, str):
        if assignment in ASSIGNMENTS:
            return None
        if not Path(assignment).suffix:
            raise UsageError(
                f"assignment is one of {', '.join(ASSIGNMENTS)}, or a table of task and worker, not"
                f" {assignment!r}."
            )
    if labels_per_task is not None:
        raise UsageError("A table of assignments says who labels what: leave labels_per_task out.")
    return from_table(assignment, n_tasks, n_workers)


def _labels(
    asked: Assignment, said: Codes, classes: _Classes, features: csr_array | None
) -> Labels:
    task, worker = asked.task, asked.worker
    label = said[0]
    if classes.several is not None:
        task, worker, label = choices(task, worker, said)
    return Labels.from_codes(
        task,
        worker,
        label,
        n_tasks=asked.n_tasks,
        n_workers=asked.n_workers,
        n_classes=classes.n,
        features=features,
    )
