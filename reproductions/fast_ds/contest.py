"""The data sets of *Fast Dawid-Skene* prepared as its authors did, and the methods it compares."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.metrics import right_shares
from quorate.result import Result
from reproductions.experiment import Plan
from reproductions.fitting import fitted
from reproductions.scoring import Known, known, subset

# Table 1: questions, options, and the most annotators of a question, two options first. DAiSEE
# cannot be had.
PUBLISHED_SIZES = {
    "bm": (1_000, 2, 5),
    "rte": (800, 2, 10),
    "sp": (4_968, 2, 5),
    "adult2": (305, 4, 9),
    "s_rel": (3_670, 4, 5),
    "labelme": (589, 8, 3),
}
PAPER_NAMES = {
    "bm": "BM",
    "rte": "RTE",
    "sp": "SP",
    "adult2": "Adult2",
    "s_rel": "TREC2010",
    "labelme": "LabelMe",
}

# Table 1: how many times faster, in time and in iterations.
RACES = (("FDS", "DS"), ("FDS", "IWMV"), ("Hybrid", "DS"))
PUBLISHED_SPEED = {
    "bm": ((2.69, 4.51), (1.70, 1.02), (1.49, 2.03)),
    "rte": ((3.14, 4.95), (2.63, 1.24), (1.88, 2.24)),
    "sp": ((3.00, 3.95), (2.78, 0.94), (2.40, 2.54)),
    "adult2": ((6.61, 7.87), (1.32, 1.15), (2.30, 2.43)),
    "s_rel": ((7.84, 8.64), (6.09, 2.93), (4.39, 4.59)),
    "labelme": ((7.55, 8.59), (0.54, 1.14), (5.15, 5.47)),
}

# Table 2: negative log-likelihood.
LIKELIHOODS = ("FDS", "DS", "Hybrid")
PUBLISHED_LOSS = {
    "bm": (2110.16, 2094.76, 2100.32),
    "rte": (3741.61, 3679.63, 3680.32),
    "sp": (12472.00, 12433.70, 12440.70),
    "adult2": (1283.75, 1153.09, 1154.97),
    "s_rel": (13109.26, 12180.84, 12346.91),
    "labelme": (1714.50, 1655.94, 1660.06),
}

# Section 4; the published program gives up after a hundred iterations.
SETTLED = 1e-4
EM: dict[str, Any] = {"stop": "marginals", "tol": SETTLED, "max_iter": 100}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "DS": ("dawid-skene", EM),
    "FDS": ("fast-dawid-skene", EM),
    "Hybrid": ("hybrid", {**EM, "switch_at": 0.005}),
    "IWMV": ("iwmv", {"ties": "random", "max_iter": 100}),
    "GLAD": ("glad", {}),
    "MV": ("majority", {}),
}


# What was measured of a data set, by method and name: ``[trial, annotators - 1]``.
Runs = Mapping[str, Mapping[str, Floats]]


def annotators(name: str) -> int:
    return PUBLISHED_SIZES[name][2]


def prepared(name: str, plan: Plan) -> Known:
    """The tasks with a known answer and enough labels. Labels are counted, not workers: only so
    does s_rel have the paper's 3,670 tasks, and the published program counts so too."""
    votes = known(name, plan.directory)
    counts = np.diff(votes.labels.indptr)
    enough = (votes.truth >= 0) & (counts >= annotators(name))
    return subset(votes, np.repeat(enough, counts))


def shuffled_ranks(labels: Labels, random: np.random.Generator) -> Codes:
    """Rank of each label in a random order of its task's labels, from 0.

    Examples:
        >>> labels = Labels.from_codes([0, 0, 0, 1], [0, 1, 2, 0], [1, 1, 0, 0])
        >>> ranks = shuffled_ranks(labels, np.random.default_rng(0))
        >>> sorted(ranks[:3].tolist()), ranks[3:].tolist()
        ([0, 1, 2], [0])
    """
    counts = np.diff(labels.indptr)
    task = np.repeat(np.arange(labels.n_tasks), counts)
    order = np.lexsort((random.random(labels.n_labels), task))
    ranks = np.empty(labels.n_labels, dtype=np.int32)
    ranks[order] = np.arange(labels.n_labels) - np.repeat(labels.indptr[:-1], counts)
    return ranks


