"""Taught: a model's posterior, corrected by what known answers have shown.

Known answers that are only kept fixed change little: what the consensus of all other tasks says of
workers outweighs them. So they correct the posterior P itself, by a scale a and a weight b for each
worker's votes,

    log q(class) = a log P(class) + sum of b[worker] over the votes for the class + constant:

a logistic regression of the known answers on the consensus and on the votes. `quorate.teaching`
says how a and b are learned. Where the consensus is right a is 1 and every b is 0; a below 1 says
that it is too sure, and a worker whose votes deserve more than the consensus gives them has a b
above 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate import kernels
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import AnyPhase, Calibration, Room, Step
from quorate.models.wrapper import Wrapper

LEAST = 1e-6  # probability of a class, before it is corrected


@dataclass(frozen=True, eq=False)
class Taught(Wrapper):
    """A model, with the ``scale`` a of its log-posterior and ``vote_weights[worker]``, b.

    Examples:
        >>> import quorate
        >>> labels = quorate.Labels.from_codes([0, 0, 0], [0, 1, 2], [0, 0, 1])
        >>> taught = Taught(quorate.Majority(), 1.0, np.array([0.0, 0.0, 2.0]))
        >>> quorate.fit(taught, labels).posterior.round(2)
        array([[0.21, 0.79]])
    """

    scale: float
    vote_weights: Floats

    def correct(self, block: Labels, posterior: Floats) -> Floats:
        """q, from the model's posterior."""
        weights = np.zeros(block.n_workers)  # somebody new has none
        weights[: len(self.vote_weights)] = self.vote_weights[: block.n_workers]
        return corrected(block, posterior, self.scale, weights)

    def posterior(self, block: Labels, params: Any, local: Any) -> Floats:
        return block.with_known(self.correct(block, self.model.posterior(block, params, local)))

    # Everything else is the model's.

    def calibration(self, params: Any) -> Calibration:
        return self.model.calibration(params)

    def n_matrices(self, n_classes: int) -> int:
        return self.model.n_matrices(n_classes)

    def room(self, n_workers: int, n_classes: int) -> Room:
        return self.model.room(n_workers, n_classes)

    def phases(self, shape: Labels) -> tuple[AnyPhase, ...]:
        return (*self.model.phases(shape)[:-1], self)

    def parts(self, params: Any) -> Sequence[AnyPhase]:
        return (*self.model.parts(params)[:-1], self)

    def start(self, shape: Labels) -> Any:
        return self.model.start(shape)

    def begin(self, block: Labels) -> Any:
        return self.model.begin(block)

    def sweep(self, block: Labels, params: Any, local: Any) -> tuple[Any, Any]:
        return self.model.sweep(block, params, local)

    def estimate(self, stats: Any, params: Any) -> Any:
        return self.model.estimate(stats, params)

    def progress(self, stats: Any, params: Any) -> Step | None:
        return self.model.progress(stats, params)

    def converged(self, steps: Sequence[Step]) -> bool:
        return self.model.converged(steps)

    def learned(self, block: Labels, params: Any, local: Any, posterior: Floats) -> Floats:
        """Workers are judged by the corrected posterior."""
        return posterior

    def per_task(self, block: Labels, params: Any, local: Any) -> Mapping[str, Floats]:
        return self.model.per_task(block, params, local)

    def newcomer(self, stats: Any, params: Any) -> Any:
        return self.model.newcomer(stats, params)

    def confusion(self, params: Any) -> Floats | None:
        return self.model.confusion(params)

    def history(self, stats: Any, params: Any) -> Floats | None:
        return self.model.history(stats, params)

    def mixture(self, stats: Any, params: Any) -> dict[str, Any] | None:
        return self.model.mixture(stats, params)

    def notes(self, params: Any) -> tuple[str, ...]:
        return self.model.notes(params)


def corrected(block: Labels, posterior: Floats, scale: float, vote_weights: Floats) -> Floats:
    """The posterior ``[task, class]``, scaled and with a weight for each worker's votes."""
    log_posterior = scale * np.log(np.maximum(posterior, LEAST))
    log_posterior += block.weighted_votes(vote_weights)
    return kernels.normalise(log_posterior)[0]
