"""Rank-one completion: workers' skills from how often they agree with each other.

Y. Ma, A. Olshevsky, V. Saligrama and C. Szepesvari, "Gradient Descent for Sparse Rank-One Matrix
Completion for Crowd-sourced Aggregation of Sparsely Interacting Workers" (ICML 2018).

Workers with skills ``s`` in [-1, 1] who are right independently agree, beyond chance, at the rate
``s_i s_j``. So the sparse matrix of agreements, weighted by how often two workers met, is completed
by one of rank one, and the skills' log-odds weigh the votes. The pairs of labels that met are the
fold's first statistic; all else about agreement is a sum of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array, triu

from quorate import kernels
from quorate.errors import require_choice, require_number
from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.model import Step, Ties
from quorate.models.one_coin import one_coin_confusion

VARIANTS = ("one-skill", "one-vs-rest", "beyond-chance")
START = 0.5  # a skill in the positive orthant, as Theorem 2 asks
MOST = 1 - 1e-12  # without a margin too, no one's log-odds are infinite


class Params(NamedTuple):
    """``skill[worker, column]`` has one column, or one for each class; ``evidence`` is what a row
    (worker, label) adds to each class's score; ``met[worker]`` is the paper's N_i."""

    variant: int
    skill: Floats
    evidence: Floats
    met: Floats
    prior: Floats
    loss: float
    moved: float
    sweeps: int


class Candidates(NamedTuple):
    """Ways to treat many classes, and the crowd's confusion by each, once that is known."""

    ways: tuple[Params, ...]
    crowd: tuple[Floats, ...] = ()


class Meetings(NamedTuple):
    """``pairs[a, b]``: how often the (worker, label) of row ``a`` met that of column ``b`` > ``a``
    on a task. Known answers are labels of one more worker."""

    pairs: csr_array
    labels: Floats


class Reading(NamedTuple):
    """By each candidate: labels said of the class that the task's other labels point to
    ``[way, class, label]``, and the log-probability of labels given the others."""

    said: Floats
    log_score: Floats


class Stats(NamedTuple):
    classes: Floats


