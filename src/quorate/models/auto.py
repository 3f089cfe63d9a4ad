"""Auto: a few different models at once, mixed as held-out votes of these very data would have it.

No model of a crowd is the best for every crowd. Three that differ in what they assume are fitted
together: the vote (all workers alike), Dawid-Skene (each worker has a confusion matrix) and MACE
(each knows, or spams). First a fifth of the votes is held out, both models take a few steps on the
others, and the held-out votes are predicted from the beliefs of each. The weights of the mixture
are those under which the held-out votes are likeliest (stacking; D. H. Wolpert, "Stacked
Generalization", 1992). Then the models are fitted to all votes.

Models that take votes for independent are too sure. So each stands in the mixture several times:
as it is, and with every vote counting as a half or a quarter of one; which is nearest to the truth
held-out votes tell as well. What they cannot tell, the errors that a whole crowd shares, the last
`temperature` allows for. A known answer is a held-out vote of one who is always right; known
answers also set that temperature.

Everything is a sum over tasks, so each of these steps is a phase: `Split`, `FitKept`, `Count`,
`Judge` and `Begin`, of which each goes on from what the one before has found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import kernels
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import (
    AnyPhase,
    Calibration,
    Method,
    Model,
    Phase,
    Step,
    Ties,
    by_worker,
    dense,
)
from quorate.models import dawid_skene, dirichlet, mace
from quorate.models.em import EM, FromVote
from quorate.options import option

HELD_OUT = 5  # one part in so many of the votes is held out
MOST_HELD = 100_000  # votes of a block of which a part is held out
ROUNDS = 10  # steps of the models before they are judged
JUDGED = 20_000  # held-out votes, of all that there are
PLACES = 1 << 16  # for these in the table in which they travel
EVEN = 10.0  # held-out votes that speak for every part of the mixture alike
VOTE_WORTH = (1.0, 2.0, 4.0)  # votes that count as one
SHARED = 1.6  # the temperature where no answer is known
TEMPERATURES = np.geomspace(0.5, 8.0, 41)
LEAST_LIKELY = 1e-12
KNOWN_WORTH = 10.0  # known answers that speak for SHARED
PATIENCE = 20  # steps of a model after which it has to end with the other

NOTHING_HELD_OUT = "No vote could be held out to weight the models by: they count alike."
VOTE, PARTS = "majority", ("dawid-skene", "mace")
N_EXPERTS = 1 + len(PARTS) * len(VOTE_WORTH)


class MemberParams(NamedTuple):
    dawid_skene: dawid_skene.Params
    mace: mace.Params


class Skipped(NamedTuple):
    """In place of the statistics of a member that was not swept."""


class MemberStats(NamedTuple):
    dawid_skene: dawid_skene.Stats | Skipped
    mace: mace.Stats | Skipped


Locals = tuple[Floats, Floats]  # of the two members


class Params(NamedTuple):
    """The members' parameters, the mixture's weights and temperature, and where each member is: the
    number of rounds, the members' last objectives, and which have converged; ``held_out`` is the
    number of votes that the weights come from, and ``known`` that of known answers."""

    members: MemberParams
    weights: Floats
    temperature: float
    held_out: int
    known: int
    rounds: int = 0
    objectives: tuple[float, ...] = (-np.inf,) * len(PARTS)
    done: tuple[bool, ...] = (False,) * len(PARTS)


class Stats(NamedTuple):
    """The members' statistics, and in the last sweep on how many tasks answers differ."""

    members: MemberStats
    differ: int = 0


