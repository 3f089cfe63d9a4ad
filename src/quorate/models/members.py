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
from quorate.models import em, hierarchical, mace, one_coin_bayes, subtypes, two_kinds

NAMES = ("one-coin-bayes", "hierarchical", "mace", "two-kinds")
WITH_MATRICES = (False, True, False, True)

Absent = tuple[()]  # in place of what a member has that is left out
Beliefs = tuple[Floats | None, ...]  # the members' posteriors


class MemberParams(NamedTuple):
    one_coin: one_coin_bayes.Params
    hierarchical: hierarchical.Params | Absent
    mace: mace.Params
    two_kinds: two_kinds.Params | Absent


class MemberStats(NamedTuple):
    one_coin: em.Stats
    hierarchical: em.Stats | Absent
    mace: em.Stats
    two_kinds: subtypes.Stats | Absent


Swept = list[tuple[Any, Any]]  # each member's local state and statistics


@dataclass(frozen=True)
class Members:
    """Bayesian one-coin, hierarchical Dawid-Skene, MACE and two kinds, in this order."""

    models: tuple[Any, ...]

    @classmethod
    def of(cls, seed: int, bounded: bool = True) -> Members:
        """With their bounds of the likelihood, or without where nobody looks at these."""
        return _members(seed, bounded)

    # Where they begin: the vote, and for kinds the step of agreement that splits tasks.

    def count_vote(self, block: Labels, split: int, with_matrices: bool) -> MemberStats:
        """The first statistics, with or without the members that have confusion matrices."""
        vote = block.vote_shares()
        stats: list[Any] = [
            () if matrices and not with_matrices else _opening(model).sweep(block, split, vote)[1]
            for model, matrices in zip(self.models, WITH_MATRICES, strict=True)
        ]
        return MemberStats(*stats)

    def first_params(self, stats: MemberStats, weights: Floats) -> MemberParams:
        """The first parameters of those that weigh something."""
        each = zip(self.models, stats, weights, strict=True)
        params: list[Any] = [
            () if sums == () or not weight else _opening(model).estimate(sums, None)
            for model, sums, weight in each
        ]
        return MemberParams(*params)

    # Their steps.

    def sweep(self, block: Labels, params: MemberParams) -> Swept:
        return [
            (None, ()) if of_model == () else model.sweep(block, of_model, None)
            for model, of_model in zip(self.models, params, strict=True)
        ]

    def estimate(self, stats: MemberStats, params: MemberParams) -> MemberParams:
        following: list[Any] = [
            () if of_model == () else model.estimate(sums, of_model)
            for model, sums, of_model in zip(self.models, stats, params, strict=True)
        ]
        return MemberParams(*following)

    def log_evidence(self, stats: MemberStats) -> float:
        """The log-probability of the votes, summed over the members."""
        *of_em, of_kinds = stats
        found = sum(sums.evidence.log_likelihood for sums in of_em if isinstance(sums, em.Stats))
        return found + (of_kinds.log_evidence if isinstance(of_kinds, subtypes.Stats) else 0.0)

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
        for model, of_model, (state, _) in zip(self.models, params, swept, strict=True):
            states = model.states(kept, of_model, state)[task]
            chances = model.chances(of_model)[held_out.pair]
            found.append(kernels.log_or(np.einsum("vk,vk->v", states, chances)))
        return found

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


def mixture(beliefs: Sequence[Floats | None], weights: Floats) -> Floats:
    """``[task, class]``: the members' beliefs by their weights."""
    parts = [w * belief for w, belief in zip(weights, beliefs, strict=True) if belief is not None]
    mixed: Floats = np.sum(parts, axis=0)
    return mixed


def _opening(model: Any) -> Any:
    """The phase of a model that counts the vote."""
    return two_kinds.Start(model) if isinstance(model, two_kinds.TwoKinds) else em.FromVote(model)


class Unbounded(two_kinds.TwoKinds):
    bounded = False


@lru_cache
def _members(seed: int, bounded: bool) -> Members:
    kinds = two_kinds.TwoKinds if bounded else Unbounded
    return Members(
        (
            one_coin_bayes.OneCoinBayes(seed=seed),
            hierarchical.Hierarchical(seed=seed),
            mace.MACE(prior="root", seed=seed),
            kinds(seed=seed),
        )
    )
