"""The anaesthetists of Dawid and Skene (1979): 45 patients, five observers, one three times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.naive.dawid_skene import Trace, dawid_skene

import quorate
from quorate.models import make
from quorate.votes import Votes

METHODS = {"dawid-skene": "never", "fast-dawid-skene": "always", "hybrid": "settled"}


@pytest.fixture(scope="module")
def votes(data: Path) -> Votes:
    return quorate.read_votes(data / "dawid_skene_1979" / "labels.csv")


def slow(votes: Votes, iterations: int, harden: str) -> Trace:
    labels = votes.labels
    said = []
    for task in range(labels.n_tasks):
        at = range(labels.indptr[task], labels.indptr[task + 1])
        said.append([(int(labels.worker[i]), int(labels.label[i])) for i in at])
    return dawid_skene(
        said, labels.n_workers, labels.n_classes, iterations, harden=harden, ties="first"
    )


def test_repeats_of_the_first_observer_count(votes: Votes) -> None:
    assert votes.labels.n_labels == 315
    assert votes.report.repeated == 90
    assert votes.report.repeats_kept
    per_observer = np.bincount(votes.labels.worker)
    assert per_observer[votes.codebook.workers.to_list().index("w1")] == 135
    assert sorted(per_observer) == [45, 45, 45, 45, 135]


def test_class_shares_are_those_of_the_paper(votes: Votes) -> None:
    shares = quorate.aggregate(votes, "dawid-skene").params.prior
    assert shares.round(2).tolist() == [0.40, 0.42, 0.11, 0.07]


@pytest.mark.parametrize("method", METHODS)
def test_estimates_equal_the_slow_oracle(votes: Votes, method: str) -> None:
    result = quorate.aggregate(votes, make(method, ties="first"))
    trace = slow(votes, result.iterations, METHODS[method])
    np.testing.assert_allclose(result.posterior, trace.posterior, rtol=0, atol=1e-10)
    np.testing.assert_allclose(result.params.prior, trace.prior, rtol=0, atol=1e-10)
    np.testing.assert_allclose(result.confusion, trace.confusion, rtol=0, atol=1e-10)
    np.testing.assert_allclose(result.objective, trace.objective, rtol=1e-10)
    np.testing.assert_allclose(result.log_likelihood, trace.log_likelihood[-1], rtol=1e-10)