@dataclass(frozen=True, eq=False)
class RankOne:
    """Skills by projected gradient on the agreements of workers; votes weighted by their log-odds.

    The belief is the softmax of the weighted votes: with two classes the posterior of workers with
    those skills, and with one skill for each class the belief that this class and no other is
    true. `objective` is minus the weighted squared loss of the agreements.

    Options:
        variant: what becomes of more than two classes. ``"one-skill"``: a worker errs evenly among
            the other classes; ``"one-vs-rest"``: a skill for each class against the others;
            ``"beyond-chance"``: the same, from agreement beyond that of the class's share of the
            labels; ``"auto"``: whichever lets a task's labels best predict each other.
        margin: tau of the paper: skills stay within ``1 - tau / sqrt(N_i)``, where ``N_i`` is how
            often worker i met others.
        order: ``"together"``: all workers step at once, half way, and back where a component's loss
            would rise; ``"in-turn"``: one after the other, as in the paper, many times slower.
        tol: stop when no skill moves by more.
        max_sweeps: at most so many steps of each worker.
        ties: how `result.labels` breaks ties: ``"random"`` by seed, ``"first"`` or ``"shared"``.
        seed: for ties broken at random.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> quorate.fit(quorate.RankOne(), labels).params.skill[:, 0].round(2)
        array([0.5, 0.5, 0. ])
    """

    params_type: ClassVar[type[Params]] = Params
    stats_type: ClassVar[type[Stats]] = Stats

    variant: Literal["auto", "one-skill", "one-vs-rest", "beyond-chance"] = "auto"
    margin: float = 1.0
    order: Literal["together", "in-turn"] = "together"
    tol: float = 1e-8
    max_sweeps: int = 1000
    ties: Ties = "random"
    seed: int = 0

    def __post_init__(self) -> None:
        require_choice("variant", self.variant, ("auto", *VARIANTS))
        require_choice("order", self.order, ("together", "in-turn"))
        require_choice("ties", self.ties, ("first", "random", "shared"))
        require_number("margin", self.margin, at_least=0)
        require_number("tol", self.tol, at_least=0)
        require_number("max_sweeps", self.max_sweeps, at_least=1)
        require_number("seed", self.seed, at_least=0)

    @property
    def max_iter(self) -> int:
        """Sweeps over the votes after the first: two to choose a variant, and the last."""
        return 3

    def start(self, labels: Labels) -> None:
        return None

    def begin(self, block: Labels) -> Floats:
        return block.vote_shares()

    def sweep(
        self, block: Labels, params: Params | Candidates | None, local: Floats
    ) -> tuple[Floats, Meetings | Reading | Stats]:
        if params is None:
            return local, _meetings(_with_gold_as_a_worker(block))
        if isinstance(params, Candidates):
            return local, _read(block, params)
        posterior = self._believe(block, params)
        return posterior, Stats(block.class_sums(posterior))

    def estimate(
        self, stats: Meetings | Reading | Stats, params: Params | Candidates | None
    ) -> Params | Candidates:
        if isinstance(params, Params):
            return params
        if isinstance(stats, Meetings):
            n_classes = len(stats.labels)
            several = self.variant == "auto" and n_classes > 2
            chosen = "one-skill" if self.variant == "auto" or n_classes <= 2 else self.variant
            graph = _Graph.of(stats.pairs, n_classes, self.margin)
            share = stats.labels / stats.labels.sum()
            variants = VARIANTS if several else (chosen,)
            ways = tuple(self._solve(graph, share, variant) for variant in variants)
            return Candidates(ways) if several else ways[0]
        assert isinstance(stats, Reading) and params is not None
        if params.crowd:
            return params.ways[int(stats.log_score.argmax())]
        total = stats.said.sum(axis=2, keepdims=True)
        return params._replace(crowd=tuple(stats.said / np.where(total > 0, total, 1)))

    def progress(self, stats: object, params: Params | Candidates) -> Step:
        if isinstance(params, Candidates):
            return Step(-params.ways[0].loss, None)
        return Step(-params.loss, None, moved=params.moved)

    def converged(self, steps: Sequence[Step]) -> bool:
        return steps[-1].moved <= self.tol

    def posterior(self, block: Labels, params: Params, local: Floats) -> Floats:
        return local

    def newcomer(self, stats: Stats, params: Params) -> Params:
        skill = np.concatenate([params.skill, _average(params.skill, params.met)])
        met = np.append(params.met, 0.0)
        evidence = _evidence(skill, len(params.prior))
        return params._replace(skill=skill, met=met, evidence=evidence)

    def confusion(self, params: Params) -> Floats | None:
        """Of one skill for each worker; skills against the rest do not make up a matrix."""
        if params.skill.shape[1] > 1:
            return None
        n_classes = len(params.prior)
        accuracy = (1 + (n_classes - 1) * params.skill[:, 0]) / n_classes
        return one_coin_confusion(np.maximum(accuracy, 0.0), n_classes)

    def history(self, stats: Stats, params: Params) -> None:
        return None

    def log_joint(self, block: Labels, params: Params) -> Floats:
        """What the votes add up to, for each task and class."""
        return block.pairs.gather(params.evidence)

    def _believe(self, block: Labels, params: Params) -> Floats:
        posterior, _ = kernels.normalise(self.log_joint(block, params))
        if block.gold is not None:
            known = block.gold >= 0
            posterior[known] = np.eye(block.n_classes)[block.gold[known]]
        return posterior

    def _solve(self, graph: _Graph, share: Floats, variant: str) -> Params:
        """Algorithm 1, once for each column of skills."""
        n_classes = len(share)
        descend = _together if self.order == "together" else _in_turn
        worths = _worth_of_pairs(variant, share)
        found = [descend(graph.agreeing(w), self.tol, self.max_sweeps) for w in worths]
        skill = np.stack([column.skill for column in found], axis=1)
        met, unjudged = graph.met[:-1], graph.limit[:-1] == 0
        skill[unjudged] = _average(skill, np.where(unjudged, 0.0, met))
        return Params(
            variant=VARIANTS.index(variant),
            skill=skill,
            evidence=_evidence(skill, n_classes),
            met=met,
            prior=np.full(n_classes, 1 / n_classes),
            loss=sum(column.loss for column in found),
            moved=max(column.moved for column in found),
            sweeps=max(column.sweeps for column in found),
        )


def _with_gold_as_a_worker(block: Labels) -> Labels:
    """Known answers as the labels of one more worker, who is always right."""
    n_workers = block.n_workers + 1
    if block.gold is None:
        return replace(block, n_workers=n_workers)
    known = np.flatnonzero(block.gold >= 0)
    ends = block.indptr[1:][known]
    more = np.concatenate([[0], (block.gold >= 0).cumsum()])
    return replace(
        block,
        indptr=(block.indptr + more).astype(block.indptr.dtype),
        worker=np.insert(block.worker, ends, block.n_workers),
        label=np.insert(block.label, ends, block.gold[known]),
        n_workers=n_workers,
    )


