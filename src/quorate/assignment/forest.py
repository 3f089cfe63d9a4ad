"""The forest: which tasks are most likely labelled wrongly, learned from crowds made up on the very
graph of who has labelled what.

P. Maginnis and T. Gupta, "Adaptive Crowdsourcing via EM with Prior" (2015), section 2. Crowds are
drawn from the priors of truth and skill, their votes aggregated as the real ones are, and a random
forest learns to tell wrong labels by the entropy of a task's belief, how many workers it has, and a
histogram of what those are estimated to be capable of.

In the paper it learns from which labels are wrong. Here it learns from how likely each is wrong,
given the skills that its crowd was made up with: the same on average without the noise of chance,
which is all there is to see once hardly any label is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from quorate.engines.engine import Engine
from quorate.errors import UsageError
from quorate.fitting import Fit, fit_labels
from quorate.kernels import Codes, Floats, entropy, log_or, normalise
from quorate.labels import Labels
from quorate.model import AnyModel
from quorate.models.one_coin import one_coin_confusion

BINS = np.linspace(0, 1, 11)
MOST_TASKS = 20_000  # of a crowd that is made up
MOST_SEEN = 20_000  # tasks that a tree learns from

# Draws the accuracies of a number of workers.
Skills = Callable[[np.random.Generator, int], Floats]


class MadeUp(NamedTuple):
    """A crowd: the truth, how often each worker is right, and what they said."""

    truth: Codes
    accuracy: Floats
    labels: Labels


@dataclass(frozen=True)
class Forest:
    """How it is grown; `crowds` are made up for it."""

    crowds: int = 5
    trees: int = 100
    smallest_leaf: int = 20
    seed: int = 0

    def risks(
        self,
        result: Fit,
        labels: Labels,
        skills: Skills,
        shares: Floats,
        engine: Engine | None = None,
    ) -> Floats:
        """The probability that each task's answer is wrong."""
        try:
            from sklearn.ensemble import RandomForestRegressor
        except ImportError:
            raise UsageError(
                "The forest needs scikit-learn: pip install 'quorate[assign]'."
            ) from None
        random = np.random.default_rng(self.seed)
        seen, wrong = [], []
        for _ in range(self.crowds):
            crowd = make_up(_sample(labels, random), skills, shares, random)
            found = fit_labels(result.model, crowd.labels, engine)
            seen.append(features(found, crowd.labels))
            wrong.append(chance_wrong(crowd, shares, found.answers))
        chances = np.concatenate(wrong)
        if not chances.any():  # as with one class
            return np.zeros(labels.n_tasks)
        forest = RandomForestRegressor(
            self.trees,
            criterion="poisson",  # of rare events its deviance is the paper's information gain
            min_samples_leaf=self.smallest_leaf,
            max_samples=min(len(chances), MOST_SEEN),
            random_state=int(random.integers(2**31)),
            n_jobs=None if engine is None else engine.n_threads,
        )
        forest.fit(np.concatenate(seen), chances)
        risks: Floats = forest.predict(features(result, labels))
        return risks.round(9)  # trees are added up in whatever order their threads end


def features(result: Fit, labels: Labels) -> Floats:
    """``[task, feature]``: entropy, number of labels, and the histogram of workers' accuracies."""
    counts = np.diff(labels.indptr)
    accuracy = _accuracies(result)
    bin_of = np.clip(np.digitize(accuracy, BINS) - 1, 0, len(BINS) - 2)
    task = np.repeat(np.arange(labels.n_tasks), counts)
    cell = task * (len(BINS) - 1) + bin_of[labels.worker]
    histogram = np.bincount(cell, minlength=labels.n_tasks * (len(BINS) - 1))
    return np.column_stack(
        [entropy(result.posterior), counts, histogram.reshape(labels.n_tasks, -1)]
    )


def _accuracies(result: Fit) -> Floats:
    """What the model believes of each worker; where it has no matrix, how often they agree."""
    confusion = result.confusion
    if confusion is not None:
        shares = result.posterior.mean(axis=0)
        mean: Floats = np.einsum("wkk,k->w", confusion, shares)
        return mean
    total = result.tally.sum(axis=1)
    right: Floats = result.tally[:, 0] / np.maximum(total, 1e-300)
    return right


def _sample(labels: Labels, random: np.random.Generator) -> Labels:
    """The graph of some tasks with all of their workers."""
    if labels.n_tasks <= MOST_TASKS:
        return labels
    kept = np.zeros(labels.n_tasks, dtype=bool)
    kept[random.choice(labels.n_tasks, MOST_TASKS, replace=False)] = True
    return labels.only_tasks(kept)


def make_up(graph: Labels, skills: Skills, shares: Floats, random: np.random.Generator) -> MadeUp:
    """A truth and labels of workers who are right with one probability each, on the same graph."""
    truth = random.choice(graph.n_classes, graph.n_tasks, p=shares).astype(np.int32)
    accuracy = skills(random, graph.n_workers)
    confusion = one_coin_confusion(accuracy, graph.n_classes)
    task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.indptr))
    rows = confusion.cumsum(axis=2)[graph.worker, truth[task]]
    label = (random.random(len(task))[:, None] >= rows[:, :-1]).sum(axis=1).astype(np.int32)
    return MadeUp(truth, accuracy, replace(graph, label=label, gold=None))


def chance_wrong(crowd: MadeUp, shares: Floats, answers: Codes) -> Floats:
    """How likely each answer is wrong to one who knows how often the workers are right."""
    confusion = one_coin_confusion(crowd.accuracy, len(shares))
    by_label = np.ascontiguousarray(confusion.transpose(0, 2, 1)).reshape(-1, len(shares))
    posterior, _ = normalise(crowd.labels.pairs.gather(log_or(by_label)) + log_or(shares))
    chance: Floats = 1 - posterior[np.arange(len(answers)), answers]
    return chance


def skills_of(model: AnyModel, result: Fit) -> Skills:
    """The model's own prior of accuracy where it has one; else the beta distribution with the mean
    and the spread of the accuracies that were estimated."""
    beta: Any = getattr(model, "beta", None)
    low, high = getattr(model, "low", 0.0), getattr(model, "high", 1.0)
    a, b = beta if beta is not None else _beta_like(_accuracies(result))
    return lambda random, n: low + (high - low) * random.beta(a, b, n)


def _beta_like(values: Floats) -> tuple[float, float]:
    """By moments, and never sharper than a hundred labels could tell."""
    mean = float(np.clip(values.mean(), 0.01, 0.99))
    spread = float(np.clip(values.var(), mean * (1 - mean) / 100, 0.9 * mean * (1 - mean)))
    size = mean * (1 - mean) / spread - 1
    return mean * size, (1 - mean) * size
