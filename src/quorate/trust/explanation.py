"""Why a task has its label: what each vote adds to it, and what it would take to change it.

Where a model's posterior is a product of one factor for each vote (`log_joint`), its log-odds are a
sum: of the log prior, of the evidence of each vote, and of that of the task's features. The model
is asked for each part by itself: for a task with one vote, and for a task with none. Of any other
posterior, such as a mixture of models', a vote's part is what it adds on average over the orders in
which the votes can come (L. S. Shapley, "A Value for n-Person Games", 1953).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import comb
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate import kernels
from quorate.card import Listing, card
from quorate.errors import require_probability
from quorate.kernels import Codes, Floats
from quorate.labels import Codebook, Labels
from quorate.model import AnyModel
from quorate.votes.sources import Kind

DECIBANS = 10 / np.log(10)  # in a natural logarithm
MOST_VOTES = 10_000  # tried to settle a label
LADDER = (0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64, 128, 512, 2048, MOST_VOTES)
AT_ONCE = 16  # numbers between two steps of the ladder that are tried at once
ALL_ORDERS = 10  # most votes of a task of which all subsets are evaluated
SOME_ORDERS, MOST_ASKED = 100, 200_000  # otherwise: orders, and votes in all their subsets
SAME = 1e-6  # posteriors that differ by less are the same
NO_SUM = "The posterior of this method is not a sum of the votes' evidence: none is shown."
AVERAGED = (
    "The posterior of this method is not a sum over votes: a vote's evidence is what it adds on"
    " average over the orders in which they can come."
)
KNOWN = "The answer is known: no vote can change it."


@dataclass(frozen=True, eq=False, kw_only=True)
class Explanation:
    """Why a task has its label.

    All evidence is in decibans for `label` against `runner_up`, the next most probable class: 10 is
    ten to one. `prior`, the decibans of `votes`, and those of the task's `features`, if it has any,
    add up to `decibans`, the posterior's log-odds. `votes` has a row for each vote, with its
    worker's accuracy and interval; `without` is what the label would be without the vote, where
    that is another; `instead` a label in its place with which the answer is another, and `becomes`
    that answer. `more_votes` of the crowd's average worker for the label would raise its
    confidence to `settled_at`; None where no number would. `item` has the columns that are kept
    of the task.
    """

    task: Any
    label: Any
    runner_up: Any
    confidence: float
    decibans: float | None
    prior: float | None
    features: float | None
    more_votes: int | None
    settled_at: float
    vote_frame: pl.DataFrame
    known: bool = False
    method: str = ""
    notes: tuple[str, ...] = ()
    kind: Kind = Kind()
    item: Mapping[str, Any] = field(default_factory=dict)

    @property
    def votes(self) -> Any:
        """A row for each vote, in the caller's kind of table."""
        return self.kind.give(self.vote_frame)

    def as_dict(self) -> dict[str, Any]:
        """The dictionary that `quorate explain --json` prints."""
        left_out = ("vote_frame", "kind")
        names = [name for name in self.__dataclass_fields__ if name not in left_out]
        named = {name: getattr(self, name) for name in names}
        return named | {"votes": self.vote_frame.to_dicts(), "notes": list(self.notes)}

    def _repr_html_(self) -> str:
        rows = self.vote_frame.select("worker", "label", "decibans").rows()
        facts = {
            "label": f"{self.label}, with a confidence of {self.confidence:.3f}",
            "next": "" if self.runner_up is None else str(self.runner_up),
        }
        listing = Listing("Votes", ("worker", "label", "decibans"), rows)
        return card(f"Why task {self.task} is {self.label}", facts, [listing], self.notes)

    def __repr__(self) -> str:
        against = "" if self.runner_up is None else f" rather than {self.runner_up!r}"
        return (
            f"Explanation(task {self.task!r} is {self.label!r}{against}, with confidence"
            f" {self.confidence:.3f}, by {len(self.vote_frame)} votes)"
        )


@dataclass(frozen=True, eq=False)
class Case:
    """A task that is to be explained: its name, its votes as labels of one task, its posterior and
    answer, and the model's other columns for the task."""

    task: Any
    votes: Labels
    posterior: Floats
    answer: int
    of_task: Mapping[str, Floats]

    @property
    def known(self) -> bool:
        return self.votes.gold is not None and int(self.votes.gold[0]) >= 0

    def has_posterior(self, posterior: Floats) -> bool:
        return bool(np.allclose(posterior, self.posterior, rtol=0, atol=SAME))


