"""The members of `auto`: four models that are swept side by side, some of which may be left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from quorate import kernels
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import of_workers
from quorate.models import em, hierarchical, mace, one_coin_bayes, subtypes, two_kinds

NAMES = ("one-coin-bayes", "hierarchical", "mace", "two-kinds")
MATRICES, KINDS = 1, 3  # where they are among the members
EVERYBODY, NOBODY = (True,) * len(NAMES), (False,) * len(NAMES)
IN_TURN = (3, 1, 2, 0)  # whose tables are larger before those whose are smaller
WITHOUT_MATRICES = (True, False, True, False)

Absent = tuple[()]  # in place of what a member has that is left out
Beliefs = tuple[Floats | None, ...]  # the members' posteriors


class MemberParams(NamedTuple):
    one_coin: one_coin_bayes.Params
    hierarchical: hierarchical.Params | Absent
    mace: mace.Params
    two_kinds: two_kinds.Params | Absent


class MemberStats(NamedTuple):
    one_coin: em.Stats | Absent
    hierarchical: em.Stats | Absent
    mace: em.Stats | Absent
    two_kinds: subtypes.Stats | Absent


NO_SUMS = MemberStats((), (), (), ())


class VoteCounts(NamedTuple):
    """The counts of the vote: of right and wrong labels, which are also ``by_truth`` where classes
    are few, and of kinds."""

    counts: em.Stats
    by_truth: em.Stats | Absent
    kinds: subtypes.Stats | Absent


Swept = list[tuple[Any, Any]]  # each member's local state and statistics
Mask = tuple[bool, ...]  # of members


class Settling(NamedTuple):
    """The members' ``log_evidence`` in the round before, and which of them have ``settled``: these
    rest until the last sweep. Who is left out has settled from the beginning."""

    log_evidence: tuple[float, ...]
    settled: Mask

    @classmethod
    def of(cls, params: MemberParams) -> Settling:
        absent = tuple(of_model == () for of_model in params)
        return cls(tuple(0.0 if is_absent else -np.inf for is_absent in absent), absent)

    @property
    def all(self) -> bool:
        return all(self.settled)

    def now(self, stats: MemberStats) -> tuple[float, ...]:
        """The log-probability of the votes by each member; by those that rest, as it was."""
        each = zip(stats, self.log_evidence, strict=True)
        return tuple(before if sums == () else _log_evidence(sums) for sums, before in each)

    def after(self, stats: MemberStats, tol: float, weights: Sequence[float]) -> Settling:
        """Settled are those whose log evidence changes, times their weight, by no more than `tol`,
        relatively: one that weighs little need not be found as exactly. Of those that were not
        swept nothing changes."""
        now = self.now(stats)
        each = zip(self.settled, stats, weights, now, self.log_evidence, strict=True)
        settled = (
            rests or (sums != () and weight * abs(new - old) <= tol * abs(new))
            for rests, sums, weight, new, old in each
        )
        return Settling(now, tuple(settled))


def _log_evidence(sums: Any) -> float:
    of_kinds = isinstance(sums, subtypes.Stats)
    return float(sums.log_evidence if of_kinds else sums.evidence.log_likelihood)


@dataclass(frozen=True)
class Members:
    """Bayesian one-coin, hierarchical Dawid-Skene, MACE and two kinds, in this order."""

    models: tuple[Any, ...]

    @classmethod
    def of(cls, seed: int, bounded: bool = True) -> Members:
        """With bounds of the likelihood that never fall, or without where nobody looks at these."""
        return _members(seed, bounded)

    # Where they begin: the vote, and for kinds the step of agreement that splits tasks.

    def count_vote(self, block: Labels, split: int, present: Sequence[bool]) -> VoteCounts:
        """The first statistics of those that take part, counted once for all that count alike."""
        vote = block.vote_shares()
        evidence = em.Evidence(block.class_sums(vote))
        counts = em.Stats(block.count_right_and_wrong(vote), evidence)
        by_truth: em.Stats | Absent = ()
        kinds: subtypes.Stats | Absent = ()
        if present[MATRICES] and block.n_classes > kernels.FEW_CLASSES:
            by_truth = em.Stats(block.pairs.scatter(vote), evidence)
        if present[KINDS]:
            kinds = two_kinds.Start(self.models[KINDS]).sweep(block, split, vote)[1]
        return VoteCounts(counts, by_truth, kinds)

    def first_params(self, stats: VoteCounts, present: Sequence[bool]) -> MemberParams:
        """The first parameters of those that take part."""
        counts = (stats.counts, stats.by_truth or stats.counts, stats.counts)
        *of_em, kinds = self.models
        params: list[Any] = [
            model.from_vote(sums) if takes_part else ()
            for model, sums, takes_part in zip(of_em, counts, present[:KINDS], strict=True)
        ]
        params.append(kinds.first_params(stats.kinds) if present[KINDS] else ())
        return MemberParams(*params)

    # Their steps.

    def sweep(self, block: Labels, params: MemberParams, resting: Sequence[bool] = NOBODY) -> Swept:
        """One step of those that take part and do not rest."""
        each = zip(self.models, params, resting, strict=True)
        return [
            (None, ()) if of_model == () or rests else model.sweep(block, of_model, None)
            for model, of_model, rests in each
        ]

    def estimate(self, stats: MemberStats, params: MemberParams) -> MemberParams:
        """The next parameters; of those that rest, the same."""
        following: list[Any] = [
            of_model if sums == () else model.estimate(sums, of_model)
            for model, sums, of_model in zip(self.models, stats, params, strict=True)
        ]
        return MemberParams(*following)

    # What they believe.

    def beliefs(self, block: Labels, params: MemberParams, swept: Swept) -> Beliefs:
        return tuple(
            None if of_model == () else model.posterior(block, of_model, state)
            for model, of_model, (state, _) in zip(self.models, params, swept, strict=True)
        )

    def log_predictions(
        self, kept: Labels, held_out: Labels, params: MemberParams, swept: Swept
    ) -> list[Floats]:
        """The log-probability of each held-out vote, by each member's own states of the kept."""
        task, found = held_out.task_of_label(), []
        there, worker = np.unique(held_out.worker, return_inverse=True)
        row = worker * held_out.n_classes + held_out.label  # of those who are there, few of many
        for model, of_model, (state, _) in zip(self.models, params, swept, strict=True):
            states = model.states(kept, of_model, state)[task]
            chances = model.chances(of_workers(of_model, there, held_out.n_workers))[row]
            found.append(kernels.log_or(np.einsum("vk,vk->v", states, chances)))
        return found

    def objectives(
        self, stats: MemberStats, params: MemberParams, before: tuple[float, ...]
    ) -> tuple[float, ...]:
        """The members' objectives; of those that rest, as they were."""
        each = zip(self.models, stats, params, before, strict=True)
        return tuple(
            old if sums == () else model.progress(sums, of_model).objective
            for model, sums, of_model, old in each
        )

    def newcomer(self, stats: MemberStats, params: MemberParams) -> MemberParams:
        more: list[Any] = [
            () if of_model == () else model.newcomer(sums, of_model)
            for model, sums, of_model in zip(self.models, stats, params, strict=True)
        ]
        return MemberParams(*more)

    def present(self, *of_members: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """The members that take part, each with what is given of it; params come last."""
        for row in zip(self.models, *of_members, strict=True):
            if row[-1] != ():
                yield row


def either(*masks: Mask) -> Mask:
    return tuple(map(any, zip(*masks, strict=True)))


def only(member: int) -> Mask:
    return tuple(each == member for each in range(len(NAMES)))


def all_but(member: int) -> Mask:
    return tuple(each != member for each in range(len(NAMES)))


def mixture(beliefs: Sequence[Floats | None], weights: Floats) -> Floats:
    """``[task, class]``: the members' beliefs by their weights."""
    parts = [w * belief for w, belief in zip(weights, beliefs, strict=True) if belief is not None]
    mixed: Floats = np.sum(parts, axis=0)
    return mixed


class UnboundedCoin(one_coin_bayes.OneCoinBayes):
    guarded = False


class UnboundedKinds(two_kinds.TwoKinds):
    bounded = False


@lru_cache
def _members(seed: int, bounded: bool) -> Members:
    coin = one_coin_bayes.OneCoinBayes if bounded else UnboundedCoin
    kinds = two_kinds.TwoKinds if bounded else UnboundedKinds
    return Members(
        (
            coin(seed=seed),
            hierarchical.Hierarchical(seed=seed),
            mace.MACE(prior="root", seed=seed),
            kinds(seed=seed),
        )
    )
