"""Two kinds: tasks of a class are of two kinds, and workers are on each what the crowd is.

Tasks of one class can be of two kinds, such as plain and misleading ones, of which workers say
different things. Where a model has one matrix for each worker, it spends its classes on the kinds:
"plain no" against "yes, and misleading no". Here every task has a class z and a kind m of it, and
each worker w a row of label probabilities v[w, zm] for both. Two kinds are twice as many rows to
learn, so a row has a prior of its worker's own, v[w, zm] ~ Dirichlet(kappa pi[w, zm]): what the
crowd says of that kind, times the worker's ratio to the crowd on the class,

    pi[w, zm](label) proportional to M[zm](label) omega[w, z](label) / M[z](label),
    omega[w, z] = (C[w, z] + 4 M[z]) / (n[w, z] + 4),

where M[zm] and M[z] are shares of the expected counts of all workers together, with pseudo-counts
that expect the right label, and C[w, z] are the worker's own, of which there are n[w, z]. It is
EBCC (Y. Li, B. I. P. Rubinstein and T. Cohn, "Exploiting Worker Correlation for Label Aggregation
in Crowdsourcing", ICML 2019) with two subtypes, a prior that is learned, and a start that needs no
luck: the vote, with the tasks on which more voters agree than on most in one kind, and the others
in the other. The belief about a task follows by mean-field variational Bayes, with the sum over
its votes in

    log q(z, m) = E log share[z] + E log tau[m | z] + sum E log v[w, zm](label).

The objective is the bound of the likelihood under the prior of the moment. As that prior follows
the counts, it need not rise at every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from quorate import kernels
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import AnyPhase, Method, Opening, Phase, Room, by_worker, dense
from quorate.models import dirichlet
from quorate.models.subtypes import Stats, SubtypeModel
from quorate.options import option

KINDS = 2
OWN_KIND = 0.7  # the probability that a task begins with in the kind of its agreement
OWN_RATIO = 4.0  # labels of the crowd among a worker's own, where the two are compared
RIGHT, WRONG = 5.0, 1.0  # pseudo-counts of the right and of a wrong label in the crowd's rows
SHARES_PRIOR = 1.0  # pseudo-count of each class, and of each kind of a class
STEPS_OF_AGREEMENT = 100
LEAST_PSEUDO_COUNT = 1e-6


@by_worker("log_rows", "row_counts")
class Params(NamedTuple):
    """``row_counts[worker * n_classes + label, state]``, ``subtype_counts[class, kind]`` and
    ``class_counts[class]`` are the posterior's pseudo-counts; ``log_rows`` and
    ``log_states[state]`` the mean logarithms under it; ``crowd_counts[label, state]``, of all
    workers together, and ``kappa`` make the prior of the rows; ``divergence`` is how far the
    posterior is from the prior."""

    log_rows: Floats
    log_states: Floats
    row_counts: Floats
    subtype_counts: Floats
    class_counts: Floats
    crowd_counts: Floats
    kappa: float
    divergence: float

    @property
    def prior(self) -> Floats:
        """The expected class shares."""
        shares: Floats = self.class_counts / self.class_counts.sum()
        return shares


class Agreement(NamedTuple):
    """``tasks[step]``: how many tasks have this share of their votes for the class with most."""

    tasks: Floats


@dataclass(frozen=True, eq=False)
class TwoKinds(SubtypeModel[Params, Stats]):
    """Rows for each class and kind, drawn around the crowd's; variational and empirical Bayes.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> quorate.fit(quorate.TwoKinds(), labels).answers
        array([0, 1], dtype=int32)
    """

    bounded: ClassVar[bool] = True  # whether the bound is found, which takes as long as a step

    kappa: float | None = option(
        None,
        "The number of labels that the prior counts as in each row of a worker; by default it is"
        " found.",
        at_least=LEAST_PSEUDO_COUNT,
    )

    def room(self, n_workers: int, n_classes: int) -> Room:
        rows = KINDS * n_classes**2
        return Room(2 * rows, rows, 2 * rows)

    # Where it begins: the vote, with kinds by how far voters agree.

    def phases(self, shape: Labels) -> tuple[AnyPhase, ...]:
        return (Opening(count_agreement, even_split), Start(self), self)

    def begin(self, block: Labels) -> Floats:
        return block.vote_shares()

    def first_states(self, block: Labels, split: int) -> Floats:
        """The vote, mostly in the first kind where voters agree, and in the second elsewhere."""
        own = (_agreement(block) < split).astype(np.intp)
        return self.with_subtypes(block.vote_shares(), self.mostly(own, OWN_KIND))

    # M-step: the crowd's rows, kappa, and with them the posterior of workers' rows and of shares.

    def first_params(self, stats: Stats) -> Params:
        return self._learn(stats, self.kappa or dirichlet.FIRST_PRECISION)

    def estimate(self, stats: Stats, params: Params) -> Params:
        return self._learn(stats, params.kappa)

    def _learn(self, stats: Stats, kappa: float) -> Params:
        counts = self.by_worker(dense(stats.rows))
        crowd = _crowd(counts)
        if not self.kappa:
            draws = dirichlet.prior_draws(counts, _row_prior(crowd, kappa))
            kappa = dirichlet.next_precision(draws)
        rows = dirichlet.row_posterior(counts, _row_prior(crowd, kappa))
        kinds = stats.states.reshape(-1, KINDS) + SHARES_PRIOR
        classes = stats.states.reshape(-1, KINDS).sum(axis=1) + SHARES_PRIOR
        log_states = dirichlet.mean_log(classes)[:, None] + dirichlet.mean_log(kinds)
        params = Params(
            log_rows=rows.log_rows,
            log_states=log_states.ravel(),
            row_counts=rows.pseudo_counts,
            subtype_counts=kinds,
            class_counts=classes,
            crowd_counts=crowd,
            kappa=kappa,
            divergence=np.nan,
        )
        if not self.bounded:
            return params
        return params._replace(divergence=self._divergence(counts, params))

    def _divergence(self, counts: Floats, params: Params) -> float:
        prior_of = _row_prior(params.crowd_counts, params.kappa)
        of_rows = dirichlet.row_divergence(
            self.by_worker(params.row_counts),
            self.by_worker(params.log_rows),
            lambda some: prior_of(counts[some]),
        )
        shares = (params.subtype_counts, params.class_counts)
        return of_rows + sum(dirichlet.divergence(each, SHARES_PRIOR) for each in shares)

    def newcomer(self, stats: Stats, params: Params) -> Params:
        """One of whom nothing is known: the crowd's rows, as sure as kappa is."""
        none = np.zeros((1, *params.crowd_counts.shape))
        prior = _row_prior(params.crowd_counts, params.kappa)(none)[0]
        log_prior = dirichlet.mean_log(prior, axis=0)
        return params._replace(
            log_rows=np.concatenate([params.log_rows, log_prior]),
            row_counts=np.concatenate([params.row_counts, prior]),
        )


