"""What all aggregators share: options as fields, and what a fit finds as attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Self

import pandas as pd

from quorate.errors import UsageError


def found(empty: Callable[[], Any]) -> Any:
    """A field for what a fit finds; of a table without votes it is `empty`."""
    return field(init=False, repr=False, metadata={"empty": empty})


def found_series(name: str) -> Any:
    """A field for a Series that a fit finds."""
    return found(partial(pd.Series, dtype=float, name=name))


@dataclass(eq=False)
class Aggregator:
    """Options, and after `fit` the labels of tasks: ``labels_[task]``.

    `data` is a pandas frame with the columns task, worker and label; others are ignored.
    """

    labels_: Any = found_series("agg_label")

    def fit_predict(self: Any, data: Any, *known: Any, **also_known: Any) -> Any:
        """The labels that `fit` finds, whose arguments it takes."""
        return self.fit(data, *known, **also_known).labels_

    def nothing(self) -> Self:
        """The aggregator after a table without votes."""
        for each in fields(self):
            if "empty" in each.metadata:
                setattr(self, each.name, each.metadata["empty"]())
        return self

    def refuse(self, option: str, why: str) -> None:
        """Refuse an option that is not left as it is, and would have no effect."""
        default = next(each.default for each in fields(self) if each.name == option)
        if getattr(self, option) != default:
            raise UsageError(f"{type(self).__name__} cannot heed {option}: {why}.")


@dataclass(eq=False)
class WithProbas(Aggregator):
    """Labels, and the probabilities of all labels: ``probas_.loc[task, label]``."""

    probas_: Any = found(pd.DataFrame)

    def fit_predict_proba(self: Any, data: Any, *known: Any, **also_known: Any) -> Any:
        """The probabilities that `fit` finds, whose arguments it takes."""
        return self.fit(data, *known, **also_known).probas_
