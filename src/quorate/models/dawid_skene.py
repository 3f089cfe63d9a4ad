"""Dawid-Skene: each worker has a confusion matrix.

A. P. Dawid and A. M. Skene, "Maximum Likelihood Estimation of Observer Error-Rates Using the EM
Algorithm", Applied Statistics 28 (1979). Equation numbers are those of V. B. Sinha, S. Rao and
V. N. Balasubramanian, "Fast Dawid-Skene: A Fast Vote Aggregation Scheme for Sentiment
Classification" (KDD WISDOM 2018), whose Fast Dawid-Skene and Hybrid are this model with `harden`.

Counts and the table of log probabilities have a row for each (worker, label) and a column for each
truth, so that a task's evidence is a sum of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quorate import kernels, recycled
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import EM, Params, Stats, dense


@dataclass(frozen=True, eq=False)
class DawidSkene(EM):
    """Dawid-Skene by EM in log space; `harden` makes it Fast Dawid-Skene or Hybrid.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> quorate.fit(quorate.DawidSkene(smoothing=0.1), labels).answers
        array([0, 1], dtype=int32)
    """

    def log_joint(self, block: Labels, params: Params) -> Floats:
        log_joint = block.pairs.gather(self._evidence(params.skill))  # the product in Eq. 8
        log_joint += self._evidence(params.log_prior)
        return log_joint

    def count(self, block: Labels, posterior: Floats) -> Floats | Rows:
        return block.pairs.scatter(posterior)  # the sums in Eq. 6

    def learn(self, counts: Floats, worker_prior: Floats | None) -> Floats:
        by_worker = self._by_worker(counts)
        skill = recycled.empty(by_worker.shape)
        for some in kernels.parts(by_worker):
            known = by_worker[some] + self.smoothing
            if worker_prior is not None:
                known += worker_prior[some].transpose(0, 2, 1)
            answered = np.einsum("wlt->wt", known)[:, None]
            known /= np.where(answered > 0, answered, 1)  # Eq. 6; a truth never met has no row
            kernels.log_or(known, out=skill[some])
        return skill.reshape(counts.shape)

    def skill_from(self, confusion: Floats) -> Floats:
        return self._table(np.ascontiguousarray(confusion.transpose(0, 2, 1)))

    def pool(self, counts: Floats) -> Floats:
        pooled: Floats = self._by_worker(counts).sum(axis=0)
        return pooled

    def log_skill_prior(self, params: Params) -> float:
        if self.smoothing == 0 and self.worker_prior is None:
            return 0.0
        pseudo = np.full((1, 1, 1), self.smoothing)
        if self.worker_prior is not None:
            pseudo = pseudo + self.worker_prior
        return kernels.weighted_log(pseudo, self.confusion(params))

    def confusion(self, params: Params) -> Floats:
        by_label = np.exp(self._by_worker(params.skill))
        return by_label.transpose(0, 2, 1)

    def history(self, stats: Stats, params: Params) -> Floats:
        return self._by_worker(dense(stats.counts)).transpose(0, 2, 1)

    def _table(self, probability: Floats) -> Floats:
        return kernels.log_or(probability).reshape(-1, probability.shape[-1])

    def _by_worker(self, table: Floats) -> Floats:
        n_classes = table.shape[-1]
        return table.reshape(-1, n_classes, n_classes)
