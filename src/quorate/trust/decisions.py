"""Which answers to decide, so that at most a given share of them is wrong.

Answers are decided in the order of their confidence, the known ones first, down to a stratum of it.
With known answers that stratum is found by conformal selection in two steps (see `selection`): the
expected share of wrong answers among the decided is at most `max_error`, over draws of which
answers are known, whatever the model and however badly its confidences are calibrated; what is
needed is only that known answers are a random sample. With too few of them nothing can be promised.
Then, or without known answers, the model's expectation decides: the lowest stratum down to which
the expected errors of the others are at most a share `max_error` of the decided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate.answers import STRATA, WIDTH, Overview, least_confidence, stratum
from quorate.kernels import Floats
from quorate.trust.recalibration import (
    Check,
    ExpectedError,
    Shift,
    mean_error,
    tasks_by_stratum,
)
from quorate.trust.selection import Sample, least_known, select

ALL, NONE = 0.0, 1.0  # confidences that every answer reaches, and only known ones


class Decision(NamedTuple):
    """Answers from this confidence on are decided; ``promised`` by known answers, else by the model
    alone."""

    min_confidence: float
    max_error: float
    promised: bool

    @property
    def note(self) -> str:
        """How it was decided, in a sentence."""
        most = f"{self.max_error:.1%}"
        if self.promised:
            return (
                f"On average over draws of the known answers, at most {most} of the decided answers"
                ", known ones among them, are wrong (conformal selection)."
            )
        return (
            f"By the model's own expectation at most {most} of the decided answers are wrong: with"
            f" {least_known(self.max_error):,} known answers, drawn at random, that would be a"
            " promise."
        )


def decide(overview: Overview, shift: Shift, check: Check | None, max_error: float) -> Decision:
    """The confidence down to which answers are decided."""
    others = _from_above(tasks_by_stratum(overview))
    lowest = None if check is None else select(_sample(others, check), max_error)
    promised = lowest is not None
    if lowest is None:
        lowest = _by_expectation(overview, shift, max_error)
    return Decision(_least(lowest, others), max_error, promised)


def _sample(others: Floats, check: Check) -> Sample:
    known, wrong = np.zeros((2, STRATA))
    strata = stratum(check.confidence)
    np.add.at(known, strata, 1.0)
    np.add.at(wrong, strata, 1 - check.right)
    return Sample(others, _from_above(known), _from_above(wrong))


def _by_expectation(overview: Overview, shift: Shift, max_error: float) -> int:
    """The lowest stratum that is decided by the model's expectation."""
    tasks = tasks_by_stratum(overview)
    others = _from_above(tasks)
    expected = shift.errors(mean_error(overview), tasks) @ shift.probability
    errors = _from_above(tasks * expected)
    enough = (errors <= max_error * (others + overview.known)) & (others > 0)
    return int(enough.argmax()) if enough.any() else STRATA


def _from_above(by_stratum: Floats) -> Floats:
    """The sum of each stratum and those above it."""
    sums: Floats = by_stratum[::-1].cumsum()[::-1]
    return sums


def _least(lowest: int, others: Floats) -> float:
    """The confidence at which the lowest stratum that is decided begins."""
    if lowest == STRATA:
        return NONE
    return ALL if others[lowest] == others[0] else least_confidence(lowest)


def error_of_the_decided(overview: Overview, shift: Shift, min_confidence: float) -> ExpectedError:
    """The expected share of wrong answers among the decided, of which the known ones are right."""
    strata = overview.strata.copy()
    strata[: _first(min_confidence)] = 0.0
    found = ExpectedError.of(overview._replace(strata=strata), shift)
    decided = max(n_decided(overview, min_confidence), 1)
    others = 1 - min(overview.known / decided, 1.0)
    return ExpectedError(*(others * share for share in found))


def n_decided(overview: Overview, min_confidence: float) -> int:
    """The number of answers that are decided, known ones among them."""
    tasks = tasks_by_stratum(overview)[_first(min_confidence) :].sum()
    return round(float(tasks)) + overview.known


def _first(min_confidence: float) -> int:
    """The first stratum that is decided."""
    if min_confidence > 1:
        return STRATA
    return int(np.ceil(-np.log(max(1 - min_confidence, 1e-300)) / WIDTH - 1e-9))
