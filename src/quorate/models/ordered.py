"""Ordered classes: one question with two answers for each threshold, any model underneath.

With classes in order (grades, ratings, severities) each threshold asks of every label and every
truth whether it lies above: a problem with two classes. E. Frank and M. Hall, "A Simple Approach to
Ordinal Classification" (2001), put classifiers together so; here it is models of crowds. The model
runs on all thresholds at once: parameters, local state and statistics are tuples with an entry for
each threshold, and tuples of sums are sums.

The thresholds' beliefs need not agree with each other ("above 3" may come out likelier than "above
2"): the nearest that do, by least squares, are found by pooling neighbours (isotonic regression),
and their differences are the classes' probabilities.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from quorate.errors import UsageError
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import AnyModel, AnyPhase, Calibration, Model, Phase, Step
from quorate.models.wrapper import Wrapper

MOST_CLASSES = 1000  # each has a model of its own

Thresholds = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class EachThreshold(Phase[Thresholds, Thresholds, Thresholds]):
    """A phase of the model of each threshold, all at once."""

    each: tuple[AnyPhase, ...]

    @property
    def max_iter(self) -> int:
        return self.each[0].max_iter

    def sweep(
        self, block: Labels, params: Thresholds, local: Thresholds
    ) -> tuple[Thresholds, Thresholds]:
        swept = [
            phase.sweep(above, of_threshold, state)
            for phase, above, of_threshold, state in zip(
                self.each, block.thresholds, params, local, strict=True
            )
        ]
        return tuple(state for state, _ in swept), tuple(stats for _, stats in swept)

    def estimate(self, stats: Thresholds, params: Thresholds) -> Thresholds:
        pairs = zip(self.each, stats, params, strict=True)
        return tuple(phase.estimate(sums, of_threshold) for phase, sums, of_threshold in pairs)

    def progress(self, stats: Thresholds, params: Thresholds) -> Step | None:
        pairs = zip(self.each, stats, params, strict=True)
        steps = [phase.progress(sums, of_threshold) for phase, sums, of_threshold in pairs]
        shown = [step for step in steps if step is not None]
        return _together(shown) if len(shown) == len(steps) else None

    def converged(self, steps: Sequence[Step]) -> bool:
        return self.each[0].converged(steps)


@dataclass(frozen=True, eq=False)
class ByThreshold(Model[Thresholds, Thresholds, Thresholds]):
    """What models made of a model for each threshold share."""

    @abstractmethod
    def question(self, threshold: int, n_classes: int) -> AnyModel:
        """The model of one threshold, in two classes."""

    def put_together(self, above: Floats) -> Floats:
        """The belief ``[task, class]`` from the beliefs ``[task, threshold]`` in being above."""
        return classes_from(monotone(above))

    @property
    def any_question(self) -> AnyModel:
        return self.question(0, 2)

    @property
    def max_iter(self) -> int:
        return self.any_question.max_iter

    @property
    def params_type(self) -> Any:
        """The type of a threshold's parameters."""
        return self.any_question.params_type

    @property
    def stats_type(self) -> Any:
        """The type of a threshold's statistics."""
        return self.any_question.stats_type

    def phases(self, shape: Labels) -> tuple[AnyPhase, ...]:
        each = [question.phases(above)[:-1] for question, above in self._asked(shape.thresholds)]
        return (*map(EachThreshold, zip(*each, strict=True)), self)

    def start(self, shape: Labels) -> Thresholds:
        asked = self._asked(shape.thresholds)
        return tuple(question.start(above) for question, above in asked)

    def begin(self, block: Labels) -> Thresholds:
        if block.n_classes > MOST_CLASSES:
            raise UsageError(
                f"{self.name} asks a question for each threshold between classes, of which there"
                f" may be {MOST_CLASSES:,}, not {block.n_classes:,}: put classes together."
            )
        asked = self._asked(block.thresholds)
        return tuple(question.begin(above) for question, above in asked)

    def sweep(
        self, block: Labels, params: Thresholds, local: Thresholds
    ) -> tuple[Thresholds, Thresholds]:
        return self._questions(len(params)).sweep(block, params, local)

    def estimate(self, stats: Thresholds, params: Thresholds) -> Thresholds:
        return self._questions(len(params)).estimate(stats, params)

    def progress(self, stats: Thresholds, params: Thresholds) -> Step | None:
        return self._questions(len(params)).progress(stats, params)

    def converged(self, steps: Sequence[Step]) -> bool:
        return self.any_question.converged(steps)

    def posterior(self, block: Labels, params: Thresholds, local: Thresholds) -> Floats:
        above = np.empty((block.n_tasks, block.n_classes - 1))
        asked = self._asked(block.thresholds, params, local)
        for threshold, (question, *arguments) in enumerate(asked):
            above[:, threshold] = question.posterior(*arguments)[:, 1]
        return self.put_together(above)

    def newcomer(self, stats: Thresholds, params: Thresholds) -> Thresholds:
        asked = self._asked(stats, params)
        return tuple(question.newcomer(*arguments) for question, *arguments in asked)

    def confusion(self, params: Thresholds) -> Floats | None:
        """How likely each label is above each threshold, given the truth's side of it, made
        monotone and differenced as the beliefs are. A truth that was never met has no row."""
        matrices = _known(question.confusion(of) for question, of in self._asked(params))
        return _confusion_from(matrices) if matrices else None

    def history(self, stats: Thresholds, params: Thresholds) -> Floats | None:
        """The labels given to tasks of each truth, spread as confusion matrices would have it."""
        asked = self._asked(stats, params)
        counts = _known(question.history(*arguments) for question, *arguments in asked)
        if not counts:
            return None
        given = counts[0].sum(axis=(1, 2))
        met_above = np.stack([count[:, 1].sum(axis=1) for count in counts], axis=-1)
        met = -np.diff(monotone(met_above), prepend=given[:, None], append=0.0, axis=1)
        history: Floats = np.maximum(met, 0.0)[:, :, None] * _confusion_from(counts)
        return history

    def notes(self, params: Thresholds) -> tuple[str, ...]:
        asked = self._asked(params)
        return tuple(dict.fromkeys(note for question, of in asked for note in question.notes(of)))

    def _questions(self, n_thresholds: int) -> EachThreshold:
        questions = (self.question(t, n_thresholds + 1) for t in range(n_thresholds))
        return EachThreshold(tuple(questions))

    def _asked(self, *columns: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """The model of each threshold, with its own of each of the columns."""
        n_classes = len(columns[0]) + 1
        for threshold, arguments in enumerate(zip(*columns, strict=True)):
            yield self.question(threshold, n_classes), *arguments


@dataclass(frozen=True, eq=False)
class Ordered(Wrapper, ByThreshold):
    """A model for two classes, or any number, on each threshold between ordered classes.

    `objective` and the log-likelihood are sums over the thresholds. Options of the model that are
    about classes (`prior`, `init`, `worker_prior`) are about these classes.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 2, 1, 2, 2]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> quorate.fit(quorate.Ordered(quorate.OneCoin(smoothing=1)), labels).answers
        array([0, 2], dtype=int32)
    """

    def __post_init__(self) -> None:
        if self.model.in_memory_only:
            raise UsageError(f"{self.model.name} is a function: ordered is for models.")

    def calibration(self, params: Thresholds) -> Calibration:
        return self.model.calibration(params[0])

    def question(self, threshold: int, n_classes: int) -> AnyModel:
        return _narrowed(self.model, threshold, n_classes)


@lru_cache(maxsize=256)
def _narrowed(model: AnyModel, threshold: int, n_classes: int) -> AnyModel:
    """The model with its options of classes in the two classes of the threshold."""
    side = np.eye(2)[_sides(n_classes)[:, threshold]] if n_classes > 1 else np.ones((1, 2))
    options: dict[str, Floats] = {}
    for name in {f.name for f in fields(model)} & {"prior", "init", "worker_prior"}:
        given = getattr(model, name)
        if not isinstance(given, np.ndarray) or given.shape[-1] != n_classes:
            continue
        if name == "prior":
            options[name] = given @ side
        elif name == "worker_prior":
            options[name] = side.T @ given @ side
        else:
            options[name] = (side / side.sum(axis=0)).T @ given @ side
    return replace(model, **options) if options else model


def _sides(n_classes: int) -> Any:
    """``[class, threshold]``: 1 where the class is above the threshold."""
    return (np.arange(n_classes)[:, None] > np.arange(n_classes - 1)).astype(np.int64)


def _confusion_from(thresholds: Sequence[Floats]) -> Floats:
    """``[worker, truth, label]`` from each threshold's counts (or shares) in two classes."""
    side = _sides(len(thresholds) + 1)
    by_truth = np.stack([two[:, side[:, t]] for t, two in enumerate(thresholds)], axis=2)
    total = by_truth.sum(axis=3)
    above = by_truth[..., 1] / np.where(total > 0, total, 1)
    met = np.all(total > 0, axis=2)
    confusion: Floats = classes_from(monotone(above)) * met[:, :, None]
    return confusion


def _known(matrices: Iterator[Floats | None]) -> list[Floats]:
    """The matrices of the thresholds; none at all where the model has none."""
    found = list(matrices)
    known = [matrix for matrix in found if matrix is not None]
    return known if len(known) == len(found) else []


def _together(steps: Sequence[Step]) -> Step:
    """The thresholds' steps as one."""
    log_likelihoods = [s.log_likelihood for s in steps if s.log_likelihood is not None]
    return Step(
        objective=sum(s.objective for s in steps),
        log_likelihood=sum(log_likelihoods) if len(log_likelihoods) == len(steps) else None,
        moved=max((s.moved for s in steps), default=0.0),
        changed=sum(s.changed for s in steps),
        hard=all(s.hard for s in steps),
        impossible=sum(s.impossible for s in steps),
        unfinished=sum(s.unfinished for s in steps),
    )


def monotone(above: Floats) -> Floats:
    """The nearest rows (by least squares) that never rise from one threshold to the next.

    A value is the least, over runs that begin at or before it, of the greatest mean of those runs
    up to any end at or behind it: what pooling adjacent violators gives, for all rows at once.

    Examples:
        >>> monotone(np.array([[0.2, 0.6, 0.1]]))
        array([[0.4, 0.4, 0.1]])
    """
    rises = np.any(above[..., 1:] > above[..., :-1], axis=-1)
    if not rises.any():
        return above
    rows = above[rises]
    pooled = np.full_like(rows, np.inf)
    for first in range(rows.shape[-1]):
        run = rows[:, first:]
        means = run.cumsum(axis=1) / np.arange(1, run.shape[1] + 1)
        greatest = np.maximum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
        np.minimum(pooled[:, first:], greatest, out=pooled[:, first:])
    result = above.copy()
    result[rises] = pooled
    return result


def classes_from(above: Floats) -> Floats:
    """The probability of each class from those, never rising, of being above each threshold."""
    probability: Floats = np.maximum(-np.diff(above, prepend=1.0, append=0.0, axis=-1), 0.0)
    return probability
