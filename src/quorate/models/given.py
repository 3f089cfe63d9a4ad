"""A posterior that a function computes: any function of the votes as a method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from quorate.errors import UsageError
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.models.majority import FixedBelief


@dataclass(frozen=True, eq=False)
class Given(FixedBelief):
    """A function from `Labels` to the posterior ``[task, class]``, as a model.

    Examples:
        >>> import quorate
        >>> labels = quorate.Labels.from_codes([0, 0, 0, 1], [0, 1, 2, 0], [0, 0, 1, 1])
        >>> quorate.fit(Given(quorate.Labels.vote_shares), labels).answers
        array([0, 1], dtype=int32)
    """

    in_memory_only: ClassVar[bool] = True

    function: Callable[[Labels], Any]
    found: Floats | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise UsageError(f"A method is a name, a model or a function, not {self.function!r}.")

    def with_votes(self, labels: Labels) -> Given:
        return replace(self, found=self._checked(labels))

    def _checked(self, labels: Labels) -> Floats:
        """The function's posterior of some labels, if it is one."""
        name, shape = self.name, (labels.n_tasks, labels.n_classes)
        try:
            posterior = np.array(self.function(labels), dtype=np.float64)
        except (TypeError, ValueError):
            raise UsageError(f"{name} has to return an array of numbers [task, class].") from None
        if posterior.shape != shape:
            raise UsageError(
                f"{name} returned an array of the shape {posterior.shape}; these votes need"
                f" {shape}, a row for each task and a column for each class."
            )
        if not (np.isfinite(posterior).all() and (posterior >= 0).all()):
            raise UsageError(f"{name} returned a probability that is negative, or not a number.")
        if not np.allclose(posterior.sum(axis=1), 1, rtol=0, atol=1e-6):
            raise UsageError(f"{name} returned probabilities of a task that do not sum to 1.")
        return labels.with_known(posterior)

    def begin(self, block: Labels) -> Floats:
        """The rows of the tasks; of votes that came later what the function makes of them alone."""
        if self.found is None:
            return self._checked(block)
        return self.found[block.first_task : block.first_task + block.n_tasks]
