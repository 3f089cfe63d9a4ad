"""Auto: a few different models at once, mixed as hidden votes of these very data would have it.

No model of a crowd is the best for every crowd. Three that differ in what they assume are fitted
together: the vote (all workers alike), Dawid-Skene (each worker has a confusion matrix) and MACE
(each knows, or spams). First they rehearse: a fifth of the votes is hidden, both models take a few
steps on the others, and the hidden votes are foretold from the beliefs of each. The weights of the
mixture are those under which the hidden votes are likeliest (stacking; D. H. Wolpert, "Stacked
Generalization", 1992). Then the models are fitted to all votes.

Models that take votes for independent are too sure. So each stands in the mixture several times:
as it is, and with every vote counting as a half or a quarter of one; which is nearest to the truth
hidden votes tell as well. What they cannot tell, the errors that a whole crowd shares, the last
`temperature` allows for. A known answer is a hidden vote of one who is always right; known answers
also set that temperature.

Everything is a sum over tasks, the rehearsal too: parameters, local states and statistics are those
of the models, in tuples, and the stage that the fold is in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from quorate import kernels
from quorate.errors import require_choice, require_number
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import Model, Off, Step, Ties, dense
from quorate.model import Params as EMParams
from quorate.model import Stats as EMStats
from quorate.models.dawid_skene import DawidSkene
from quorate.models.mace import Mace

HIDDEN = 5  # one part in so many of the votes is hidden
MOST_REHEARSED = 100_000  # votes of a block
REHEARSALS = 10  # steps of the models before they are judged
JUDGED = 20_000  # hidden votes, of all that there are
PLACES = 1 << 16  # for these in the table in which they travel
EVEN = 10.0  # hidden votes that speak for every part of the mixture alike
VOTE_WORTH = (1.0, 2.0, 4.0)  # votes that count as one
SHARED = 1.6  # the temperature where no answer is known
TEMPERATURES = np.geomspace(0.5, 8.0, 41)
LEAST_LIKELY = 1e-12
LARGE_PRIME = 2_147_483_647  # by which lots of different blocks lie apart
KNOWN_WORTH = 10.0  # known answers that speak for SHARED
PATIENCE = 20  # steps of a model after which it has to end with the other
REHEARSE, COUNT, JUDGE, TEMPER, FIT = range(5)

OFF_BY = Off(too_low=0.0, around=0.93)

NOTHING_HIDDEN = "No vote could be hidden to weigh the models by: they count alike."
VOTE, PARTS = "majority", ("dawid-skene", "mace")


class Params(NamedTuple):
    """The stage, the models' parameters, and what the mixture needs.

    ``table[worker * n_classes + label, truth]`` is how likely a hidden vote is; ``objectives`` are
    the models' last ones; ``done`` says which of them have converged, and ``closing`` that the
    sweep under these parameters is the last.
    """

    stage: int
    members: tuple[Any, ...]
    weights: Floats
    temperature: float
    table: Floats = np.empty((0, 0))
    rounds: int = 0
    objectives: tuple[float, ...] = ()
    done: tuple[bool, ...] = ()
    closing: bool = False
    hidden: int = 0
    known: int = 0
    note: str = ""

    @property
    def by_worker(self) -> tuple[str, ...]:
        return ("table",)

    @property
    def rehearsing(self) -> bool:
        """Or about to begin: there is nothing to show yet."""
        return self.stage != FIT or self.members[0] is None


class Stats(NamedTuple):
    """The models' statistics; ``counts`` of kept votes under the models' mean belief; how many
    votes are ``hidden`` and answers ``known``; ``judged``, how likely each part of the mixture
    makes some of these, and how many there are at each place; ``fits``, the log-likelihood of the
    known answers at each temperature; on how many tasks answers ``differ``."""

    members: tuple[Any, ...] = ()
    counts: Floats | Rows | float = 0.0
    hidden: int = 0
    known: int = 0
    judged: Floats | float = 0.0
    fits: Floats | float = 0.0
    differ: int = 0

    @property
    def by_worker(self) -> tuple[str, ...]:
        return ("counts",)


# What is kept of a block in a rehearsal, for as long as the block is in memory.
_KEPT: WeakKeyDictionary[Labels, tuple[Labels, Labels]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Auto:
    """The vote, Dawid-Skene and MACE, weighed by the votes that each foretells; the default.

    The belief is the mixture of theirs, tempered. ``params.weights`` has the weights, of the vote
    and then of each model at each worth of a vote; `weights_of` adds these up. `objective` is the
    sum of the models' objectives.

    Options:
        temperature: by how much to divide the mixture's log-odds, since hidden votes cannot tell
            what a whole crowd gets wrong; None for 1.6, or, where some answers are known, for what
            these say.
        tol: both models have converged when their objectives change by less, relatively.
        max_iter: at most so many iterations.
        ties: how ties are broken: ``"random"`` by seed, ``"first"`` or ``"shared"``.
        seed: for which votes are hidden, and for ties.

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

    temperature: float | None = None
    tol: float = 1e-6
    max_iter: int = 200
    ties: Ties = "random"
    seed: int = 0

    off_by: ClassVar[Off] = OFF_BY
    weighs_votes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_choice("ties", self.ties, ("first", "random", "shared"))
        require_number("tol", self.tol, at_least=0)
        require_number("max_iter", self.max_iter, at_least=1)
        require_number("seed", self.seed, at_least=0)
        if self.temperature is not None:
            require_number("temperature", self.temperature, at_least=0.1)

    @property
    def members(self) -> tuple[Model, ...]:
        return _members(self.tol, self.max_iter, self.seed)

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
        if not params.hidden:
            return NOTHING_HIDDEN
        weights = self.weights_of(params)
        heaviest = max(weights, key=lambda name: weights[name])
        worth = max(self.vote_worth(params).values())
        return (
            f"Of {params.hidden:,} votes that were hidden from all, this mixture foretold most;"
            f" {heaviest} did best. {worth:.1f} votes tell as much as one that is independent."
        )

    # The loop's pieces.

    def start(self, labels: Labels) -> None:
        return None

    def begin(self, block: Labels) -> tuple[Any, ...]:
        kept, _ = self._split(block)
        return tuple(member.begin(kept) for member in self.members)

    def sweep(self, block: Labels, params: Params | None, local: Any) -> tuple[Any, Stats]:
        if params is None or params.stage == REHEARSE:
            return self._sweep_members(self._split(block)[0], params, local)
        if params.stage != FIT:
            return local, self._judge(block, params, local)
        if params.members[0] is None:
            _KEPT.pop(block, None)
            local = tuple(member.begin(block) for member in self.members)
        local, stats = self._sweep_members(block, params, local)
        if params.closing:
            stats = stats._replace(differ=self._differ(block, params, local))
        return local, stats

    def _sweep_members(
        self, block: Labels, params: Params | None, local: tuple[Any, ...]
    ) -> tuple[tuple[Any, ...], Stats]:
        """One step of those models that have not converged yet, or of all in the last sweep."""
        known = params.members if params else (None,) * len(self.members)
        done = params.done if params and params.done and not params.closing else ()
        swept = [
            (state, 0.0) if done and done[i] else member.sweep(block, of_member, state)
            for i, (member, of_member, state) in enumerate(
                zip(self.members, known, local, strict=True)
            )
        ]
        return tuple(state for state, _ in swept), Stats(tuple(stats for _, stats in swept))

    def estimate(self, stats: Stats, params: Params | None) -> Params:
        if params is None:
            nothing = (None,) * len(self.members)
            n_parts = 1 + len(nothing) * len(VOTE_WORTH)
            params = Params(REHEARSE, nothing, np.full(n_parts, 1 / n_parts), SHARED, rounds=1)
            if not stats.members[0].classes.any():  # every vote is hidden
                return self._begun(Stats(), params)
            return params._replace(members=self._estimates(stats.members, nothing))
        if params.stage == REHEARSE and params.rounds < REHEARSALS:
            members = self._estimates(stats.members, params.members)
            return params._replace(members=members, rounds=params.rounds + 1)
        if params.stage == REHEARSE:
            return params._replace(stage=COUNT)
        if params.stage == COUNT:
            table = kernels.drawn_to_crowd(dense(stats.counts))
            return params._replace(stage=JUDGE, table=table, hidden=stats.hidden, known=stats.known)
        if params.stage == JUDGE:
            params = params._replace(weights=self._weigh(stats.judged), table=np.empty((0, 0)))
            return params._replace(stage=TEMPER) if params.known else self._begun(stats, params)
        return self._climb(stats, params) if params.stage == FIT else self._begun(stats, params)

    def _weigh(self, judged: Any) -> Floats:
        """By the votes that have a place of their own."""
        return kernels.mixture_weights(judged[judged[:, -1] == 1, :-1], EVEN)

    def _begun(self, stats: Stats, params: Params) -> Params:
        """The rehearsal is over: the models begin anew."""
        n = len(self.members)
        return params._replace(
            stage=FIT,
            members=(None,) * n,
            temperature=self._temperature(stats.fits),
            note="" if params.hidden else NOTHING_HIDDEN,
            rounds=0,
            objectives=(-np.inf,) * n,
            done=(False,) * n,
        )

    def _temperature(self, fits: Floats | float) -> float:
        if self.temperature is not None or np.ndim(fits) == 0:
            return SHARED if self.temperature is None else float(self.temperature)
        before = KNOWN_WORTH * np.log(TEMPERATURES / SHARED) ** 2 / 2
        return float(TEMPERATURES[np.argmax(fits - before)])

    def _climb(self, stats: Stats, params: Params) -> Params:
        """The next step of each model, but for those that have converged."""
        if params.closing:
            return params
        if params.members[0] is None:
            members = self._estimates(stats.members, params.members)
            return params._replace(members=members, closing=self.max_iter == 1)
        objectives, done = self._objectives(stats, params), self._done(stats, params)
        members = tuple(
            of_member if finished else member.estimate(sums, of_member)
            for member, sums, of_member, finished in zip(
                self.members, stats.members, params.members, done, strict=True
            )
        )
        rounds = params.rounds + 1
        return params._replace(
            members=members,
            objectives=objectives,
            done=done,
            rounds=rounds,
            closing=all(done) or rounds + 1 == self.max_iter,
        )

    def _estimates(self, stats: tuple[Any, ...], known: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            member.estimate(sums, of_member)
            for member, sums, of_member in zip(self.members, stats, known, strict=True)
        )

    def _objectives(self, stats: Stats, params: Params) -> tuple[float, ...]:
        return tuple(
            last if isinstance(sums, float) else member.progress(sums, of_member).objective
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
        """What is left to do is told as changed answers: none when both models have converged."""
        if params.rehearsing:
            return Step(-np.inf, None, changed=len(self.members))
        left = sum(not finished for finished in self._done(stats, params))
        return Step(
            sum(self._objectives(stats, params)),
            None,
            changed=left if params.closing else max(left, 1),
            impossible=sum(0 if isinstance(s, float) else s.impossible for s in stats.members),
        )

    def converged(self, steps: Sequence[Step]) -> bool:
        return steps[-1].changed == 0

    def posterior(self, block: Labels, params: Params, local: tuple[Any, ...]) -> Floats:
        mixed = self._mix(self._beliefs(block, params, local), params)
        return _with_known(kernels.temper(mixed, params.temperature), block)

    def learned(self, block: Labels, params: Params, local: tuple[Any, ...]) -> Floats:
        """The mixture without tempering: what workers are judged by, whose errors on many tasks
        even out."""
        weights = list(self.weights_of(params).values())
        mean: Floats = np.average(self._beliefs(block, params, local), axis=0, weights=weights)
        return _with_known(mean, block)

    def newcomer(self, stats: Stats, params: Params) -> Params:
        members = tuple(
            member.newcomer(sums, of_member)
            for member, sums, of_member in zip(
                self.members, stats.members, params.members, strict=True
            )
        )
        return params._replace(members=members)

    def confusion(self, params: Params) -> Floats:
        """Dawid-Skene's and MACE's, by their weights."""
        weights = list(self.weights_of(params).values())[1:]
        matrices = [m.confusion(p) for m, p in zip(self.members, params.members, strict=True)]
        mean: Floats = np.average(matrices, axis=0, weights=weights)  # type: ignore[arg-type]
        return mean

    def history(self, stats: Stats, params: Params) -> Floats:
        """The expected counts of Dawid-Skene and MACE, by their weights."""
        weights = list(self.weights_of(params).values())[1:]
        counts = [
            member.history(sums, of_member)
            for member, sums, of_member in zip(
                self.members, stats.members, params.members, strict=True
            )
        ]
        mean: Floats = np.average(counts, axis=0, weights=weights)  # type: ignore[arg-type]
        return mean

    # What the models believe.

    def _beliefs(self, block: Labels, params: Params, local: tuple[Any, ...]) -> list[Floats]:
        """Of the vote and of each model ``[task, class]``."""
        return [
            block.vote_shares(),
            *(
                member.posterior(block, of_member, state)
                for member, of_member, state in zip(
                    self.members, params.members, local, strict=True
                )
            ),
        ]

    def _experts(self, beliefs: list[Floats]) -> Floats:
        """``[task, part, class]``: the vote, and each model at each worth of a vote."""
        vote, *others = beliefs
        tempered = [kernels.temper(belief, worth) for belief in others for worth in VOTE_WORTH]
        return np.stack([vote, *tempered], axis=1)

    def _mix(self, beliefs: list[Floats], params: Params) -> Floats:
        mixed: Floats = np.einsum("tec,e->tc", self._experts(beliefs), params.weights)
        return mixed

    def _differ(self, block: Labels, params: Params, local: tuple[Any, ...]) -> int:
        best = [kernels.tied(belief) for belief in self._beliefs(block, params, local)]
        return int((~np.logical_and.reduce(best).any(axis=1)).sum())

    # The rehearsal.

    def _split(self, block: Labels) -> tuple[Labels, Labels]:
        """The votes that are kept, and those that are hidden; known answers are hidden too. Of a
        large block the first tasks are enough."""
        if block not in _KEPT:
            some = block[: int(np.searchsorted(block.indptr, MOST_REHEARSED))]
            hidden = some.parts(HIDDEN, self.seed) == 0
            _KEPT[block] = some.only(~hidden, gold=None), some.only(hidden)
        return _KEPT[block]

    def _judge(self, block: Labels, params: Params, local: tuple[Any, ...]) -> Stats:
        kept, hidden = self._split(block)
        beliefs = self._beliefs(kept, params, local)
        answers = np.full(kept.n_tasks, -1) if hidden.gold is None else hidden.gold
        known = np.flatnonzero(answers >= 0)
        if params.stage == COUNT:
            mean: Floats = np.mean(beliefs, axis=0)
            counts = kept.pairs.scatter(mean)
            return Stats(counts=counts, hidden=hidden.n_labels, known=len(known))
        if params.stage == JUDGE:
            return Stats(judged=self._sample(hidden, known, beliefs, params))
        mixed = self._mix([belief[known] for belief in beliefs], params)
        chosen = np.arange(len(known)), answers[known]
        fits = [kernels.log_or(kernels.temper(mixed, t)[chosen]).sum() for t in TEMPERATURES]
        return Stats(fits=np.array(fits))

    def _sample(
        self, hidden: Labels, known: NDArray[np.intp], beliefs: list[Floats], params: Params
    ) -> Floats:
        """How likely each part of the mixture makes some of the hidden votes and known answers, in
        a row at a place by lots; in a last column how many came to that place."""
        task = np.concatenate([np.repeat(np.arange(hidden.n_tasks), hidden.n_said), known])
        number = np.arange(len(task)) + hidden.first_task * LARGE_PRIME
        chance, place = kernels.task_lots(number, 2, self.seed).T
        share = np.full(len(task), JUDGED / max(params.hidden + params.known, JUDGED))
        if hidden.weight is not None:
            share[: hidden.n_labels] *= hidden.weight
        taken = np.flatnonzero(chance < share)
        of_vote = taken[taken < hidden.n_labels]
        task, place = task[taken], (place[taken] * PLACES).astype(np.int64)
        likely = np.zeros((len(taken), hidden.n_classes))
        pair = hidden.worker[of_vote] * hidden.n_classes + hidden.label[of_vote]
        likely[: len(of_vote)] = params.table[pair]
        if len(known) and hidden.gold is not None:
            told = np.arange(len(of_vote), len(taken))
            likely[told, hidden.gold[task[told]]] = 1.0
        experts = self._experts([belief[task] for belief in beliefs])
        rows = np.einsum("tec,tc->te", experts, likely)
        rows = np.column_stack([np.maximum(rows, LEAST_LIKELY), np.ones(len(rows))])
        table = np.zeros((PLACES, rows.shape[1]))
        np.add.at(table, place, rows)
        return table

    # As they were saved.

    @staticmethod
    def params_type(**saved: Any) -> Params:
        members = tuple(EMParams(**of_member) for of_member in saved.pop("members"))
        return Params(members=members, **saved)

    @staticmethod
    def stats_type(**saved: Any) -> Stats:
        members = tuple(EMStats(**of_member) for of_member in saved.pop("members"))
        return Stats(members=members, **saved)


@lru_cache
def _members(tol: float, max_iter: int, seed: int) -> tuple[Model, ...]:
    options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "seed": seed}
    return DawidSkene(**options), Mace(**options)


def _with_known(belief: Floats, block: Labels) -> Floats:
    if block.gold is not None:
        known = block.gold >= 0
        belief[known] = np.eye(block.n_classes)[block.gold[known]]
    return belief