@dataclass(frozen=True, eq=False)
class Auto(Model[Params, Locals, Stats]):
    """The vote, Dawid-Skene and MACE, weighted by the held-out votes each predicts; the default.

    The belief is the mixture of theirs, tempered. ``params.weights`` has the weights, of the vote
    and then of each model at each worth of a vote; `weights_of` adds these up. `objective` is the
    sum of the models' objectives.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> result = quorate.fit(quorate.Auto(), labels)
        >>> result.answers
        array([0, 1], dtype=int32)
        >>> list(result.model.weights_of(result.params))
        ['majority', 'dawid-skene', 'mace']
    """

    params_type: ClassVar[Any] = Params
    stats_type: ClassVar[Any] = Stats
    takes_weights: ClassVar[bool] = True
    calibration: ClassVar[Calibration] = Calibration(bias=0.0, spread=0.93)

    temperature: float | None = option(
        None,
        "By how much to divide the mixture's log-odds, since held-out votes cannot tell what a"
        " whole crowd gets wrong; by default 1.6, or what known answers say, where there are any.",
        at_least=0.1,
    )
    tol: float = option(
        1e-6,
        "Both models have converged when their objectives change by less, relatively.",
        at_least=0,
    )
    max_iter: int = option(200, "Maximum number of iterations.", at_least=1)
    ties: Ties = option("random", "How ties are broken: first, random by seed, or shared.")
    seed: int = option(0, "Seed for which votes are held out, and for ties.", at_least=0)

    @property
    def n_matrices(self) -> int:
        """Those of the members, and one to predict held-out votes with."""
        return 1 + sum(member.n_matrices for member in self.members)

    @property
    def members(self) -> tuple[EM[Any, Any], ...]:
        return _members(self.tol, self.max_iter, self.seed)

    def mixture(self, stats: Stats, params: Params) -> dict[str, Any]:
        return {
            "weights": self.weights_of(params),
            "why": self.why(params),
            "vote_worth": self.vote_worth(params),
            "temperature": params.temperature,
            "held_out_votes": params.held_out,
            "tasks_that_differ": stats.differ,
        }

    def weights_of(self, params: Params) -> dict[str, float]:
        """The weight of the vote and of each model, whatever the worth of a vote."""
        by_model = params.weights[1:].reshape(len(PARTS), -1).sum(axis=1)
        return dict(
            zip((VOTE, *PARTS), [float(params.weights[0]), *by_model.tolist()], strict=True)
        )

    def vote_worth(self, params: Params) -> dict[str, float]:
        """How many votes count as an independent one in each model, on (geometric) average."""
        by_worth = params.weights[1:].reshape(len(PARTS), -1)
        mean = np.exp(by_worth @ np.log(VOTE_WORTH) / by_worth.sum(axis=1))
        return dict(zip(PARTS, mean.tolist(), strict=True))

    def why(self, params: Params) -> str:
        """Why the weights are what they are."""
        if not params.held_out:
            return NOTHING_HELD_OUT
        weights = self.weights_of(params)
        heaviest = max(weights, key=lambda name: weights[name])
        worth = max(self.vote_worth(params).values())
        return (
            f"Of {params.held_out:,} votes that were held out from all, this mixture predicted"
            f" most; {heaviest} did best. {worth:.1f} votes tell as much as one that is"
            " independent."
        )

    def notes(self, params: Params) -> tuple[str, ...]:
        return () if params.held_out else (NOTHING_HELD_OUT,)

    # The fit of the members to all votes.

    def phases(self, shape: Labels) -> tuple[AnyPhase, ...]:
        return (Split(self), FitKept(self), Count(self), Judge(self), Begin(self), self)

    def begin(self, block: Labels) -> Locals:
        first, second = (member.begin(block) for member in self.members)
        return first, second

    def sweep(self, block: Labels, params: Params, local: Locals) -> tuple[Locals, Stats]:
        """One step of those members that have not converged yet, or of all in the last sweep."""
        last = self.is_last(params)
        swept = [
            (state, Skipped()) if done and not last else member.sweep(block, of_member, state)
            for member, of_member, state, done in zip(
                self.members, params.members, local, params.done, strict=True
            )
        ]
        (first, one), (second, other) = swept
        stats = Stats(MemberStats(one, other))
        if last:
            stats = stats._replace(differ=self._differ(block, params, (first, second)))
        return (first, second), stats

    def is_last(self, params: Params) -> bool:
        """Whether the next sweep is the last, of all members, for their final statistics."""
        return all(params.done) or params.rounds + 1 >= self.max_iter

    def estimate(self, stats: Stats, params: Params) -> Params:
        """The next step of each member, but for those that have converged."""
        if self.is_last(params):
            return params
        objectives, done = self._objectives(stats, params), self._done(stats, params)
        members = (
            of_member if finished else member.estimate(sums, of_member)
            for finished, (member, sums, of_member) in zip(
                done, self._each(stats, params), strict=True
            )
        )
        return params._replace(
            members=MemberParams(*members),
            objectives=objectives,
            done=done,
            rounds=params.rounds + 1,
        )

    def _objectives(self, stats: Stats, params: Params) -> tuple[float, ...]:
        return tuple(
            last if isinstance(sums, Skipped) else member.progress(sums, of_member).objective
            for member, sums, of_member, last in zip(
                self.members, stats.members, params.members, params.objectives, strict=True
            )
        )

    def _done(self, stats: Stats, params: Params) -> tuple[bool, ...]:
        now = self._objectives(stats, params)
        late = params.rounds >= PATIENCE and any(params.done)
        return tuple(
            finished or late or member.converged([Step(before, None), Step(after, None)])
            for member, finished, before, after in zip(
                self.members, params.done, params.objectives, now, strict=True
            )
        )

    def progress(self, stats: Stats, params: Params) -> Step:
        left = sum(not finished for finished in self._done(stats, params))
        swept = [sums for sums in stats.members if not isinstance(sums, Skipped)]
        return Step(
            sum(self._objectives(stats, params)),
            None,
            impossible=sum(sums.evidence.impossible for sums in swept),
            unfinished=left if self.is_last(params) else max(left, 1),  # the last sweep is to come
        )

    def converged(self, steps: Sequence[Step]) -> bool:
        return steps[-1].unfinished == 0

    # What is believed.

    def posterior(self, block: Labels, params: Params, local: Locals) -> Floats:
        mixed = mixture(self.beliefs(block, params.members, local), params.weights)
        return block.with_known(kernels.temper(mixed, params.temperature))

    def learned(self, block: Labels, params: Params, local: Locals, posterior: Floats) -> Floats:
        """The mixture without tempering: what workers are judged by, whose errors on many tasks
        even out."""
        weights = list(self.weights_of(params).values())
        beliefs = self.beliefs(block, params.members, local)
        mean: Floats = np.average(beliefs, axis=0, weights=weights)
        return block.with_known(mean)

    def beliefs(self, block: Labels, params: MemberParams, local: Locals) -> list[Floats]:
        """The posteriors ``[task, class]`` of the vote and of each member."""
        members = zip(self.members, params, local, strict=True)
        return [block.vote_shares(), *(m.posterior(block, p, state) for m, p, state in members)]

    def _differ(self, block: Labels, params: Params, local: Locals) -> int:
        best = [kernels.tied(belief) for belief in self.beliefs(block, params.members, local)]
        return int((~np.logical_and.reduce(best).any(axis=1)).sum())

    def newcomer(self, stats: Stats, params: Params) -> Params:
        members = (m.newcomer(sums, p) for m, sums, p in self._each(stats, params))
        return params._replace(members=MemberParams(*members))

    def confusion(self, params: Params) -> Floats:
        """Dawid-Skene's and MACE's, by their weights."""
        members = zip(self.members, params.members, strict=True)
        return self._mean([member.confusion(of_member) for member, of_member in members], params)

    def history(self, stats: Stats, params: Params) -> Floats:
        """The expected counts of Dawid-Skene and MACE, by their weights."""
        each = self._each(stats, params)
        return self._mean([m.history(sums, of_member) for m, sums, of_member in each], params)

    def _each(self, stats: Stats, params: Params) -> Iterator[tuple[EM[Any, Any], Any, Any]]:
        return zip(self.members, stats.members, params.members, strict=True)

    def _mean(self, matrices: list[Any], params: Params) -> Floats:
        weights = list(self.weights_of(params).values())[1:]
        mean: Floats = np.average(matrices, axis=0, weights=weights)
        return mean


