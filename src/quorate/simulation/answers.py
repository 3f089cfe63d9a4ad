"""Draw the workers' answers, and the features of the tasks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from quorate import kernels
from quorate.kernels import Codes, Floats
from quorate.simulation.assignment import Assignment
from quorate.simulation.people import COLLUDER, Conduct, People, Streams, chance_right

RUN = 1 << 19  # labels, or cells of features, drawn at a time


def answers(
    people: People,
    conduct: Conduct,
    asked: Assignment,
    truth: Codes,
    easiness: Floats | None,
    streams: Streams,
) -> Codes:
    """Draw the answers ``[question, i]`` of ``asked.worker[i]``, given ``truth[question,
    task]``."""
    speakers = _Speakers(people, conduct, streams)
    voices = _Voices(people, easiness)
    guess_rate = _guess_rates(people, conduct, asked)
    n = len(asked.task)
    said = np.empty((len(truth), n), dtype=np.int32 if len(truth) == 1 else np.int8)
    for start in range(0, n, RUN):
        run = slice(start, start + RUN)
        task, worker = asked.task[run], asked.worker[run]
        voice, shared = speakers.of(worker)
        guessed = np.empty(0, dtype=np.intp)
        if guess_rate is not None:
            guessed = np.flatnonzero(streams.tiring.random(len(task)) < guess_rate[run])
        for question in range(len(truth)):
            uniform = streams.answers.random(len(task))
            uniform[shared] = speakers.draws(task[shared], voice[shared], question, len(truth))
            given = voices.say(question, voice, task, truth[question][task], uniform)
            given[guessed] = streams.tiring.integers(voices.n_answers, size=len(guessed))
            said[question, run] = given
    return said


class _Speakers:
    """The voice that each label is given with: the worker's own, its group's, or that of the first
    colluder. What is said with a shared voice depends on the task and the voice alone."""

    def __init__(self, people: People, conduct: Conduct, streams: Streams) -> None:
        self._people, self._random = people, streams.groups
        self._share = conduct.group_share
        self._colludes = people.kind == COLLUDER if conduct.colluders else None
        self._grouped = conduct.groups > 0
        self._seed = int(streams.shared.integers(2**62))

    def of(self, worker: Codes) -> tuple[Codes, NDArray[np.intp]]:
        """The voice of each label, and which of them are shared."""
        voice, shared = worker.copy(), np.zeros(len(worker), dtype=bool)
        if self._grouped:
            group = self._people.group[worker]
            shared = (self._random.random(len(worker)) < self._share) & (group >= 0)
            voice[shared] = self._people.n_workers + group[shared]
        if self._colludes is not None:
            colludes = self._colludes[worker]
            voice[colludes] = self._people.leader
            shared |= colludes
        return voice, np.flatnonzero(shared)

    def draws(self, task: Codes, voice: Codes, question: int, n_questions: int) -> Floats:
        """Hashed uniform numbers of the shared voices."""
        pair = task.astype(np.int64) * self._people.voices.shape[1] + voice
        return kernels.hashed_uniform(pair * n_questions + question, 1, self._seed)[:, 0]


class _Voices:
    """Draws answers from confusion matrices, or from ability and easiness."""

    def __init__(self, people: People, easiness: Floats | None) -> None:
        self.n_answers = people.voices.shape[-1]
        columns = np.moveaxis(people.voices.cumsum(axis=-1)[..., :-1], -1, 1)
        self._edges = np.ascontiguousarray(columns).reshape(*columns.shape[:2], -1)
        self._ability, self._easiness = people.ability, easiness

    def say(self, question: int, voice: Codes, task: Codes, truth: Codes, uniform: Floats) -> Codes:
        if self._ability is None or self._easiness is None:
            return self._by_matrix(question, voice, truth, uniform)
        ability = self._ability[voice]
        said = _one_coin(
            chance_right(ability, self._easiness[task]), truth, uniform, self.n_answers
        )
        blind = np.flatnonzero(np.isnan(ability))
        said[blind] = self._by_matrix(question, voice[blind], truth[blind], uniform[blind])
        return said

    def _by_matrix(self, question: int, voice: Codes, truth: Codes, uniform: Floats) -> Codes:
        row = voice.astype(np.int64) * self.n_answers + truth
        said = np.zeros(len(row), dtype=np.int32)
        for edge in self._edges[question]:
            said += uniform >= edge[row]
        return said


def _one_coin(right: Floats, truth: Codes, uniform: Floats, n_answers: int) -> Codes:
    """The truth where the uniform number is below the chance of being right, else one of the other
    answers, all equally likely."""
    wrong = uniform >= right
    beyond = (uniform[wrong] - right[wrong]) / (1 - right[wrong])
    step = np.minimum((beyond * (n_answers - 1)).astype(np.int32), n_answers - 2) + 1
    said = truth.astype(np.int32)
    said[wrong] = (said[wrong] + step) % n_answers
    return said


def _guess_rates(people: People, conduct: Conduct, asked: Assignment) -> Floats | None:
    """Probability that each answer is a guess: a half after `tiring` votes, three quarters after
    twice as many. Spammers and colluders do not tire."""
    if conduct.tiring is None:
        return None
    guessed = 1 - np.exp2(-kernels.equals_before(asked.worker, asked.n_workers) / conduct.tiring)
    looks = np.isin(people.kind, ("honest", "inverted"))
    guessed *= looks[asked.worker]
    return guessed


def draw_features(
    rate: Floats, truth: Codes, n_classes: int, random: np.random.Generator
) -> csr_array:
    """Draw the matrix of tasks by features.

    A task has a feature with the rate of its class; where several classes are right, with their
    mean rate, where none is, with the mean rate of all."""
    n_tasks, n_features = truth.shape[-1], len(rate)
    rows = max(RUN // n_features, 1)
    indices, counts = [], []
    for start in range(0, n_tasks, rows):
        some = truth[:, start : start + rows]
        chance = _class_shares(some, n_classes) @ rate.T
        task, feature = np.nonzero(random.random(chance.shape) < chance)
        indices.append(feature.astype(np.int32))
        counts.append(np.bincount(task, minlength=len(chance)))
    present = np.concatenate(indices)
    indptr = np.concatenate([[0], np.concatenate(counts).cumsum()])
    ones = np.ones(len(present), dtype=np.int8)
    return csr_array((ones, present, indptr), shape=(n_tasks, n_features))


def _class_shares(truth: Codes, n_classes: int) -> Floats:
    """Weights ``[task, class]`` of the right answers of ``truth[question, task]``; they sum to
    1."""
    right: Floats = np.eye(n_classes)[truth[0]] if len(truth) == 1 else truth.T.astype(float)
    right[~right.any(axis=1)] = 1
    right /= right.sum(axis=1, keepdims=True)
    return right
