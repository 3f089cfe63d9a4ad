"""The ladder of `auto`: the weights of its members, by how well they predict held-out votes.

A fifth of the votes is held out, the members are fitted to the others, and each predicts the
held-out votes by its own states, p(vote) = sum over k of q(k) p(label | worker, k). By how much
better a higher rung of the ladder predicts a vote than the one below, x = log p_higher - log
p_lower, has a mean and a standard error, for which the votes of a task count as one draw. The rung
is climbed as far as

    climb = (mean x - 3 s.e.) / 0.02, from 0 to 1.

Matrices predict by the mean of hierarchical Dawid-Skene and MACE, and weigh a = 0.2 + 0.7 climb
against one coin. Kinds are compared with hierarchical Dawid-Skene, which is the same with one kind,
and weigh g = 0.6 climb against matrices: 1 - a, a (1 - g) and a g in all. Of what matrices weigh,
hierarchical Dawid-Skene and MACE have a half each, up to three quarters if one of them predicts
better, by the same rule: the one sees workers who err on purpose, the other is less easily fooled
where classes are many and votes few. With few votes each fifth is held out in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from quorate import kernels
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import AnyPhase, Phase, Start, Step, has_large_tables
from quorate.models import two_kinds
from quorate.models.members import (
    EVERYBODY,
    IN_TURN,
    NAMES,
    NOBODY,
    WITHOUT_MATRICES,
    Beliefs,
    Mask,
    MemberParams,
    Members,
    MemberStats,
    Settling,
    Swept,
    VoteCounts,
    all_but,
    either,
    mixture,
    only,
)

SUMMED = 5  # matrices that a sweep of all members sums for each worker
HELD_OUT = 5  # one part in so many of the votes is held out
ENOUGH = 100_000  # votes, of which one part tells enough; with fewer, several are held out in turn
OF_EACH = 30  # votes of a worker, on average, that tell what models make of workers
# Matrices are learned of so many classes at most, and of so many cells for each vote, or in all.
WIDE, CELLS_PER_VOTE, FEW_CELLS = 100, 2, 200_000
SURE, FAR = 3.0, 0.02  # climb = (mean - SURE s.e.) / FAR
LEAST_MATRICES, MORE_MATRICES, MOST_KINDS = 0.2, 0.7, 0.6
EVENLY = (1 / 3,) * len(NAMES)  # as members count before they are weighted
EITHER, MORE_OF_THE_BETTER = 0.5, 0.25  # of what matrices weigh: hierarchical's share, or MACE's


class Fold(NamedTuple):
    """Some tasks with a part of their votes held out; at the end, the members' beliefs of the kept
    ones, and the mixture of these."""

    kept: Labels
    held_out: Labels
    beliefs: Beliefs = ()
    mixed: Floats | None = None

    def by_task(self, values: Floats) -> Floats:
        """The sum of held-out votes' values, by their weights, for each task."""
        return kernels.task_sums(self.held_out.indptr, self.held_out.weighted(values))

    @property
    def posterior(self) -> Floats:
        """The mixture, once it is known."""
        assert self.mixed is not None
        return self.mixed

    def n_held_out(self) -> Floats:
        """The weight of each task's held-out votes."""
        return self.by_task(np.ones(self.held_out.n_labels))


Folds = tuple[Fold, ...]


class Findings(NamedTuple):
    """What the opening phases find, one after the other: whether matrices can be learned; of which
    share of the votes, and how many parts in turn, some are held out; from which step of agreement
    on tasks begin in the first kind, with all votes and in each fold; whether members are swept in
    turn, because their tables are large; the members' parameters in each fold, which of them have
    settled, and who had a turn in this round; then the number of held-out votes, the members'
    weights, and how far votes depend on each other."""

    with_matrices: bool
    share: float
    n_folds: int
    split: int
    in_turn: bool = False
    splits: tuple[int, ...] = ()
    members: tuple[MemberParams, ...] = ()
    settling: tuple[Settling, ...] = ()
    turned: Mask = NOBODY
    held_out: int = 0
    weights: Floats = np.ones(len(NAMES))
    dependence: float = 1.0

    @property
    def candidates(self) -> tuple[bool, ...]:
        """The members that can be learned."""
        return EVERYBODY if self.with_matrices else WITHOUT_MATRICES


@dataclass(frozen=True, eq=False)
class Opening(Phase[Any, Any, Any]):
    """A phase before the fit to all votes, in which each member takes so many steps, or until it
    has settled by `tol`."""

    members: Members
    rounds: int
    tol: float

    @property
    def starts_from(self) -> Start:
        return "nothing"


def in_turn(n_workers: int, n_classes: int) -> bool:
    """Whether members are swept in turn, because their sums would be large side by side."""
    return has_large_tables(n_workers, n_classes, SUMMED)


