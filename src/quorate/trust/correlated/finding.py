"""Correlated workers, found from the votes alone, and the discount of their votes.

Duplicates of a judge outvote the others, become what is taken for the truth, and then look right.
So groups are first made too large, of all workers who nearly always agree: a crowd in which each
group counts once is a smaller crowd, but no biased one. Pairs are tested against its posterior:
workers who agree no more than skills explain are let go, those who agree more form a group, until
the groups stay the same. Where two camps contradict each other, votes cannot tell which of them is
right: a group has to be markedly tighter than any other to be discounted. And those who agree
because they are right are left alone: a group is discounted only if the others rate it worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from quorate import kernels
from quorate.card import Listing, card
from quorate.engines.engine import Engine
from quorate.engines.threads import Threads
from quorate.fitting import Fit, fit_labels
from quorate.kernels import Floats
from quorate.labels import Labels, joined
from quorate.models import DawidSkene
from quorate.models.dawid_skene import by_truth_and_label
from quorate.models.dirichlet import shrunk_to_crowd
from quorate.trust.correlated.agreement import (
    agreeing_pairs,
    first_groups,
    pairs_to_test,
    tight_groups,
)
from quorate.trust.correlated.groups import (
    Group,
    Groups,
    groups_from_pairs,
    representatives,
    same_groups,
    strong_groups,
    vote_weights,
)
from quorate.trust.correlated.pairs import PairCounts, suspects_among
from quorate.trust.correlated.rating import groups_at_fault
from quorate.votes.blocks import Blocks, MemoryBlocks

ROUNDS = 4
MOST_LABELS, MOST_BLOCKS = 500_000, 8  # of the sample that is tested
MOST_CLASSES, MOST_CELLS = 100, 20_000_000  # of confusion matrices


class Independence(NamedTuple):
    """The weight of each vote, None if all count 1, and the groups of correlated workers."""

    weight: Floats | None
    groups: tuple[Group, ...]

    def __repr__(self) -> str:
        if not self.groups:
            return "Independence(no correlated workers)"
        worth = ", ".join(f"{len(g.workers):,} workers worth {g.worth:.1f}" for g in self.groups)
        return f"Independence({len(self.groups):,} groups of correlated workers: {worth})"

    def _repr_html_(self) -> str:
        rows = [
            (len(g.workers), f"{g.worth:.1f}", ", ".join(map(str, g.workers[:10])))
            for g in self.groups
        ]
        columns = ("workers", "worth", "first codes")
        facts = {"groups": f"{len(self.groups):,}"}
        listings = [Listing("Groups", columns, rows)] if rows else []
        return card("Correlated workers", facts, listings)


class CorrelationFit(NamedTuple):
    """A fit in which each group is discounted: the weighted labels, the fit, the confusion matrices
    that pairs were tested against, and the groups."""

    labels: Labels
    result: Fit
    confusion: Floats
    groups: tuple[Group, ...]


def independence(labels: Labels, *, seed: int = 0, engine: Engine | None = None) -> Independence:
    """Find groups of correlated workers, and weight their votes.

    Workers are correlated if they agree more than their skills explain; groups that the others rate
    better are taken for experts, and left alone. One of n votes of a group
    on a task counts 1 / (1 + (n - 1) correlation); fit a model to `replace(labels,
    weight=found.weight)`. It takes a pass over the pairs of workers who share tasks; where some
    share enough, a fit of Dawid-Skene, and up to three more where there are groups. With more than
    half a million labels a random sample of the tasks is tested, drawn by `seed`.

    Examples:
        >>> import numpy as np
        >>> random = np.random.default_rng(0)
        >>> truth = random.integers(2, size=300)
        >>> judges = np.where(random.random((6, 300)) < 0.75, truth, 1 - truth)
        >>> panel = np.concatenate([judges, judges[:1], judges[:1]])
        >>> worker, task = np.indices(panel.shape).reshape(2, -1)
        >>> found = independence(Labels.from_codes(task, worker, panel.ravel()))
        >>> [(group.workers.tolist(), group.correlation) for group in found.groups]
        [([0, 6, 7], 1.0)]
        >>> found.weight[:8].round(2)
        array([0.33, 1.  , 1.  , 1.  , 1.  , 1.  , 0.33, 0.33])
    """
    groups = groups_among(MemoryBlocks(labels), seed, engine or Threads())
    return Independence(vote_weights(labels, groups), groups)


def groups_among(blocks: Blocks, seed: int, engine: Engine) -> Groups:
    """The groups of correlated workers in blocks of votes, wherever these are."""
    shape = blocks.shape
    if not blocks.n_labels or shape.n_classes < 2 or shape.n_workers < 2:
        return ()
    labels = replace(_some_tasks(blocks, seed), weight=None).without_repeats()
    labels = _with_few_classes(labels)
    runs = pairs_to_test(labels, seed)
    if not any(len(pairs.first) for pairs in runs):
        return ()
    return fit_groups(labels, runs, engine).groups


def _some_tasks(blocks: Blocks, seed: int) -> Labels:
    """All tasks, or a random sample from some of the blocks."""
    some = blocks[:: -(-len(blocks) // MOST_BLOCKS)]
    share = MOST_LABELS / blocks.n_labels * len(blocks) / len(some)
    parts = []
    for block in some:
        drawn = kernels.hashed_uniform(block.task_keys(), 1, seed)[:, 0]
        parts.append(block.only_tasks(drawn < share))
    return joined(parts)


def _with_few_classes(labels: Labels) -> Labels:
    """The labels, with all but the most frequent as one where confusion matrices would get too
    large."""
    most = int(np.clip((MOST_CELLS / labels.n_workers) ** 0.5, 2, MOST_CLASSES))
    if labels.n_classes <= most:
        return labels
    rank = np.bincount(labels.label, minlength=labels.n_classes).argsort(kind="stable")[::-1]
    code = np.full(labels.n_classes, most - 1, dtype=np.int32)
    code[rank[: most - 1]] = np.arange(most - 1)
    return labels.with_classes(code, most)


def fit_groups(labels: Labels, runs: Sequence[PairCounts], engine: Engine) -> CorrelationFit:
    """Fit, test the pairs, group those who agree too much; repeat until the groups stay the same.

    Nobody labels a task twice."""
    smoothing = 1 / labels.n_classes  # one count a row in all
    model = DawidSkene(smoothing=smoothing, prior_smoothing=1.0, tol=1e-4, max_iter=30)
    agreeing = agreeing_pairs(labels, runs)
    groups = first_groups(agreeing, labels)
    for _ in range(ROUNDS):
        seen = _fit_once(model, labels, groups, runs, engine)
        tight = tight_groups(strong_groups(seen.groups), agreeing, labels.n_workers)
        before, groups = groups, groups_at_fault(tight, labels)
        if same_groups(before, groups):
            break
    return seen._replace(groups=groups)


def _fit_once(
    model: DawidSkene,
    labels: Labels,
    groups: Groups,
    runs: Sequence[PairCounts],
    engine: Engine,
) -> CorrelationFit:
    weighted = replace(labels, weight=vote_weights(labels, groups))
    result = fit_labels(model, weighted, engine)
    confusion = _confusion(labels, result)
    representative = representatives(groups, labels.n_workers)
    suspects = suspects_among(runs, confusion, result.params.prior, representative)
    first, second, *_ = suspects.pairs
    found = groups_from_pairs(first, second, suspects.copied, labels.n_workers)
    return CorrelationFit(weighted, result, confusion, found)


def _confusion(labels: Labels, result: Fit) -> Floats:
    """Confusion matrices ``[worker, truth, label]``, shrunk to the crowd's, without zeros.

    Little is known of a worker with few labels. All labels of a worker count here, whatever their
    weight."""
    return by_truth_and_label(shrunk_to_crowd(labels.counts(result.posterior)))
