"""Several right labels of a task, each of them a question of its own."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Self

import numpy as np
import pandas as pd

from quorate.crowdkit.aggregator import Aggregator, found
from quorate.crowdkit.crowd import complete
from quorate.crowdkit.voting import GoldMajorityVote, MajorityVote
from quorate.errors import DataError, UsageError


@dataclass(eq=False)
class BinaryRelevance(Aggregator):
    """For each label, whether it is right, by an aggregator of its own: ``aggregators_[label]``.

    The column `label` has lists of labels, and so has `labels_`.
    """

    aggregators_: dict[Any, Any] = found(dict)

    base_aggregator: Any = field(default_factory=MajorityVote)

    def fit(self, data: Any) -> Self:
        """Learn from votes."""
        base = self.base_aggregator
        if not isinstance(base, Aggregator) or isinstance(base, GoldMajorityVote):
            raise UsageError(
                "base_aggregator is an aggregator of quorate.crowdkit that needs no known answers,"
                f" not {base!r}."
            )
        votes = complete(data)
        _require_lists(votes["label"])
        self.nothing()
        row = np.repeat(np.arange(len(votes)), votes["label"].map(len).to_numpy(dtype=int))
        named = pd.Series(list(chain.from_iterable(votes["label"])), dtype=object)
        code, labels = pd.factorize(named.infer_objects(), sort=True)
        for i, label in enumerate(labels):
            chosen = np.zeros(len(votes), dtype=np.int64)
            chosen[row[code == i]] = 1
            self.aggregators_[label] = replace(base)
            self.aggregators_[label].fit_predict(votes.assign(label=chosen))
        if self.aggregators_:
            self.labels_ = self._right_labels()
        return self

    def _right_labels(self) -> Any:
        """Of each task the labels that are right."""
        answers = pd.DataFrame({label: each.labels_ for label, each in self.aggregators_.items()})
        right = answers.to_numpy() == 1
        labels = [list(answers.columns[row]) for row in right]
        return pd.Series(labels, index=answers.index, name="agg_label", dtype=object)


def _require_lists(labels: Any) -> None:
    plain = [cell for cell in labels if isinstance(cell, str) or not isinstance(cell, Collection)]
    if plain:
        raise DataError(
            f"BinaryRelevance takes a list of labels in each row, and one has {plain[0]!r}."
        )
