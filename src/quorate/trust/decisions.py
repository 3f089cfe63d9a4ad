"""Which answers to decide, so that at most a given share of them is wrong.

Answers are decided in the order of their confidence, the known ones first, down to a stratum of it.
With known answers that stratum is found by conformal selection (Y. Jin and E. J. Candes, "Selection
by Prediction with Conformal p-values", JMLR 2023). Of n known answers, each compared with the
answer that was found while it was hidden, let k(s) be wrong in stratum s or above; of the m others
let d(s) be decided. The lowest stratum is taken at which

    (1 + k(s)) / (n + 1) * m / (n + d(s)) <= max_error:

no more wrong answers are to be expected among the others than a share `max_error` of all that are
decided, the n known ones among them, which are right. Then the expected share of wrong answers
among the decided is at most `max_error`, over draws of which answers are known, whatever the model
and however badly its confidences are calibrated: what is needed is only that known answers are a
random sample. (From the last stratum up, the number of wrong others over 1 + k(s) is a
supermartingale, whose mean is at most m / (n + 1) wherever it is stopped.) With hardly more than
1 / max_error - 1 known answers little is decided, and with fewer nothing can be promised. Then, or
without known answers, the model's expectation decides: the lowest stratum down to which the
expected errors of the others are at most a share `max_error` of the decided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.answers import STRATA, WIDTH, Overview, least_confidence, stratum
from quorate.kernels import Floats
from quorate.trust.recalibration import (
    Check,
    ExpectedError,
    Shift,
    mean_error,
    tasks_by_stratum,
)

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
        least = int(np.ceil(1 / self.max_error - 1))
        return (
            f"By the model's own expectation at most {most} of the decided answers are wrong: with"
            f" {least:,} known answers, drawn at random, that would be a promise."
        )


def decide(overview: Overview, shift: Shift, check: Check | None, max_error: float) -> Decision:
    """The confidence down to which answers are decided."""
    tasks = tasks_by_stratum(overview)
    others = _from_above(tasks)
    decided = others + overview.known
    if check is not None and _can_promise(len(check.right), tasks.sum(), decided[0], max_error):
        wrong: Floats = np.zeros(STRATA)
        np.add.at(wrong, stratum(check.confidence), 1 - check.right)
        errors = (1 + _from_above(wrong)) / (len(check.right) + 1) * tasks.sum()
    else:
        check = None
        expected = shift.errors(mean_error(overview), tasks) @ shift.probability
        errors = _from_above(tasks * expected)
    low = np.flatnonzero((errors <= max_error * decided) & (others > 0))
    return Decision(_least(low, others), max_error, promised=check is not None)


def _can_promise(known: int, others: float, decided: float, max_error: float) -> bool:
    """Whether all could be decided if no known answer were wrong."""
    return bool(others <= max_error * (known + 1) * decided)


def _from_above(by_stratum: Floats) -> Floats:
    """The sum of each stratum and those above it."""
    sums: Floats = by_stratum[::-1].cumsum()[::-1]
    return sums


def _least(low: NDArray[np.intp], others: Floats) -> float:
    """The confidence of the lowest of these strata."""
    if not len(low):
        return NONE
    return ALL if others[low[0]] == others[0] else least_confidence(int(low[0]))


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
