"""How much this crowd knows, and how many workers that takes.

Y. Zhang, X. Chen, D. Zhou and M. I. Jordan, "Spectral Methods Meet EM: A Provably Optimal Algorithm
for Crowdsourcing" (NIPS 2014), whose section 5 names the quantities here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from quorate.kernels import Floats
from quorate.labels import Labels

DELTA = 0.05  # the chance that a guarantee is allowed to fail
GROUPS = 3


@dataclass(frozen=True)
class Knowledge:
    """`w_min` is the smallest class share, `pi_min` the smallest share of the tasks that a worker
    labels, `kappa` the smallest lead of right over wrong labels in a third of the workers,
    `sigma_l` the least singular value of their second moments, `d_bar` what an average worker
    tells of a task, in nats, between the two classes that are hardest to tell apart.

    With fewer workers like these than `workers_least`, every method errs on a constant share of
    the tasks (Theorem 3a); with about `workers_enough`, up to a constant factor, all answers can
    be right (Theorem 2). `labels_least` and `labels_enough` are the same per task, at the rate at
    which these workers label.
    """

    w_min: float
    pi_min: float
    kappa: float
    sigma_l: float
    d_bar: float
    workers_least: float
    workers_enough: float
    labels_least: float
    labels_enough: float

    def as_dict(self) -> dict[str, float | None]:
        """With None for what is infinite: no number of such workers is enough."""
        return {k: v if np.isfinite(v) else None for k, v in asdict(self).items()}


def knowledge(labels: Labels, confusion: Floats, prior: Floats) -> Knowledge:
    """From confusion matrices ``[worker, truth, label]`` without zeros and the class shares."""
    n_tasks, k = labels.n_tasks, labels.n_classes
    activity = np.bincount(labels.worker, minlength=labels.n_workers) / n_tasks
    active = activity > 0
    m = int(active.sum())
    weighted = confusion * activity[:, None, None]
    kappa, sigma = _groups(weighted[active], prior)
    d_bar = _distance(weighted, confusion) / m
    least = 1 / (4 * d_bar) if d_bar > 0 else np.inf
    rho = float(confusion[active].min())
    terms = np.log(1 / rho) * np.log(k * n_tasks / DELTA) + np.log(m * n_tasks)
    enough = float(terms) / d_bar if d_bar > 0 else np.inf
    per_worker = labels.n_labels / n_tasks / m
    return Knowledge(
        w_min=float(prior.min()),
        pi_min=float(activity[active].min()),
        kappa=kappa,
        sigma_l=sigma,
        d_bar=d_bar,
        workers_least=least,
        workers_enough=enough,
        labels_least=least * per_worker,
        labels_enough=enough * per_worker,
    )


def _groups(weighted: Floats, prior: Floats) -> tuple[float, float]:
    """kappa and sigma_L of the workers in three groups, by index modulo 3."""
    if len(weighted) < GROUPS:
        return 0.0, 0.0
    groups = [weighted[g::GROUPS].mean(axis=0) for g in range(GROUPS)]  # [truth, label]
    k = len(prior)
    leads = [np.diag(c)[:, None] - c + np.diag(np.full(k, np.inf)) for c in groups]
    moments = [
        a.T @ np.diag(prior) @ b  # S_ab
        for i, a in enumerate(groups)
        for j, b in enumerate(groups)
        if i < j
    ]
    sigma = min(np.linalg.svd(s, compute_uv=False)[-1] for s in moments)
    return float(min(lead.min() for lead in leads)), float(sigma)


def _distance(weighted: Floats, confusion: Floats) -> float:
    """The least over two classes of ``sum_i pi_i KL(mu_il, mu_il')`` (Eq. 6, times m)."""
    log = np.log(confusion)
    cross = np.tensordot(weighted, log, axes=((0, 2), (0, 2)))
    apart = np.diag(cross)[:, None] - cross
    np.fill_diagonal(apart, np.inf)
    return max(float(apart.min()), 0.0)
