"""Auto: a ladder of models, climbed as far as held-out votes of these very data bear it.

No model of a crowd is the best for every crowd, and one that assumes too little is fooled by few
votes. So models stand on three rungs, each of which assumes less than the one below:

    one coin    each worker is right with one probability (Bayesian one-coin)
    matrices    each worker has habits: a confusion matrix drawn around the crowd's (hierarchical
                Dawid-Skene), or labels that come when the worker spams (MACE); both of them
    kinds       tasks of a class are of two kinds, on which workers err differently (two kinds)

How much each rung weighs, held-out votes say: see `ladder`. Each model takes a few steps from the
vote, until it has settled; more of them serve no crowd better on public data.

Models that take votes for independent are too sure of a crowd that shares errors. How far it does,
delta from 0 to 1, is tested on held-out votes too: see `independence`. The posterior of independent
votes stays as it is. As delta grows to 1, that of each model, P, becomes the mean of P, P^1/2 and
P^1/4 (a vote counts as a whole, a half, a quarter of one), a tenth of the mixture goes to the plain
vote, and its log-odds are divided by a temperature of 1 + 0.3 delta.

What held-out votes tell is a matter of votes: where answers are known, weights and delta are those
found without them, once, for all fits that hide some of them (see `crossfit`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from quorate import kernels
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import AnyPhase, Calibration, Method, Model, Room, Start, Step, Ties
from quorate.models import independence, ladder
from quorate.models.ladder import Findings
from quorate.models.members import (
    IN_TURN,
    NAMES,
    NO_SUMS,
    NOBODY,
    Beliefs,
    Mask,
    MemberParams,
    Members,
    MemberStats,
    Settling,
    VoteCounts,
    all_but,
    either,
    mixture,
    only,
)
from quorate.options import option

STEPS = 10  # that each model takes, unless it has settled before
LITTLE = 0.01  # a weight below which a model is left out
VOTE_SHARE, WARMER = 0.1, 0.3
INDEPENDENT_SPREAD, MORE_SPREAD = 0.3, 0.55  # of errors' log-odds, by simulated and real crowds

# What held-out votes told: the members' weights, delta, and how many votes there were.
Judgement = tuple[tuple[float, ...], float, int]

NOTHING_HELD_OUT = "No vote could be held out to weight the models by."


class Params(NamedTuple):
    """The members' parameters; their ``weights``, and the ``dependence`` of votes (delta); the
    number of votes that were held out for these; which members have settled, with which
    objectives, and the number of rounds so far; where members are swept ``in_turn``, because their
    tables are large, who had a turn in this round, and in the last one their statistics."""

    members: MemberParams
    weights: Floats
    dependence: float
    held_out: int
    settling: Settling
    objectives: tuple[float, ...] = (0.0,) * len(NAMES)
    rounds: int = 0
    in_turn: bool = False
    turned: Mask = NOBODY
    sums: MemberStats = NO_SUMS


class Stats(NamedTuple):
    """The members' statistics, none of those that rest or had a turn, and in the last sweep on how
    many tasks their answers differ."""

    members: MemberStats
    differ: int = 0


@dataclass(frozen=True, eq=False)
class Auto(Model[Params, Beliefs | None, Stats]):
    """One coin, confusion matrices, kinds of task: as much as held-out votes bear; the default.

    The posterior is a mixture of the members', softened as far as votes are found to depend on each
    other. `objective` is the sum of the members' objectives.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> result = quorate.fit(quorate.Auto(), labels)
        >>> result.answers
        array([0, 1], dtype=int32)
        >>> list(result.model.weights_of(result.params))
        ['one-coin-bayes', 'hierarchical', 'mace', 'two-kinds']
    """

    params_type: ClassVar[Any] = Params
    stats_type: ClassVar[Any] = Stats
    takes_weights: ClassVar[bool] = True

    temperature: float | None = option(
        None,
        "By how much to divide the mixture's log-odds; by default 1 where votes are independent, up"
        " to 1.3 where they are not.",
        at_least=0.1,
    )
    tol: float = option(
        3e-4,
        "A model takes no more steps when its log-probability of the votes changes by less,"
        " relatively and times its weight.",
        at_least=0,
    )
    max_iter: int = option(
        STEPS, "Maximum number of iterations of each model: more serve no crowd better.", at_least=1
    )
    ties: Ties = option("random", "How ties are broken: first, random by seed, or shared.")
    seed: int = option(0, "Seed for which votes are held out, and for ties.", at_least=0)
    judgement: Judgement | None = field(default=None, repr=False)  # by an earlier fit

    def judged(self, params: Params) -> Auto:
        """The model with the weights and the dependence of a fit, for which no votes are held out
        again."""
        weights = tuple(params.weights.tolist())
        return replace(self, judgement=(weights, params.dependence, params.held_out))

    def n_matrices(self, n_classes: int) -> int:
        """Those of the members, and one to test independence with."""
        if n_classes > ladder.WIDE:
            return 0
        return 1 + sum(int(model.n_matrices(n_classes)) for model in self.members.models)

    def room(self, n_workers: int, n_classes: int) -> Room:
        """The members' parameters, and sums of one or of all at a time."""
        of_members = self.members.models if n_classes <= ladder.WIDE else self.members.models[::2]
        held, summed, made = zip(*(m.room(n_workers, n_classes) for m in of_members), strict=True)
        if ladder.in_turn(n_workers, n_classes):
            return Room(sum(held), max(summed), max(made))
        return Room(sum(held), sum(summed), sum(made))

    @property
    def starts_from(self) -> Start:
        return "nothing"

    @property
    def members(self) -> Members:
        return Members.of(self.seed)

    def phases(self, shape: Labels) -> tuple[AnyPhase, ...]:
        opening: tuple[type[ladder.Opening], ...] = (
            *(ladder.Look, ladder.Split, ladder.FromVote, ladder.FitKept, ladder.Judge),
            *(independence.Count, independence.Test),
        )
        members = Members.of(self.seed, bounded=False)
        begin = Begin(self.members, self.max_iter, self.tol, self.judgement)
        if self.judgement is not None:
            opening = opening[:1]
        return (*(phase(members, self.max_iter, self.tol) for phase in opening), begin, self)

    # The fit of the members to all votes.

    def parts(self, params: Params) -> Sequence[AnyPhase]:
        """In turn, all that have not settled; in the last round all."""
        resting = NOBODY if self.is_last(params) else params.settling.settled
        swept = [m for m in IN_TURN if params.members[m] != () and not resting[m]]
        first = swept[:-1] if params.in_turn else ()
        return (*(Turn(self, member) for member in first), self)

    def sweep(
        self, block: Labels, params: Params, local: Beliefs | None
    ) -> tuple[Beliefs | None, Stats]:
        """One step of the members that have not settled; in the last sweep, of which the beliefs
        are kept, one of all."""
        is_last, turned = self.is_last(params), params.turned
        resting = NOBODY if is_last else either(params.settling.settled, turned)
        swept = self.members.sweep(block, params.members, resting)
        counted = (() if had else sums for (_, sums), had in zip(swept, turned, strict=True))
        stats = MemberStats(*counted)
        if not is_last:
            return None, Stats(stats)
        beliefs = self.members.beliefs(block, params.members, swept)
        return beliefs, Stats(stats, _differ(beliefs))

    def is_last(self, params: Params) -> bool:
        """Whether this is the last round."""
        return params.settling.all or params.rounds + 1 >= self.max_iter

    def estimate(self, stats: Stats, params: Params) -> Params:
        settling = params.settling.after(stats.members, self.tol, params.weights.tolist())
        objectives = params.objectives
        if params.in_turn or settling.settled != params.settling.settled:
            objectives = self.objectives(stats, params)
        return params._replace(
            members=self.members.estimate(stats.members, params.members),
            settling=settling,
            objectives=objectives,
            rounds=params.rounds + 1,
            turned=NOBODY,
        )

    def objectives(self, stats: Stats, params: Params) -> tuple[float, ...]:
        """The members' objectives; of those that were not swept, the last ones."""
        return self.members.objectives(stats.members, params.members, params.objectives)

    def progress(self, stats: Stats, params: Params) -> Step:
        all_steps = params.rounds + 1 >= max(STEPS, self.max_iter)
        unfinished = not (params.settling.all or all_steps)
        return Step(sum(self.objectives(stats, params)), None, unfinished=unfinished)

    def converged(self, steps: Sequence[Step]) -> bool:
        """When the models have settled, or have taken all their steps, of which a lower `max_iter`
        leaves some out."""
        return not steps[-1].unfinished

    # What is believed.

    def posterior(self, block: Labels, params: Params, local: Beliefs | None) -> Floats:
        assert local is not None
        delta = params.dependence
        mixed = mixture([_softened(belief, delta) for belief in local], params.weights)
        mixed *= 1 - VOTE_SHARE * delta
        mixed += VOTE_SHARE * delta * block.vote_shares()
        return block.with_known(kernels.temper(mixed, self._temperature(params)))

    def _temperature(self, params: Params) -> float:
        return self.temperature or 1 + WARMER * params.dependence

    def learned(
        self, block: Labels, params: Params, local: Beliefs | None, posterior: Floats
    ) -> Floats:
        """The mixture as it is: what workers are judged by, whose errors on many tasks even out."""
        assert local is not None
        return block.with_known(mixture(local, params.weights))

    def calibration(self, params: Params) -> Calibration:
        """Confidences of an independent crowd were off by less than those of one that is not."""
        return Calibration(0.0, INDEPENDENT_SPREAD + MORE_SPREAD * params.dependence)

    def newcomer(self, stats: Stats, params: Params) -> Params:
        sums = _all_sums(stats.members, params)
        return params._replace(members=self.members.newcomer(sums, params.members))

    def confusion(self, params: Params) -> Floats:
        """The members', by their weights."""
        present = self.members.present(params.members)
        return _mean((model.confusion(of_model) for model, of_model in present), params)

    def history(self, stats: Stats, params: Params) -> Floats:
        """The members' expected counts, by their weights."""
        present = self.members.present(_all_sums(stats.members, params), params.members)
        return _mean((model.history(sums, of_model) for model, sums, of_model in present), params)

    # What there is to say.

    def mixture(self, stats: Stats, params: Params) -> dict[str, Any]:
        return {
            "weights": self.weights_of(params),
            "why": self.why(params),
            "dependence": params.dependence,
            "temperature": self._temperature(params),
            "held_out_votes": params.held_out,
            "tasks_that_differ": stats.differ,
        }

    def weights_of(self, params: Params) -> dict[str, float]:
        """The weight of each member."""
        return dict(zip(NAMES, params.weights.tolist(), strict=True))

    def why(self, params: Params) -> str:
        """Why the weights are what they are."""
        if not params.held_out:
            return NOTHING_HELD_OUT
        one_coin, matrices, _, kinds = params.weights
        if not matrices:
            return "There are too few votes for a confusion matrix of each worker."
        if kinds:
            found = "two kinds of task for each class predict them better still than matrices"
        elif 2 * matrices > one_coin:
            found = "confusion matrices predict them better than one accuracy for each worker"
        else:
            found = "confusion matrices predict them little or no better than one accuracy each"
        return f"Of {params.held_out:,} votes that were held out, {found}."

    def notes(self, params: Params) -> tuple[str, ...]:
        return () if params.held_out else (NOTHING_HELD_OUT,)


