"""Cross-fitting: the answers of tasks whose truth is known, found while it is hidden.

The known answers are shared among a few folds. The answers of each fold are hidden, the model is
fitted with those of the others, and what it makes of the hidden ones is kept: so every known answer
is met by a posterior that has not seen it, as those of all other tasks. What `auto` finds out by
holding out votes it finds out once, before, with all known answers hidden.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import kernels, metrics
from quorate.fitting import Request, run
from quorate.heldout import posterior_of_block
from quorate.kernels import Floats, Keys
from quorate.labels import Labels, joined
from quorate.model import AnyModel
from quorate.models import Auto
from quorate.trust import Check
from quorate.votes.blocks import Blocks

FOLDS, FEW_FOLDS = 5, 2
MANY_VOTES = 2_000_000  # from which on there are few folds, since each is another fit
LEAST_KNOWN = 5


class CrossFit(NamedTuple):
    """The tasks with known answers, the fold of each, and the posterior that was found of it while
    it was hidden."""

    labels: Labels
    fold: NDArray[np.intp]
    posterior: Floats

    @property
    def truth(self) -> NDArray[np.integer]:
        assert self.labels.gold is not None
        return self.labels.gold

    def check(self, posterior: Floats | None = None) -> Check:
        """The hidden answers against the known; ties are shared."""
        found = self.posterior if posterior is None else posterior
        return Check(kernels.row_max(found), metrics.right_shares(found, self.truth))


def crossfit(model: AnyModel, blocks: Blocks, request: Request) -> CrossFit | None:
    """Fit the model with a part of the known answers hidden, one part after the other; None where
    too few are known."""
    known = _known(blocks)
    if known is None or known.n_tasks < LEAST_KNOWN:
        return None
    quiet = replace(request, progress=None, resume=False, min_confidence=0.0)
    fold = _folds(known, model.seed, FOLDS if blocks.n_labels < MANY_VOTES else FEW_FOLDS)
    posterior = np.empty((known.n_tasks, known.n_classes))
    for each in range(fold.max() + 1):
        hidden = known.task_keys(fold == each)
        posterior[fold == each] = _found(model, blocks, hidden, quiet)
    return CrossFit(known, fold, posterior)


def judged(model: Auto, blocks: Blocks, request: Request) -> Auto:
    """The model with its members weighted by held-out votes, while no answer is known."""
    if model.judgement is not None:
        return model
    quiet = replace(request, progress=None, resume=False, min_confidence=0.0)
    return model.judged(run(model, blocks.change(hide_all), quiet).params)


def hide_all(block: Labels) -> Labels:
    """Change of a block that hides all known answers."""
    return replace(block, gold=None)


def _known(blocks: Blocks) -> Labels | None:
    """The tasks with known answers."""
    if blocks.shape.gold is None:
        return None
    return joined([block.only_tasks(np.asarray(block.gold) >= 0) for block in blocks])


def _folds(known: Labels, seed: int, n_folds: int) -> NDArray[np.intp]:
    """A fold for each task, of even sizes, drawn by the tasks' names."""
    random = kernels.hashed_uniform(known.task_keys(), 1, seed)[:, 0]
    fold: NDArray[np.intp] = random.argsort(kind="stable").argsort() % n_folds
    return fold


def _found(model: AnyModel, blocks: Blocks, hidden: Keys, request: Request) -> Floats:
    """The posterior of the tasks whose known answers are hidden."""
    fit = run(model, blocks.change(Hide(hidden)), request)
    return np.concatenate(
        [
            posterior_of_block(fit, index, block)[np.isin(block.task_keys(), hidden)]
            for index, block in enumerate(blocks)
        ]
    )


@dataclass(frozen=True)
class Hide:
    """Change of a block that hides the known answers of some tasks."""

    tasks: Keys

    def __call__(self, block: Labels) -> Labels:
        assert block.gold is not None
        hidden = np.isin(block.task_keys(), self.tasks)
        return replace(block, gold=np.where(hidden, np.int32(-1), block.gold))
