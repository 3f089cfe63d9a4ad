"""Dawid-Skene, with a confusion matrix or one accuracy for each worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from quorate import models
from quorate.crowdkit.aggregator import WithProbas, found, found_series
from quorate.crowdkit.crowd import Crowd
from quorate.crowdkit.learning import Learned, learned, of_all
from quorate.errors import DataError, UsageError, require_choice
from quorate.kernels import Floats
from quorate.model import AnyModel, dense
from quorate.models import dawid_skene
from quorate.votes import shown


@dataclass(eq=False)
class DawidSkene(WithProbas):
    """A confusion matrix for each worker (`quorate.DawidSkene`).

    ``errors_.loc[(worker, label), truth]`` are the matrices, `priors_` the class shares, and
    `loss_history_` the log-likelihood of the votes, by vote, iteration by iteration.
    """

    priors_: Any = found_series("prior")
    errors_: Any = found(pd.DataFrame)
    loss_history_: Any = found(list)

    n_iter: int = 100
    tol: float = 1e-5
    initial_error_strategy: Literal["assign", "addition"] | None = None

    def fit(self, data: Any, true_labels: Any = None, initial_error: Any = None) -> Self:
        """Learn from votes and known answers, a Series by task. `initial_error` has matrices to
        begin with, counts or probabilities in the shape of `errors_`."""
        crowd = Crowd.of(data)
        if crowd.is_empty:
            return self.nothing()
        crowd = crowd.with_known(true_labels)
        self._learn(crowd, self._model(crowd, initial_error))
        return self

    def _model(self, crowd: Crowd, initial_error: Any) -> AnyModel:
        strategy, tol = self.initial_error_strategy, of_all(self.tol, crowd.labels)
        if strategy is not None:
            require_choice("initial_error_strategy", strategy, ("assign", "addition"))
        if initial_error is None:
            return models.DawidSkene(tol=tol, ties="first")
        if strategy is None:
            raise UsageError(
                "initial_error needs an initial_error_strategy: assign, to begin from these"
                " matrices, or addition, to add these counts to those of the vote."
            )
        matrices = matrices_of(initial_error, crowd, whole=strategy == "assign")
        adds = strategy == "addition"
        return FromMatrices(tol=tol, ties="first", matrices=matrices, adds=adds)

    def _learn(self, crowd: Crowd, model: AnyModel) -> Learned:
        learnt = learned(model, crowd.labels, self.n_iter)
        self.labels_ = crowd.answers(learnt.codes)
        self.probas_ = crowd.by_class(learnt.posterior)
        self.priors_ = pd.Series(learnt.estimate.prior, crowd.classes, name="prior")
        self.errors_ = errors_by_name(crowd, model.confusion(learnt.estimate))
        self.loss_history_ = learnt.objective
        return learnt


@dataclass(eq=False)
class OneCoinDawidSkene(DawidSkene):
    """One accuracy for each worker (`quorate.OneCoin`): ``skills_[worker]``."""

    skills_: Any = found_series("skill")

    def fit(self, data: Any) -> Self:  # type: ignore[override]
        """Learn from votes."""
        self.refuse("initial_error_strategy", "it takes no initial_error")
        crowd = Crowd.of(data)
        if crowd.is_empty:
            return self.nothing()
        learnt = self._learn(
            crowd, models.OneCoin(tol=of_all(self.tol, crowd.labels), ties="first")
        )
        self.skills_ = pd.Series(learnt.estimate.accuracy, crowd.workers, name="skill")
        return self


@dataclass(frozen=True, eq=False, kw_only=True)
class FromMatrices(models.DawidSkene):
    """Dawid-Skene that begins from matrices ``[worker * n_classes + label, truth]``, or from their
    counts and those of the vote."""

    matrices: Floats
    adds: bool

    def from_vote(self, vote: dawid_skene.Stats, note: str = "") -> dawid_skene.Params:
        counts = dense(vote.counts) + self.matrices if self.adds else self.matrices
        return super().from_vote(vote._replace(counts=counts), note)


def matrices_of(initial_error: Any, crowd: Crowd, *, whole: bool) -> Floats:
    """Matrices ``[worker * n_classes + label, truth]`` from a frame as `errors_` is; if `whole` of
    every label that a worker gave."""
    names = list(getattr(getattr(initial_error, "index", None), "names", []))
    if not isinstance(initial_error, pd.DataFrame) or names != ["worker", "label"]:
        raise UsageError("initial_error is a DataFrame indexed by worker and label.")
    columns = initial_error.reindex(columns=crowd.classes)
    values = columns.to_numpy(dtype=float)
    worker = crowd.workers.get_indexer(initial_error.index.get_level_values("worker"))
    label = crowd.classes.get_indexer(initial_error.index.get_level_values("label"))
    if (label < 0).any() or set(initial_error.columns) != set(crowd.classes):
        raise DataError(f"initial_error has other labels than the votes: {list(crowd.classes)}.")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise DataError("initial_error has a value that is missing, negative, or not a number.")
    n_classes = len(crowd.classes)
    matrices = np.zeros((len(crowd.workers) * n_classes, n_classes))
    rows = (worker * n_classes + label)[worker >= 0]
    matrices[rows] = values[worker >= 0]
    if whole:
        _require_whole(matrices, rows, crowd)
    return matrices


def _require_whole(matrices: Floats, rows: Any, crowd: Crowd) -> None:
    """Refuse matrices that are not there for every label, or no probabilities though at most 1."""
    lacking = np.setdiff1d(crowd.labels.pair, rows) // len(crowd.classes)
    if len(lacking):
        raise DataError(
            f"initial_error has no matrix, or not all of it, for {len(np.unique(lacking))} workers,"
            f" {shown(crowd.workers[lacking[0]])} among them: addition needs none."
        )
    sums = dawid_skene.by_label_and_truth(matrices).sum(axis=1)
    if (matrices <= 1).all() and not np.allclose(sums, 1):
        raise DataError(
            "initial_error has probabilities of a worker and a truth that do not sum to 1."
        )


def errors_by_name(crowd: Crowd, confusion: Floats | None) -> Any:
    """Matrices as a frame with a row for each label that a worker gave, and a column for a
    truth."""
    assert confusion is not None
    given = pd.unique(crowd.labels.pair)
    worker, label = np.divmod(given, len(crowd.classes))
    index = pd.MultiIndex.from_arrays([crowd.workers.take(worker), crowd.classes.take(label)])
    table = dawid_skene.table_of(confusion)[given]
    return pd.DataFrame(table, index=index, columns=crowd.classes.rename(None))
