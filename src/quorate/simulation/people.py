"""Draw the workers: their skills and their behaviour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.errors import UsageError, require_choice, require_number
from quorate.kernels import Codes, Floats
from quorate.models.one_coin import one_coin_confusion

SKILLS = ("one-coin", "confusion", "glad")
HONEST, SPAMMER, INVERTED, COLLUDER = KINDS = ("honest", "spammer", "inverted", "colluder")
NODES = 64  # of the quadrature over easiness


class Streams(NamedTuple):
    """A random stream for each aspect, so that no aspect changes what is drawn for another."""

    truth: np.random.Generator
    assignment: np.random.Generator
    skills: np.random.Generator
    answers: np.random.Generator
    easiness: np.random.Generator
    spammers: np.random.Generator
    inverted: np.random.Generator
    colluders: np.random.Generator
    groups: np.random.Generator
    shared: np.random.Generator
    tiring: np.random.Generator
    features: np.random.Generator


class Questions(NamedTuple):
    """Number of questions and of their answers: one question with an answer for each class, or,
    with several right answers, a yes-no question for each class."""

    n_questions: int
    n_answers: int


@dataclass(frozen=True)
class Skills:
    """Skills of honest workers: accuracies of low + (high - low) * Beta, or normal abilities on
    tasks of log-normal easiness."""

    kind: str = "one-coin"
    beta: tuple[float, float] = (4.0, 2.0)
    low: float = 0.0
    high: float = 1.0
    ability_prior: tuple[float, float] = (1.0, 1.0)
    easiness_prior: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        require_choice("kind", self.kind, SKILLS)
        for name in ("low", "high"):
            require_share(name, getattr(self, name))
        if not self.low < self.high:
            raise UsageError(f"low must be less than high, not {self.low} and {self.high}.")
        for name, first in (("beta", 1e-6), ("ability_prior", -1e6), ("easiness_prior", -1e6)):
            pair = getattr(self, name)
            if not (isinstance(pair, Sequence) and len(pair) == 2):
                raise UsageError(f"{name} is two numbers, not {pair!r}.")
            require_number(name, pair[0], at_least=first)
            require_number(name, pair[1], at_least=1e-6 if name == "beta" else 0)

    def matrices(self, n: int, ask: Questions, random: np.random.Generator) -> Floats:
        """Draw `n` one-coin or full confusion matrices ``[question, worker, truth, label]``."""
        if self.kind == "one-coin":
            one = one_coin_confusion(self._accuracies(random, (n,)), ask.n_answers)
            return np.repeat(one[None], ask.n_questions, axis=0)
        k = ask.n_answers
        right = self._accuracies(random, (ask.n_questions, n, k))
        wrong = (1 - right)[..., None] * random.dirichlet(np.ones(k - 1), right.shape)
        matrices = np.empty((*right.shape, k))
        diagonal = np.eye(k, dtype=bool)
        matrices[..., diagonal] = right
        matrices[..., ~diagonal] = wrong.reshape(*right.shape[:2], -1)
        return matrices

    def _accuracies(self, random: np.random.Generator, size: tuple[int, ...]) -> Floats:
        accuracy: Floats = self.low + (self.high - self.low) * random.beta(*self.beta, size)
        return accuracy

    def expected(self, ability: Floats, ask: Questions) -> Floats:
        """Confusion matrices of these abilities, averaged over the easiness of tasks."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        mean, deviation = self.easiness_prior
        right = chance_right(ability[:, None], np.exp(mean + deviation * nodes))
        one = one_coin_confusion(right @ (weights / weights.sum()), ask.n_answers)
        return np.repeat(one[None], ask.n_questions, axis=0)


def chance_right(ability: Floats, easiness: Floats) -> Floats:
    """GLAD's probability of a right answer; as a tanh the logistic does not overflow."""
    right: Floats = 0.5 * (1 + np.tanh(0.5 * ability * easiness))
    return right


