"""Aggregators of comparisons of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from quorate.crowdkit.aggregator import found, found_series
from quorate.errors import DataError, UsageError, require_number
from quorate.ranking import Ranking, rank
from quorate.votes import listed


@dataclass(eq=False)
class Pairwise:
    """Options, and after `fit` the scores of labels: ``scores_[label]``.

    `data` is a pandas frame with the columns left, right and label, the winner, and worker where it
    matters; others are ignored.
    """

    scores_: Any = found_series("score")

    def fit_predict(self: Any, data: Any) -> Any:
        """The scores that `fit` finds."""
        return self.fit(data).scores_


@dataclass(eq=False)
class BradleyTerry(Pairwise):
    """Scores that sum to 1, of the Bradley-Terry model (`quorate.rank`): at the maximum of the
    likelihood, so that `n_iter` and `tol` change nothing.

    Examples:
        >>> rows = [("a", "b", "a"), ("b", "c", "c"), ("a", "c", "a"), ("c", "a", "c")]
        >>> data = pd.DataFrame([*rows, ("b", "a", "b")], columns=["left", "right", "label"])
        >>> BradleyTerry(n_iter=100).fit_predict(data).idxmax()
        'c'
    """

    n_iter: int = 100
    tol: float = 1e-5
    loss_history_: Any = found(list)

    def fit(self, data: Any) -> Self:
        """Learn scores from comparisons."""
        require_number("n_iter", self.n_iter, at_least=1)
        table = _comparisons(data, ("left", "right", "label"))
        self.loss_history_ = []
        if table.empty:
            self.scores_ = pd.Series([], dtype=float)
            return self
        ranking = _ranked(table, by_worker=False)
        share = np.exp(ranking.strength - ranking.strength.max())
        self.scores_ = pd.Series(share / share.sum(), index=ranking.names.to_list())
        self.loss_history_ = [-ranking.log_likelihood / len(table)]
        return self


@dataclass(eq=False)
class NoisyBradleyTerry(Pairwise):
    """Scores of labels, and skills and biases of workers: `quorate.rank` by judge.

    ``scores_`` are the logistic function of strengths, ``biases_`` the probability of naming the
    left of two equals, and ``skills_`` the workers' reliability, which is 1 on average."""

    skills_: Any = found_series("skill")
    biases_: Any = found_series("bias")

    n_iter: int = 100
    tol: float = 1e-5
    regularization_ratio: float = 1e-5
    random_state: int = 0

    def fit(self, data: Any) -> Self:
        """Learn scores, skills and biases from comparisons."""
        require_number("n_iter", self.n_iter, at_least=1)
        if self.regularization_ratio != 1e-5:
            raise UsageError(
                "NoisyBradleyTerry cannot heed regularization_ratio: strengths have a prior only"
                " where they need one; see prior_sd of quorate.rank."
            )
        table = _comparisons(data, ("worker", "left", "right", "label"))
        if table.empty:
            raise DataError("There are no comparisons to rank by.")
        ranking = _ranked(table, by_worker=True)
        strength = 1 / (1 + np.exp(-ranking.strength))
        index = pd.Index(ranking.names.to_list(), name="label")
        self.scores_ = pd.Series(strength, index=index, name="score")
        judges = ranking.workers_frame
        workers, even = judges["worker"].to_list(), np.full(len(judges), 0.5)
        left = judges["left"].to_numpy() if "left" in judges.columns else even
        skill = judges["reliability"] if "reliability" in judges.columns else 2 * even
        self.biases_ = pd.Series(left, index=workers, name="bias")
        self.skills_ = pd.Series(np.asarray(skill), index=workers, name="skill")
        return self


def _ranked(table: Any, by_worker: bool) -> Ranking:
    renamed = table.rename(columns={"label": "winner"})
    return rank(renamed, by_worker=by_worker, position=by_worker)


def _comparisons(data: Any, columns: tuple[str, ...]) -> Any:
    """The columns of a frame of comparisons, of which none may be missing."""
    if not isinstance(data, pd.DataFrame):
        kind = type(data).__name__
        raise UsageError(
            f"quorate.crowdkit takes a pandas DataFrame, not {kind}: quorate.rank takes most."
        )
    for column in columns:
        if column not in data:
            raise DataError(
                f"The table has the columns {listed(data.columns)} and none called {column}."
            )
    return data[list(columns)]
