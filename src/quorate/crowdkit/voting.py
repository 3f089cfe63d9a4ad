"""Aggregators that weight a worker's votes by a skill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd

from quorate.crowdkit.aggregator import Aggregator, WithProbas, found, found_series
from quorate.crowdkit.crowd import Crowd, accuracy, answers_by_task, complete
from quorate.errors import DataError, UsageError, require_choice, require_number
from quorate.fitting import fit_labels
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.models import RankOne
from quorate.votes import shown


class Vote(NamedTuple):
    """The answers, as codes, and the shares of the weight ``[task, class]``."""

    codes: Any
    shares: Floats


def vote(labels: Labels, weight: Floats) -> Vote:
    """The weighted vote. Of labels of the same weight those win that somebody gave, and of these
    the first. Where weights sum to less than zero, shares are of the size of that sum, so that the
    answer has the greatest."""
    votes = labels.weighted_votes(weight)
    best = votes == votes.max(axis=1, keepdims=True, initial=-np.inf)
    given = labels.weighted_votes(np.ones(labels.n_workers)) > 0
    size = np.abs(votes.sum(axis=1, keepdims=True))
    even = np.full_like(votes, 1 / max(labels.n_classes, 1))
    shares = np.divide(votes, size, out=even, where=size > 0)
    codes = (best * (1 + given)).argmax(axis=1) if len(votes) else np.empty(0, dtype=np.intp)
    return Vote(codes, shares)


@dataclass(eq=False)
class MajorityVote(WithProbas):
    """The label that most workers gave, each of them counted by a skill if skills are given.

    ``skills_[worker]`` is the share of a worker's labels that are the answers.
    """

    skills_: Any = found_series("skill")

    default_skill: float | None = None
    on_missing_skill: str = "error"

    def fit(self, data: Any, skills: Any = None) -> Self:
        """Count votes, weighted by a Series of skills by worker."""
        if skills is not None:
            require_skills(skills)
            skills, data = self._known_skills(complete(data), skills.dropna())
        crowd = Crowd.of(data, in_order=skills is not None)
        if crowd.is_empty:
            return self.nothing()
        weight = np.ones(len(crowd.workers)) if skills is None else weights(crowd, skills)
        codes, shares = vote(crowd.labels, weight)
        self.labels_, self.probas_ = crowd.answers(codes), crowd.by_class(shares)
        self.skills_ = pd.Series(crowd.agreement(codes), crowd.workers, name="skill")
        return self

    def _known_skills(self, data: Any, skills: Any) -> tuple[Any, Any]:
        """Skills of all workers, and the votes that count."""
        require_choice("on_missing_skill", self.on_missing_skill, ("error", "ignore", "value"))
        if (self.default_skill is None) == (self.on_missing_skill == "value"):
            raise UsageError("default_skill goes with on_missing_skill='value': give both or none.")
        if self.on_missing_skill == "value":
            return skills.reindex(data["worker"].unique(), fill_value=self.default_skill), data
        if self.on_missing_skill == "ignore":
            counted = data[data["worker"].isin(skills.index)]
            lost = data["task"].nunique() - counted["task"].nunique()
            if lost:
                raise DataError(f"{lost} tasks have no vote of a worker with a skill.")
            return skills, counted
        return skills, data


def require_skills(skills: Any) -> None:
    """Refuse what is not a Series by worker."""
    if not isinstance(skills, pd.Series) or not skills.index.is_unique:
        raise UsageError("Skills are a Series of numbers indexed by worker, with one of each.")


def weights(crowd: Crowd, skills: Any) -> Floats:
    """Skills in the order of the codes of the workers, who all have one."""
    known: Floats = skills.reindex(crowd.workers).to_numpy(dtype=float)
    lacking = np.isnan(known)
    if lacking.any():
        first = crowd.workers[lacking][0]
        raise DataError(
            f"{lacking.sum()} of {len(known)} workers have no skill, {shown(first)} among them."
        )
    return known


@dataclass(eq=False)
class Skilled(Aggregator):
    """Skills, which `fit` finds, and labels, which `predict` finds by them."""

    shares_name: ClassVar[str]

    skills_: Any = found_series("skill")

    def predict(self, data: Any) -> Any:
        """The labels of tasks, by the skills that `fit` has found of their workers."""
        self.predict_shares(data)
        return self.labels_

    def fit_predict(self: Any, data: Any, *known: Any, **also_known: Any) -> Any:
        """The labels of the tasks that are fitted; the arguments are those of `fit`."""
        return self.fit(data, *known, **also_known).predict(data)

    def predict_shares(self, data: Any) -> Any:
        """The shares of the weight that labels have, kept by their name."""
        if not hasattr(self, "skills_"):
            raise UsageError(f"{type(self).__name__} has no skills yet: fit comes before predict.")
        crowd = Crowd.of(data, in_order=True)
        codes, shares = vote(crowd.labels, weights(crowd, self.skills_))
        self.labels_ = crowd.answers(codes)
        setattr(self, self.shares_name, crowd.by_class(shares))
        return getattr(self, self.shares_name)


@dataclass(eq=False)
class SkilledWithProbas(Skilled):
    """The same, with each label's share of the weight: ``probas_.loc[task, label]``."""

    shares_name: ClassVar[str] = "probas_"

    probas_: Any = found(pd.DataFrame)

    def predict_proba(self, data: Any) -> Any:
        """The shares of the labels, by the skills that `fit` has found."""
        return self.predict_shares(data)

    def fit_predict_proba(self: Any, data: Any, *known: Any, **also_known: Any) -> Any:
        """The shares of the labels of the tasks that are fitted."""
        return self.fit(data, *known, **also_known).predict_proba(data)