@dataclass(frozen=True)
class Conduct:
    """Behaviour of workers: shares of spammers and inverted workers, the number of colluders,
    groups of correlated workers, and the number of votes after which half the answers are
    guesses."""

    spammers: float = 0.0
    inverted: float = 0.0
    colluders: int = 0
    groups: int = 0
    correlation: float | None = None
    tiring: float | None = None

    def __post_init__(self) -> None:
        for name in ("spammers", "inverted"):
            require_share(name, getattr(self, name))
        if self.correlation is not None:
            require_share("correlation", self.correlation)
        for name in ("colluders", "groups"):
            require_whole(name, getattr(self, name), at_least=0)
        if self.spammers + self.inverted > 1:
            raise UsageError(
                "The shares of spammers and inverted add up to"
                f" {self.spammers + self.inverted:g}, which is more than 1."
            )
        if self.colluders == 1:
            raise UsageError("colluders are 0, or at least 2: one alone shares with nobody.")
        if self.correlation is not None and not self.groups:
            raise UsageError("correlation is of judges in groups: say how many groups there are.")
        if self.tiring is not None:
            require_number("tiring", self.tiring, at_least=0)
            if self.tiring == 0:
                raise UsageError("tiring must be a number of votes above 0, not 0.")

    @property
    def group_share(self) -> float:
        return 0.5 if self.correlation is None else self.correlation

    def kinds(self, n_workers: int, streams: Streams) -> NDArray[np.str_]:
        """Draw the kind of each worker. Each kind takes workers in a random order of its own, so
        that it has the same workers whatever other kinds there are, but for those taken already.
        """
        numbers = {
            SPAMMER: (round(self.spammers * n_workers), streams.spammers),
            INVERTED: (round(self.inverted * n_workers), streams.inverted),
            COLLUDER: (self.colluders, streams.colluders),
        }
        wanted = sum(number for number, _ in numbers.values())
        if wanted > n_workers:
            raise UsageError(
                f"{wanted} spammers, inverted workers and colluders are more than the"
                f" {n_workers} workers."
            )
        kind = np.full(n_workers, HONEST, dtype=np.array(KINDS).dtype)
        for name, (number, random) in numbers.items():
            order = random.permutation(n_workers)
            kind[order[kind[order] == HONEST][:number]] = name
        return kind

    def membership(self, kind: NDArray[np.str_], random: np.random.Generator) -> Codes:
        """Draw the group of each honest worker, of about equal sizes; -1 for the others."""
        if self.groups > len(kind):
            raise UsageError(f"{self.groups} groups are more than the {len(kind)} workers.")
        if not self.groups:
            return np.full(len(kind), -1, dtype=np.int32)
        group = random.permutation(len(kind)) % self.groups
        return np.where(kind == HONEST, group, -1).astype(np.int32)


@dataclass(frozen=True, eq=False)
class People:
    """The drawn workers, with confusion matrices ``voices[question, voice, truth, label]``.

    Each worker has a voice, and behind them each group; colluders all speak with the voice of
    `leader`. `ability` is that of the voices, NaN where a voice has a matrix. `confusion` has the
    resulting matrices of the workers."""

    kind: NDArray[np.str_]
    group: Codes
    voices: Floats
    leader: int
    ability: Floats | None
    confusion: Floats

    @property
    def n_workers(self) -> int:
        return len(self.kind)


def draw_people(
    skills: Skills,
    conduct: Conduct,
    given: Floats | None,
    n_workers: int,
    ask: Questions,
    streams: Streams,
) -> People:
    """Draw workers with these skills, or with given matrices, some of whom misbehave."""
    kind = conduct.kinds(n_workers, streams)
    group = conduct.membership(kind, streams.groups)
    leader = int(np.flatnonzero(kind == COLLUDER)[0]) if conduct.colluders else -1
    ability = None
    if given is None and skills.kind == "glad":
        ability = streams.skills.normal(*skills.ability_prior, n_workers)
        ability[kind == INVERTED] *= -1
        ability[kind == COLLUDER] = ability[leader]
        ability = np.concatenate([ability, _means(ability, group, conduct.groups)])
        voices = skills.expected(ability, ask)
        ability[:n_workers][kind == SPAMMER] = np.nan
    else:
        own = skills.matrices(n_workers, ask, streams.skills) if given is None else given[None]
        voices = own.copy()
        voices[:, kind == INVERTED] = np.roll(own[:, kind == INVERTED], 1, axis=-1)
        voices[:, kind == COLLUDER] = voices[:, [leader]]
        common = [_means(each, group, conduct.groups) for each in voices]
        voices = np.concatenate([voices, common], axis=1)
    voices[:, :n_workers][:, kind == SPAMMER] = streams.spammers.dirichlet(
        np.ones(ask.n_answers), (ask.n_questions, int(np.sum(kind == SPAMMER)), 1)
    )
    return People(kind, group, voices, leader, ability, _worker_confusion(voices, group, conduct))


def _means(values: Floats, group: Codes, n_groups: int) -> Floats:
    """Mean over each group's members; the first worker's value for a group without any."""
    members: Iterable[NDArray[np.bool_]] = (group == g for g in range(n_groups))
    means = [values[m].mean(axis=0) if m.any() else values[0] for m in members]
    return np.array(means).reshape(n_groups, *values.shape[1:])


def _worker_confusion(voices: Floats, group: Codes, conduct: Conduct) -> Floats:
    """Confusion matrices of the workers: a member of a group speaks with its voice at the rate of
    the correlation."""
    confusion = voices[:, : len(group)].copy()
    member = group >= 0
    if member.any():
        share = conduct.group_share
        common = voices[:, len(group) + group[member]]
        confusion[:, member] = share * common + (1 - share) * confusion[:, member]
    return confusion


def require_share(option: str, value: float) -> None:
    require_number(option, value, at_least=0)
    if value > 1:
        raise UsageError(f"{option} is a share from 0 to 1, not {value!r}.")


def require_whole(option: str, value: float, at_least: int) -> None:
    require_number(option, value, at_least=at_least)
    if value != int(value):
        raise UsageError(f"{option} must be a whole number, not {value!r}.")
