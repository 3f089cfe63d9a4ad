"""What must hold of every model, each as a function of a case: a model with its options.

A check that a case is exempt from skips it, and says why.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse
from tests.effort import seeds
from tests.naive.dawid_skene import Matrix, dawid_skene
from tests.naive.enumerate import enumerate_truths
from tests.naive.glad import glad, right_probability
from tests.naive.hierarchical import hierarchical
from tests.naive.ibcc import ibcc
from tests.naive.mace import mace
from tests.naive.majority import Votes, leaders, right_and_wrong, vote_shares, votes_agreeing
from tests.naive.max_margin import max_margin
from tests.naive.naive_bayes import likelihood_of_features, naive_bayes
from tests.naive.one_coin import one_coin, one_coin_matrix
from tests.naive.one_coin_bayes import one_coin_bayes
from tests.naive.ordinal import ordinal
from tests.naive.rank_one import rank_one
from tests.naive.spectral import spectral_start
from tests.naive.weighted_vote import weighted_vote

from quorate import (
    EBCC,
    GLAD,
    IBCC,
    IWMV,
    M3V,
    MACE,
    Auto,
    DawidSkene,
    Hierarchical,
    Labels,
    Majority,
    NaiveBayes,
    OneCoin,
    OneCoinBayes,
    Ordinal,
    RankOne,
    Result,
    TwoKinds,
    fit,
    metrics,
)
from quorate.answers import Part
from quorate.engines.threads import Threads
from quorate.fitting import Conclude, LoopState, SparingFold, climb
from quorate.kernels import Codes, Floats
from quorate.model import add, dense
from quorate.models import Spectral, SpectralEM
from quorate.models.em import EM
from quorate.models.rank_one import VARIANTS
from quorate.simulation import simulate
from quorate.votes import MemoryBlocks

ORACLES: dict[Any, Callable[..., Any]] = {
    DawidSkene: dawid_skene,
    GLAD: glad,
    Hierarchical: hierarchical,
    IBCC: ibcc,
    MACE: mace,
    NaiveBayes: naive_bayes,
    OneCoin: one_coin,
    OneCoinBayes: one_coin_bayes,
    Ordinal: ordinal,
    SpectralEM: dawid_skene,
}

SLOWLY = (EM, EBCC, M3V, TwoKinds)  # what takes many steps, of which the last are as the first

# The problems that models are tried on.


@dataclass(frozen=True, eq=False)
class Problem:
    """Votes with all that a case may want to know beside them: known answers, counts of what
    workers did before ``[worker, truth, label]``, shares of the classes, and features of the first
    tasks; the others have none."""

    votes: Votes
    n_workers: int
    n_classes: int
    counts: Floats
    shares: Floats
    gold: Mapping[int, int] = field(default_factory=dict)
    features: tuple[tuple[int, ...], ...] = ((0,),)

    @property
    def feature_rows(self) -> list[list[int]]:
        none = [0] * len(self.features[0])
        n_tasks = len(self.votes)
        return [list(f) for f in self.features[:n_tasks]] + [none] * (n_tasks - len(self.features))

    def labels(self, with_gold: bool, with_features: bool = False) -> Labels:
        rows = [(t, w, c) for t, said in enumerate(self.votes) for w, c in said]
        task, worker, label = zip(*rows, strict=True) if rows else ((), (), ())
        gold = [self.gold.get(t, -1) for t in range(len(self.votes))] if with_gold else None
        return Labels.from_codes(
            list(task),
            list(worker),
            list(label),
            n_tasks=len(self.votes),
            n_workers=self.n_workers,
            n_classes=self.n_classes,
            gold=gold,
            features=csr_array(np.array(self.feature_rows)) if with_features else None,
        )

    @property
    def confusion(self) -> Floats:
        return self.counts / self.counts.sum(axis=2, keepdims=True)

    def permuted(self, tasks: Any, workers: Any, classes: Any) -> Problem:
        """The same problem, in which ``tasks[i]`` is the old code of the new task ``i``, and so
        with workers and classes."""
        new_worker, new_class = np.argsort(workers).tolist(), np.argsort(classes).tolist()
        votes = [[(new_worker[w], new_class[c]) for w, c in self.votes[t]] for t in tasks]
        gold = {i: new_class[self.gold[t]] for i, t in enumerate(tasks) if t in self.gold}
        counts = self.counts[workers][:, classes][:, :, classes]
        features = tuple(tuple(self.feature_rows[t]) for t in tasks)
        return replace(
            self,
            votes=votes,
            gold=gold,
            counts=counts,
            shares=self.shares[classes],
            features=features,
        )


@cache
def random_problem(
    seed: int, n_classes: int = 3, n_tasks: int = 16, n_workers: int = 5, per_task: int = 6
) -> Problem:
    """Better than chance, and with what real votes have: a task with one label, a worker who
    labels a task twice, known answers that the votes may contradict."""
    random = np.random.default_rng(seed)
    truth = random.integers(n_classes, size=n_tasks)
    skill = random.uniform(0.4, 0.9, n_workers)
    votes: Votes = []
    for task in range(n_tasks):
        said = []
        for worker in random.integers(n_workers, size=random.integers(1, per_task + 1)).tolist():
            right = random.random() < skill[worker]
            said.append((worker, int(truth[task] if right else random.integers(n_classes))))
        votes.append(said)
    votes[0] = votes[0][:1]
    votes[1] = [(0, int(truth[1])), (0, int(truth[1])), *votes[1]]
    counts = random.uniform(0, 1, (n_workers, n_classes, n_classes)) + 2 * np.eye(n_classes)
    shares = random.uniform(0.5, 1, n_classes)
    gold = {t: int(random.integers(n_classes)) for t in range(2, n_tasks, 5)}
    rate = random.uniform(0.1, 0.9, (4, n_classes))
    features = tuple(map(tuple, (random.random((n_tasks, 4)) < rate[:, truth].T).astype(int)))
    return Problem(votes, n_workers, n_classes, counts, shares / shares.sum(), gold, features)


@st.composite
def problems(draw: st.DrawFn, max_tasks: int = 4, max_classes: int = 3) -> Problem:
    """Any tiny problem: silent workers, classes nobody named, tasks without labels."""
    n_workers, n_classes = draw(st.integers(1, 3)), draw(st.integers(1, max_classes))
    said = st.tuples(st.integers(0, n_workers - 1), st.integers(0, n_classes - 1))
    votes = draw(st.lists(st.lists(said, max_size=4), min_size=1, max_size=max_tasks))
    if not any(votes):
        votes[0] = [draw(said)]
    answers = st.dictionaries(
        st.integers(0, len(votes) - 1), st.integers(0, n_classes - 1), max_size=2
    )
    counts = np.random.default_rng(draw(st.integers(0, 9))).uniform(
        0.1, 2, (n_workers, n_classes, n_classes)
    )
    shares = np.arange(1.0, n_classes + 1)
    bit = st.integers(0, 1)
    features = draw(st.lists(st.tuples(bit, bit), min_size=1, max_size=max_tasks))
    return Problem(
        votes,
        n_workers,
        n_classes,
        counts,
        shares / shares.sum(),
        draw(answers),
        tuple(features),
    )


@cache
def any_problems(max_classes: int = 3) -> list[Problem]:
    """The same ones for every case: to draw a problem takes longer than to fit most models."""
    drawn = []

    @given(problems(max_classes=max_classes))
    def draw(problem: Problem) -> None:
        drawn.append(problem)

    draw()
    return drawn


# The cases.


@dataclass(frozen=True, eq=False)
class Case:
    """A model, and the options it has for a problem; of models that are not EM, a slow oracle of
    the belief ``(problem, gold, iterations)``, and what keeps them from being like the others;
    ``exempt`` says of checks by their name why they are not for this case."""

    name: str
    kind: Callable[..., Any]
    options: Callable[[Problem], Mapping[str, Any]] = lambda problem: {}
    gold: bool = False
    features: bool = False
    slow: Callable[[Problem, Mapping[int, int], int], list[list[float]]] | None = None
    max_classes: int = 9
    ordered: bool = False
    noisy: bool = False
    exempt: Mapping[str, str] = field(default_factory=dict)

    def problem(self, seed: int, n_classes: int = 3, **sizes: int) -> Problem:
        """A random problem of a kind that the model is for."""
        return random_problem(seed, n_classes=min(n_classes, self.max_classes), **sizes)

    @property
    def is_em(self) -> bool:
        return isinstance(self.any_model, EM)

    def model(self, problem: Problem, **more: Any) -> Any:
        return self.kind(**self.options(problem), **more)

    def labels(self, problem: Problem) -> Labels:
        return problem.labels(with_gold=self.gold, with_features=self.features)

    def fit(self, problem: Problem, engine: Threads | None = None, **more: Any) -> Result:
        return fit(self.model(problem, **more), self.labels(problem), engine=engine)

    def known(self, problem: Problem) -> Mapping[int, int]:
        return problem.gold if self.gold else {}

    @cached_property
    def any_model(self) -> Any:
        return self.model(self.problem(0))

    @property
    def hardens(self) -> bool:
        return self.kind is IWMV or getattr(self.any_model, "harden", "never") != "never"

    @property
    def assumes_even_classes(self) -> bool:
        if self.kind is GLAD:
            return False
        return not isinstance(self.any_model, EM) or str(self.any_model.prior) == "uniform"

    @property
    def assumes_coins(self) -> bool:
        """Workers are right with one probability, whatever the truth."""
        return self.kind in (OneCoin, OneCoinBayes, MACE, GLAD, RankOne, IWMV, M3V)

    @property
    def variational(self) -> bool:
        """Whether the objective bounds the likelihood, and geometric means stand for parameters."""
        return self.kind in (Hierarchical, IBCC, MACE, OneCoinBayes)

    @property
    def skips_zeros(self) -> bool:
        return getattr(self.any_model, "zeros", "exclude") == "skip"

    @property
    def start(self) -> Spectral | None:
        """Where it begins, if that is from moments."""
        init = getattr(self.any_model, "init", None)
        return Spectral() if isinstance(init, str) and init == "spectral" else init

    @property
    def starts_spectrally(self) -> bool:
        return isinstance(self.start, Spectral)


@cache
def fitted(case: Case, seed: int) -> Result:
    """The fit to a random problem, which several checks compare others with."""
    return case.fit(case.problem(seed))


@cache
def any_fits(case: Case) -> list[tuple[Problem, Result]]:
    """The fits to tiny problems, for the checks of all that can be said of any."""
    with warnings.catch_warnings(action="error"):
        drawn = any_problems(min(3, case.max_classes))
        return [(problem, case.fit(problem)) for problem in drawn]


def assert_same_bits(first: Result, second: Result) -> None:
    np.testing.assert_array_equal(first.posterior, second.posterior)
    np.testing.assert_array_equal(first.answers, second.answers)
    np.testing.assert_array_equal(first.tally, second.tally)
    for one, other in zip(leaves(first.params), leaves(second.params), strict=True):
        np.testing.assert_array_equal(one, other)
    assert first.steps == second.steps


def leaves(nested: Any) -> list[Any]:
    """The arrays and numbers of nested tuples, with every row and zero in its place."""
    if isinstance(nested, tuple):
        return [leaf for field in dense(nested) for leaf in leaves(field)]
    return [nested.toarray() if issparse(nested) else nested]


def assert_close(actual: Any, expected: Any, rtol: float = 0.0, atol: float = 0.0) -> None:
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)


# The checks.


def statistics_add(case: Case) -> None:
    """sweep(A) + sweep(B) == sweep(A u B), in each phase, and under the final parameters."""
    for seed, cut in ((0, 1), (1, 8), (2, 13)):
        problem = case.problem(seed, n_workers=9)  # so that small blocks keep only some rows
        model, whole = case.model(problem), case.labels(problem)
        blocks = (whole, whole[:cut], whole[1:][cut - 1 :])
        params, local = model.start(whole[:0]), [model.begin(block) for block in blocks]
        final = (case.fit(problem).params, [model.begin(block) for block in blocks])
        for phase in model.phases(whole[:0]):
            params, local = _assert_statistics_add(phase, blocks, params, local)
        _assert_statistics_add(model, blocks, *final)


def _assert_statistics_add(phase: Any, blocks: Any, params: Any, local: list[Any]) -> Any:
    """Of the first block, which is made of the others; returns what the phase goes on with."""
    swept = [phase.sweep(block, params, state) for block, state in zip(blocks, local, strict=True)]
    total = None
    for _, stats in swept[1:]:
        total = add(total, stats)
    expected = dense(swept[0][1])
    for one, other in zip(leaves(total), leaves(expected), strict=True):
        assert_close(one, other, rtol=1e-12, atol=1e-15)
    return phase.estimate(expected, params), [state for state, _ in swept]


def same_bits_on_any_number_of_threads(case: Case) -> None:
    problem = case.problem(3, n_tasks=60, n_workers=8)
    few = {"max_iter": 10} if isinstance(case.any_model, SLOWLY) else {}
    with small_blocks(20):
        assert len(MemoryBlocks(case.labels(problem))) > 8
        one, *others = (case.fit(problem, Threads(n), **few) for n in (1, 2, 4))
    for other in others:
        assert_same_bits(one, other)


def blocks_give_what_the_whole_gives(case: Case) -> None:
    problem = case.problem(4, n_tasks=60, n_workers=8)
    whole = case.fit(problem)
    with small_blocks(20):
        parts = case.fit(problem)
    assert parts.iterations == whole.iterations
    assert_close(parts.posterior, whole.posterior, atol=1e-10)
    assert_close(parts.tally, whole.tally, atol=1e-10)
    assert_close(parts.objective, whole.objective, rtol=1e-10)


def nothing_changes_without_local_states(case: Case) -> None:
    """Where no phase goes by the states of the sweep before, a fit that keeps none has the same
    bits."""
    problem = case.problem(0)
    labels = case.labels(problem)
    model = case.model(problem).with_votes(labels)
    phases = model.phases(labels[:0])
    if any(phase.starts_from == "last" for phase in phases):
        return
    parts: list[Part] = []
    fold = SparingFold(Threads(1).over(MemoryBlocks(labels)), model)
    fold.begin(model.begin)
    state = climb(phases, fold, LoopState(model.start(labels[:0])))
    Conclude(model, lambda block, part: parts.append(part), anew=True)(labels, state.params, None)
    expected = fitted(case, 0)
    np.testing.assert_array_equal(parts[0].posterior, expected.posterior)
    for one, other in zip(leaves(state.params), leaves(expected.params), strict=True):
        np.testing.assert_array_equal(one, other)
    assert state.steps == expected.steps


@contextmanager
def small_blocks(size: int) -> Iterator[None]:
    """Cuts labels into blocks of about so many tasks and labels, few of which make a run."""
    cuts = Labels.cuts
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Labels, "cuts", lambda labels, given=None: cuts(labels, given or size))
        patch.setattr("quorate.model.RUNS", 8)
        yield


def permuted_tasks_permute_the_answer(case: Case) -> None:
    if case.noisy:
        pytest.skip("where messages begin belongs to the task's place")
    if case.hardens and case.any_model.ties == "random":
        pytest.skip("a tie is broken by lots that belong to the task's place")
    _assert_equivariant(case, "tasks")


def permuted_workers_permute_the_answer(case: Case) -> None:
    if case.starts_spectrally:
        pytest.skip("workers fall into groups by their order")
    if case.noisy:
        pytest.skip("where messages begin belongs to the worker's place")
    if getattr(case.any_model, "order", "") == "in-turn":
        pytest.skip("which of several minima is found depends on whose turn comes first")
    _assert_equivariant(case, "workers")


def permuted_classes_permute_the_answer(case: Case) -> None:
    if case.ordered:
        pytest.skip("these classes have an order")
    if case.hardens and case.any_model.ties != "shared":
        pytest.skip("a tie falls to the first class, or by lots that belong to the class")
    _assert_equivariant(case, "classes")


def _assert_equivariant(case: Case, what: str) -> None:
    for seed in seeds(2, 20):
        problem = case.problem(seed)
        order = {
            "tasks": np.arange(len(problem.votes)),
            "workers": np.arange(problem.n_workers),
            "classes": np.arange(problem.n_classes),
        }
        order[what] = np.roll(np.random.default_rng(seed).permutation(order[what]), 1)
        before = fitted(case, seed)
        after = case.fit(problem.permuted(**order))
        expected = before.posterior[order["tasks"]][:, order["classes"]]
        assert_close(after.posterior, expected, atol=1e-9)
        assert_close(after.tally, before.tally[order["workers"]], atol=1e-9)


def order_of_a_tasks_labels_is_nothing(case: Case) -> None:
    for seed in seeds(2, 20):
        problem = case.problem(seed)
        backwards = replace(problem, votes=[said[::-1] for said in problem.votes])
        before, after = fitted(case, seed), case.fit(backwards)
        assert_close(after.posterior, before.posterior, atol=1e-9)
        assert_close(after.tally, before.tally, atol=1e-9)


def objective_never_falls(case: Case) -> None:
    """Soft and hard steps climb different objectives, so each phase is looked at by itself."""
    if not (case.is_em or case.kind in (Auto, EBCC, GLAD, IWMV, M3V)):
        pytest.skip("it climbs no objective")
    if case.skips_zeros:
        pytest.skip("without its zero factors the product is no likelihood, and may well fall")
    phases = set()
    for seed in seeds(6, 30):
        problem = case.problem(seed, n_classes=2 + seed % 3, n_tasks=30)
        tight = {"tol": 1e-12} if hasattr(case.any_model, "tol") else {}
        steps = case.fit(problem, **tight).steps
        for hard in (False, True):
            trace = [step.objective for step in steps if step.hard == hard]
            phases |= {hard} if len(trace) > 1 else set()
            for before, after in itertools.pairwise(trace):
                assert after >= before - 1e-9 * abs(before)
    harden = getattr(case.any_model, "harden", "always" if case.hardens else "never")
    assert phases == {"never": {False}, "always": {True}, "settled": {False, True}}[harden]


def same_seed_same_answer(case: Case) -> None:
    problem = case.problem(5)
    assert_same_bits(case.fit(problem, seed=7), case.fit(problem, seed=7))


def another_seed_matters_only_to_random_ties(case: Case) -> None:
    if case.starts_spectrally:
        pytest.skip("the power method begins from lots")
    if case.noisy:
        pytest.skip("messages begin elsewhere with another seed")
    problem = case.problem(6, n_tasks=40, per_task=2)  # two labels a task: many ties
    one, *others = (case.fit(problem, seed=seed) for seed in range(6))
    if not (case.hardens and case.any_model.ties == "random"):
        for other in others:
            np.testing.assert_array_equal(other.posterior, one.posterior)
        tied = [len(leaders(row)) > 1 for row in one.posterior.tolist()]
        free = np.array(tied) & (case.any_model.ties == "random")
        for other in others:
            np.testing.assert_array_equal(other.answers[~free], one.answers[~free])
    if case.any_model.ties == "random" and (case.hardens or case.kind is Majority):
        assert any((other.answers != one.answers).any() for other in others)


def equals_the_slow_oracle(case: Case) -> None:
    """Element by element, on votes with repeats, single labels, a worker who says nothing and,
    where the case has them, known answers, one of which nobody voted on."""
    for seed in (1, 2, 3, 4):
        problem = case.problem(seed, n_classes=2 + seed % 3)
        counts = np.concatenate([problem.counts, problem.counts[:1]])
        problem = replace(problem, n_workers=problem.n_workers + 1, counts=counts)
        if case.gold:
            gold = {**problem.gold, len(problem.votes): 0}
            problem = replace(problem, votes=[*problem.votes, []], gold=gold)
        # Later, probabilities underflow to the zeros that are skipped, and rounding decides.
        result = case.fit(problem, max_iter=10) if case.skips_zeros else case.fit(problem)
        if case.slow is not None:
            belief = case.slow(problem, case.known(problem), result.iterations)
            assert_close(result.posterior, belief, atol=1e-10)
        elif case.kind is Majority:
            _assert_is_the_vote(case, problem, result)
        elif case.kind is GLAD:
            _assert_is_glad(case, problem, result)
        elif case.kind is RankOne:
            result = case.fit(problem, tol=1e-13, max_sweeps=20_000)
            _assert_is_the_completion(case, problem, result)
        elif case.kind in (IWMV, M3V):
            _assert_is_the_weighted_vote(case, problem, result)
        elif not case.is_em:
            pytest.skip("the oracle draws no lots")
        else:
            _assert_is_the_trace(case, problem, result)
        known = right_and_wrong(problem.votes, problem.n_workers, result.posterior.tolist())
        assert_close(result.tally, known, atol=1e-10)


def _assert_is_the_vote(case: Case, problem: Problem, result: Result) -> None:
    shares = vote_shares(problem.votes, problem.n_classes, case.known(problem))
    assert_close(result.posterior, shares, atol=1e-10)
    assert_close(result.params.prior, np.mean(shares, axis=0), atol=1e-10)
    for answer, row in zip(result.answers, shares, strict=True):
        best = leaders(row)
        assert answer in (best if case.any_model.ties == "random" else best[:1])
    assert result.objective == [votes_agreeing(problem.votes, result.answers.tolist())]


def _assert_is_the_completion(case: Case, problem: Problem, result: Result) -> None:
    known, options = case.known(problem), case.options(problem)
    slow = rank_one(problem.votes, problem.n_workers, problem.n_classes, gold=known, **options)
    assert VARIANTS[result.params.variant] == slow.variant
    assert_close(result.params.skill, slow.skill, atol=1e-10)
    assert_close(result.posterior, slow.posterior, atol=1e-10)
    assert_close(-result.objective[-1], slow.loss, rtol=1e-10)


def _assert_is_the_weighted_vote(case: Case, problem: Problem, result: Result) -> None:
    if case.hardens and case.any_model.ties == "random":
        pytest.skip("the oracle draws no lots")
    slow = weighted_vote if case.kind is IWMV else max_margin
    quality, posterior, objective = slow(
        problem.votes,
        problem.n_workers,
        problem.n_classes,
        result.iterations,
        gold=case.known(problem),
        **case.options(problem),
    )
    assert_close(result.params[0], quality, atol=1e-10)
    assert_close(result.posterior, posterior, atol=1e-10)
    assert_close(result.objective, objective, rtol=1e-10)


def _assert_is_glad(case: Case, problem: Problem, result: Result) -> None:
    trace = oracle(case, problem, result.iterations)
    assert_close(result.posterior, trace.posterior, atol=1e-10)
    assert_close(result.params.prior, trace.prior, atol=1e-10)
    assert_close(result.params.ability, trace.ability, atol=1e-10)
    assert_close(-np.log(result.per_task["difficulty"]), trace.log_easiness, atol=1e-10)
    assert_close(result.objective, trace.objective, rtol=1e-10)
    assert_close([s.log_likelihood for s in result.steps], trace.log_likelihood, rtol=1e-10)


def _assert_is_the_trace(case: Case, problem: Problem, result: Result) -> None:
    if case.hardens and case.any_model.ties == "random":
        pytest.skip("the oracle draws no lots")
    if case.starts_spectrally and case.start.groups == "random":
        pytest.skip("the oracle draws no lots")
    trace = oracle(case, problem, result.iterations)
    assert_close(result.posterior, trace.posterior, atol=1e-10)
    assert_close(result.params.prior, trace.prior, atol=1e-10)
    assert_close(result.confusion, trace.confusion, atol=1e-10)
    assert_close(result.objective, trace.objective, rtol=1e-10)
    if case.variational:
        assert result.log_likelihood is None
    else:
        assert_close([s.log_likelihood for s in result.steps], trace.log_likelihood, rtol=1e-10)
    assert_close([s.moved for s in result.steps], trace.moved, atol=1e-10)
    assert [s.hard for s in result.steps] == trace.hard
    assert [s.changed for s in result.steps] == trace.changed
    unchanged = [s.hard and s.changed == 0 for s in result.steps]
    assert not any(unchanged[:-1])  # hard steps end where answers stay what they are
    if case.kind is OneCoin:
        accuracy = [matrix[0][0] for matrix in trace.confusion]
        assert_close(result.params.accuracy, accuracy, atol=1e-10)


def oracle(case: Case, problem: Problem, iterations: int) -> Any:
    options = dict(case.options(problem))
    if "zeros" in options:
        options["skip_zeros"] = options.pop("zeros") == "skip"
    prior = options.get("prior")
    if isinstance(prior, str):
        options["prior"] = [1 / problem.n_classes] * problem.n_classes
        if prior == "estimated":
            options["prior"] = None
    if "init" in options:
        options["start"] = options.pop("init")
    if case.starts_spectrally:
        options["start"] = spectral_start(problem.votes, problem.n_workers, problem.n_classes)
    options = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in options.items()}
    if case.kind is NaiveBayes:
        options["features"] = problem.feature_rows
    return ORACLES[case.kind](
        problem.votes,
        problem.n_workers,
        problem.n_classes,
        iterations,
        gold=case.known(problem),
        **options,
    )


def equals_brute_force(case: Case) -> None:
    """Log-likelihood and posterior at the last parameters, from all truths of tiny problems."""
    if not (case.is_em or case.kind is GLAD):
        pytest.skip("it has no likelihood")
    if case.skips_zeros:
        pytest.skip("without its zero factors the product is no probability")

    for problem, result in any_fits(case):
        shares = np.exp(_log_prior(result))
        evidence, posterior = enumerate_truths(
            problem.votes,
            shares.tolist(),
            _matrix(result),
            case.known(problem),
            _likelihood_of_features(case, problem, result),
        )
        found = result.log_likelihood
        if case.variational:  # geometric means do not add up to one, not even of a task unheard
            unheard = int((~case.labels(problem).has_evidence).sum())
            found = result.stats.evidence.log_likelihood + unheard * math.log(shares.sum())
        assert_close(found, evidence, rtol=1e-10, atol=1e-10)
        assert_close(result.posterior, posterior, atol=1e-10)


def _likelihood_of_features(case: Case, problem: Problem, result: Result) -> Any:
    if not case.features:
        return None
    params, weight = result.params, result.model.feature_weight
    likelihood = []
    for task, has in enumerate(problem.feature_rows):
        if problem.votes[task] or task in case.known(problem):
            row = likelihood_of_features(has, params.feature_rate.tolist(), weight)
        else:  # classified, and no part of what is maximised
            row = likelihood_of_features(has, params.unmixed_rate.tolist(), weight)
            total = float(np.dot(row, params.prior))
            row = [value / total for value in row]
        likelihood.append(row)
    return likelihood


def _matrix(result: Result) -> Callable[[int, int], Matrix]:
    """What the E-step multiplies, ``[truth, label]`` of a task and a worker."""
    if isinstance(result.model, GLAD):
        n_classes, difficulty = len(_log_prior(result)), result.per_task["difficulty"]
        return lambda task, worker: one_coin_matrix(
            right_probability(result.params.ability[worker], 1 / difficulty[task]), n_classes
        )
    weights = _weights(result).tolist()
    return lambda task, worker: weights[worker]


def _log_prior(result: Result) -> Floats:
    params: Any = result.params
    log_prior: Floats = getattr(params, "state", params).log_prior
    return log_prior


def _weights(result: Result) -> Floats:
    """``[worker, truth, label]``: the geometric means of a posterior, or else the confusion
    matrices."""
    n_classes = len(_log_prior(result))
    if isinstance(result.model, (Hierarchical, IBCC)):
        by_label = np.exp(result.params.log_confusion).reshape(-1, n_classes, n_classes)
        return by_label.transpose(0, 2, 1)
    if isinstance(result.model, MACE):
        table = np.exp(result.params.log_weights).reshape(-1, 1, n_classes, 2)
        return np.where(np.eye(n_classes, dtype=bool), table[..., 1], table[..., 0])
    if isinstance(result.model, OneCoinBayes):
        right, wrong = np.exp(result.params.log_weights).T[:, :, None, None]
        return np.where(np.eye(n_classes, dtype=bool), right, wrong)
    assert result.confusion is not None
    return result.confusion


def tasks_without_labels_teach_nothing(case: Case) -> None:
    """Whatever is learned is the same without them, and of them only the prior is known."""
    for seed in seeds(3, 20):
        problem = case.problem(seed)
        more = replace(problem, votes=[*problem.votes, [], [], []])
        before, after = fitted(case, seed), case.fit(more)
        assert after.iterations == before.iterations
        assert_close(after.posterior[:-3], before.posterior, atol=1e-10)
        assert_close(after.tally, before.tally, atol=1e-10)
        assert_close(after.objective, before.objective, rtol=1e-10)
        if case.is_em or case.kind is Majority:
            assert_close(after.params.prior, before.params.prior, atol=1e-10)
        if case.is_em and not case.skips_zeros and not case.features:
            assert_close(after.posterior[-3:], [after.params.prior] * 3, atol=1e-10)


def learns_a_simulated_crowd(case: Case) -> None:
    """Nearly as few errors are to be expected as with the true parameters, which are found within
    five standard errors of what could be counted if the truth were known."""
    if case.kind is Majority:
        pytest.skip("the vote does not learn about workers")
    if case.ordered:
        pytest.skip("this crowd errs without regard to order: see test_ordered.py")
    if case.max_classes == 2:
        crowd = simulated_crowd(True, True, n_classes=2)
    else:
        crowd = simulated_crowd(case.assumes_coins, case.assumes_even_classes)
    result = case.fit(crowd.problem)
    unknown = [t for t in range(len(crowd.truth)) if t not in case.known(crowd.problem)]
    belief = crowd.best_posterior[unknown]
    best_possible = 1 - belief.max(axis=1).mean()
    expected = 1 - belief[np.arange(len(belief)), result.answers[unknown]].mean()
    assert 0.01 < best_possible < 0.1
    # Hard steps are biased, however many the tasks; weights that are not log-odds lose a little.
    by_odds = case.is_em or case.kind in (GLAD, RankOne, IWMV)
    margin = 0.005 if by_odds and not case.hardens else 0.01
    assert expected <= best_possible + margin
    chance = np.sqrt(best_possible * (1 - best_possible) / len(unknown))
    error = metrics.error(result.posterior[unknown], crowd.truth[unknown])
    assert error <= expected + 3 * chance

    learns = case.is_em or case.kind in (RankOne, IWMV, M3V)
    if not learns or result.confusion is None:
        return  # GLAD's parameters are found in test_glad.py, where difficulties differ
    found, true, trials = result.confusion, crowd.confusion, crowd.met[:, :, None]
    if case.assumes_coins:
        found, true, trials = found[:, 0, 0], true[:, 0, 0], crowd.met.sum(axis=1)
    standard_error = np.sqrt(true * (1 - true) / trials)
    assert (np.abs(found - true) <= 5 * standard_error).all()


@dataclass(frozen=True, eq=False)
class Known:
    """A simulated crowd with its truth, and what could be told if its parameters were known."""

    problem: Problem
    truth: Codes
    confusion: Floats
    met: Floats  # [worker, truth]: how many labels a worker gave to tasks of that truth
    best_posterior: Floats


@cache
def simulated_crowd(coins: bool, even_classes: bool, n_classes: int = 3) -> Known:
    n_workers, n_tasks, per_task = 20, 2000, 8
    random = np.random.default_rng(20)
    prior = np.full(n_classes, 1 / n_classes) if even_classes else np.array([0.3, 0.3, 0.4])
    if coins:
        low, high = (0.55, 0.95) if n_classes == 2 else (0.45, 0.9)
        accuracy = random.uniform(low, high, n_workers).tolist()
        confusion = np.array([one_coin_matrix(p, n_classes) for p in accuracy])
    else:
        noise = random.dirichlet(np.ones(n_classes), (n_workers, n_classes))
        confusion = 0.5 * noise + 0.5 * np.eye(n_classes) * 0.8 + 0.1 / n_classes
    crowd = simulate(confusion, n_tasks, per_task, prior=prior, seed=21)
    labels = crowd.labels
    met = np.zeros((n_workers, n_classes))
    posterior = np.empty((n_tasks, n_classes))
    votes: Votes = []
    for task in range(n_tasks):
        at = slice(labels.indptr[task], labels.indptr[task + 1])
        votes.append(list(zip(labels.worker[at].tolist(), labels.label[at].tolist(), strict=True)))
        joint = prior.copy()
        for worker, label in votes[task]:
            met[worker, crowd.truth[task]] += 1
            joint *= confusion[worker, :, label]
        posterior[task] = joint / joint.sum()
    counts = np.full((n_workers, n_classes, n_classes), 1.0) + 2 * np.eye(n_classes)
    gold = {task: int(crowd.truth[task]) for task in range(0, n_tasks, 20)}
    problem = Problem(votes, n_workers, n_classes, counts, prior, gold)
    return Known(problem, crowd.truth, confusion, met, posterior)


def never_nan(case: Case) -> None:
    for _, result in any_fits(case):
        with warnings.catch_warnings(action="error"):
            assert_sound(result)


def assert_sound(result: Result) -> None:
    """Finite but for a log-likelihood of zero probability, and beliefs that add up to one."""
    assert np.isfinite(result.posterior).all()
    assert_close(result.posterior.sum(axis=1), 1.0, atol=1e-12)
    assert (result.posterior >= 0).all()
    assert np.isfinite(result.tally).all()
    assert all(np.isfinite(leaf).all() for leaf in leaves(getattr(result.params, "prior", ())))
    assert result.confusion is None or np.isfinite(result.confusion).all()
    assert not any(math.isnan(value) for value in result.objective)
    if result.log_likelihood is not None:
        assert result.log_likelihood < math.inf and not math.isnan(result.log_likelihood)
    assert np.isfinite(result.workers_frame["accuracy"].to_numpy()).all()


CHECKS = (
    statistics_add,
    same_bits_on_any_number_of_threads,
    blocks_give_what_the_whole_gives,
    nothing_changes_without_local_states,
    permuted_tasks_permute_the_answer,
    permuted_workers_permute_the_answer,
    permuted_classes_permute_the_answer,
    order_of_a_tasks_labels_is_nothing,
    objective_never_falls,
    same_seed_same_answer,
    another_seed_matters_only_to_random_ties,
    equals_the_slow_oracle,
    tasks_without_labels_teach_nothing,
    learns_a_simulated_crowd,
    equals_brute_force,  # of the same fits as what follows
    never_nan,
)