class Evidence(NamedTuple):
    """Log evidence for each class: from the prior, from each vote ``[vote, class]``, and from the
    features."""

    prior: Floats
    votes: Floats
    features: Floats | None = None

    @property
    def total(self) -> Floats:
        total: Floats = self.prior + self.votes.sum(axis=0)
        return total if self.features is None else total + self.features


class Shares(NamedTuple):
    """Log evidence for each class: from the prior, from a vote if it were for each label
    ``[vote, label, class]``, from an average worker's ``[label, class]``, and from the features."""

    prior: Floats
    said: Floats
    average: Floats
    features: Floats | None

    def of(self, label: Codes) -> Evidence:
        """The evidence of the votes with the labels that they have."""
        return Evidence(self.prior, self.said[np.arange(len(label)), label], self.features)


PosteriorFunction = Callable[[Labels], Floats]
Task = tuple[Any, Any, Any]  # workers, their labels, and the weights


@dataclass(frozen=True, eq=False)
class Context:
    """Context of an explanation: the model, parameters whose last worker is an average one, the
    names, the table of workers, and the function from labels to their posterior."""

    model: AnyModel
    params: Any
    book: Codebook
    workers: pl.DataFrame
    posterior_of: PosteriorFunction
    method: str
    kind: Kind


def explain(case: Case, context: Context, confidence: float) -> Explanation:
    """Explain a task; `confidence` is the confidence at which a label is settled."""
    require_probability("confidence", confidence)
    posterior_of, classes = context.posterior_of, context.book.classes
    shares = _shares(context.model, context.params, case)
    if shares is not None and not _adds_up(shares, case):
        shares = None
    evidence = _shapley(case, posterior_of) if shares is None else shares.of(case.votes.label)
    scores = kernels.log_or(case.posterior) if evidence is None else evidence.total
    rival = _runner_up(scores, case.answer)
    flips = _flips(case, shares, posterior_of)
    return Explanation(
        task=case.task,
        label=classes[case.answer],
        runner_up=None if rival is None else classes[rival],
        confidence=float(case.posterior[case.answer]),
        decibans=_between(None if evidence is None else scores, case.answer, rival),
        prior=_between(None if evidence is None else evidence.prior, case.answer, rival),
        features=_between(None if evidence is None else evidence.features, case.answer, rival),
        vote_frame=_vote_table(case, evidence, flips, rival, context),
        more_votes=None
        if evidence is None
        else _more_votes(case, shares, posterior_of, confidence),
        settled_at=confidence,
        known=case.known,
        method=context.method,
        notes=tuple(_notes(case, shares, evidence)),
        kind=context.kind,
    )


def _notes(case: Case, shares: Shares | None, evidence: Evidence | None) -> Iterator[str]:
    if case.known:
        yield KNOWN
    if shares is None:
        yield NO_SUM if evidence is None else AVERAGED


def _shares(model: Any, params: Any, case: Case) -> Shares | None:
    """Evidence of every vote alone, for each label that it could have; None if evidence does not
    add up in this model."""
    votes, k = case.votes, case.votes.n_classes
    everyone = np.append(votes.worker, np.int32(votes.n_workers - 1))
    counts = np.append(_weight(votes), 1.0)
    alone = [
        ([w], [c], [count]) for w, count in zip(everyone, counts, strict=True) for c in range(k)
    ]
    single = _labels_of(votes, [*alone, ([], [], [])])
    joint = model.log_joint(single, params, **case.of_task)
    if joint is None:
        return None
    prior = joint[-1]
    said = (joint[:-1] - prior).reshape(len(everyone), k, k)
    shares = Shares(prior, said[:-1], said[-1], None)
    if votes.features is None:
        return shares
    whole = model.log_joint(replace(votes, gold=None), params, **case.of_task)[0]
    return shares._replace(features=whole - shares.of(votes.label).total)


def _adds_up(shares: Shares, case: Case) -> bool:
    """Whether the evidence sums to the posterior; a gold answer needs no evidence."""
    posterior, _ = kernels.normalise(shares.of(case.votes.label).total[None].copy())
    return case.known or case.has_posterior(posterior[0])


