"""SQUAREM: EM with fewer sweeps, by squared extrapolation of what it sums up.

R. Varadhan and C. Roland, "Simple and Globally Convergent Methods for Accelerating the Convergence
of Any EM Algorithm", Scandinavian Journal of Statistics 35 (2008).

EM goes from sums to sums: the M-step makes parameters of them, and a sweep under these the next
ones. Three in a row show where it is going, and a step beyond them often saves many. Here expected
counts are extrapolated, not parameters: the counts of a worker's label add up to how often it was
given, and so do counts on a line through them. Where the line would leave the positive numbers, a
count falls to a tenth at most: a count of zero would stay zero for ever.

The sweep after a step tells whether the objective fell. If so, EM goes on from where it would have
been without the step, and steps become shorter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from quorate.kernels import Floats
from quorate.model import AnyPhase, Step

SHORTEST, LONGER = 4.0, 4.0  # the limit of the first steps, and what it grows and shrinks by
LEAST = 0.1  # of a count, that is left of it after a step

Sums = tuple[Floats, ...]


class Leap(NamedTuple):
    """The last sums of plain EM, and the longest step; after a step its length, the objective
    before it, and the parameters to go back to should it have fallen."""

    sums: tuple[Sums, ...] = ()
    longest: float = SHORTEST
    length: float = 0.0
    objective: float = -np.inf
    back: Any = None

    def fell(self, step: Step | None) -> bool:
        """Whether a step was tried and made things worse."""
        return self.back is not None and (step is None or not step.objective >= self.objective)

    def taken_back(self) -> Leap:
        """The same before the step, with shorter ones to come."""
        return Leap(self.sums, max(SHORTEST, self.longest / LONGER))

    def next(self, phase: AnyPhase, stats: Any, params: Any, step: Step | None) -> tuple[Any, Leap]:
        """The parameters to sweep with next: those of plain EM, or a step beyond them."""
        plain = phase.estimate(stats, params)
        now = phase.sums(stats)
        if now is None or step is None:
            return plain, Leap()
        longest = self.longest * (LONGER if self.length == self.longest else 1)
        before = () if self.length else self.sums
        if len(before) < 2:
            return plain, Leap((*before, now), longest)
        first, second = before
        length = min(step_length(first, second, now), longest)
        if length <= 1:
            return plain, Leap((), longest)
        further = phase.with_sums(stats, beyond(first, second, now, length))
        leapt = phase.estimate(further, params)
        return leapt, Leap((now,), longest, length, step.objective, plain)


def step_length(first: Sums, second: Sums, third: Sums) -> float:
    """|r| / |v|, the scheme S3 of Varadhan and Roland, Eq. 6; r and v are the first and the second
    differences."""
    r = sum(float(((b - a) ** 2).sum()) for a, b in zip(first, second, strict=True))
    v = sum(
        float(((c - 2 * b + a) ** 2).sum()) for a, b, c in zip(first, second, third, strict=True)
    )
    return float(np.sqrt(r / v)) if v > 0 else 1.0


def beyond(first: Sums, second: Sums, third: Sums, length: float) -> Sums:
    """Squared extrapolation, Eq. 5, in which a length of 1 is the third of the three."""
    return tuple(
        np.maximum(a + 2 * length * (b - a) + length**2 * (c - 2 * b + a), LEAST * c)
        for a, b, c in zip(first, second, third, strict=True)
    )