@dataclass(eq=False)
class GoldMajorityVote(SkilledWithProbas):
    """A vote in which workers count by the share of known answers that they gave."""

    def fit(self, data: Any, true_labels: Any) -> Self:
        """Judge workers by known answers, a Series by task; a task may have several."""
        known = answers_by_task(true_labels, "true_labels")
        self.skills_ = accuracy(complete(data), known, by="worker").rename("skill")
        return self


@dataclass(eq=False)
class ZeroBasedSkill(SkilledWithProbas):
    """A vote in which workers count by how often they agree with it, approached step by step."""

    n_iter: int = 100
    lr_init: float = 1.0
    lr_steps_to_reduce: int = 20
    lr_reduce_factor: float = 0.5
    eps: float = 1e-5

    def fit(self, data: Any) -> Self:
        """Learn skills from votes."""
        require_number("n_iter", self.n_iter, at_least=0)
        require_number("lr_steps_to_reduce", self.lr_steps_to_reduce, at_least=1)
        crowd = Crowd.of(data, in_order=True)
        if crowd.is_empty:
            return self.nothing()
        skill = np.full(len(crowd.workers), 1 / len(crowd.classes) + self.eps)
        rate = self.lr_init
        for step in range(1, self.n_iter + 1):
            if step % self.lr_steps_to_reduce == 0:
                rate *= self.lr_reduce_factor
            agreement = crowd.agreement(vote(crowd.labels, skill).codes)
            skill = skill + rate * (agreement - skill)
        self.skills_ = pd.Series(skill, crowd.workers, name="skill")
        return self


@dataclass(eq=False)
class Wawa(SkilledWithProbas):
    """A vote in which workers count by how often they agree with the plain vote."""

    def fit(self, data: Any) -> Self:
        """Learn skills from votes."""
        self.skills_ = MajorityVote().fit(data).skills_
        return self


@dataclass(eq=False)
class MMSR(Skilled):
    """A vote in which workers count by log-odds that follow from how often they agree with each
    other (`quorate.RankOne`).

    ``scores_.loc[task, label]`` are shares of the weight, which are negative where weights are.
    """

    shares_name: ClassVar[str] = "scores_"

    scores_: Any = found(pd.DataFrame)
    loss_history_: Any = found(list)

    n_iter: int = 10000
    tol: float = 1e-10
    random_state: int | None = 0

    def fit(self, data: Any) -> Self:
        """Learn skills from votes."""
        require_number("n_iter", self.n_iter, at_least=1)
        crowd = Crowd.of(data, in_order=True)
        if crowd.is_empty:
            return self.nothing()
        model = RankOne(variant="one-skill", tol=self.tol, max_sweeps=self.n_iter, ties="first")
        params = fit_labels(model, crowd.labels).params
        odds = log_odds(params.skill[:, 0], len(crowd.classes), len(crowd.tasks))
        self.skills_ = pd.Series(odds, crowd.workers, name="skill")
        self.loss_history_ = [params.loss]
        return self

    def predict_score(self, data: Any) -> Any:
        """The scores of the labels, by the skills that `fit` has found."""
        return self.predict_shares(data)

    def fit_predict_score(self, data: Any) -> Any:
        """The scores of the labels of the tasks that are fitted."""
        return self.fit(data).predict_score(data)


def log_odds(skill: Floats, n_classes: int, n_tasks: int) -> Floats:
    """Log-odds of a right label against one of the others, for workers who are right by chance
    where their skill is 0, and always where it is 1; a margin keeps them finite."""
    others, margin = max(n_classes - 1, 1), 1 / np.sqrt(n_tasks)
    skill = np.maximum(np.minimum(skill, 1 - margin), margin - 1 / others)
    odds: Floats = np.log((1 + others * skill) / (1 - skill))
    return odds