def _shapley(case: Case, posterior_of: PosteriorFunction) -> Evidence | None:
    """Shapley value of each vote in the log posterior; None where that is minus infinity for some
    of the votes, or where the posterior depends on the task's local state."""
    if case.known:
        return None
    n = len(case.votes.label)
    sets, part = _all_sets(n) if n <= ALL_ORDERS else _some_orders(n)
    posteriors = posterior_of(_subsets(case.votes, sets))
    everything, nothing = sets.all(axis=1).argmax(), (~sets).all(axis=1).argmax()
    if not (case.has_posterior(posteriors[everything]) and posteriors.all()):
        return None
    log = np.log(posteriors)
    return Evidence(log[nothing], part @ log)


def _all_sets(n: int) -> tuple[NDArray[np.bool_], Floats]:
    """Every subset of n votes ``[set, vote]``, and its weight in each vote's part."""
    sets = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)
    size = sets.sum(axis=1)
    orders = np.array([1 / (n * comb(n - 1, s)) for s in range(n)])
    part = np.where(sets, orders[size - 1][:, None], -orders[np.minimum(size, n - 1)][:, None])
    return sets, part.T


def _some_orders(n: int) -> tuple[NDArray[np.bool_], Floats]:
    """Subsets and weights as in `_all_sets`, for random orders of the votes, each forwards and
    backwards: the first vote, the first two, and so on."""
    random = np.random.default_rng(n)
    half = [random.permutation(n) for _ in range(max(1, min(SOME_ORDERS, MOST_ASKED // n**2) // 2))]
    orders = np.array([*half, *(order[::-1] for order in half)])
    place = orders.argsort(axis=1)
    sets = (place[:, None] < np.arange(n + 1)[:, None]).reshape(-1, n)
    part = np.zeros((n, len(orders), n + 1))
    vote, order = np.indices((n, len(orders)))
    part[vote, order, place.T + 1] += 1 / len(orders)
    part[vote, order, place.T] -= 1 / len(orders)
    return sets, part.reshape(n, -1)


def _runner_up(scores: Floats, answer: int) -> int | None:
    others = scores.copy()
    others[answer] = -np.inf
    return int(others.argmax()) if len(scores) > 1 else None


def _between(scores: Floats | None, answer: int, rival: int | None) -> float | None:
    if scores is None or rival is None:
        return None
    return float(DECIBANS * (scores[answer] - scores[rival]))


def _vote_table(
    case: Case,
    evidence: Evidence | None,
    flips: Flips,
    rival: int | None,
    context: Context,
) -> pl.DataFrame:
    book, workers = context.book, context.workers
    votes = case.votes
    known = pl.Series(np.where(votes.worker < len(workers), votes.worker, -1)).replace(-1, None)
    each = [None] * len(votes.label) if evidence is None else evidence.votes
    decibans = [_between(of_vote, case.answer, rival) for of_vote in each]
    answers = {name: pl.Series(codes, dtype=pl.Int32) for name, codes in flips._asdict().items()}
    table = pl.DataFrame(
        {
            "worker": workers["worker"].gather(known),
            "label": book.classes.gather(votes.label),
            **{name: workers[name].gather(known) for name in ("accuracy", "low", "high")},
            "decibans": pl.Series(decibans, dtype=pl.Float64),
            **{name: book.classes.gather(codes) for name, codes in answers.items()},
        }
    )
    return table.sort("decibans", descending=True, nulls_last=True, maintain_order=True)


class Flips(NamedTuple):
    """Changes of each vote that change the answer: the answer `without` it, the label `instead` of
    it that makes the present answer least likely, and what the answer then `becomes`."""

    without: Sequence[int | None]
    instead: Sequence[int | None]
    becomes: Sequence[int | None]


def _flips(case: Case, shares: Shares | None, posterior_of: PosteriorFunction) -> Flips:
    nothing = [None] * len(case.votes.label)
    changed = None if case.known else _posteriors_if_changed(case, shares, posterior_of)
    if changed is None:
        return Flips(nothing, nothing, nothing)
    gone, other = changed
    instead: list[int | None] = []
    becomes: list[int | None] = []
    for posteriors in other:
        answers = [_other_answer(posterior, case.answer) for posterior in posteriors]
        stays = [answer is None for answer in answers]
        said = int(np.lexsort((posteriors[:, case.answer], stays))[0])
        instead.append(None if answers[said] is None else said)
        becomes.append(answers[said])
    return Flips([_other_answer(posterior, case.answer) for posterior in gone], instead, becomes)


def _posteriors_if_changed(
    case: Case, shares: Shares | None, posterior_of: PosteriorFunction
) -> tuple[Floats, Floats] | None:
    """The posterior without each vote ``[vote, class]``, and with each label in its place ``[vote,
    label, class]``; None where it depends on the task's local state."""
    votes, k = case.votes, case.votes.n_classes
    n = len(votes.label)
    if shares is not None:
        evidence = shares.of(votes.label)
        left = evidence.total - evidence.votes
        gone = kernels.normalise(left.copy())[0]
        other = kernels.normalise((left[:, None] + shares.said).reshape(-1, k))[0]
        return gone, other.reshape(n, k, k)
    everything, each = np.arange(n), _weight(votes)
    tasks = [(votes.worker, votes.label, each)]
    for i in range(n):
        left = everything != i
        tasks.append((votes.worker[left], votes.label[left], each[left]))
    tasks += [_with_label(votes, i, c) for i in range(n) for c in range(k)]
    posteriors = posterior_of(_labels_of(votes, tasks))
    if not case.has_posterior(posteriors[0]):
        return None
    return posteriors[1 : 1 + n], posteriors[1 + n :].reshape(n, k, k)


def _subsets(votes: Labels, sets: NDArray[np.bool_]) -> Labels:
    """A task for each of the sets ``[set, vote]``, with the votes that it holds."""
    vote = np.nonzero(sets)[1]
    return Labels(
        np.concatenate([[0], sets.sum(axis=1).cumsum()]).astype(np.int32),
        votes.worker[vote],
        votes.label[vote],
        votes.n_workers,
        votes.n_classes,
        weight=None if votes.weight is None else votes.weight[vote],
    )


def _with_label(votes: Labels, vote: int, label: int) -> Task:
    changed = votes.label.copy()
    changed[vote] = label
    return votes.worker, changed, _weight(votes)


def _weight(votes: Labels) -> Floats:
    return np.ones(len(votes.label)) if votes.weight is None else votes.weight


def _other_answer(posterior: Floats, answer: int) -> int | None:
    """The most probable class, if it is strictly more probable than the answer; else None."""
    return None if kernels.tied(posterior[None])[0, answer] else int(posterior.argmax())


def _more_votes(
    case: Case, shares: Shares | None, posterior_of: PosteriorFunction, confidence: float
) -> int | None:
    """Number of average workers' votes for the answer that raise it to the confidence."""
    if case.known:
        return 0
    if shares is None:
        return _more_votes_by_search(case, posterior_of, confidence)
    lead, gain = (
        np.delete(scores[case.answer] - scores, case.answer)
        for scores in (shares.of(case.votes.label).total, shares.average[case.answer])
    )
    votes = np.arange(MOST_VOTES + 1)[:, None]
    with np.errstate(over="ignore"):
        sure = 1 / (1 + np.exp(-(lead + votes * gain)).sum(axis=1)) >= confidence
    return int(sure.argmax()) if sure.any() else None


def _more_votes_by_search(
    case: Case, posterior_of: PosteriorFunction, confidence: float
) -> int | None:
    """Number of votes as in `_more_votes`: between which steps of a ladder it is, then between
    which of some numbers in between, until they are neighbours."""
    votes, average = case.votes, case.votes.n_workers - 1

    def with_more(more: int) -> Task:
        worker = np.append(votes.worker, np.repeat(average, more))
        label = np.append(votes.label, np.repeat(case.answer, more))
        return worker, label, np.append(_weight(votes), np.ones(more))

    def enough(*numbers: int) -> NDArray[np.bool_]:
        posteriors = posterior_of(_labels_of(votes, [with_more(more) for more in numbers]))
        sure: NDArray[np.bool_] = posteriors[:, case.answer] >= confidence
        return sure

    sure = enough(*LADDER)
    if not sure.any():
        return None
    high = LADDER[int(sure.argmax())]
    low = max((step for step in LADDER if step < high), default=-1)
    while high - low > 1:
        between = range(low + 1, high, max(1, (high - low) // AT_ONCE))
        sure = enough(*between)
        first = int(sure.argmax()) if sure.any() else len(between)
        low, high = between[first - 1] if first else low, (*between, high)[first]
    return high


def _labels_of(votes: Labels, tasks: Sequence[Task]) -> Labels:
    """Labels of tasks that are given as workers, labels and weights."""
    sizes = [len(worker) for worker, *_ in tasks]
    worker, label, weight = (np.concatenate(column) for column in zip(*tasks, strict=True))
    return Labels(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        worker.astype(np.int32),
        label.astype(np.int32),
        votes.n_workers,
        votes.n_classes,
        weight=None if votes.weight is None else weight.astype(np.float64),
    )