@dataclass(frozen=True, eq=False)
class Turn(AnyPhase):
    """One member's part of a round."""

    auto: Auto
    member: int

    @property
    def starts_from(self) -> Start:
        return "nothing"

    def sweep(self, block: Labels, params: Params, local: None) -> tuple[None, Stats]:
        swept = self.auto.members.sweep(block, params.members, all_but(self.member))
        return None, Stats(MemberStats(*(sums for _, sums in swept)))

    def estimate(self, stats: Stats, params: Params) -> Params:
        turned = either(params.turned, only(self.member))
        if not self.auto.is_last(params):
            return self.auto.estimate(stats, params)._replace(turned=turned, rounds=params.rounds)
        objectives = self.auto.objectives(stats, params)
        sums = _all_sums(stats.members, params)
        return params._replace(turned=turned, objectives=objectives, sums=sums)


@dataclass(frozen=True, eq=False)
class Begin(ladder.Opening):
    """The members that weigh something begin anew, from all votes."""

    judgement: Judgement | None

    def sweep(self, block: Labels, params: Findings, local: None) -> tuple[None, VoteCounts]:
        weights = self._judged(params)[0]
        return None, self.members.count_vote(block, params.split, (weights > 0).tolist())

    def estimate(self, stats: VoteCounts, params: Findings) -> Params:
        weights, dependence, held_out = self._judged(params)
        members = self.members.first_params(stats, (weights > 0).tolist())
        settling = Settling.of(members)
        return Params(members, weights, dependence, held_out, settling, in_turn=params.in_turn)

    def _judged(self, found: Findings) -> tuple[Floats, float, int]:
        """What held-out votes told, without the weights of those that weigh little."""
        told = self.judgement or (found.weights, found.dependence, found.held_out)
        weights = np.where(np.array(told[0]) < LITTLE, 0.0, told[0])
        return weights / weights.sum(), *told[1:]


