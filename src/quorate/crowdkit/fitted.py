"""Aggregators that are a model of Quorate's, fitted to all votes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import pandas as pd

from quorate import kernels, models
from quorate.crowdkit.aggregator import Aggregator, WithProbas, found, found_series
from quorate.crowdkit.crowd import Crowd
from quorate.engines.threads import Threads
from quorate.errors import DataError, UsageError, require_choice, require_number
from quorate.fitting import Request, run
from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.model import AnyModel, dense
from quorate.models import dawid_skene, mace
from quorate.votes import MemoryBlocks, shown
from quorate.votes.store import Progress

STRATEGY_PRIOR = 10.0  # Crowd-Kit's pseudo-count of each label of a worker who spams
LEAST = 1e-6  # pseudo-count of MACE
SETTLED = 1e-12  # change of MACE's objective, relatively, that is little more than rounding


class Learned(NamedTuple):
    """What a model has learned: posterior and answers, the parameters under which these were found
    and those that follow from them, values for each task, and each iteration's objective by
    vote."""

    posterior: Floats
    codes: Codes
    params: Any
    estimate: Any
    per_task: Mapping[str, Floats]
    objective: list[float]


def learned(model: AnyModel, labels: Labels, n_iter: int, *, visible: bool = False) -> Learned:
    """What a model has learned after a maximum number of iterations; after none what it begins
    with."""
    require_number("n_iter", n_iter, at_least=0)
    if not n_iter:
        return _begun(model, labels)
    model = models.named(model, max_iter=n_iter)
    with _bar(visible) as progress:
        fit = run(model, MemoryBlocks(labels), Request(Threads(), progress))
    objective = [value / labels.n_labels for value in fit.objective]
    posterior, codes, per_task = fit.tasks.whole
    after = model.estimate(fit.stats, fit.params)
    return Learned(posterior, codes, fit.params, after, per_task, objective)


def of_all(tol: float, crowd: Crowd) -> float:
    """The tolerance of an objective, relatively, that is about `tol` of that of all votes."""
    require_number("tol", tol, at_least=0)
    return tol / crowd.labels.n_labels


def _begun(model: AnyModel, labels: Labels) -> Learned:
    """What a model begins with, and what its opening phase learns from that."""
    opening, _ = model.phases(labels[:0])
    start = model.start(labels[:0])
    local, stats = opening.sweep(labels, start, model.begin(labels))
    params = opening.estimate(dense(stats), start)
    posterior = model.posterior(labels, params, local)
    codes = kernels.choose(posterior, model.ties, model.seed, labels.task_keys)
    per_task = model.per_task(labels, params, local)
    return Learned(posterior, codes, params, params, per_task, [])


@contextmanager
def _bar(visible: bool) -> Iterator[Progress | None]:
    """A progress bar, if it is wanted."""
    if not visible:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True)) as bar:
        line = bar.add_task("")

        def progress(what: str, done: float, total: float | None, how: str = "") -> None:
            bar.update(line, description=what, completed=done, total=total)

        yield progress


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
        strategy = self.initial_error_strategy
        if strategy is not None:
            require_choice("initial_error_strategy", strategy, ("assign", "addition"))
        if initial_error is None:
            return models.DawidSkene(tol=of_all(self.tol, crowd), ties="first")
        if strategy is None:
            raise UsageError(
                "initial_error needs an initial_error_strategy: assign, to begin from these"
                " matrices, or addition, to add these counts to those of the vote."
            )
        matrices = matrices_of(initial_error, crowd, whole=strategy == "assign")
        adds = strategy == "addition"
        return FromMatrices(tol=of_all(self.tol, crowd), ties="first", matrices=matrices, adds=adds)

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
        learnt = self._learn(crowd, models.OneCoin(tol=of_all(self.tol, crowd), ties="first"))
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


@dataclass(eq=False)
class GLAD(WithProbas):
    """An ability for each worker, a difficulty for each task (`quorate.GLAD`).

    ``alphas_[worker]`` are abilities, ``betas_[task]`` logarithms of easiness, and `loss_history_`
    is the log-likelihood of votes and parameters, by vote, iteration by iteration.
    """

    alphas_: Any = found_series("alpha")
    betas_: Any = found_series("beta")
    priors_: Any = found_series("prior")
    loss_history_: Any = found(list)

    n_iter: int = 100
    tol: float = 1e-5
    silent: bool = True
    labels_priors: Any = None
    alphas_priors_mean: Any = None
    betas_priors_mean: Any = None
    m_step_max_iter: int = 25
    m_step_tol: float = 1e-2

    def fit(self, data: Any) -> Self:
        """Learn from votes."""
        for option in ("m_step_max_iter", "m_step_tol"):
            self.refuse(option, "its M-step is in closed form")
        priors = self.labels_priors
        if not (priors is None or isinstance(priors, pd.Series)):
            raise UsageError("labels_priors is a Series of shares indexed by label.")
        crowd = Crowd.of(data, in_order=True, classes=None if priors is None else priors.index)
        if crowd.is_empty:
            return self.nothing()
        model = models.GLAD(
            ability_prior=(self._mean("alphas_priors_mean"), 1.0),
            easiness_prior=(self._mean("betas_priors_mean"), 1.0),
            prior="uniform" if priors is None else _shares(priors),
            tol=of_all(self.tol, crowd),
            ties="first",
        )
        learnt = learned(model, crowd.labels, self.n_iter, visible=not self.silent)
        self.labels_ = crowd.answers(learnt.codes)
        self.probas_ = crowd.by_class(learnt.posterior).rename_axis(columns="variable")
        self.alphas_ = pd.Series(learnt.params.ability, crowd.workers, name="alpha")
        self.betas_ = pd.Series(-np.log(learnt.per_task["difficulty"]), crowd.tasks, name="beta")
        self.priors_ = pd.Series(learnt.params.prior, crowd.classes.rename(None), name="prior")
        self.loss_history_ = learnt.objective
        return self

    def _mean(self, option: str) -> float:
        """The mean of a prior, which is the same for all."""
        given = getattr(self, option)
        means = np.unique(1.0 if given is None else np.asarray(given, dtype=float))
        if len(means) != 1:
            raise UsageError(f"{option} has several means: one prior here is the same for all.")
        return float(means[0])


def _shares(priors: Any) -> Floats:
    shares = priors.to_numpy(dtype=float)
    if not ((shares >= 0).all() and 0 < shares.sum() < np.inf):
        raise UsageError("labels_priors has a share that is missing, negative, or not a number.")
    return np.asarray(shares / shares.sum())


@dataclass(eq=False)
class MACE(WithProbas):
    """Workers who know the truth or spam (`quorate.MACE`), from the vote on.

    ``spamming_[worker]`` has the weights of spamming and of knowing, ``thetas_[worker, label]`` of
    each label when spamming; workers and labels are in the order in which they first appear.
    """

    spamming_: Any = found(lambda: np.empty((0, 2)))
    thetas_: Any = found(lambda: np.empty((0, 0)))
    theta_priors_: Any = found(lambda: None)
    strategy_priors_: Any = found(lambda: None)

    n_restarts: int = 10
    n_iter: int = 50
    method: str = "vb"
    smoothing: float = 0.1
    default_noise: float = 0.5
    alpha: float = 0.5
    beta: float = 0.5
    random_state: int = 0
    verbose: int = 0

    def fit(self, data: Any) -> Self:
        """Learn from votes."""
        self.refuse("default_noise", "it begins from the vote, and not from random numbers")
        crowd = Crowd.of(data)
        model = self._model()
        if crowd.is_empty:
            return self.nothing()
        learnt = learned(model, crowd.labels, self.n_iter, visible=self.verbose > 0)
        self.labels_ = crowd.answers(learnt.codes)
        self.probas_ = crowd.by_class(learnt.posterior).rename_axis(columns=None)
        self.spamming_ = np.exp(model.log_shares(learnt.params.competence))[:, ::-1]
        self.thetas_ = np.exp(model.log_shares(learnt.params.strategy))
        if self.method == "vb":
            self.theta_priors_ = np.tile([self.alpha, self.beta], (len(crowd.workers), 1))
            self.strategy_priors_ = np.full_like(self.thetas_, STRATEGY_PRIOR)
        return self

    def _model(self) -> models.MACE:
        require_choice("method", self.method, ("vb", "em"))
        if self.method == "em":
            for option in ("alpha", "beta"):
                self.refuse(option, "method='em' has no prior")
            require_number("smoothing", self.smoothing, at_least=LEAST)
            even = (self.smoothing, self.smoothing)
            return PlainMACE(
                competence_prior=even, strategy_prior=self.smoothing, tol=SETTLED, ties="first"
            )
        self.refuse("smoothing", "method='vb' has priors in its place")
        prior = (self.beta, self.alpha)
        return models.MACE(
            competence_prior=prior, strategy_prior=STRATEGY_PRIOR, tol=SETTLED, ties="first"
        )


@dataclass(frozen=True, eq=False)
class PlainMACE(models.MACE):
    """MACE by maximum likelihood: a pseudo-count is added to expected counts, as to others'."""

    is_bound: ClassVar[bool] = False

    def log_shares(self, pseudo_counts: Floats) -> Floats:
        log: Floats = np.log(pseudo_counts / pseudo_counts.sum(axis=1, keepdims=True))
        return log

    def log_density(self, params: mace.Params) -> float:
        parts = (params.competence, params.strategy)
        return float(sum(self.strategy_prior * self.log_shares(part).sum() for part in parts))


@dataclass(eq=False)
class KOS(Aggregator):
    """Messages between tasks and workers, for two labels (`quorate.KOS`)."""

    n_iter: int = 100
    random_state: int = 0

    def fit(self, data: Any) -> Self:
        """Learn from votes."""
        crowd = Crowd.of(data, in_order=True)
        if crowd.is_empty:
            return self.nothing()
        if len(crowd.classes) != 2:
            raise DataError(
                f"KOS is for two labels, and there are {len(crowd.classes)}: quorate.KOS takes"
                " more, if they have an order."
            )
        model = models.KOS(seed=self.random_state, ties="first")
        self.labels_ = crowd.answers(learned(model, crowd.labels, self.n_iter).codes)
        return self
