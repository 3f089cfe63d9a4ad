"""The spectral start: confusion matrices from the moments of three groups of workers.

Y. Zhang, X. Chen, D. Zhou and M. I. Jordan, "Spectral Methods Meet EM: A Provably Optimal Algorithm
for Crowdsourcing" (NIPS 2014), Algorithm 1. Any EM model begins here with ``init="spectral"``, or
with the options of `Spectral`; the paper's Opt-D&S is the method `spectral`.

One pass gathers all moments. Four things are done otherwise than the paper prints them:

- A group's labels are summed, not averaged; its matrix then holds sums, and Eq. 3 is the same.
- The moments of Eqs. 2c and 2d, which are symmetric but for chance, are made so.
- Columns whose largest coordinates are in the same class are matched so that the coordinates add
  up to the most, where the paper draws lots.
- Eq. 3 is solved against both of the other groups, and the mean taken, not against one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Literal, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from quorate import kernels
from quorate.errors import UsageError
from quorate.kernels import Floats, Keys, Rows
from quorate.labels import Labels
from quorate.model import by_worker
from quorate.options import Options, option

MOST_CLASSES = 200  # the third moment has the cube of it
SINGULAR = 1e-6  # of the largest: what is smaller cannot be told from chance
SETTLED = 1e-13  # a step of the power method that is no more than rounding

Groups = Literal["modulo", "random"]
WorkerGroups = NDArray[np.integer]
GROUPS = "How workers fall into three groups: random by their names and the seed, or as they come."
FLOOR = "The least that an entry of a confusion matrix can be."
RESTARTS = "Random vectors that the power method begins from."
ITERATIONS = "Iterations of the power method."


@by_worker("workers")
class Moments(NamedTuple):
    """Sums over tasks. ``named[group class]``, ``pairs[group class, group class]`` and
    ``triples[class, class, class]`` are of the labels of the groups, ``workers[worker label,
    group class]`` of those of a worker with those of the groups."""

    tasks: int
    named: Floats
    pairs: Floats
    triples: Floats
    workers: Floats | Rows


@dataclass(frozen=True, eq=False)
class Spectral(Options):
    """The options of the spectral start, for `init` of a model.

    Examples:
        >>> import quorate
        >>> quorate.DawidSkene(init=quorate.models.Spectral(floor=1e-3)).init.floor
        0.001
    """

    groups: Groups = option("random", GROUPS)
    floor: float = option(1e-6, FLOOR, at_least=1e-12)
    restarts: int = option(50, RESTARTS, at_least=1)
    iterations: int = option(50, ITERATIONS, at_least=1)

    def gather(self, block: Labels, group: WorkerGroups) -> Moments:
        """The moments of a block of tasks, by the group of each worker."""
        if block.n_classes > MOST_CLASSES:
            raise UsageError(
                f'init="spectral" is for up to {MOST_CLASSES} classes, not {block.n_classes:,}:'
                ' use init="vote".'
            )
        said = [block.weighted_votes(1.0 * (group == g)) for g in range(3)]  # Eq. 1, as sums
        first, second, third = said
        groups = np.concatenate(said, axis=1)
        return Moments(
            tasks=int((np.diff(block.indptr) > 0).sum()),
            named=groups.sum(axis=0),
            pairs=groups.T @ groups,
            triples=np.stack([first.T @ (second * c[:, None]) for c in third.T], axis=2),
            workers=block.pairs.scatter(groups),
        )

    def groups_of(self, keys: Keys, seed: int) -> WorkerGroups:
        """The group of each worker, 0, 1 or 2: in turn, as they come or in a random order."""
        order = np.arange(len(keys))
        if self.groups == "random":
            order = kernels.hashed_uniform(keys, 1, seed)[:, 0].argsort(kind="stable")
        group = np.empty(len(keys), dtype=np.int64)
        group[order] = np.arange(len(keys)) % 3
        return group

    def solve(self, moments: Moments, group: WorkerGroups, seed: int) -> Floats | str:
        """``[worker, truth, label]`` by Algorithm 1, or why it has no answer, as a sentence
        without its full stop."""
        named = moments.named.reshape(3, -1)
        if not named.any(axis=1).all():
            return "The spectral start needs three groups of workers, and one of them has no labels"
        if not named.all():
            return (
                "The spectral start needs every class to be named in each of three groups of"
                " workers"
            )
        try:
            columns, shares = self._group_matrices(moments, seed)
            return self._worker_matrices(moments, columns, shares, group)
        except LinAlgError as reason:
            return f"The spectral start found {reason}"

    def _group_matrices(self, moments: Moments, seed: int) -> tuple[list[Floats], Floats]:
        """Step 2: for each group ``[label, truth]``, how many labels of each class a task of each
        truth is given by the group; and the class shares."""
        n_classes = len(moments.triples)
        pair = (
            moments.pairs.reshape(3, n_classes, 3, n_classes).transpose(0, 2, 1, 3) / moments.tasks
        )
        triple = moments.triples / moments.tasks
        random = np.random.default_rng(seed)
        columns, shares = [], []
        for a, b, c in ((1, 2, 0), (2, 0, 1), (0, 1, 2)):
            from_a = pair[c, b] @ _inverse(pair[a, b])  # Eq. 2a
            from_b = pair[c, a] @ _inverse(pair[b, a])  # Eq. 2b
            m2 = from_a @ pair[a, b] @ from_b.T  # Eq. 2c
            together = triple.transpose(a, b, c)
            m3 = np.einsum("abc,ia,jb->ijc", together, from_a, from_b, optimize=True)  # Eq. 2d
            whiten, unwhiten = _whitening((m2 + m2.T) / 2)
            whitened = np.einsum("abc,ai,bj,ck->ijk", m3, whiten, whiten, whiten, optimize=True)
            value, vector = power_method(
                sum(whitened.transpose(order) for order in permutations(range(3))) / 6,
                self.restarts,
                self.iterations,
                random,
            )
            mu = unwhiten @ (value[:, None] * vector).T
            of_class = _match(mu)
            columns.append(mu[:, of_class])
            shares.append(value[of_class] ** -2)
        return columns, np.mean(shares, axis=0)

    def _worker_matrices(
        self, moments: Moments, columns: list[Floats], shares: Floats, group: WorkerGroups
    ) -> Floats:
        """Step 3: each worker's matrix against both groups that the worker is not in."""
        n_classes = len(shares)
        against = [_inverse(shares[:, None] * c.T) for c in columns]
        assert isinstance(moments.workers, np.ndarray)
        met = moments.workers.reshape(-1, n_classes, 3, n_classes)
        confusion = np.empty((len(met), n_classes, n_classes))
        for g, (a, b) in enumerate(((1, 2), (2, 0), (0, 1))):
            mine = met[group == g]
            confusion[group == g] = mine[:, :, a] @ against[a] + mine[:, :, b] @ against[b]  # Eq. 3
        confusion /= 2 * moments.tasks
        np.maximum(confusion, self.floor, out=confusion)
        confusion /= confusion.sum(axis=1, keepdims=True)
        return confusion.transpose(0, 2, 1)