def _meetings(block: Labels) -> Meetings:
    pair = block.worker * np.int32(block.n_classes) + block.label
    rows, local = np.unique(pair, return_inverse=True)
    ones = np.ones(len(pair))
    matrix = csr_array((ones, local, block.indptr), shape=(block.n_tasks, len(rows)))
    met = triu(matrix.T @ matrix, k=1, format="coo")
    row, column = (rows[c] for c in met.coords)
    height = block.n_workers * block.n_classes
    pairs = coo_array((met.data.astype(np.int32), (row, column)), shape=(height, height))
    labels = np.bincount(block.label, minlength=block.n_classes).astype(np.float64)
    return Meetings(pairs.tocsr(), labels)


def _worth_of_pairs(variant: str, share: Floats) -> list[Floats]:
    """For each column of skills, what it adds to the agreement of two workers that one says
    ``label`` and the other ``label'``: a table whose expectation is the product of their skills."""
    n_classes = len(share)
    if variant == "one-skill":  # Eq. 2, and beyond the chance 1/k with more than two classes
        return [(n_classes * np.eye(n_classes) - 1) / max(n_classes - 1, 1)]
    centre = np.full(n_classes, 0.5) if variant == "one-vs-rest" else share
    spread = np.sqrt(centre * (1 - centre))  # none where a class is all there is, or never named
    said = (np.eye(n_classes) - centre) / np.where(spread > 0, spread, np.inf)
    return [np.outer(column, column) for column in said.T]


class _Graph(NamedTuple):
    """Who met whom, with the worker of known answers last. ``together`` is N_ij and ``agreement``
    N_ij C_ij, for i < j only; both are sums of ``pairs``."""

    pairs: coo_array
    n_classes: int
    together: csr_array
    agreement: csr_array
    met: Floats
    limit: Floats
    component: Codes

    @classmethod
    def of(cls, meetings: csr_array, n_classes: int, margin: float) -> _Graph:
        from scipy.sparse.csgraph import connected_components  # slow to import

        pairs = meetings.tocoo()
        row, column = pairs.coords
        others = row // n_classes != column // n_classes  # a worker does not meet itself
        entries = (pairs.data[others], (row[others], column[others]))
        pairs = coo_array(entries, shape=pairs.shape)
        together = _by_worker(pairs.data.astype(np.float64), pairs, n_classes)
        everyone = np.ones(together.shape[0])
        met: Floats = together @ everyone + together.T @ everyone
        limit = np.clip(1 - margin / np.sqrt(np.maximum(met, 1)), 0, MOST)
        component = connected_components(together, directed=False)[1]
        return cls(pairs, n_classes, together, together, met, limit, component)

    def agreeing(self, worth: Floats) -> _Graph:
        """The same graph, with agreement by what pairs of labels are worth."""
        row, column = (code % self.n_classes for code in self.pairs.coords)
        agreement = _by_worker(self.pairs.data * worth[row, column], self.pairs, self.n_classes)
        return self._replace(agreement=agreement)

    def products(self, skill: Floats) -> tuple[Floats, Floats]:
        """``sum_j N_ij C_ij x_j`` and ``sum_j N_ij x_j^2``, for each worker i."""
        square = skill**2
        return (
            self.agreement @ skill + self.agreement.T @ skill,
            self.together @ square + self.together.T @ square,
        )

    def losses(self, skill: Floats, pull: Floats, curvature: Floats) -> Floats:
        """Lemma 3 for each component, but for what the loss is where all skills are zero."""
        return self._sums(skill * (skill * curvature / 4 - pull / 2))

    def found(self, skill: Floats, moved: float, sweeps: int) -> _Found:
        at_zero = np.sum(self.agreement.data**2 / self.together.data) / 2
        loss = float(at_zero + self.losses(skill, *self.products(skill)).sum())
        return _Found(self._with_positive_sums(skill)[:-1], loss, moved, sweeps)

    def start(self) -> Floats:
        """In the positive orthant, or in the negative where most is at odds with known answers."""
        skill = np.minimum(START, self.limit)
        if self.agreement[:, [-1]].sum() < 0:
            skill = -skill
        skill[-1] = self.met[-1] > 0
        return skill

    def _sums(self, values: Floats) -> Floats:
        """Of each component."""
        return np.bincount(self.component, values).astype(np.float64)

    def _with_positive_sums(self, skill: Floats) -> Floats:
        """Skills are known but for their sign, which makes each component's sum positive. Where
        there are known answers these tell the sign."""
        upside_down = self._sums(skill) < 0
        upside_down[self.component[-1]] &= self.met[-1] == 0
        return np.where(upside_down[self.component], -skill, skill)


