"""What each worker's labels say about the truth, judged by what the *others* say of it.

A worker whose confusion matrix has equal rows says the same whatever the truth: a spammer. The
measure is Cramer's V of the table of the worker's labels against the truth, 0 for equal rows and 1
for a truth that can be read off; the truth's posterior leaves the worker's own label out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import kernels, metrics
from quorate.engines.engine import Engine
from quorate.fitting import Fit
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.special import ndtr
from quorate.votes.blocks import MemoryBlocks

Z = 1.645  # one-sided 95 %
NEARLY_EQUAL = 0.1  # rows of the confusion matrix: V of a spammer
LITTLE = 0.25  # V: what a spammer's is surely below, and below half of the better workers'


class Judgement(NamedTuple):
    """Per worker: labels on tasks with another opinion, the share that agrees with it,
    informedness (Cramer's V) and its bounds, and what the worker is; and how many labels it
    takes to say so."""

    labels: Floats
    agreement: Floats
    informed: Floats
    low: Floats
    high: Floats
    few: NDArray[np.bool_]
    spammer: NDArray[np.bool_]
    inverted: NDArray[np.bool_]
    needed: float

    @property
    def verdict(self) -> list[str]:
        kinds = (self.few, self.spammer, self.inverted)
        words = np.select(kinds, ["too few labels", "spammer", "inverted"], default="fine")
        return list(words.tolist())


class Counts(NamedTuple):
    """``table[worker * n_classes + label, truth]``."""

    table: Floats | Rows


def judge(labels: Labels, result: Fit, engine: Engine) -> Judgement:
    """What each worker is, by a fit of Dawid-Skene."""
    counts = truth_by_others(labels, result, engine)
    n = counts.sum(axis=(1, 2))
    said, truth = counts.sum(axis=2), counts.sum(axis=1)
    met = np.maximum((truth > 0.5).sum(axis=1), 1)
    freedom = (met - 1) * (np.maximum((said > 0).sum(axis=1), 1) - 1)
    root = np.sqrt(np.maximum(_chi_square(counts, said, truth, n) - freedom, 0))
    size = np.sqrt(np.maximum(n * np.maximum(met - 1, 1), 1e-12))
    judgeable = (met > 1) & (n > 0)
    informed = np.where(judgeable, np.clip(root / size, 0, 1), 0.0)
    better = _better_worker(informed, n)
    needed = (2 * Z / better) ** 2 if better > 0 else np.inf
    few = ~judgeable | (n * np.maximum(met - 1, 1) < needed)
    agreement, score = _beyond_chance(counts, said, truth, n)
    spammer = _discovered(ndtr(root - min(LITTLE, better / 2) * size), ~few)
    spammer &= root < np.maximum(Z, NEARLY_EQUAL * size)
    inverted = _discovered(ndtr(score), ~few) & ~spammer
    return Judgement(
        labels=n,
        agreement=agreement,
        informed=informed,
        low=np.where(judgeable, np.clip((root - Z) / size, 0, 1), 0.0),
        high=np.where(judgeable, np.clip((root + Z) / size, 0, 1), 1.0),
        few=few,
        spammer=spammer,
        inverted=inverted,
        needed=needed,
    )


def truth_by_others(labels: Labels, result: Fit, engine: Engine) -> Floats:
    """``[worker, label, truth]``: expected counts, each label's truth believed without it. Labels
    that have no other opinion on their task, nor a known answer, are left out."""
    log_confusion = result.params.log_confusion

    def count(block: Labels, params: Any, state: Any) -> tuple[None, Counts]:
        several = np.diff(block.indptr) > 1
        if block.gold is not None:
            several |= block.gold >= 0
        pair = block.worker * np.int32(block.n_classes) + block.label
        task = np.repeat(np.arange(block.n_tasks), np.diff(block.indptr))
        belief = kernels.log_or(result.posterior[block.first_task + task])
        own = log_confusion[pair]
        belief -= own if block.weight is None else own * block.weight[:, None]
        others, _ = kernels.normalise(belief)
        others *= several[task][:, None]
        start = np.arange(block.n_labels + 1, dtype=np.int32)
        table = kernels.incidence(start, pair, block.n_workers * block.n_classes)
        return None, Counts(table.scatter(others))

    counts: Counts = engine.over(MemoryBlocks(labels)).sweep(count, None)
    assert isinstance(counts.table, np.ndarray)
    shape = (labels.n_workers, labels.n_classes, labels.n_classes)
    table: Floats = counts.table.reshape(shape)
    return table


def _chi_square(counts: Floats, said: Floats, truth: Floats, n: Floats) -> Floats:
    """Pearson's statistic of the label's dependence on the truth."""
    margins = said[:, :, None] * truth[:, None, :]
    cells = np.divide(counts**2, margins, out=np.zeros_like(counts), where=margins > 0)
    statistic: Floats = np.maximum(n * (cells.sum(axis=(1, 2)) - 1), 0)
    return statistic


def _beyond_chance(counts: Floats, said: Floats, truth: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Agreement with the truth, and its difference from that of one who guesses as often, in
    standard deviations of the guess (Fleiss, Cohen and Everitt, 1969)."""
    total = np.maximum(n, 1e-12)
    agreement = np.trace(counts, axis1=1, axis2=2) / total
    p, q = said / total[:, None], truth / total[:, None]
    chance = (p * q).sum(axis=1)
    variance = (chance + chance**2 - (p * q * (p + q)).sum(axis=1)) / total
    score = (agreement - chance) / np.sqrt(np.maximum(variance, 1e-12))
    return agreement, np.where(variance > 1e-9, score, 0.0)


def _better_worker(informed: Floats, weight: Floats) -> float:
    """The informedness above which the better quarter of the labels is given."""
    if not weight.sum() > 0:
        return 0.0
    order = np.argsort(informed)
    share = weight[order].cumsum() / weight.sum()
    return float(informed[order][np.searchsorted(share, 0.75)])


def _discovered(p: Floats, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    found = np.zeros(len(p), dtype=bool)
    found[among] = metrics.discoveries(p[among], int(among.sum()))
    return found
