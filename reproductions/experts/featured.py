"""Tasks that have features, answered with and without them: what the parts of `experts` share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl
from scipy.sparse import csr_array, vstack

from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from reproductions.experiment import Plan
from reproductions.fitting import feature_table, feature_weight, fitted, positions
from reproductions.scoring import Known, known, percent_wrong

# What the answers are made of; "full" is the report's model.
VOTE, WITHOUT, FULL, FOUND = "vote", "without features", "full weight", "weight found"
LINES = (VOTE, WITHOUT, FULL, FOUND)
REPORTS_SMOOTHING = 1.0


@dataclass(frozen=True, eq=False)
class Answered:
    """The posterior of each task, by what it is made of, and the weight that was found."""

    posterior: Mapping[str, Floats]
    weight: float

    def percent_wrong(self, truth: Codes, among: Any) -> dict[str, float]:
        """Percentage of some of the tasks that is wrong."""
        return {line: percent_wrong(p[among], truth[among]) for line, p in self.posterior.items()}


def answered(labels: Labels, smoothing: float, seed: int) -> Answered:
    """Answers of each kind; `seed` says which votes are held out to find the weight."""
    weight = feature_weight(labels, smoothing, seed)
    posterior = {
        line: fitted("naive-bayes", labels, smoothing=smoothing, feature_weight=w).posterior
        for line, w in ((WITHOUT, 0.0), (FULL, 1.0), (FOUND, weight))
    }
    return Answered({VOTE: fitted("majority", labels).posterior, **posterior}, weight)


@lru_cache(maxsize=4)
def _features(name: str, directory: Path) -> tuple[pl.Series, Any]:
    return feature_table(name, directory)


def features_of(tasks: pl.Series, name: str, directory: Path) -> csr_array:
    """A row for each of the tasks; one that is not named with a feature has none."""
    named, matrix = _features(name, directory)
    row = positions(tasks, named).fill_null(len(named)).to_numpy()
    bare = csr_array((1, matrix.shape[1]), dtype=matrix.dtype)
    rows: csr_array = vstack([matrix, bare], format="csr")[row]
    return rows


def described(plan: Plan, name: str) -> Known:
    """Real votes, with their tasks' features."""
    votes = known(name, plan.directory)
    features = features_of(votes.codebook.tasks, name, plan.directory)
    return replace(votes, labels=replace(votes.labels, features=features))


def points(gain: float) -> str:
    """A difference of two errors in percent, with its sign.

    Examples:
        >>> points(1.25), points(-0.001)
        ('+1.25', '+0.00')
    """
    return f"{round(gain, 2) + 0.0:+.2f}"
