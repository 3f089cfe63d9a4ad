"""Agreement beyond chance: Krippendorff's alpha, Gwet's AC, Fleiss' and Cohen's kappa.

``votes[kind, class]`` are the votes of a task, ``count[kind]`` how many such tasks there are.
Labels may be more or less alike: alpha takes a level of measurement (K. Krippendorff, "Computing
Krippendorff's Alpha-Reliability", 2011), the others weights of agreement between classes (K. Gwet,
"Handbook of Inter-Rater Reliability", 2014), for both of which classes are in order, or have the
numbers `values`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quorate.errors import UsageError, require_choice, require_shape
from quorate.kernels import Floats
from quorate.metrics.measures import resamples

Level = Literal["nominal", "ordinal", "interval", "ratio"]
Weights = Literal["identity", "linear", "quadratic", "ordinal"]
Counts = NDArray[np.integer]
LEVELS = ("nominal", "ordinal", "interval", "ratio")
WEIGHTS = ("identity", "linear", "quadratic", "ordinal")


def krippendorff_alpha(
    votes: Counts,
    count: NDArray[np.number] | None = None,
    level: Level = "nominal",
    values: Any = None,
) -> float | None:
    """Krippendorff's alpha: 1 for full agreement, 0 for chance, None when no task has two votes or
    all votes are the same.

    Labels are names (nominal), grades in order (ordinal), numbers whose differences count
    (interval), or numbers of which ratios do (ratio).

    Examples:
        >>> votes = np.array([[2, 0, 0], [0, 2, 0], [0, 1, 1], [0, 0, 2]])
        >>> krippendorff_alpha(votes), krippendorff_alpha(votes, level="ordinal")
        (0.6666666666666667, 0.79)
    """
    measure = _alpha_of(votes, level, values)
    return measure(np.ones(len(votes)) if count is None else np.asarray(count, dtype=np.float64))


def alpha_interval(
    votes: Counts,
    count: Counts,
    seed: int = 0,
    draws: int = 1000,
    level: Level = "nominal",
    values: Any = None,
) -> tuple[float, float] | None:
    """Bootstrap 95 % interval of `krippendorff_alpha` over tasks."""
    return agreement_interval(_alpha_of(votes, level, values), count, seed, draws)


def agreement_interval(
    measure: Callable[[Floats], float | None], count: Counts, seed: int = 0, draws: int = 1000
) -> tuple[float, float] | None:
    """Bootstrap 95 % interval over tasks of a measure that depends on how many there are of each
    kind; None where it is hardly ever defined.

    Examples:
        >>> votes, count = np.array([[2, 0], [0, 2], [1, 1]]), np.array([30, 30, 20])
        >>> low, high = agreement_interval(partial(gwet_ac, votes), count)
        >>> round(low, 2), round(high, 2)
        (0.31, 0.7)
    """
    found = [measure(weight) for some in resamples(count, seed, draws) for weight in some]
    defined = [value for value in found if value is not None]
    if not defined:
        return None
    low, high = np.percentile(defined, [2.5, 97.5])
    return float(low), float(high)


def _alpha_of(votes: Counts, level: Level, values: Any) -> Callable[[Floats], float | None]:
    """Alpha as a function of how many tasks there are of each kind."""
    require_choice("level", level, LEVELS)
    number = _numbers(values, votes.shape[1])
    total = votes.sum(axis=1)
    pairable = total > 1
    said, n_said = votes[pairable].astype(np.float64), total[pairable]
    if level in ("ordinal", "interval"):
        return partial(_alpha_of_numbers, said, n_said, pairable, number, level == "ordinal")
    apart = _distances(level, number)
    within = ((said @ apart) * said).sum(axis=1) / (n_said - 1)

    def alpha(count: Floats) -> float | None:
        weight = count[pairable]
        classes = weight @ said
        by_chance = float(classes @ apart @ classes)
        n = float(classes.sum())
        return None if by_chance <= 0 else 1 - (n - 1) * float(weight @ within) / by_chance

    return alpha


def _alpha_of_numbers(
    said: Floats,
    n_said: Counts,
    pairable: NDArray[np.bool_],
    number: Floats,
    ranked: bool,
    count: Floats,
) -> float | None:
    """Alpha from squared differences of numbers, which sums and sums of squares give. Distances of
    grades are those of their middle ranks among all that can be paired."""
    weight = count[pairable]
    classes = weight @ said
    if ranked:
        number = np.cumsum(classes) - classes / 2
    number = number - (classes @ number) / max(float(classes.sum()), 1e-300)
    sums, squares = said @ number, said @ number**2
    within = (n_said * squares - sums**2) / (n_said - 1)
    n = float(classes.sum())
    by_chance = n * float(classes @ number**2)
    return None if by_chance <= 0 else 1 - (n - 1) * float(weight @ within) / by_chance


def _distances(level: Level, number: Floats) -> Floats:
    """Squared distances between classes of names or ratios."""
    if level == "nominal":
        return 1 - np.eye(len(number))
    both = np.abs(number[:, None] + number)
    apart: Floats = np.divide(
        np.abs(number[:, None] - number), both, out=np.zeros_like(both), where=both > 0
    )
    return apart**2


def _numbers(values: Any, n_classes: int) -> Floats:
    """The numbers of the classes; their places, where none are given."""
    if values is None:
        return np.arange(n_classes, dtype=np.float64)
    number = np.asarray(values, dtype=np.float64)
    require_shape("values", number, (n_classes,))
    return number


def agreement_weights(weights: Weights, n_classes: int, values: Any = None) -> Floats:
    """How far votes for two classes agree, from 0 to 1: only if they are the same (identity), by
    their distance (linear), its square (quadratic), or how many pairs of classes lie between them
    (ordinal).

    Examples:
        >>> agreement_weights("quadratic", 3)
        array([[1.  , 0.75, 0.  ],
               [0.75, 1.  , 0.75],
               [0.  , 0.75, 1.  ]])
    """
    require_choice("weights", weights, WEIGHTS)
    if weights == "identity":
        return np.eye(n_classes)
    if weights == "ordinal":
        between = np.abs(np.subtract.outer(np.arange(n_classes), np.arange(n_classes)))
        apart = (between + 1) * between / 2
    else:
        number = _numbers(values, n_classes)
        apart = np.abs(number[:, None] - number) ** (1 if weights == "linear" else 2)
    furthest = float(apart.max(initial=0.0))
    weight: Floats = 1 - apart / (furthest if furthest > 0 else 1.0)
    return weight


def gwet_ac(
    votes: Counts,
    count: NDArray[np.number] | None = None,
    weights: Weights = "identity",
    values: Any = None,
) -> float | None:
    """Gwet's AC1 or, with other weights than identity, AC2: agreement beyond chance that stays
    high where one class is rare, unlike kappa; None where no task has two votes, or there is one
    class.

    Examples:
        >>> votes = np.array([[2, 0]] * 18 + [[1, 1]] * 2)
        >>> round(gwet_ac(votes), 3), round(fleiss_kappa(votes), 3)
        (0.89, -0.053)
    """
    weight, n_classes = agreement_weights(weights, votes.shape[1], values), votes.shape[1]
    count = np.ones(len(votes)) if count is None else count
    total = votes.sum(axis=1)
    observed = _observed(votes, count, weight)
    if observed is None or n_classes < 2:
        return None
    seen = total > 0
    shares = (count[seen] @ (votes[seen] / total[seen, None])) / count[seen].sum()
    chance = weight.sum() / (n_classes * (n_classes - 1)) * float((shares * (1 - shares)).sum())
    return _beyond(observed, float(chance))


def fleiss_kappa(
    votes: Counts,
    count: NDArray[np.number] | None = None,
    weights: Weights = "identity",
    values: Any = None,
) -> float | None:
    """Fleiss' kappa, for tasks with any number of votes: each task with two votes or more counts
    once in the observed agreement, each of their votes in the chance of it.

    Examples:
        >>> votes = np.array([[2, 0, 0], [0, 2, 0], [0, 1, 1], [0, 0, 2]])
        >>> round(fleiss_kappa(votes), 3), round(fleiss_kappa(votes, weights="quadratic"), 3)
        (0.619, 0.795)
    """
    weight = agreement_weights(weights, votes.shape[1], values)
    count = np.ones(len(votes)) if count is None else count
    observed = _observed(votes, count, weight)
    if observed is None:
        return None
    pairable = votes.sum(axis=1) > 1
    said = count[pairable] @ votes[pairable]
    shares = said / said.sum()
    return _beyond(observed, float(shares @ weight @ shares))


def cohen_kappa(
    first: Any, second: Any, weights: Weights = "identity", values: Any = None
) -> float | None:
    """Cohen's kappa of two raters' codes of the same tasks, weighted or not; -1 where a rater gave
    none. None where they share no task, or chance alone makes them agree.

    Examples:
        >>> cohen_kappa([0, 1, 2, 2], [0, 2, 2, 1]), cohen_kappa([0, 1], [0, 1], "quadratic")
        (0.2, 1.0)
    """
    one, other = (np.asarray(codes, dtype=np.int64) for codes in (first, second))
    if one.shape != other.shape:
        raise UsageError("Cohen's kappa is of two raters' codes of the same tasks, in one order.")
    both = (one >= 0) & (other >= 0)
    if not both.any():
        return None
    highest = int(max(one.max(), other.max())) + 1
    n_classes = highest if values is None else len(values)
    weight = agreement_weights(weights, n_classes, values)
    table = np.zeros((n_classes, n_classes))
    np.add.at(table, (one[both], other[both]), 1.0)
    table /= table.sum()
    chance = float(table.sum(axis=1) @ weight @ table.sum(axis=0))
    return _beyond(float((table * weight).sum()), chance)


def _observed(votes: Counts, count: NDArray[np.number], weight: Floats) -> float | None:
    """Mean weight of two votes on a task; None where no task that counts has two."""
    total = votes.sum(axis=1)
    pairable = (total > 1) & (count > 0)
    if not pairable.any():
        return None
    votes, total, count = votes[pairable], total[pairable], count[pairable]
    agreeing = (votes * (votes @ weight - 1)).sum(axis=1) / (total * (total - 1))
    return float(count @ agreeing / count.sum())


def _beyond(observed: float, chance: float) -> float | None:
    return None if chance >= 1 else (observed - chance) / (1 - chance)