@dataclass(frozen=True, eq=False)
class Start(Phase[Any, Floats, Stats]):
    """The first count: of the vote, with each task in the kind of its agreement."""

    model: TwoKinds

    def sweep(self, block: Labels, params: int, local: Floats) -> tuple[Floats, Stats]:
        states = self.model.first_states(block, params)
        return states, self.model.count(block, states)

    def estimate(self, stats: Stats, params: int) -> Params:
        return self.model.first_params(stats)


def _agreement(block: Labels) -> Floats:
    """The share of each task's votes for the class with most, in whole steps."""
    shares = kernels.vote_shares(block.indptr, block.label, block.n_classes, block.weight)
    return np.rint(kernels.row_max(shares) * STEPS_OF_AGREEMENT)


def count_agreement(block: Labels, local: Floats | None = None) -> Agreement:
    """The number of labelled tasks at each step of agreement."""
    steps = _agreement(block)[block.n_said > 0].astype(np.intp)
    return Agreement(np.bincount(steps, minlength=STEPS_OF_AGREEMENT + 1).astype(np.float64))


def even_split(agreement: Agreement) -> int:
    """The step from which on there are most nearly half of the tasks: the median, where shares
    are many."""
    at_least = agreement.tasks[::-1].cumsum()[::-1]
    return int(np.abs(at_least - at_least[0] / 2).argmin())


def _crowd(counts: Floats) -> Floats:
    """The counts ``[label, state]`` of all workers together, with pseudo-counts."""
    n_classes = counts.shape[1]
    expected = np.where(np.eye(n_classes, dtype=bool), RIGHT, WRONG)
    crowd: Floats = counts.sum(axis=0) + np.repeat(expected, KINDS, axis=1)
    return crowd


def _row_prior(crowd: Floats, kappa: float) -> dirichlet.RowPrior:
    """kappa pi, from the crowd's counts ``[label, state]`` and those of some workers."""
    by_kind = crowd.reshape(len(crowd), -1, KINDS)
    of_kind = by_kind / by_kind.sum(axis=0)  # M[zm]
    of_class = by_kind.sum(axis=2)
    of_class /= of_class.sum(axis=0)  # M[z]

    def prior(counts: Floats) -> Floats:
        own = kernels.row_sums(counts.reshape(-1, KINDS)).reshape(-1, *of_class.shape)
        ratio = (own + OWN_RATIO * of_class) / of_class  # omega / M, but for a factor of the row
        rows: Floats = (of_kind * ratio[..., None]).reshape(counts.shape)
        rows *= kappa / kernels.label_sums(rows)
        return rows

    return prior


METHODS = (
    Method(
        "two-kinds",
        TwoKinds,
        "Tasks of a class are of two kinds, on each of which workers err as the crowd does.",
        "Li, Rubinstein and Cohn, Exploiting Worker Correlation for Label Aggregation in"
        " Crowdsourcing (2019)",
    ),
)
