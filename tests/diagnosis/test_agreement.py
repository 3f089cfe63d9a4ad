"""Agreement coefficients against published values and plain loops; intervals and corrections."""

from __future__ import annotations

import numpy as np
import pytest
from tests.naive import agreement as naive

from quorate import metrics

# K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), sections A to C.
TWO_OBSERVERS_BINARY = ["0100000010", "1110010000"]
TWO_OBSERVERS_NOMINAL = ["aabbdcccedda", "babbbccceddd"]
FOUR_OBSERVERS = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]

# The table of ten subjects and fourteen raters that is the worked example of Fleiss' kappa in
# textbooks and encyclopedias.
FOURTEEN_RATERS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def votes_of(observers: list[str]) -> np.ndarray:
    """Votes by task and class from one string for each observer, dots where there is none."""
    classes = sorted(set("".join(observers)) - {"."})
    tasks = zip(*observers, strict=True)
    return np.array([[values.count(c) for c in classes] for values in tasks])


def units_of(votes: np.ndarray) -> list[list[int]]:
    return [np.repeat(np.arange(len(row)), row).tolist() for row in votes]


@pytest.mark.parametrize(
    ("observers", "published"),
    [
        (TWO_OBSERVERS_BINARY, 0.095),
        (TWO_OBSERVERS_NOMINAL, 0.692),
        (FOUR_OBSERVERS, 0.743),
    ],
)
def test_published_alphas(observers: list[str], published: float) -> None:
    votes = votes_of(observers)
    assert metrics.krippendorff_alpha(votes) == pytest.approx(published, abs=0.0005)


def test_published_kappa() -> None:
    assert metrics.fleiss_kappa(np.array(FOURTEEN_RATERS)) == pytest.approx(0.210, abs=0.0005)


@pytest.mark.parametrize("seed", range(10))
def test_as_the_loops_say(seed: int) -> None:
    random = np.random.default_rng(seed)
    votes = random.poisson(1.0, (30, 4))
    units = units_of(votes)
    pairable = [u for u in units if len(u) > 1]
    assert metrics.krippendorff_alpha(votes) == pytest.approx(naive.alpha(pairable), abs=1e-12)
    assert metrics.fleiss_kappa(votes) == pytest.approx(naive.kappa(units), abs=1e-12)
    counted = random.integers(1, 5, size=30)
    repeated = np.repeat(votes, counted, axis=0)
    for measure in (metrics.krippendorff_alpha, metrics.fleiss_kappa):
        assert measure(votes, counted) == pytest.approx(measure(repeated), abs=1e-12)


def test_undefined_agreement_is_none() -> None:
    for votes in (np.array([[1, 0], [0, 1]]), np.array([[3, 0], [2, 0]]), np.zeros((2, 2), int)):
        assert metrics.krippendorff_alpha(votes) is None
        assert metrics.fleiss_kappa(votes) is None


def test_the_interval_of_alpha_covers_what_resampled_crowds_have() -> None:
    """Alpha of fresh crowds falls into the interval about as often as it should."""

    def crowd(seed: int) -> np.ndarray:
        random = np.random.default_rng(seed)
        truth = random.integers(2, size=300)
        ones = random.binomial(4, np.where(truth, 0.85, 0.15))
        return np.stack([4 - ones, ones], axis=1)

    population = np.mean([metrics.krippendorff_alpha(crowd(1000 + seed)) for seed in range(50)])
    inside = 0
    for seed in range(40):
        votes = crowd(seed)
        low, high = metrics.alpha_interval(votes, np.ones(len(votes), int), seed)
        inside += low <= population <= high
    assert inside >= 34


def test_the_interval_of_a_mean_is_that_of_a_plain_bootstrap() -> None:
    random = np.random.default_rng(0)
    values = random.choice([0.0, 0.5, 1.0], size=400, p=[0.2, 0.1, 0.7])
    plain = [random.choice(values, len(values)).mean() for _ in range(4000)]
    assert metrics.mean_interval(values) == pytest.approx(
        np.percentile(plain, [2.5, 97.5]), abs=0.006
    )


def test_discoveries_are_those_of_the_published_example() -> None:
    """Y. Benjamini and Y. Hochberg (1995), section 4.1: fifteen p-values, of which four stand."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    assert metrics.discoveries(np.array(p), tests=15).sum() == 4
    assert metrics.discoveries(np.array(p[:6]), tests=15).sum() == 4
    assert not metrics.discoveries(np.zeros(0), tests=0).any()
