"""Conformal selection in two steps: down to which confidence answers can be decided.

Of n known answers, drawn at random, and m others, those with at least some confidence are the
*top*: n_1 known ones, of which k are wrong by the answer that was found while they were hidden, and
m_1 others. The rule has three numbers, the top, c and b:

1. if k <= c, the whole top is decided;
2. else, by conformal selection (Y. Jin and E. J. Candes, "Selection by Prediction with Conformal
   p-values", JMLR 2023), the lowest confidence at which, with k(s) wrong of the known and d(s) of
   the others at least as confident,

       (1 + k(s)) / (n_1 + 1) * m_1 <= b (n + d(s)).

The expected share of wrong answers among the decided, the n known ones among them, which are right,
is at most `max_error`, over draws of which answers are known, for every crowd and every order:

    Add to the n_1 known answers of the top one of the others, drawn at random. J of these n_1 + 1
    are wrong, and each of them is as likely to be the one that was added. If J <= c + 1, then
    whichever it is, the others are at most c, and the top is decided. If J >= c + 2, then in
    step 2 the condition for one of the J to be decided at s is the same for all of the J that are
    as confident, J(s) m_1 / (n_1 + 1) <= b (n + d(s)). So the expected share of wrong ones is at
    most

        E[ m_1 / (n_1 + 1) * J / (n + m_1); J <= c + 1 ] + b P(J >= c + 2),

    and J is hypergeometric: n_1 + 1 draws from n_1 + m_1 tasks, as many of which are wrong as is
    worst.

With one step alone, b = `max_error`, no c above b (n_1 + 1) (n + m_1) / m_1 - 1 can be had; the
first step allows about twice as many, as where J is often c + 1 it is often more, too. The top and
c are those by which most is decided if confidences are right up to one shift of their log-odds,
which is not known (`SPREAD`), and b is what c leaves. They are found without looking at which known
answers are wrong, and the top without looking at which are known.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.answers import STRATA, WIDTH
from quorate.kernels import Floats

SPREAD = 0.85  # of the shift of all confidences' log-odds, as on public crowds
SHIFTS = np.linspace(-2.5, 2.5, 21) * SPREAD
TOPS = np.linspace(0.05, 1.0, 20)  # shares of all tasks
MANY_KNOWN = 1000  # with more, the second step alone decides as much
WRONG_STEPS = 1000  # numbers of wrong tasks, among which the worst is found
NOTHING = STRATA


class Sample(NamedTuple):
    """From each stratum of confidence up: the number of other tasks, of known answers, and of wrong
    ones among these."""

    others: Floats
    known: Floats
    wrong: Floats


class Rule(NamedTuple):
    """The stratum of the top; how many known answers of it may be wrong for all of it to be
    decided, -1 if it never is; and b."""

    top: int
    most_wrong: int
    left: float

    def lowest(self, sample: Sample) -> int:
        """The lowest stratum that is decided."""
        if sample.wrong[self.top] <= self.most_wrong:
            return self.top
        known, others = sample.known[self.top], sample.others[self.top]
        errors = (1 + sample.wrong) / (known + 1) * others
        enough = (errors <= self.left * (sample.known[0] + sample.others)) & (sample.others > 0)
        enough[: self.top] = False
        return int(enough.argmax()) if enough.any() else NOTHING


def select(sample: Sample, max_error: float) -> int | None:
    """The lowest stratum that is decided; None where too few answers are known for a promise."""
    rule = find_rule(sample.others + sample.known, sample.known, max_error)
    return None if rule is None else rule.lowest(sample)


def find_rule(pooled: Floats, known: Floats, max_error: float) -> Rule | None:
    """The rule by which most is to be expected of tasks ``pooled[stratum]``, known ones and others,
    from each stratum up."""
    if not can_promise(int(known[0]), int(pooled[0] - known[0]), max_error):
        return None
    outlook = Outlook.of(pooled, known)
    best = 0
    if outlook.known <= MANY_KNOWN:
        each = outlook.known / pooled[0]
        expected = {
            at: outlook.best(at, round(each * outlook.pooled[at]), max_error)[0]
            for at in outlook.tops()
        }
        best = max(expected, key=lambda at: expected[at])
    in_top = int(known[outlook.strata[best]])
    return outlook.best(best, in_top, max_error)[1]


class Outlook(NamedTuple):
    """The strata that have tasks, the number of these in each and above it, the number of wrong
    answers ``wrong[stratum, shift]`` to be expected among them, and how many answers are known."""

    strata: NDArray[np.intp]
    pooled: Floats
    wrong: Floats
    known: int

    @classmethod
    def of(cls, pooled: Floats, known: Floats) -> Outlook:
        tasks = pooled - np.append(pooled[1:], 0.0)
        strata = np.flatnonzero(tasks)
        wrong = tasks[strata, None] * _ERRORS[strata]
        return cls(strata, pooled[strata], wrong[::-1].cumsum(axis=0)[::-1], int(known[0]))

    def tops(self) -> list[int]:
        """Where tops begin, which have these shares of all tasks or a little more."""
        return sorted({int((self.pooled >= share * self.pooled[0]).sum()) - 1 for share in TOPS})

    def best(self, at: int, known: int, max_error: float) -> tuple[float, Rule]:
        """The number of answers that the best rule with this top is expected to decide, and the
        rule, where so many answers of the top are known."""
        from quorate.special import bdtr

        total = self.pooled[at]
        others = int(total) - known
        left = np.array([max_error])  # where the top is never decided at once
        if known <= MANY_KNOWN and others > 0:
            left = np.append(left, budgets(known, others, self.known + others, max_error))
        most_wrong = np.arange(len(left)) - 1
        wrong, above = self.wrong[at:] / total, self.pooled[at:] * (others / total)
        at_once = bdtr(np.maximum(most_wrong, 0)[:, None], known, wrong[0])
        at_once[0] = 0.0
        errors = (1 + known * wrong) / (known + 1) * others
        enough = errors <= left[:, None, None] * (self.known + above)[:, None]
        later = (enough * above[:, None]).max(axis=1)  # [rule, shift]
        decided = (at_once * others + (1 - at_once) * later) @ _PRIOR
        best = int(decided.argmax())
        rule = Rule(int(self.strata[at]), int(most_wrong[best]), float(left[best]))
        return float(decided[best]), rule


def can_promise(known: int, others: int, max_error: float) -> bool:
    """Whether all could be decided if no known answer were wrong."""
    if others <= max_error * (known + 1) * (known + others):
        return True
    return known > 0 and len(budgets(known, others, known + others, max_error)) > 0


def least_known(max_error: float) -> int:
    """As many known answers are enough for a promise, however many tasks there are.

    Examples:
        >>> least_known(0.05), least_known(0.1)
        (7, 4)
    """
    n = 1
    while (n / (n + 1)) ** n / (n + 1) > max_error:
        n += 1
    return n


@lru_cache(maxsize=1000)
def budgets(known: int, others: int, decided: float, max_error: float) -> Floats:
    """What is left for step 2, b, if c = 0, 1, 2, ... known answers of the top may be wrong.

    Examples:
        >>> budgets(25, 75, 100, 0.05).round(3)
        array([0.05 , 0.05 , 0.023])
    """
    drawn, total = known + 1, known + others
    each = others / (drawn * decided)  # what one of J adds to the share of wrong ones
    j = np.arange(min(int(3 * max_error / each) + 4, drawn + 1))
    many = len(j) + 8 * len(j) ** 0.5 + 10  # J is hardly ever so much lower than its mean
    furthest = min(total, int(many * total / drawn) + 1)
    wrong = np.unique(np.linspace(0, furthest, min(furthest, WRONG_STEPS) + 1).astype(np.int64))
    chance = _hypergeometric(j, total, wrong, drawn)
    spent = each * (chance * j).cumsum(axis=1)[:, 1:]
    later = np.maximum(1 - chance.cumsum(axis=1)[:, 1:], 1e-12)
    left: Floats = np.minimum(((max_error - spent) / later).min(axis=0), max_error)
    n_possible = int((np.minimum.accumulate(left) >= 0).sum())
    return left[:n_possible]


def _hypergeometric(
    j: NDArray[np.int64], total: int, wrong: NDArray[np.int64], drawn: int
) -> Floats:
    """``[wrong, j]``: the probability that j of the drawn tasks are wrong."""
    from quorate.special import gammaln

    def log_choose(n: NDArray[np.int64], k: NDArray[np.int64]) -> Floats:
        possible = (k >= 0) & (k <= n)
        n, k = np.where(possible, n, 0), np.where(possible, k, 0)
        logs = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
        log: Floats = np.where(possible, logs, -np.inf)
        return log

    of_wrong = log_choose(wrong[:, None], j)
    of_right = log_choose(total - wrong[:, None], drawn - j)
    of_all = log_choose(np.array([total]), np.array([drawn]))
    chance: Floats = np.exp(of_wrong + of_right - of_all)
    return chance


_PRIOR = np.exp(-((SHIFTS / SPREAD) ** 2) / 2)
_PRIOR /= _PRIOR.sum()
_MIDDLE = np.exp(-(np.arange(STRATA) + 0.5) * WIDTH)  # the error that a stratum's confidence says
_ERRORS = 1 / (1 + (1 / _MIDDLE - 1)[:, None] * np.exp(-SHIFTS))