@lru_cache
def _members(tol: float, max_iter: int, seed: int) -> tuple[EM[Any, Any], ...]:
    options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "seed": seed}
    return dawid_skene.DawidSkene(**options), mace.MACE(**options)


def experts(beliefs: list[Floats]) -> Floats:
    """``[task, part, class]``: the vote, and each member at each worth of a vote."""
    vote, *others = beliefs
    tempered = [kernels.temper(belief, worth) for belief in others for worth in VOTE_WORTH]
    return np.stack([vote, *tempered], axis=1)


def mixture(beliefs: list[Floats], weights: Floats) -> Floats:
    """``[task, class]``: the experts' beliefs by their weights."""
    mixed: Floats = np.einsum("tec,e->tc", experts(beliefs), weights)
    return mixed


# How the weights are found.


class Local(NamedTuple):
    """Of a block while votes are held out: those that are kept, those that are held out (and known
    answers with them), and the members' states of the kept ones."""

    kept: Labels
    held_out: Labels
    members: Locals

    @property
    def known(self) -> NDArray[np.intp]:
        """The tasks with known answers."""
        gold = self.held_out.gold
        return np.flatnonzero(gold >= 0) if gold is not None else np.empty(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class _Opening(Phase[Any, Any, Any]):
    auto: Auto

    def sweep_kept(self, params: MemberParams, local: Local) -> tuple[Local, MemberStats]:
        """One step of both members on the kept votes."""
        members = zip(self.auto.members, params, local.members, strict=True)
        (first, one), (second, other) = (m.sweep(local.kept, p, state) for m, p, state in members)
        return local._replace(members=(first, second)), MemberStats(one, other)

    def estimates(self, stats: MemberStats, params: MemberParams) -> MemberParams:
        members = zip(self.auto.members, stats, params, strict=True)
        return MemberParams(*(member.estimate(sums, p) for member, sums, p in members))

    def count_votes(self, block: Labels, local: Locals) -> MemberStats:
        """The members' first statistics, of the vote."""
        members = zip(self.auto.members, local, strict=True)
        return MemberStats(*(FromVote(m).sweep(block, None, state)[1] for m, state in members))

    def first_params(self, stats: MemberStats) -> MemberParams:
        members = zip(self.auto.members, stats, strict=True)
        return MemberParams(*(member.from_vote(sums) for member, sums in members))


class Split(_Opening):
    """A part of the votes is held out, and the members begin from the vote of the others. Known
    answers are held out too. Of a large block the first tasks are enough."""

    def sweep(self, block: Labels, params: None, local: Locals) -> tuple[Local, MemberStats]:
        some = block[: int(np.searchsorted(block.indptr, MOST_HELD))]
        held_out = some.parts(HELD_OUT, self.auto.seed) == 0
        kept = some.only(~held_out, gold=None)
        members = self.auto.begin(kept)
        return Local(kept, some.only(held_out), members), self.count_votes(kept, members)

    def estimate(self, stats: MemberStats, params: None) -> MemberParams:
        return self.first_params(stats)


class FitKept(_Opening):
    """A few steps of both members on the kept votes."""

    @property
    def max_iter(self) -> int:
        return ROUNDS - 1

    def sweep(self, block: Labels, params: MemberParams, local: Local) -> tuple[Local, MemberStats]:
        return self.sweep_kept(params, local)

    def estimate(self, stats: MemberStats, params: MemberParams) -> MemberParams:
        return self.estimates(stats, params)

    def converged(self, steps: Sequence[Step]) -> bool:
        return False


@by_worker("counts")
class Counts(NamedTuple):
    """``counts[worker * n_classes + label, truth]`` of kept votes under the mean belief; how many
    votes are kept and held out, and how many answers known."""

    counts: Floats | Rows
    kept: int
    held_out: int
    known: int


@by_worker("table")
class Predicting(NamedTuple):
    """What held-out votes are predicted with: the members, and how likely each label of a worker is
    for each truth, ``table[worker * n_classes + label, truth]``."""

    members: MemberParams
    table: Floats
    held_out: int
    known: int


class Count(_Opening):
    """How likely workers' labels are, from what they said where they were kept."""

    def sweep(self, block: Labels, params: MemberParams, local: Local) -> tuple[Local, Counts]:
        local, _ = self.sweep_kept(params, local)
        mean: Floats = np.mean(self.auto.beliefs(local.kept, params, local.members), axis=0)
        counts = local.kept.pairs.scatter(mean)
        n_kept, n_held_out = local.kept.n_labels, local.held_out.n_labels
        return local, Counts(counts, n_kept, n_held_out, len(local.known))

    def estimate(self, stats: Counts, params: MemberParams) -> Predicting:
        table = dirichlet.shrunk_to_crowd(dense(stats.counts))
        if not stats.kept:  # there is nothing to predict from
            return Predicting(params, table, 0, 0)
        return Predicting(params, table, stats.held_out, stats.known)


class Likelihoods(NamedTuple):
    """How likely each expert makes some of the held-out votes and known answers, in a row at a
    random place of a table; in a last column how many came to that place."""

    sample: Floats


class Weighted(NamedTuple):
    """The mixture's weights, and the members that they come from."""

    members: MemberParams
    weights: Floats
    held_out: int
    known: int


class Judge(_Opening):
    """The mixture weights under which held-out votes are likeliest."""

    def sweep(self, block: Labels, params: Predicting, local: Local) -> tuple[Local, Likelihoods]:
        held_out, known = local.held_out, local.known
        task = np.concatenate([np.repeat(np.arange(held_out.n_tasks), held_out.n_said), known])
        taken, place = self._sample(task, params, held_out)
        task = task[taken]
        likely = _likely(held_out, taken, task, params.table)
        beliefs = self.auto.beliefs(local.kept, params.members, local.members)
        rows = np.einsum("tec,tc->te", experts([belief[task] for belief in beliefs]), likely)
        rows = np.column_stack([np.maximum(rows, LEAST_LIKELY), np.ones(len(rows))])
        table = np.zeros((PLACES, rows.shape[1]))
        np.add.at(table, place, rows)
        return local, Likelihoods(table)

    def _sample(
        self, task: NDArray[np.intp], params: Predicting, held_out: Labels
    ) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """A random sample of the held-out votes, and the place of each in the table."""
        votes = held_out.vote_keys()
        keys = np.concatenate([votes, held_out.task_keys(task[len(votes) :])])
        chance, place = kernels.hashed_uniform(keys, 2, self.auto.seed).T
        share = np.full(len(task), JUDGED / max(params.held_out + params.known, JUDGED))
        if held_out.weight is not None:
            share[: held_out.n_labels] *= held_out.weight
        taken = np.flatnonzero(chance < share)
        return taken, (place[taken] * PLACES).astype(np.int64)

    def estimate(self, stats: Likelihoods, params: Predicting) -> Weighted:
        weights = np.full(N_EXPERTS, 1 / N_EXPERTS)
        if params.held_out or params.known:
            weights = weights_from(stats.sample)
        return Weighted(params.members, weights, params.held_out, params.known)


def _likely(
    held_out: Labels, taken: NDArray[np.intp], task: NDArray[np.intp], table: Floats
) -> Floats:
    """``[case, truth]``: how likely each vote of the sample is, and each known answer."""
    of_vote = taken[taken < held_out.n_labels]
    likely = np.zeros((len(taken), held_out.n_classes))
    pair = held_out.worker[of_vote] * held_out.n_classes + held_out.label[of_vote]
    likely[: len(of_vote)] = table[pair]
    if held_out.gold is not None:
        known = np.arange(len(of_vote), len(taken))
        likely[known, held_out.gold[task[known]]] = 1.0
    return likely


def weights_from(sample: Floats) -> Floats:
    """The mixture weights, by the votes that have a place of the table to themselves."""
    return dirichlet.mixture_weights(sample[sample[:, -1] == 1, :-1], EVEN)


class FirstStats(NamedTuple):
    """The members' statistics of the vote, and the log-likelihood of known answers at each
    temperature."""

    members: MemberStats
    fits: Floats


class Begin(_Opening):
    """Known answers set the temperature, and the members begin anew, from all votes."""

    def sweep(self, block: Labels, params: Weighted, local: Local) -> tuple[Locals, FirstStats]:
        members = self.auto.begin(block)
        return members, FirstStats(self.count_votes(block, members), self._fits(params, local))

    def _fits(self, params: Weighted, local: Local) -> Floats:
        gold, known = local.held_out.gold, local.known
        if gold is None or not params.known:
            return np.zeros(len(TEMPERATURES))
        beliefs = self.auto.beliefs(local.kept, params.members, local.members)
        mixed = mixture([belief[known] for belief in beliefs], params.weights)
        chosen = np.arange(len(known)), gold[known]
        fits = [kernels.log_or(kernels.temper(mixed, t)[chosen]).sum() for t in TEMPERATURES]
        return np.array(fits)

    def estimate(self, stats: FirstStats, params: Weighted) -> Params:
        return Params(
            self.first_params(stats.members),
            params.weights,
            self._temperature(stats.fits) if params.known else self.auto.temperature or SHARED,
            params.held_out,
            params.known,
        )

    def _temperature(self, fits: Floats) -> float:
        """The given one, or that under which known answers are likeliest, near to SHARED."""
        if self.auto.temperature is not None:
            return float(self.auto.temperature)
        before = KNOWN_WORTH * np.log(TEMPERATURES / SHARED) ** 2 / 2
        return float(TEMPERATURES[np.argmax(fits - before)])


METHODS = (
    Method(
        "auto",
        Auto,
        "The vote, Dawid-Skene and MACE, weighted by the held-out votes each predicts; the"
        " default.",
    ),
)
