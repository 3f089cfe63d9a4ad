"""Error and calibration, with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from quorate import kernels
from quorate.kernels import Floats

# Random numbers of a bootstrap, in all and at a time.
MOST_DRAWS, DRAWS_AT_ONCE = 20_000_000, 2_000_000


def error(posterior: Floats, truth: NDArray[np.integer]) -> float:
    """Expected share of wrong answers over tasks whose truth is known (not -1), with ties for the
    highest probability broken evenly.

    Examples:
        >>> error(np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([0, 0]))
        0.25
    """
    known = np.flatnonzero(truth >= 0)
    return float(1 - right_shares(posterior[known], truth[known]).mean())


def right_shares(posterior: Floats, truth: NDArray[np.integer]) -> Floats:
    """Probability that the answer to each task is right, with ties for the highest probability
    broken evenly; zero for a truth that is none of the classes.

    Examples:
        >>> right_shares(np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([2, 0]))
        array([0. , 0.5])
    """
    best = kernels.tied(posterior)
    found = truth < posterior.shape[1]
    right: Floats = best[np.arange(len(truth)), np.where(found, truth, 0)] / best.sum(axis=1)
    return np.where(found, right, 0.0)


def reliability(
    posterior: Floats, truth: NDArray[np.integer], bins: int = 10
) -> list[dict[str, float]]:
    """Reliability diagram: for each bin of confidence that has tasks its bounds, the number of
    tasks, their mean confidence and the share of right answers.

    Examples:
        >>> posterior = np.array([[0.9, 0.1], [0.1, 0.9], [0.6, 0.4]])
        >>> [(row["tasks"], row["right"]) for row in reliability(posterior, np.array([0, 0, 0]))]
        [(1, 1.0), (2, 0.5)]
    """
    known = np.flatnonzero(truth >= 0)
    right = right_shares(posterior[known], truth[known])
    return reliability_of(kernels.row_max(posterior[known]), right, bins)


def reliability_of(confidence: Floats, right: Floats, bins: int = 10) -> list[dict[str, float]]:
    """The same of answers with these confidences, each right (1) or wrong (0)."""
    at = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    return [
        {
            "low": i / bins,
            "high": (i + 1) / bins,
            "tasks": int((at == i).sum()),
            "confidence": float(confidence[at == i].mean()),
            "right": float(right[at == i].mean()),
        }
        for i in np.unique(at).tolist()
    ]


def calibration_error(posterior: Floats, truth: NDArray[np.integer], bins: int = 10) -> float:
    """Expected calibration error: the difference of confidence and share of right answers, averaged
    over tasks, in bins of confidence of equal width.

    Examples:
        >>> calibration_error(np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([0, 0]))
        0.4
    """
    return calibration_error_of(reliability(posterior, truth, bins))


def calibration_error_of(rows: Sequence[Mapping[str, float]]) -> float:
    """Expected calibration error by a reliability diagram."""
    apart = sum(row["tasks"] * abs(row["confidence"] - row["right"]) for row in rows)
    return float(apart / max(sum(row["tasks"] for row in rows), 1))


def wilson_interval(
    successes: Floats, trials: Floats, z: float = 1.959964
) -> tuple[Floats, Floats]:
    """Wilson's 95 % interval for a share; all of [0, 1] without trials.

    Examples:
        >>> low, high = wilson_interval(np.array([8.0]), np.array([10.0]))
        >>> low.round(3), high.round(3)
        (array([0.49]), array([0.943]))
    """
    n = np.maximum(trials, 1e-12)
    share = successes / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


def mean_interval(values: Floats, seed: int = 0, draws: int = 2000) -> tuple[float, float]:
    """Bootstrap 95 % interval of a mean of values of which many are equal.

    Examples:
        >>> low, high = mean_interval(np.repeat([0.0, 1.0], [30, 70]))
        >>> round(low, 2), round(high, 2)
        (0.61, 0.79)
    """
    value, count = np.unique(values, return_counts=True)
    means = [weight @ value / len(values) for weight in resamples(count, seed, draws)]
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return float(low), float(high)


def resamples(count: NDArray[np.integer], seed: int, draws: int) -> Iterator[Floats]:
    """Yield bootstrap counts ``[draw, kind]`` of each kind of task, some draws at a time.

    Equal tasks are drawn as one kind, which changes nothing. With very many kinds there are fewer
    draws."""
    draws = min(draws, max(100, MOST_DRAWS // len(count)))
    at_once = max(1, DRAWS_AT_ONCE // len(count))
    random = np.random.default_rng(seed)
    for done in range(0, draws, at_once):
        size = min(at_once, draws - done)
        drawn = random.multinomial(int(count.sum()), count / count.sum(), size=size)
        yield drawn.astype(np.float64)


def discoveries(p: Floats, tests: int, false_share: float = 0.05) -> NDArray[np.bool_]:
    """Whether each of the smallest p-values of a number of `tests` is significant, with the false
    discovery rate controlled (Benjamini and Hochberg, 1995).

    Examples:
        >>> discoveries(np.array([0.001, 0.04, 0.03]), tests=10)
        array([ True, False, False])
    """
    ordered = np.sort(p)
    passing = np.flatnonzero(ordered <= false_share * np.arange(1, len(p) + 1) / max(tests, 1))
    return p <= (ordered[passing[-1]] if len(passing) else -1.0)