def _all_sums(sums: MemberStats, params: Params) -> MemberStats:
    """The members' statistics, with those of members that had their turn before."""
    each: Any = zip(sums, params.sums, strict=True)
    return MemberStats(*(before if now == () else now for now, before in each))


def _softened(belief: Floats | None, delta: float) -> Floats | None:
    """P, which becomes the mean of its powers as delta grows to 1."""
    if belief is None or not delta:
        return belief
    half, quarter = np.sqrt(belief), np.sqrt(np.sqrt(belief))
    for power in (half, quarter):
        power /= kernels.row_sums(power)[:, None]
    softened: Floats = (1 - delta) * belief + delta / 3 * (belief + half + quarter)
    return softened


def _differ(beliefs: Beliefs) -> int:
    best = [kernels.tied(belief) for belief in beliefs if belief is not None]
    return int((~np.logical_and.reduce(best).any(axis=1)).sum())


def _mean(matrices: Iterable[Floats], params: Params) -> Floats:
    weights = [w for w, p in zip(params.weights, params.members, strict=True) if p != ()]
    mean: Floats = np.average(list(matrices), axis=0, weights=weights)
    return mean


METHODS = (
    Method(
        "auto",
        Auto,
        "One coin, confusion matrices, kinds of task: as much as held-out votes bear; the default.",
    ),
)
