"""The graph of comparisons: which systems can be ranked with which others, and from what."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from quorate.engines.engine import Fold
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.ranking.bradley_terry import LEFT, RIGHT, TIE, sides, sums


class Tally(NamedTuple):
    """``won[system, system]``: how often the first beat the second; ``tied[system, system]`` once
    for each tie; ``met[left, right]`` the comparisons with these sides; ``judge[judge, verdict]``
    how often each judge said left, tie and right."""

    won: Floats
    tied: Floats
    met: Floats
    judge: Floats


class Graph(NamedTuple):
    """Systems in ``component`` 0, 1, ..., the largest first, are connected by comparisons;
    `extreme` systems won or lost every comparison with the rest of their component, alone or as a
    set, and `sides_tell` says whether leaning to a side can be told from the strengths."""

    component: NDArray[np.intp]
    extreme: NDArray[np.bool_]
    sides_tell: bool

    @property
    def n_components(self) -> int:
        return int(self.component.max()) + 1


def count(block: Labels, n_systems: int, local: Any) -> tuple[Any, Tally]:
    """The fold that counts: what a block adds to the tally."""
    left, right = sides(block)
    pair = block.task_of_label()
    said = np.ones(block.n_labels)
    of_pair = sums(pair * 3 + block.label, said, 3 * block.n_tasks).reshape(-1, 3)
    size = n_systems**2
    there, back = left * n_systems + right, right * n_systems + left
    won = sums(there, of_pair[:, LEFT], size) + sums(back, of_pair[:, RIGHT], size)
    tied, met = sums(there, of_pair[:, TIE], size), sums(there, of_pair.sum(axis=1), size)
    judge = sums(block.worker * 3 + block.label, said, 3 * block.n_workers)
    won, tied, met = (each.reshape(n_systems, n_systems) for each in (won, tied, met))
    return local, Tally(won, tied, met, judge.reshape(-1, 3))


def tally(fold: Fold, n_systems: int) -> Tally:
    """How often each system beat, tied with and met each other."""
    counted: Tally = fold.sweep(count, n_systems, keep=False)
    return counted


def graph_of(counted: Tally) -> Graph:
    """What the comparisons connect."""
    from scipy.sparse.csgraph import connected_components  # slow to import

    tied = counted.tied + counted.tied.T
    beats = csr_array((counted.won + tied) > 0)
    _, component = connected_components(beats, directed=True, connection="weak")
    _, strong = connected_components(beats, directed=True, connection="strong")
    by_size = np.argsort(-np.bincount(component), kind="stable")
    number = np.empty_like(by_size)
    number[by_size] = np.arange(len(by_size))
    component = number[component].astype(np.intp)
    # A set that never lost to the rest, or never won against it, is strongly connected by itself.
    largest = _largest_within(strong, component)
    return Graph(component, strong != largest[component], _sides_tell(counted.met, component))


def _largest_within(strong: NDArray[Any], component: NDArray[np.intp]) -> NDArray[np.intp]:
    """The number of the largest strongly connected set of each component."""
    size = np.bincount(strong)[strong]
    order = np.lexsort((-strong, size))  # the largest, of those of a size the first, comes last
    largest = np.zeros(int(component.max()) + 1, dtype=np.intp)
    largest[component[order]] = strong[order]
    return largest


def _sides_tell(met: Floats, component: NDArray[np.intp]) -> bool:
    """Whether no shift of strengths has the effect of a side. It would have to be 1 between the
    left and the right system of every pair: then each is on the same side of the same others."""
    from scipy.sparse.csgraph import breadth_first_order

    there = csr_array(met > 0)
    both = there + there.T
    shift = np.zeros(len(met))
    for first in (np.flatnonzero(component == number)[0] for number in np.unique(component)):
        order, before = breadth_first_order(both, first, directed=False)
        for system in order[1:].tolist():
            known = before[system]
            shift[system] = shift[known] + (-1.0 if met[known, system] else 1.0)
    left, right = np.nonzero(met)
    return bool(np.any(shift[left] - shift[right] != 1))
