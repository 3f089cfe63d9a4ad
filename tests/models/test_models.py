"""Every check on every model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.checks import (
    CHECKS,
    Case,
    Problem,
    assert_close,
    assert_sound,
    oracle,
    problems,
    random_problem,
)
from tests.naive.dawid_skene import dawid_skene
from tests.naive.ebcc import Priors, Sizes, ebcc
from tests.naive.kos import kos, messages
from tests.naive.majority import Votes, vote_shares
from tests.naive.ordered import Matrix, ordered
from tests.naive.spectral_vote import centred_svd, eigen_ratio, ghosh_svd
from tests.naive.two_kinds import two_kinds

from quorate import (
    EBCC,
    GLAD,
    IBCC,
    IWMV,
    KOS,
    M3V,
    MACE,
    Auto,
    DawidSkene,
    EigenRatio,
    GhoshSVD,
    Hierarchical,
    Labels,
    Majority,
    NaiveBayes,
    OneCoin,
    OneCoinBayes,
    Ordered,
    Ordinal,
    RankOne,
    SpectralEM,
    TwoKinds,
    fit,
)
from quorate.models import METHODS, make

Check = Callable[[Case], None]
Kind = type[DawidSkene] | type[OneCoin]

SPECTRAL = {"init": "spectral"}
Known = Mapping[int, int]


def slow_ghosh(problem: Problem, gold: Known, iterations: int) -> Matrix:
    return ghosh_svd(problem.votes, problem.n_workers, gold)


def slow_ratio_of_vectors(problem: Problem, gold: Known, iterations: int) -> Matrix:
    return eigen_ratio(problem.votes, problem.n_workers, gold, "ratio-of-eigenvectors")


def slow_vectors_of_ratio(problem: Problem, gold: Known, iterations: int) -> Matrix:
    return eigen_ratio(problem.votes, problem.n_workers, gold, "eigenvectors-of-ratio")


def slow_kos(problem: Problem, gold: Known, iterations: int) -> Matrix:
    def ask(votes: Votes, known: Known) -> Matrix:
        return messages(votes, known, iterations)

    return kos(problem.votes, problem.n_classes, gold, ask)


def slow_centred(problem: Problem, gold: Known, iterations: int) -> Matrix:
    def ask(votes: Votes, known: Known) -> Matrix:
        return centred_svd(votes, problem.n_workers, known)

    return kos(problem.votes, problem.n_classes, gold, ask)


def slow_ordered_vote(problem: Problem, gold: Known, iterations: int) -> Matrix:
    def ask(votes: Votes, known: Known) -> Matrix:
        return vote_shares(votes, 2, known)

    return ordered(problem.votes, problem.n_classes, gold, ask)


def slow_ordered_ghosh(problem: Problem, gold: Known, iterations: int) -> Matrix:
    def ask(votes: Votes, known: Known) -> Matrix:
        return ghosh_svd(votes, problem.n_workers, known)

    return ordered(problem.votes, problem.n_classes, gold, ask)


def slow_ordered_dawid_skene(problem: Problem, gold: Known, iterations: int) -> Matrix:
    def ask(votes: Votes, known: Known) -> Matrix:
        options = {"smoothing": 0.3, "gold": known}
        return dawid_skene(votes, problem.n_workers, 2, iterations, **options).posterior

    return ordered(problem.votes, problem.n_classes, gold, ask)


def slow_ebcc(problem: Problem, gold: Known, iterations: int) -> Matrix:
    return _slow_ebcc(problem, 3, iterations)


def slow_ibcc(problem: Problem, gold: Known, iterations: int) -> Matrix:
    return _slow_ebcc(problem, 1, iterations)


def _slow_ebcc(problem: Problem, subtypes: int, iterations: int) -> Matrix:
    votes = [(task, *vote) for task, of_task in enumerate(problem.votes) for vote in of_task]
    sizes = Sizes(len(problem.votes), problem.n_workers, problem.n_classes)
    return ebcc(votes, sizes, Priors(subtypes), iterations)[0].tolist()


def slow_two_kinds(problem: Problem, gold: Known, iterations: int) -> Matrix:
    return _slow_two_kinds(problem, gold, iterations)


def slow_two_kinds_at_20(problem: Problem, gold: Known, iterations: int) -> Matrix:
    return _slow_two_kinds(problem, gold, iterations, kappa=20.0)


def _slow_two_kinds(problem: Problem, gold: Known, iterations: int, **options: Any) -> Matrix:
    size = (problem.n_workers, problem.n_classes)
    return two_kinds(problem.votes, *size, iterations, gold=gold, **options).posterior


def ordered_vote(**options: Any) -> Ordered:
    return Ordered(Majority(**options))


def ordered_ghosh(**options: Any) -> Ordered:
    return Ordered(GhoshSVD(**options))


def ordered_ds(**options: Any) -> Ordered:
    return Ordered(DawidSkene(smoothing=0.3, **options))


HELD_OUT = {
    "statistics_add": "held-out votes have places of their block's own in the sample",
    "permuted_tasks_permute_the_answer": "which votes are held out belongs to the task's place",
    "permuted_workers_permute_the_answer": "which votes are held out belongs to the worker's place",
    "another_seed_matters_only_to_random_ties": "other votes are held out with another seed",
    "equals_the_slow_oracle": "the oracle of the mixture is in test_auto.py",
}
NO_ORACLE = {"equals_the_slow_oracle": "it has no oracle of its own here"}
NAIVE_BAYES = {"smoothing": 1.0, "feature_weight": 1.0}  # as in the report

CASES = (
    Case("majority-shared", Majority, lambda p: {"ties": "shared"}),
    Case("majority-first", Majority, lambda p: {"ties": "first"}),
    Case("majority-random", Majority, lambda p: {"ties": "random"}),
    Case("majority-gold", Majority, gold=True),
    Case("dawid-skene", DawidSkene),
    Case("dawid-skene-smoothed", DawidSkene, lambda p: {"smoothing": 0.3}),
    Case(
        "dawid-skene-smoothed-apart",
        DawidSkene,
        lambda p: {"smoothing": 0.1, "prior_smoothing": 1.5},
    ),
    Case("dawid-skene-uniform-prior", DawidSkene, lambda p: {"prior": "uniform"}),
    Case("dawid-skene-fixed-prior", DawidSkene, lambda p: {"prior": p.shares}),
    Case("dawid-skene-zeros-skipped", DawidSkene, lambda p: {"zeros": "skip"}),
    Case("dawid-skene-gold", DawidSkene, gold=True),
    Case("dawid-skene-worker-prior", DawidSkene, lambda p: {"worker_prior": p.counts}),
    Case("dawid-skene-init", DawidSkene, lambda p: {"init": p.confusion}),
    Case(
        "dawid-skene-squarem",
        DawidSkene,
        lambda p: {"acceleration": "squarem"},
        exempt={"equals_the_slow_oracle": "its own tests are in test_squarem.py"},
    ),
    Case("spectral", SpectralEM, lambda p: {"prior": "uniform", "zeros": "skip"}),
    Case("dawid-skene-spectral", DawidSkene, lambda p: SPECTRAL),
    Case("dawid-skene-spectral-gold", DawidSkene, lambda p: SPECTRAL, gold=True),
    Case("fast-shared", DawidSkene, lambda p: {"harden": "always", "ties": "shared"}),
    Case("fast-first", DawidSkene, lambda p: {"harden": "always", "ties": "first"}),
    Case("fast-random", DawidSkene, lambda p: {"harden": "always", "ties": "random"}),
    Case("fast-gold", DawidSkene, lambda p: {"harden": "always", "ties": "shared"}, gold=True),
    Case("hybrid-shared", DawidSkene, lambda p: {"harden": "settled", "ties": "shared"}),
    Case("one-coin", OneCoin),
    Case("one-coin-smoothed", OneCoin, lambda p: {"smoothing": 0.3}),
    Case("one-coin-beta", OneCoin, lambda p: {"beta": (4, 2)}),
    Case("one-coin-shifted-beta", OneCoin, lambda p: {"beta": (2, 1), "low": 0.1}),
    Case(
        "one-coin-narrow-beta",
        OneCoin,
        lambda p: {"beta": (2, 1.5), "low": 0.1, "high": 0.95},
    ),
    Case("one-coin-bounded", OneCoin, lambda p: {"low": 0.2, "high": 0.9}),
    Case("one-coin-fixed-prior", OneCoin, lambda p: {"prior": p.shares}),
    Case("one-coin-gold", OneCoin, gold=True),
    Case("one-coin-worker-prior", OneCoin, lambda p: {"worker_prior": p.counts}),
    Case("one-coin-spectral", OneCoin, lambda p: SPECTRAL),
    Case("one-coin-init", OneCoin, lambda p: {"init": p.confusion}),
    Case("one-coin-bayes", OneCoinBayes),
    Case("one-coin-bayes-kappa", OneCoinBayes, lambda p: {"kappa": 3.0}),
    Case(
        "one-coin-bayes-estimated-prior",
        OneCoinBayes,
        lambda p: {"prior": "estimated", "prior_smoothing": 0.5},
    ),
    Case("one-coin-bayes-fixed-prior", OneCoinBayes, lambda p: {"prior": p.shares}),
    Case("one-coin-bayes-gold", OneCoinBayes, gold=True),
    Case("one-coin-bayes-worker-prior", OneCoinBayes, lambda p: {"worker_prior": p.counts}),
    Case("one-coin-bayes-init", OneCoinBayes, lambda p: {"init": p.confusion}),
    Case("ghosh-svd", GhoshSVD, slow=slow_ghosh, max_classes=2),
    Case("ghosh-svd-gold", GhoshSVD, gold=True, slow=slow_ghosh, max_classes=2),
    Case("eigen-ratio", EigenRatio, slow=slow_vectors_of_ratio, max_classes=2),
    Case("eigen-ratio-gold", EigenRatio, gold=True, slow=slow_vectors_of_ratio, max_classes=2),
    Case(
        "eigen-ratio-first",
        EigenRatio,
        lambda p: {"variant": "ratio-of-eigenvectors"},
        slow=slow_ratio_of_vectors,
        max_classes=2,
    ),
    Case("kos", KOS, ordered=True, noisy=True),
    Case("kos-two-classes", KOS, noisy=True, max_classes=2),
    Case("kos-no-noise", KOS, lambda p: {"noise": 0.0}, slow=slow_kos, ordered=True),
    Case("kos-no-noise-two", KOS, lambda p: {"noise": 0.0}, slow=slow_kos, max_classes=2),
    Case("kos-gold", KOS, lambda p: {"noise": 0.0}, gold=True, slow=slow_kos, ordered=True),
    Case(
        "kos-centred-svd",
        KOS,
        lambda p: {"variant": "centred-svd"},
        slow=slow_centred,
        ordered=True,
    ),
    Case("ordered-vote", ordered_vote, gold=True, slow=slow_ordered_vote, ordered=True),
    Case("ordered-ghosh-svd", ordered_ghosh, gold=True, slow=slow_ordered_ghosh, ordered=True),
    Case("ordered-dawid-skene", ordered_ds, gold=True, slow=slow_ordered_dawid_skene, ordered=True),
    Case("ordinal", Ordinal, ordered=True),
    Case("ordinal-gold", Ordinal, gold=True, ordered=True),
    Case("ordinal-estimated-prior", Ordinal, lambda p: {"prior": "estimated"}, ordered=True),
    Case("ordinal-worker-prior", Ordinal, lambda p: {"worker_prior": p.counts}, ordered=True),
    Case("naive-bayes-without-features", NaiveBayes, lambda p: {"smoothing": 0.2}),
    Case("naive-bayes", NaiveBayes, lambda p: NAIVE_BAYES, features=True),
    Case(
        "naive-bayes-weighed",
        NaiveBayes,
        lambda p: {"smoothing": 0.1, "feature_weight": 0.3},
        features=True,
    ),
    Case(
        "naive-bayes-fixed-prior",
        NaiveBayes,
        lambda p: {**NAIVE_BAYES, "prior": p.shares},
        features=True,
    ),
    Case(
        "naive-bayes-spectral",
        NaiveBayes,
        lambda p: {**NAIVE_BAYES, **SPECTRAL},
        features=True,
    ),
    Case("naive-bayes-gold", NaiveBayes, lambda p: NAIVE_BAYES, gold=True, features=True),
    Case(
        "naive-bayes-init",
        NaiveBayes,
        lambda p: {**NAIVE_BAYES, "init": p.confusion},
        features=True,
    ),
    Case("rank-one", RankOne),
    Case("rank-one-one-skill", RankOne, lambda p: {"variant": "one-skill", "margin": 0.5}),
    Case("rank-one-one-vs-rest", RankOne, lambda p: {"variant": "one-vs-rest"}),
    Case("rank-one-beyond-chance", RankOne, lambda p: {"variant": "beyond-chance"}),
    Case("rank-one-in-turn", RankOne, lambda p: {"order": "in-turn"}),
    Case("rank-one-gold", RankOne, gold=True),
    Case("iwmv", IWMV),
    Case("iwmv-first", IWMV, lambda p: {"ties": "first"}),
    Case("iwmv-random", IWMV, lambda p: {"ties": "random"}),
    Case("iwmv-gold", IWMV, gold=True),
    Case("m3v", M3V),
    Case("m3v-costly", M3V, lambda p: {"cost": 3.0, "rounding": 0.3}),
    Case("m3v-gold", M3V, gold=True),
    Case("mace", MACE),
    Case("mace-priors", MACE, lambda p: {"competence_prior": (2, 0.7), "strategy_prior": 0.3}),
    Case("mace-estimated-prior", MACE, lambda p: {"prior": "estimated", "prior_smoothing": 0.5}),
    Case("mace-fixed-prior", MACE, lambda p: {"prior": p.shares}),
    Case("mace-gold", MACE, gold=True),
    Case("mace-worker-prior", MACE, lambda p: {"worker_prior": p.counts}),
    Case("mace-init", MACE, lambda p: {"init": p.confusion}),
    Case("ibcc", IBCC),
    Case("ibcc-flat", IBCC, lambda p: {"smoothing": 0.3, "diagonal": 0, "prior_smoothing": 2}),
    Case("ibcc-uniform-prior", IBCC, lambda p: {"prior": "uniform"}),
    Case("ibcc-fixed-prior", IBCC, lambda p: {"prior": p.shares}),
    Case("ibcc-gold", IBCC, gold=True),
    Case("ibcc-worker-prior", IBCC, lambda p: {"worker_prior": p.counts}),
    Case("ibcc-init", IBCC, lambda p: {"init": p.confusion}),
    Case("hierarchical", Hierarchical),
    Case("hierarchical-kappa", Hierarchical, lambda p: {"kappa": 3.0}),
    Case(
        "hierarchical-pseudo-counts",
        Hierarchical,
        lambda p: {"smoothing": 0.5, "diagonal": 1, "prior_smoothing": 0.2},
    ),
    Case("hierarchical-uniform-prior", Hierarchical, lambda p: {"prior": "uniform"}),
    Case("hierarchical-fixed-prior", Hierarchical, lambda p: {"prior": p.shares}),
    Case("hierarchical-gold", Hierarchical, gold=True),
    Case("hierarchical-worker-prior", Hierarchical, lambda p: {"worker_prior": p.counts}),
    Case("hierarchical-init", Hierarchical, lambda p: {"init": p.confusion}),
    Case("glad", GLAD),
    Case("glad-priors", GLAD, lambda p: {"ability_prior": (0.5, 2), "easiness_prior": (0, 0.5)}),
    Case("glad-estimated-prior", GLAD, lambda p: {"prior": "estimated"}),
    Case("glad-fixed-prior", GLAD, lambda p: {"prior": p.shares}),
    Case("glad-gold", GLAD, gold=True),
    Case("ebcc", EBCC, lambda p: {"subtypes": 3}, slow=slow_ebcc),
    Case("ebcc-one-subtype", EBCC, lambda p: {"subtypes": 1}, slow=slow_ibcc),
    Case("ebcc-gold", EBCC, lambda p: {"subtypes": 2}, gold=True, exempt=NO_ORACLE),
    Case("two-kinds", TwoKinds, slow=slow_two_kinds),
    Case("two-kinds-kappa", TwoKinds, lambda p: {"kappa": 20.0}, slow=slow_two_kinds_at_20),
    Case("two-kinds-gold", TwoKinds, gold=True, slow=slow_two_kinds),
    Case("auto", Auto, exempt=HELD_OUT),
    Case("auto-gold", Auto, gold=True, exempt=HELD_OUT),
)
COVERED = {type(case.any_model) for case in CASES}
# A method that nobody listed is checked as it comes, but for the oracle that it does not have yet.
CASES += tuple(
    Case(
        name,
        partial(make, name),
        max_classes=2 if METHODS[name].two_classes_only else 9,
        exempt=NO_ORACLE,
    )
    for name in METHODS
    if METHODS[name].model not in COVERED
)


# All checks of a case in a row, so that one process fits what they share.
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.replace("_", "-"))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test(check: Check, case: Case) -> None:
    if check.__name__ in case.exempt:
        pytest.skip(case.exempt[check.__name__])
    check(case)


@pytest.mark.parametrize(
    "make",
    [OneCoin, *(partial(DawidSkene, harden=how) for how in ("never", "always", "settled"))],
    ids=["one-coin", "dawid-skene", "fast-dawid-skene", "hybrid"],
)
@pytest.mark.parametrize("zeros", ["exclude", "skip"])
def test_nothing_that_is_ruled_out_makes_a_nan(make: Callable[..., Any], zeros: str) -> None:
    """Matrices and priors with zeros, known answers of classes that are ruled out."""
    cell = st.sampled_from([0.0, 0.0, 0.5, 1.0])

    @given(problems(), st.data())
    def holds(problem: Problem, data: st.DataObject) -> None:
        shape = problem.counts.shape
        matrices = np.array(data.draw(st.lists(cell, min_size=shape[0], max_size=shape[0])))
        init = problem.confusion * (problem.counts > 1) * matrices[:, None, None]
        prior = np.eye(problem.n_classes)[data.draw(st.integers(0, problem.n_classes - 1))]
        for options in ({"init": init}, {"prior": prior}, {"init": init, "prior": prior}):
            assert_sound(fit(make(zeros=zeros, **options), problem.labels(with_gold=True)))

    holds()


@pytest.mark.parametrize("kind", [DawidSkene, OneCoin])
def test_where_every_class_is_ruled_out_the_one_with_fewest_zeros_stands(kind: Kind) -> None:
    """Two workers who are never wrong against one: as in the limit of a vanishing probability."""
    labels = Labels.from_codes([0, 0, 0], [0, 1, 2], [1, 0, 1], n_classes=2)
    result = fit(kind(init=np.tile(np.eye(2), (3, 1, 1)), max_iter=1), labels)
    assert_close(result.posterior, [[0.0, 1.0]])
    assert result.log_likelihood == -np.inf


def test_an_exact_tie_is_not_broken_by_rounding() -> None:
    """The last task's classes are as likely as each other, 0.9 * 1/9 and 0.1 * 1, so that the
    shared vote is where hard steps stay."""
    votes: Votes = [[(0, 0)], [(0, 0)], [(0, 0)], [(0, 0)], [(0, 1), (1, 0)]]
    problem = Problem(votes, 2, 2, np.ones((2, 2, 2)), np.full(2, 0.5))
    fast = Case("fast", DawidSkene, lambda p: {"harden": "always", "ties": "shared"})
    assert_close(oracle(fast, problem, 5).posterior[-1], [0.5, 0.5], atol=1e-12)
    assert_close(fast.fit(problem, max_iter=5, tol=0.0).posterior[-1], [0.5, 0.5], atol=1e-12)


@pytest.mark.parametrize("kind", [DawidSkene, OneCoin])
@pytest.mark.parametrize("init", [False, True], ids=["from-the-vote", "from-matrices"])
def test_a_given_prior_need_not_add_up_to_one(kind: Kind, init: bool) -> None:
    problem = random_problem(0)
    options: dict[str, Any] = {"init": problem.confusion} if init else {}
    shares = fit(kind(prior=problem.shares, **options), problem.labels(False))
    weights = fit(kind(prior=10 * problem.shares, **options), problem.labels(False))
    assert_close(weights.posterior, shares.posterior, atol=1e-12)
    assert_close(weights.objective, shares.objective, rtol=1e-12)
    assert_close([s.moved for s in weights.steps], [s.moved for s in shares.steps], atol=1e-12)


@pytest.mark.parametrize("kind", [DawidSkene, OneCoin])
def test_one_impossible_task_does_not_pass_for_convergence(kind: Kind) -> None:
    """A known answer that the prior rules out makes the likelihood zero, whatever is learned from
    the other tasks: they go on until they are settled."""
    problem = replace(random_problem(5, n_tasks=60), gold={7: 2})
    result = fit(kind(prior=np.array([0.5, 0.5, 0.0])), problem.labels(with_gold=True))
    assert result.log_likelihood == -np.inf
    assert result.steps[-1].moved < 0.01
