"""EBCC in plain loops, straight from the paper; and its exact evidence by enumeration."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import lgamma
from typing import NamedTuple

import numpy as np
from scipy.special import digamma

Vote = tuple[int, int, int]  # task, worker, label


class Priors(NamedTuple):
    subtypes: int = 10
    right: float = 4.0
    wrong: float = 1.0
    classes: float = 1.0
    all_subtypes: float = 0.1


class Sizes(NamedTuple):
    tasks: int
    workers: int
    classes: int


def first_states(votes: Sequence[Vote], sizes: Sizes, subtypes: int) -> np.ndarray:
    """``rho[task, class, subtype]``: the vote, mostly in the subtype of the task's disagreement."""
    rho = np.zeros((sizes.tasks, sizes.classes, subtypes))
    for task in range(sizes.tasks):
        said = [label for t, _, label in votes if t == task]
        shares = [
            said.count(k) / len(said) if said else 1 / sizes.classes for k in range(sizes.classes)
        ]
        most = 1 - 1 / sizes.classes
        own = min(int((1 - max(shares)) / most * subtypes), subtypes - 1)
        for k in range(sizes.classes):
            for m in range(subtypes):
                rho[task, k, m] = shares[k] * (0.3 / subtypes + (0.7 if m == own else 0.0))
    return rho


def ebcc(
    votes: Sequence[Vote], sizes: Sizes, priors: Priors, iterations: int
) -> tuple[np.ndarray, list[float]]:
    """The posterior ``[task, class]`` after so many iterations, and the bound at each."""
    rho = first_states(votes, sizes, priors.subtypes)
    bounds = []
    for _ in range(iterations):
        nu, eta, mu = _pseudo_counts(votes, sizes, priors, rho)
        rho, evidence = _states(votes, sizes, priors, nu, eta, mu)
        bounds.append(evidence - _divergence(sizes, priors, nu, eta, mu))
    return rho.sum(axis=2), bounds


def _beta(priors: Priors, k: int, label: int) -> float:
    return priors.right if k == label else priors.wrong


def _pseudo_counts(
    votes: Sequence[Vote], sizes: Sizes, priors: Priors, rho: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    nu = np.array([priors.classes + rho[:, k].sum() for k in range(sizes.classes)])
    eta = np.zeros((sizes.classes, priors.subtypes))
    mu = np.zeros((sizes.workers, sizes.classes, priors.subtypes, sizes.classes))
    for k in range(sizes.classes):
        for m in range(priors.subtypes):
            eta[k, m] = priors.all_subtypes / priors.subtypes + rho[:, k, m].sum()
            for worker in range(sizes.workers):
                for label in range(sizes.classes):
                    mu[worker, k, m, label] = _beta(priors, k, label)
            for task, worker, label in votes:
                mu[worker, k, m, label] += rho[task, k, m]
    return nu, eta, mu


def _states(
    votes: Sequence[Vote],
    sizes: Sizes,
    priors: Priors,
    nu: np.ndarray,
    eta: np.ndarray,
    mu: np.ndarray,
) -> tuple[np.ndarray, float]:
    rho = np.zeros((sizes.tasks, sizes.classes, priors.subtypes))
    evidence = 0.0
    for task in range(sizes.tasks):
        log = np.zeros((sizes.classes, priors.subtypes))
        for k in range(sizes.classes):
            for m in range(priors.subtypes):
                log[k, m] = digamma(nu[k]) - digamma(nu.sum())
                log[k, m] += digamma(eta[k, m]) - digamma(eta[k].sum())
                for t, worker, label in votes:
                    if t == task:
                        row = mu[worker, k, m]
                        log[k, m] += digamma(row[label]) - digamma(row.sum())
        highest = log.max()
        total = np.exp(log - highest).sum()
        rho[task] = np.exp(log - highest) / total
        evidence += highest + float(np.log(total))
    return rho, evidence


def _divergence(
    sizes: Sizes, priors: Priors, nu: np.ndarray, eta: np.ndarray, mu: np.ndarray
) -> float:
    total = _kl(nu, [priors.classes] * sizes.classes)
    for k in range(sizes.classes):
        total += _kl(eta[k], [priors.all_subtypes / priors.subtypes] * priors.subtypes)
        for m in range(priors.subtypes):
            for worker in range(sizes.workers):
                beta = [_beta(priors, k, label) for label in range(sizes.classes)]
                total += _kl(mu[worker, k, m], beta)
    return total


def _kl(a: Sequence[float], b: Sequence[float]) -> float:
    """The divergence of Dirichlet(a) from Dirichlet(b)."""
    total = lgamma(sum(a)) - lgamma(sum(b))
    for x, y in zip(a, b, strict=True):
        total += lgamma(y) - lgamma(x) + (x - y) * (float(digamma(x)) - float(digamma(sum(a))))
    return total


def enumerated(votes: Sequence[Vote], sizes: Sizes, priors: Priors) -> tuple[float, np.ndarray]:
    """The exact log evidence of the votes and the exact posterior ``[task, class]``, by all states
    that all tasks can be in, with the parameters integrated out."""
    states = list(product(range(sizes.classes), range(priors.subtypes)))
    everything = list(product(states, repeat=sizes.tasks))
    logs = [_log_joint(votes, sizes, priors, assigned) for assigned in everything]
    highest = max(logs)
    weights = np.exp(np.array(logs) - highest)
    posterior = np.zeros((sizes.tasks, sizes.classes))
    for weight, assigned in zip(weights, everything, strict=True):
        for task, (k, _) in enumerate(assigned):
            posterior[task, k] += weight
    return highest + float(np.log(weights.sum())), posterior / weights.sum()


def _log_joint(
    votes: Sequence[Vote], sizes: Sizes, priors: Priors, assigned: Sequence[tuple[int, int]]
) -> float:
    classes = [k for k, _ in assigned]
    total = _polya(
        [priors.classes] * sizes.classes, [classes.count(k) for k in range(sizes.classes)]
    )
    for k in range(sizes.classes):
        counts = [sum(a == (k, m) for a in assigned) for m in range(priors.subtypes)]
        total += _polya([priors.all_subtypes / priors.subtypes] * priors.subtypes, counts)
        for m in range(priors.subtypes):
            for worker in range(sizes.workers):
                beta = [_beta(priors, k, label) for label in range(sizes.classes)]
                said = [0] * sizes.classes
                for task, w, label in votes:
                    if w == worker and assigned[task] == (k, m):
                        said[label] += 1
                total += _polya(beta, said)
    return total


def _polya(prior: Sequence[float], counts: Sequence[int]) -> float:
    """The log-probability of draws, in order, whose shares have a Dirichlet prior."""
    total = lgamma(sum(prior)) - lgamma(sum(prior) + sum(counts))
    return total + sum(lgamma(a + n) - lgamma(a) for a, n in zip(prior, counts, strict=True))
