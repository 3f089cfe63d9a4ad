"""A test of independence for `auto`: do votes share more than the truth?

With q the mixture's posterior of kept votes, and T the shares of each worker's labels under it, a
vote's lean is how much more it leans to the posterior than the posterior itself predicts,

    r = q(label) - sum over l and z of q(l) q(z) T[worker, l, z].

If votes are independent given the truth, the leans of a task's held-out votes have nothing to do
with the mean lean f of its kept ones, and the slope of their regression is 0. The dependence is

    delta = (slope - 2 s.e.) / 0.03, from 0 to 1,

with some observations of a slope of 0.3 added, such as most crowds have: where votes are too few to
tell, they are taken for dependent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate import kernels
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import by_worker, dense
from quorate.models import dirichlet
from quorate.models.ladder import Findings, Folds, HoldingOut, Ratio

SURE, FAR = 2.0, 0.03  # delta = (slope - SURE s.e.) / FAR
USUAL_SLOPE, ITS_WORTH = 0.3, 0.15  # of the observations that are added, in sums of squares


@by_worker("counts")
class Counts(NamedTuple):
    """``counts[worker * n_classes + label, truth]`` of kept votes under the mixture."""

    counts: Floats | Rows


@by_worker("shares")
class Table(NamedTuple):
    """T as ``shares[worker * n_classes + label, truth]``."""

    shares: Floats


class Testing(NamedTuple):
    tables: tuple[Table, ...]
    found: Findings


class Count(HoldingOut):
    """What workers say of each truth, by the mixture's posterior of the kept votes."""

    def sweep(
        self, block: Labels, params: Findings, local: Folds | None
    ) -> tuple[Folds | None, tuple[Counts, ...]]:
        if not params.with_matrices:
            return local, ()
        folds = self.mixed(block, params, local)
        return folds, tuple(Counts(fold.kept.pairs.scatter(fold.posterior)) for fold in folds)

    def estimate(self, stats: tuple[Counts, ...], params: Findings) -> Testing:
        tables = (Table(dirichlet.shrunk_to_crowd(dense(each.counts))) for each in stats)
        return Testing(tuple(tables), params)


class Test(HoldingOut):
    """How far votes depend on each other beyond the truth: the slope is the ratio of r f to f²,
    each summed over a task's held-out votes."""

    def sweep(self, block: Labels, params: Testing, local: Folds | None) -> tuple[None, Ratio]:
        if not params.tables:
            return None, Ratio(0.0, 0.0, 0.0, 0.0, 0.0)
        folds = self.mixed(block, params.found, local)
        u, v = np.zeros((2, folds[0].kept.n_tasks))
        for fold, table in zip(folds, params.tables, strict=True):
            f = _means(fold.kept, lean(fold.kept, fold.posterior, table.shares))
            u += f * fold.by_task(lean(fold.held_out, fold.posterior, table.shares))
            v += f**2 * fold.n_held_out()
        return None, Ratio.of(u, v)

    def estimate(self, stats: Ratio, params: Testing) -> Findings:
        usual = stats._replace(u=stats.u + USUAL_SLOPE * ITS_WORTH, v=stats.v + ITS_WORTH)
        found = params.found._replace(members=(), settling=())
        return found._replace(dependence=usual.share_of(FAR, SURE))


def lean(votes: Labels, q: Floats, shares: Floats) -> Floats:
    """r of each vote."""
    task, n_classes = votes.task_of_label(), votes.n_classes
    confusion = shares.reshape(-1, n_classes, n_classes)
    leans: Floats = q[task, votes.label]
    for some in kernels.slices(len(leans), n_classes**2):
        of_task, of_worker = q[task[some]], confusion[votes.worker[some]]
        leans[some] -= np.einsum("vl,vlz,vz->v", of_task, of_worker, of_task, optimize=True)
    return leans


def _means(votes: Labels, values: Floats) -> Floats:
    """The mean of each task's values, by the votes' weights; 0 without votes."""
    weight = kernels.task_sums(votes.indptr, votes.weighted(np.ones(votes.n_labels)))
    sums = kernels.task_sums(votes.indptr, votes.weighted(values))
    means: Floats = sums / np.where(weight > 0, weight, 1.0)
    return means