class Size(NamedTuple):
    """Number of votes, of workers and of classes (the same in every block), whether tables are
    large, and the number of tasks at each step of agreement."""

    blocks: int
    votes: int
    workers: int
    classes: int
    large: int
    agreement: two_kinds.Agreement


class Look(Opening):
    """How many votes there are, and how far they agree."""

    def sweep(self, block: Labels, params: None, local: None) -> tuple[None, Size]:
        agreement = two_kinds.count_agreement(block)
        large = in_turn(block.n_workers, block.n_classes)
        return None, Size(1, block.n_labels, block.n_workers, block.n_classes, large, agreement)

    def estimate(self, stats: Size, params: None) -> Findings:
        votes, n_workers = max(stats.votes, 1), stats.workers // stats.blocks
        n_classes = stats.classes // stats.blocks
        most_cells = max(CELLS_PER_VOTE * votes, FEW_CELLS)
        return Findings(
            with_matrices=n_classes <= WIDE and n_workers * n_classes**2 <= most_cells,
            share=min(1.0, max(ENOUGH, OF_EACH * n_workers) / votes),
            n_folds=int(np.clip(ENOUGH // votes, 1, HELD_OUT)),
            split=two_kinds.even_split(stats.agreement),
            in_turn=stats.large > 0,
        )


class HoldingOut(Opening):
    """A phase in which one part of the votes after the other is held out, of the first tasks of
    each block where there are very many. The folds are those of the phase before, and made anew
    where local states are not kept."""

    @property
    def seed(self) -> int:
        seed: int = self.members.models[0].seed
        return seed

    def folds(self, block: Labels, found: Findings, local: Folds | None) -> Folds:
        if local is not None:
            return local
        some = block[: int(np.searchsorted(block.indptr, found.share * block.n_labels))]
        part = some.parts(HELD_OUT, self.seed)
        nameless = replace(some, task_key=None, worker_key=None)
        return tuple(
            Fold(nameless.only(part != fold), nameless.only(part == fold))
            for fold in range(found.n_folds)
        )

    def mixed(self, block: Labels, found: Findings, local: Folds | None) -> Folds:
        """The folds with the mixture of the members' beliefs, once these have their weights."""
        folds = self.folds(block, found, local)
        if folds[0].mixed is not None:
            return folds
        if folds[0].beliefs == ():
            each = zip(folds, found.members, strict=True)
            folds = tuple(self._believed(fold, of_fold)[0] for fold, of_fold in each)
        return tuple(
            fold._replace(beliefs=(), mixed=mixture(fold.beliefs, found.weights)) for fold in folds
        )

    def _believed(self, fold: Fold, params: MemberParams) -> tuple[Fold, Swept]:
        swept = self.members.sweep(fold.kept, params)
        return fold._replace(beliefs=self.members.beliefs(fold.kept, params, swept)), swept


class Split(HoldingOut):
    """How far the votes that are kept agree."""

    def sweep(
        self, block: Labels, params: Findings, local: None
    ) -> tuple[Folds, tuple[two_kinds.Agreement, ...]]:
        folds = self.folds(block, params, local)
        return folds, tuple(two_kinds.count_agreement(fold.kept) for fold in folds)

    def estimate(self, stats: tuple[two_kinds.Agreement, ...], params: Findings) -> Findings:
        return params._replace(splits=tuple(two_kinds.even_split(each) for each in stats))


class FromVote(HoldingOut):
    """The members begin from the vote of what is kept."""

    def sweep(
        self, block: Labels, params: Findings, local: Folds | None
    ) -> tuple[Folds, tuple[VoteCounts, ...]]:
        folds = self.folds(block, params, local)
        return folds, tuple(
            self.members.count_vote(fold.kept, split, params.candidates)
            for fold, split in zip(folds, params.splits, strict=True)
        )

    def estimate(self, stats: tuple[VoteCounts, ...], params: Findings) -> Findings:
        first = tuple(self.members.first_params(sums, params.candidates) for sums in stats)
        return params._replace(members=first, settling=tuple(map(Settling.of, first)))


class FitKept(HoldingOut):
    """As many steps of the members as they take with all votes; none of those that have
    settled."""

    @property
    def max_iter(self) -> int:
        return max(self.rounds - 1, 1)

    def parts(self, params: Findings) -> Sequence[AnyPhase]:
        """In turn, all that have not settled in every fold."""
        settled = [all(each) for each in zip(*(s.settled for s in params.settling), strict=True)]
        if all(settled):
            return ()
        going_on = [member for member in IN_TURN if not settled[member]]
        first = going_on[:-1] if params.in_turn else ()
        return (*(KeptTurn(self, member) for member in first), self)

    def sweep(
        self, block: Labels, params: Findings, local: Folds | None
    ) -> tuple[Folds | None, tuple[MemberStats, ...]]:
        if all(each.all for each in params.settling):  # of one threshold among others
            return local, ()
        folds = self.folds(block, params, local)
        swept = (
            self.members.sweep(fold.kept, of_fold, either(settling.settled, params.turned))
            for fold, of_fold, settling in zip(folds, params.members, params.settling, strict=True)
        )
        return folds, tuple(MemberStats(*(stats for _, stats in each)) for each in swept)

    def estimate(self, stats: tuple[MemberStats, ...], params: Findings) -> Findings:
        if not stats:
            return params
        following = (
            self.members.estimate(sums, of_fold)
            for sums, of_fold in zip(stats, params.members, strict=True)
        )
        settling = (
            before.after(sums, self.tol, EVENLY)
            for sums, before in zip(stats, params.settling, strict=True)
        )
        return params._replace(members=tuple(following), settling=tuple(settling), turned=NOBODY)

    def converged(self, steps: Sequence[Step]) -> bool:
        return False


@dataclass(frozen=True, eq=False)
class KeptTurn(AnyPhase):
    """One member's part of a round."""

    whole: FitKept
    member: int

    @property
    def starts_from(self) -> Start:
        return "nothing"

    def sweep(
        self, block: Labels, params: Findings, local: Folds | None
    ) -> tuple[Folds | None, tuple[MemberStats, ...]]:
        return self.whole.sweep(block, params._replace(turned=all_but(self.member)), local)

    def estimate(self, stats: tuple[MemberStats, ...], params: Findings) -> Findings:
        turned = either(params.turned, only(self.member))
        return self.whole.estimate(stats, params)._replace(turned=turned)


class Ratio(NamedTuple):
    """Sums over tasks, each of which is one draw of u and v, for the ratio of the sum of u to that
    of v and its standard error."""

    u: float
    v: float
    uu: float
    uv: float
    vv: float

    @classmethod
    def of(cls, u: Floats, v: Floats) -> Ratio:
        """Without BLAS, whose threads would wait for each other, and whose bits differ."""
        sums = (np.add.reduce(each) for each in (u, v, u * u, u * v, v * v))
        return cls(*map(float, sums))

    @property
    def value(self) -> float:
        return self.u / (self.v or 1.0)

    @property
    def error(self) -> float:
        """The standard error."""
        spread = self.uu - 2 * self.value * self.uv + self.value**2 * self.vv
        return float(max(spread, 0.0) ** 0.5 / (self.v or 1.0))

    def share_of(self, far: float, sure: float) -> float:
        """The ratio less so many standard errors, as a share of what is far, from 0 to 1."""
        return float(np.clip((self.value - sure * self.error) / far, 0, 1))

    def side_of(self, far: float, sure: float) -> float:
        """The same for a ratio of either sign, from -1 to 1."""
        opposite = self._replace(u=-self.u, uv=-self.uv)
        return self.share_of(far, sure) - opposite.share_of(far, sure)


class Rungs(NamedTuple):
    """Number of held-out votes, and how much better a vote is predicted by matrices than by one
    coin, by kinds than by hierarchical Dawid-Skene, and by the latter than by MACE."""

    held_out: int
    matrices: Ratio
    kinds: Ratio
    hierarchical: Ratio


class Judge(HoldingOut):
    """The weights, by how well the members predict held-out votes."""

    def sweep(self, block: Labels, params: Findings, local: Folds | None) -> tuple[Folds, Rungs]:
        folds = self.folds(block, params, local)
        matrices, kinds, either, n = np.zeros((4, folds[0].kept.n_tasks))
        judged = []
        for fold, of_fold in zip(folds, params.members, strict=True):
            believed, swept = self._believed(fold, of_fold)
            judged.append(believed)
            n += fold.n_held_out()
            if params.with_matrices:
                one_coin, hierarchical, mace, two_kinds = self.members.log_predictions(
                    fold.kept, fold.held_out, of_fold, swept
                )
                evenly = np.logaddexp(hierarchical, mace) - np.log(2)
                matrices += fold.by_task(evenly - one_coin)
                kinds += fold.by_task(two_kinds - hierarchical)
                either += fold.by_task(hierarchical - mace)
        held_out = sum(fold.held_out.n_labels for fold in folds)
        return tuple(judged), Rungs(held_out, *(Ratio.of(x, n) for x in (matrices, kinds, either)))

    def estimate(self, stats: Rungs, params: Findings) -> Findings:
        a = LEAST_MATRICES + MORE_MATRICES * stats.matrices.share_of(FAR, SURE)
        g = MOST_KINDS * stats.kinds.share_of(FAR, SURE)
        h = EITHER + MORE_OF_THE_BETTER * stats.hierarchical.side_of(FAR, SURE)
        weights = np.array([1 - a, a * (1 - g) * h, a * (1 - g) * (1 - h), a * g])
        if not params.with_matrices:  # MACE alone stands for them
            weights = np.array([1 - a, 0.0, a, 0.0])
        return params._replace(weights=weights, held_out=stats.held_out)
