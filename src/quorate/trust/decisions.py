"""Which answers to decide, so that at most a given share of them is wrong.

Answers are decided in the order of their confidence, down to a stratum of it. With known answers
that stratum is found by conformal selection (Y. Jin and E. J. Candes, "Selection by Prediction with
Conformal p-values", JMLR 2023). Of n known answers, each compared with the answer that was found
while it was hidden, let k(s) be wrong in stratum s or above; and of m others let d(s) be decided.
The lowest stratum is taken at which

    (1 + k(s)) / (n + 1) * m / d(s) <= max_error.

Then the expected share of wrong answers among the decided is at most `max_error`, over draws of
which answers are known, whatever the model and however badly its confidences are calibrated: what
is needed is only that known answers are a random sample. With fewer than 1 / max_error - 1 of them
nothing can be promised. Then, or without known answers, the model's expectation decides: the lowest
stratum down to which the mean error probability of the decided is at most `max_error`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate.answers import STRATA, WIDTH, Overview, least_confidence, stratum
from quorate.kernels import Floats
from quorate.trust.recalibration import Check, Shift, mean_error, tasks_by_stratum

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
                " are wrong (conformal selection)."
            )
        least = int(np.ceil(1 / self.max_error - 1))
        return (
            f"By the model's own expectation at most {most} of the decided answers are wrong: with"
            f" {least:,} known answers, drawn at random, that would be a promise."
        )


def decide(overview: Overview, shift: Shift, check: Check | None, max_error: float) -> Decision:
    """The confidence down to which answers are decided."""
    tasks = tasks_by_stratum(overview)
    decided = tasks[::-1].cumsum()[::-1]
    if check is not None and (len(check.right) + 1) * max_error >= 1:
        wrong = np.bincount(stratum(check.confidence), 1 - check.right, minlength=STRATA)
        share = (1 + wrong[::-1].cumsum()[::-1]) / (len(check.right) + 1)
        found = share * tasks.sum() / np.maximum(decided, 1)
        return Decision(_least(found, decided, max_error), max_error, True)
    expected = shift.errors(mean_error(overview), tasks) @ shift.probability
    errors = (tasks * expected)[::-1].cumsum()[::-1]
    found = errors / np.maximum(decided, 1)
    return Decision(_least(found, decided, max_error), max_error, False)


def _least(found: Floats, decided: Floats, max_error: float) -> float:
    """The confidence of the lowest stratum with so low an error."""
    low = np.flatnonzero((found <= max_error) & (decided > 0))
    if not len(low):
        return NONE
    return ALL if decided[low[0]] == decided[0] else least_confidence(int(low[0]))


def of_the_decided(overview: Overview, min_confidence: float) -> Overview:
    """The overview of those answers that are decided and not known, as far as errors go."""
    strata = overview.strata.copy()
    strata[: _first(min_confidence)] = 0.0
    return overview._replace(strata=strata)


def n_decided(overview: Overview, min_confidence: float) -> int:
    """The number of answers that are decided, known ones among them."""
    tasks = tasks_by_stratum(overview)[_first(min_confidence) :].sum()
    return round(float(tasks)) + overview.known


def _first(min_confidence: float) -> int:
    """The first stratum that is decided."""
    if min_confidence > 1:
        return STRATA
    return int(np.ceil(-np.log(max(1 - min_confidence, 1e-300)) / WIDTH - 1e-9))
