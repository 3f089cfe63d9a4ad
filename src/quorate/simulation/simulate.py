"""Crowds with known truth, for every model there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from quorate.errors import UsageError
from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.simulation.answers import answers, draw_features
from quorate.simulation.assignment import ASSIGNMENTS, Asked, assign, from_table
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


def simulate(
    workers: int | Floats | None = None,
    n_tasks: int | None = None,
    labels_per_task: int | None = None,
    *,
    n_classes: int | None = None,
    kind: str | None = None,
    beta: tuple[float, float] = (4.0, 2.0),
    low: float = 0.0,
    high: float = 1.0,
    ability_prior: tuple[float, float] = (1.0, 1.0),
    easiness_prior: tuple[float, float] = (1.0, 1.0),
    prior: Floats | Sequence[float] | None = None,
    several: float | None = None,
    assignment: Any = "random",
    skew: float = 1.0,
    spammers: float = 0.0,
    inverted: float = 0.0,
    colluders: int = 0,
    groups: int = 0,
    correlation: float | None = None,
    tiring: float | None = None,
    n_features: int = 0,
    seed: int = 0,
) -> Crowd:
    """Draw a crowd whose truth is known: tasks, workers, who is asked what, and what they say.

    Each aspect has a random stream of its own: to switch one on does not change what is drawn for
    the others.

    Options:
        workers: how many (50), or their confusion matrices ``[worker, truth, label]``.
        n_tasks: how many tasks (1000).
        labels_per_task: different workers on each task (5, or all if they are fewer).
        n_classes: how many classes (2).
        kind: what workers know. ``"one-coin"``: each is right with one probability, else wrong
            evenly. ``"confusion"``: right with another probability for each class, and with its own
            errors. ``"glad"``: right by ability times the task's easiness.
        beta, low, high: these probabilities are low + (high - low) * Beta(a, b).
        ability_prior, easiness_prior: mean and standard deviation of GLAD's abilities, and of the
            logarithms of easiness.
        prior: the class shares; even, if not given.
        several: tasks have several right answers: with this probability each class is right, and
            workers name each, or not.
        assignment: ``"random"``; ``"regular"``, as many tasks for every worker; ``"skewed"``, a few
            workers do most; ``"clique"``, everybody labels everything; ``"star"`` (one worker with
            each other, and the next two with each other) or ``"ring"``, two workers for each task;
            or a table of task and worker.
        skew: the i-th worker of a skewed crowd is drawn by a weight of i to the power of -skew.
        spammers: the share of workers who answer the same whatever the truth, each with shares of
            the classes of its own.
        inverted: the share of workers who say the next class instead of the one they mean; in GLAD
            of those with their ability turned round.
        colluders: so many workers all give one answer to a task, that of the first of them.
        groups: the honest workers are judges in so many groups.
        correlation: how often a judge gives its group's common answer to the task (0.5), which is
            right as often as a member is on average; else its own.
        tiring: after so many votes half of a worker's answers are guesses, after twice as many
            three quarters.
        n_features: binary features of the tasks, with a rate for each class from 0.1 to 0.9.
        seed: another number, another crowd.

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
    given = None if workers is None or np.ndim(workers) == 0 else _matrices(workers)
    classes = _classes(n_classes, prior, several, given)
    skills = Skills(kind or "one-coin", beta, low, high, ability_prior, easiness_prior)
    conduct = Conduct(spammers, inverted, colluders, groups, correlation, tiring)
    require_whole("n_features", n_features, at_least=0)
    if given is not None and (kind is not None or several is not None):
        surplus = "kind" if kind is not None else "several"
        raise UsageError(f"Confusion matrices say all of the workers: leave {surplus} out.")
    streams = _streams(seed, given is not None)

    n_workers: Any = len(given) if given is not None else workers
    asked = _from_table(assignment, n_tasks, n_workers, labels_per_task)
    n_tasks = _count("n_tasks", n_tasks, TASKS) if asked is None else asked.n_tasks
    truth = classes.truth(n_tasks, streams.truth)
    if asked is None:
        n_workers = _count("workers", n_workers, WORKERS)
        per_task = None if labels_per_task is None else _count("labels_per_task", labels_per_task)
        asked = assign(assignment, n_tasks, n_workers, per_task, skew, streams.assignment)

    people = draw_people(skills, conduct, given, asked.n_workers, classes.questions, streams)
    easiness = None
    if people.ability is not None:
        easiness = np.exp(streams.easiness.normal(*easiness_prior, n_tasks))
    said = answers(people, conduct, asked, truth, easiness, streams)
    rate = features = None
    if n_features:
        rate = streams.features.uniform(0.1, 0.9, (n_features, classes.n))
        features = draw_features(rate, truth, classes.n, streams.features)
    return Crowd(
        _labels(asked, said, classes, features),
        truth[0] if several is None else np.ascontiguousarray(truth.T),
        people.confusion[0] if several is None else np.swapaxes(people.confusion, 0, 1),
        prior=classes.shares,
        kind=people.kind,
        group=people.group,
        ability=None if people.ability is None else people.ability[: asked.n_workers],
        difficulty=None if easiness is None else 1 / easiness,
        feature_rate=rate,
        task_names=asked.task_names,
        worker_names=asked.worker_names,
    )


@dataclass(frozen=True, eq=False)
class _Classes:
    """How many there are, and how often each is right: one of them, or each for itself."""

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
        """``[question, task]``: the right answer to each question."""
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
    """Truth, assignment and answers of given matrices all come from the first stream, as they did
    before there were others."""
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
    assignment: Any, n_tasks: int | None, n_workers: int | None, per_task: int | None
) -> Asked | None:
    """Who is asked what by a table; None if the assignment is to be drawn."""
    if isinstance(assignment, str):
        if assignment in ASSIGNMENTS:
            return None
        if not Path(assignment).suffix:
            raise UsageError(
                f"assignment is one of {', '.join(ASSIGNMENTS)}, or a table of task and worker, not"
                f" {assignment!r}."
            )
    if per_task is not None:
        raise UsageError("A table of assignments says who labels what: leave labels_per_task out.")
    return from_table(assignment, n_tasks, n_workers)


def _labels(asked: Asked, said: Codes, classes: _Classes, features: csr_array | None) -> Labels:
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