def _inverse(matrix: Floats) -> Floats:
    left, scale, right = np.linalg.svd(matrix)
    if not scale[-1] > SINGULAR * scale[0]:
        raise LinAlgError("groups of workers whose labels do not tell all classes apart")
    inverse: Floats = (right.T / scale) @ left.T
    return inverse


def _whitening(m2: Floats) -> tuple[Floats, Floats]:
    """``Q`` with ``Q.T @ m2 @ Q = I``, and the inverse of ``Q.T``; of a symmetric matrix that is
    positive, as this one is but for chance, the SVD is the eigendecomposition."""
    scale, axes = np.linalg.eigh(m2)
    if not scale[0] > SINGULAR * scale[-1]:
        raise LinAlgError("too few labels for its moments")
    return axes / np.sqrt(scale), axes * np.sqrt(scale)


def power_method(
    tensor: Floats, restarts: int, iterations: int, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """The eigenvalues of a symmetric tensor and their vectors (in rows), largest first, by the
    robust tensor power method: the best of many random starts is iterated on, and taken away."""
    values, vectors = [], []
    for _ in range(len(tensor)):
        tries = _iterate(tensor, random.normal(size=(restarts, len(tensor))), iterations)
        best = np.sum(_apply(tensor, tries) * tries, axis=1).argmax()
        vector = _iterate(tensor, tries[best : best + 1], iterations)
        value = float(np.sum(_apply(tensor, vector) * vector))
        values.append(value)
        vectors.append(vector[0])
        tensor = tensor - value * np.einsum("a,b,c->abc", *3 * [vector[0]])
    if not min(values) > SINGULAR * max(values):
        raise LinAlgError("too few labels for its moments")
    return np.array(values), np.array(vectors)


def _iterate(tensor: Floats, vectors: Floats, iterations: int) -> Floats:
    """So many times ``v = tensor(I, v, v)``, made of length 1, or until none moves any more."""
    for _ in range(iterations):
        before, vectors = vectors, _apply(tensor, vectors)
        length = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
        vectors = vectors / np.where(length > 0, length, 1)
        if np.abs(vectors - before).max() < SETTLED:
            break
    return vectors


def _apply(tensor: Floats, vectors: Floats) -> Floats:
    """``tensor(I, v, v)`` of each of the vectors."""
    n = len(tensor)
    once: Floats = (vectors @ tensor.reshape(n, n * n)).reshape(-1, n, n)
    return (once @ vectors[:, :, None])[:, :, 0]


def _match(mu: Floats) -> NDArray[np.integer]:
    """Which column is each class's: the one with its largest coordinate there, if each class has
    one; else those that have most there together."""
    of_column: NDArray[np.integer] = mu.argmax(axis=0)
    if len(np.unique(of_column)) == len(mu):
        return of_column.argsort()
    from scipy.optimize import linear_sum_assignment  # slow to import, and seldom needed

    of_class: NDArray[np.integer] = linear_sum_assignment(mu, maximize=True)[1]
    return of_class