def contestants(labels: Labels) -> list[str]:
    """GLAD was "proposed only for questions with two choices"."""
    return [method for method in METHODS if method != "GLAD" or labels.n_classes == 2]


def contest(votes: Known, seed: int, repeats: int) -> dict[str, dict[str, float]]:
    """Every method on the same votes: how often it is right, how surely it beats the vote (as
    McNemar's z), and but for the vote how long it took, at best, and how many iterations."""
    names = contestants(votes.labels)
    runs = [{name: timed(name, votes.labels, seed) for name in names} for _ in range(repeats)]
    vote = right_shares(runs[0]["MV"].result.posterior, votes.truth)
    found = {}
    for name in names:
        result = runs[0][name].result
        right = right_shares(result.posterior, votes.truth)
        ms = min(run[name].ms for run in runs)
        found[name] = {
            "right": 100 * float(right.mean()),
            "better": paired_z(right - vote),
            **({} if name == "MV" else {"ms": ms, "iterations": iterations(result)}),
            **_of_dawid_skene(name, result),
        }
    return found


class Timed(NamedTuple):
    result: Result
    ms: float


def timed(name: str, labels: Labels, seed: int, **options: Any) -> Timed:
    """A fit and the processor time it took, which unlike the clock does not show what else the
    machine is doing."""
    method, settings = METHODS[name]
    began = time.process_time()
    result = fitted(method, labels, seed=seed, **{**settings, **options})
    return Timed(result, 1000 * (time.process_time() - began))


def _of_dawid_skene(name: str, result: Result) -> dict[str, float]:
    if name not in ("DS", "FDS", "Hybrid"):
        return {}
    assert result.log_likelihood is not None
    soft = sum(not step.hard for step in result.steps)
    return {"loss": -result.log_likelihood, "soft": 100 * soft / iterations(result)}


def iterations(result: Result) -> int:
    """Number of iterations as the paper's program counts them: it looks at the class marginals
    alone, which show that no answer changed one iteration later, where Quorate stops at once."""
    last = result.steps[-1]
    unseen = last.hard and last.changed == 0 and last.moved >= SETTLED
    return len(result.steps) + unseen


def paired_z(differences: np.ndarray[Any, Any]) -> float:
    """Standard deviations between the sum and its mean if each sign were a fair coin's.

    Examples:
        >>> paired_z(np.array([1.0, 1.0, 0.0, -1.0, 1.0]))
        1.0
    """
    spread = float(np.sqrt((differences**2).sum()))
    return float(differences.sum()) / spread if spread else 0.0


def speed_ups(runs: Runs, fast: str, slow: str, what: str) -> Floats:
    """Speed-up in each trial, as the mean over the numbers of annotators."""
    ratios: Floats = (runs[slow][what] / runs[fast][what]).mean(axis=1)
    return ratios


def with_all(runs: Runs, method: str, what: str) -> float:
    """The mean over trials with all annotators."""
    return float(runs[method][what][:, -1].mean())


def sizes(plan: Plan, name: str) -> dict[str, int]:
    """Sizes of a prepared data set, and its number of tasks when counted in other ways: by
    different workers, or without the last class (of s_rel: broken link)."""
    votes, kept = known(name, plan.directory), prepared(name, plan)
    labels, last = votes.labels, votes.labels.n_classes - 1
    task = np.repeat(np.arange(labels.n_tasks), np.diff(labels.indptr))
    others = np.bincount(task[labels.label != last], minlength=labels.n_tasks)

    def with_enough(counts: np.ndarray[Any, Any], *, gold_of_last: bool = True) -> int:
        truth = votes.truth if gold_of_last else np.where(votes.truth == last, -1, votes.truth)
        return int(((counts >= annotators(name)) & (truth >= 0)).sum())

    return {
        "tasks": kept.labels.n_tasks,
        "options": kept.labels.n_classes,
        "annotators": int(np.diff(kept.labels.indptr).min()),
        "workers": len(np.unique(kept.labels.worker)),
        "labels": kept.labels.n_labels,
        "by workers": with_enough(np.diff(labels.without_repeats().indptr)),
        "no such labels": with_enough(others),
        "no such gold": with_enough(np.diff(labels.indptr), gold_of_last=False),
        "neither": with_enough(others, gold_of_last=False),
    }
