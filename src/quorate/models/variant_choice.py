"""The choice between ways to treat many classes: by how well a task's labels predict each other.

Each way, a set of parameters whose ``evidence[worker * n_classes + label, class]`` adds up to a
task's scores, tells the truth of a label from the other labels of its task. One pass counts what
the crowd says of each class so told, and a second how likely that makes the labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import kernels
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import Phase

if TYPE_CHECKING:
    from quorate.models.rank_one import Params


class Candidates(NamedTuple):
    """Ways to treat many classes, and the crowd's confusion ``[class, label]`` by each."""

    ways: tuple[Params, ...]
    crowd: tuple[Floats, ...] = ()


class Reading(NamedTuple):
    """``said[way, class, label]``: labels said of the class that the task's other labels point to,
    by each candidate."""

    said: Floats


class Scores(NamedTuple):
    """The log-probability of labels given the others, by each candidate."""

    log_score: Floats


class Read(Phase[Candidates, Floats, Reading]):
    """What the crowd says of each class, by each candidate."""

    def sweep(self, block: Labels, params: Candidates, local: Floats) -> tuple[Floats, Reading]:
        others = _Others.of(block)
        said = []
        for way in params.ways:
            belief = others.belief(way)
            by_label = [belief[others.label == c].sum(axis=0) for c in range(block.n_classes)]
            said.append(np.stack(by_label, 1))
        return local, Reading(np.stack(said))

    def estimate(self, stats: Reading, params: Candidates) -> Candidates:
        total = stats.said.sum(axis=2, keepdims=True)
        return params._replace(crowd=tuple(stats.said / np.where(total > 0, total, 1)))


class Choose(Phase[Any, Floats, Scores]):
    """The candidate under which labels are likeliest, given the others of their task."""

    def sweep(self, block: Labels, params: Candidates, local: Floats) -> tuple[Floats, Scores]:
        others = _Others.of(block)
        log_score = np.zeros(len(params.ways))
        for i, (way, crowd) in enumerate(zip(params.ways, params.crowd, strict=True)):
            expected = np.einsum("ij,ji->i", others.belief(way), crowd[:, others.label])
            log_score[i] = kernels.log_or(expected).sum()
        return local, Scores(log_score)

    def estimate(self, stats: Scores, params: Candidates) -> Params:
        return params.ways[int(stats.log_score.argmax())]


class _Others(NamedTuple):
    """The labels of tasks with several, each with its task and its (worker, label); what is known
    of a task with one label is nothing."""

    block: Labels
    task: NDArray[np.integer]
    label: NDArray[np.integer]
    pair: NDArray[np.integer]

    @classmethod
    def of(cls, block: Labels) -> _Others:
        task = block.task_of_label()
        several = (block.n_said > 1)[task]
        return cls(block, task[several], block.label[several], block.pair[several])

    def belief(self, way: Params) -> Floats:
        """``[label, class]``: what the other labels of its task make of each label's truth."""
        score = self.block.pairs.gather(way.evidence)
        return kernels.normalise(score[self.task] - way.evidence[self.pair])[0]
