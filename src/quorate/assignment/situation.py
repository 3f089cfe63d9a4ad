"""How things stand when votes are to be asked for, and what a policy ranks tasks by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quorate.assignment.gain import errors_ahead, worth
from quorate.fitting import Fit
from quorate.kernels import Floats, entropy
from quorate.labels import Labels
from quorate.result import Result
from quorate.trust import Shift

FAR, POINTS = 16.0, 1001  # log-odds of the errors that are told apart, and steps between them


@dataclass(frozen=True, eq=False)
class Situation:
    """What is known when votes are to be asked for; `ahead` is the expected error of each task
    after more votes of an average worker."""

    result: Fit
    labels: Labels
    counts: Floats
    average: Floats
    ahead: Floats

    @property
    def confidence(self) -> Floats:
        return self.result.confidence


def situated(result: Fit, labels: Labels, counts: Floats | None = None) -> Situation:
    """How things stand by a fit and its labels, if its confidences are taken as they are; workers
    are known by the fit's expected `counts`, or by those under its posterior."""
    if counts is None:
        counts = _counts(result, labels)
    average = counts.sum(axis=0) + 1e-3
    average /= average.sum(axis=1, keepdims=True)
    ahead = errors_ahead(result.posterior, average)
    return Situation(result, labels, counts, average, ahead)


def situated_by(result: Result, labels: Labels) -> Situation:
    """How things stand by a result: its workers, and errors that add up to its expected error.

    How far confidences may be off is taken into account as in `Result.expected_error`, now and
    after each further vote."""
    assert result.votes is not None
    counts = result.history
    if counts is None:
        counts = _counts(result, result.votes.labels)
    situation = situated(result, labels, counts)
    ahead = _recalibrated(situation.ahead, result.shift)
    ahead *= result.expected_error.error / ahead[:, 0].mean()  # which is by strata of confidence
    return replace(situation, ahead=ahead)


def _recalibrated(errors: Floats, shift: Shift) -> Floats:
    """The errors to expect where a posterior expects these, by interpolation in log-odds."""
    at = np.linspace(-FAR, FAR, POINTS)
    expected = shift.expected(1 / (1 + np.exp(-at)))
    p = np.clip(errors, np.exp(-FAR), 1 - np.exp(-FAR))
    recalibrated: Floats = np.exp(np.interp(np.log(p / (1 - p)), at, np.log(expected)))
    return recalibrated


def _counts(result: Fit, labels: Labels) -> Floats:
    """The expected counts ``[worker, truth, label]``, whatever the method."""
    shape = (labels.n_workers, labels.n_classes, labels.n_classes)
    return labels.counts(result.posterior).reshape(shape).transpose(0, 2, 1)


def scores(policy: str, situation: Situation, risk: Floats, random: np.random.Generator) -> Floats:
    """What a policy ranks tasks by; of equals the more open comes first, then chance decides."""
    chance: Floats = random.random(len(risk))
    if policy == "random":
        return chance
    openness = entropy(situation.result.posterior)
    if policy == "entropy":
        return openness + 1e-9 * chance
    if policy == "forest":
        return risk + 1e-9 * openness + 1e-12 * chance
    # Where no vote that is looked ahead to could change the answer, all are equals.
    return worth(situation.ahead) + 1e-6 * openness + 1e-9 * chance


def ranked(score: Floats, eligible: Any, votes: int) -> Any:
    """The tasks to ask about, best first: rounds in which each has one vote."""
    order = np.argsort(-score, kind="stable")
    order = order[eligible[order]]
    if not len(order):
        return order
    rounds = -(-votes // len(order))
    return np.tile(order, rounds)[:votes]