class _Found(NamedTuple):
    skill: Floats
    loss: float
    moved: float
    sweeps: int


def _by_worker(data: Floats, pairs: coo_array, n_classes: int) -> csr_array:
    row, column = (code // n_classes for code in pairs.coords)
    n_workers = pairs.shape[0] // n_classes
    return coo_array((data, (row, column)), shape=(n_workers, n_workers)).tocsr()


def _together(graph: _Graph, tol: float, max_sweeps: int) -> _Found:
    """Every worker half way to where its own loss is least; shorter where that was too far."""
    skill = graph.start()
    pull, curvature = graph.products(skill)
    losses = graph.losses(skill, pull, curvature)
    moved, sweeps = np.inf, 0
    while moved > tol and sweeps < max_sweeps:
        best = np.divide(pull, curvature, out=skill.copy(), where=curvature > 0)
        step = (np.clip(best, -graph.limit, graph.limit) - skill) / 2
        step[-1] = 0.0
        moved, sweeps = float(np.abs(step).max()), sweeps + 1
        while True:
            pull, curvature = graph.products(skill + step)
            now = graph.losses(skill + step, pull, curvature)
            rises = (now > losses + 1e-10 * np.abs(losses))[graph.component]  # but for rounding
            if not rises.any():
                break
            step = np.where(rises, step / 4, step)
        skill, losses = skill + step, now
    return graph.found(skill, moved, sweeps)


def _in_turn(graph: _Graph, tol: float, max_sweeps: int) -> _Found:
    """Algorithm 1 with the step size at which each worker's own loss is least."""
    skill = graph.start()
    together = (graph.together + graph.together.T).tocsr()
    agreement = (graph.agreement + graph.agreement.T).tocsr()
    moved, sweeps = np.inf, 0
    while moved > tol and sweeps < max_sweeps:
        before, sweeps = skill.copy(), sweeps + 1
        for i in range(len(skill) - 1):
            at = slice(together.indptr[i], together.indptr[i + 1])
            curvature = together.data[at] @ skill[together.indices[at]] ** 2
            if curvature > 0:
                at = slice(agreement.indptr[i], agreement.indptr[i + 1])
                best = agreement.data[at] @ skill[agreement.indices[at]] / curvature
                skill[i] = min(max(best, -graph.limit[i]), graph.limit[i])
        moved = float(np.abs(skill - before).max())
    return graph.found(skill, moved, sweeps)


def _average(skill: Floats, met: Floats) -> Floats:
    """The crowd's average, as one row; of a crowd of which nothing is known, the start."""
    if not met.any():
        return np.full((1, skill.shape[1]), START)
    average: Floats = met @ skill / met.sum()
    return average[None]


def _evidence(skill: Floats, n_classes: int) -> Floats:
    """``log (1 + s) / (1 - s)`` for the class named; with a skill for each class, the same against
    the others."""
    odds = np.log((1 + skill) / (1 - skill))[:, None]
    named = np.eye(n_classes) if skill.shape[1] == 1 else 2 * np.eye(n_classes) - 1
    evidence: Floats = odds * named
    return evidence.reshape(-1, n_classes)


def _read(block: Labels, params: Candidates) -> Reading:
    """How each way of reading the votes tells a label from the others of its task; what is known
    of a task with one label is nothing."""
    task = np.repeat(np.arange(block.n_tasks), np.diff(block.indptr))
    several = (np.diff(block.indptr) > 1)[task]
    task, label = task[several], block.label[several]
    pair = block.worker[several] * np.int32(block.n_classes) + label
    said, log_score = [], np.zeros(len(params.ways))
    for i, way in enumerate(params.ways):
        score = block.pairs.gather(way.evidence)
        belief, _ = kernels.normalise(score[task] - way.evidence[pair])
        said.append(np.stack([belief[label == c].sum(axis=0) for c in range(block.n_classes)], 1))
        if params.crowd:
            expected = np.einsum("ij,ji->i", belief, params.crowd[i][:, label])
            log_score[i] = kernels.log_or(expected).sum()
    return Reading(np.stack(said), log_score)
