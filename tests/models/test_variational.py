"""MACE and IBCC beyond what every model is checked for: what their priors do, and real votes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta
from tests.reproductions.test_published_figures import gold_codes, votes_of

import quorate
from quorate import IBCC, MACE, Labels, UsageError, fit, metrics
from quorate.models import make
from quorate.models.dirichlet import divergence, mean_log


def test_dirichlet_moments_are_those_of_the_beta_distribution() -> None:
    """With two classes, against numerical integration."""
    posterior, prior = beta(3.5, 1.25), beta(0.5, 2.0)

    def mean(function) -> float:
        return quad(lambda p: posterior.pdf(p) * function(p), 0, 1)[0]

    counts = np.array([3.5, 1.25])
    assert mean_log(counts)[0] == pytest.approx(mean(np.log), abs=1e-6)
    expected = mean(lambda p: posterior.logpdf(p) - prior.logpdf(p))
    assert divergence(counts, np.array([0.5, 2.0])) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", [MACE, IBCC])
def test_a_constant_voter_is_found_out(kind) -> None:
    """One of four says 0 whatever the truth: what the others say is right, and it knows nothing."""
    random = np.random.default_rng(0)
    truth = random.integers(2, size=200)
    said = np.where(random.random((200, 3)) < 0.9, truth[:, None], 1 - truth[:, None])
    label = np.column_stack([said, np.zeros(200, dtype=int)]).ravel()
    labels = Labels.from_codes(np.repeat(np.arange(200), 4), np.tile(np.arange(4), 200), label)
    result = fit(kind(), labels)
    assert metrics.error(result.posterior, truth) < 0.04
    confusion = result.confusion
    assert (np.abs(confusion[3, 0] - confusion[3, 1]) < 0.1).all()
    if kind is MACE:
        competence = result.model.competence(result.params)
        assert competence[3] < 0.1 and (competence[:3] > 0.6).all()


@pytest.mark.parametrize("method", ["mace", "ibcc"])
def test_saved_is_loaded_and_predicts_the_same(method: str, tmp_path: Path) -> None:
    votes = [
        (f"t{t}", w, c)
        for t, said in enumerate(["aab", "bba", "aaa"])
        for w, c in zip("xyz", said, strict=True)
    ]
    result = quorate.aggregate(votes, method=method)
    result.save(tmp_path / "crowd.quorate")
    loaded = quorate.load(tmp_path / "crowd.quorate")
    new = [("new", "x", "a"), ("new", "stranger", "b")]
    assert loaded.predict(new).rows() == result.predict(new).rows()
    np.testing.assert_array_equal(loaded.confusion, result.confusion)
    again = quorate.aggregate(votes, make(method, worker_prior=loaded, init=loaded))
    assert np.isfinite(again.objective).all()


@pytest.mark.parametrize("method", ["mace", "ibcc"])
@pytest.mark.parametrize("option", ["harden", "zeros", "switch_at", "floor"])
def test_an_option_without_effect_is_refused(method: str, option: str) -> None:
    with pytest.raises(UsageError, match=f"^{method} has no option '{option}'"):
        make(method, **{option: "always"})
    with pytest.raises(TypeError, match=option):
        {"mace": MACE, "ibcc": IBCC}[method](**{option: "always"})


def test_priors_must_be_positive() -> None:
    with pytest.raises(UsageError, match="strategy_prior"):
        MACE(strategy_prior=0)
    with pytest.raises(UsageError, match="competence_prior"):
        MACE(competence_prior=(0.5, -1))
    with pytest.raises(UsageError, match="smoothing"):
        IBCC(smoothing=0)


@pytest.mark.parametrize(
    ("name", "method", "percent"),
    [
        ("rte", "mace", 92.9),
        ("web", "mace", 83.2),
        ("d_possent", "mace", 95.9),
        ("sp", "mace", 91.5),
        ("bird", "ibcc", 88.9),
        ("rte", "ibcc", 92.8),
        ("d_possent", "ibcc", 96.0),
        ("trec", "ibcc", 70.5),
    ],
)
def test_accuracy_on_real_votes(data: Path, name: str, method: str, percent: float) -> None:
    """Within half a point of other implementations, which start and stop elsewhere."""
    result = quorate.aggregate(votes_of(data, name), method=method)
    accuracy = 100 * (1 - metrics.error(result.posterior, gold_codes(data, name, result)))
    assert accuracy == pytest.approx(percent, abs=0.5)
